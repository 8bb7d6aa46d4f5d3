package transcript

import (
	"path"
	"strings"
)

// runsTests judges by a command's words whether it runs tests.
func runsTests(command string) bool {
	for _, simple := range strings.FieldsFunc(command, func(r rune) bool {
		return r == ';' || r == '|' || r == '&' || r == '\n' || r == '(' || r == ')'
	}) {
		if testCommand(strings.Fields(simple)) {
			return true
		}
	}
	return false
}

// testCommand looks at one simple command: its program, then the first words
// that aren't options.
func testCommand(words []string) bool {
	words = withoutPrefixes(words)
	if len(words) == 0 {
		return false
	}
	program := path.Base(strings.Trim(words[0], `"'`))
	args := operands(words[1:])
	if strings.HasPrefix(program, "python") {
		return moduleOf(words[1:]) == "pytest" || moduleOf(words[1:]) == "unittest"
	}
	switch program {
	case "pytest", "py.test", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "tox", "nox", "bats", "prove", "gotestsum", "ava", "karma", "pest":
		return true
	case "go", "cargo", "npm", "yarn", "pnpm", "bun", "deno", "dotnet", "mix", "swift", "rake", "bazel", "dart", "flutter", "composer", "zig", "sbt", "lein", "gradle", "gradlew", "mvn", "mvnw", "make", "just", "task", "ninja", "meson", "rails", "cabal", "stack", "hatch", "npx", "bunx", "uv", "poetry", "pipenv", "bundle":
		return testTarget(program, args)
	case "playwright", "cypress", "nextest":
		return first(args, "test", "run")
	case "node":
		return contains(words[1:], "--test")
	case "sh", "bash", "dash", "zsh", "ksh":
		return len(args) > 0 && testCommand(args)
	}
	script, isScript := strings.CutSuffix(program, ".sh")
	return isScript && (strings.HasPrefix(script, "test") || testWord(script))
}

// withoutPrefixes drops what stands before a program: assignments, sudo, time.
func withoutPrefixes(words []string) []string {
	for len(words) > 0 {
		w := words[0]
		switch {
		case w == "sudo" || w == "time" || w == "env" || w == "exec" || w == "nice" || w == "command" || w == "then" || w == "do" || w == "if" || w == "!":
		case w == "timeout" && len(words) > 1:
			words = words[1:]
		case strings.Contains(w, "=") && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "="):
		default:
			return words
		}
		words = words[1:]
	}
	return words
}

func operands(words []string) []string {
	var out []string
	for _, w := range words {
		if !strings.HasPrefix(w, "-") {
			out = append(out, strings.Trim(w, `"'`))
		}
	}
	return out
}

func testTarget(program string, args []string) bool {
	switch program {
	case "npx", "bunx":
		return len(args) > 0 && testCommand(args)
	case "uv", "poetry", "pipenv", "hatch", "bundle":
		return len(args) > 1 && (args[0] == "run" || args[0] == "exec") && testCommand(args[1:]) || program == "hatch" && first(args, "test")
	case "npm", "yarn", "pnpm", "bun", "deno", "composer", "zig":
		if first(args, "run", "run-script", "build", "task") && len(args) > 1 {
			args = args[1:]
		}
		return len(args) > 0 && (args[0] == "t" && program == "npm" || testWord(args[0])) || len(args) > 0 && program == "yarn" && testCommand(args)
	case "cargo":
		return first(args, "test", "t", "nextest")
	case "make", "just", "task", "ninja", "gradle", "gradlew", "mvn", "mvnw", "rake", "rails":
		for _, a := range args {
			if testWord(a) || a == "check" || a == "verify" || a == "spec" {
				return true
			}
		}
		return false
	}
	return first(args, "test", "testOnly", "vet-test")
}

// testWord is a target's or script's name: test, test:unit, unit-test, tests.
func testWord(s string) bool {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == '-' || r == '_' || r == '/' }) {
		switch part {
		case "test", "tests", "e2e":
			return true
		}
	}
	return strings.HasSuffix(s, "Test") || strings.HasSuffix(s, ":test")
}

func first(args []string, words ...string) bool { return len(args) > 0 && contains(words, args[0]) }

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

// moduleOf is the module that python -m runs.
func moduleOf(words []string) string {
	for i, w := range words {
		if w == "-m" && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}

// eachPath calls fn for each absolute path in words. A path begins behind white
// space or a quote, has at least two parts and ends where a shell's or a
// sentence's word ends.
func eachPath(words string, fn func(string)) {
	for i := 0; i < len(words); {
		n := strings.IndexByte(words[i:], '/')
		if n < 0 {
			return
		}
		i += n
		end := i
		for end < len(words) && pathByte(words[end]) {
			end++
		}
		if i == 0 || pathStart(words[i-1]) {
			if p := strings.TrimRight(words[i:end], ".,:"); len(p) >= 6 && strings.Count(p, "/") >= 2 && !strings.Contains(p, "//") {
				fn(path.Clean(p))
			}
		}
		i = max(end, i+1)
	}
}

func pathStart(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '"', '\'', '`', '(', '[', '<', '=', ':', ',', '>':
		return true
	}
	return false
}

func pathByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80:
		return true
	}
	switch c {
	case '/', '.', '-', '_', '+', '@', '~', '%', ':', ',', '#', '=':
		return true
	}
	return false
}

// patchPaths reads the headers of a patch as Codex writes it.
func patchPaths(patch, cwd string) []touch {
	_, patch, ok := strings.Cut(patch, "*** Begin Patch")
	if !ok {
		return nil
	}
	var out []touch
	for len(patch) > 0 && len(out) < maxItems {
		var l string
		l, patch, _ = strings.Cut(patch, "\n")
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "*** End Patch"):
			return out
		case strings.HasPrefix(l, "*** Add File: "):
			out = append(out, touch{path: below(cwd, l[len("*** Add File: "):]), edit: true})
		case strings.HasPrefix(l, "*** Update File: "):
			out = append(out, touch{path: below(cwd, l[len("*** Update File: "):]), edit: true})
		case strings.HasPrefix(l, "*** Delete File: "):
			out = append(out, touch{path: below(cwd, l[len("*** Delete File: "):]), edit: true, gone: true})
		case strings.HasPrefix(l, "*** Move to: "):
			if n := len(out); n > 0 {
				out[n-1].gone = true
			}
			out = append(out, touch{path: below(cwd, l[len("*** Move to: "):]), edit: true})
		}
	}
	return out
}

// below makes a relative path absolute, if the folder is known.
func below(cwd, p string) string {
	p = strings.TrimSpace(p)
	if p == "" || path.IsAbs(p) || cwd == "" {
		return p
	}
	return path.Join(cwd, p)
}

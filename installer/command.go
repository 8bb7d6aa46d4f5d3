package installer

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/reseat-dev/reseat/internal/client"
)

// Programs says where the hook programs and the state are, for the command
// strings that a client runs.
type Programs struct {
	Home  string // the user's home; paths below it are written as "$HOME"/...
	Dir   string // the folder of the programs; empty: found in PATH
	State string // the state folder; empty: left to the program
	// Windows writes paths in double quotes with forward slashes, which every
	// shell that a client uses there understands.
	Windows bool
}

// Command is the command string of an entry, quoted for /bin/sh. Paths below
// the home are written with "$HOME", so that a configuration which is shared
// between machines works on each.
func (p Programs) Command(c client.Client, e Entry) (string, error) {
	program := e.Program
	if p.Windows {
		program += ".exe"
	}
	if p.Dir != "" {
		quoted, err := p.path(filepath.Join(p.Dir, program))
		if err != nil {
			return "", err
		}
		program = quoted
	}
	command := program + " --runtime " + string(c)
	if p.State != "" {
		state, err := p.path(p.State)
		if err != nil {
			return "", err
		}
		command += " --home " + state
	}
	return command, nil
}

func (p Programs) path(path string) (string, error) {
	if err := speakable(path); err != nil {
		return "", err
	}
	if p.Windows {
		if strings.ContainsAny(path, "\"$`%") {
			return "", fmt.Errorf("the path %q can't be quoted for every shell on Windows", path)
		}
		return `"` + strings.ReplaceAll(path, `\`, "/") + `"`, nil
	}
	if rest, ok := below(p.Home, path); ok {
		return `"$HOME"/` + quote(rest), nil
	}
	return quote(path), nil
}

// below gives the rest of a path that lies under the folder dir.
func below(dir, path string) (rest string, ok bool) {
	dir = filepath.Clean(dir)
	if dir == "." || dir == string(filepath.Separator) {
		return "", false
	}
	rest, ok = strings.CutPrefix(filepath.Clean(path), dir+string(filepath.Separator))
	return rest, ok && rest != ""
}

// speakable refuses a path that a configuration file couldn't hold, or that two
// encoders would write differently (Codex's approval is a hash of the encoding).
func speakable(path string) error {
	if !utf8.ValidString(path) {
		return fmt.Errorf("the path %q is not valid UTF-8", path)
	}
	for _, r := range path {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return fmt.Errorf("the path %q holds a control character", path)
		}
	}
	return nil
}

// quote makes one word of s for /bin/sh.
func quote(s string) string {
	plain := s != ""
	for i := 0; i < len(s) && plain; i++ {
		b := s[i]
		plain = b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' ||
			strings.IndexByte("_@%+:,./-", b) >= 0
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// A Use is a command string that runs one of our programs in our own way: the
// program, --runtime, perhaps --home, and nothing else. Whatever is written
// around it (another program first, a redirection, further flags) makes it the
// user's own use, which isn't ours to touch.
type Use struct {
	Program string        // its name without folder
	Path    string        // as the shell will run it, "$HOME" replaced
	Runtime client.Client // of --runtime
	State   string        // of --home, "$HOME" replaced; empty without
}

// ReadUse tells whether command is such a string. The shell's variables are
// looked up with getenv.
func ReadUse(command string, getenv func(string) string) (Use, bool) {
	words, ok := splitWords(command, getenv)
	if !ok || len(words) == 0 {
		return Use{}, false
	}
	use := Use{Path: words[0], Program: programName(words[0])}
	if use.Program == "" {
		return Use{}, false
	}
	for rest := words[1:]; len(rest) > 0; {
		name, value, joined := strings.Cut(rest[0], "=")
		rest = rest[1:]
		if !joined {
			if len(rest) == 0 {
				return Use{}, false
			}
			value, rest = rest[0], rest[1:]
		}
		switch name {
		case "--runtime":
			runtime, err := client.Parse(value)
			if err != nil {
				return Use{}, false
			}
			use.Runtime = runtime
		case "--home":
			use.State = value
		default:
			return Use{}, false
		}
	}
	return use, use.Runtime != ""
}

// programName is which of our hook programs the path names, empty if none.
func programName(path string) string {
	base := strings.TrimSuffix(path[strings.LastIndexAny(path, `/\`)+1:], ".exe")
	if base == Precompact || base == Directive {
		return base
	}
	return ""
}

// Mentions tells whether a command names a hook program of ours, in whatever
// way: for the doctor, which reports a user's own use.
func Mentions(command string) bool {
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;|&<>()`\"'=", r) })
	return slices.ContainsFunc(words, func(word string) bool { return programName(word) != "" })
}

// splitWords splits a simple command of /bin/sh into its words, quotes removed
// and variables replaced. It is not ok for anything more than that: operators,
// redirections, substitutions, patterns, assignments, comments.
func splitWords(s string, getenv func(string) string) (words []string, ok bool) {
	var word strings.Builder
	inWord := false
	end := func() {
		if inWord {
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	for i := 0; i < len(s); i++ {
		switch b := s[i]; b {
		case ' ', '\t':
			end()
			continue
		case '\'':
			n := strings.IndexByte(s[i+1:], '\'')
			if n < 0 {
				return nil, false
			}
			word.WriteString(s[i+1 : i+1+n])
			i += n + 1
		case '"':
			n, ok := doubleQuoted(s[i+1:], &word, getenv)
			if !ok {
				return nil, false
			}
			i += n
		case '\\':
			if i+1 == len(s) || s[i+1] == '\n' {
				return nil, false
			}
			i++
			word.WriteByte(s[i])
		case '$':
			value, n, ok := variable(s[i:], getenv)
			if !ok || strings.ContainsAny(value, " \t\n*?[") {
				return nil, false // unquoted: the shell would split or expand it
			}
			word.WriteString(value)
			i += n - 1
		case '~':
			if inWord {
				word.WriteByte(b)
				break
			}
			if rest := s[i+1:]; rest != "" && !strings.ContainsAny(rest[:1], "/ \t") {
				return nil, false // another user's home
			}
			word.WriteString(getenv("HOME"))
		case '\n', ';', '|', '&', '<', '>', '(', ')', '`', '*', '?', '[', '{', '}', '!':
			return nil, false
		case '#', '=':
			if b == '#' && !inWord || b == '=' && len(words) == 0 {
				return nil, false
			}
			word.WriteByte(b)
		default:
			word.WriteByte(b)
		}
		inWord = true
	}
	end()
	return words, true
}

// doubleQuoted reads up to the closing quote and returns how many bytes that
// were, the quote included.
func doubleQuoted(s string, word *strings.Builder, getenv func(string) string) (n int, ok bool) {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1, true
		case '`':
			return 0, false
		case '\\':
			if i+1 == len(s) || s[i+1] == '\n' {
				return 0, false
			}
			if strings.IndexByte("$`\"\\", s[i+1]) >= 0 {
				i++
			}
			word.WriteByte(s[i])
		case '$':
			value, n, ok := variable(s[i:], getenv)
			if !ok {
				return 0, false
			}
			word.WriteString(value)
			i += n - 1
		default:
			word.WriteByte(s[i])
		}
	}
	return 0, false
}

// variable reads $NAME or ${NAME} at the start of s.
func variable(s string, getenv func(string) string) (value string, n int, ok bool) {
	rest, braced := strings.CutPrefix(s[1:], "{")
	i := 0
	for i < len(rest) && (rest[i] == '_' || rest[i] >= 'a' && rest[i] <= 'z' || rest[i] >= 'A' && rest[i] <= 'Z' || i > 0 && rest[i] >= '0' && rest[i] <= '9') {
		i++
	}
	if i == 0 {
		return "", 0, false
	}
	n = 1 + i
	if braced {
		if i == len(rest) || rest[i] != '}' {
			return "", 0, false
		}
		n += 2
	}
	return getenv(rest[:i]), n, true
}

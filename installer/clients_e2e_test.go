//go:build e2e

package installer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

// realClient is the program of a pinned client, which make e2e puts into the
// cache.
func realClient(t *testing.T, c client.Client, version string) string {
	t.Helper()
	cache := os.Getenv("RESEAT_CLIENT_CACHE")
	if cache == "" {
		cache = filepath.Join("..", ".cache", "clients")
	}
	pattern := filepath.Join(cache, string(c)+"-"+version, "node_modules", "@anthropic-ai", "claude-code-*", "claude")
	if c == client.Codex {
		pattern = filepath.Join(cache, string(c)+"-"+version, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d programs at %s, so nothing is proved: run make e2e first", len(found), pattern)
	}
	program, err := filepath.Abs(found[0])
	must(t, err)
	return program
}

// recorder makes the sandbox's hook programs note the events that they see, and
// is a command that does the same for a foreign hook.
func (s *sandbox) recorder() {
	s.t.Helper()
	for _, program := range []string{Precompact, Directive} {
		path := filepath.Join(s.opts.Programs, program)
		must(s.t, os.WriteFile(path, []byte("#!/bin/sh\n"+s.noting("ours")+"\n"), 0o700))
	}
}

func (s *sandbox) noting(who string) string {
	// One write: hooks of one event run at the same time.
	return `n=$(sed -n 's/.*"hook_event_name" *: *"\([A-Za-z]*\)".*/` + who + ` \1/p'); echo "$n" >> ` + s.path("noted")
}

// noted lists what was noted, each once.
func (s *sandbox) noted() []string {
	data, _ := os.ReadFile(s.path("noted"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	slices.Sort(lines)
	return slices.Compact(lines)
}

// runClient runs the client in the sandbox and returns what it printed.
func (s *sandbox) runClient(program string, env []string, args ...string) (stdout, stderr string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = s.opts.Project
	cmd.Env = append([]string{
		"HOME=" + s.home, "PATH=/usr/bin:/bin", "TERM=dumb", "LANG=C.UTF-8",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1",
	}, env...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%q: %v\n%s\n%s", args, err, complaint.String(), out.String())
	}
	return out.String(), complaint.String()
}

// wantNoted requires that our hooks ran at all four events, and the foreign ones
// at theirs.
func (s *sandbox) wantNoted(foreign ...string) {
	s.t.Helper()
	got := s.noted()
	for _, e := range Entries() {
		if !slices.Contains(got, "ours "+e.Event) {
			s.t.Errorf("ours didn't run at %s: %q", e.Event, got)
		}
	}
	for _, event := range foreign {
		if !slices.Contains(got, "foreign "+event) {
			s.t.Errorf("the foreign hook didn't run at %s: %q", event, got)
		}
	}
}

func TestClaudeStartsWithOurEntriesBesideForeignOnes(t *testing.T) {
	type fixture struct {
		content string
		foreign []string
	}
	program := realClient(t, client.Claude, "2.1.332")
	fixtures := func(s *sandbox) map[string]fixture {
		quoted := func(s string) string { data, _ := json.Marshal(s); return string(data) }
		handler := fmt.Sprintf(`{"type": "command", "command": %s}`, quoted(s.noting("foreign")))
		all := []string{"PreCompact", "SessionStart", "UserPromptSubmit", "PostCompact"}
		group := func(event, matcher string) string {
			if matcher != "" {
				matcher = fmt.Sprintf(`"matcher": %q, `, matcher)
			}
			return fmt.Sprintf(`%q: [{%s"hooks": [%s]}]`, event, matcher, handler)
		}
		var plain, multi []string
		for _, event := range all {
			plain = append(plain, group(event, ""))
			multi = append(multi, "\t\t"+group(event, ""))
		}
		hooks := `{"hooks": {` + strings.Join(plain, ", ") + `}}`
		lines := "{\n\t\"hooks\": {\n" + strings.Join(multi, ",\n") + "\n\t}\n}\n"
		var long strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&long, `"Bash(command number %d with some length:*)", `, i)
		}
		return map[string]fixture{
			"empty object":      {"{}\n", nil},
			"empty file":        {"", nil},
			"all events":        {hooks, all},
			"tabs":              {lines, all},
			"CRLF and mark":     {bom + strings.ReplaceAll(lines, "\n", "\r\n"), all},
			"no final newline":  {strings.TrimSpace(lines), all},
			"matchers":          {`{"hooks": {` + group("PreCompact", "manual") + `, ` + group("SessionStart", "startup|compact") + `}}`, []string{"PreCompact", "SessionStart"}},
			"other events":      {`{"hooks": {` + group("Stop", "") + `, ` + group("SessionEnd", "") + `}}`, []string{"Stop", "SessionEnd"}},
			"other settings":    {`{"$schema": "https://json.schemastore.org/claude-code-settings.json", "env": {"X": "1"}, "permissions": {"defaultMode": "acceptEdits", "deny": ["WebFetch"]}, "includeCoAuthoredBy": false}`, nil},
			"empty hooks":       {`{"hooks": {}, "permissions": {"allow": []}}`, nil},
			"two in a group":    {`{"hooks": {"PreCompact": [{"matcher": "", "hooks": [` + handler + `, {"type": "command", "command": "true"}]}]}}`, []string{"PreCompact"}},
			"doubles elsewhere": {`{"env": {"X": "1"}, "env": {"X": "2"}, ` + hooks[1:], all},
			"long":              {`{"permissions": {"allow": [` + strings.TrimSuffix(long.String(), ", ") + `]}, ` + hooks[1:], all},
		}
	}
	for name := range fixtures(&sandbox{}) {
		t.Run(name, func(t *testing.T) {
			stub, err := anthropic.Start(anthropic.NewBook().Script)
			must(t, err)
			t.Cleanup(func() { _ = stub.Close() })
			s := newSandbox(t, client.Claude)
			s.recorder()
			f := fixtures(s)[name]
			s.write(s.path(".claude/settings.json"), f.content)
			s.install()
			env := []string{
				"ANTHROPIC_BASE_URL=" + stub.URL(), "ANTHROPIC_API_KEY=sk-ant-EXAMPLE-000000000000000000000000",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1",
			}
			var said struct {
				SessionID string `json:"session_id"`
			}
			session := []string{}
			for _, prompt := range []string{"Count the apples.", "And the pears.", "/compact"} {
				out, complaint := s.runClient(program, env, append([]string{"-p", prompt, "--output-format", "json"}, session...)...)
				must(t, json.Unmarshal([]byte(out), &said))
				session = []string{"--resume", said.SessionID}
				if complaint != "" {
					t.Errorf("the client complains: %s", complaint)
				}
			}
			s.wantNoted(f.foreign...)
			s.uninstall()
			if got := s.read(s.path(".claude/settings.json")); got != f.content {
				t.Errorf("uninstall gave back %q", got)
			}
		})
	}
}

// codexLimit is the number of tokens at which Codex compacts by itself.
const codexLimit = 20_000

func TestCodexStartsWithOurEntriesBesideForeignOnes(t *testing.T) {
	type fixture struct {
		before, after string // around the lines that every Codex here needs
		hooks         string // of a hooks.json
		foreign       []string
	}
	program := realClient(t, client.Codex, "0.171.0")
	fixtures := func(s *sandbox) map[string]fixture {
		config, beside := keyFile(s.path(".codex/config.toml")), keyFile(s.path(".codex/hooks.json"))
		command := s.noting("foreign")
		approved := func(file, event string, group int, matcher *string) string {
			hash := Configured{Event: event, Kind: "command", Command: command, Matcher: matcher}.Hash()
			return fmt.Sprintf("[hooks.state.%s]\ntrusted_hash = %q\n", tomlBasic(place{event, group, 0}.key(file)), hash)
		}
		hook := func(event string) string {
			return fmt.Sprintf("[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\n", event, event, tomlBasic(command))
		}
		all := []string{"PreCompact", "SessionStart", "UserPromptSubmit", "PostCompact"}
		var hooks, states, besideStates strings.Builder
		var events []string
		for _, event := range all {
			hooks.WriteString(hook(event))
			states.WriteString(approved(config, event, 0, nil))
			besideStates.WriteString(approved(beside, event, 0, nil))
			quoted, _ := json.Marshal(command)
			events = append(events, fmt.Sprintf(`%q: [{"hooks": [{"type": "command", "command": %s}]}]`, event, quoted))
		}
		manual := "manual|auto"
		inline := fmt.Sprintf("[hooks]\nStop = [{ hooks = [{ type = \"command\", command = %s }] }]\n", tomlBasic(command))
		stop := place{"Stop", 0, 0}.key(config)
		stopHash := Configured{Event: "Stop", Kind: "command", Command: command}.Hash()
		return map[string]fixture{
			"nothing else":        {},
			"all events":          {after: hooks.String() + states.String(), foreign: all},
			"approvals first":     {after: states.String() + hooks.String(), foreign: all},
			"CRLF":                {after: hooks.String() + states.String() + "# CRLF\n", foreign: all},
			"mark":                {before: bom, after: hooks.String() + states.String(), foreign: all},
			"no final newline":    {after: hooks.String() + strings.TrimSpace(states.String()), foreign: all},
			"matcher":             {after: "[[hooks.PreCompact]]\nmatcher = \"manual|auto\" # mine\n" + strings.TrimPrefix(hook("PreCompact"), "[[hooks.PreCompact]]\n") + approved(config, "PreCompact", 0, &manual), foreign: []string{"PreCompact"}},
			"dotted features":     {before: "features.hooks = true\n", after: hooks.String() + states.String(), foreign: all},
			"inline features":     {before: "features = { hooks = true }\n"},
			"features table":      {after: "[ features ] # on\nhooks = true\n\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n"},
			"array of another":    {after: inline + fmt.Sprintf("[hooks.state]\n%s = { trusted_hash = %q }\n", tomlBasic(stop), stopHash), foreign: []string{"Stop"}},
			"dotted approvals":    {before: fmt.Sprintf("hooks.state.%s.trusted_hash = %q\n", tomlBasic(stop), stopHash), after: hook("Stop"), foreign: []string{"Stop"}},
			"hooks.json":          {hooks: `{"description": "mine", "hooks": {` + strings.Join(events, ",\n") + "}}\n", after: besideStates.String(), foreign: all},
			"two of one":          {after: hook("PreCompact") + hook("PreCompact") + approved(config, "PreCompact", 0, nil) + approved(config, "PreCompact", 1, nil), foreign: []string{"PreCompact"}},
			"a hook not approved": {after: hook("Stop")},
		}
	}
	for name := range fixtures(&sandbox{}) {
		t.Run(name, func(t *testing.T) {
			var scenes openai.Scenes
			scenes.On("apples", stubmodel.Text("There are 41.").Using(codexLimit+1))
			stub, err := openai.Serve(scenes.Reply)
			must(t, err)
			t.Cleanup(func() { _ = stub.Close() })
			s := newSandbox(t, client.Codex)
			s.recorder()
			s.opts.TrustHooks = true
			f := fixtures(s)[name]
			content := f.before + fmt.Sprintf(`model = "gpt-5.5"
model_provider = "stub"
model_auto_compact_token_limit = %d
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false
model_providers.stub = { name = "stub", base_url = %q, wire_api = "responses", env_key = "STUB_KEY", request_max_retries = 0, stream_max_retries = 0 }
`, codexLimit, stub.BaseURL()) + f.after
			if name == "CRLF" {
				content = strings.ReplaceAll(content, "\n", "\r\n")
			}
			s.write(s.path(".codex/config.toml"), content)
			if f.hooks != "" {
				s.write(s.path(".codex/hooks.json"), f.hooks)
			}
			before := snapshot(t, s.path(".codex"))
			s.install()
			env := []string{"CODEX_HOME=" + s.path(".codex"), "STUB_KEY=sk-EXAMPLE"}
			out, complaint := s.runClient(program, env, "exec", "--json", "--skip-git-repo-check", "Count the apples.")
			var thread struct {
				ID string `json:"thread_id"`
			}
			must(t, json.Unmarshal([]byte(strings.SplitN(out, "\n", 2)[0]), &thread))
			_, more := s.runClient(program, env, "exec", "resume", thread.ID, "--json", "--skip-git-repo-check", "Go on.")
			for line := range strings.Lines(strings.ReplaceAll(complaint+more+out, s.home, "/HOME")) {
				for _, word := range []string{"config", "hook", "deprecat"} {
					if strings.Contains(line, word) && !strings.Contains(line, "PATH aliases") { // it says so of any home in /tmp
						t.Errorf("the client complains: %s", line)
					}
				}
			}
			s.wantNoted(f.foreign...)
			s.uninstall()
			for path, content := range before {
				if got := snapshot(t, s.path(".codex"))[path]; got != content {
					t.Errorf("%s after uninstall: %q, was %q", path, got, content)
				}
			}
		})
	}
}

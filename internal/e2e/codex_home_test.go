//go:build e2e

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

// codexModel is one that Codex knows, so that it offers exec_command and the
// freeform apply_patch.
const codexModel = "gpt-5.5"

// autoLimit is the token limit in homes that compact by themselves. What a
// fresh session uses is some 2,000.
const autoLimit = 20_000

// autoCompact is the line of config.toml that makes Codex compact by itself at
// autoLimit.
func autoCompact() string { return fmt.Sprintf("model_auto_compact_token_limit = %d", autoLimit) }

// codex is a Codex in a home that is thrown away, with a stub model of its own.
type codex struct {
	*home
	version string
	program string
	stub    *openai.Server
	scenes  openai.Scenes
}

// newCodex makes a home whose configuration knows only the stub. Further
// top-level lines of config.toml may be given. The project is trusted from the
// start: 0.133.0 and 0.139.0 write that into the file by themselves.
func newCodex(t *testing.T, version string, lines ...string) *codex {
	t.Helper()
	c := &codex{home: newBareHome(t), version: version, program: clientProgram(t, "codex", version)}
	stub, err := openai.Serve(c.scenes.Reply)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stub.Close() })
	c.stub = stub
	c.write(t, ".codex/config.toml", fmt.Sprintf(`model = %q
model_provider = "stub"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
%s
[model_providers.stub]
name = "stub"
base_url = %q
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0

[projects.%q]
trust_level = "trusted"
`, codexModel, strings.Join(lines, "\n"), stub.BaseURL(), c.Project))
	return c
}

func (c *codex) configDir() string  { return filepath.Join(c.Dir, ".codex") }
func (c *codex) configFile() string { return filepath.Join(c.configDir(), "config.toml") }

// codexEnv is the client's environment: no way out but loopback.
func (c *codex) codexEnv() []string {
	return c.env(
		"CODEX_HOME="+c.configDir(),
		"STUB_KEY=sk-EXAMPLE",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1",
	)
}

// rollouts lists the sessions' transcripts, oldest first.
func (c *codex) rollouts(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.configDir(), "sessions", "*", "*", "*", "rollout-*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// codexHook is one entry of Codex's configuration.
type codexHook struct {
	event   string
	command string
	timeout int // seconds
}

// addHooks appends hooks to config.toml, each in a group of its own, and the
// person's approval of them.
func (c *codex) addHooks(t *testing.T, entries ...codexHook) {
	t.Helper()
	before, err := os.ReadFile(c.configFile())
	if err != nil {
		t.Fatal(err)
	}
	var added strings.Builder
	groups := map[string]int{}
	for _, h := range entries {
		group := strings.Count(string(before), "[[hooks."+h.event+"]]") + groups[h.event]
		groups[h.event]++
		fmt.Fprintf(&added, "\n[[hooks.%[1]s]]\n[[hooks.%[1]s.hooks]]\ntype = \"command\"\ncommand = %[2]q\ntimeout = %[3]d\n", h.event, h.command, h.timeout)
		fmt.Fprintf(&added, "\n[hooks.state.%q]\ntrusted_hash = %q\n", c.trustKey(c.configFile(), h.event, group), h.trustHash(t))
	}
	if err := os.WriteFile(c.configFile(), append(before, added.String()...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// trustKey names the first hook of a group in Codex's list of approvals.
func (c *codex) trustKey(file, event string, group int) string {
	return fmt.Sprintf("%s:%s:%d:0", file, snakeCase(event), group)
}

// trustHash is what Codex compares before it runs a hook: SHA-256 of compact
// JSON with sorted keys and no HTML escapes (0.129 to 0.171). It is worked out
// here once more, apart from the installer's own.
func (h codexHook) trustHash(t *testing.T) string {
	t.Helper()
	var compact strings.Builder
	encoder := json.NewEncoder(&compact)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(map[string]any{
		"event_name": snakeCase(h.event),
		"hooks": []any{map[string]any{
			"async": false, "command": h.command, "timeout": h.timeout, "type": "command",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(strings.TrimSuffix(compact.String(), "\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// snakeCase writes an event's name as Codex keeps it: PreCompact, pre_compact.
func snakeCase(event string) string {
	var b strings.Builder
	for n, r := range event {
		if n > 0 && r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
		}
		b.WriteRune(r)
	}
	return strings.ToLower(b.String())
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

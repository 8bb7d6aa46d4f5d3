//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A launched client takes the merged settings without a complaint, runs the
// person's own hooks from them and ours, and its session sits at the seat.
func TestClaudeStartsWithItsSettingsMerged(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.write(t, ".config/reseat/config.toml", "[policy.claude]\nenabled = true\nthreshold_percent = 80\n")
		if err := os.Chmod(filepath.Join(c.Dir, ".config", "reseat", "config.toml"), 0o600); err != nil {
			t.Fatal(err)
		}
		own, err := json.Marshal(map[string]any{
			"idleCompaction": true,
			"hooks": map[string]any{"UserPromptSubmit": []any{map[string]any{"hooks": []any{
				map[string]any{"type": "command", "command": `echo ran >"$HOME/own-hook"; exit 0`},
			}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		file := c.write(t, "mine.json", string(own))
		env := clientOnPath(t, c.home, "claude", c.program, c.claudeEnv())
		for name, value := range map[string]string{"JSON": string(own), "a file": file} {
			_ = os.Remove(filepath.Join(c.Dir, "own-hook"))
			seat := "dev-" + strings.ReplaceAll(strings.ToLower(name), " ", "-") + "@rig"
			args := []string{"launch", seat, "--runtime", "claude", "--", "--settings", value, "-p", "hello", "--output-format", "json"}
			line := c.must(t, c.home.command(filepath.Join(c.Bin, "reseat"), env, append([]string{"launch", seat, "--runtime", "claude", "--print"}, args[4:]...)...))
			if name == "JSON" && !strings.Contains(line.stdout, `"idleCompaction":false`) {
				t.Errorf("%s: the line is %s", name, line.stdout)
			}
			out := c.must(t, c.home.command(filepath.Join(c.Bin, "reseat"), env, args...))
			complaint := strings.ReplaceAll(out.stderr, "reseat: note: Claude Code "+version+" ignores idleCompaction: it came with 2.1.290\n", "")
			if strings.Contains(strings.ToLower(complaint), "settings") || strings.Contains(complaint, "reseat:") {
				t.Errorf("%s: it complains: %s", name, out.stderr)
			}
			if _, err := os.Stat(filepath.Join(c.Dir, "own-hook")); err != nil {
				t.Errorf("%s: the person's own hook didn't run: %v", name, err)
			}
			var said turn
			if err := json.Unmarshal([]byte(out.stdout), &said); err != nil {
				t.Fatalf("%s: %v: %s", name, err, out.stdout)
			}
			if shown := c.reseat(t, "seat", "show", seat); !strings.Contains(shown, said.SessionID) {
				t.Errorf("%s: session %s doesn't sit at the seat: %s", name, said.SessionID, shown)
			}
		}
	})
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// claudeHooks is the table of what is to be installed for Claude Code.
var claudeHooks = []struct {
	event, program string
	timeout        int // seconds
}{
	{"PreCompact", "reseat-precompact", 30},
	{"SessionStart", "reseat-directive", 15},
	{"UserPromptSubmit", "reseat-directive", 10},
	{"PostCompact", "reseat-directive", 10},
}

// installClaude puts our programs into the home and lets our own command
// install the hooks into Claude Code's settings.
func installClaude(t *testing.T, h *home) {
	t.Helper()
	putPrograms(t, h.Bin)
	if err := os.MkdirAll(filepath.Dir(settingsPath(h)), 0o755); err != nil {
		t.Fatal(err) // without the folder there is no client to install for
	}
	h.reseat(t, "install", "--client", "claude", "--yes", "--home", h.State)
	s := readSettings(t, h)
	for _, hook := range claudeHooks {
		if len(s.Hooks[hook.event]) != 1 {
			t.Fatalf("install wrote %d groups for %s, want 1: %+v", len(s.Hooks[hook.event]), hook.event, s)
		}
	}
}

// settings is a settings.json that tests write.
type settings struct {
	Hooks       map[string][]hookGroup `json:"hooks,omitempty"`
	Permissions map[string][]string    `json:"permissions,omitempty"`
}

type hookGroup struct {
	Hooks []hookEntry `json:"hooks"`
}

type hookEntry struct {
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

func settingsPath(h *home) string { return filepath.Join(h.Dir, ".claude", "settings.json") }

func readSettings(t *testing.T, h *home) *settings {
	t.Helper()
	var s settings
	raw, err := os.ReadFile(settingsPath(h))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return &s
}

func (s *settings) add(event, command string, timeout int) {
	if s.Hooks == nil {
		s.Hooks = map[string][]hookGroup{}
	}
	s.Hooks[event] = append(s.Hooks[event], hookGroup{Hooks: []hookEntry{{Type: "command", Command: command, Timeout: timeout}}})
}

func (s *settings) write(t *testing.T, h *home) {
	t.Helper()
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	h.write(t, filepath.Join(".claude", "settings.json"), string(raw)+"\n")
}

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/host"
)

// clientOnPath makes a folder with the pinned client under its own name, and
// returns env with that folder first on the PATH: adapters find the client as a
// person's shell does.
func clientOnPath(t *testing.T, h *home, name, program string, env []string) []string {
	t.Helper()
	dir := filepath.Join(h.Dir, "clients")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	env = slices.Clone(env)
	for i, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			env[i] = "PATH=" + dir + ":" + path
		}
	}
	return env
}

// openAdapter starts our adapter for a client, as the programs do.
func openAdapter(t *testing.T, h *home, name, program string, env []string) *host.Connection {
	t.Helper()
	if _, err := os.Stat(h.Bin); err != nil {
		putPrograms(t, h.Bin)
	}
	found, err := host.Find(host.Place{Beside: h.Bin, Home: state.Home(h.State)})
	if err != nil {
		t.Fatal(err)
	}
	adapter, ok := host.For(found, name)
	if !ok {
		t.Fatalf("no adapter for %s in %s", name, h.Bin)
	}
	c, err := host.Open(t.Context(), adapter, host.Settings{
		Home: h.State, Environ: clientOnPath(t, h, name, program, env), Allow: map[string][]string{"codex": {"STUB_KEY"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (c *claude) adapter(t *testing.T) *host.Connection {
	t.Helper()
	return openAdapter(t, c.home, "claude", c.program, c.claudeEnv())
}

func (c *codex) adapter(t *testing.T) *host.Connection {
	t.Helper()
	return openAdapter(t, c.home, "codex", c.program, c.codexEnv())
}

// compactNow compacts a session with a minute's patience and logs the stages.
func compactNow(t *testing.T, r plugins.Runtime, session string, wait time.Duration) plugins.Result {
	t.Helper()
	return compactWith(t, r, plugins.CompactRequest{
		Session: plugins.SessionRef{ID: session}, Instructions: "keep the numbers",
		Patience: plugins.Patience{WaitIdle: wait, Timeout: time.Minute},
	})
}

func compactWith(t *testing.T, r plugins.Runtime, request plugins.CompactRequest) plugins.Result {
	t.Helper()
	result, err := r.Compact(t.Context(), request, func(p plugins.Progress) { t.Logf("%s %s", p.Stage, p.Detail) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", result)
	return result
}

// wantOutcome checks a result against the contract's words.
func wantOutcome(t *testing.T, got plugins.Result, o plugins.Outcome, reason plugins.Reason, channel plugins.Channel) {
	t.Helper()
	if got.Outcome != o || got.Reason != reason || got.Channel != channel {
		t.Errorf("got %s (%s) by %q: %s\nwant %s (%s) by %q", got.Outcome, got.Reason, got.Channel, got.Detail, o, reason, channel)
	}
}

// wantState waits until a session is shown in a state.
func wantState(t *testing.T, r plugins.Runtime, session string, state plugins.State) plugins.Session {
	t.Helper()
	var found plugins.Session
	eventually(t, 30*time.Second, session+" "+string(state), func() bool {
		all, err := r.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all.Sessions {
			if s.ID == session {
				found = s
			}
		}
		return found.State == state
	})
	return found
}

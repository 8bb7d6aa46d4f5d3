//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/plugins"
)

// withDaemon is the first version that was tried with the shared daemon.
const withDaemon = "0.171.0"

// startTerminal starts Codex in a terminal, past its first questions, and with
// or without the daemon.
func (c *codex) startTerminal(t *testing.T, flags ...string) *terminal {
	t.Helper()
	c.trustProject(t)
	t.Cleanup(func() { c.stopDaemon(t) })
	term := startTerminal(t, c.home.command(c.program, c.codexEnv(), flags...))
	eventually(t, screenTimeout, "Codex's prompt", func() bool {
		return !passNews(term) && strings.Contains(term.screen(), "\n› ")
	})
	return term
}

// passNews answers the question about a new model, which comes a while after
// the start, and says whether it was there.
func passNews(term *terminal) bool {
	term.t.Helper()
	if !strings.Contains(term.screen(), "Use existing model") {
		return false
	}
	term.tmux("send-keys", "2")
	term.tmux("send-keys", "Enter")
	return true
}

// trustProject writes down that a person trusts the project's folder.
func (c *codex) trustProject(t *testing.T) {
	t.Helper()
	before := readFile(t, c.configFile())
	if strings.Contains(before, "trust_level") {
		return
	}
	after := before + "\n[projects.\"" + c.Project + "\"]\ntrust_level = \"trusted\"\n"
	if err := os.WriteFile(c.configFile(), []byte(after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// stopDaemon ends the daemon of this home, and what updates it: both note their
// process ids in the home.
func (c *codex) stopDaemon(t *testing.T) {
	t.Helper()
	for _, name := range []string{"daemon-updater.pid", "daemon.pid"} {
		data, err := os.ReadFile(filepath.Join(c.configDir(), "app-server-daemon", name))
		if err != nil {
			continue
		}
		pid := int(gjson.GetBytes(data, "pid").Int())
		program, _ := os.Readlink(filepath.Join("/proc", gjson.GetBytes(data, "pid").String(), "exe"))
		if pid > 1 && strings.HasPrefix(program, c.configDir()) {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		}
	}
}

// exchange types a prompt and waits until the turn is over; it returns the
// thread.
func (c *codex) exchange(t *testing.T, term *terminal, prompt string) string {
	t.Helper()
	answer := "answer to " + prompt
	c.scenes.On(prompt, stubmodel.Text("%s", answer))
	eventually(t, screenTimeout, prompt+" in the rollout", func() bool {
		if passNews(term) {
			return false
		}
		for _, rollout := range c.rollouts(t) {
			if strings.Contains(readFile(t, rollout), prompt) {
				return true
			}
		}
		if !strings.Contains(term.screen(), prompt) {
			term.tmux("send-keys", "-l", prompt)
			eventually(t, screenTimeout, prompt+" on the screen", func() bool {
				return passNews(term) || strings.Contains(term.screen(), prompt)
			})
			term.tmux("send-keys", "Enter")
		}
		return false
	})
	term.waitFor(answer)
	rollouts := c.rollouts(t)
	i := slices.IndexFunc(rollouts, func(r string) bool { return strings.Contains(readFile(t, r), prompt) })
	eventually(t, screenTimeout, "the turn's end", func() bool { return strings.Contains(readFile(t, rollouts[i]), `"task_complete"`) })
	name := strings.TrimSuffix(filepath.Base(rollouts[i]), ".jsonl")
	return name[len(name)-36:]
}

func TestCodexLiveSeatIsCompactedThroughTheDaemon(t *testing.T) {
	t.Parallel()
	c := newCodex(t, withDaemon)
	term := c.startTerminal(t)
	thread := c.exchange(t, term, "first words")
	a := c.adapter(t)
	live := wantState(t, a, thread, plugins.StateIdle)
	if live.Channel != plugins.ChannelDaemon {
		t.Errorf("session %+v", live)
	}
	result := compactNow(t, a, thread, 0)
	wantOutcome(t, result, plugins.Compacted, "", plugins.ChannelDaemon)
	if result.Evidence != plugins.EvidenceBoundary || result.Mechanism != plugins.CodexCompact {
		t.Errorf("result %+v", result)
	}
	term.waitFor("Context compacted")
	turn, err := a.Turn(t.Context(), plugins.TurnRequest{Session: plugins.SessionRef{ID: thread}, Text: "second words", Patience: plugins.Patience{Timeout: time.Minute}}, func(plugins.Progress) {})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, turn, plugins.Answered, "", plugins.ChannelDaemon)
}

func TestCodexLiveSeatWithoutADaemonIsCompactedThroughItsPane(t *testing.T) {
	t.Parallel()
	for version, flags := range map[string][]string{withDaemon: {"--no-daemon"}, "0.139.0": nil, "0.133.0": nil} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newCodex(t, version)
			term := c.startTerminal(t, flags...)
			thread := c.exchange(t, term, "first words")
			a := c.adapter(t)
			live := wantState(t, a, thread, plugins.StateIdle)
			if live.Channel != plugins.ChannelPane || live.Pane == nil || live.Pane.Socket != term.socket {
				t.Errorf("session %+v", live)
			}
			wantOutcome(t, compactNow(t, a, thread, 0), plugins.Compacted, "", plugins.ChannelPane)
			turn, err := a.Turn(t.Context(), plugins.TurnRequest{
				Session: plugins.SessionRef{ID: thread}, Text: "second words", Patience: plugins.Patience{WaitIdle: 10 * time.Second, Timeout: time.Minute},
			}, func(p plugins.Progress) { t.Log(p) })
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, turn, plugins.Answered, "", plugins.ChannelPane)
		})
	}
}

func TestCodexClosedThreadIsCompactedThroughAnAppServer(t *testing.T) {
	t.Parallel()
	for _, version := range codexVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newCodex(t, version)
			c.scenes.On("first words", stubmodel.Text("answer"))
			server := startAppServer(t, c)
			thread := server.start(c)
			server.prompt(thread, "first words")
			server.close()
			a := c.adapter(t)
			result := compactNow(t, a, thread, 0)
			wantOutcome(t, result, plugins.Compacted, "", plugins.ChannelAppServer)
			if result.Evidence != plugins.EvidenceBoundary {
				t.Errorf("result %+v", result)
			}
			turn, err := a.Turn(t.Context(), plugins.TurnRequest{Session: plugins.SessionRef{ID: thread}, Text: "second words"}, func(plugins.Progress) {})
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, turn, plugins.Answered, "", plugins.ChannelAppServer)
		})
	}
}

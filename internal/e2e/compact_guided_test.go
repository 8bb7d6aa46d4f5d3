//go:build e2e

package e2e

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/runtimetest"
)

// guide runs `reseat compact SEAT --json` as a person does, and returns its
// report.
func guide(t *testing.T, h *home, name, program string, env []string, seat string, flags ...string) gjson.Result {
	t.Helper()
	args := append([]string{"compact", seat, "--json", "--timeout", "90s"}, flags...)
	out, err := h.command(filepath.Join(h.Bin, "reseat"), clientOnPath(t, h, name, program, env), args...).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	report := gjson.Parse(out.stdout)
	if out.code != 0 || report.Get("outcome").String() != string(plugins.Compacted) {
		t.Fatalf("exit code %d: %s\n%s", out.code, out.stdout, out.stderr)
	}
	t.Logf("%s", out.stdout)
	return report
}

// checkGuided checks that the directive came in and that the reading was
// measured.
func checkGuided(t *testing.T, report gjson.Result, channel plugins.Channel) {
	t.Helper()
	for path, want := range map[string]string{
		"result.channel": string(channel), "steps.0.step": "prep", "steps.0.outcome": "answered",
		"steps.1.step": "compact", "steps.2.step": "restore", "steps.2.outcome": "answered",
	} {
		if got := report.Get(path).String(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if id := report.Get("delivery.id").String(); id == "" {
		t.Errorf("no directive: %s", report.Get("delivery"))
	}
	if depth := report.Get("audit.depth").String(); depth != "NOT_READ" { // the stub opens nothing
		t.Errorf("audit %s", report.Get("audit"))
	}
}

func TestClaudeLiveSeatIsGuided(t *testing.T) {
	t.Parallel()
	c := installedClaude(t, claudeVersions[0])
	term := c.startTerminal(t)
	session := c.exchange(t, term, "first words")
	c.exchange(t, term, "second words")
	before := len(c.turns(session))
	report := guide(t, c.home, "claude", c.program, c.claudeEnv(), "claude:"+session)
	checkGuided(t, report, plugins.ChannelPane)
	c.once(t, c.turns(session)[before+1:]) // behind the preparation: one directive, once
}

func TestClaudeClosedSessionIsGuided(t *testing.T) {
	t.Parallel()
	c := installedClaude(t, claudeVersions[0])
	session := c.say(t, "first words").SessionID
	c.resume(t, session, "second words")
	before := len(c.turns(session))
	report := guide(t, c.home, "claude", c.program, c.claudeEnv(), session[:13])
	checkGuided(t, report, plugins.ChannelStream)
	c.once(t, c.turns(session)[before+1:])
}

func TestCodexSeatsAreGuided(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name    string
		flags   []string
		channel plugins.Channel
	}{{"daemon", nil, plugins.ChannelDaemon}, {"pane", []string{"--no-daemon"}, plugins.ChannelPane}} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			c := installedCodex(t, withDaemon)
			term := c.startTerminal(t, way.flags...)
			thread := c.exchange(t, term, "first words")
			report := guide(t, c.home, "codex", c.program, c.codexEnv(), "codex:"+thread)
			checkGuided(t, report, way.channel)
		})
	}
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		c := installedCodex(t, withDaemon)
		c.scenes.On("first words", stubmodel.Text("answer"))
		server := startAppServer(t, c)
		thread := server.start(c)
		server.prompt(thread, "first words")
		server.close()
		report := guide(t, c.home, "codex", c.program, c.codexEnv(), "codex:"+thread)
		checkGuided(t, report, plugins.ChannelAppServer)
	})
}

// Our own adapters pass the kit that strangers get.
func TestClaudeAdapterPassesTheKit(t *testing.T) {
	t.Parallel()
	c := newClaude(t, claudeVersions[0])
	closed := c.say(t, "first words").SessionID
	c.resume(t, closed, "second words")
	term := c.startTerminal(t)
	live := c.exchange(t, term, "third words")
	c.exchange(t, term, "fourth words")
	putPrograms(t, c.Bin)
	runtimetest.Run(t, runtimetest.Subject{
		Program: filepath.Join(c.Bin, "reseat-runtime-claude"), Environ: clientOnPath(t, c.home, "claude", c.program, c.claudeEnv()),
		Closed: plugins.SessionRef{ID: closed}, Live: plugins.SessionRef{ID: live},
	})
}

func TestCodexAdapterPassesTheKit(t *testing.T) {
	t.Parallel()
	c := newCodex(t, withDaemon)
	c.scenes.On("first words", stubmodel.Text("answer"))
	server := startAppServer(t, c)
	closed := server.start(c)
	server.prompt(closed, "first words")
	server.close()
	term := c.startTerminal(t)
	live := c.exchange(t, term, "second words")
	putPrograms(t, c.Bin)
	eventually(t, 30*time.Second, "the thread's rest", func() bool { return len(c.rollouts(t)) == 2 })
	runtimetest.Run(t, runtimetest.Subject{
		Program: filepath.Join(c.Bin, "reseat-runtime-codex"), Environ: clientOnPath(t, c.home, "codex", c.program, c.codexEnv()),
		Closed: plugins.SessionRef{ID: closed}, Live: plugins.SessionRef{ID: live},
	})
}

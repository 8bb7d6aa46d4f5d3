//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
	"github.com/reseat-dev/reseat/plugins"
)

// blockWhile installs a PreCompact hook that forbids every compaction while the
// returned file is there.
func (c *claude) blockWhile(t *testing.T) (file string) {
	t.Helper()
	file = c.Dir + "/block"
	s := readSettings(t, c.home)
	s.add("PreCompact", `cat >/dev/null; test ! -e "$HOME/block" || { echo not now >&2; exit 2; }`, 10)
	s.Permissions = map[string][]string{}
	s.write(t, c.home)
	return file
}

// None of these compacts: the seat is left as it was, and the model is asked for
// no summary.
func TestClaudeSeatThatIsNotFreeIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	c := newClaude(t, claudeVersions[0])
	block := c.blockWhile(t)
	editor := filepath.Join(t.TempDir(), "editor") // the client takes a blank in it for the end of the program's name
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nclear\necho an editor\nread line\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.skipOnboarding(t)
	term := startTerminal(t, c.home.command(c.program, c.claudeEnv("EDITOR="+editor, "VISUAL="+editor), "--permission-mode", "default"))
	term.waitFor("❯")
	session := c.exchange(t, term, "first words")
	c.exchange(t, term, "second words")
	a := c.adapter(t)
	refused := func(name string, o plugins.Outcome, reason plugins.Reason) {
		t.Helper()
		t.Log(name)
		got := compactNow(t, a, session, 0)
		wantOutcome(t, got, o, reason, plugins.ChannelPane)
		if n := len(c.stub.Of(anthropic.Summary)); n != 0 {
			t.Fatalf("%s: %d summaries were asked for", name, n)
		}
	}

	term.tmux("copy-mode")
	refused("copy mode", plugins.Busy, plugins.ReasonCopyMode)
	term.tmux("send-keys", "-X", "cancel")

	term.tmux("send-keys", "-l", "half a thought")
	term.waitFor("half a thought")
	refused("half typed", plugins.Busy, plugins.ReasonTextTyped)
	term.waitFor("half a thought")
	term.tmux("send-keys", "C-g")
	term.waitFor("an editor")
	got := compactNow(t, a, session, 0)
	if got.Outcome != plugins.Busy || got.Sent {
		t.Errorf("an editor in the pane: %+v", got)
	}
	term.tmux("send-keys", "Enter")
	term.waitFor("half a thought")
	term.tmux("send-keys", "C-c")

	c.book.Turn("run something", stubmodel.UseTools(anthropic.Bash("touch ../outside")), stubmodel.Text("done"))
	term.enter("run something")
	wantState(t, a, session, plugins.StateWaiting)
	refused("a dialog", plugins.Busy, plugins.ReasonDialogOpen)
	term.tmux("send-keys", "Escape")
	wantState(t, a, session, plugins.StateIdle)

	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("blocked by a hook", plugins.Blocked, plugins.ReasonHookBlocked)
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, compactNow(t, a, session, 10*time.Second), plugins.Compacted, "", plugins.ChannelPane)
}

func TestClaudeOutcomesOfClosedSessions(t *testing.T) {
	t.Parallel()
	c := newClaude(t, claudeVersions[0])
	block := c.blockWhile(t)
	session := c.say(t, "first words").SessionID
	c.resume(t, session, "second words")
	a := c.adapter(t)
	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, compactNow(t, a, session, 0), plugins.Blocked, plugins.ReasonHookBlocked, plugins.ChannelStream)
	if n := len(c.stub.Of(anthropic.Summary)); n != 0 {
		t.Errorf("blocked, and %d summaries were asked for", n)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}
	c.book.Summaries(stubmodel.Reply{Hang: true})
	got := compactWith(t, a, plugins.CompactRequest{Session: plugins.SessionRef{ID: session}, Patience: plugins.Patience{Timeout: 8 * time.Second}})
	wantOutcome(t, got, plugins.TimedOut, "", plugins.ChannelStream)
	c.book.Summaries(stubmodel.Text("<summary>A summary.</summary>"))
	wantOutcome(t, compactNow(t, a, session, 0), plugins.Compacted, "", plugins.ChannelStream)
	wantOutcome(t, compactNow(t, a, "11111111-2222-4333-8444-555555555555", 0), plugins.NotFound, "", "")
	transcript := c.transcript(t, session)
	if err := os.Remove(transcript); err != nil {
		t.Fatal(err)
	}
	gone := compactWith(t, a, plugins.CompactRequest{Session: plugins.SessionRef{ID: session, Transcript: transcript}})
	wantOutcome(t, gone, plugins.NoHistory, "", "")
}

func TestClaudeSeatWithTooLittleIsSaidToHaveTooLittle(t *testing.T) {
	t.Parallel()
	c := newClaude(t, claudeVersions[0])
	c.startTerminal(t)
	a := c.adapter(t)
	var session string
	eventually(t, 30*time.Second, "a live session", func() bool {
		all, err := a.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(all.Sessions) == 1 && all.Sessions[0].State == plugins.StateIdle {
			session = all.Sessions[0].ID
		}
		return session != ""
	})
	wantOutcome(t, compactNow(t, a, session, 10*time.Second), plugins.NotEnough, "", plugins.ChannelPane)
	if n := len(c.stub.Of(anthropic.Summary)); n != 0 {
		t.Errorf("%d summaries were asked for", n)
	}
}

func TestClaudeTerminalThatGoesWhileItIsWaitedFor(t *testing.T) {
	t.Parallel()
	c := newClaude(t, claudeVersions[0])
	term := c.startTerminal(t)
	session := c.exchange(t, term, "first words")
	a := c.adapter(t)
	c.book.Turn("a long turn", stubmodel.Reply{Hang: true})
	term.enter("a long turn")
	wantState(t, a, session, plugins.StateBusy)
	got := plugins.Result{}
	waiting, done := make(chan bool, 1), make(chan bool)
	go func() {
		defer close(done)
		got, _ = a.Compact(t.Context(), plugins.CompactRequest{
			Session: plugins.SessionRef{ID: session}, Patience: plugins.Patience{WaitIdle: time.Minute, Timeout: time.Minute},
		}, func(p plugins.Progress) {
			if p.Stage == plugins.StageWaitingIdle {
				waiting <- true
			}
		})
	}()
	<-waiting
	term.kill()
	<-done
	if got.Outcome != plugins.Failed || got.Sent {
		t.Errorf("got %+v", got)
	}
	if n := len(c.stub.Of(anthropic.Summary)); n != 0 {
		t.Errorf("%d summaries were asked for", n)
	}
}

func TestCodexOutcomesThroughTheDaemon(t *testing.T) {
	t.Parallel()
	c := newCodex(t, withDaemon)
	block := c.Dir + "/block"
	c.addHooks(t, codexHook{"PreCompact", `cat >/dev/null; test -e "$HOME/block" && echo '{"continue":false,"stopReason":"not now"}'; exit 0`, 10})
	term := c.startTerminal(t)
	thread := c.exchange(t, term, "first words")
	a := c.adapter(t)
	summaries := func() int {
		n := 0
		for _, r := range c.stub.Log.All() {
			if r.Kind == openai.Compaction {
				n++
			}
		}
		return n
	}

	c.scenes.On("a long turn", stubmodel.Text("the end of it").After(6*time.Second))
	term.enter("a long turn")
	wantState(t, a, thread, plugins.StateBusy)
	wantOutcome(t, compactNow(t, a, thread, 0), plugins.Busy, plugins.ReasonTurnRunning, plugins.ChannelDaemon)
	term.waitFor("the end of it")
	if n := summaries(); n != 0 {
		t.Errorf("busy, and %d summaries were asked for", n)
	}

	if err := os.WriteFile(block, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := compactNow(t, a, thread, 10*time.Second)
	if got.Outcome != plugins.Blocked && !(got.Outcome == plugins.Failed && got.Reason == plugins.ReasonInterrupted) {
		t.Errorf("stopped by a hook: %+v", got)
	}
	if n := summaries(); n != 0 {
		t.Errorf("stopped, and %d summaries were asked for", n)
	}
	if err := os.Remove(block); err != nil {
		t.Fatal(err)
	}

	c.scenes.OnCompaction(stubmodel.Fail(500, "the stub says no"))
	got = compactNow(t, a, thread, 10*time.Second)
	if got.Outcome != plugins.Failed || !got.Sent {
		t.Errorf("a model that fails: %+v", got)
	}
	wantOutcome(t, compactNow(t, a, strings.Replace(thread, thread[:4], "0000", 1), 0), plugins.NotFound, "", "")
}

//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
	"github.com/reseat-dev/reseat/plugins"
)

// exchange types a prompt, waits until the model was asked and the client is
// idle again, and returns the session.
func (c *claude) exchange(t *testing.T, term *terminal, prompt string) string {
	t.Helper()
	term.enter(prompt)
	session := waitAsked(t, c.stub, prompt).SessionID
	// Until the answer is on disk an "idle" may be the one from before the turn.
	eventually(t, time.Minute, "the answer to "+prompt, func() bool { return c.answered(t, session, prompt) })
	eventually(t, time.Minute, "idle after "+prompt, func() bool {
		return c.status(t, session) == "idle" && strings.Contains(term.screen(), "❯")
	})
	return session
}

// answered reports whether the transcript holds an answer behind the prompt.
func (c *claude) answered(t *testing.T, session, prompt string) bool {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.Dir, ".claude", "projects", "*", session+".jsonl"))
	if err != nil || len(found) != 1 {
		return false
	}
	asked := false
	for _, r := range readRecords(readFile(t, found[0])) {
		switch r.Get("type").String() {
		case "user":
			asked = asked || strings.Contains(r.Get("message.content").Raw, prompt)
		case "assistant":
			if asked {
				return true
			}
		}
	}
	return false
}

// status is what the client says of a session that it has open.
func (c *claude) status(t *testing.T, session string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.Dir, ".claude", "sessions", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err == nil && gjson.GetBytes(data, "sessionId").String() == session {
			return gjson.GetBytes(data, "status").String()
		}
	}
	return ""
}

func TestClaudeLiveSeatIsCompactedThroughItsPane(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		term := c.startTerminal(t)
		session := c.exchange(t, term, "first words")
		c.exchange(t, term, "second words")
		a := c.adapter(t)
		live := wantState(t, a, session, plugins.StateIdle)
		if live.Pane == nil || live.Pane.Socket != term.socket || live.Channel != plugins.ChannelPane {
			t.Errorf("session %+v", live)
		}
		result := compactNow(t, a, session, 0)
		wantOutcome(t, result, plugins.Compacted, "", plugins.ChannelPane)
		if result.Mechanism != plugins.ClaudeCompact || !result.Sent {
			t.Errorf("result %+v", result)
		}
		summaries := c.stub.Of(anthropic.Summary)
		if len(summaries) != 1 || !strings.Contains(summaries[0].Prompt(), "keep the numbers") {
			t.Errorf("%d summaries asked for", len(summaries))
		}
		turn, err := a.Turn(t.Context(), plugins.TurnRequest{
			Session: plugins.SessionRef{ID: session}, Text: "third words", Patience: plugins.Patience{Timeout: time.Minute, WaitIdle: 10 * time.Second},
		}, func(plugins.Progress) {})
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, turn, plugins.Answered, "", plugins.ChannelPane)
		waitAsked(t, c.stub, "third words")
	})
}

func TestClaudeClosedSessionIsCompactedThroughAHeadlessClient(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		session := c.say(t, "first words").SessionID
		c.resume(t, session, "second words")
		a := c.adapter(t)
		result := compactNow(t, a, session, 0)
		wantOutcome(t, result, plugins.Compacted, "", plugins.ChannelStream)
		if result.Evidence != plugins.EvidenceBoundary || result.Boundary == nil || result.Boundary.PreTokens == 0 {
			t.Errorf("result %+v, boundary %+v", result, result.Boundary)
		}
		if got := boundaries(c.records(t, session)); len(got) != 1 {
			t.Errorf("boundaries %v", got)
		}
		turn, err := a.Turn(t.Context(), plugins.TurnRequest{Session: plugins.SessionRef{ID: session}, Text: "third words"}, func(plugins.Progress) {})
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, turn, plugins.Answered, "", plugins.ChannelStream)
	})
}

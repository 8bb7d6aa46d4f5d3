//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
	"github.com/reseat-dev/reseat/plugins"
)

// A model server that answers 500, or that doesn't answer, is no compaction of a
// live seat: nothing is claimed, and no boundary is in the transcript.
func TestClaudeLiveSeatWhoseModelServerFails(t *testing.T) {
	for name, test := range map[string]struct {
		fault   stubmodel.Reply
		env     []string
		outcome plugins.Outcome
	}{
		"500 to a client that goes on trying": {stubmodel.Fail(500, "a made-up fault"), nil, plugins.TimedOut},
		"500 to one that gives up":            {stubmodel.Fail(500, "a made-up fault"), []string{"CLAUDE_CODE_MAX_RETRIES=1"}, plugins.Failed},
		"no answer":                           {stubmodel.Reply{Hang: true}, nil, plugins.TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClaude(t, claudeVersions[0])
			c.skipOnboarding(t)
			term := startTerminal(t, c.home.command(c.program, c.claudeEnv(test.env...)))
			term.waitFor("❯")
			session := c.exchange(t, term, "first words")
			c.exchange(t, term, "second words")
			a := c.adapter(t)
			c.book.Summaries(test.fault)
			got := compactWith(t, a, plugins.CompactRequest{
				Session: plugins.SessionRef{ID: session}, Patience: plugins.Patience{WaitIdle: 10 * time.Second, Timeout: 20 * time.Second},
			})
			if !got.Sent || got.Channel != plugins.ChannelPane || got.Boundary != nil {
				t.Errorf("got %+v", got)
			}
			if got.Outcome != test.outcome {
				t.Errorf("got %s (%s), want %s", got.Outcome, got.Detail, test.outcome)
			}
			if len(c.stub.Of(anthropic.Summary)) == 0 {
				t.Error("the client asked for no summary: nothing was tried")
			}
			if n := boundaries(c.records(t, session)); len(n) != 0 {
				t.Errorf("boundaries %v", n)
			}
		})
	}
}

// A compaction asked for while a turn runs leaves the turn alone: its answer and
// its end stand in the transcript before the boundary. Nothing else tells it on
// every version: 2.1.197 clears its screen at a compaction, and writes an answer
// later than it says idle; up to 2.1.322 the request for the summary can lack the
// last answer although the client has it.
func TestClaudeBusySeatsTurnEndsBeforeItsCompaction(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		term := c.startTerminal(t)
		session := c.talk(t, term, "first words").SessionID
		a := c.adapter(t)
		wantState(t, a, session, plugins.StateIdle)
		c.book.Turn("a long turn", stubmodel.Text("the end of it").After(6*time.Second))
		term.enter("a long turn")
		wantState(t, a, session, plugins.StateBusy)
		wantOutcome(t, compactNow(t, a, session, 0), plugins.Busy, plugins.ReasonTurnRunning, plugins.ChannelPane)
		if n := len(c.stub.Of(anthropic.Summary)); n != 0 {
			t.Errorf("busy, and %d summaries were asked for", n)
		}
		wantOutcome(t, compactNow(t, a, session, time.Minute), plugins.Compacted, "", plugins.ChannelPane)
		if n := len(c.stub.Of(anthropic.Summary)); n != 1 {
			t.Errorf("%d summaries asked for", n)
		}
		var order []string
		eventually(t, time.Minute, "the boundary on disk", func() bool {
			order = orderOf(readFile(t, c.transcript(t, session)), "the end of it")
			return len(order) > 0 && order[len(order)-1] == "boundary"
		})
		if got := strings.Join(order, " "); got != "answer end boundary" {
			t.Errorf("in the transcript stand: %s", got)
		}
	})
}

// orderOf lists what happened in a transcript from an answer on: the answer, the
// end of its turn, the boundary.
func orderOf(text, answer string) (order []string) {
	for _, r := range readRecords(text) {
		switch {
		case r.Get("type").String() == "assistant" && strings.Contains(r.Raw, answer):
			order = append(order, "answer")
		case r.Get("subtype").String() == "turn_duration" && len(order) > 0:
			order = append(order, "end")
		case r.Get("subtype").String() == "compact_boundary":
			return append(order, "boundary")
		}
	}
	return order
}

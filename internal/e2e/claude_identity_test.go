//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

func TestClaudeTwoSessionsInOneDirectory(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		one, two := c.startStream(t), c.startStream(t)
		first, second := one.say("I am the first.").SessionID, two.say("I am the second.").SessionID
		one.say("The first goes on.")
		two.say("The second goes on.")
		since := c.stub.Len()
		one.say("/compact")
		two.say("The second goes on, next door.")
		one.say("The first is back.")
		two.say("The second goes on again.")
		one.end()
		two.end()

		for _, req := range c.stub.Since(since) {
			if ids := directiveIDs(req); req.SessionID == second && len(ids) > 0 {
				t.Errorf("the other session got directives %v at %q", ids, req.Prompt())
			}
		}
		turns := c.turns(first)
		if d := c.once(t, turns[len(turns)-1:]); d.session != first {
			t.Errorf("the directive is of session %s, want %s", d.session, first)
		}
		if got := c.compactions(t, second); len(got) != 0 {
			t.Errorf("status tells compactions of the other session: %s", got)
		}
	})
}

// A packet is prepared and its compaction blocked by another hook: the
// directive is pending. The fork must not get it, nor the parent, since no
// compaction followed; after a real one the parent gets its own.
func TestClaudeForkGetsNothingAndItsParentItsOwn(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.blockCompaction(t, true)
		parent := c.startStream(t).all("I am the parent.", "The parent goes on.", "/compact")
		c.blockCompaction(t, false)
		if got := c.compactions(t, parent); len(got) != 1 || got[0].Get("state").String() != "prepared" {
			t.Fatalf("the blocked compaction left %s, want one prepared attempt", got)
		}
		fork := c.startStream(t, "--resume", parent, "--fork-session").all("I am the fork.", "The fork goes on.")
		if fork == parent {
			t.Fatal("the fork has its parent's id")
		}
		c.none(t, 0)

		before := len(c.turns(parent))
		c.startStream(t, "--resume", parent).all("/compact", "The parent is back.")
		c.once(t, c.turns(parent)[before:])
		for _, req := range c.turns(fork) {
			if ids := directiveIDs(req); len(ids) > 0 {
				t.Errorf("the fork got directives %v at %q", ids, req.Prompt())
			}
		}
	})
}

// The fork of a session whose directive is on its way (compacted, no prompt
// since): the copy of the history holds the directive, as it holds everything
// else; nothing is delivered to the fork beyond that, and nothing is taken from
// the parent.
func TestClaudeForkAfterACompaction(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		parent := c.startStream(t).all("I am the parent.", "The parent goes on.", "/compact")
		fork := c.startStream(t, "--resume", parent, "--fork-session").all("I am the fork.", "The fork goes on.")
		before := len(c.turns(parent))
		c.startStream(t, "--resume", parent).all("The parent is back.")
		c.once(t, c.turns(parent)[before:])
		for _, req := range c.turns(fork) {
			if ids := directiveIDs(req); len(ids) > 1 {
				t.Errorf("the fork holds directives %v at %q, want only what its parent's history holds", ids, req.Prompt())
			}
		}
		if got := c.compactions(t, fork); len(got) != 0 {
			t.Errorf("status tells compactions of the fork: %s", got)
		}
	})
}

// blockCompaction adds a foreign hook that blocks every compaction, or takes it
// out again.
func (c *claude) blockCompaction(t *testing.T, block bool) {
	t.Helper()
	const command = `echo '{"decision":"block","reason":"not now"}'`
	s := readSettings(t, c.home)
	if block {
		s.add("PreCompact", command, 10)
	} else {
		groups := s.Hooks["PreCompact"]
		s.Hooks["PreCompact"] = groups[:len(groups)-1]
	}
	s.write(t, c.home)
}

func TestClaudePreCompactWithoutACompaction(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.blockCompaction(t, true)
		s := c.startStream(t)
		s.say("First.")
		s.say("Second.")
		blocked := s.say("/compact")
		if !strings.Contains(blocked.Result, "blocked") {
			t.Fatalf("the compaction wasn't blocked: %q", blocked.Result)
		}
		session := s.all("Third, in the same process.")
		c.startStream(t, "--resume", session).all("Fourth, after a resume.", "Fifth.", "Sixth.")
		c.none(t, 0)
		got := c.compactions(t, session)
		if len(got) != 1 || !strings.Contains(got[0].Get("words").String(), "no compaction followed") {
			t.Errorf("status tells %s%s", got, c.story(t))
		}
	})
}

func TestClaudeSubagentsCompactionIsNobodyElses(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		r := recordEverything(t, c)
		c.bookSubagent()
		session := c.say(t, "First.").SessionID
		c.resume(t, session, "Now spawn one.", "--permission-mode", "bypassPermissions")
		c.startStream(t, "--resume", session).all("Go on, please.")
		c.none(t, 0)
		if n := compactedInSubagent(c.stub.All()); n == 0 {
			t.Fatalf("the subagent wasn't compacted: %v", r.names(t))
		}
		if version == "2.1.332" {
			if got := c.compactions(t, session); len(got) != 0 {
				t.Errorf("a subagent's compaction left %s", got)
			}
		}

		before := len(c.turns(session))
		c.startStream(t, "--resume", session).all("/compact", "The main session is back.", "And on.")
		c.valid(t, c.once(t, c.turns(session)[before:]))
	})
}

// The main session compacts while a subagent is still at work.
func TestClaudeMainCompactionWhileASubagentWorks(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		if version == "2.1.197" {
			t.Skip("its Agent call holds the turn up until the subagent ends, so this can't happen")
		}
		c := installedClaude(t, version)
		release := make(chan struct{})
		c.book.Turn("spawn one", stubmodel.UseTools(anthropic.Agent("sub work", "do the sub work")), stubmodel.Text("spawned"))
		c.stub.Use(func(req anthropic.Request) stubmodel.Reply {
			if req.Kind == anthropic.Subagent {
				select {
				case <-release:
				default:
					return stubmodel.UseTools(anthropic.Bash("sleep 0.2")) // goes on working
				}
			}
			return c.book.Script(req)
		})
		s := c.startStream(t, "--permission-mode", "bypassPermissions")
		session := s.say("First.").SessionID
		s.say("Now spawn one.")
		s.say("/compact")
		before := len(c.turns(session))
		s.say("The main session is back.")
		close(release)
		s.say("And on.")
		s.end()
		c.once(t, c.turns(session)[before:])
	})
}

// compactedInSubagent counts the summaries that subagents asked for.
func compactedInSubagent(requests []anthropic.Request) int {
	n := 0
	for _, req := range requests {
		if req.Kind == anthropic.Summary && req.OfSubagent {
			n++
		}
	}
	return n
}

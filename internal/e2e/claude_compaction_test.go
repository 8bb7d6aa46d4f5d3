//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// bookNumbers scripts two turns of work: one writes a file with a real tool
// call, one only talks.
func (c *claude) bookNumbers() (file string) {
	file = filepath.Join(c.Project, "numbers.txt")
	c.book.
		Turn("write the numbers", stubmodel.UseTools(anthropic.Write(file, "17 23 42\n")), stubmodel.Text("The numbers are written.")).
		Turn("what is their sum", stubmodel.Text("Their sum is 82."))
	return file
}

func TestClaudeManualCompactionDeliversOnce(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		numbers := c.bookNumbers()
		session := c.say(t, "Please write the numbers down.", "--permission-mode", "acceptEdits").SessionID
		c.resume(t, session, "And what is their sum?")
		if got := readFile(t, numbers); got != "17 23 42\n" {
			t.Fatalf("the tool call wrote %q", got)
		}
		c.resume(t, session, "/compact keep the numbers")
		c.none(t, 0)
		before := len(c.turns(session))
		c.resume(t, session, "Go on, please.")
		first := c.once(t, c.turns(session)[before:])
		c.resume(t, session, "And on.")
		c.once(t, c.turns(session)[before:])

		if first.session != session || first.trigger != "manual" || first.event != "SessionStart" {
			t.Errorf("reseat show: session %s, trigger %s, event %s", first.session, first.trigger, first.event)
		}
		continuity := c.valid(t, first)
		if got := continuity.Get("instructions.text").String(); got != "keep the numbers" {
			t.Errorf("instructions %q", got)
		}
		checkNumbersPacket(t, first)
		c.confirmed(t, session, first.id)
	})
}

// checkNumbersPacket checks that the packet holds the two turns of bookNumbers.
func checkNumbersPacket(t *testing.T, d claudeDirective) {
	t.Helper()
	holdsInOrder(t, "transcript-latest.md", d.file(t, "transcript-latest.md"),
		"Please write the numbers down.", "The numbers are written.", "And what is their sum?", "Their sum is 82.")
	holdsInOrder(t, "touched-files.md", d.file(t, "touched-files.md"), "numbers.txt")
}

// confirmed requires status to tell one compaction of the session, and that its
// directive was seen in the context.
func (c *claude) confirmed(t *testing.T, session, id string) {
	t.Helper()
	got := c.compactions(t, session)
	if len(got) != 1 || got[0].Get("id").String() != id || !got[0].Get("confirmed").Bool() {
		t.Errorf("status tells %s, want only %s, confirmed%s", got, id, c.story(t))
	}
}

func TestClaudeAutomaticCompactionInMidTurnDeliversOnce(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		r := recordEverything(t, c)
		c.bookNumbers()
		list := filepath.Join(c.Project, "list.txt")
		c.book.Turn("make the long list",
			stubmodel.UseTools(anthropic.Write(list, "1 2 3\n")).Using(fullWindow),
			stubmodel.Text("The list is made."))
		session := c.say(t, "Please write the numbers down.", "--permission-mode", "acceptEdits").SessionID
		c.resume(t, session, "And what is their sum?")
		before := len(c.turns(session))
		c.resume(t, session, "Now make the long list.", "--permission-mode", "acceptEdits")
		c.resume(t, session, "Go on, please.")
		c.resume(t, session, "And on.")

		turns := c.turns(session)[before:]
		if len(turns) != 4 {
			t.Fatalf("%d requests from the long turn on, want 4", len(turns))
		}
		if ids := directiveIDs(turns[0]); len(ids) > 0 {
			t.Errorf("the request before the compaction holds directives %v", ids)
		}
		d := c.once(t, turns[1:])
		if d.trigger != "auto" || d.event != "SessionStart" {
			t.Errorf("reseat show: trigger %s, event %s", d.trigger, d.event)
		}
		if got := boundaries(c.records(t, session)); !slices.Equal(got, []string{"auto"}) {
			t.Errorf("triggers of the boundaries: %v", got)
		}
		if !slices.Contains(r.names(t), "PreCompact(auto)") {
			t.Errorf("no automatic PreCompact in %v", r.names(t))
		}
		c.valid(t, d)
		checkNumbersPacket(t, d)
		holdsInOrder(t, "touched-files.md", d.file(t, "touched-files.md"), "list.txt")
		holdsInOrder(t, "transcript-latest.md", d.file(t, "transcript-latest.md"), "Now make the long list.")
		c.confirmed(t, session, d.id)
	})
}

func TestClaudeCompactionWithinOneProcessDeliversOnce(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.bookNumbers()
		s := c.startStream(t, "--permission-mode", "acceptEdits")
		session := s.say("Please write the numbers down.").SessionID
		s.say("And what is their sum?")
		before := len(c.turns(session))
		s.say("/compact")
		for n := range 3 {
			s.say(fmt.Sprintf("Go on, step %d.", n))
		}
		s.end()
		d := c.once(t, c.turns(session)[before:])
		c.valid(t, d)
		checkNumbersPacket(t, d)
		c.confirmed(t, session, d.id)
	})
}

func TestClaudeTwoCompactionsDeliverOneDirectiveEach(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.bookNumbers()
		s := c.startStream(t, "--permission-mode", "acceptEdits")
		session := s.say("Please write the numbers down.").SessionID
		s.say("And what is their sum?")
		s.say("/compact")
		s.say("Go on, please.")
		between := len(c.turns(session))
		s.say("And on.")
		first := c.once(t, c.turns(session)[between:])
		s.say("/compact")
		after := len(c.turns(session))
		s.say("Once more.")
		s.say("And again.")
		s.end()

		second := c.once(t, c.turns(session)[after:])
		if first.id == second.id {
			t.Errorf("both compactions got directive %s", first.id)
		}
		c.valid(t, second)
		checkNumbersPacket(t, second)
		continuity := c.valid(t, second)
		if got := continuity.Get("opening.0.text").String(); got != "Please write the numbers down." {
			t.Errorf("the second packet's opening request is %q", got)
		}
	})
}

func TestClaudeTwoRegistrationsDeliverOnce(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		twice := readSettings(t, c.home)
		for _, hook := range claudeHooks {
			// Another string for the same program: the client runs both.
			twice.add(hook.event, `"$HOME"/.local/bin/`+hook.program+` --runtime claude --home "$HOME/.local/state/reseat" # a copy`, hook.timeout)
		}
		twice.write(t, c.home)
		c.bookNumbers()
		s := c.startStream(t, "--permission-mode", "acceptEdits")
		session := s.say("Please write the numbers down.").SessionID
		s.say("And what is their sum?")
		s.say("/compact")
		before := len(c.turns(session))
		s.all("Go on, please.", "And on.")
		c.valid(t, c.once(t, c.turns(session)[before:]))
	})
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// without takes all hooks of some events out of the settings.
func (c *claude) without(t *testing.T, events ...string) {
	t.Helper()
	s := readSettings(t, c.home)
	for _, event := range events {
		delete(s.Hooks, event)
	}
	s.write(t, c.home)
}

// compacted is a session of two turns, compacted, whose process has ended.
func (c *claude) compacted(t *testing.T) (session string) {
	t.Helper()
	c.bookNumbers()
	s := c.startStream(t, "--permission-mode", "acceptEdits")
	return s.all("Please write the numbers down.", "And what is their sum?", "/compact keep the numbers")
}

// again resumes a session in a new process and says the prompts.
func (c *claude) again(t *testing.T, session string, prompts ...string) {
	t.Helper()
	c.startStream(t, "--resume", session).all(prompts...)
}

func TestClaudePromptDeliversWhereSessionStartHasNoHook(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.without(t, "SessionStart", "PostCompact")
		session := c.compacted(t)
		before := len(c.turns(session))
		c.again(t, session, "Go on, please.", "And on.")
		d := c.once(t, c.turns(session)[before:])
		if d.event != "UserPromptSubmit" {
			t.Errorf("it was printed through %s", d.event)
		}
		c.confirmed(t, session, d.id)
	})
}

// Within one process an old client has the boundary on disk only after the next
// prompt; what PostCompact reported is proof enough.
func TestClaudeNextPromptDeliversWhatPostCompactProved(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.without(t, "SessionStart")
		c.bookNumbers()
		s := c.startStream(t, "--permission-mode", "acceptEdits")
		session := s.say("Please write the numbers down.").SessionID
		s.say("And what is their sum?")
		s.say("/compact")
		before := len(c.turns(session))
		s.say("Go on, please.")
		s.say("And on.")
		s.end()
		if d := c.once(t, c.turns(session)[before:]); d.event != "UserPromptSubmit" {
			t.Errorf("it was printed through %s", d.event)
		}
	})
}

func TestClaudeStatusSaysWhyNothingWasDelivered(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.without(t, "SessionStart", "UserPromptSubmit", "PostCompact")
		session := c.compacted(t)
		c.again(t, session, "Go on, please.")
		c.none(t, 0)
		got := c.compactions(t, session)
		if len(got) != 1 || !strings.Contains(got[0].Get("words").String(), "reseat doctor") {
			t.Errorf("status tells %s%s", got, c.story(t))
		}
	})
}

func TestClaudeCompactionWithoutPreCompactIsRescuedOnce(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.without(t, "PreCompact")
		session := c.compacted(t)
		before := len(c.turns(session))
		c.again(t, session, "Go on, please.", "And on.")
		d := c.once(t, c.turns(session)[before:])
		c.valid(t, d)
		checkNumbersPacket(t, d)
		got := c.compactions(t, session)
		if len(got) != 1 || got[0].Get("mechanism").String() != "rescue" || !got[0].Get("confirmed").Bool() {
			t.Errorf("status tells %s, want one rescue, confirmed%s", got, c.story(t))
		}
	})
}

// A client that ran the hook and dropped its context: here the records that
// hold it are taken out of the transcript before anything could confirm them,
// so the client itself resumes without them. Only an answer given without the
// directive proves the loss.
func TestClaudeDirectiveThatTheClientDroppedIsRepeatedOnce(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		session := c.compacted(t)
		c.rewrite(t, session, func(record gjson.Result) string {
			if directiveLead.MatchString(record.Raw) {
				return ""
			}
			return record.Raw
		})
		dropped := c.stub.Len()
		c.again(t, session, "Go on, please.")
		c.none(t, dropped)
		before := len(c.turns(session))
		c.again(t, session, "And on.", "Still on.")
		c.again(t, session, "To the end.")
		d := c.once(t, c.turns(session)[before:])
		if d.event != "UserPromptSubmit" {
			t.Errorf("it was repeated through %s", d.event)
		}
		c.confirmed(t, session, d.id)
	})
}

// A trace in a form that nobody has seen yet isn't proof that the directive is
// lost.
func TestClaudeTraceOfAnUnknownFormIsNotTakenForALoss(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		session := c.compacted(t)
		c.rewrite(t, session, func(record gjson.Result) string {
			return strings.ReplaceAll(record.Raw, `"hook_additional_context"`, `"hook_context_of_the_future"`)
		})
		before := len(c.turns(session))
		c.again(t, session, "Go on, please.")
		c.again(t, session, "And on.")
		for _, req := range c.turns(session)[before:] {
			// 2.1.322 and later still show such a record, by its "rendered" text.
			if ids := directiveIDs(req); len(ids) > 1 {
				t.Errorf("%q holds directives %v: it was repeated%s", req.Prompt(), ids, c.story(t))
			}
		}
		got := c.compactions(t, session)
		if len(got) != 1 || got[0].Get("state").String() != "emitted1" || got[0].Get("confirmed").Bool() ||
			!strings.Contains(got[0].Get("words").String(), "not confirmed") {
			t.Errorf("status tells %s, want it emitted once, not confirmed%s", got, c.story(t))
		}
	})
}

// rewrite puts each record of a session's transcript through change. A record
// that becomes "" goes, and what hung on it hangs on its parent.
func (c *claude) rewrite(t *testing.T, session string, change func(gjson.Result) string) {
	t.Helper()
	var lines []string
	var relink []string
	for _, record := range c.records(t, session) {
		line := strings.TrimSpace(change(record))
		if line == "" {
			relink = append(relink, parentLink(record.Get("uuid").String()), parentLink(record.Get("parentUuid").String()))
			continue
		}
		for i := len(relink) - 2; i >= 0; i -= 2 {
			line = strings.Replace(line, relink[i], relink[i+1], 1)
		}
		lines = append(lines, line)
	}
	if err := os.WriteFile(c.transcript(t, session), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parentLink(uuid string) string { return fmt.Sprintf(`"parentUuid":%q`, uuid) }

// A nested client that the seat's own shell tool starts inherits the seat's
// variables. Its compaction is its own.
func TestClaudeNestedSessionLeavesTheSeatAlone(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.write(t, "project/nested.sh", fmt.Sprintf(`set -e
ask() { '%s' -p "$@" --output-format json; }
id=$(ask "I am nested." | sed 's/.*"session_id":"\([^"]*\)".*/\1/')
ask "Nested goes on." --resume "$id" >/dev/null
ask "/compact" --resume "$id" >/dev/null
ask "Nested is back." --resume "$id" >/dev/null
echo "nested: $id"
`, c.program))
		c.book.Turn("start the nested one", stubmodel.UseTools(anthropic.Bash("sh nested.sh")), stubmodel.Text("done"))
		run := func(prompt string, flags ...string) turn {
			t.Helper()
			cmd := c.headless(prompt, append(flags, "--permission-mode", "bypassPermissions")...)
			cmd.env = append(cmd.env, "RESEAT_SEAT=dev-impl@my-rig", "RESEAT_HOME="+c.State)
			return c.finish(t, cmd)
		}
		outer := run("I am the seat.").SessionID
		run("The seat goes on.", "--resume", outer)
		run("/compact", "--resume", outer)
		before := len(c.turns(outer))
		run("Please start the nested one.", "--resume", outer)
		run("The seat is back.", "--resume", outer)

		d := c.once(t, c.turns(outer)[before:])
		c.confirmed(t, outer, d.id)
		nested := c.nestedSession(t, outer)
		last := c.turns(nested)
		if mine := c.once(t, last[len(last)-1:]); mine.session != nested {
			t.Errorf("the nested session got the directive of %s", mine.session)
		}
	})
}

// nestedSession is the one session beside the outer one that the stub served.
func (c *claude) nestedSession(t *testing.T, outer string) string {
	t.Helper()
	var others []string
	for _, req := range c.stub.Of(anthropic.Main) {
		if req.SessionID != outer && !slices.Contains(others, req.SessionID) {
			others = append(others, req.SessionID)
		}
	}
	if len(others) != 1 {
		t.Fatalf("sessions beside the outer one: %v", others)
	}
	return others[0]
}

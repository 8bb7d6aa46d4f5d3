//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// The proof that matters: real work is under way (a plan with an open item, a
// file half edited, a test that fails, limits declared in the configuration),
// the session is compacted, the summary says nothing of it, and nobody briefs
// it again. What the session then has in its context and may read must hold
// identity, current work and why, next owner, files and limits.
func TestClaudeGoesOnWithItsWorkAfterACompaction(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.declare(t)
		script := c.bookWork(t)
		flags := []string{
			"--permission-mode", "acceptEdits", "--allowedTools", "Bash", "--tools",
			"Read,Write,Edit,Bash,TaskCreate,TaskUpdate",
		}
		session := c.say(t, "Make parse.sh refuse an empty name, because billing crashes on one.", flags...).SessionID
		c.resume(t, session, "Keep the exit code 3, and leave the usage text alone.", flags...)
		if got := readFile(t, script); !strings.Contains(got, "TODO: print why") {
			t.Fatalf("the file isn't half edited:\n%s", got)
		}
		c.resume(t, session, "/compact", flags...)
		before := len(c.turns(session))
		c.stub.Use(c.readThen(t, "restore-instructions.md", "restore-summary.json"))
		c.resume(t, session, "continue", flags...)

		turns := c.turns(session)[before:]
		d := c.once(t, turns)
		c.valid(t, d)
		last := turns[len(turns)-1]
		instructions := resultOf(t, last, filepath.Join(d.packet, "restore-instructions.md"))
		summary := resultOf(t, last, filepath.Join(d.packet, "restore-summary.json"))
		whoami := resultOf(t, last, "reseat whoami")
		for _, proof := range []struct{ what, where, text, want string }{
			{"identity", "whoami", whoami, session},
			{"identity", "the summary", summary, `"source_session_id": "` + session + `"`},
			{"identity", "the instructions", instructions, session},
			{"current work", "the directive", d.text, "Refuse an empty name in parse.sh"},
			{"current work", "the summary", summary, "Refuse an empty name in parse.sh"},
			{"current work, the person's own words", "the directive", d.text, "because billing crashes on one"},
			{"current work, the latest request", "the directive", d.text, "leave the usage text alone"},
			{"current work, why", "the directive", d.text, "Billing never sees a customer without a name."},
			{"current work, the plan's other item", "the directive", d.text, "Describe it in the README"},
			{"current work, the test that failed", "the directive", d.text, "sh test.sh"},
			{"current work, the test that failed", "the instructions", instructions, "sh test.sh"},
			{"next owner", "the directive", d.text, "Next owner: qa-lead@billing"},
			{"next owner", "the summary", summary, `"next_owner": "qa-lead@billing"`},
			{"files", "the directive", d.text, "parse.sh"},
			{"files", "the instructions", instructions, script},
			{"limits", "the directive", d.text, "Never push, never touch migrations/."},
			{"limits", "the summary", summary, `"authority_boundaries": "Never push, never touch migrations/."`},
			{"limits, a caveat", "the directive", d.text, "The staging database is shared."},
		} {
			if !strings.Contains(proof.text, proof.want) {
				t.Errorf("%s: %s doesn't hold %q:\n%s", proof.what, proof.where, proof.want, tail(proof.text))
			}
		}
	})
}

// declare lays down what a person would, for the project.
func (c *claude) declare(t *testing.T) {
	t.Helper()
	c.write(t, ".config/reseat/config.toml", fmt.Sprintf(`[project.%q]
intent = "Billing never sees a customer without a name."
next_owner = "qa-lead@billing"
authority_boundaries = "Never push, never touch migrations/."
caveats = ["The staging database is shared."]
`, c.Project))
}

// bookWork puts a program with a failing test into the project and scripts the
// work on it.
func (c *claude) bookWork(t *testing.T) (script string) {
	t.Helper()
	script = c.write(t, "project/parse.sh", "#!/bin/sh\n# usage: parse.sh NAME\necho \"name: $1\"\n")
	c.write(t, "project/test.sh", "sh ./parse.sh '' >/dev/null 2>&1\n[ $? -eq 3 ] || { echo 'FAIL: an empty name was accepted'; exit 1; }\n")
	task := func(subject string) stubmodel.Call {
		return stubmodel.Call{Name: "TaskCreate", Input: map[string]any{"subject": subject, "description": subject, "activeForm": subject}}
	}
	update := stubmodel.Call{Name: "TaskUpdate", Input: map[string]any{"taskId": "1", "status": "in_progress"}}
	c.book.
		Turn("Make parse.sh refuse",
			stubmodel.UseTools(task("Refuse an empty name in parse.sh"), task("Describe it in the README")),
			stubmodel.UseTools(update),
			stubmodel.UseTools(anthropic.Read(script)),
			stubmodel.UseTools(anthropic.Edit(script, "echo ", "[ -n \"$1\" ] || exit 2 # TODO: print why\necho ")),
			stubmodel.UseTools(anthropic.Bash("sh test.sh")),
			stubmodel.Text("The check is in, the test still fails.")).
		Turn("Keep the exit code 3", stubmodel.Text("I shall keep it."))
	return script
}

// readThen is a model that reads files of the packet that the directive names,
// asks who it is, and then has nothing more to do.
func (c *claude) readThen(t *testing.T, names ...string) anthropic.Script {
	t.Helper()
	asked := false
	return func(req anthropic.Request) stubmodel.Reply {
		folder := packetFolder.FindString(strings.Join(anthropic.Texts(req), "\n"))
		if req.Kind != anthropic.Main || asked || folder == "" {
			return c.book.Script(req)
		}
		asked = true
		var calls []stubmodel.Call
		for _, name := range names {
			calls = append(calls, anthropic.Read(filepath.Join(c.State, folder, name)))
		}
		calls = append(calls, anthropic.Bash(`"$HOME"/.local/bin/reseat whoami --json`))
		return stubmodel.UseTools(calls...)
	}
}

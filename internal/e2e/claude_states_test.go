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

// TestClaudePacketHoldsTheStateOfTheSession compacts a session that has some of
// every state, with words in it that stand nowhere else, and one that has none;
// then the first one four times more.
func TestClaudePacketHoldsTheStateOfTheSession(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		c.write(t, "project/test.sh", "echo 'FAIL: quiet-heron-31'; exit 3\n")
		c.git(t, "add", ".")
		c.git(t, "commit", "-q", "-m", "A test")

		// Two processes: within one, 2.1.197 has no turn on disk yet at PreCompact.
		plain := c.startStream(t).all("Hello there.", "What is in this folder?")
		c.resume(t, plain, "/compact")
		c.last(t, plain).blank()

		c.planMode(t)
		c.compactedFiveTimes(t)
	})
}

// planMode compacts a session in plan mode with a plan put forward.
func (c *claude) planMode(t *testing.T) {
	t.Helper()
	c.book.Turn("Think of a plan", stubmodel.UseTool("ExitPlanMode", map[string]any{"plan": "# Amber quarry 58\n- dig\n"}), stubmodel.Text("That is the plan."))
	session := c.startStream(t, "--permission-mode", "plan").all("Think of a plan, please.", "And then?")
	c.resume(t, session, "/compact", "--permission-mode", "plan")
	p := c.last(t, session)
	if p.Session.PermissionMode != "plan" {
		t.Errorf("permission mode %q", p.Session.PermissionMode)
	}
	if p.Proposal == nil || !strings.Contains(p.Proposal.Text, "Amber quarry 58") || p.Proposal.Approved {
		t.Errorf("proposal %+v", p.Proposal)
		return
	}
	p.stands("proposal", "Amber quarry 58", p.Proposal.Source)
}

func (c *claude) compactedFiveTimes(t *testing.T) {
	t.Helper()
	intent := fmt.Sprintf("[project.%q]\nintent = \"Silver ferry 77.\"\n", c.Project)
	c.write(t, ".config/reseat/config.toml", intent)
	edited := filepath.Join(c.Project, "lunar-kettle-12.txt")
	task := func(subject string) stubmodel.Call {
		return stubmodel.Call{Name: "TaskCreate", Input: map[string]any{"subject": subject, "description": subject, "activeForm": subject}}
	}
	update := func(id, status string) stubmodel.Call {
		return stubmodel.Call{Name: "TaskUpdate", Input: map[string]any{"taskId": id, "status": status}}
	}
	c.book.Subagents(stubmodel.Reply{Hang: true}).
		Turn("Mend the parser",
			stubmodel.UseTools(task("brisk-dune-01"), task("brisk-dune-02"), task("brisk-dune-03")),
			stubmodel.UseTools(update("1", "completed"), update("2", "in_progress")),
			stubmodel.UseTools(anthropic.Write(edited, "half\n")),
			stubmodel.UseTools(anthropic.Bash("sh test.sh dusky-notch-44")),
			stubmodel.UseTools(anthropic.BackgroundAgent("mellow-thicket-1", "look into it"), anthropic.BackgroundAgent("mellow-thicket-2", "look into it")),
			stubmodel.Text("Two are looking into it.")).
		Turn("Go on, olive", stubmodel.Text("I do, olive-jetty-07."))
	s := c.startStream(t, "--permission-mode", "acceptEdits", "--allowedTools", "Bash",
		"--tools", "Read,Write,Edit,Bash,TaskCreate,TaskUpdate,Agent")
	session := s.say("Mend the parser, olive-jetty-05.").SessionID
	c.reseat(t, "recap", "write", "--seat", "claude:"+session, "--file", c.write(t, "recap.md", "# Decisions\n\nPlain orchard 63.\n"))
	s.say("Go on, olive-jetty-06.")
	// 2.1.197 writes a turn some time after it: PreCompact could come before.
	eventually(t, commandTimeout, "the last turn in the transcript", func() bool {
		return strings.Contains(readFile(t, c.transcript(t, session)), "olive-jetty-07")
	})
	s.say("/compact")

	whole := func(p hookPacket) {
		t.Helper()
		p.plans("Task tools",
			step{"brisk-dune-01", "completed", "task #1"}, step{"brisk-dune-02", "in_progress", "task #2"},
			step{"brisk-dune-03", "pending", "brisk-dune-03"})
		p.agents("mellow-thicket-1", "mellow-thicket-2")
		p.editedFirst(edited)
		p.changed("lunar-kettle-12.txt")
		if p.Intent == nil || p.Intent.Text != "Silver ferry 77." {
			t.Errorf("intent %+v", p.Intent)
		}
		if got := p.recap(); !strings.Contains(got, "Plain orchard 63.") {
			t.Errorf("recap %q", got)
		}
		if len(p.Opening) == 0 {
			t.Error("no opening request")
			return
		}
		p.words("opening", p.Opening[:1], "olive-jetty-05")
	}
	first := c.last(t, session)
	whole(first)
	first.words("requests", first.Requests, "olive-jetty-05", "olive-jetty-06")
	first.failedTest("sh test.sh dusky-notch-44", "FAIL: quiet-heron-31", 3)
	if first.Boundary != nil || first.Session.PermissionMode != "acceptEdits" {
		t.Errorf("boundary %+v, permission mode %q", first.Boundary, first.Session.PermissionMode)
	}

	c.write(t, ".config/reseat/config.toml", "") // the intent isn't declared any more
	for n := 2; n <= 5; n++ {
		s.say(fmt.Sprintf("Step %d.", n))
		s.say("/compact")
	}
	all := c.packets(t, session)
	if len(all) != 5 {
		t.Fatalf("%d packets, want 5%s", len(all), c.story(t))
	}
	fifth := all[4]
	whole(fifth)
	if fifth.Carried == nil || fifth.Intent.Carried == nil {
		t.Errorf("carried %+v, intent %+v", fifth.Carried, fifth.Intent)
	}
	if b := fifth.Boundary; b == nil || b.Trigger != "manual" {
		t.Errorf("boundary %+v", b)
	} else {
		fifth.stands("the boundary before", `"compact_boundary"`, b.Source)
		fifth.stands("its tokens", fmt.Sprintf(`"preTokens":%d`, b.PreTokens), b.Source)
	}
	s.kill() // the subagents never end
}

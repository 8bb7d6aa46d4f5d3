//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

// TestCodexPacketHoldsTheStateOfTheSession compacts a session that has some of
// every state, with words in it that stand nowhere else, and one that has none;
// then the first one four times more.
func TestCodexPacketHoldsTheStateOfTheSession(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		if version == "0.171.0" { // it offers update_plan only where asked to
			c.write(t, ".codex/config.toml", readFile(t, c.configFile())+"\n[tools.update_plan]\nenabled = true\n")
		}
		c.write(t, "project/Makefile", "test:\n\t@echo 'FAIL: quiet-heron-31'; exit 3\n")
		c.git(t, "add", ".")
		c.git(t, "commit", "-q", "-m", "A test")
		app := startAppServer(t, c)

		plain := app.start(c)
		app.say(plain, "Hello there.", "What is in this folder?")
		app.compacted(plain)
		c.last(t, plain).blank()

		c.planMode(t, app)
		c.compactedFiveTimes(t, app)
	})
}

// planMode compacts a session in plan mode with a plan put forward, and once
// more when the mode was left.
func (c *codex) planMode(t *testing.T, app *appServer) {
	t.Helper()
	c.scenes.On("Think of a plan", stubmodel.Text("<proposed_plan>\n# Amber quarry 58\n- dig\n</proposed_plan>"))
	thread := app.start(c)
	must(t, "the turn in plan mode", app.promptIn(thread, "plan", "Think of a plan, please."), "completed")
	app.compacted(thread)
	p := c.last(t, thread)
	if p.Session.PermissionMode != "plan" {
		t.Errorf("permission mode %q", p.Session.PermissionMode)
	}
	if p.Proposal == nil || !strings.Contains(p.Proposal.Text, "Amber quarry 58") || p.Proposal.Answered {
		t.Errorf("proposal %+v", p.Proposal)
		return
	}
	p.stands("proposal", "Amber quarry 58", p.Proposal.Source)

	must(t, "the turn in default mode", app.promptIn(thread, "default", "Implement the plan."), "completed")
	app.compacted(thread)
	p = c.last(t, thread)
	if p.Session.PermissionMode != "never" || p.Proposal == nil || !p.Proposal.Approved {
		t.Errorf("permission mode %q, proposal %+v", p.Session.PermissionMode, p.Proposal)
	}
}

func (c *codex) compactedFiveTimes(t *testing.T, app *appServer) {
	t.Helper()
	c.write(t, ".config/reseat/config.toml", fmt.Sprintf("[project.%q]\nintent = \"Silver ferry 77.\"\n", c.Project))
	const first, second = "mellow-thicket-1", "mellow-thicket-2"
	c.scenes.On(first, stubmodel.Reply{Hang: true})
	c.scenes.On(second, stubmodel.Reply{Hang: true})
	c.scenes.On("Mend the parser",
		stubmodel.UseTools(openai.Plan("brisk-dune-00",
			openai.Step{Step: "brisk-dune-01", Status: "completed"},
			openai.Step{Step: "brisk-dune-02", Status: "in_progress"},
			openai.Step{Step: "brisk-dune-03", Status: "pending"})),
		stubmodel.UseTools(openai.AddFile("lunar-kettle-12.txt", "half")),
		stubmodel.UseTools(openai.Shell("make test WHAT=dusky-notch-44")),
		stubmodel.UseTools(openai.Spawn(first)),
		stubmodel.UseTools(openai.Spawn(second)),
		stubmodel.Text("Two are looking into it."))
	thread := app.start(c)
	app.say(thread, "Mend the parser, olive-jetty-05.")
	c.reseat(t, "recap", "write", "--seat", "codex:"+thread, "--file", c.write(t, "recap.md", "# Decisions\n\nPlain orchard 63.\n"))
	app.say(thread, "Go on, olive-jetty-06.")
	app.compacted(thread)

	edited := filepath.Join(c.Project, "lunar-kettle-12.txt")
	whole := func(p hookPacket) {
		t.Helper()
		p.plans("update_plan",
			step{"brisk-dune-01", "completed", "brisk-dune-01"}, step{"brisk-dune-02", "in_progress", "brisk-dune-02"},
			step{"brisk-dune-03", "pending", "brisk-dune-03"})
		p.agents(first, second)
		p.editedFirst(edited)
		p.changed("lunar-kettle-12.txt")
		if p.Plan != nil && p.Plan.Note != "brisk-dune-00" {
			t.Errorf("the plan's note is %q", p.Plan.Note)
		}
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
	p := c.last(t, thread)
	whole(p)
	p.words("requests", p.Requests, "olive-jetty-05", "olive-jetty-06")
	p.failedTest("make test WHAT=dusky-notch-44", "FAIL: quiet-heron-31", 2) // make's own code
	if p.Boundary != nil || p.Session.PermissionMode != "never" {
		t.Errorf("boundary %+v, permission mode %q", p.Boundary, p.Session.PermissionMode)
	}

	c.write(t, ".config/reseat/config.toml", "") // the intent isn't declared any more
	for n := 2; n <= 5; n++ {
		app.say(thread, fmt.Sprintf("Step %d.", n))
		app.compacted(thread)
	}
	app.say(thread, "To the end.")
	turns := c.turns(thread)
	if got := c.directives(turns[len(turns)-1]); len(got) != 1 || strings.Contains(got[0].Text, "permission mode was") {
		t.Errorf("%d directives, one of them with a difference that isn't one: %v", len(got), got)
	}
	all := c.packets(t, thread)
	if len(all) != 5 {
		t.Fatalf("%d packets, want 5%s", len(all), c.story(t))
	}
	fifth := all[4]
	whole(fifth)
	if fifth.Carried == nil || fifth.Intent.Carried == nil {
		t.Errorf("carried %+v, intent %+v", fifth.Carried, fifth.Intent)
	}
	if fifth.Boundary == nil {
		t.Error("no boundary before")
	} else {
		fifth.stands("the boundary before", `"type":"compacted"`, fifth.Boundary.Source)
	}
}

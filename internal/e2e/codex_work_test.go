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

// standsAlone is how much of a directive must be enough to go on: a client may
// show no more.
const standsAlone = 1900

func TestCodexGoesOnWithItsWorkThoughNobodyBriefsIt(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		if version == "0.171.0" { // it offers update_plan only where asked to
			c.write(t, ".codex/config.toml", readFile(t, c.configFile())+"\n[tools.update_plan]\nenabled = true\n")
		}
		declareWork(t, c)
		c.write(t, "project/Makefile", "test:\n\t@echo '--- FAIL: TestImportCSV: wrong column'; exit 1\n")
		c.scenes.On("accept CSV files",
			stubmodel.UseTools(openai.Plan("as discussed",
				openai.Step{Step: "read the old importer", Status: "completed"},
				openai.Step{Step: "parse quoted fields", Status: "in_progress"},
				openai.Step{Step: "write the migration note", Status: "pending"})),
			stubmodel.UseTools(openai.AddFile("importer.txt", "func parse() { // unfinished")),
			stubmodel.UseTools(openai.UpdateFile("importer.txt", "func parse() { // unfinished", "func parse() { // half done")),
			stubmodel.UseTools(openai.Shell("make test")),
			stubmodel.Text("Quoted fields are half done, one test fails."))
		var read []string
		c.scenes.Do("Go on.", func(r openai.Request) stubmodel.Reply {
			read = packetFolder.FindAllString(r.Texts("developer")[len(r.Texts("developer"))-1], -1)
			var calls []stubmodel.Call
			for _, folder := range read {
				calls = append(calls, openai.Shell(fmt.Sprintf("cat '%s'/*", filepath.Join(c.State, folder))))
			}
			return stubmodel.UseTools(calls...)
		})

		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Make the importer accept CSV files, because finance sends nothing else.")
		before := len(c.turns(thread))
		app.compacted(thread)
		app.say(thread, "Go on.")

		d := c.once(t, thread, before)
		first := d.text[:min(len(d.text), standsAlone)]
		for what, words := range map[string]string{
			"the task in progress": "parse quoted fields",
			"why":                  "because finance sends nothing else",
			"the next owner":       "review-lead@my-rig",
			"a limit":              "never touch the ledger tables",
			"a caveat":             "the staging database is shared",
			"the packet's folder":  d.packet,
		} {
			if !strings.Contains(first, words) {
				t.Errorf("the first %d bytes of the directive lack %s, %q:\n%s", standsAlone, what, words, d.text)
			}
		}

		turns := c.turns(thread)
		outputs := turns[len(turns)-1].Outputs()
		known := d.text + outputs[len(outputs)-1]
		for what, words := range map[string]string{
			"the session's identity":   thread,
			"the workspace":            c.Project,
			"the declared intent":      "the old format goes away in May",
			"the plan's finished part": "read the old importer",
			"the plan's open part":     "write the migration note",
			"the edited file":          "importer.txt",
			"the test that ran":        "make test",
			"how the test failed":      "FAIL: TestImportCSV",
			"the agent's last words":   "Quoted fields are half done",
			"the role":                 "roles/importer.md",
		} {
			if !strings.Contains(known, words) {
				t.Errorf("the directive and what was read lack %s, %q", what, words)
			}
		}
		if t.Failed() {
			t.Logf("the directive:\n%s\nread:\n%s", d.text, known[len(d.text):])
		}
	})
}

// declareWork writes our configuration as a person would for this project.
func declareWork(t *testing.T, c *codex) {
	t.Helper()
	c.write(t, "project/roles/importer.md", "You look after the importer.\n")
	c.write(t, ".config/reseat/config.toml", fmt.Sprintf(`[project.%q]
intent = "CSV only: the old format goes away in May"
role_pointer = "roles/importer.md"
next_owner = "review-lead@my-rig"
authority_boundaries = "never touch the ledger tables"
caveats = ["the staging database is shared"]
`, c.Project))
}

//go:build e2e

package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

// turns returns the model requests of a thread's turns, in order.
func (c *codex) turns(thread string) []openai.Request {
	var out []openai.Request
	for _, r := range c.stub.Log.All() {
		if r.Kind == openai.Turn && r.Thread == thread {
			out = append(out, r)
		}
	}
	return out
}

// askedToCompact counts the requests for a compaction.
func (c *codex) askedToCompact() int {
	n := 0
	for _, r := range c.stub.Log.All() {
		if r.Kind == openai.Compaction {
			n++
		}
	}
	return n
}

// directives returns the messages of a request that hold a directive of ours:
// it names a packet's folder, and nothing else in a context does.
func (c *codex) directives(r openai.Request) []openai.Message {
	return r.Holding(filepath.Join(c.State, "s") + string(filepath.Separator))
}

// none requires that no request of the thread, from index since on, holds a
// directive.
func (c *codex) none(t *testing.T, thread string, since int) {
	t.Helper()
	turns := c.turns(thread)
	if len(turns) <= since {
		t.Fatalf("%d requests of %s, want more than %d", len(turns), thread, since)
	}
	for n, r := range turns[since:] {
		if got := c.directives(r); len(got) != 0 {
			t.Errorf("request %d of %s holds a directive:\n%s", since+n, thread, got[0].Text)
		}
	}
}

// once requires that every request of the thread, from index since on, holds
// exactly one directive, the same, as one developer message, and returns it.
func (c *codex) once(t *testing.T, thread string, since int) directive {
	t.Helper()
	turns := c.turns(thread)
	if len(turns) <= since {
		t.Fatalf("%d requests of %s, want more than %d", len(turns), thread, since)
	}
	var text string
	for n, r := range turns[since:] {
		got := c.directives(r)
		if len(got) != 1 || got[0].Role != "developer" {
			t.Fatalf("request %d of %s: %d messages hold a directive, want 1 of the developer's%s", since+n, thread, len(got), c.story(t))
		}
		if text != "" && text != got[0].Text {
			t.Errorf("request %d of %s holds another directive than the one before", since+n, thread)
		}
		text = got[0].Text
	}
	return c.readDirective(t, text)
}

// directive is the one text, and the packet that it names.
type directive struct {
	text   string
	packet string // a folder
}

// packetFolder matches the folder of a packet below a state folder's s/.
var packetFolder = regexp.MustCompile(`s/[^/\s]+/c/\d{4}/packet(-\d)?`)

func (c *codex) readDirective(t *testing.T, text string) directive {
	t.Helper()
	if len(text) > 6000 {
		t.Errorf("a directive of %d bytes, at most 6,000 are allowed", len(text))
	}
	named := packetFolder.FindAllString(text, -1)
	if len(named) != 1 {
		t.Fatalf("the directive names %d folders, want 1:\n%s", len(named), text)
	}
	return directive{text: text, packet: filepath.Join(c.State, named[0])}
}

// file is a file of the packet.
func (d directive) file(t *testing.T, name string) string {
	t.Helper()
	return readFile(t, filepath.Join(d.packet, name))
}

// holdsInOrder requires that text holds all of words, one after another.
func holdsInOrder(t *testing.T, what, text string, words ...string) {
	t.Helper()
	rest := text
	for _, word := range words {
		_, after, ok := strings.Cut(rest, word)
		if !ok {
			t.Errorf("%s doesn't hold %q at its place:\n%s", what, word, text)
			return
		}
		rest = after
	}
}

// story is what our programs say happened, for a failed test.
func (c *codex) story(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	receipts, _ := filepath.Glob(filepath.Join(c.State, "receipts", "*.jsonl"))
	for _, file := range receipts {
		fmt.Fprintf(&b, "\n%s:\n%s", file, readFile(t, file))
	}
	states, _ := filepath.Glob(filepath.Join(c.State, "s", "*", "c", "*", "state.*"))
	for _, file := range states {
		fmt.Fprintf(&b, "\n%s", strings.TrimPrefix(file, c.State))
	}
	return b.String()
}

// attempts counts the attempts of all sessions.
func (c *codex) attempts(t *testing.T) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.State, "s", "*", "c", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// must requires a turn or compaction to have ended like that.
func must(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s: %s, want %s", what, got, want)
	}
}

// say runs turns that must complete.
func (a *appServer) say(thread string, prompts ...string) {
	a.t.Helper()
	for _, prompt := range prompts {
		must(a.t, prompt, a.prompt(thread, prompt), "completed")
	}
}

// compacted runs a compaction that must complete.
func (a *appServer) compacted(thread string) {
	a.t.Helper()
	must(a.t, "compaction", a.compact(thread), "completed")
}

func TestCodexManualCompactionDeliversOnce(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		c.scenes.On("write the numbers",
			stubmodel.UseTools(openai.AddFile("numbers.txt", "one two three")),
			stubmodel.Text("The numbers are written, ANSWER-KESTREL."))
		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Please write the numbers, OPENING-HERON.", "Now check them, SECOND-MARTIN.")
		before := len(c.turns(thread))
		c.none(t, thread, 0)
		app.compacted(thread)
		app.say(thread, "Go on.", "And on.")

		d := c.once(t, thread, before)
		c.reseat(t, "packet", "validate", d.packet)
		holdsInOrder(t, "the latest transcript", d.file(t, "transcript-latest.md"), "OPENING-HERON", "ANSWER-KESTREL", "SECOND-MARTIN")
		holdsInOrder(t, "the list of touched files", d.file(t, "touched-files.md"), "numbers.txt")
		if got := readFile(t, filepath.Join(c.Project, "numbers.txt")); got != "one two three\n" {
			t.Errorf("the written file holds %q", got)
		}
	})
}

func TestCodexAutomaticCompactionDeliversOnce(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version, autoCompact())
		c.scenes.On("long task",
			stubmodel.UseTools(openai.AddFile("long.txt", "a line")),
			stubmodel.UseTools(openai.Shell("echo ran")).Using(autoLimit+1),
			stubmodel.Text("done"))
		thread := c.exec(t, "Do the long task, OPENING-HERON.")
		// What follows the compaction in the same turn: the old clients run
		// SessionStart(compact) only at the start of the next one.
		after := 2
		if version != "0.171.0" {
			c.none(t, thread, 0)
			after = len(c.turns(thread))
		}
		c.execResume(t, thread, "Go on.")
		c.execResume(t, thread, "And on.")

		d := c.once(t, thread, after)
		c.reseat(t, "packet", "validate", d.packet)
		holdsInOrder(t, "the latest transcript", d.file(t, "transcript-latest.md"), "OPENING-HERON")
		holdsInOrder(t, "the list of touched files", d.file(t, "touched-files.md"), "long.txt")
		if trigger := "auto"; !strings.Contains(d.file(t, "continuity.json"), `"trigger": "`+trigger+`"`) {
			t.Errorf("the packet doesn't tell the trigger %s", trigger)
		}
	})
}

func TestCodexTwoCompactionsInOneTurn(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version, autoCompact())
		full := stubmodel.UseTools(openai.Shell("echo ran")).Using(autoLimit + 1)
		c.scenes.On("long task", full, full, stubmodel.Text("done"))
		thread := c.exec(t, "Do the long task.")
		c.execResume(t, thread, "Go on.")

		turns := c.turns(thread)
		if len(turns) != 4 {
			t.Fatalf("%d requests, want 4", len(turns))
		}
		wanted := map[int]string{3: "/c/0002/"} // by request; the old clients run nothing before the next turn
		if version == "0.171.0" {
			wanted[1], wanted[2] = "/c/0001/", "/c/0002/"
		}
		for n, r := range turns {
			got := c.directives(r)
			if wanted[n] == "" && len(got) == 0 {
				continue
			}
			if len(got) != 1 || !strings.Contains(got[0].Text, wanted[n]) {
				t.Errorf("request %d holds %d directives, want one of %q: %v", n, len(got), wanted[n], got)
			}
		}
	})
}

func TestCodexProcessEndsBetweenCompactionAndTurn(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Begin.")
		before := len(c.turns(thread))
		app.compacted(thread)
		app.close()

		c.execResume(t, thread, "Go on.")
		c.execResume(t, thread, "And on.")
		c.once(t, thread, before)
	})
}

func TestCodexTwoCompactionsWithoutATurnKeepWhatTheFirstKept(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		app := startAppServer(t, c)
		thread := app.start(c)
		var latest []string
		for n := range 12 {
			prompt, answer := fmt.Sprintf("PROMPT-%02d-OSPREY", n), fmt.Sprintf("ANSWER-%02d-OSPREY", n)
			c.scenes.On(prompt, stubmodel.Reply{Text: answer})
			app.say(thread, prompt)
			if n >= 7 {
				latest = append(latest, prompt, answer)
			}
		}
		before := len(c.turns(thread))
		app.compacted(thread)
		app.compacted(thread)
		app.say(thread, "Go on.", "And on.")

		d := c.once(t, thread, before)
		holdsInOrder(t, "the latest transcript", d.file(t, "transcript-latest.md"), latest...)
		holdsInOrder(t, "continuity.json", d.file(t, "continuity.json"), `"opening"`, "PROMPT-00-OSPREY", `"requests"`)
	})
}

func TestCodexSecondCompactionFails(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		c.scenes.OnCompaction(stubmodel.Text("what happened"), stubmodel.Fail(500, "no second one"))
		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Begin.")
		before := len(c.turns(thread))
		app.compacted(thread)
		must(t, "the second compaction", app.compact(thread), "failed")
		app.say(thread, "Go on.", "And on.")

		d := c.once(t, thread, before)
		if !strings.Contains(d.packet, "/c/0001/") {
			t.Errorf("the directive belongs to %s, want the first compaction", d.packet)
		}
	})
}

func TestCodexCompactionThatFailedDeliversNothing(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		c.scenes.OnCompaction(stubmodel.Fail(500, "not now"))
		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Begin.")
		must(t, "the compaction", app.compact(thread), "failed")
		app.say(thread, "Go on.")
		app.close()
		c.execResume(t, thread, "And on.")
		c.none(t, thread, 0)
	})
}

func TestCodexTwoSessionsInOneDirectory(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		one, two := startAppServer(t, c), startAppServer(t, c)
		first, second := one.start(c), two.start(c)
		one.say(first, "Begin, FIRST-WREN.")
		two.say(second, "Begin, SECOND-WREN.")
		before := len(c.turns(first))
		one.compacted(first)
		two.say(second, "Go on.")
		one.say(first, "Go on.")
		two.say(second, "And on.")

		c.none(t, second, 0)
		d := c.once(t, first, before)
		latest := d.file(t, "transcript-latest.md")
		holdsInOrder(t, "the latest transcript", latest, "FIRST-WREN")
		if strings.Contains(latest, "SECOND-WREN") {
			t.Error("the packet holds the other session's words")
		}
	})
}

func TestCodexForkGetsNothingAndItsParentItsOwn(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		app := startAppServer(t, c)
		parent := app.start(c)
		app.say(parent, "Begin.")
		before := len(c.turns(parent))
		app.compacted(parent)
		forks := []string{app.fork(parent)}
		app.say(forks[0], "Go on in the fork.", "And on in the fork.")
		if version == "0.171.0" { // the others have no exec fork
			forks = append(forks, c.execFork(t, parent, "Go on in another fork."))
		}
		app.say(parent, "Go on.", "And on.")

		for _, fork := range forks {
			c.none(t, fork, 0)
		}
		c.once(t, parent, before)
	})
}

func TestCodexSubagentsCompactionIsNobodyElses(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version, autoCompact())
		thread := spawnThatCompacts(t, c)
		if got := c.attempts(t); got != 0 {
			t.Errorf("%d packets were prepared for the subagent's compaction%s", got, c.story(t))
		}
		app := startAppServer(t, c)
		app.resume(thread)
		app.say(thread, "Go on.")
		for _, r := range c.stub.Log.All() {
			if got := c.directives(r); len(got) != 0 {
				t.Fatalf("a request of %s holds a directive", r.Thread)
			}
		}
		before := len(c.turns(thread))
		app.compacted(thread)
		app.say(thread, "And on.", "To the end.")
		c.once(t, thread, before)
	})
}

// A subagent's first prompt runs UserPromptSubmit under the main session's id,
// while the main session's own directive is still waiting on the old clients.
func TestCodexSubagentTakesNoDirectiveOfTheMainSession(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version, autoCompact())
		const task = "dig in the quarry"
		c.scenes.On("long task",
			stubmodel.UseTools(openai.Shell("echo ran")).Using(autoLimit+1),
			stubmodel.UseTools(openai.Spawn(task)),
			stubmodel.Text("delegated"))
		c.scenes.On(task, stubmodel.Text("dug all of it"))
		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Do the long task.")
		eventually(t, commandTimeout, "the subagent's answer", func() bool { return c.answered(t, thread, "dug all of it") })
		app.say(thread, "Go on.", "And on.")

		after := 1
		if version != "0.171.0" {
			after = 3
		}
		c.once(t, thread, after)
		for _, r := range c.stub.Log.All() {
			if r.Thread != thread && len(c.directives(r)) != 0 {
				t.Errorf("a request of the subagent %s holds a directive", r.Thread)
			}
		}
	})
}

func TestCodexPreCompactWithoutACompaction(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		c.addHooks(t, codexHook{event: "PreCompact", command: `cat >/dev/null; echo '{"continue":false,"stopReason":"not now"}'`, timeout: 5})
		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Begin.")
		blocked := "interrupted"
		if version != "0.171.0" { // the old clients call it completed, though nothing was done
			blocked = "completed"
		}
		must(t, "the blocked compaction", app.compact(thread), blocked)
		if got := c.askedToCompact(); got != 0 {
			t.Fatalf("%d requests for a compaction, want none: it was to be blocked", got)
		}
		if got := c.attempts(t); got != 1 {
			t.Errorf("%d attempts, want 1: our own PreCompact hook ran as well", got)
		}
		app.say(thread, "Go on.")
		app.close()
		c.execResume(t, thread, "And on.")
		c.execResume(t, thread, "To the end.")
		c.none(t, thread, 0)
	})
}

func TestCodexRunsOurHooksOnlyWhereTheyWereApproved(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := newCodex(t, version)
		before := readFile(t, c.configFile())
		putPrograms(t, c.Bin)
		trust := func() []string {
			app := startAppServer(t, c)
			defer app.close()
			var all []string
			for _, hook := range app.hooks(c) {
				all = append(all, hook.Get("trustStatus").String())
			}
			return all
		}
		ran := func() int {
			receipts, _ := filepath.Glob(filepath.Join(c.State, "receipts", "*.jsonl"))
			return len(receipts)
		}

		c.reseat(t, "install", "--client", "codex", "--yes")
		if diff := cmp.Diff([]string{"untrusted", "untrusted", "untrusted", "untrusted"}, trust()); diff != "" {
			t.Errorf("installed (-want +got):\n%s", diff)
		}
		c.exec(t, "Begin.")
		if ran() != 0 {
			t.Error("a hook ran that nobody approved")
		}
		c.reseat(t, "install", "--client", "codex", "--yes", "--trust-hooks")
		if diff := cmp.Diff([]string{"trusted", "trusted", "trusted", "trusted"}, trust()); diff != "" {
			t.Errorf("approved (-want +got):\n%s", diff)
		}
		c.exec(t, "Begin again.")
		if ran() != 1 {
			t.Error("no hook ran after the approval")
		}
		c.reseat(t, "uninstall", "--client", "codex", "--yes")
		if diff := cmp.Diff(before, readFile(t, c.configFile())); diff != "" {
			t.Errorf("config.toml after uninstall (-before +after):\n%s", diff)
		}
	})
}

func TestCodexTwoRegistrationsDeliverOnce(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		c.addHooks(t, handWrittenHooks(`"`+c.Bin+`"`, c.State)...)
		app := startAppServer(t, c)
		thread := app.start(c)
		app.say(thread, "Begin.")
		before := len(c.turns(thread))
		app.compacted(thread)
		app.compacted(thread)
		app.say(thread, "Go on.", "And on.")
		app.close()
		c.execResume(t, thread, "To the end.")
		c.once(t, thread, before)
	})
}

// answered says whether another thread than the main one holds that answer in
// its own rollout.
func (c *codex) answered(t *testing.T, main, answer string) bool {
	t.Helper()
	for _, path := range c.rollouts(t) {
		if !strings.HasSuffix(path, main+".jsonl") && strings.Contains(readFile(t, path), answer) {
			return true
		}
	}
	return false
}

// installedCodex is a Codex with our programs, and our hooks as our installer
// writes and approves them.
func installedCodex(t *testing.T, version string, lines ...string) *codex {
	t.Helper()
	c := newCodex(t, version, lines...)
	putPrograms(t, c.Bin)
	c.reseat(t, "install", "--client", "codex", "--trust-hooks", "--yes")
	return c
}

// handWrittenHooks is the table of what is installed for Codex, with the
// programs in bin, which is written as in a shell.
func handWrittenHooks(bin, state string) []codexHook {
	hook := func(event, program string, timeout int) codexHook {
		return codexHook{event: event, timeout: timeout, command: fmt.Sprintf(`%s/%s --runtime codex --home "%s"`, bin, program, state)}
	}
	return []codexHook{
		hook("PreCompact", "reseat-precompact", 30),
		hook("SessionStart", "reseat-directive", 15),
		hook("UserPromptSubmit", "reseat-directive", 10),
		hook("PostCompact", "reseat-directive", 10),
	}
}

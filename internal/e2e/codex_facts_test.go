//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

// These tests run no program of ours. They hold what the rules of delivery take
// for granted about Codex, so that a version that behaves otherwise shows here
// first.

// onEachCodex runs a test on every pinned version.
func onEachCodex(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	for _, version := range codexVersions {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

// recordCodex puts the recording hook on every event that ours are on.
func recordCodex(t *testing.T, c *codex) recorder {
	t.Helper()
	r := newRecorder(t, c.home)
	var entries []codexHook
	for _, event := range []string{"PreCompact", "PostCompact", "SessionStart", "UserPromptSubmit"} {
		entries = append(entries, codexHook{event: event, command: r.command(t), timeout: 30})
	}
	c.addHooks(t, entries...)
	return r
}

// codexBoundaries counts the compactions that a transcript holds.
func codexBoundaries(rollout string) int {
	n := 0
	for line := range strings.Lines(rollout) {
		if gjson.Get(line, "type").String() == "compacted" {
			n++
		}
	}
	return n
}

func TestCodexFactsOfTrust(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := newCodex(t, version)
		r := newRecorder(t, c.home)
		c.addHooks(t, codexHook{event: "PreCompact", command: r.command(t) + " # <&>", timeout: 30})
		c.write(t, ".codex/config.toml", readFile(t, c.configFile())+`
[[hooks.SessionStart]]
[[hooks.SessionStart.hooks]]
type = "command"
command = "true"
`)
		got := map[string]string{}
		for _, hook := range startAppServer(t, c).hooks(c) {
			got[hook.Get("eventName").String()] = hook.Get("trustStatus").String()
		}
		want := map[string]string{"preCompact": "trusted", "sessionStart": "untrusted"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("trust (-want +got):\n%s", diff)
		}
	})
}

func TestCodexFactsOfManualCompactions(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := newCodex(t, version)
		r := recordCodex(t, c)
		app := startAppServer(t, c)
		thread := app.start(c)
		c.scenes.OnCompaction(stubmodel.Text("one"), stubmodel.Text("two"), stubmodel.Fail(500, "no third one"))
		for n, step := range []struct{ want, got string }{
			{"completed", app.prompt(thread, "begin")},
			{"completed", app.compact(thread)},
			{"completed", app.compact(thread)},
			{"failed", app.compact(thread)},
			{"completed", app.prompt(thread, "go on")},
		} {
			if step.got != step.want {
				t.Fatalf("step %d: %s, want %s", n, step.got, step.want)
			}
		}
		want := []string{
			"SessionStart(startup)", "UserPromptSubmit",
			"PreCompact(manual)", "PostCompact(manual)",
			"PreCompact(manual)", "PostCompact(manual)",
			"PreCompact(manual)",
			"SessionStart(compact)", "SessionStart(compact)", "UserPromptSubmit",
		}
		if diff := cmp.Diff(want, r.names(t)); diff != "" {
			t.Fatalf("the order of events (-want +got):\n%s", diff)
		}
		events := r.events(t)
		first, second, third := events[2], events[4], events[6]
		if a, b := first.get("turn_id"), events[3].get("turn_id"); a == "" || a != b {
			t.Errorf("turn_id of PreCompact %q, of its PostCompact %q", a, b)
		}
		if first.get("turn_id") == second.get("turn_id") || second.get("turn_id") == third.get("turn_id") {
			t.Error("two manual compactions share a turn_id")
		}
		if events[7].has("turn_id") {
			t.Error("SessionStart has a turn_id")
		}
		for n, want := range []int{0, 0, 0, 1, 1, 2, 2, 2, 2, 2} {
			if got := codexBoundaries(events[n].Transcript); got != want {
				t.Errorf("event %d, %s: %d boundaries on disk, want %d", n, events[n].name(), got, want)
			}
			if !strings.HasSuffix(events[n].Transcript, "\n") {
				t.Errorf("event %d, %s: a torn last line", n, events[n].name())
			}
		}
	})
}

func TestCodexFactsOfACompactionInMidTurn(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := newCodex(t, version, autoCompact())
		r := recordCodex(t, c)
		c.scenes.On("long task", stubmodel.Reply{Calls: []stubmodel.Call{openai.Shell("echo ran")}}.Using(autoLimit+1), stubmodel.Text("done"))
		thread := c.exec(t, "a long task")
		c.execResume(t, thread, "go on")

		// The old clients keep SessionStart(compact) for the next turn, and lose
		// it with the process.
		want := []string{"SessionStart(startup)", "UserPromptSubmit", "PreCompact(auto)", "PostCompact(auto)"}
		if version == "0.171.0" {
			want = append(want, "SessionStart(compact)")
		}
		want = append(want, "SessionStart(resume)", "UserPromptSubmit")
		if diff := cmp.Diff(want, r.names(t)); diff != "" {
			t.Fatalf("the order of events (-want +got):\n%s", diff)
		}
		events := r.events(t)
		turn := events[1].get("turn_id")
		for _, event := range events[2:4] {
			if event.get("turn_id") != turn {
				t.Errorf("%s: turn_id %q, the turn's own is %q", event.name(), event.get("turn_id"), turn)
			}
		}
		if got := codexBoundaries(events[3].Transcript); got != 1 {
			t.Errorf("at PostCompact: %d boundaries on disk, want 1", got)
		}
	})
}

func TestCodexFactsOfASubagent(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := newCodex(t, version, autoCompact())
		r := recordCodex(t, c)
		thread := spawnThatCompacts(t, c)

		var own int
		for _, event := range r.events(t) {
			if event.get("session_id") != thread {
				t.Errorf("%s: session_id %q, want the main session's %q", event.name(), event.get("session_id"), thread)
			}
			if strings.HasSuffix(event.get("transcript_path"), thread+".jsonl") {
				continue
			}
			own++
			if marked := event.has("agent_id"); marked != (version != "0.133.0") {
				t.Errorf("%s of the subagent: agent_id there: %v", event.name(), marked)
			}
			if event.get("source") != "" {
				t.Errorf("%s of the subagent", event.name())
			}
		}
		if own != 3 { // UserPromptSubmit, PreCompact, PostCompact
			t.Errorf("%d events of the subagent, want 3: %v", own, r.names(t))
		}
	})
}

// spawnThatCompacts runs a session whose subagent is compacted in mid-turn, to
// the end of both, and returns the main session's id.
func spawnThatCompacts(t *testing.T, c *codex) string {
	t.Helper()
	const task = "dig in the quarry"
	c.scenes.On("delegate it", stubmodel.UseTools(openai.Spawn(task)), stubmodel.Text("delegated"))
	c.scenes.On(task, stubmodel.UseTools(openai.Shell("echo dug")).Using(autoLimit+1), stubmodel.Text("dug all of it"))
	app := startAppServer(t, c)
	thread := app.start(c)
	if got := app.prompt(thread, "delegate it"); got != "completed" {
		t.Fatalf("the main turn: %s", got)
	}
	eventually(t, commandTimeout, "the subagent's answer in its own rollout", func() bool {
		return c.answered(t, thread, "dug all of it")
	})
	app.close()
	return thread
}

//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// The rules of delivery where something is missing: a hook, or the directive's
// own trace.

// compactions is what `reseat status` tells about a thread's compactions,
// newest first.
func (c *codex) compactions(t *testing.T, thread string) []gjson.Result {
	t.Helper()
	return gjson.Get(c.reseat(t, "status", "codex:"+thread, "--json"), "sessions.0.compactions").Array()
}

// newest is the newest of them.
func (c *codex) newest(t *testing.T, thread string) gjson.Result {
	t.Helper()
	all := c.compactions(t, thread)
	if len(all) == 0 {
		t.Fatalf("reseat status knows no compaction of %s%s", thread, c.story(t))
	}
	return all[0]
}

// withHooks is a Codex with our programs and those hooks of ours that keep
// accepts.
func withHooks(t *testing.T, version string, keep func(event string) bool) *codex {
	t.Helper()
	c := newCodex(t, version)
	putPrograms(t, c.Bin)
	c.addHooks(t, slices.DeleteFunc(handWrittenHooks(`"$HOME"/.local/bin`, c.State), func(h codexHook) bool { return !keep(h.event) })...)
	return c
}

// compactOnce runs a session through a compaction and two turns more, and
// returns the thread and the number of requests before.
func compactOnce(t *testing.T, c *codex) (thread string, before int) {
	t.Helper()
	app := startAppServer(t, c)
	thread = app.start(c)
	app.say(thread, "Begin, OPENING-HERON.")
	before = len(c.turns(thread))
	app.compacted(thread)
	app.say(thread, "Go on.", "And on.")
	app.close()
	return thread, before
}

func TestCodexDirectiveIsConfirmedFromTheTranscript(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := installedCodex(t, version)
		thread, before := compactOnce(t, c)
		c.once(t, thread, before)
		if got := c.newest(t, thread); got.Get("state").String() != "confirmed" {
			t.Errorf("reseat status: %s%s", got, c.story(t))
		}
	})
}

func TestCodexWithoutItsSessionStartHookDeliversWithThePrompt(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := withHooks(t, version, func(event string) bool { return event != "SessionStart" })
		thread, before := compactOnce(t, c)
		c.once(t, thread, before)
		if got := c.newest(t, thread); got.Get("event").String() != "UserPromptSubmit" || !got.Get("confirmed").Bool() {
			t.Errorf("reseat status: %s%s", got, c.story(t))
		}
	})
}

func TestCodexWithoutAHookThatDeliversSaysSo(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := withHooks(t, version, func(event string) bool { return event == "PreCompact" })
		thread, _ := compactOnce(t, c)
		c.none(t, thread, 0)
		if got := c.newest(t, thread).Get("words").String(); !strings.Contains(got, "reseat doctor") {
			t.Errorf("reseat status doesn't say why nothing arrived: %q", got)
		}
	})
}

func TestCodexWithoutItsPreCompactHookIsRescuedOnce(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := withHooks(t, version, func(event string) bool { return event != "PreCompact" })
		thread, before := compactOnce(t, c)
		d := c.once(t, thread, before)
		holdsInOrder(t, "the latest transcript", d.file(t, "transcript-latest.md"), "OPENING-HERON")
		if got := c.newest(t, thread); got.Get("mechanism").String() != "rescue" {
			t.Errorf("reseat status: %s", got)
		}
	})
}

// The hook's run at the next prompt is made by hand on a copy of the real
// transcript, since no real client drops what a hook said.
func TestCodexDirectiveThatTheClientDroppedComesOnceMore(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := withHooks(t, version, noPromptHook)
		thread, id := emitted(t, c)
		without := c.copyOfRollout(t, thread, func(line string) string {
			if strings.Contains(line, id) && gjson.Get(line, "payload.role").String() == "developer" {
				return ""
			}
			return line
		})
		if got := c.promptHook(t, thread, without); !strings.Contains(got, id) {
			t.Errorf("the directive %s didn't come again: %q%s", id, got, c.story(t))
		}
		if got := c.promptHook(t, thread, without); got != "" {
			t.Errorf("it came a third time: %q", got)
		}
	})
}

func TestCodexTraceOfAnUnknownFormIsNoLoss(t *testing.T) {
	onEachCodex(t, func(t *testing.T, version string) {
		c := withHooks(t, version, noPromptHook)
		thread, id := emitted(t, c)
		renamed := c.copyOfRollout(t, thread, func(line string) string {
			if gjson.Get(line, "payload.role").String() == "developer" {
				return strings.Replace(line, `"response_item"`, `"injected_item"`, 1)
			}
			return line
		})
		if got := c.promptHook(t, thread, renamed); got != "" {
			t.Errorf("the directive %s came again: %q", id, got)
		}
		if got := c.newest(t, thread).Get("state").String(); got != "emitted1" {
			t.Errorf("state %s, want emitted1", got)
		}
	})
}

// emitted runs a session to where its directive was printed and answered, and
// returns the thread and the compaction's id. No UserPromptSubmit confirms it.
func emitted(t *testing.T, c *codex) (thread, id string) {
	t.Helper()
	thread, before := compactOnce(t, c)
	c.once(t, thread, before)
	newest := c.newest(t, thread)
	if got := newest.Get("state").String(); got != "emitted1" {
		t.Fatalf("state %s, want emitted1", got)
	}
	return thread, newest.Get("id").String()
}

func noPromptHook(event string) bool { return event != "UserPromptSubmit" }

// copyOfRollout copies a thread's transcript, line by line through edit; an
// empty line is left out.
func (c *codex) copyOfRollout(t *testing.T, thread string, edit func(string) string) string {
	t.Helper()
	for _, path := range c.rollouts(t) {
		if !strings.HasSuffix(path, thread+".jsonl") {
			continue
		}
		var lines strings.Builder
		for line := range strings.Lines(readFile(t, path)) {
			lines.WriteString(edit(line))
		}
		return c.write(t, filepath.Join("copies", filepath.Base(path)), lines.String())
	}
	t.Fatalf("no rollout of %s", thread)
	return ""
}

// promptHook runs reseat-directive as Codex does at a prompt and returns what
// it printed.
func (c *codex) promptHook(t *testing.T, thread, transcript string) string {
	t.Helper()
	payload, err := json.Marshal(map[string]string{
		"session_id": thread, "turn_id": "01a22800-0000-7000-8000-000000000000", "transcript_path": transcript,
		"cwd": c.Project, "hook_event_name": "UserPromptSubmit", "model": codexModel,
		"permission_mode": "default", "prompt": "Go on.",
	})
	if err != nil {
		t.Fatal(err)
	}
	hook := c.command(filepath.Join(c.Bin, "reseat-directive"), c.codexEnv(), "--runtime", "codex", "--home", c.State)
	hook.stdin = string(payload)
	return strings.TrimSpace(c.must(t, hook).stdout)
}

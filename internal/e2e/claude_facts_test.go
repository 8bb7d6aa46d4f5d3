//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// The tests of this file install no hooks of ours: they check what the rest
// relies on, and fail first when a new version of the client changes it.

// eachClaude runs a test on each pinned version, in parallel as far as the
// machine allows.
func eachClaude(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()
	t.Parallel()
	for _, version := range claudeVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// recordEverything installs the recording hook on every event that matters.
func recordEverything(t *testing.T, c *claude) recorder {
	t.Helper()
	r := newRecorder(t, c.home)
	s := readSettings(t, c.home)
	for _, event := range []string{"SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "Stop", "SubagentStop"} {
		s.add(event, r.command(t), 30)
	}
	s.write(t, c.home)
	return r
}

func TestClaudeFactsOfAManualCompaction(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		r := recordEverything(t, c)
		session := c.say(t, "first").SessionID
		c.resume(t, session, "second")
		before := len(r.events(t))
		c.resume(t, session, "/compact keep the numbers")
		events := r.events(t)[before:]
		after := len(r.events(t))
		c.resume(t, session, "third")

		want := []string{"SessionStart(resume)", "PreCompact(manual)", "SubagentStop", "SessionStart(compact)", "PostCompact(manual)"}
		if diff := cmp.Diff(want, names(events)); diff != "" {
			t.Fatalf("events of the compaction (-want +got):\n%s", diff)
		}
		pre, compact, post := events[1], events[3], events[4]
		if got := pre.get("custom_instructions"); got != "keep the numbers" {
			t.Errorf("custom_instructions %q", got)
		}
		checkPromptID(t, pre, compact, post)
		for _, event := range events {
			checkOrigin(t, event, version, session)
			if n := len(boundaries(readRecords(event.Transcript))); n != 0 {
				t.Errorf("%s: %d boundaries on disk already", event.name(), n)
			}
		}
		for _, event := range r.events(t)[after:] {
			if got := boundaries(readRecords(event.Transcript)); !slices.Equal(got, []string{"manual"}) {
				t.Errorf("%s of the next process: boundaries on disk %v", event.name(), got)
			}
		}
		for _, record := range c.records(t, session) {
			if kind := record.Get("type").String(); (kind == "user" || kind == "assistant") && record.Get("version").String() != version {
				t.Errorf("a %s record names version %q", kind, record.Get("version").String())
			}
		}
	})
}

func TestClaudeFactsOfAnAutomaticCompactionInMidTurn(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		r := recordEverything(t, c)
		c.book.Turn("fill it", stubmodel.UseTools(anthropic.Bash("echo one")).Using(fullWindow), stubmodel.Text("done"))
		session := c.say(t, "first").SessionID
		c.resume(t, session, "second")
		before := len(r.events(t))
		c.resume(t, session, "fill it", "--permission-mode", "bypassPermissions")
		events := r.events(t)[before:]

		want := []string{"SessionStart(resume)", "UserPromptSubmit", "PreCompact(auto)", "SubagentStop", "SessionStart(compact)", "PostCompact(auto)", "Stop"}
		if diff := cmp.Diff(want, names(events)); diff != "" {
			t.Fatalf("events of the turn (-want +got):\n%s", diff)
		}
		checkPromptID(t, events[1], events[2], events[4], events[5])
		// The transcript is written beside the turn: what is on disk at an event
		// differs from run to run. Hooks get the rest later.
		t.Logf("the tool call on disk at PreCompact: %t; boundaries on disk at Stop: %v",
			strings.Contains(events[2].Transcript, "echo one"), boundaries(readRecords(events[6].Transcript)))
		if got := boundaries(c.records(t, session)); !slices.Equal(got, []string{"auto"}) {
			t.Errorf("boundaries: %v", got)
		}
	})
}

func TestClaudeFactsOfASubagentsCompaction(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		r := recordEverything(t, c)
		c.bookSubagent()
		session := c.say(t, "spawn one", "--permission-mode", "bypassPermissions").SessionID

		var seen []string
		for _, event := range r.events(t) {
			name := event.name()
			if name != "PreCompact(auto)" && name != "SessionStart(compact)" && name != "PostCompact(auto)" {
				continue
			}
			seen = append(seen, name)
			checkOrigin(t, event, version, session)
			if knows := version == "2.1.332"; event.has("agent_id") != knows || event.has("agent_type") != knows {
				t.Errorf("%s: agent_id %v, agent_type %v, want both %v", name, event.has("agent_id"), event.has("agent_type"), knows)
			}
		}
		for _, want := range []string{"PreCompact(auto)", "SessionStart(compact)", "PostCompact(auto)"} {
			if !slices.Contains(seen, want) {
				t.Errorf("no %s of the subagent in %v", want, seen)
			}
		}
		if got := boundaries(c.records(t, session)); len(got) != 0 {
			t.Errorf("the main transcript got boundaries: %v", got)
		}
	})
}

// bookSubagent scripts a turn that spawns a subagent which fills its window
// and is compacted while it works.
func (c *claude) bookSubagent() {
	c.book.Turn("spawn one", stubmodel.UseTools(anthropic.Agent("sub work", "do the sub work")), stubmodel.Text("spawned")).
		Subagents(
			stubmodel.UseTools(anthropic.Bash("echo step one")),
			stubmodel.UseTools(anthropic.Bash("echo step two")).Using(fullWindow),
			stubmodel.Text("sub work done"),
		)
}

func TestClaudeFactsOfAFork(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		r := recordEverything(t, c)
		parent := c.say(t, "first").SessionID
		before := len(r.events(t))
		fork := c.fork(t, parent, "forked").SessionID
		events := r.events(t)[before:]
		start, prompt := events[0], events[1]
		if version == "2.1.197" {
			if start.name() != "SessionStart(resume)" || start.get("session_id") != parent {
				t.Errorf("%s of %s, want resume of the parent %s", start.name(), start.get("session_id"), parent)
			}
		} else if start.name() != "SessionStart(fork)" || start.get("session_id") != fork {
			t.Errorf("%s of %s, want fork of %s", start.name(), start.get("session_id"), fork)
		}
		if prompt.name() != "UserPromptSubmit" || prompt.get("session_id") != fork || prompt.Transcript != "" {
			t.Errorf("%s of %s with %d bytes of transcript, want the fork's %s, not yet on disk",
				prompt.name(), prompt.get("session_id"), len(prompt.Transcript), fork)
		}
	})
}

// Within one process the boundary comes to the disk late, on old versions at
// times only after the next UserPromptSubmit.
func TestClaudeFactsOfACompactionWithinOneProcess(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		r := recordEverything(t, c)
		s := c.startStream(t)
		session := s.say("first").SessionID
		s.say("second")
		before := len(r.events(t))
		s.say("/compact keep the numbers")
		s.say("third")
		s.end()
		events := r.events(t)[before:]
		want := []string{"PreCompact(manual)", "SubagentStop", "SessionStart(compact)", "PostCompact(manual)", "UserPromptSubmit", "Stop"}
		if diff := cmp.Diff(want, names(events)); diff != "" {
			t.Fatalf("events from the compaction on (-want +got):\n%s", diff)
		}
		checkPromptID(t, events[0], events[2], events[3])
		for _, event := range events[:4] {
			if n := len(boundaries(readRecords(event.Transcript))); n != 0 {
				t.Errorf("%s: %d boundaries on disk already", event.name(), n)
			}
		}
		for _, event := range events[4:] {
			n := len(boundaries(readRecords(event.Transcript)))
			t.Logf("%s: %d boundaries on disk", event.name(), n)
			if n != 1 && version != "2.1.197" {
				t.Errorf("%s: %d boundaries on disk, want 1", event.name(), n)
			}
		}
		if got := boundaries(c.records(t, session)); !slices.Equal(got, []string{"manual"}) {
			t.Errorf("boundaries: %v", got)
		}
	})
}

// Headless, what would open a dialog in a terminal is refused.
func TestClaudeFactsOfReadingOutsideTheProject(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := newClaude(t, version)
		file := c.write(t, ".local/state/reseat/s/claude-1/c/0001/packet/file.md", "the content\n")
		c.book.Turn("read it", stubmodel.UseTools(anthropic.Read(file)), stubmodel.Text("done"))
		readable := func(mode string) bool {
			t.Helper()
			session := c.say(t, "read it", "--permission-mode", mode).SessionID
			turns := c.turns(session)
			results := anthropic.Results(turns[len(turns)-1])
			return len(results) == 1 && !results[0].Failed && strings.Contains(results[0].Text, "the content")
		}
		for _, mode := range []string{"default", "acceptEdits"} {
			if readable(mode) {
				t.Errorf("mode %s, no rule: the file could be read; the rule isn't needed any more", mode)
			}
		}
		for _, rule := range []string{"Read(~/.local/state/reseat/s/**)", "Read(/" + c.State + "/s/**)"} {
			s := readSettings(t, c.home)
			s.Permissions = map[string][]string{"allow": {rule}}
			s.write(t, c.home)
			for _, mode := range []string{"default", "acceptEdits"} {
				if !readable(mode) {
					t.Errorf("mode %s, rule %s: the file couldn't be read", mode, rule)
				}
			}
		}
	})
}

func names(events []recorded) []string {
	var names []string
	for _, event := range events {
		names = append(names, event.name())
	}
	return names
}

// checkPromptID checks that all events carry one prompt_id.
func checkPromptID(t *testing.T, events ...recorded) {
	t.Helper()
	for _, event := range events {
		if id := event.get("prompt_id"); id == "" || id != events[0].get("prompt_id") {
			t.Errorf("%s: prompt_id %q, %s has %q", event.name(), id, events[0].name(), events[0].get("prompt_id"))
		}
	}
}

// checkOrigin checks that an event tells its session, and its client's version
// through AI_AGENT.
func checkOrigin(t *testing.T, event recorded, version, session string) {
	t.Helper()
	if got := event.get("session_id"); got != session {
		t.Errorf("%s: session %q, want %s", event.name(), got, session)
	}
	if got, want := event.Env["AI_AGENT"], "claude-code_"+strings.ReplaceAll(version, ".", "-")+"_"; !strings.HasPrefix(got, want) {
		t.Errorf("%s: AI_AGENT %q, want %s...", event.name(), got, want)
	}
}

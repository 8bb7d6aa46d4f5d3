package hooks_test

import (
	"path/filepath"
	"testing"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
)

func TestASubagentIsKnownByItsIDOrByItsTranscript(t *testing.T) {
	const (
		root  = "01a227ea-4043-7e62-a05f-d828cb5a014a"
		child = "01a227ea-449e-7f32-b337-c740edbe89df"
	)
	rollout := func(id string) string {
		return filepath.Join("home", ".codex", "sessions", "2026", "11", "29", "rollout-2026-11-29T15-26-34-"+id+".jsonl")
	}
	for _, test := range []struct {
		name  string
		event hooks.Event
		want  bool
	}{
		{"it says so", hooks.Event{Client: client.Claude, SessionID: root, AgentID: "a1"}, true},
		{"Claude Code that doesn't say", hooks.Event{Client: client.Claude, SessionID: root, TranscriptPath: "/p/" + child + ".jsonl"}, false},
		{"Codex, the session's own rollout", hooks.Event{Client: client.Codex, SessionID: root, TranscriptPath: rollout(root)}, false},
		{"Codex 0.133.0, another thread's rollout", hooks.Event{Client: client.Codex, SessionID: root, TranscriptPath: rollout(child)}, true},
		{"Codex, no rollout", hooks.Event{Client: client.Codex, SessionID: root}, false},
		{"Codex, a file of another name", hooks.Event{Client: client.Codex, SessionID: root, TranscriptPath: "/x/" + child + ".jsonl"}, false},
		{"Codex, an id of another form", hooks.Event{Client: client.Codex, SessionID: "thread-1", TranscriptPath: rollout(child)}, false},
		{"Codex, a short name", hooks.Event{Client: client.Codex, SessionID: root, TranscriptPath: "rollout-1.jsonl"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.event.InSubagent(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

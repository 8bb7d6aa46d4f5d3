package compact

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/plugins"
)

var dev = Seat{Address: "dev@rig", Client: "claude", Session: "11111111-2222-4333-8444-555555555555"}

// guided runs a guided compaction and returns what a person saw of it.
func guided(t *testing.T, r *runtime, c Continuity, seat Seat, o Options) (Report, []string) {
	t.Helper()
	var seen []string
	g := Guide{Runtime: r, Continuity: c, Home: home(t), Now: newClock().now}
	report := g.Run(t.Context(), seat, o, func(h Happening) {
		switch {
		case h.Done:
			seen = append(seen, string(h.Step)+" done")
		case h.Stage != "":
			seen = append(seen, string(h.Step)+" "+string(h.Stage))
		default:
			seen = append(seen, string(h.Step))
		}
	})
	return report, seen
}

func TestTheGuidedWayGoesStepByStep(t *testing.T) {
	r := newRuntime()
	seat := dev
	seat.Transcript = readingTranscript(t, "/p/restore-instructions.md")
	d := &Delivery{ID: "c-1", State: "confirmed", Asked: []string{"/p/restore-instructions.md", "/p/continuity.json"}}
	report, seen := guided(t, r, hooks{d}, seat, Options{Instructions: "keep the numbers"})
	want := []string{"prep", "prep sending", "prep done", "compact", "compact sending", "compact done", "restore", "restore sending", "restore done", "audit", "audit done"}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %q", seen)
	}
	if report.Outcome != plugins.Compacted || !report.Triggered || report.Delivery.ID != "c-1" {
		t.Errorf("report %+v", report)
	}
	if report.Audit == nil || report.Audit.Depth != Partial || len(report.Audit.Opened) != 1 || len(report.Audit.Unread) != 1 {
		t.Errorf("audit %+v", report.Audit)
	}
	if len(r.turns) != 2 || r.turns[0] != prepText || r.turns[1] != restoreText {
		t.Errorf("turns %q", r.turns)
	}
	for _, text := range r.turns {
		if strings.ContainsAny(text[:1], "/!#$@") || strings.Contains(text, "\n") {
			t.Errorf("a message that a client would take for something else: %q", text)
		}
	}
}

func TestWithoutTurnsItEndsAtTheCompaction(t *testing.T) {
	r := newRuntime()
	report, seen := guided(t, r, hooks{}, dev, Options{NoPrep: true, NoRestore: true})
	if report.Outcome != plugins.Compacted || len(r.turns) != 0 || !slices.Equal(seen, []string{"compact", "compact sending", "compact done"}) {
		t.Errorf("report %+v, seen %q, turns %q", report, seen, r.turns)
	}
	if !strings.Contains(report.Delivery.Words, "reseat doctor") {
		t.Errorf("delivery %+v", report.Delivery)
	}
}

func TestAPreparationThatDoesntEndStopsEverything(t *testing.T) {
	for _, outcome := range []plugins.Outcome{plugins.Busy, plugins.TimedOut, plugins.Failed, plugins.Unknown, plugins.NotFound} {
		r := newRuntime()
		r.turn = func(plugins.TurnRequest) plugins.Result { return plugins.Result{Outcome: outcome} }
		report, _ := guided(t, r, hooks{}, Seat{Client: "claude", Session: "x"}, Options{})
		if report.Outcome != outcome || report.Triggered || r.times("compact") != 0 {
			t.Errorf("%s: %+v", outcome, report)
		}
	}
}

func TestWhatIsNotCompactedGetsNoRestoreTurn(t *testing.T) {
	for _, outcome := range plugins.Outcomes() {
		r := newRuntime()
		r.compact = func(context.Context, plugins.CompactRequest) plugins.Result {
			return plugins.Result{Outcome: outcome, Evidence: plugins.EvidenceNone}
		}
		report, _ := guided(t, r, hooks{}, Seat{Client: "claude", Session: "x"}, Options{NoPrep: true})
		if report.Outcome != outcome {
			t.Errorf("%s is reported as %s", outcome, report.Outcome)
		}
		if want := outcome == plugins.Compacted; (r.times("turn") == 1) != want {
			t.Errorf("%s: %d turns", outcome, r.times("turn"))
		}
	}
}

func TestASeatThatWeKnowHasNoHistoryRatherThanNoName(t *testing.T) {
	r := newRuntime()
	r.compact = func(context.Context, plugins.CompactRequest) plugins.Result {
		return plugins.Result{Outcome: plugins.NotFound}
	}
	for _, test := range []struct {
		seat Seat
		want plugins.Outcome
	}{
		{dev, plugins.NoHistory},
		{Seat{Client: "claude", Session: "x", Transcript: "/was/here"}, plugins.NoHistory},
		{Seat{Client: "claude", Session: "x"}, plugins.NotFound},
	} {
		if report, _ := guided(t, r, nil, test.seat, Options{NoPrep: true}); report.Outcome != test.want {
			t.Errorf("%+v: %s", test.seat, report.Outcome)
		}
	}
}

func TestADryRunTouchesNothing(t *testing.T) {
	r := newRuntime()
	dry := false
	r.compact = func(_ context.Context, c plugins.CompactRequest) plugins.Result {
		dry = c.DryRun
		return plugins.Result{State: plugins.StateIdle}
	}
	report, _ := guided(t, r, hooks{}, dev, Options{DryRun: true})
	if !dry || len(r.turns) != 0 || report.Outcome != "" || !report.DryRun {
		t.Errorf("report %+v", report)
	}
}

func TestOneCompactionPerSeatAtATime(t *testing.T) {
	r := newRuntime()
	inside, leave := make(chan bool), make(chan bool)
	r.compact = func(context.Context, plugins.CompactRequest) plugins.Result {
		close(inside)
		<-leave
		return compactedAt(1, 1)
	}
	g := Guide{Runtime: r, Home: home(t), Now: time.Now}
	first := make(chan Report)
	go func() { first <- g.Run(t.Context(), dev, Options{NoPrep: true, NoRestore: true}, func(Happening) {}) }()
	<-inside
	second := g.Run(t.Context(), dev, Options{NoPrep: true, NoRestore: true}, func(Happening) {})
	if second.Outcome != plugins.Busy || second.Reason != plugins.ReasonCompacting || r.times("compact") != 1 {
		t.Errorf("second %+v, %d compactions", second, r.times("compact"))
	}
	other := dev
	other.Session = "another"
	r.compact = func(context.Context, plugins.CompactRequest) plugins.Result { return compactedAt(1, 1) }
	if report := g.Run(t.Context(), other, Options{NoPrep: true, NoRestore: true}, func(Happening) {}); report.Outcome != plugins.Compacted {
		t.Errorf("another seat: %+v", report)
	}
	close(leave)
	if report := <-first; report.Outcome != plugins.Compacted {
		t.Errorf("first %+v", report)
	}
	if report := g.Run(t.Context(), dev, Options{NoPrep: true, NoRestore: true}, func(Happening) {}); report.Outcome != plugins.Compacted {
		t.Errorf("afterwards: %+v", report)
	}
}

// readingTranscript is a session in which a file was read, beyond byte 100, where
// compactedAt has its boundary.
func readingTranscript(t *testing.T, path string) string {
	t.Helper()
	record := func(n int, rest string) string {
		return fmt.Sprintf(`{"isSidechain":false,"uuid":"00000000-0000-4000-8000-%012d","parentUuid":%s,"timestamp":"2026-11-29T15:00:%02d.000Z","cwd":"/work","sessionId":"%s","version":"2.1.332",%s}`,
			n, parent(n), n, dev.Session, rest) + "\n"
	}
	read := func(n int, path string) string {
		return record(n, fmt.Sprintf(`"type":"assistant","message":{"id":"msg_%d","role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Read","input":{"file_path":%q}}]}`, n, n, path)) +
			record(n+1, fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"1 x"}]}`, n))
	}
	text := record(1, `"type":"user","message":{"role":"user","content":"begin"}`) + read(2, path)
	file := filepath.Join(t.TempDir(), dev.Session+".jsonl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func parent(n int) string {
	if n == 1 {
		return "null"
	}
	return fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, n-1)
}

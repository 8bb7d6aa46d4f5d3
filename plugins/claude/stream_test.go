package claude

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/plugins"
)

// told reads events, made by hand after those of 2.1.197 to 2.1.332.
func told(lines ...string) streamed {
	var s streamed
	for _, line := range lines {
		s.take(gjson.Parse(line), func(plugins.Stage, string) {})
	}
	return s
}

const (
	compacting = `{"type":"system","subtype":"status","status":"compacting"}`
	succeeded  = `{"type":"system","subtype":"status","status":null,"compact_result":"success"}`
	marked     = `{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"manual","pre_tokens":9000,"post_tokens":300}}`
	finished   = `{"type":"result","subtype":"success","is_error":false,"result":""}`
	spoke      = `{"type":"assistant","message":{"model":"claude-example","content":[{"type":"text","text":"ok"}]}}`
	synthetic  = `{"type":"assistant","message":{"model":"<synthetic>","content":[{"type":"text","text":"Not enough messages to compact."}]}}`
)

func refusedWith(reason string) string {
	return `{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"` + reason + `"}`
}

func TestTheStreamIsJudgedByWhatItShows(t *testing.T) {
	for name, test := range map[string]struct {
		said       streamed
		compaction bool
		want       plugins.Outcome
		reason     plugins.Reason
	}{
		"compacted":             {told(compacting, succeeded, marked, finished), true, plugins.Compacted, ""},
		"too little":            {told(compacting, refusedWith("Not enough messages to compact."), synthetic, finished), true, plugins.NotEnough, ""},
		"blocked":               {told(compacting, refusedWith("skipped: Compaction blocked by PreCompact hook: [x]: no"), finished), true, plugins.Blocked, plugins.ReasonHookBlocked},
		"an error":              {told(compacting, refusedWith("API Error: 500"), finished), true, plugins.Failed, plugins.ReasonClientError},
		"an end without a word": {told(compacting, finished), true, plugins.Unknown, ""},
		"success and no proof":  {told(compacting, succeeded, finished), true, plugins.Unknown, ""},
		"gone early":            {told(compacting), true, plugins.Failed, plugins.ReasonClientExited},
		"an answer":             {told(spoke, finished), false, plugins.Answered, ""},
		"an answer by nobody":   {told(synthetic, finished), false, plugins.Unknown, ""},
		"an answer cut short":   {told(spoke), false, plugins.Failed, plugins.ReasonClientExited},
		"a turn that failed":    {told(`{"type":"result","subtype":"error_during_execution","is_error":true,"result":"boom"}`), false, plugins.Failed, plugins.ReasonClientError},
	} {
		w := work{compaction: test.compaction}
		got := w.judgeStream(t.Context(), test.said, errors.New("exit status 1"), "", 0)
		if got.Outcome != test.want || got.Reason != test.reason {
			t.Errorf("%s: %s (%s): %s", name, got.Outcome, got.Reason, got.Detail)
		}
	}
	w := work{compaction: true}
	said := told(compacting)
	said.late = true
	if got := w.judgeStream(t.Context(), said, nil, "", 0); got.Outcome != plugins.TimedOut {
		t.Errorf("late: %+v", got)
	}
	said = streamed{stderr: "No conversation found with session ID: x"}
	if got := w.judgeStream(t.Context(), said, nil, "", 0); got.Outcome != plugins.NoHistory || got.Sent {
		t.Errorf("no conversation: %+v", got)
	}
}

// headlessBench has a closed session, and a script in the client's place.
func headlessBench(t *testing.T, script string) *bench {
	b := newBench(t)
	dir := t.TempDir()
	b.write("projects/"+projectFolder(dir)+"/"+idA+".jsonl", strings.ReplaceAll(asked+answered, "/work/shop", dir))
	b.program = filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(b.program, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) compact(request plugins.CompactRequest) plugins.Result {
	b.t.Helper()
	request.Session = plugins.SessionRef{ID: idA}
	result, err := b.Compact(b.t.Context(), request, func(plugins.Progress) {})
	if err != nil {
		b.t.Fatal(err)
	}
	return result
}

func TestAHeadlessClientThatFailsIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   plugins.Outcome
	}{
		"exits at once":   {"exit 3", plugins.Failed},
		"knows no such":   {`read line; echo "No conversation found with session ID: x" >&2; exit 1`, plugins.NoHistory},
		"prints nonsense": {`read line; echo nonsense; head -c 3000000 /dev/zero | tr '\0' x; echo`, plugins.Failed},
	} {
		if got := headlessBench(t, test.script).compact(plugins.CompactRequest{}); got.Outcome != test.want || got.Channel != plugins.ChannelStream {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAHeadlessClientThatHangsIsEnded(t *testing.T) {
	b := headlessBench(t, `read line; trap '' TERM; while :; do sleep 1; done`)
	got := b.compact(plugins.CompactRequest{Patience: plugins.Patience{Timeout: 300_000_000}})
	if got.Outcome != plugins.TimedOut || !got.Sent {
		t.Errorf("got %+v", got)
	}
}

func TestASessionThatIsOpenIsNeverCompactedHeadless(t *testing.T) {
	b := headlessBench(t, `echo started >"$0.ran"`)
	b.session(2000001, idA, "idle", true)
	if got := b.compact(plugins.CompactRequest{}); got.Outcome != plugins.Unsupported || got.Reason != plugins.ReasonNoPane {
		t.Errorf("got %+v", got)
	}
	b.session(2000002, idA, "idle", true)
	if got := b.compact(plugins.CompactRequest{}); got.Outcome != plugins.Busy || got.Reason != plugins.ReasonOpenElsewhere {
		t.Errorf("opened twice: %+v", got)
	}
	if _, err := os.Stat(b.program + ".ran"); err == nil {
		t.Error("a client was started")
	}
}

func TestADryRunStartsNothing(t *testing.T) {
	b := headlessBench(t, `echo started >"$0.ran"`)
	if got := b.compact(plugins.CompactRequest{DryRun: true}); got.Outcome != "" || got.Sent || got.State != plugins.StateClosed {
		t.Errorf("got %+v", got)
	}
	if _, err := os.Stat(b.program + ".ran"); err == nil {
		t.Error("a client was started")
	}
}

func TestWhatIsntThereIsToldApart(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct {
		ref  plugins.SessionRef
		want plugins.Outcome
	}{
		{plugins.SessionRef{ID: idA}, plugins.NotFound},
		{plugins.SessionRef{ID: idA, Transcript: "/was/here.jsonl"}, plugins.NoHistory},
		{plugins.SessionRef{ID: "../x"}, plugins.NotFound},
	} {
		got, err := b.Compact(t.Context(), plugins.CompactRequest{Session: test.ref}, func(plugins.Progress) {})
		if err != nil || got.Outcome != test.want {
			t.Errorf("%+v: %+v, %v", test.ref, got, err)
		}
	}
}

func TestCommandsArentMessages(t *testing.T) {
	b := newBench(t)
	for _, text := range []string{"", "  ", "/clear", "!ls", "# note"} {
		got, err := b.Turn(t.Context(), plugins.TurnRequest{Session: plugins.SessionRef{ID: idA}, Text: text}, func(plugins.Progress) {})
		if err != nil || got.Outcome != plugins.Failed || got.Sent {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

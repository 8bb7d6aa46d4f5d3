package codex

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/plugins"
)

// fakeServer is an app-server in this process: what it says to each method.
type fakeServer struct {
	on map[string]func(params gjson.Result) (result, refusal string, notes []string)

	mu      sync.Mutex
	out     chan []byte
	gone    bool
	calls   []string
	answers []gjson.Result // to requests of the server's own
}

func newFakeServer() *fakeServer {
	return &fakeServer{out: make(chan []byte, 100), on: map[string]func(gjson.Result) (string, string, []string){}}
}

func (f *fakeServer) send(_ context.Context, message []byte) error {
	r := gjson.ParseBytes(message)
	method := r.Get("method").Str
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gone {
		return io.ErrClosedPipe
	}
	if method == "" {
		f.answers = append(f.answers, r)
		return nil
	}
	f.calls = append(f.calls, method)
	if !r.Get("id").Exists() {
		return nil
	}
	result, refusal, notes := "{}", "", []string(nil)
	if do := f.on[method]; do != nil {
		result, refusal, notes = do(r.Get("params"))
	}
	answer := `{"id":` + r.Get("id").Raw + `,"result":` + result + `}`
	if refusal != "" {
		text, _ := json.Marshal(refusal)
		answer = `{"id":` + r.Get("id").Raw + `,"error":{"code":-32600,"message":` + string(text) + `}}`
	}
	f.out <- []byte(answer)
	for _, note := range notes {
		f.out <- []byte(note)
	}
	return nil
}

func (f *fakeServer) receive(context.Context) ([]byte, error) {
	data, ok := <-f.out
	if !ok {
		return nil, io.EOF
	}
	return data, nil
}

func (f *fakeServer) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.gone {
		f.gone = true
		close(f.out)
	}
	return nil
}

func (f *fakeServer) called(method string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c == method {
			return true
		}
	}
	return false
}

func status(words string) func(gjson.Result) (string, string, []string) {
	return func(gjson.Result) (string, string, []string) {
		return `{"thread":{"status":` + words + `}}`, "", nil
	}
}

func note(method, params string) string {
	return `{"method":"` + method + `","params":{"threadId":"` + thread1 + `"` + params + `}}`
}

// serverBench is one compaction over a fake server.
func serverBench(t *testing.T, f *fakeServer, compaction bool, rollout string) (*work, *conn) {
	t.Helper()
	a := newAdapter(t)
	c, err := connect(t.Context(), f, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.close)
	w := &work{
		Adapter: a, ref: plugins.SessionRef{ID: thread1}, compaction: compaction, text: "hello",
		rollout: a.rollout(t, "2026/11/29", thread1, rollout), stage: func(plugins.Stage, string) {},
		patience: plugins.Patience{Timeout: 500 * time.Millisecond},
	}
	return w, c
}

func nobody(context.Context) *obstacle { return nil }

const compactedRecord = `{"timestamp":"2026-11-29T15:50:00.000Z","type":"compacted","payload":{"message":"a summary","replacement_history":[]}}` + "\n"

func TestACompactionIsJudgedByWhatTheServerAndTheRolloutShow(t *testing.T) {
	active := note("thread/status/changed", `,"status":{"type":"active","activeFlags":[]}`)
	idle := note("thread/status/changed", `,"status":{"type":"idle"}`)
	done := func(status string) string {
		return note("turn/completed", `,"turn":{"id":"t","status":"`+status+`","error":{"message":"the model said 500"}}`)
	}
	item := note("item/completed", `,"item":{"type":"contextCompaction"}`)
	stopped := note("hook/completed", `,"run":{"eventName":"preCompact","status":"stopped","entries":[{"kind":"stop","text":"not now"}]}`)
	for name, test := range map[string]struct {
		notes    []string
		appended string
		want     plugins.Outcome
		reason   plugins.Reason
		evidence plugins.Evidence
	}{
		"a boundary":                {[]string{active, item, idle, done("completed")}, compactedRecord, plugins.Compacted, "", plugins.EvidenceBoundary},
		"its word and no boundary":  {[]string{active, item, idle, done("completed")}, "", plugins.Compacted, "", plugins.EvidenceCompletion},
		"a failure":                 {[]string{active, idle, done("failed")}, "", plugins.Failed, plugins.ReasonClientError, plugins.EvidenceNone},
		"a hook that stopped it":    {[]string{active, stopped, idle, done("interrupted")}, "", plugins.Blocked, plugins.ReasonHookBlocked, plugins.EvidenceNone},
		"an acknowledgement":        {nil, "", plugins.TimedOut, "", plugins.EvidenceNone},
		"only that it began":        {[]string{active}, "", plugins.TimedOut, "", plugins.EvidenceNone},
		"a daemon, with a boundary": {[]string{active, idle}, task("task_started", "") + compactedRecord + task("task_complete", ""), plugins.Compacted, "", plugins.EvidenceBoundary},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFakeServer()
			f.on["thread/read"] = status(`{"type":"idle"}`)
			w, c := serverBench(t, f, true, meta(thread1, "")+task("task_started", "")+task("task_complete", ""))
			f.on["thread/compact/start"] = func(gjson.Result) (string, string, []string) {
				appendTo(t, w.rollout, test.appended)
				return "{}", "", test.notes
			}
			got := w.throughServer(t.Context(), c, nobody)
			if got.Outcome != test.want || got.Reason != test.reason || got.Evidence != test.evidence || !got.Sent {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Error(err)
	}
}

func TestABusyThreadIsNeverTouched(t *testing.T) {
	for words, reason := range map[string]plugins.Reason{
		`{"type":"active","activeFlags":[]}`:                    plugins.ReasonTurnRunning,
		`{"type":"active","activeFlags":["waitingOnApproval"]}`: plugins.ReasonDialogOpen,
		`{"type":"somethingNew"}`:                               plugins.ReasonStateUnknown,
	} {
		f := newFakeServer()
		f.on["thread/read"] = status(words)
		w, c := serverBench(t, f, true, meta(thread1, ""))
		got := w.throughServer(t.Context(), c, nobody)
		if got.Outcome != plugins.Busy || got.Reason != reason || got.Sent || f.called("thread/compact/start") {
			t.Errorf("%s: %+v, calls %v", words, got, f.calls)
		}
	}
	f := newFakeServer()
	f.on["thread/read"] = status(`{"type":"idle"}`)
	w, c := serverBench(t, f, true, meta(thread1, ""))
	got := w.throughServer(t.Context(), c, func(context.Context) *obstacle {
		return &obstacle{plugins.ReasonPersonTyping, "", plugins.StateIdle}
	})
	if got.Outcome != plugins.Busy || got.Reason != plugins.ReasonPersonTyping || f.called("thread/compact/start") {
		t.Errorf("a person typing: %+v", got)
	}
}

func TestRefusalsAreToldApart(t *testing.T) {
	for refusal, want := range map[string]plugins.Outcome{
		"thread not found: x": plugins.NoHistory,
		"failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Compact }": plugins.Busy,
		"out of memory": plugins.Failed,
	} {
		f := newFakeServer()
		f.on["thread/read"] = status(`{"type":"idle"}`)
		f.on["turn/start"] = func(gjson.Result) (string, string, []string) { return "", refusal, nil }
		w, c := serverBench(t, f, false, meta(thread1, ""))
		if got := w.throughServer(t.Context(), c, nobody); got.Outcome != want || got.Sent {
			t.Errorf("%q: %+v", refusal, got)
		}
	}
	for refusal, want := range map[string]plugins.Outcome{
		"thread ID already has an active writer": plugins.Busy,
		"no rollout found for thread id x":       plugins.NoHistory,
		"no":                                     plugins.Failed,
	} {
		f := newFakeServer()
		f.on["thread/resume"] = func(gjson.Result) (string, string, []string) { return "", refusal, nil }
		w, c := serverBench(t, f, true, meta(thread1, ""))
		if got := w.resume(t.Context(), c); got == nil || got.Outcome != want {
			t.Errorf("%q: %+v", refusal, got)
		}
	}
}

func TestAServerThatGoesAwayLeavesItUnknown(t *testing.T) {
	f := newFakeServer()
	f.on["thread/read"] = status(`{"type":"idle"}`)
	w, c := serverBench(t, f, true, meta(thread1, ""))
	w.patience.Timeout = time.Minute
	f.on["thread/compact/start"] = func(gjson.Result) (string, string, []string) {
		go func() { _ = f.close() }()
		return "{}", "", nil
	}
	if got := w.throughServer(t.Context(), c, nobody); got.Outcome != plugins.Unknown || got.Reason != plugins.ReasonClientExited || !got.Sent {
		t.Errorf("got %+v", got)
	}
	if _, err := c.call(t.Context(), "thread/read", nil); !errors.Is(err, errClosed) {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestWhatTheServerAsksIsRefused(t *testing.T) {
	f := newFakeServer()
	c, err := connect(t.Context(), f, "test")
	if err != nil {
		t.Fatal(err)
	}
	f.out <- []byte(`{"id":"ask-1","method":"item/commandExecution/requestApproval","params":{}}`)
	f.out <- []byte(`not json`)
	f.out <- []byte(`{"id":999,"result":{}}`)
	if _, err := c.call(t.Context(), "thread/read", nil); err != nil {
		t.Fatal(err)
	}
	c.close()
	if len(f.answers) != 1 || f.answers[0].Get("id").Str != "ask-1" || !f.answers[0].Get("error").Exists() {
		t.Errorf("answers %v", f.answers)
	}
}

func FuzzHeard(f *testing.F) {
	f.Add(note("hook/completed", `,"run":{"eventName":"preCompact","status":"stopped","entries":[{"text":"x"}]}`))
	f.Add(strings.Repeat("[", 100))
	f.Fuzz(func(_ *testing.T, text string) {
		var h heard
		h.take(gjson.Parse(text), thread1)
	})
}

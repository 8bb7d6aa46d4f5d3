package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

const (
	thread1 = "01a227f8-707e-79a1-8f62-8278e718284c" // a UUID of version 7, of 2026-11-29
	thread2 = "01a22804-681a-7240-b62e-7a3daeef0181"
)

// meta is a first record made by hand after real ones.
func meta(id, more string) string {
	return `{"timestamp":"2026-11-29T15:42:03.000Z","type":"session_meta","payload":{"id":"` + id + `","session_id":"` + id + `","cwd":"/work/shop","cli_version":"0.171.0","originator":"codex-tui","source":"cli"` + more + `}}` + "\n"
}

func task(kind, more string) string {
	return `{"timestamp":"2026-11-29T15:42:04.000Z","type":"event_msg","payload":{"type":"` + kind + `"` + more + `}}` + "\n"
}

func newAdapter(t *testing.T) *Adapter {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &Adapter{home: home, getenv: func(string) string { return "" }, now: time.Now, table: proctable.Read}
}

// rollout writes a thread's rollout into the folder of a day.
func (a *Adapter) rollout(t *testing.T, day, id, content string) string {
	t.Helper()
	path := filepath.Join(a.home, "sessions", filepath.FromSlash(day), "rollout-2026-11-29T15-42-03-"+id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRolloutsAreFoundByThread(t *testing.T) {
	a := newAdapter(t)
	path := a.rollout(t, "2026/11/29", thread1, meta(thread1, ""))
	if got := a.rolloutOf(thread1); got != path {
		t.Errorf("got %q", got)
	}
	far := a.rollout(t, "2020/01/02", thread2, meta(thread2, "")) // a clock that was wrong
	if got := a.rolloutOf(thread2); got != far {
		t.Errorf("got %q", got)
	}
	for _, id := range []string{"", "*", "../x", strings.ToUpper(thread1), thread1[:35]} {
		if got := a.rolloutOf(id); got != "" {
			t.Errorf("%q leads to %q", id, got)
		}
	}
}

func TestTheLastTaskTellsWhetherATurnRuns(t *testing.T) {
	a := newAdapter(t)
	filler := strings.Repeat(`{"type":"response_item","payload":{"type":"message","text":"`+strings.Repeat("x", 1000)+`"}}`+"\n", 600)
	for name, test := range map[string]struct {
		content string
		want    plugins.State
	}{
		"running":            {meta(thread1, "") + task("task_started", ""), plugins.StateBusy},
		"ended":              {meta(thread1, "") + task("task_started", "") + task("task_complete", ""), plugins.StateIdle},
		"aborted":            {meta(thread1, "") + task("task_started", "") + task("turn_aborted", `,"reason":"interrupted"`), plugins.StateIdle},
		"running for long":   {meta(thread1, "") + task("task_complete", "") + task("task_started", "") + filler, plugins.StateBusy},
		"not begun":          {meta(thread1, ""), plugins.StateUnknown},
		"half a line":        {meta(thread1, "") + task("task_started", "") + task("task_complete", "")[:40], plugins.StateBusy},
		"words in a message": {meta(thread1, "") + task("task_started", "") + `{"type":"response_item","payload":{"type":"task_complete"}}` + "\n", plugins.StateBusy},
	} {
		if got, _ := lastTask(a.rollout(t, "2026/11/29", thread1, test.content)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestTheEndOfATaskIsReadBeyondWhatWasThere(t *testing.T) {
	a := newAdapter(t)
	before := meta(thread1, "") + task("task_started", "") + task("task_complete", "")
	for name, test := range map[string]struct{ after, want string }{
		"nothing yet":  {"", ""},
		"running":      {task("task_started", ""), ""},
		"complete":     {task("task_started", "") + task("task_complete", ""), "complete"},
		"interrupted":  {task("task_started", "") + task("turn_aborted", `,"reason":"interrupted"`), "interrupted"},
		"a second one": {task("task_started", "") + task("task_complete", "") + task("task_started", ""), ""},
	} {
		w := work{rollout: a.rollout(t, "2026/11/29", thread1, before+test.after), from: int64(len(before))}
		if got := w.lastEnd(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestThreadsAreThoseThatAProcessHasOpen(t *testing.T) {
	a := newAdapter(t)
	path := a.rollout(t, "2026/11/29", thread1, meta(thread1, "")+task("task_started", "")+task("task_complete", ""))
	sub := a.rollout(t, "2026/11/29", thread2, meta(thread2, `,"thread_source":"subagent","parent_thread_id":"`+thread1+`"`))
	for _, p := range []string{path, sub} {
		f, err := os.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	self := os.Getpid()
	a.table = func() (proctable.Table, error) {
		return proctable.Table{self: {PID: self, Name: "codex", Front: 5, Group: 5}}, nil
	}
	got, err := a.Sessions(t.Context())
	if err != nil || len(got.Sessions) != 1 {
		t.Fatalf("got %+v, %v", got, err)
	}
	s := got.Sessions[0]
	if s.ID != thread1 || s.CWD != "/work/shop" || s.Version != "0.171.0" || s.State != plugins.StateIdle || s.Transcript != path || s.Kind != "terminal" {
		t.Errorf("got %+v", s)
	}
	a.table = func() (proctable.Table, error) { return proctable.Table{self: {PID: self, Name: "vim"}}, nil }
	if got, err := a.Sessions(t.Context()); err != nil || len(got.Sessions) != 0 {
		t.Errorf("another program's open files: %+v, %v", got, err)
	}
}

func TestStatusesAreRead(t *testing.T) {
	for status, want := range map[string]plugins.State{
		`{"type":"idle"}`:                                        plugins.StateIdle,
		`{"type":"active","activeFlags":[]}`:                     plugins.StateBusy,
		`{"type":"active","activeFlags":["waitingOnApproval"]}`:  plugins.StateWaiting,
		`{"type":"active","activeFlags":["waitingOnUserInput"]}`: plugins.StateWaiting,
		`{"type":"notLoaded"}`:                                   plugins.StateClosed,
		`{"type":"systemError"}`:                                 plugins.StateIdle,
		`{"type":"new"}`:                                         plugins.StateUnknown,
		`{}`:                                                     plugins.StateUnknown,
	} {
		if got, _ := stateOf(gjson.Parse(status)); got != want {
			t.Errorf("%s: %s", status, got)
		}
	}
}

func TestUsageIsTheLastTokenCount(t *testing.T) {
	a := newAdapter(t)
	count := task("token_count", `,"info":{"last_token_usage":{"total_tokens":45000},"total_token_usage":{"total_tokens":99000},"model_context_window":95000}`)
	prompt := `{"timestamp":"2026-11-29T15:43:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"and now"}]}}` + "\n" +
		`{"timestamp":"2026-11-29T15:43:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"and now"}}` + "\n"
	for name, test := range map[string]struct {
		content string
		fresh   bool
	}{
		"the last thing": {meta(thread1, "") + count + task("task_complete", ""), true},
		"overtaken":      {meta(thread1, "") + count + task("task_complete", "") + prompt, false},
	} {
		a.rollout(t, "2026/11/29", thread1, test.content)
		got, err := a.Usage(t.Context(), []plugins.SessionRef{{ID: thread1}})
		if err != nil {
			t.Fatal(err)
		}
		if u := got[0]; u.Tokens != 45000 || u.Window != 95000 || int(u.Percent) != 47 || u.Fresh() != test.fresh || u.Source != sourceRollout {
			t.Errorf("%s: %+v", name, u)
		}
	}
	got, err := a.Usage(t.Context(), []plugins.SessionRef{{ID: thread2}, {ID: thread1}})
	if err != nil || got[0].Unknown != plugins.UsageNotFound || got[1].Unknown != plugins.UsageKnown {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTheNamesOfKeysAreReadFromTheConfiguration(t *testing.T) {
	home := t.TempDir()
	getenv := func(name string) string { return map[string]string{"CODEX_HOME": home}[name] }
	if got := KeyVariables(getenv); got != nil {
		t.Errorf("without a configuration: %q", got)
	}
	text := "[model_providers.a]\nenv_key = \"A_KEY\"\n[model_providers.b]\nenv_key = \"CODEX_\"\nenv_http_headers = { X = \"B_HEADER\", Y = \"A_KEY\" }\n"
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := KeyVariables(getenv); !slices.Equal(got, []string{"A_KEY", "B_HEADER"}) {
		t.Errorf("got %q", got)
	}
}

func TestHoldersAreToldApart(t *testing.T) {
	if slices.Contains([]holderKind{inTerminal, inDaemon}, kindOf(proctable.Process{PID: os.Getpid(), Front: -1})) {
		t.Error("a process without a terminal is taken for one in a terminal")
	}
}

func FuzzScanTasks(f *testing.F) {
	f.Add(task("task_started", "") + task("turn_aborted", ""))
	f.Fuzz(func(_ *testing.T, text string) { scanTasks(strings.NewReader(text)) })
}

package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

const (
	idA = "11111111-2222-4333-8444-555555555555"
	idB = "22222222-2222-4333-8444-555555555555"
)

// bench is an adapter on a made-up configuration folder and process table.
type bench struct {
	*Adapter
	t     *testing.T
	procs proctable.Table
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, procs: proctable.Table{}}
	b.Adapter = &Adapter{
		config: t.TempDir(), home: state.Home(t.TempDir()), getenv: func(string) string { return "" }, now: time.Now,
		table: func() (proctable.Table, error) { return b.procs, nil },
	}
	return b
}

func (b *bench) write(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.config, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// session writes a session file as 2.1.332 does; process says whether the table
// has the process that wrote it.
func (b *bench) session(pid int, id, status string, process bool) {
	b.t.Helper()
	data, err := json.Marshal(map[string]any{
		"pid": pid, "sessionId": id, "cwd": "/work/shop", "procStart": "100", "version": "2.1.332", "kind": "interactive",
		"status": status, "statusUpdatedAt": 1795966557730, "waitingFor": "permission prompt",
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.write("sessions/"+strconv.Itoa(pid)+".json", string(data))
	if process {
		b.procs[pid] = proctable.Process{PID: pid, Started: "100"}
	}
}

func TestLiveSessionsAreThoseOfLiveProcesses(t *testing.T) {
	b := newBench(t)
	b.session(2000001, idA, "waiting", true)
	b.session(2000002, idB, "idle", false)
	b.procs[2000003] = proctable.Process{PID: 2000003, Started: "999"}
	b.session(2000003, idB, "idle", false) // the number is another process's by now
	b.write("sessions/2000001.abc.key", "secret")
	b.write("sessions/2000004.json", "{")
	b.write("sessions/x.json", "{}")
	transcript := b.write("projects/-work-shop/"+idA+".jsonl", "")
	got, err := b.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Sessions) != 1 || len(got.Caveats) != 1 {
		t.Fatalf("got %+v", got)
	}
	s := got.Sessions[0]
	if s.ID != idA || s.State != plugins.StateWaiting || s.StateReason != "permission prompt" || s.PID != 2000001 ||
		s.Transcript != transcript || !s.StateSince.Equal(time.UnixMilli(1795966557730)) || s.Channel != "" {
		t.Errorf("got %+v", s)
	}
}

func TestKeyFilesAreNeverOpened(t *testing.T) {
	b := newBench(t)
	b.session(2000001, idA, "idle", true)
	key := b.write("sessions/2000001.0123abcd.key", "secret")
	before := accessTime(t, key)
	if _, err := b.Sessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"2000001.0123abcd.key", "2000001.json.key", "0x1.json", "-1.json", "01.json", ".json"} {
		if _, ok := sessionFile(name); ok {
			t.Errorf("%s is taken for a session file", name)
		}
	}
	if got := accessTime(t, key); got != before {
		t.Errorf("the key was read at %v", got)
	}
}

func accessTime(t *testing.T, path string) string {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.ModTime().String()
}

func TestStateIsWhatTheClientSays(t *testing.T) {
	for data, want := range map[string]plugins.State{
		`{"pid":7,"sessionId":"x","status":"idle"}`:    plugins.StateIdle,
		`{"pid":7,"sessionId":"x","status":"busy"}`:    plugins.StateBusy,
		`{"pid":7,"sessionId":"x","status":"waiting"}`: plugins.StateWaiting,
		`{"pid":7,"sessionId":"x","status":"asleep"}`:  plugins.StateUnknown,
		`{"pid":7,"sessionId":"x","status":1}`:         plugins.StateUnknown,
		`{"pid":7,"sessionId":"x"}`:                    plugins.StateUnknown,
	} {
		got, err := parseSession(7, []byte(data))
		if err != nil || got.state != want {
			t.Errorf("%s: %s, %v", data, got.state, err)
		}
	}
	for _, data := range []string{"", "null", "[]", `{"pid":8,"sessionId":"x"}`, `{"pid":7}`, `{"pid":7,"sessionId":3}`} {
		if got, err := parseSession(7, []byte(data)); err == nil {
			t.Errorf("%q was taken: %+v", data, got)
		}
	}
}

func TestAnotherNamespacesProcessIsUnknown(t *testing.T) {
	b := newBench(t)
	b.write("sessions/2000001.json", `{"pid":2000001,"sessionId":"`+idA+`","status":"idle","pidDomain":"linux:x:pid:[1]"}`)
	got, err := b.Sessions(t.Context())
	if err != nil || len(got.Sessions) != 1 || got.Sessions[0].State != plugins.StateUnknown {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTranscriptsAreFoundInTheirFolder(t *testing.T) {
	b := newBench(t)
	other := b.write("projects/-somewhere-else/"+idA+".jsonl", "")
	if got := b.transcriptOf(idA, "/work/my shop_1.x"); got != other {
		t.Errorf("got %q", got)
	}
	mine := b.write("projects/-work-my-shop-1-x/"+idA+".jsonl", "")
	if got := b.transcriptOf(idA, "/work/my shop_1.x"); got != mine {
		t.Errorf("got %q", got)
	}
	for _, id := range []string{"", "../x", idA[:35], idA + "0", "../../../../../../etc/passwd0000000000"} {
		if got := b.transcriptOf(id, "/work"); got != "" {
			t.Errorf("%q leads to %q", id, got)
		}
	}
}

func TestTheFolderToResumeFromIsTheSessionsOwn(t *testing.T) {
	b := newBench(t)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	line := func(cwd string) string { return `{"type":"user","cwd":"` + cwd + `"}` + "\n" }
	path := b.write("projects/"+projectFolder(dir)+"/"+idA+".jsonl", `{"type":"mode"}`+"\n"+line(dir)+line(dir+"/deeper"))
	if got, ok := workingDir(path, dir+"/deeper"); !ok || got != dir {
		t.Errorf("got %q, %v", got, ok)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if got, ok := workingDir(path, ""); ok {
		t.Errorf("a folder that is gone: %q", got)
	}
}

func FuzzParseSession(f *testing.F) {
	f.Add([]byte(`{"pid":7,"sessionId":"x","status":"idle","statusUpdatedAt":1,"pidDomain":"linux:x:pid:[1]"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := parseSession(7, data); err == nil && (s.id == "" || s.pid != 7) {
			t.Fatalf("%q: %+v", data, s)
		}
	})
}

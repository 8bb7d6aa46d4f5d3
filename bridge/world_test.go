package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// lightPacker makes packets of one file: bridge's own part is what is tested.
type lightPacker struct {
	fail error // Pack's error
}

func (lightPacker) Off(Job) string { return "" }

func (lightPacker) Limits() Limits { return DefaultLimits() }

func (lightPacker) Read(ctx context.Context, j Job) (*transcript.Story, error) {
	story, err := transcript.Read(ctx, j.Event.Client, j.Transcript, transcript.Options{Session: j.Event.SessionID})
	if story == nil {
		story = &transcript.Story{Client: j.Event.Client, Path: j.Transcript}
	}
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return story, err
}

func (p lightPacker) Pack(_ context.Context, j Job, _ *transcript.Story, dir string) (Packed, error) {
	if p.fail != nil {
		return Packed{}, p.fail
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return Packed{}, err
	}
	return Packed{Directive: "directive " + j.ID + " " + filepath.Base(dir)}, nil
}

func (lightPacker) Renew(_ context.Context, j Job, _ World, note string) (string, bool) {
	if note == "" {
		return "", false
	}
	return "directive " + j.ID + " " + note, true
}

func (lightPacker) Degraded(j Job, reason string) string { return "degraded " + j.ID + " " + reason }

// desk is one session of a made-up client that behaves like the real ones, with
// our hooks on one state folder.
type desk struct {
	t       testing.TB
	b       *Bridge
	client  client.Client
	version string
	id      string
	path    string
	clock   *time.Time
	records int
	turn    int
}

// newDesk sits down at a fresh state folder.
func newDesk(t testing.TB, c client.Client, version string) *desk {
	t.Helper()
	now := time.Date(2026, 11, 29, 10, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	d := &desk{t: t, client: c, version: version, id: "11111111-2222-4333-8444-555555555555", path: filepath.Join(dir, "transcript.jsonl"), clock: &now}
	d.b = New(state.Home(filepath.Join(dir, "state")), lightPacker{}, func(hooks.Event) string { return d.version }, 1<<30)
	d.b.Now = func() time.Time { return *d.clock }
	return d
}

// beside is another session on the same state folder and clock.
func (d *desk) beside(id string) *desk {
	other := *d
	other.id, other.records, other.turn = id, 0, 0
	other.path = filepath.Join(filepath.Dir(d.path), id+".jsonl")
	return &other
}

func (d *desk) tick() time.Time {
	*d.clock = d.clock.Add(time.Second)
	return *d.clock
}

type m = map[string]any

// write appends records to the transcript.
func (d *desk) write(records ...any) {
	d.t.Helper()
	f, err := os.OpenFile(d.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			d.t.Fatal(err)
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *desk) uuid() string {
	d.records++
	return fmt.Sprintf("%s-0000-4000-8000-%012d", d.id[:8], d.records)
}

func (d *desk) stamp() string { return d.tick().Format("2006-01-02T15:04:05.000Z") }

// claudeRecord is a Claude Code record with the fields that every one has.
func (d *desk) claudeRecord(kind string, more m) m {
	r := m{
		"type": kind, "uuid": d.uuid(), "sessionId": d.id, "cwd": "/work", "timestamp": d.stamp(),
		"version": d.version, "isSidechain": false, "userType": "external",
	}
	for k, v := range more {
		r[k] = v
	}
	return r
}

func (d *desk) codexRecord(kind string, payload m) m {
	return m{"timestamp": d.stamp(), "type": kind, "payload": payload}
}

// prompt and answer are the records of a turn.
func (d *desk) prompt() any {
	text := fmt.Sprintf("request %d", d.turn)
	if d.client == client.Codex {
		return d.codexRecord("event_msg", m{"type": "user_message", "message": text})
	}
	return d.claudeRecord("user", m{"message": m{"role": "user", "content": text}})
}

func (d *desk) answer() []any {
	text := fmt.Sprintf("answer %d", d.turn)
	if d.client == client.Codex {
		return []any{
			d.codexRecord("event_msg", m{"type": "agent_message", "message": text}),
			d.codexRecord("response_item", m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": text}}}),
		}
	}
	return []any{d.claudeRecord("assistant", m{"message": m{
		"role": "assistant", "id": "msg_" + d.uuid(), "model": "made-up", "content": []any{m{"type": "text", "text": text}},
	}})}
}

func (d *desk) boundary() any {
	if d.client == client.Codex {
		return d.codexRecord("compacted", m{"message": "a summary", "replacement_history": []any{}})
	}
	return d.claudeRecord("system", m{"subtype": "compact_boundary", "compactMetadata": m{"trigger": "manual", "preTokens": 100}})
}

// trace is the record of an injected context.
func (d *desk) trace(text string) any {
	if d.client == client.Codex {
		return d.codexRecord("response_item", m{"type": "message", "role": "developer", "content": []any{m{"type": "input_text", "text": text}}})
	}
	return d.claudeRecord("attachment", m{"attachment": m{"type": "hook_additional_context", "hookEvent": "SessionStart", "hookName": "SessionStart", "content": []any{text}}})
}

// open begins the transcript.
func (d *desk) open() {
	if d.client == client.Codex {
		d.write(d.codexRecord("session_meta", m{"id": d.id, "cwd": "/work", "cli_version": d.version}))
	}
}

// page is a captured standard output.
type page struct {
	text  string
	limit int // -1: all is taken; else so many bytes, then an error
	gone  error
}

func (p *page) Leads() error { return p.gone }

func (p *page) Write(doc []byte) (int, error) {
	n := len(doc)
	if p.limit >= 0 && n > p.limit {
		n = p.limit
	}
	p.text += string(doc[:n])
	if n < len(doc) {
		return n, errors.New("broken pipe")
	}
	return n, nil
}

func (d *desk) event(name string) hooks.Event {
	return hooks.Event{
		Client: d.client, Name: name, SessionID: d.id, TranscriptPath: d.path, CWD: "/work",
		TurnID: fmt.Sprintf("turn-%d", d.turn),
	}
}

func (d *desk) pre() Outcome {
	d.tick()
	e := d.event(hooks.PreCompact)
	e.Trigger = "manual"
	return d.b.Prepare(context.Background(), e)
}

// fire runs one of the delivering events and returns what was printed.
func (d *desk) fire(e hooks.Event) (string, Outcome) {
	d.tick()
	out := &page{limit: -1}
	o := d.b.Deliver(context.Background(), e, out)
	return contextOf(d.t, out.text), o
}

func contextOf(t testing.TB, printed string) string {
	t.Helper()
	if printed == "" {
		return ""
	}
	var doc struct {
		Out struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal([]byte(printed), &doc); err != nil {
		t.Fatalf("printed %q: %v", printed, err)
	}
	return doc.Out.Context
}

func (d *desk) start(source string) (string, Outcome) {
	e := d.event(hooks.SessionStart)
	e.Source = source
	if d.client == client.Codex {
		e.TurnID = ""
	}
	return d.fire(e)
}

func (d *desk) post() (string, Outcome) { return d.fire(d.event(hooks.PostCompact)) }

// ask is a UserPromptSubmit without the turn that follows.
func (d *desk) ask() (string, Outcome) {
	d.turn++
	return d.fire(d.event(hooks.UserPromptSubmit))
}

// talk is a whole turn: the hook, the records, the answer.
func (d *desk) talk() string {
	got, _ := d.ask()
	d.write(d.prompt())
	if got != "" {
		d.write(d.trace(got))
	}
	d.write(d.answer()...)
	return got
}

// compact is one whole compaction as the client runs it, with an undisturbed
// hook for each event; it returns what was injected into the context. For Codex
// that happens at the next turn.
func (d *desk) compact() string {
	d.pre()
	if d.client == client.Codex {
		d.write(d.boundary())
		d.post()
		return ""
	}
	got, _ := d.start(hooks.SourceCompact)
	d.post()
	d.write(d.boundary())
	if got != "" {
		d.write(d.trace(got))
	}
	return got
}

func (d *desk) states() []State {
	d.t.Helper()
	attempts, err := Attempts(d.b.Home.Session(d.client, d.id))
	if err != nil {
		d.t.Fatal(err)
	}
	var all []State
	for _, a := range attempts {
		all = append(all, a.State)
	}
	return all
}

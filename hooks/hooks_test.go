package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/internal/client"
)

const (
	claudeSession = "0f9d2f7c-1111-4222-8333-444455556666"
	claudePath    = "/home/u/.claude/projects/-home-u-work/" + claudeSession + ".jsonl"
	claudePrompt  = "5b7e0000-aaaa-4bbb-8ccc-dddddddddddd"
	codexSession  = "019ac000-0000-7000-8000-000000000001"
)

func TestDecodeRealShapes(t *testing.T) {
	for _, test := range []struct {
		file string
		want Event
	}{
		{"claude-precompact.json", Event{
			Client: client.Claude, Name: PreCompact, SessionID: claudeSession, TranscriptPath: claudePath, CWD: "/home/u/work",
			Trigger: "manual", TurnID: claudePrompt, Instructions: "keep the numbers",
		}},
		{"claude-sessionstart-compact.json", Event{
			Client: client.Claude, Name: SessionStart, SessionID: claudeSession, TranscriptPath: claudePath, CWD: "/home/u/work",
			Source: SourceCompact, TurnID: claudePrompt, Model: "claude-example-1",
		}},
		{"claude-subagent-precompact.json", Event{
			Client: client.Claude, Name: PreCompact, SessionID: claudeSession, TranscriptPath: claudePath, CWD: "/home/u/work",
			Trigger: "auto", AgentID: "a1b2c3d4", AgentType: "general-purpose",
		}},
		{"codex-precompact.json", Event{
			Client: client.Codex, Name: PreCompact, SessionID: codexSession, CWD: "/home/u/work", Trigger: "auto", Model: "gpt-5.5",
			TurnID:         "019ac000-0000-7000-8000-0000000000aa",
			TranscriptPath: "/home/u/.codex/sessions/2026/11/29/rollout-2026-11-29T10-00-00-" + codexSession + ".jsonl",
		}},
		{"codex-userpromptsubmit.json", Event{
			Client: client.Codex, Name: UserPromptSubmit, SessionID: codexSession, CWD: "/home/u/work", Model: "gpt-5.5",
			TurnID: "019ac000-0000-7000-8000-0000000000ab", PermissionMode: "default", HasPrompt: true,
		}},
	} {
		t.Run(test.file, func(t *testing.T) {
			doc, err := os.ReadFile(filepath.Join("testdata", test.file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(test.want.Client, doc)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("Decode (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeTakesAnyShapeWithoutHarm(t *testing.T) {
	for _, test := range []struct {
		name, doc string
		wantErr   error
	}{
		{"no session", `{"hook_event_name":"PreCompact"}`, ErrNoSession},
		{"blank session", `{"session_id":"  ","hook_event_name":"PreCompact"}`, ErrNoSession},
		{"session of a wrong type", `{"session_id":7,"hook_event_name":["PreCompact"]}`, ErrNoSession},
		{"everything of a wrong type", `{"session_id":"s","hook_event_name":1,"transcript_path":{},"cwd":[],"source":true,"trigger":null,"prompt":[1]}`, nil},
		{"unknown fields", `{"session_id":"s","hook_event_name":"Stop","new":{"deep":[{"session_id":"x"}]}}`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			e, err := Decode(client.Claude, []byte(test.doc))
			if !errors.Is(err, test.wantErr) {
				t.Fatalf("error %v, want %v", err, test.wantErr)
			}
			if err == nil && e.SessionID != "s" {
				t.Errorf("session %q, want s", e.SessionID)
			}
			if e.TranscriptPath != "" || e.CWD != "" || e.Source != "" {
				t.Errorf("a field of a wrong type was taken: %+v", e)
			}
		})
	}
	if _, err := Decode(client.Claude, []byte(`{"session_id":"s",}`)); err == nil {
		t.Error("broken JSON was taken")
	}
}

func TestPromptThatTheClientWroteIsKnown(t *testing.T) {
	for prompt, want := range map[string]bool{
		"<task-notification>\n<task-id>b1</task-id>": true,
		"what does <task-notification> mean?":        false,
		"":                                           false,
	} {
		doc, err := json.Marshal(map[string]string{"session_id": "s", "hook_event_name": UserPromptSubmit, "prompt": prompt})
		if err != nil {
			t.Fatal(err)
		}
		e, err := Decode(client.Claude, doc)
		if err != nil {
			t.Fatal(err)
		}
		if e.ClientPrompt != want {
			t.Errorf("prompt %q: written by the client %v, want %v", prompt, e.ClientPrompt, want)
		}
	}
}

func TestReadDocumentDoesNotWaitForEndOfFile(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	go w.Write([]byte("\n {\"a\":\"}\\\"{\",\"b\":[{}]} trailing"))
	doc, err := ReadDocument(r, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"}\"{","b":[{}]}`; string(doc) != want {
		t.Errorf("document %q, want %q", doc, want)
	}
}

func TestReadDocumentGivesUp(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	if _, err := ReadDocument(r, time.Millisecond); !errors.Is(err, ErrTimeOut) {
		t.Errorf("held open: %v, want %v", err, ErrTimeOut)
	}
	for _, test := range []struct {
		name string
		in   io.Reader
		want error
	}{
		{"empty", strings.NewReader(""), ErrNoDocument},
		{"blank", strings.NewReader(" \n\t"), ErrNoDocument},
		{"null", strings.NewReader("null"), ErrNotObject},
		{"array", strings.NewReader("[]"), ErrNotObject},
		{"truncated", strings.NewReader(`{"session_id":"s"`), io.ErrUnexpectedEOF},
		{"binary", bytes.NewReader([]byte{0, 1, 2, 0xff}), ErrNotObject},
		{"too long", io.MultiReader(strings.NewReader(`{"a":"`), endless{}), ErrTooLong},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := ReadDocument(test.in, time.Minute); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzReadDocument(f *testing.F) {
	f.Add([]byte(`{"a":1}`))
	f.Add([]byte(` {"a":"\\\"}"}x`))
	f.Add([]byte(`{"a":[}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := readObject(bytes.NewReader(in))
		piecewise, err2 := readObject(iotest.OneByteReader(bytes.NewReader(in)))
		if (err == nil) != (err2 == nil) || !bytes.Equal(whole, piecewise) {
			t.Fatalf("at once %q %v, byte by byte %q %v", whole, err, piecewise, err2)
		}
		if err == nil && json.Valid(in) && !json.Valid(whole) {
			t.Fatalf("valid input %q gave %q", in, whole)
		}
		if err == nil {
			Decode(client.Codex, whole)
		}
	})
}

func TestOnlyEventsThatTakeContextHaveADoor(t *testing.T) {
	for event, want := range map[string]bool{
		SessionStart: true, UserPromptSubmit: true,
		PreCompact: false, PostCompact: false, "Stop": false, "": false,
	} {
		if _, ok := (Event{Name: event}).Door(); ok != want {
			t.Errorf("%q: door %v, want %v", event, ok, want)
		}
	}
	if !(Door{}).Inject("x").Silent() {
		t.Error("a door that nobody opened injects")
	}
}

// codexKeys are the top-level keys that Codex accepts for both events; another
// one makes the whole output invalid (seen on 0.171.0).
var codexKeys = map[string]bool{"continue": true, "stopReason": true, "suppressOutput": true, "systemMessage": true, "hookSpecificOutput": true}

func FuzzReply(f *testing.F) {
	f.Add("plain")
	f.Add("<a> & \"b\" \\ \u2028 \x00 \x7f 漢字 🎈 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		door, _ := Event{Name: SessionStart}.Door()
		for _, r := range []Reply{door.Inject(text), Notice(text)} {
			if strings.TrimSpace(text) == "" {
				if !r.Silent() {
					t.Fatalf("blank text gave %q", r.Bytes())
				}
				continue
			}
			var got map[string]any
			if err := json.Unmarshal(r.Bytes(), &got); err != nil {
				t.Fatalf("%q: %v", r.Bytes(), err)
			}
			for key := range got {
				if !codexKeys[key] {
					t.Fatalf("key %q isn't accepted", key)
				}
			}
			want := strings.ToValidUTF8(text, "\ufffd")
			back, _ := got["systemMessage"].(string)
			if out, ok := got["hookSpecificOutput"].(map[string]any); ok {
				back, _ = out["additionalContext"].(string)
				if out["hookEventName"] != SessionStart || len(out) != 2 {
					t.Fatalf("output %v", out)
				}
			}
			if utf8.ValidString(text) && back != want {
				t.Fatalf("text %q came back as %q", text, back)
			}
		}
	})
}

func TestTableKnowsWhatVersionsProve(t *testing.T) {
	oldClaude := Ability{Since: "0", RunsHooks: true, KnowsTrace: true, ForkSource: SourceResume}
	forkClaude := Ability{Since: "2.1.214", RunsHooks: true, KnowsTrace: true, ForkSource: SourceFork}
	newClaude := Ability{Since: "2.1.324", RunsHooks: true, KnowsTrace: true, ForkSource: SourceFork, MarksSubagents: true}
	oldCodex := Ability{Since: "0.133.0", RunsHooks: true, MarksSubagents: true, PostFirst: true, KnowsTrace: true, ForkSource: SourceStartup}
	newCodex := Ability{Since: "0.171.0", RunsHooks: true, MarksSubagents: true, PostFirst: true, KnowsTrace: true, ForkSource: SourceFork}
	for _, test := range []struct {
		c       client.Client
		version string
		want    Ability
	}{
		{client.Claude, "2.1.197", oldClaude},
		{client.Claude, "2.1.213", oldClaude},
		{client.Claude, "2.1.214", forkClaude},
		{client.Claude, "2.1.322", forkClaude},
		{client.Claude, "2.1.332", newClaude},
		{client.Claude, "3.0.0", newClaude},
		{client.Claude, "", newClaude},
		{client.Codex, "0.132.0", Ability{Since: "0", MarksSubagents: true, PostFirst: true, ForkSource: SourceStartup}},
		{client.Codex, "0.133.0", oldCodex},
		{client.Codex, "0.139.0", oldCodex},
		{client.Codex, "0.171.0", newCodex},
	} {
		if diff := cmp.Diff(test.want, Can(test.c, test.version)); diff != "" {
			t.Errorf("%s %q (-want +got):\n%s", test.c, test.version, diff)
		}
	}
}

func TestVersionComesFromTheHooksOwnVariable(t *testing.T) {
	env := func(v string) func(string) string {
		return func(name string) string {
			if name == "AI_AGENT" {
				return v
			}
			return ""
		}
	}
	for value, want := range map[string]string{
		"claude-code_2-1-332_harness": "2.1.332",
		"claude-code_2-1-197_harness": "2.1.197",
		"claude-code_x_harness":       "",
		"something-else_1-2-3":        "",
		"":                            "",
	} {
		if got := VersionFromEnv(client.Claude, env(value)); got != want {
			t.Errorf("%q: version %q, want %q", value, got, want)
		}
	}
	if got := VersionFromEnv(client.Codex, env("claude-code_2-1-332_harness")); got != "" {
		t.Errorf("Codex inside Claude Code took its version %q", got)
	}
}

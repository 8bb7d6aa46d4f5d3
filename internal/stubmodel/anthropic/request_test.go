package anthropic_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// compacted is shaped like the first request after a compaction: a summary, an
// old answer, local command texts, the new prompt, and contexts of hooks joined
// into one system message.
const compacted = `{
  "model": "m-1", "stream": true,
  "metadata": {"user_id": "{\"device_id\":\"d\",\"session_id\":\"11111111-2222-3333-4444-555555555555\"}"},
  "system": [
    {"type": "text", "text": "x-anthropic-billing-header: cc_version=0.0.0; cc_entrypoint=sdk-cli;"},
    {"type": "text", "text": "Be an agent."},
    {"type": "text", "text": "Be good."}
  ],
  "tools": [{"name": "Read"}, {"name": "Write"}],
  "messages": [
    {"role": "user", "content": "This session is being continued. NONCE"},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "think NONCE", "signature": "x"},
      {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/p/NONCE"}}
    ]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two NONCE"}]}
    ]},
    {"role": "user", "content": [
      {"type": "text", "text": "<local-command-stdout>Compacted</local-command-stdout>"},
      {"type": "text", "text": "go on"},
      {"type": "text", "text": "<system-reminder>\nhush\n</system-reminder>"}
    ]},
    {"role": "system", "content": "SessionStart hook additional context: first line\nsecond line\n\nUserPromptSubmit hook additional context: other\n\nSome section of the client's own."}
  ]
}`

func TestParseReadsWhatATestAsksFor(t *testing.T) {
	req := parse(compacted)
	if req.Kind != anthropic.Main || req.OfSubagent || !req.Stream || req.Model != "m-1" {
		t.Errorf("kind %s, subagent %v, stream %v, model %s", req.Kind, req.OfSubagent, req.Stream, req.Model)
	}
	if req.SessionID != "11111111-2222-3333-4444-555555555555" || req.System != "Be an agent.\n\nBe good." {
		t.Errorf("session %q, system %q", req.SessionID, req.System)
	}
	if diff := cmp.Diff([]string{"Read", "Write"}, req.Tools); diff != "" {
		t.Error(diff)
	}
	if got := req.Prompt(); got != "go on" {
		t.Errorf("prompt %q: reminders are not what a person said", got)
	}
	if got := anthropic.Occurrences(req, "NONCE"); got != 4 {
		t.Errorf("the nonce stands in it %d times, want 4: summary, thinking, call, result", got)
	}
	want := []anthropic.Part{{Type: "tool_result", Text: "one\ntwo NONCE", ID: "toolu_1", Failed: true}}
	if diff := cmp.Diff(want, anthropic.Results(req)); diff != "" {
		t.Error(diff)
	}
}

func TestContextsOfHooksAreFoundOneByOne(t *testing.T) {
	want := []anthropic.Context{
		{Event: "SessionStart", Text: "first line\nsecond line\n", Role: "system", Index: 4},
		{Event: "UserPromptSubmit", Text: "other\n\nSome section of the client's own.", Role: "system", Index: 4},
	}
	if diff := cmp.Diff(want, anthropic.Contexts(parse(compacted))); diff != "" {
		t.Error(diff)
	}
	quoted := `{"messages":[{"role":"user","content":"he wrote: SessionStart hook additional context: no"}]}`
	if got := anthropic.Contexts(parse(quoted)); len(got) != 0 {
		t.Errorf("words of a person were taken for a context: %v", got)
	}
}

func TestAResultIsFoundByItsCallInWhicheverOrderItCame(t *testing.T) {
	req := parse(`{"messages":[
		{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"file_path":"/one"}},{"type":"tool_use","id":"b","name":"Read","input":{"file_path":"/two"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"second"},{"type":"tool_result","tool_use_id":"a","content":"first"}]}]}`)
	reads := func(path string) func(anthropic.Part) bool {
		return func(call anthropic.Part) bool { return strings.Contains(string(call.Input), path) }
	}
	for path, want := range map[string]string{"/one": "first", "/two": "second"} {
		if got, ok := anthropic.ResultOf(req, reads(path)); !ok || got.Text != want {
			t.Errorf("the result of reading %s: %q, %v, want %q", path, got.Text, ok, want)
		}
	}
	if got, ok := anthropic.ResultOf(req, reads("/three")); ok {
		t.Errorf("a result without a call: %v", got)
	}
}

func TestKindsAreToldApart(t *testing.T) {
	const (
		summing = `{"role":"user","content":[{"type":"text","text":"old"},{"type":"text","text":"CRITICAL. Your task is to create a detailed summary of the conversation so far"}]},{"role":"system","content":"x"}`
		sub     = `"system":[{"type":"text","text":"x-anthropic-billing-header: a; cc_is_subagent=true;"}],`
	)
	for _, test := range []struct {
		name, method, path, body string
		want                     anthropic.Kind
		sub                      bool
	}{
		{"a turn", "POST", "/v1/messages?beta=true", `{"messages":[{"role":"user","content":"hi"}]}`, anthropic.Main, false},
		{"a subagent's turn", "POST", "/v1/messages", `{` + sub + `"messages":[]}`, anthropic.Subagent, true},
		{"a summary", "POST", "/v1/messages", `{"messages":[` + summing + `]}`, anthropic.Summary, false},
		{"a subagent's summary", "POST", "/v1/messages", `{` + sub + `"messages":[` + summing + `]}`, anthropic.Summary, true},
		{"talk of a summary, long ago", "POST", "/v1/messages", `{"messages":[` + summing + `,{"role":"user","content":"go on"}]}`, anthropic.Main, false},
		{"a title", "POST", "/v1/messages", `{"tools":[],"output_config":{"format":{"type":"json_schema"}},"messages":[{"role":"user","content":"<session>hi</session> Write the title"}]}`, anthropic.Aside, false},
		{"a turn by a schema", "POST", "/v1/messages", `{"tools":[{"name":"Read"}],"output_config":{"format":{"type":"json_schema"}},"messages":[{"role":"user","content":"hi"}]}`, anthropic.Main, false},
		{"a count", "POST", "/v1/messages/count_tokens", `{}`, anthropic.Count, false},
		{"a look", "HEAD", "/", ``, anthropic.Other, false},
	} {
		req := anthropic.Parse(stubmodel.Request{Method: test.method, Path: test.path, Body: []byte(test.body)})
		if req.Kind != test.want || req.OfSubagent != test.sub || req.Malformed {
			t.Errorf("%s: kind %s, subagent %v, malformed %v", test.name, req.Kind, req.OfSubagent, req.Malformed)
		}
	}
}

func TestSessionIDOfOlderClients(t *testing.T) {
	req := parse(`{"metadata":{"user_id":"user_ab_account__session_1234"}}`)
	if req.SessionID != "1234" {
		t.Errorf("session %q", req.SessionID)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(compacted))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"messages":{"role":1},"system":7,"tools":[[]],"metadata":{"user_id":"{"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req := anthropic.Parse(stubmodel.Request{Method: http.MethodPost, Path: "/v1/messages", Body: body})
		anthropic.Contexts(req)
		anthropic.Occurrences(req, "x")
		if req.Malformed && len(req.Messages) > 0 {
			t.Error("a body that isn't an object gave messages")
		}
	})
}

func parse(body string) anthropic.Request {
	return anthropic.Parse(stubmodel.Request{Method: http.MethodPost, Path: "/v1/messages", Body: []byte(body)})
}

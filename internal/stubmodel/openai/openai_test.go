package openai_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

const checkpoint = "You are performing a CONTEXT CHECKPOINT COMPACTION. Write a handover."

func TestRequestsAreKnownByWhatTheyAskFor(t *testing.T) {
	for _, test := range []struct {
		name, method, path, body string
		kind                     openai.Kind
		mechanism                openai.Mechanism
	}{
		{"a turn", "POST", "/v1/responses", `{"input":[{"role":"user","content":"hello"}]}`, openai.Turn, ""},
		{"a turn with a query", "POST", "/v1/responses?x=1", `{"input":"hello"}`, openai.Turn, ""},
		{"a summary asked for", "POST", "/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"` + checkpoint + `"}]}]}`, openai.Compaction, openai.Local},
		{
			"a person who quotes it, one turn ago", "POST", "/v1/responses",
			`{"input":[{"role":"user","content":"` + checkpoint + `"},{"role":"assistant","content":"no"},{"role":"user","content":"why not?"}]}`,
			openai.Turn, "",
		},
		{"a trigger", "POST", "/v1/responses", `{"input":[{"role":"user","content":"hello"},{"type":"compaction_trigger"}]}`, openai.Compaction, openai.RemoteV2},
		{"the endpoint", "POST", "/v1/responses/compact", `{"input":[]}`, openai.Compaction, openai.RemoteV1},
		{"the model list", "GET", "/v1/models", ``, openai.Other, ""},
		{"not JSON", "POST", "/v1/responses", "\xff{", openai.Turn, ""},
		{"another API", "POST", "/v1/messages", `{}`, openai.Other, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := openai.Read(stubmodel.Request{Method: test.method, Path: test.path, Body: []byte(test.body)})
			if got.Kind != test.kind || got.Mechanism != test.mechanism {
				t.Errorf("got %q %q, want %q %q", got.Kind, got.Mechanism, test.kind, test.mechanism)
			}
		})
	}
}

func TestARequestTellsItsMessagesAndResults(t *testing.T) {
	r := openai.Read(stubmodel.Request{Method: "POST", Path: "/v1/responses", Body: []byte(`{
		"prompt_cache_key": "thread-1",
		"input": [
			{"type":"message","role":"developer","content":[{"type":"input_text","text":"one nonce"},{"type":"input_text","text":", two nonce"}]},
			{"type":"message","role":"user","content":"nonce"},
			{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c"},
			{"type":"function_call_output","call_id":"c","output":"ran"},
			{"type":"custom_tool_call_output","call_id":"d","output":[{"type":"text","text":"pat"},{"type":"text","text":"ched"}]}
		]}`)})
	if r.Thread != "thread-1" {
		t.Errorf("thread %q", r.Thread)
	}
	if got := r.Count("nonce"); got != 3 {
		t.Errorf("counted %d, want 3", got)
	}
	if diff := cmp.Diff([]openai.Message{{Role: "developer", Text: "one nonce, two nonce"}}, r.Holding("two")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"nonce"}, r.Texts("user")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"ran", "patched"}, r.Outputs()); diff != "" {
		t.Error(diff)
	}
}

func TestATurnIsStreamedToItsCompletion(t *testing.T) {
	var scenes openai.Scenes
	scenes.On("hello", stubmodel.Reply{
		Text:  "on it",
		Calls: []stubmodel.Call{openai.Shell("make test")},
		Usage: stubmodel.Usage{Input: 900, Output: 9},
	})
	s := serve(t, scenes.Reply)

	events := stream(t, s, `{"stream":true,"tools":[{"type":"function","name":"exec_command"}],"input":[{"role":"user","content":"hello"}]}`)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Get("type").String())
	}
	want := []string{
		"response.created",
		"response.output_item.added", "response.output_item.done",
		"response.output_item.added", "response.output_item.done",
		"response.completed",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Fatal(diff)
	}
	if got := events[2].Get("item.content.0.text").String(); got != "on it" {
		t.Errorf("text %q", got)
	}
	call := events[4].Get("item")
	if call.Get("name").String() != "exec_command" || call.Get("arguments").String() != `{"cmd":"make test"}` {
		t.Errorf("call %s", call)
	}
	if got := events[5].Get("response.usage.total_tokens").Int(); got != 909 {
		t.Errorf("usage %d, want 909", got)
	}
}

func TestACallTakesTheFormThatTheRequestOffers(t *testing.T) {
	for _, test := range []struct {
		name  string
		call  stubmodel.Call
		tools string
		want  string // a path into the item, and what stands there
		value string
	}{
		{"exec_command", openai.Shell("ls"), `[{"type":"function","name":"exec_command"}]`, "arguments", `{"cmd":"ls"}`},
		{"shell_command", openai.Shell("ls"), `[{"type":"function","name":"shell_command"}]`, "arguments", `{"command":"ls"}`},
		{"shell", openai.Shell("ls"), `[{"type":"function","name":"shell"}]`, "arguments", `{"command":["bash","-lc","ls"]}`},
		{"freeform patch", openai.AddFile("a", "b"), `[{"type":"custom","name":"apply_patch"}]`, "input", "*** Begin Patch\n*** Add File: a\n+b\n*** End Patch"},
		{"patch function", openai.UpdateFile("a", "b", "c"), `[{"type":"function","name":"apply_patch"}]`, "arguments", `{"input":"*** Begin Patch\n*** Update File: a\n@@\n-b\n+c\n*** End Patch"}`},
		{"patch in a shell", openai.Patch("P"), `[{"type":"function","name":"exec_command"}]`, "arguments", `{"cmd":"apply_patch \u003c\u003c'END_OF_PATCH'\nP\nEND_OF_PATCH\n"}`},
		{"plan", openai.Plan("why", openai.Step{Step: "one", Status: "pending"}), `[]`, "arguments", `{"explanation":"why","plan":[{"step":"one","status":"pending"}]}`},
		{"deferred subagent", openai.Spawn("dig"), `[]`, "namespace", "multi_agent_v1"},
		{"subagent in a namespace", openai.Spawn("dig"), `[{"type":"namespace","name":"agents","tools":[{"type":"function","name":"spawn_agent"}]}]`, "namespace", "agents"},
		{"subagent at the top", openai.Spawn("dig"), `[{"type":"function","name":"spawn_agent"}]`, "namespace", ""},
		{"raw arguments", stubmodel.Call{Name: "x", Input: `{"a": 1}`}, `[]`, "arguments", `{"a": 1}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, func(context.Context, openai.Request) stubmodel.Reply {
				return stubmodel.Reply{Calls: []stubmodel.Call{test.call}}
			})
			events := stream(t, s, `{"stream":true,"tools":`+test.tools+`,"input":[]}`)
			if got := events[2].Get("item." + test.want).String(); got != test.value {
				t.Errorf("%s: got %q, want %q", test.want, got, test.value)
			}
		})
	}
}

func TestEachMechanismOfCompactionGetsItsForm(t *testing.T) {
	var scenes openai.Scenes
	scenes.OnCompaction(stubmodel.Text("what happened"))
	s := serve(t, scenes.Reply)

	local := stream(t, s, `{"stream":true,"input":[{"role":"user","content":"`+checkpoint+`"}]}`)
	if got := local[2].Get("item.content.0.text").String(); got != "what happened" {
		t.Errorf("summary %q", got)
	}
	v2 := stream(t, s, `{"stream":true,"input":[{"type":"compaction_trigger"}]}`)
	if got := v2[2].Get("item"); got.Get("type").String() != "compaction" || got.Get("encrypted_content").String() == "" {
		t.Errorf("item %s", got)
	}
	status, v1 := post(t, s, "/responses/compact", `{"input":[{"role":"user","content":"kept"},{"role":"assistant","content":"gone"}]}`)
	if status != http.StatusOK || gjson.Get(v1, "output.#").Int() != 2 ||
		gjson.Get(v1, "output.0.content").String() != "kept" || gjson.Get(v1, "output.1.type").String() != "compaction" {
		t.Errorf("%d %s", status, v1)
	}
}

func TestAScriptMayFailCompactionsAlone(t *testing.T) {
	var scenes openai.Scenes
	scenes.OnCompaction(stubmodel.Text("first"), stubmodel.Fail(500, "no second one"))
	s := serve(t, scenes.Reply)
	compact := `{"input":[{"role":"user","content":"` + checkpoint + `"}]}`
	for n, want := range []int{200, 500, 200} {
		if status, body := post(t, s, "/responses", compact); status != want {
			t.Errorf("compaction %d: %d %s, want %d", n+1, status, body, want)
		}
	}
	if status, _ := post(t, s, "/responses", `{"input":"hello"}`); status != http.StatusOK {
		t.Errorf("a turn: %d", status)
	}
}

func TestAPromptKeepsItsPlaceThroughACompactionInMidTurn(t *testing.T) {
	var scenes openai.Scenes
	scenes.On("long task", stubmodel.Reply{Text: "step 1"}, stubmodel.Reply{Text: "step 2"})
	scenes.On("other task", stubmodel.Reply{Text: "other"})
	s := serve(t, scenes.Reply)

	say := func(input string) string {
		_, body := post(t, s, "/responses", `{"input":[`+input+`]}`)
		return gjson.Get(body, "output.0.content.0.text").String()
	}
	if got := say(`{"role":"user","content":"a long task"}`); got != "step 1" {
		t.Errorf("before: %q", got)
	}
	if got := say(`{"role":"user","content":"the other task"}`); got != "other" {
		t.Errorf("another session: %q", got)
	}
	if got := say(`{"role":"user","content":"a long task"},{"role":"user","content":"Another language model made this summary"}`); got != "step 2" {
		t.Errorf("after: %q", got)
	}
	if got := say(`{"role":"user","content":"a long task"}`); got != "stub turn 4" {
		t.Errorf("used up: %q", got)
	}
}

func TestAReplyMayDependOnWhatTheRequestHolds(t *testing.T) {
	var scenes openai.Scenes
	scenes.Do("read it", func(r openai.Request) stubmodel.Reply { return stubmodel.Text("it says %d times x", r.Count("x")) })
	s := serve(t, scenes.Reply)
	_, body := post(t, s, "/responses", `{"input":[{"role":"developer","content":"xx"},{"role":"user","content":"read it"}]}`)
	if got := gjson.Get(body, "output.0.content.0.text").String(); got != "it says 2 times x" {
		t.Errorf("got %q", got)
	}
}

func TestAWebSocketIsRefusedSoThatTheClientFallsBackAtOnce(t *testing.T) {
	s := serve(t, nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL()+"/responses", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Connection", "Upgrade")
	request.Header.Set("Upgrade", "websocket")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("status %d, want 426", response.StatusCode)
	}
}

func TestTheModelListIsEmptyAndTheRestUnknown(t *testing.T) {
	s := serve(t, nil)
	response, err := http.Get(s.BaseURL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || gjson.GetBytes(body, "models.#").Int() != 0 {
		t.Errorf("models: %d %s %v", response.StatusCode, body, err)
	}
	if status, _ := post(t, s, "/embeddings", `{}`); status != http.StatusNotFound {
		t.Errorf("another path: %d, want 404", status)
	}
}

func TestTheLogHoldsARequestBeforeItsAnswer(t *testing.T) {
	open := make(chan struct{})
	s := serve(t, func(ctx context.Context, _ openai.Request) stubmodel.Reply {
		select {
		case <-open:
		case <-ctx.Done():
		}
		return stubmodel.Reply{}
	})
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		post(t, s, "/responses", `{"input":"slow"}`)
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := s.Log.Wait(ctx, func(r openai.Request) bool { return r.Count("slow") == 1 }); err != nil {
		t.Fatal(err)
	}
	close(open)
	<-answered
}

func FuzzRead(f *testing.F) {
	f.Add("POST", "/v1/responses", []byte(`{"input":[{"role":"user","content":[{"text":"x"}]},{"type":"compaction_trigger"}],"tools":[{"name":"a","tools":[{"name":"b"}]}]}`))
	f.Add("POST", "/v1/responses/compact", []byte(`{"input":{"role":1}}`))
	f.Add("GET", "/v1/models", []byte(nil))
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		r := openai.Read(stubmodel.Request{Method: method, Path: path, Body: body})
		if (r.Kind == openai.Compaction) != (r.Mechanism != "") {
			t.Errorf("kind %q with mechanism %q", r.Kind, r.Mechanism)
		}
		r.Outputs()
		r.Tools()
		r.Count("x")
	})
}

func serve(t *testing.T, script openai.Script) *openai.Server {
	t.Helper()
	s, err := openai.Serve(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func post(t *testing.T, s *openai.Server, path, body string) (int, string) {
	t.Helper()
	response, err := http.Post(s.BaseURL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return response.StatusCode, string(got)
}

// stream posts a request and reads its events.
func stream(t *testing.T, s *openai.Server, body string) []gjson.Result {
	t.Helper()
	status, got := post(t, s, "/responses", body)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, got)
	}
	var events []gjson.Result
	for block := range strings.SplitSeq(strings.TrimSpace(got), "\n\n") {
		name, data, ok := strings.Cut(block, "\ndata: ")
		if !ok || !json.Valid([]byte(data)) {
			t.Fatalf("not an event: %q", block)
		}
		event := gjson.Parse(string(bytes.TrimSpace([]byte(data))))
		if name != "event: "+event.Get("type").String() {
			t.Fatalf("%q doesn't name %q", name, event.Get("type").String())
		}
		events = append(events, event)
	}
	return events
}

package anthropic_test

import (
	"bufio"
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
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

func TestAStreamedAnswerHasEveryBlockOfTheReply(t *testing.T) {
	stub := start(t, func(anthropic.Request) stubmodel.Reply {
		reply := stubmodel.UseTools(anthropic.Write("/p/a.txt", "1\n"), stubmodel.Call{ID: "toolu_own", Name: "Bash", Input: `{"command":"ls"}`})
		reply.Thinking, reply.Text = "hm", "two calls"
		reply.Usage = stubmodel.Usage{Input: 99000, CacheRead: 7, Output: 3}
		return reply
	})
	events := stream(t, stub, `{"model":"m-1","stream":true,"messages":[{"role":"user","content":"go"}]}`)

	var names []string
	for _, event := range events {
		names = append(names, event.Get("type").String())
	}
	want := []string{
		"message_start",
		"content_block_start", "content_block_delta", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_stop",
		"content_block_start", "content_block_delta", "content_block_stop",
		"message_delta", "message_stop",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Fatalf("events (-want +got):\n%s", diff)
	}
	for path, want := range map[string]string{
		"0.message.model":                         "m-1",
		"0.message.usage.input_tokens":            "99000",
		"0.message.usage.cache_read_input_tokens": "7",
		"2.delta.thinking":                        "hm",
		"6.delta.text":                            "two calls",
		"8.content_block.name":                    "Write",
		"9.delta.partial_json":                    `{"content":"1\n","file_path":"/p/a.txt"}`,
		"11.content_block.id":                     "toolu_own",
		"12.delta.partial_json":                   `{"command":"ls"}`,
		"14.delta.stop_reason":                    "tool_use",
		"14.usage.output_tokens":                  "3",
	} {
		n, rest, _ := strings.Cut(path, ".")
		if got := events[atoi(t, n)].Get(rest).String(); got != want {
			t.Errorf("event %s = %q, want %q", path, got, want)
		}
	}
}

func TestAWholeAnswerSaysTheSame(t *testing.T) {
	stub := start(t, func(anthropic.Request) stubmodel.Reply {
		reply := stubmodel.UseTools(anthropic.Bash("ls"))
		reply.Thinking = "hm"
		return reply
	})
	status, body := post(t, stub, "/v1/messages", `{"model":"m-1","messages":[{"role":"user","content":"go"}]}`)
	if status != http.StatusOK || body.Get("stop_reason").String() != "tool_use" ||
		body.Get("content.#").Int() != 2 || body.Get("content.1.input.command").String() != "ls" ||
		body.Get("usage.input_tokens").Int() < 10 {
		t.Errorf("status %d, %s", status, body.Raw)
	}
}

func TestFailuresHaveAStatusAndAnErrorTypeTheClientKnows(t *testing.T) {
	for status, kind := range map[int]string{529: "overloaded_error", 500: "api_error", 429: "rate_limit_error", 400: "invalid_request_error"} {
		stub := start(t, func(anthropic.Request) stubmodel.Reply { return stubmodel.Fail(status, "no") })
		got, body := post(t, stub, "/v1/messages?beta=true", `{"messages":[]}`)
		if got != status || body.Get("error.type").String() != kind || body.Get("error.message").String() != "no" {
			t.Errorf("%d: status %d, %s", status, got, body.Raw)
		}
	}
}

func TestAHangingAnswerEndsWithTheClient(t *testing.T) {
	stub := start(t, func(anthropic.Request) stubmodel.Reply { return stubmodel.Reply{Hang: true} })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		request, _ := http.NewRequestWithContext(ctx, http.MethodPost, stub.URL()+"/v1/messages", strings.NewReader(`{}`))
		_, err := http.DefaultClient.Do(request)
		ended <- err
	}()
	wait, done := context.WithTimeout(t.Context(), 10*time.Second)
	defer done()
	if _, err := stub.Wait(wait, func(r anthropic.Request) bool { return r.Kind == anthropic.Main }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a hanging request was answered")
	}
}

func TestWhatIsNoTurnIsAnsweredWithoutTheScript(t *testing.T) {
	stub := start(t, func(anthropic.Request) stubmodel.Reply {
		t.Error("the script was asked for something that isn't a turn")
		return stubmodel.Reply{}
	})
	if status, body := post(t, stub, "/v1/messages/count_tokens?beta=true", `{"messages":[]}`); status != 200 || body.Get("input_tokens").Int() < 1 {
		t.Errorf("count_tokens: %d %s", status, body.Raw)
	}
	const title = `{"output_config":{"format":{"type":"json_schema"}},"messages":[{"role":"user","content":"Write the title"}]}`
	if status, body := post(t, stub, "/v1/messages", title); status != 200 || gjson.Get(body.Get("content.0.text").String(), "title").String() == "" {
		t.Errorf("a title: %d %s", status, body.Raw)
	}
	if status, _ := post(t, stub, "/api/event_logging", `{}`); status != 404 {
		t.Errorf("another path: %d, want 404", status)
	}
	response, err := http.Head(stub.URL() + "/")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != 200 {
		t.Errorf("HEAD: %d, %v", response.StatusCode, err)
	}
	if got := len(stub.Of(anthropic.Other)); got != 2 {
		t.Errorf("%d other requests were kept, want 2", got)
	}
}

func TestABookGoesThroughToolResultsACompactionAndASecondSession(t *testing.T) {
	book := anthropic.NewBook().
		Turn("write it", stubmodel.Fail(529, "busy"), stubmodel.UseTool("Write", nil), stubmodel.Text("written")).
		Turn("next", stubmodel.Text("second turn")).
		Subagents(stubmodel.Text("sub 1"), stubmodel.Text("sub 2")).
		Summaries(stubmodel.Text("the summary"))
	stub := start(t, book.Script)
	ask := func(session, system, messages string) string {
		body := `{"metadata":{"user_id":"{\"session_id\":\"` + session + `\"}"},"system":[{"type":"text","text":"` + system + `"}],"messages":[` + messages + `]}`
		status, answer := post(t, stub, "/v1/messages", body)
		if status != 200 {
			return answer.Get("error.message").String()
		}
		return answer.Get("content.0.text").String() + answer.Get("content.0.name").String()
	}
	const (
		mine     = "x-anthropic-billing-header: v;"
		subs     = "x-anthropic-billing-header: v; cc_is_subagent=true;"
		prompt   = `{"role":"user","content":"write it"}`
		reminder = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"},{"type":"text","text":"<system-reminder>next</system-reminder>"}]}`
		summing  = `{"role":"user","content":"Your task is to create a detailed summary of the conversation so far"}`
		summed   = `{"role":"user","content":"This session is being continued. the summary"}`
		later    = `{"role":"user","content":[{"type":"text","text":"next"}]},{"role":"system","content":"x"}`
	)
	for _, step := range []struct{ name, session, system, messages, want string }{
		{"a failure", "A", mine, prompt, "busy"},
		{"the retry", "A", mine, prompt, "Write"},
		{"another session begins", "B", mine, prompt, "busy"},
		{"its subagent", "A", subs, prompt, "sub 1"},
		{"its subagent again", "A", subs, prompt, "sub 2"},
		{"the last reply stays", "A", subs, prompt, "sub 2"},
		{"a subagent's summary", "A", subs, summing, "the summary"},
		{"the main session's summary", "A", mine, summing, "the summary"},
		{"after the compaction", "A", mine, summed, "written"},
		{"used up, and a reminder is no prompt", "A", mine, prompt + "," + reminder, "ok"},
		{"the next turn", "A", mine, prompt + "," + later, "second turn"},
	} {
		if got := ask(step.session, step.system, step.messages); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
}

func start(t *testing.T, script anthropic.Script) *anthropic.Stub {
	t.Helper()
	stub, err := anthropic.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stub.Close() })
	return stub
}

func send(t *testing.T, stub *anthropic.Stub, path, body string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, stub.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func post(t *testing.T, stub *anthropic.Stub, path, body string) (int, gjson.Result) {
	t.Helper()
	response := send(t, stub, path, body)
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, gjson.ParseBytes(answer)
}

// stream reads the events' data, and checks that each has its own name.
func stream(t *testing.T, stub *anthropic.Stub, body string) []gjson.Result {
	t.Helper()
	response := send(t, stub, "/v1/messages?beta=true", body)
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %q", got)
	}
	var events []gjson.Result
	var name string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if event, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			name = event
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			event := gjson.Parse(data)
			if event.Get("type").String() != name {
				t.Errorf("event %q carries type %q", name, event.Get("type").String())
			}
			events = append(events, event)
		}
	}
	return events
}

func atoi(t *testing.T, digits string) int {
	t.Helper()
	var n int
	if err := json.Unmarshal([]byte(digits), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

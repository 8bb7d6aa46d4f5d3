package openai

import (
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// Kind says what a request is for.
type Kind string

// The kinds of requests.
const (
	Turn       Kind = "turn"       // a model request of a turn
	Compaction Kind = "compaction" // shortens the context, by any mechanism
	Other      Kind = "other"      // the model list, a WebSocket upgrade, an unknown path
)

// Mechanism says how a compaction was asked for.
type Mechanism string

// The mechanisms of Codex.
const (
	// Local is an ordinary request whose newest item is a user message that
	// asks for a summary: every provider that isn't named OpenAI.
	Local Mechanism = "local"
	// RemoteV1 is POST .../responses/compact: a provider named OpenAI on
	// 0.133.0 and 0.139.0.
	RemoteV1 Mechanism = "remote-v1"
	// RemoteV2 is an ordinary request whose newest item is a
	// compaction_trigger: a provider named OpenAI on 0.171.0.
	RemoteV2 Mechanism = "remote-v2"
)

// checkpointPrompt begins the user message with which Codex asks for a summary.
const checkpointPrompt = "You are performing a CONTEXT CHECKPOINT COMPACTION"

// Message is one message of a request's input, its text parts joined.
type Message struct {
	Role string // "developer", "user" or "assistant"
	Text string
}

// Request is one request that a client made.
type Request struct {
	stubmodel.Request
	Kind      Kind
	Mechanism Mechanism // of a compaction, else ""
	Thread    string    // the client's thread id; a subagent's is its own
	Messages  []Message // of the input, in order
}

// Read tells what a request is for. It never fails: what it doesn't know is
// Other, and a body that isn't JSON has no messages.
func Read(raw stubmodel.Request) Request {
	req := Request{Request: raw, Kind: Other, Thread: raw.Header.Get("Thread-Id")}
	path, _, _ := strings.Cut(raw.Path, "?")
	isCompact := strings.HasSuffix(path, "/responses/compact")
	if raw.Method != http.MethodPost || !isCompact && !strings.HasSuffix(path, "/responses") {
		return req
	}
	if req.Thread == "" {
		req.Thread = gjson.GetBytes(raw.Body, "prompt_cache_key").String()
	}
	input := gjson.GetBytes(raw.Body, "input")
	req.Messages = messages(input)
	newest := newestItem(input)
	switch {
	case isCompact:
		req.Kind, req.Mechanism = Compaction, RemoteV1
	case newest.Get("type").String() == "compaction_trigger":
		req.Kind, req.Mechanism = Compaction, RemoteV2
	case newest.Get("role").String() == "user" && strings.HasPrefix(text(newest), checkpointPrompt):
		// Only the newest: an older one in a history is a person's own words.
		req.Kind, req.Mechanism = Compaction, Local
	default:
		req.Kind = Turn
	}
	return req
}

func newestItem(input gjson.Result) gjson.Result {
	var newest gjson.Result
	input.ForEach(func(_, item gjson.Result) bool {
		newest = item
		return true
	})
	return newest
}

func messages(input gjson.Result) []Message {
	if input.Type == gjson.String { // the API's short form of one user message
		return []Message{{Role: "user", Text: input.String()}}
	}
	var out []Message
	input.ForEach(func(_, item gjson.Result) bool {
		if role := item.Get("role").String(); role != "" {
			out = append(out, Message{Role: role, Text: text(item)})
		}
		return true
	})
	return out
}

// text joins the text parts of an input item, whose content is a string or an
// array of parts.
func text(item gjson.Result) string {
	content := item.Get("content")
	if content.Type == gjson.String {
		return content.String()
	}
	var b strings.Builder
	content.ForEach(func(_, part gjson.Result) bool {
		b.WriteString(part.Get("text").String())
		return true
	})
	return b.String()
}

// Texts returns the texts of the messages with that role, in order.
func (r Request) Texts(role string) []string {
	var out []string
	for _, m := range r.Messages {
		if m.Role == role {
			out = append(out, m.Text)
		}
	}
	return out
}

// Holding returns the messages whose text contains s, in order.
func (r Request) Holding(s string) []Message {
	var out []Message
	for _, m := range r.Messages {
		if strings.Contains(m.Text, s) {
			out = append(out, m)
		}
	}
	return out
}

// Count says how often s occurs in the texts of all messages together.
func (r Request) Count(s string) int {
	n := 0
	for _, m := range r.Messages {
		n += strings.Count(m.Text, s)
	}
	return n
}

// Outputs returns the texts of the tool results in the input, in order.
func (r Request) Outputs() []string {
	var out []string
	gjson.GetBytes(r.Body, "input").ForEach(func(_, item gjson.Result) bool {
		if strings.HasSuffix(item.Get("type").String(), "_call_output") {
			out = append(out, outputText(item.Get("output")))
		}
		return true
	})
	return out
}

// outputText reads a tool result, which is a string or an array of parts.
func outputText(output gjson.Result) string {
	if output.Type == gjson.String {
		return output.String()
	}
	var b strings.Builder
	output.ForEach(func(_, part gjson.Result) bool {
		b.WriteString(part.Get("text").String())
		return true
	})
	return b.String()
}

// tool is a tool as a request offers it.
type tool struct {
	kind      string // "function", "custom", ...
	namespace string // of a tool inside a namespace, else ""
}

// tools lists what the request offers by name, also what stands inside a
// namespace.
func (r Request) tools() map[string]tool {
	offered := map[string]tool{}
	gjson.GetBytes(r.Body, "tools").ForEach(func(_, t gjson.Result) bool {
		name := t.Get("name").String()
		offered[name] = tool{kind: t.Get("type").String()}
		t.Get("tools").ForEach(func(_, inner gjson.Result) bool {
			offered[inner.Get("name").String()] = tool{kind: inner.Get("type").String(), namespace: name}
			return true
		})
		return true
	})
	return offered
}

// Tools lists the names of the tools that the request offers.
func (r Request) Tools() []string {
	var names []string
	for name := range r.tools() {
		names = append(names, name)
	}
	return names
}

package openai

import (
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Kind says what a request is for.
type Kind string

// The kinds of requests.
const (
	Turn       Kind = "turn"       // a model request of a turn
	Compaction Kind = "compaction" // a request to shorten the context, of any of the three mechanisms
	Other      Kind = "other"      // anything else: the model list, a WebSocket upgrade, an unknown path
)

// Mechanism says how a compaction was asked for.
type Mechanism string

// The mechanisms of Codex, as seen on 0.133.0, 0.139.0 and 0.171.0.
const (
	Local    Mechanism = "local"     // an ordinary request whose last user message asks for a summary: every provider not named OpenAI
	RemoteV1 Mechanism = "remote-v1" // POST .../responses/compact: a provider named OpenAI on 0.133 and 0.139
	RemoteV2 Mechanism = "remote-v2" // an ordinary request with a compaction_trigger item: a provider named OpenAI on 0.171
)

// checkpointPrompt begins the user message with which Codex asks for a summary
// (local compaction, 0.133.0 to 0.171.0).
const checkpointPrompt = "You are performing a CONTEXT CHECKPOINT COMPACTION"

// Message is one message of a request's input, its text parts joined.
type Message struct {
	Role string // "developer", "user" or "assistant"
	Text string
}

// Request is one request that a client made.
type Request struct {
	Number    int // from 1, in the order in which the stub had read them
	At        time.Time
	Method    string
	Path      string // without the query
	Header    http.Header
	Kind      Kind
	Mechanism Mechanism // of a compaction, else empty
	Thread    string    // the client's thread id; a subagent's is its own
	Body      string    // as sent
	Input     []Message // the messages of the input, in order
	Status    int       // what the stub answered; 0 while it is still at it
}

// read classifies a request by its path and body.
func read(r *http.Request, body []byte) Request {
	req := Request{
		At:     time.Now(),
		Method: r.Method,
		Path:   r.URL.Path,
		Header: r.Header.Clone(),
		Kind:   Other,
		Thread: r.Header.Get("thread-id"),
		Body:   string(body),
	}
	if r.Method != http.MethodPost {
		return req
	}
	parsed := gjson.Parse(req.Body)
	if req.Thread == "" {
		req.Thread = parsed.Get("prompt_cache_key").String()
	}
	input := parsed.Get("input")
	req.Input = messages(input)
	switch {
	case strings.HasSuffix(req.Path, "/responses/compact"):
		req.Kind, req.Mechanism = Compaction, RemoteV1
	case !strings.HasSuffix(req.Path, "/responses"):
	case lastItem(input).Get("type").String() == "compaction_trigger":
		req.Kind, req.Mechanism = Compaction, RemoteV2
	case asksForSummary(input):
		req.Kind, req.Mechanism = Compaction, Local
	default:
		req.Kind = Turn
	}
	return req
}

// asksForSummary reports whether the newest input item is Codex's own request
// for a summary. An older one in the history isn't: it would be the session's
// second turn.
func asksForSummary(input gjson.Result) bool {
	last := lastItem(input)
	return last.Get("role").String() == "user" && strings.HasPrefix(text(last), checkpointPrompt)
}

func lastItem(input gjson.Result) gjson.Result {
	var last gjson.Result
	input.ForEach(func(_, item gjson.Result) bool {
		last = item
		return true
	})
	return last
}

func messages(input gjson.Result) []Message {
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

// Texts returns the texts of the request's messages with that role, in order.
func (r Request) Texts(role string) []string {
	var out []string
	for _, m := range r.Input {
		if m.Role == role {
			out = append(out, m.Text)
		}
	}
	return out
}

// Holding returns the messages whose text contains s, in order.
func (r Request) Holding(s string) []Message {
	var out []Message
	for _, m := range r.Input {
		if strings.Contains(m.Text, s) {
			out = append(out, m)
		}
	}
	return out
}

// Count says how often s occurs in the texts of all messages together.
func (r Request) Count(s string) int {
	n := 0
	for _, m := range r.Input {
		n += strings.Count(m.Text, s)
	}
	return n
}

// Outputs returns the texts of the tool results in the input, in order.
func (r Request) Outputs() []string {
	var out []string
	gjson.Get(r.Body, "input").ForEach(func(_, item gjson.Result) bool {
		if strings.HasSuffix(item.Get("type").String(), "_call_output") {
			out = append(out, item.Get("output").String())
		}
		return true
	})
	return out
}

// tool is a tool as a request offers it.
type tool struct {
	name      string
	kind      string // "function", "custom", ...
	namespace string // of a tool inside a namespace, else ""
}

// tools lists what the request offers, tools inside a namespace included.
func (r Request) tools() map[string]tool {
	offered := map[string]tool{}
	gjson.Get(r.Body, "tools").ForEach(func(_, t gjson.Result) bool {
		name := t.Get("name").String()
		offered[name] = tool{name: name, kind: t.Get("type").String()}
		t.Get("tools").ForEach(func(_, inner gjson.Result) bool {
			offered[inner.Get("name").String()] = tool{
				name:      inner.Get("name").String(),
				kind:      inner.Get("type").String(),
				namespace: name,
			}
			return true
		})
		return true
	})
	return offered
}

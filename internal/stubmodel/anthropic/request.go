package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// Kind is what a request is for.
type Kind string

// The kinds that a script may want to tell apart.
const (
	Main     Kind = "main"     // the session's own turn
	Subagent Kind = "subagent" // a subagent's turn
	Summary  Kind = "summary"  // a compaction asks for its summary, of the main session or of a subagent
	Aside    Kind = "aside"    // a question beside the conversation: a title for the session
	Count    Kind = "count"    // count_tokens
	Other    Kind = "other"    // HEAD, GET and whatever isn't the Messages API
)

// Request is one request, read as far as a test may ask. Body and the other
// fields of stubmodel.Request are the request as it came.
type Request struct {
	stubmodel.Request
	Kind        Kind
	OfSubagent  bool   // a subagent's, also where Kind is Summary
	SessionID   string // of the client, from the metadata; a subagent's is the main session's
	Model       string
	Stream      bool
	System      string // the system prompt's texts, joined by a blank line
	Tools       []string
	Messages    []Message
	Malformed   bool // the body of a POST isn't a JSON object
	billingNote string
}

// Message is one entry of a conversation. Its role is user, assistant, or (in
// what Claude Code sends) system for injected contexts.
type Message struct {
	Role  string
	Parts []Part
}

// Part is one block of a message's content. A content that was a plain string
// is one text part.
type Part struct {
	Type   string          // text, tool_use, tool_result, thinking, image, ...
	Text   string          // of a text or thinking part; a tool_result's texts joined
	ID     string          // of a tool_use, or the tool_use that a tool_result answers
	Name   string          // of a tool_use
	Input  json.RawMessage // of a tool_use
	Failed bool            // a tool_result marked is_error
}

// Parse reads a request. It never fails: what can't be read is marked
// Malformed or left empty.
func Parse(raw stubmodel.Request) Request {
	req := Request{Request: raw, Kind: kindOfPath(raw.Method, raw.Path)}
	if req.Kind == Other {
		return req
	}
	if !gjson.ValidBytes(raw.Body) || !gjson.ParseBytes(raw.Body).IsObject() {
		req.Malformed = true
		return req
	}
	body := gjson.ParseBytes(raw.Body)
	req.Model = body.Get("model").String()
	req.Stream = body.Get("stream").Bool()
	req.SessionID = sessionID(body.Get("metadata.user_id").String())
	req.System, req.billingNote = readSystem(body.Get("system"))
	body.Get("tools").ForEach(func(_, tool gjson.Result) bool {
		req.Tools = append(req.Tools, tool.Get("name").String())
		return true
	})
	body.Get("messages").ForEach(func(_, message gjson.Result) bool {
		req.Messages = append(req.Messages, readMessage(message))
		return true
	})
	req.OfSubagent = strings.Contains(req.billingNote, "cc_is_subagent=true")
	if req.Kind != Count {
		req.Kind = kindOfTurn(req, body.Get("output_config.format").Exists())
	}
	return req
}

func kindOfPath(method, path string) Kind {
	path, _, _ = strings.Cut(path, "?")
	switch {
	case method != "POST":
		return Other
	case strings.HasSuffix(path, "/v1/messages/count_tokens"):
		return Count
	case strings.HasSuffix(path, "/v1/messages"):
		return Main
	}
	return Other
}

// kindOfTurn tells a turn's kind by what Claude Code 2.1.197 to 2.1.332 was
// seen to send: a summarising request asks for "a detailed summary of the
// conversation" in its last words; a question beside the conversation offers no
// tools and asks for an answer by a schema (2.1.197 in a terminal, for a title,
// with the person's prompt quoted in it).
func kindOfTurn(req Request, bySchema bool) Kind {
	switch {
	case strings.Contains(strings.ToLower(req.Prompt()), "a detailed summary of"):
		return Summary
	case bySchema && len(req.Tools) == 0:
		return Aside
	case req.OfSubagent:
		return Subagent
	}
	return Main
}

// sessionID reads metadata.user_id: a JSON document in a string (seen on
// 2.1.197 to 2.1.332), or the older user_..._session_<id>.
func sessionID(userID string) string {
	if id := gjson.Get(userID, "session_id").String(); gjson.Valid(userID) && id != "" {
		return id
	}
	if _, id, ok := strings.Cut(userID, "_session_"); ok {
		return id
	}
	return ""
}

// readSystem splits the billing note, which is the first block and tells a
// subagent, from the prompt itself.
func readSystem(system gjson.Result) (prompt, billing string) {
	if system.Type == gjson.String {
		return system.String(), ""
	}
	var texts []string
	system.ForEach(func(_, block gjson.Result) bool {
		text := block.Get("text").String()
		if strings.HasPrefix(text, "x-anthropic-billing-header:") {
			billing = text
		} else {
			texts = append(texts, text)
		}
		return true
	})
	return strings.Join(texts, "\n\n"), billing
}

func readMessage(message gjson.Result) Message {
	m := Message{Role: message.Get("role").String()}
	content := message.Get("content")
	if content.Type == gjson.String {
		m.Parts = []Part{{Type: "text", Text: content.String()}}
		return m
	}
	content.ForEach(func(_, block gjson.Result) bool {
		m.Parts = append(m.Parts, readPart(block))
		return true
	})
	return m
}

func readPart(block gjson.Result) Part {
	part := Part{Type: block.Get("type").String()}
	switch part.Type {
	case "tool_use":
		part.ID, part.Name = block.Get("id").String(), block.Get("name").String()
		part.Input = json.RawMessage(block.Get("input").Raw)
	case "tool_result":
		part.ID, part.Failed = block.Get("tool_use_id").String(), block.Get("is_error").Bool()
		part.Text = joinedTexts(block.Get("content"))
	case "thinking":
		part.Text = block.Get("thinking").String()
	default:
		part.Text = block.Get("text").String()
	}
	return part
}

func joinedTexts(content gjson.Result) string {
	if content.Type == gjson.String {
		return content.String()
	}
	var texts []string
	content.ForEach(func(_, block gjson.Result) bool {
		if text := block.Get("text"); text.Exists() {
			texts = append(texts, text.String())
		}
		return true
	})
	return strings.Join(texts, "\n")
}

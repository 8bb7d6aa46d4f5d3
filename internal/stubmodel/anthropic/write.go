package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// object is a JSON object that is only written.
type object map[string]any

func writeOther(w http.ResponseWriter, req Request) {
	if req.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return
	}
	writeJSON(w, http.StatusNotFound, errorBody(http.StatusNotFound, "this is a stub: "+req.Path))
}

func write(w http.ResponseWriter, req Request, reply stubmodel.Reply) {
	if reply.Failed() {
		writeJSON(w, reply.Status, errorBody(reply.Status, reply.Error))
		return
	}
	answer := newAnswer(req, reply)
	if req.Stream {
		answer.stream(w)
		return
	}
	writeJSON(w, http.StatusOK, answer.whole())
}

func errorBody(status int, message string) object {
	kind := "api_error"
	switch status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case 529: // Anthropic's own: overloaded
		kind = "overloaded_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	encoded, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encoded) // a client that left doesn't want an answer
}

// answer is one message of the model.
type answer struct {
	id     string
	model  string
	blocks []block
	stop   string
	usage  stubmodel.Usage
}

// block is one content block, and the deltas in which it is streamed.
type block struct {
	start  object // as in content_block_start: empty of content
	deltas []object
	whole  object
}

func newAnswer(req Request, reply stubmodel.Reply) answer {
	a := answer{id: fmt.Sprintf("msg_stub%06d", req.N), model: reply.Model, stop: "end_turn", usage: reply.Usage}
	if a.model == "" {
		a.model = req.Model
	}
	if a.usage.IsZero() {
		a.usage = stubmodel.Usage{Input: estimate(req), Output: 5}
	}
	if reply.Thinking != "" {
		a.blocks = append(a.blocks, thinkingBlock(reply.Thinking))
	}
	if reply.Text != "" || (len(reply.Calls) == 0 && reply.Thinking == "") {
		a.blocks = append(a.blocks, textBlock(reply.Text))
	}
	for i, call := range reply.Calls {
		if call.ID == "" {
			call.ID = fmt.Sprintf("toolu_stub%06d%02d", req.N, i)
		}
		a.blocks = append(a.blocks, toolBlock(call))
		a.stop = "tool_use"
	}
	return a
}

func textBlock(text string) block {
	return block{
		start:  object{"type": "text", "text": ""},
		deltas: []object{{"type": "text_delta", "text": text}},
		whole:  object{"type": "text", "text": text},
	}
}

func thinkingBlock(text string) block {
	const signature = "c3R1Yg==" // base64 of "stub": a client must keep it, none can check it
	return block{
		start:  object{"type": "thinking", "thinking": "", "signature": ""},
		deltas: []object{{"type": "thinking_delta", "thinking": text}, {"type": "signature_delta", "signature": signature}},
		whole:  object{"type": "thinking", "thinking": text, "signature": signature},
	}
}

func toolBlock(call stubmodel.Call) block {
	input := encodeInput(call.Input)
	return block{
		start:  object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}},
		deltas: []object{{"type": "input_json_delta", "partial_json": string(input)}},
		whole:  object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": input},
	}
}

// encodeInput encodes a call's input. A script that gives what can't be
// encoded has a mistake in it; the client then reports what the model "said".
func encodeInput(input any) json.RawMessage {
	switch value := input.(type) {
	case nil:
		return json.RawMessage("{}")
	case string:
		return json.RawMessage(value)
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		encoded, _ = json.Marshal(object{"stub_error": err.Error()})
	}
	return encoded
}

func (a answer) inputUsage(output int64) object {
	return object{
		"input_tokens":                a.usage.Input,
		"cache_creation_input_tokens": a.usage.CacheCreation,
		"cache_read_input_tokens":     a.usage.CacheRead,
		"output_tokens":               output,
	}
}

func (a answer) envelope(content []any, stop any, output int64) object {
	return object{
		"id": a.id, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": a.inputUsage(output),
	}
}

func (a answer) whole() object {
	content := make([]any, len(a.blocks))
	for i, b := range a.blocks {
		content[i] = b.whole
	}
	return a.envelope(content, a.stop, a.usage.Output)
}

// stream sends the answer as server-sent events. Errors aren't looked at: a
// client that left shows in the request's context.
func (a answer) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	send := func(event string, body object) {
		body["type"] = event
		encoded, err := json.Marshal(body)
		if err == nil {
			_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, encoded)
			_ = http.NewResponseController(w).Flush()
		}
	}
	send("message_start", object{"message": a.envelope([]any{}, nil, 1)})
	for i, b := range a.blocks {
		send("content_block_start", object{"index": i, "content_block": b.start})
		for _, delta := range b.deltas {
			send("content_block_delta", object{"index": i, "delta": delta})
		}
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{
		"delta": object{"stop_reason": a.stop, "stop_sequence": nil},
		"usage": object{"output_tokens": a.usage.Output},
	})
	send("message_stop", object{})
}

// estimate is a plausible number of tokens of a request that claims none.
func estimate(req Request) int64 { return max(10, int64(len(req.Body))/4) }

package openai

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// answer is one response, before it is put on the wire.
type answer struct {
	id     string
	object string
	items  []json.RawMessage
	usage  map[string]any
}

// compose makes the response to a request: its items in the order text, calls.
func compose(r Request, reply stubmodel.Reply) (answer, error) {
	a := answer{
		id:     fmt.Sprintf("resp_%d", r.N),
		object: "response",
		usage:  usage(r, reply.Usage),
	}
	if r.Mechanism == RemoteV1 {
		a.object = "response.compaction"
	}
	items, err := outputItems(r, reply)
	if err != nil {
		return answer{}, err
	}
	for _, item := range items {
		encoded, err := json.Marshal(item)
		if err != nil {
			return answer{}, fmt.Errorf("encoding an answer: %w", err)
		}
		a.items = append(a.items, encoded)
	}
	return a, nil
}

func outputItems(r Request, reply stubmodel.Reply) ([]any, error) {
	switch r.Mechanism {
	case RemoteV1:
		return compactedInput(r), nil
	case RemoteV2:
		return []any{compactionItem(r)}, nil
	}
	var items []any
	if reply.Text != "" || len(reply.Calls) == 0 {
		items = append(items, assistantMessage(r, reply.Text))
	}
	for n, call := range reply.Calls {
		item, err := item(call, r, fmt.Sprintf("call_%d_%d", r.N, n))
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func assistantMessage(r Request, words string) map[string]any {
	if words == "" {
		words = fmt.Sprintf("stub %s %d", r.Kind, r.N)
	}
	return map[string]any{
		"type": "message", "id": fmt.Sprintf("msg_%d", r.N), "role": "assistant",
		"content": []any{map[string]any{"type": "output_text", "text": words, "annotations": []any{}}},
	}
}

// compactedInput is what the remote endpoint gives back: the user's messages
// that it retains, then the encrypted rest.
func compactedInput(r Request) []any {
	var items []any
	gjson.GetBytes(r.Body, "input").ForEach(func(_, item gjson.Result) bool {
		if item.Get("role").String() == "user" {
			items = append(items, json.RawMessage(item.Raw))
		}
		return true
	})
	return append(items, compactionItem(r))
}

func compactionItem(r Request) map[string]any {
	return map[string]any{
		"type": "compaction", "id": fmt.Sprintf("cmp_%d", r.N),
		"encrypted_content": fmt.Sprintf("STUB-ENCRYPTED-%d", r.N),
	}
}

// usage reports what the reply claims, or an estimate of the input alone: tools
// and instructions don't count, so that a test's own limit stays far away
// until a reply crosses it.
func usage(r Request, claimed stubmodel.Usage) map[string]any {
	if claimed.IsZero() {
		claimed.Input = int64(len(gjson.GetBytes(r.Body, "input").Raw) / 4)
		claimed.Output = 50
	}
	input := claimed.Input + claimed.CacheCreation + claimed.CacheRead
	return map[string]any{
		"input_tokens":          input,
		"input_tokens_details":  map[string]any{"cached_tokens": claimed.CacheRead},
		"output_tokens":         claimed.Output,
		"output_tokens_details": map[string]any{"reasoning_tokens": 0},
		"total_tokens":          input + claimed.Output,
	}
}

func (r Request) wantsStream() bool { return gjson.GetBytes(r.Body, "stream").Bool() }

// whole is the response as one document.
func (a answer) whole() map[string]any {
	return map[string]any{
		"id": a.id, "object": a.object, "status": "completed", "output": a.items, "usage": a.usage,
	}
}

// stream is the response as server-sent events, in the order and with the
// fields that Codex needs; it takes no deltas.
func (a answer) stream() []byte {
	var b bytes.Buffer
	event(&b, map[string]any{"type": "response.created", "response": map[string]any{"id": a.id}})
	for n, item := range a.items {
		event(&b, map[string]any{"type": "response.output_item.added", "output_index": n, "item": item})
		event(&b, map[string]any{"type": "response.output_item.done", "output_index": n, "item": item})
	}
	event(&b, map[string]any{"type": "response.completed", "response": map[string]any{"id": a.id, "usage": a.usage}})
	return b.Bytes()
}

func event(b *bytes.Buffer, data map[string]any) {
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err) // strings, numbers and checked raw messages: can't fail
	}
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", data["type"], encoded)
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/transcripts"
)

// session is one generated transcript and what stands in it.
type session struct {
	client  client.Client
	id      string
	cwd     string
	path    string
	size    int64 // asked for, in bytes
	planted *transcripts.Planted

	turns int // added behind the generated part, each two messages
	last  string
}

func create(path, cwd, id string, c client.Client, size int64, seed uint64) (*session, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	planted, err := transcripts.Create(path, transcripts.Spec{Client: c, Size: size, Seed: seed, Session: id, CWD: cwd})
	if err != nil {
		return nil, err
	}
	return &session{client: c, id: id, cwd: cwd, path: path, size: size, planted: planted}, nil
}

// payload is what the client writes to a hook's standard input.
func (s *session) payload(event, source, turn string) ([]byte, error) {
	p := map[string]string{
		"session_id": s.id, "transcript_path": s.path, "cwd": s.cwd, "hook_event_name": event,
		"permission_mode": "default", "turn_id": turn,
	}
	switch event {
	case "SessionStart":
		p["source"] = source
	case "PreCompact", "PostCompact":
		p["trigger"] = "auto"
	case "UserPromptSubmit":
		p["prompt"] = "Go on with the importer, please, and run the tests of the reader again."
	}
	return json.Marshal(p)
}

// reset takes away what was added to the generated part.
func (s *session) reset() error {
	s.turns, s.last = 0, ""
	return os.Truncate(s.path, s.planted.Bytes)
}

// append adds records as the client would. What every record of the client has
// is filled in.
func (s *session) append(records ...map[string]any) error {
	var out bytes.Buffer
	for _, r := range records {
		if err := s.complete(r); err != nil {
			return err
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		out.Write(append(line, '\n'))
	}
	f, err := os.OpenFile(s.path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err = f.Write(out.Bytes()); err == nil {
		err = f.Close()
	}
	return err
}

func (s *session) complete(r map[string]any) error {
	r["timestamp"] = time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	if s.client == client.Codex {
		return nil
	}
	if s.last == "" {
		last, err := s.lastID()
		if err != nil {
			return err
		}
		s.last = last
	}
	id := fmt.Sprintf("beefbeef-0000-4000-8000-%012x", time.Now().UnixNano()&(1<<48-1))
	for key, value := range map[string]any{
		"uuid": id, "parentUuid": s.last, "sessionId": s.id, "cwd": s.cwd, "version": "2.1.332",
		"isSidechain": false, "userType": "external", "entrypoint": "cli", "gitBranch": "main",
	} {
		if _, given := r[key]; !given {
			r[key] = value
		}
	}
	s.last = id
	return nil
}

// lastID is the uuid of the transcript's last record that has one.
func (s *session) lastID() (string, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	tail := make([]byte, min(s.planted.Last, 1<<20))
	if _, err := f.ReadAt(tail, s.planted.Bytes-int64(len(tail))); err != nil && err != io.EOF {
		return "", err
	}
	const key = `"uuid":"`
	at := bytes.LastIndex(tail, []byte(key))
	if at < 0 {
		return "", fmt.Errorf("%s: no record with a uuid", s.path)
	}
	id, _, _ := strings.Cut(string(tail[at+len(key):]), `"`)
	return id, nil
}

type object = map[string]any

func codexItem(payload object) object {
	return object{"type": "response_item", "payload": payload, "metadata": object{"history_sequence": 1, "client_authored": false}}
}

func codexText(role, kind, text string) object {
	return object{"type": "message", "role": role, "content": []any{object{"type": kind, "text": text}}}
}

// compacted adds what the client writes for a compaction.
func (s *session) compacted() error {
	const summary = "This session is being continued from a previous conversation that ran out of context."
	if s.client == client.Codex {
		return s.append(
			object{"type": "compacted", "payload": object{"message": summary, "replacement_history": []any{codexText("user", "input_text", "request")}}},
			object{"type": "event_msg", "payload": object{"type": "item_completed", "item": object{"type": "ContextCompaction", "id": "cc"}}},
		)
	}
	return s.append(
		object{"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "parentUuid": nil, "compactMetadata": object{"trigger": "auto", "preTokens": 160000}},
		object{"type": "user", "isCompactSummary": true, "isVisibleInTranscriptOnly": true, "message": object{"role": "user", "content": summary}},
	)
}

// injected adds the record that the client writes for a hook's context.
func (s *session) injected(text string) error {
	if s.client == client.Codex {
		message := codexText("developer", "input_text", text)
		message["internal_chat_message_metadata_passthrough"] = object{
			"turn_id": "t", "content_item_kinds": []any{"hooks.additional_context"},
			"content_item_metadata": []any{object{"provenance": object{"type": "harness", "hook": true}}},
		}
		return s.append(codexItem(message))
	}
	return s.append(object{"type": "attachment", "attachment": object{
		"type": "hook_additional_context", "hookName": "SessionStart", "hookEvent": "SessionStart", "toolUseID": "SessionStart", "content": []any{text},
	}})
}

// turn adds a request and its answer.
func (s *session) turn() error {
	s.turns++
	request, answer := fmt.Sprintf("added request %d", s.turns), fmt.Sprintf("added answer %d", s.turns)
	if s.client == client.Codex {
		user := codexText("user", "input_text", request)
		user["internal_chat_message_metadata_passthrough"] = object{
			"turn_id": "t", "content_item_kinds": []any{"user.text"}, "content_item_metadata": []any{object{"provenance": object{"type": "user"}}},
		}
		return s.append(
			codexItem(user),
			object{"type": "event_msg", "payload": object{"type": "item_completed", "item": object{"type": "UserMessage", "id": "u", "content": []any{object{"type": "text", "text": request}}}}},
			codexItem(codexText("assistant", "output_text", answer)),
		)
	}
	return s.append(
		object{"type": "user", "message": object{"role": "user", "content": request}, "permissionMode": "default", "origin": object{"kind": "human"}, "promptSource": "typed"},
		object{"type": "assistant", "message": object{
			"id": fmt.Sprintf("msg_added%d", s.turns), "type": "message", "role": "assistant", "model": "claude-example-1",
			"content": []any{object{"type": "text", "text": answer}}, "usage": object{"input_tokens": 1000, "output_tokens": 5},
		}},
	)
}

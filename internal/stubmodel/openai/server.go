package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// Script chooses the answer to a turn or a compaction. ctx ends when the client
// goes away; a script that waits must return then. It runs on one goroutine a
// request and must be safe for concurrent use.
type Script func(ctx context.Context, r Request) stubmodel.Reply

// Server is one stub of the Responses API. Its methods are safe for concurrent
// use.
type Server struct {
	// Log holds every request, in order of arrival. A request is in it before
	// its answer begins.
	Log stubmodel.Log[Request]

	http   *stubmodel.Server
	script Script
}

// Serve starts a stub on a free loopback port. A nil script answers every turn
// with a short text and every compaction with a short summary. The caller
// closes it.
func Serve(script Script) (*Server, error) {
	if script == nil {
		script = func(context.Context, Request) stubmodel.Reply { return stubmodel.Reply{} }
	}
	s := &Server{script: script}
	var err error
	s.http, err = stubmodel.Serve(s.answer)
	return s, err
}

// BaseURL is what a Codex provider takes as base_url.
func (s *Server) BaseURL() string { return s.http.URL() + "/v1" }

// Close ends the server and every request it is still answering.
func (s *Server) Close() error { return s.http.Close() }

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, raw stubmodel.Request) {
	req := Read(raw)
	s.Log.Add(req)
	if req.Kind == Other {
		s.answerOther(w, req)
		return
	}
	reply := s.script(ctx, req)
	if !reply.Hold(ctx) {
		return
	}
	if reply.Failed() {
		fail(w, reply.Status, reply.Error)
		return
	}
	answer, err := compose(req, reply)
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	if req.Mechanism == RemoteV1 || !req.wantsStream() {
		sendJSON(w, http.StatusOK, answer.whole())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write(answer.stream()) // an error here is the client leaving
}

// answerOther refuses a WebSocket at once with 426, which makes Codex fall back
// to HTTPS; any other refusal costs it some 20 s of retries.
func (s *Server) answerOther(w http.ResponseWriter, req Request) {
	path, _, _ := strings.Cut(req.Path, "?")
	switch {
	case strings.EqualFold(req.Header.Get("Upgrade"), "websocket"):
		fail(w, http.StatusUpgradeRequired, "no WebSocket here")
	case req.Method == http.MethodGet && strings.HasSuffix(path, "/models"):
		sendJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{}, "models": []any{}})
	default:
		fail(w, http.StatusNotFound, fmt.Sprintf("%s %s isn't part of this stub", req.Method, path))
	}
}

func fail(w http.ResponseWriter, status int, message string) {
	sendJSON(w, status, map[string]any{
		"error": map[string]any{"message": message, "type": "stub_error", "code": "stub"},
	})
}

func sendJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error here is the client leaving
}

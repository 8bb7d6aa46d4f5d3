// Package anthropic is a stub of the Messages API, enough of it for a real
// Claude Code to work against: streamed and whole answers, count_tokens, and a
// polite answer to anything else.
//
// A Script decides each reply; Book is the script that most tests want. Every
// request is kept whole, and Texts, Occurrences and Contexts say what reached
// the model, which is the only proof that a directive arrived. What the stub
// knows of Claude Code (how it asks for a summary, marks a subagent, names its
// session, introduces a hook's context) was seen on 2.1.197, 2.1.322 and
// 2.1.332.
package anthropic

import (
	"context"
	"net/http"
	"sync"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// Script answers the turns: requests of kind Main, Subagent and Summary. It is
// called from many goroutines, one call at a time.
type Script func(Request) stubmodel.Reply

// Stub is a running server.
type Stub struct {
	*stubmodel.Server
	stubmodel.Log[Request] // every request, in the order in which it was answered

	mu     sync.Mutex
	script Script
}

// Start runs a stub on a free loopback port. The caller closes it. The client
// finds it through ANTHROPIC_BASE_URL, which is its URL.
func Start(script Script) (*Stub, error) {
	s := &Stub{script: script}
	server, err := stubmodel.Serve(s.answer)
	if err != nil {
		return nil, err
	}
	s.Server = server
	return s, nil
}

// Use changes the script for all requests that arrive from now on.
func (s *Stub) Use(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Of is the requests of one kind so far.
func (s *Stub) Of(kind Kind) []Request {
	var of []Request
	for _, req := range s.All() {
		if req.Kind == kind {
			of = append(of, req)
		}
	}
	return of
}

func (s *Stub) answer(ctx context.Context, w http.ResponseWriter, raw stubmodel.Request) {
	req := Parse(raw)
	switch req.Kind {
	case Other:
		s.Add(req)
		writeOther(w, req)
	case Aside:
		s.Add(req)
		write(w, req, stubmodel.Text(`{"title":"A stub's title"}`))
	case Count:
		s.Add(req)
		writeJSON(w, http.StatusOK, map[string]any{"input_tokens": estimate(req)})
	default:
		reply := s.decide(req)
		if reply.Hold(ctx) {
			write(w, req, reply)
		}
	}
}

// decide keeps the request and asks the script, in one step, so that the order
// of the log is the order in which the script saw the requests.
func (s *Stub) decide(req Request) stubmodel.Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Add(req)
	if s.script == nil {
		return stubmodel.Text("ok")
	}
	return s.script(req)
}

// Package stubmodel is what the stub model servers share: a loopback HTTP
// server that keeps every request whole, and the vocabulary of a scripted
// reply. The provider's own API (paths, events, shapes) lives in a
// subpackage: anthropic for the Messages API, openai for the Responses API.
//
// It is not a model and not a proxy: it listens on 127.0.0.1 only, reaches no
// network, and answers what a script says. Tests use it, and so does
// `reseat doctor --live`, so nothing here imports testing (promise 7: no
// network ever but loopback).
package stubmodel

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody bounds one request's body, after decompression. A client's request
// with a full context is a few MB.
const maxBody = 256 << 20

// Request is one HTTP request, as the client sent it.
type Request struct {
	N      int         // 1-based, in order of arrival
	Time   time.Time   // of arrival
	Method string      // HEAD, GET, POST
	Path   string      // with the query: /v1/messages?beta=true
	Header http.Header // without Authorization and X-Api-Key
	Body   []byte      // whole; decompressed where it came as gzip
}

// Handler answers one request. ctx ends when the client goes away or the
// server closes; a handler that waits must return then.
type Handler func(ctx context.Context, w http.ResponseWriter, req Request)

// Server is one stub on a free loopback port. Its methods are safe for
// concurrent use.
type Server struct {
	listener net.Listener
	http     *http.Server
	stop     context.CancelFunc
	served   chan struct{}
	arrivals atomic.Int64
}

// Serve starts a server on a free port of 127.0.0.1. The caller closes it.
func Serve(handle Handler) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting a stub model server: %w", err)
	}
	base, stop := context.WithCancel(context.Background())
	s := &Server{listener: listener, stop: stop, served: make(chan struct{})}
	s.http = &http.Server{
		Handler:           s.receive(handle),
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(listener) // always ErrServerClosed or the listener's own error: nothing to tell anyone
	}()
	return s, nil
}

// URL is the server's root, without a final slash: http://127.0.0.1:PORT.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends the server and every request it is still answering.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	<-s.served
	return err
}

func (s *Server) receive(handle Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := readBody(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		header := r.Header.Clone()
		header.Del("Authorization")
		header.Del("X-Api-Key")
		handle(r.Context(), w, Request{
			N:      int(s.arrivals.Add(1)),
			Time:   time.Now(),
			Method: r.Method,
			Path:   r.URL.RequestURI(),
			Header: header,
			Body:   body,
		})
		if r.Context().Err() != nil {
			// Cut the connection: returning here would send an empty 200,
			// which no script asked for.
			panic(http.ErrAbortHandler)
		}
	})
}

func readBody(r *http.Request) ([]byte, error) {
	body, err := readAtMost(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the body of %s %s: %w", r.Method, r.URL.Path, err)
	}
	switch encoding := r.Header.Get("Content-Encoding"); strings.ToLower(encoding) {
	case "", "identity":
		return body, nil
	case "gzip":
		plain, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("unpacking the body of %s %s: %w", r.Method, r.URL.Path, err)
		}
		return readAtMost(plain)
	default:
		// Kept as it came: a script that looks at it fails loudly, which is
		// better than a request that vanishes.
		return body, nil
	}
}

func readAtMost(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("body over %d bytes", maxBody)
	}
	return body, nil
}

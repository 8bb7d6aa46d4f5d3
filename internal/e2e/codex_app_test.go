//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// appServer is one `codex app-server`: JSON-RPC, a line a message, on its
// standard input and output.
type appServer struct {
	t       *testing.T
	process *exec.Cmd
	stdin   io.WriteCloser
	done    chan struct{} // closed when its output ended

	// incoming holds every message of the server, answers and notifications,
	// in order.
	incoming stubmodel.Log[gjson.Result]

	mu     sync.Mutex
	last   int  // id of the last request
	closed bool // close was called
}

// errAppServerGone is what waiting ends with when the server ended first.
var errAppServerGone = errors.New("codex app-server ended")

// startAppServer starts a server and shakes hands with it. It ends with the
// test at the latest.
func startAppServer(t *testing.T, c *codex) *appServer {
	t.Helper()
	process := exec.Command(c.program, "app-server")
	process.Env, process.Dir = c.codexEnv(), c.Project
	stdin, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a := &appServer{t: t, process: process, stdin: stdin, done: make(chan struct{})}
	if err := process.Start(); err != nil {
		t.Fatalf("starting codex app-server: %v", err)
	}
	go a.read(stdout)
	t.Cleanup(a.close)
	a.call("initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "reseat-e2e", "version": "0"},
		"capabilities": map[string]any{"experimentalApi": true},
	})
	a.send(map[string]any{"method": "initialized"})
	return a
}

func (a *appServer) read(stdout io.Reader) {
	defer close(a.done)
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 && gjson.ValidBytes(line) {
			a.incoming.Add(gjson.ParseBytes(line))
		}
		if err != nil {
			return
		}
	}
}

// close ends the server as a client does that goes: at the end of its input.
func (a *appServer) close() {
	a.mu.Lock()
	again := a.closed
	a.closed = true
	a.mu.Unlock()
	if again {
		return
	}
	_ = a.stdin.Close()
	select {
	case <-a.done:
	case <-time.After(commandTimeout):
		a.t.Error("codex app-server didn't end with its input")
		_ = a.process.Process.Kill()
	}
	_ = a.process.Wait()
}

func (a *appServer) send(message map[string]any) {
	a.t.Helper()
	line, err := json.Marshal(message)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.stdin.Write(append(line, '\n')); err != nil {
		a.t.Fatalf("writing to codex app-server: %v", err)
	}
}

// wait returns the first message from index since on that fits.
func (a *appServer) wait(since int, what string, fits func(gjson.Result) bool) gjson.Result {
	a.t.Helper()
	ctx, cancel := context.WithTimeoutCause(a.t.Context(), commandTimeout, fmt.Errorf("no %s within %s", what, commandTimeout))
	defer cancel()
	gone, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-a.done:
			stop(errAppServerGone)
		case <-gone.Done():
		}
	}()
	n := 0
	found, err := a.incoming.Wait(gone, func(m gjson.Result) bool {
		n++
		return n > since && fits(m)
	})
	if err != nil {
		a.t.Fatalf("codex app-server: %s: %v", what, err)
	}
	return found
}

// try makes a request and returns its result or its error.
func (a *appServer) try(method string, params any) (result, failure gjson.Result) {
	a.t.Helper()
	a.mu.Lock()
	a.last++
	id := a.last
	a.mu.Unlock()
	since := a.incoming.Len()
	a.send(map[string]any{"id": id, "method": method, "params": params})
	answer := a.wait(since, "answer to "+method, func(m gjson.Result) bool {
		return m.Get("id").Int() == int64(id) && !m.Get("method").Exists()
	})
	return answer.Get("result"), answer.Get("error")
}

// call makes a request that must succeed.
func (a *appServer) call(method string, params any) gjson.Result {
	a.t.Helper()
	result, failure := a.try(method, params)
	if failure.Exists() {
		a.t.Fatalf("codex app-server: %s: %s", method, failure)
	}
	return result
}

// start begins a thread in the home's working directory and returns its id.
func (a *appServer) start(c *codex) string {
	a.t.Helper()
	return a.call("thread/start", map[string]any{"cwd": c.Project}).Get("thread.id").String()
}

// resume loads a thread.
func (a *appServer) resume(thread string) {
	a.t.Helper()
	if got := a.call("thread/resume", map[string]any{"threadId": thread}).Get("thread.id").String(); got != thread {
		a.t.Fatalf("resumed %s, got %s", thread, got)
	}
}

// fork makes a new thread of a thread and returns the new one's id.
func (a *appServer) fork(thread string) string {
	a.t.Helper()
	id := a.call("thread/fork", map[string]any{"threadId": thread}).Get("thread.id").String()
	if id == "" || id == thread {
		a.t.Fatalf("forked %s, got %q", thread, id)
	}
	return id
}

// prompt runs a turn to its end and returns the turn's status: completed,
// failed or interrupted.
func (a *appServer) prompt(thread, text string) string {
	a.t.Helper()
	return a.promptIn(thread, "", text)
}

// promptIn is prompt in a collaboration mode, "plan" or "default", which then
// stays; "" for the thread's own.
func (a *appServer) promptIn(thread, mode, text string) string {
	a.t.Helper()
	params := map[string]any{
		"threadId": thread,
		"input":    []any{map[string]any{"type": "text", "text": text}},
	}
	if mode != "" {
		params["collaborationMode"] = map[string]any{"mode": mode, "settings": map[string]any{"model": codexModel}}
	}
	since := a.incoming.Len()
	return a.ended(since, thread, a.call("turn/start", params).Get("turn.id").String())
}

// compact compacts a thread and returns the status of the turn that did it. The
// request's own answer says nothing about success.
func (a *appServer) compact(thread string) string {
	a.t.Helper()
	since := a.incoming.Len()
	a.call("thread/compact/start", map[string]any{"threadId": thread})
	started := a.wait(since, "turn/started of the compaction", func(m gjson.Result) bool {
		return m.Get("method").String() == "turn/started" && m.Get("params.threadId").String() == thread
	})
	return a.ended(since, thread, started.Get("params.turn.id").String())
}

func (a *appServer) ended(since int, thread, turn string) string {
	a.t.Helper()
	return a.wait(since, "turn/completed of "+turn, func(m gjson.Result) bool {
		return m.Get("method").String() == "turn/completed" &&
			m.Get("params.threadId").String() == thread && m.Get("params.turn.id").String() == turn
	}).Get("params.turn.status").String()
}

// hooks lists the hooks that the server sees for the working directory.
func (a *appServer) hooks(c *codex) []gjson.Result {
	a.t.Helper()
	return a.call("hooks/list", map[string]any{"cwds": []string{c.Project}}).Get("data.0.hooks").Array()
}

package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/tidwall/gjson"
)

// wire carries whole JSON messages to and from a Codex app-server.
type wire interface {
	send(ctx context.Context, message []byte) error
	// receive returns the next message, or an error once there are no more.
	receive(ctx context.Context) ([]byte, error)
	close() error
}

// rpcError is the server's answer to a request that it refuses.
type rpcError struct {
	Code    int64
	Message string
}

func (e *rpcError) Error() string { return e.Message }

// errClosed is returned where the server went away.
var errClosed = errors.New("the app-server went away")

// conn speaks the app-server's JSON-RPC over a wire. One goroutine reads; what
// the server asks of us is refused, since nobody is here to approve anything.
type conn struct {
	wire wire

	mu      sync.Mutex
	next    int64
	waiting map[int64]chan gjson.Result
	notes   []gjson.Result
	noted   chan struct{} // closed and renewed with each note
	broken  error
	done    chan struct{}
}

// connect says hello. The context bounds the greeting only.
func connect(ctx context.Context, w wire, version string) (*conn, error) {
	c := &conn{wire: w, waiting: map[int64]chan gjson.Result{}, noted: make(chan struct{}), done: make(chan struct{})}
	go c.read()
	_, err := c.call(ctx, "initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "reseat", "title": "reseat", "version": version},
		"capabilities": map[string]any{"experimentalApi": true},
	})
	if err == nil {
		err = c.put(ctx, map[string]any{"method": "initialized"})
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("greeting the app-server: %w", err)
	}
	return c, nil
}

// call makes a request and waits for its answer. An error is a *rpcError where
// the server refused.
func (c *conn) call(ctx context.Context, method string, params any) (gjson.Result, error) {
	answer := make(chan gjson.Result, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.waiting, id)
		c.mu.Unlock()
	}()
	if err := c.put(ctx, map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return gjson.Result{}, err
	}
	select {
	case r := <-answer:
		if e := r.Get("error"); e.Exists() {
			return gjson.Result{}, &rpcError{e.Get("code").Int(), e.Get("message").String()}
		}
		return r.Get("result"), nil
	case <-c.done:
		return gjson.Result{}, c.cause()
	case <-ctx.Done():
		return gjson.Result{}, ctx.Err()
	}
}

func (c *conn) put(ctx context.Context, message map[string]any) error {
	data, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if err := c.wire.send(ctx, data); err != nil {
		return fmt.Errorf("%w: %w", errClosed, err)
	}
	return nil
}

// read hands out what comes until nothing comes any more.
func (c *conn) read() {
	defer close(c.done)
	for {
		data, err := c.wire.receive(context.Background())
		if err != nil {
			c.mu.Lock()
			c.broken = fmt.Errorf("%w: %w", errClosed, err)
			c.mu.Unlock()
			return
		}
		if gjson.ValidBytes(data) {
			c.take(gjson.ParseBytes(data))
		}
	}
}

func (c *conn) take(message gjson.Result) {
	id, method := message.Get("id"), message.Get("method").Str
	switch {
	case method != "" && id.Exists():
		_ = c.put(context.Background(), map[string]any{
			"id": json.RawMessage(id.Raw), "error": map[string]any{"code": -32601, "message": "nobody is here to answer"},
		})
	case method != "":
		c.mu.Lock()
		c.notes = append(c.notes, message)
		close(c.noted)
		c.noted = make(chan struct{})
		c.mu.Unlock()
	default:
		n, err := strconv.ParseInt(id.Raw, 10, 64)
		c.mu.Lock()
		answer := c.waiting[n]
		c.mu.Unlock()
		if err == nil && answer != nil {
			select {
			case answer <- message:
			default: // a second answer to one request
			}
		}
	}
}

// notesFrom returns the notifications from the n-th on, and a channel that is
// closed when there are more.
func (c *conn) notesFrom(n int) ([]gjson.Result, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notes[n:], c.noted
}

func (c *conn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

func (c *conn) close() {
	_ = c.wire.close()
	<-c.done
}

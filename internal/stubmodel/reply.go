package stubmodel

import (
	"context"
	"fmt"
	"time"
)

// Reply is what a script answers: everything that a provider can put into one
// response. The zero value is an empty answer with status 200.
type Reply struct {
	Delay    time.Duration // before anything is sent
	Hang     bool          // nothing is ever sent; ends when the client or the server goes
	Status   int           // 0 and 200: an answer; else an error of that status
	Error    string        // the error's message
	Thinking string        // sent before the text where the provider has such a block
	Text     string
	Calls    []Call // tool calls, after the text
	Usage    Usage
	Model    string // the model that claims to answer; default the one asked for
}

// Call is one tool call. An empty ID is filled with one made of the request's
// number.
type Call struct {
	ID    string
	Name  string
	Input any // encoded as JSON; a json.RawMessage or a string stands as it is
}

// Usage is what the reply claims to have used, in tokens. All zero: an
// estimate from the request's size.
type Usage struct {
	Input         int64
	CacheCreation int64
	CacheRead     int64
	Output        int64
}

// IsZero says that nothing was claimed.
func (u Usage) IsZero() bool { return u == Usage{} }

// Text answers with words.
func Text(format string, args ...any) Reply {
	if len(args) == 0 {
		return Reply{Text: format}
	}
	return Reply{Text: fmt.Sprintf(format, args...)}
}

// UseTool answers with one tool call.
func UseTool(name string, input any) Reply {
	return Reply{Calls: []Call{{Name: name, Input: input}}}
}

// UseTools answers with several tool calls at once.
func UseTools(calls ...Call) Reply { return Reply{Calls: calls} }

// Fail answers with an error of an HTTP status.
func Fail(status int, message string) Reply { return Reply{Status: status, Error: message} }

// Failed says that the reply is an error.
func (r Reply) Failed() bool { return r.Status != 0 && r.Status != 200 }

// Using sets the claimed input tokens.
func (r Reply) Using(input int64) Reply {
	r.Usage.Input = input
	return r
}

// After sets the delay.
func (r Reply) After(d time.Duration) Reply {
	r.Delay = d
	return r
}

// Hold waits as the reply's Delay and Hang say, and reports whether anything is
// to be sent: false when ctx ended.
func (r Reply) Hold(ctx context.Context) bool {
	if r.Hang {
		<-ctx.Done()
		return false
	}
	if r.Delay <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(r.Delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

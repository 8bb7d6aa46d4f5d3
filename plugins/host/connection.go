package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/reseat-dev/reseat/plugins"
)

// Connection is a running adapter. It is a [plugins.Runtime] whose calls always
// return: Turn and Compact with an outcome and no error, the others within
// Limits.Ask.
type Connection struct {
	adapter     Adapter
	description plugins.Description
	limits      Limits
	sockets     string
	plugin      *goplugin.Client
	process     *process
	runtime     plugins.Runtime
	closed      sync.Once
}

var _ plugins.Runtime = (*Connection)(nil)

// Adapter is the program that was started.
func (c *Connection) Adapter() Adapter { return c.adapter }

// Description is what the adapter said when it was greeted.
func (c *Connection) Description() plugins.Description { return c.description }

// Describe asks the adapter what it is.
func (c *Connection) Describe(ctx context.Context) (plugins.Description, error) {
	return ask(c, ctx, "describe", c.runtime.Describe)
}

// Sessions asks for the live sessions.
func (c *Connection) Sessions(ctx context.Context) (plugins.Sessions, error) {
	return ask(c, ctx, "sessions", c.runtime.Sessions)
}

// Usage asks how full sessions are, all in one call.
func (c *Connection) Usage(ctx context.Context, of []plugins.SessionRef) ([]plugins.Usage, error) {
	return ask(c, ctx, "usage", func(ctx context.Context) ([]plugins.Usage, error) { return c.runtime.Usage(ctx, of) })
}

// Launch asks how to start the client.
func (c *Connection) Launch(ctx context.Context, r plugins.LaunchRequest) (plugins.Launch, error) {
	return ask(c, ctx, "launch", func(ctx context.Context) (plugins.Launch, error) { return c.runtime.Launch(ctx, r) })
}

// ask makes one bounded call. An adapter that lets it run out is hung and is
// killed: nothing it says later would be trusted.
func ask[T any](c *Connection, ctx context.Context, call string, do func(context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeout(ctx, c.limits.Ask)
	defer cancel()
	answer, err := do(bounded)
	if err == nil {
		return answer, nil
	}
	var none T
	return none, fmt.Errorf("adapter %s: %s: %w", c.adapter.Client, call, c.explain(ctx, err))
}

// explain tells a hang and a death from an error that the adapter reported.
func (c *Connection) explain(caller context.Context, err error) error {
	if caller.Err() != nil {
		return caller.Err()
	}
	switch s, _ := status.FromError(err); {
	case c.plugin.Exited(), s.Code() == codes.Unavailable:
		return ErrExited
	case s.Code() == codes.DeadlineExceeded:
		c.kill()
		return ErrHung
	case s.Code() == codes.Internal:
		return errors.New(s.Message())
	}
	return err
}

// Compact compacts a session. The error is always nil.
func (c *Connection) Compact(ctx context.Context, r plugins.CompactRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	result := c.follow(ctx, r.Patience, stage, func(ctx context.Context, stage func(plugins.Progress)) (plugins.Result, error) {
		return c.runtime.Compact(ctx, r, stage)
	})
	if result.Outcome == "" && r.DryRun {
		return result, nil
	}
	return held(result, plugins.Outcomes()), nil
}

// Turn gives a session a message. The error is always nil.
func (c *Connection) Turn(ctx context.Context, r plugins.TurnRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	result := c.follow(ctx, r.Patience, stage, func(ctx context.Context, stage func(plugins.Progress)) (plugins.Result, error) {
		return c.runtime.Turn(ctx, r, stage)
	})
	allowed := append([]plugins.Outcome{plugins.Answered}, plugins.Outcomes()...)
	allowed = slices.DeleteFunc(allowed, func(o plugins.Outcome) bool { return o == plugins.Compacted || o == plugins.NotEnough })
	return held(result, allowed), nil
}

type streaming func(context.Context, func(plugins.Progress)) (plugins.Result, error)

// follow runs a streaming call within its patience and the grace. What happened
// in a session whose adapter died or hung isn't known, unless nothing had been
// asked of it yet.
func (c *Connection) follow(ctx context.Context, p plugins.Patience, stage func(plugins.Progress), do streaming) plugins.Result {
	began := time.Now()
	bounded, cancel := context.WithTimeout(ctx, p.WaitIdle+patienceOrDefault(p.Timeout)+c.limits.Grace)
	defer cancel()
	// The caller's own interruption is handed on, and then the adapter gets the
	// grace to end in order and to say how far it came.
	sent := false
	result, err := do(bounded, func(p plugins.Progress) {
		sent = sent || reached(p.Stage)
		stage(p)
	})
	if err == nil {
		result.Sent = result.Sent || sent
		if result.Took == 0 {
			result.Took = time.Since(began)
		}
		return result
	}
	return c.lost(ctx, err, sent, time.Since(began))
}

// DefaultTimeout is the patience with a client's work where a request says
// none.
const DefaultTimeout = 180 * time.Second

func patienceOrDefault(d time.Duration) time.Duration {
	if d <= 0 {
		return DefaultTimeout
	}
	return d
}

// reached says whether the client may have seen something at that stage.
func reached(s plugins.Stage) bool {
	return s != "" && s != plugins.StageChecking && s != plugins.StageWaitingIdle
}

// lost is the result of a call that ended without one. An adapter that died or
// hung may have sent something that it couldn't report any more: its last stages
// are lost with it.
func (c *Connection) lost(ctx context.Context, err error, sent bool, took time.Duration) plugins.Result {
	result := plugins.Result{
		Outcome: plugins.Unknown, Sent: sent, State: plugins.StateUnknown, Evidence: plugins.EvidenceNone, Took: took,
	}
	switch cause := c.explain(ctx, err); {
	case ctx.Err() != nil:
		result.Reason, result.Detail = plugins.ReasonInterrupted, "interrupted; the client may still be at it"
		if !sent {
			result.Outcome, result.Detail = plugins.Failed, "interrupted before anything was sent"
		}
	case errors.Is(cause, ErrHung):
		result.Outcome, result.Reason, result.Sent = plugins.TimedOut, plugins.ReasonAdapterHung, true
		result.Detail = "the adapter hung and was ended; the client may still be at it"
	case errors.Is(cause, ErrExited):
		result.Reason, result.Sent = plugins.ReasonAdapterExited, true
		result.Detail = "the adapter's process went away in the middle"
	case errors.Is(cause, plugins.ErrNoResult):
		result.Reason, result.Detail = plugins.ReasonAdapterBroke, cause.Error()
	default:
		result.Reason, result.Detail = plugins.ReasonClientError, cause.Error()
		if !sent {
			result.Outcome = plugins.Failed
		}
	}
	return result
}

// held refuses an outcome outside the closed set, and a claim without evidence:
// an adapter that makes one has broken the contract, and what happened is
// unknown.
func held(r plugins.Result, allowed []plugins.Outcome) plugins.Result {
	broke := ""
	switch {
	case !slices.Contains(allowed, r.Outcome):
		broke = fmt.Sprintf("outcome %q isn't one of the contract's", r.Outcome)
	case r.Outcome == plugins.Compacted && r.Evidence != plugins.EvidenceBoundary && r.Evidence != plugins.EvidenceCompletion:
		broke = "it claims a compaction without evidence"
	case r.Outcome == plugins.Compacted && r.Evidence == plugins.EvidenceBoundary && r.Boundary == nil:
		broke = "it claims a boundary and shows none"
	}
	if broke == "" {
		return r
	}
	r.Outcome, r.Reason, r.Detail, r.Evidence = plugins.Unknown, plugins.ReasonAdapterBroke, broke, plugins.EvidenceNone
	return r
}

package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"

	"github.com/reseat-dev/reseat/plugins/runtimepb"
)

// ErrNoResult is returned by a Turn or Compact whose adapter ended the stream
// without the one event that holds the result.
var ErrNoResult = errors.New("the adapter ended the call without a result")

// remote is a Runtime in an adapter's process.
type remote struct{ client runtimepb.RuntimeClient }

func (r *remote) Describe(ctx context.Context) (Description, error) {
	d, err := r.client.Describe(ctx, &runtimepb.DescribeRequest{})
	if err != nil {
		return Description{}, err
	}
	return fromDescription(d), nil
}

func (r *remote) Sessions(ctx context.Context) (Sessions, error) {
	s, err := r.client.Sessions(ctx, &runtimepb.SessionsRequest{})
	if err != nil {
		return Sessions{}, err
	}
	return fromSessions(s), nil
}

func (r *remote) Usage(ctx context.Context, of []SessionRef) ([]Usage, error) {
	request := &runtimepb.UsageRequest{}
	for _, ref := range of {
		request.Sessions = append(request.Sessions, toRef(ref))
	}
	answer, err := r.client.Usage(ctx, request)
	if err != nil {
		return nil, err
	}
	if have := len(answer.GetUsages()); have != len(of) {
		return nil, fmt.Errorf("the adapter answered for %d of %d sessions", have, len(of))
	}
	out := make([]Usage, 0, len(of))
	for i, u := range answer.GetUsages() {
		if u.GetSession() != of[i].ID {
			return nil, fmt.Errorf("the adapter answered for session %q where %q was asked", u.GetSession(), of[i].ID)
		}
		out = append(out, fromUsage(u))
	}
	return out, nil
}

func (r *remote) Turn(ctx context.Context, t TurnRequest, stage func(Progress)) (Result, error) {
	stream, err := r.client.Turn(ctx, &runtimepb.TurnRequest{
		Session: toRef(t.Session), Text: t.Text, Patience: toPatience(t.Patience),
	})
	if err != nil {
		return Result{}, err
	}
	return follow(stream, stage)
}

func (r *remote) Compact(ctx context.Context, c CompactRequest, stage func(Progress)) (Result, error) {
	stream, err := r.client.Compact(ctx, &runtimepb.CompactRequest{
		Session: toRef(c.Session), Instructions: c.Instructions, Patience: toPatience(c.Patience), DryRun: c.DryRun,
	})
	if err != nil {
		return Result{}, err
	}
	return follow(stream, stage)
}

// follow reads a stream to its result.
func follow(stream grpc.ServerStreamingClient[runtimepb.Event], stage func(Progress)) (Result, error) {
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return Result{}, ErrNoResult
		}
		if err != nil {
			return Result{}, err
		}
		if result := event.GetResult(); result != nil {
			return fromResult(result), nil
		}
		stage(fromProgress(event))
	}
}

func (r *remote) Launch(ctx context.Context, l LaunchRequest) (Launch, error) {
	answer, err := r.client.Launch(ctx, &runtimepb.LaunchRequest{
		Arguments: l.Arguments, IdleCompactionOff: l.IdleCompactionOff, Environment: l.Environment, Cwd: l.CWD,
	})
	if err != nil {
		return Launch{}, err
	}
	return fromLaunch(answer), nil
}

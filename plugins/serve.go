package plugins

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/reseat-dev/reseat/plugins/runtimepb"
)

// ProtocolVersion is the contract's version. It changes only where an old
// adapter and a new host, or the other way round, would misunderstand each
// other.
const ProtocolVersion = 1

// MaxMessage bounds one message in either direction, in bytes.
const MaxMessage = 4 << 20

// Lifeline is the variable by which a host says that it holds the other end of
// the adapter's stdin for as long as it lives. Without it a host that was killed
// would leave its adapters behind: go-plugin's server ignores that.
const Lifeline = "RESEAT_ADAPTER_LIFELINE"

// afterLifeline is what running calls get to tidy up once the host is gone.
const afterLifeline = 5 * time.Second

// name is under which go-plugin dispenses the contract.
const name = "runtime"

// Handshake is what host and adapter say to each other first. It is no secret:
// it keeps a person from starting an adapter by hand.
func Handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion:  ProtocolVersion,
		MagicCookieKey:   "RESEAT_RUNTIME_ADAPTER",
		MagicCookieValue: "f1f0c7a1",
	}
}

// Set is the contract as go-plugin takes it: for a host with a nil runtime.
func Set(r Runtime) goplugin.PluginSet {
	return goplugin.PluginSet{name: &contract{runtime: r, life: context.Background()}}
}

// Dispense asks a connected adapter for its Runtime. Errors of the Runtime's
// calls are gRPC status errors.
func Dispense(c goplugin.ClientProtocol) (Runtime, error) {
	raw, err := c.Dispense(name)
	if err != nil {
		return nil, err
	}
	return raw.(Runtime), nil
}

// Serve runs r as an adapter program. It returns when the host ends it or is
// gone, and exits the process with 1 when it wasn't started by a host.
func Serve(r Runtime) {
	life, end := context.WithCancel(context.Background())
	defer end()
	c := &contract{runtime: r, life: life}
	if os.Getenv(Lifeline) != "" {
		go c.exitWithHost(os.Stdin, end)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: Handshake(),
		Plugins:         goplugin.PluginSet{name: c},
		Logger:          hclog.New(&hclog.LoggerOptions{Level: hclog.Error, Output: os.Stderr, JSONFormat: true}),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(MaxMessage), grpc.MaxSendMsgSize(MaxMessage))...)
		},
	})
}

// contract is the go-plugin side of the contract.
type contract struct {
	goplugin.NetRPCUnsupportedPlugin
	runtime Runtime
	life    context.Context // ends with the host
	calls   sync.WaitGroup  // calls under way
}

// exitWithHost ends the process once the host's end of the lifeline is gone:
// go-plugin's server has no other way to be stopped than by its host.
func (c *contract) exitWithHost(lifeline io.Reader, end context.CancelFunc) {
	_, _ = io.Copy(io.Discard, lifeline)
	end()
	tidy := make(chan struct{})
	go func() { c.calls.Wait(); close(tidy) }()
	select {
	case <-tidy:
	case <-time.After(afterLifeline):
	}
	os.Exit(0)
}

func (c *contract) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	runtimepb.RegisterRuntimeServer(s, &server{contract: c})
	return nil
}

func (c *contract) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return &remote{client: runtimepb.NewRuntimeClient(conn)}, nil
}

// server hands the wire's calls to a Runtime.
type server struct {
	runtimepb.UnimplementedRuntimeServer
	*contract
}

// bound ends a call with the call's own context or with the host's life.
func (s *server) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	s.calls.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return ctx, func() { stop(); cancel(); s.calls.Done() }
}

func (s *server) Describe(ctx context.Context, _ *runtimepb.DescribeRequest) (*runtimepb.DescribeResponse, error) {
	ctx, done := s.bound(ctx)
	defer done()
	d, err := s.runtime.Describe(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return toDescription(d), nil
}

func (s *server) Sessions(ctx context.Context, _ *runtimepb.SessionsRequest) (*runtimepb.SessionsResponse, error) {
	ctx, done := s.bound(ctx)
	defer done()
	list, err := s.runtime.Sessions(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return toSessions(list), nil
}

func (s *server) Usage(ctx context.Context, r *runtimepb.UsageRequest) (*runtimepb.UsageResponse, error) {
	ctx, done := s.bound(ctx)
	defer done()
	of := make([]SessionRef, 0, len(r.GetSessions()))
	for _, ref := range r.GetSessions() {
		of = append(of, fromRef(ref))
	}
	usages, err := s.runtime.Usage(ctx, of)
	if err != nil {
		return nil, toStatus(err)
	}
	out := &runtimepb.UsageResponse{}
	for _, u := range usages {
		out.Usages = append(out.Usages, toUsage(u))
	}
	return out, nil
}

func (s *server) Turn(r *runtimepb.TurnRequest, stream grpc.ServerStreamingServer[runtimepb.Event]) error {
	ctx, done := s.bound(stream.Context())
	defer done()
	stage, failed := sender(stream)
	result, err := s.runtime.Turn(ctx, TurnRequest{
		Session: fromRef(r.GetSession()), Text: r.GetText(), Patience: fromPatience(r.GetPatience()),
	}, stage)
	return finish(stream, result, err, *failed)
}

func (s *server) Compact(r *runtimepb.CompactRequest, stream grpc.ServerStreamingServer[runtimepb.Event]) error {
	ctx, done := s.bound(stream.Context())
	defer done()
	stage, failed := sender(stream)
	result, err := s.runtime.Compact(ctx, CompactRequest{
		Session: fromRef(r.GetSession()), Instructions: r.GetInstructions(),
		Patience: fromPatience(r.GetPatience()), DryRun: r.GetDryRun(),
	}, stage)
	return finish(stream, result, err, *failed)
}

// sender gives the function that puts stages on a stream, and the first error it
// met. A host that went away is no reason to stop in the middle of a session:
// the call's context says when to stop.
func sender(stream grpc.ServerStreamingServer[runtimepb.Event]) (stage func(Progress), failed *error) {
	failed = new(error)
	return func(p Progress) {
		if *failed == nil {
			*failed = stream.Send(toProgress(p))
		}
	}, failed
}

func finish(stream grpc.ServerStreamingServer[runtimepb.Event], result Result, err, sendErr error) error {
	if err != nil {
		return toStatus(err)
	}
	if sendErr != nil {
		return sendErr
	}
	return stream.Send(&runtimepb.Event{At: toTime(time.Now()), Result: toResult(result)})
}

func (s *server) Launch(ctx context.Context, r *runtimepb.LaunchRequest) (*runtimepb.LaunchResponse, error) {
	ctx, done := s.bound(ctx)
	defer done()
	l, err := s.runtime.Launch(ctx, LaunchRequest{
		Arguments: r.GetArguments(), IdleCompactionOff: r.GetIdleCompactionOff(), Environment: r.GetEnvironment(), CWD: r.GetCwd(),
	})
	if err != nil {
		return nil, toStatus(err)
	}
	return toLaunch(l), nil
}

// toStatus keeps an error's text and whether the call's context was to blame.
func toStatus(err error) error {
	if s := status.FromContextError(err); s.Code() != codes.Unknown {
		return status.Error(s.Code(), err.Error())
	}
	return status.Error(codes.Internal, err.Error())
}

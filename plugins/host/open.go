package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"github.com/reseat-dev/reseat/plugins"
)

// Limits bound what an adapter may cost. The zero value takes the defaults.
type Limits struct {
	Start time.Duration // until it is ready; default 5 s
	Ask   time.Duration // for one Describe, Sessions, Usage or Launch; default 20 s
	Grace time.Duration // for a Turn or Compact to end after its time is up; default 10 s
}

func (l Limits) withDefaults() Limits {
	if l.Start <= 0 {
		l.Start = 5 * time.Second
	}
	if l.Ask <= 0 {
		l.Ask = 20 * time.Second
	}
	if l.Grace <= 0 {
		l.Grace = 10 * time.Second
	}
	return l
}

// Settings are what an adapter is started with.
type Settings struct {
	Home    string              // the state folder, handed on as RESEAT_HOME
	Environ []string            // our environment; a list of names of it is handed on
	Allow   map[string][]string // further names for our own adapters, by client
	Stderr  io.Writer
	Limits  Limits
}

// Open starts an adapter and greets it. Close it when done. An error is a
// *RefusedError where a person can do something about it.
func Open(ctx context.Context, a Adapter, s Settings) (*Connection, error) {
	if a.Refuse != nil {
		return nil, a.Refuse
	}
	if err := safe(a.Path); err != nil {
		return nil, err
	}
	if a.Pin != nil {
		if err := checkPin(a.Path, a.Pin, allowHint(a.Client)); err != nil {
			return nil, err
		}
	}
	sockets, err := os.MkdirTemp("", "reseat-adapter-")
	if err != nil {
		return nil, fmt.Errorf("starting adapter %q: %w", a.Path, err)
	}
	c := &Connection{adapter: a, limits: s.Limits.withDefaults(), sockets: sockets}
	stderr := &lastLines{also: s.Stderr}
	c.plugin = goplugin.NewClient(&goplugin.ClientConfig{
		HandshakeConfig:  plugins.Handshake(),
		Plugins:          plugins.Set(nil),
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		SkipHostEnv:      true,
		StartTimeout:     c.limits.Start,
		Stderr:           stderr,
		Logger:           hclog.New(&hclog.LoggerOptions{Name: "adapter", Level: hclog.Error, Output: io.Discard}),
		UnixSocketConfig: &goplugin.UnixSocketConfig{TempDir: sockets},
		GRPCDialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(plugins.MaxMessage), grpc.MaxCallSendMsgSize(plugins.MaxMessage))},
		RunnerFunc: func(_ hclog.Logger, cmd *exec.Cmd, _ string) (runner.Runner, error) {
			env := append(Environment(s.Environ, allowed(a, s.Allow[a.Client])), cmd.Env...)
			env = append(env, plugins.Lifeline+"=1")
			if s.Home != "" {
				env = append(env, "RESEAT_HOME="+s.Home)
			}
			p, err := newProcess(a.Path, env)
			if err != nil {
				return nil, err
			}
			c.process = p
			return p, nil
		},
	})
	if err := c.connect(ctx); err != nil {
		c.Close()
		return nil, fmt.Errorf("starting adapter %q: %w%s", a.Path, err, stderr.quoted())
	}
	return c, nil
}

// connect starts the adapter, greets it and holds it to its name.
func (c *Connection) connect(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.kill)
	defer stop()
	protocol, err := c.plugin.Client()
	if err != nil {
		return err
	}
	if c.runtime, err = plugins.Dispense(protocol); err != nil {
		return err
	}
	if c.description, err = c.Describe(ctx); err != nil {
		return err
	}
	if c.description.Client != c.adapter.Client {
		return fmt.Errorf("it is for client %q, not %q", c.description.Client, c.adapter.Client)
	}
	return nil
}

// Close ends the adapter and what it started. It may be called more than once.
func (c *Connection) Close() {
	c.closed.Do(func() {
		done := make(chan struct{})
		go func() { c.plugin.Kill(); close(done) }()
		select {
		case <-done:
		case <-time.After(closeGrace):
			c.kill()
			<-done
		}
		os.RemoveAll(c.sockets)
	})
}

// closeGrace is how long an adapter may take to go when asked.
const closeGrace = 3 * time.Second

func (c *Connection) kill() {
	if c.process != nil {
		_ = c.process.Kill(context.Background())
	}
}

// lastLines keeps the end of what an adapter says on stderr, for the error that
// explains why it didn't start.
type lastLines struct {
	mu   sync.Mutex
	also io.Writer
	tail []byte
}

const keepStderr = 2 << 10

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - keepStderr; over > 0 {
		l.tail = l.tail[over:]
	}
	if l.also != nil {
		return l.also.Write(p)
	}
	return len(p), nil
}

func (l *lastLines) quoted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := strings.TrimSpace(string(l.tail))
	if text == "" {
		return ""
	}
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return fmt.Sprintf(" (it said: %q)", text)
}

// ErrHung is returned where an adapter didn't answer in time.
var ErrHung = errors.New("the adapter didn't answer in time")

// ErrExited is returned where an adapter's process went away.
var ErrExited = errors.New("the adapter's process went away")

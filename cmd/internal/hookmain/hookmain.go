// Package hookmain is what the two hook programs share around their one call
// into bridge: flags, standard input, time limits, the receipt, the exit code.
// It keeps promise 3: whatever happens here, the host is not harmed.
package hookmain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/internal/version"
)

// Exit codes. 2 would block a prompt or a compaction and is never returned.
const (
	exitOK    = 0
	exitFault = 1 // half a document was printed, or a panic before any was
)

// Program is one hook program.
type Program struct {
	Name   string
	Does   string // for --help
	Events []string
	Handle func(ctx context.Context, b *bridge.Bridge, e hooks.Event, out bridge.Sink) bridge.Outcome
}

// Env is what a program is started with.
type Env struct {
	Args   []string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// stdinLimit is how long a payload may take to arrive.
const stdinLimit = 2 * time.Second

// Limit is a program's own time limit for an event, well inside the installed
// time-out.
func Limit(event string) time.Duration {
	switch event {
	case hooks.PreCompact:
		return 10 * time.Second
	case hooks.SessionStart:
		return 5 * time.Second
	}
	return 2 * time.Second
}

// grace is what is allowed beyond the limit for work that doesn't notice that
// its time is over, such as a file system that hangs.
const grace = time.Second

// Run runs the program and returns its exit code.
func Run(ctx context.Context, p Program, env Env) (code int) {
	guardProcess()
	started := time.Now()
	o := parse(env.Args)
	switch {
	case o.help:
		fmt.Fprintf(env.Stdout, "%s\n\nUsage: %s --runtime claude|codex [--home DIR] < payload.json\n\n"+
			"A client runs it as a hook (%s) and writes the payload to its standard input.\n"+
			"It is put into the client's configuration by: reseat install\n", p.Does, p.Name, strings.Join(p.Events, ", "))
		return exitOK
	case o.version:
		fmt.Fprintf(env.Stdout, "%s %s\n", p.Name, version.Number)
		return exitOK
	case env.Getenv("RESEAT_DISABLE") == "1":
		return exitOK
	}
	r := &run{p: p, env: env, o: o, started: started}
	return r.do(ctx)
}

type run struct {
	p       Program
	env     Env
	o       options
	started time.Time
	printed atomic.Bool // one whole document is out
}

func (r *run) do(ctx context.Context) (code int) {
	home, err := state.Locate(r.o.home, r.env.Getenv)
	if err != nil {
		return r.complain(err)
	}
	c, err := client.Parse(r.o.runtime)
	packer := bridge.NewPackets(home, r.env.Getenv)
	b := bridge.New(home, packer, func(e hooks.Event) string {
		return hooks.VersionFromEnv(e.Client, r.env.Getenv)
	}, os.Getpid())
	b.Told.Nonce = r.env.Getenv("RESEAT_NONCE")
	b.Told.PID, _ = strconv.Atoi(r.env.Getenv("CLAUDE_PID"))
	defer func() {
		if fault := recover(); fault != nil {
			err := fmt.Errorf("panic: %v", fault)
			r.keep(b, hooks.Event{Client: c}, bridge.Outcome{Decision: bridge.DidFail, Reason: "a fault of reseat", Err: err})
			code = exitFault
			if r.printed.Load() {
				code = exitOK
			}
		}
	}()
	if err != nil {
		return r.refuse(b, hooks.Event{}, "--runtime is missing or unknown", err)
	}
	doc, err := hooks.ReadDocument(r.env.Stdin, stdinLimit)
	if err != nil {
		return r.refuse(b, hooks.Event{Client: c}, "no payload", err)
	}
	e, err := hooks.Decode(c, doc)
	if err != nil {
		return r.refuse(b, e, "the payload can't be used", err)
	}
	return r.handle(ctx, b, e)
}

// handle runs the program's one call in time. Work that doesn't return is left
// behind, as after a kill: the state on disk allows for that.
func (r *run) handle(ctx context.Context, b *bridge.Bridge, e hooks.Event) int {
	ctx, cancel := context.WithTimeout(ctx, Limit(e.Name))
	defer cancel()
	type result struct {
		o     bridge.Outcome
		fault any
	}
	done := make(chan result, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				done <- result{fault: fault}
			}
		}()
		done <- result{o: r.p.Handle(ctx, b, e, sink{r})}
	}()
	timer := time.NewTimer(Limit(e.Name) + grace)
	defer timer.Stop()
	select {
	case got := <-done:
		if got.fault != nil {
			panic(got.fault)
		}
		return r.end(b, e, got.o)
	case <-timer.C:
		return r.refuse(b, e, "out of time", context.DeadlineExceeded)
	}
}

// end prints what is left to print, keeps the receipt and turns the outcome
// into an exit code.
func (r *run) end(b *bridge.Bridge, e hooks.Event, o bridge.Outcome) int {
	if !o.Reply.Silent() && !r.printed.Load() {
		r.env.Stdout.Write(o.Reply.Bytes())
	}
	r.keep(b, e, o)
	if o.Partial {
		return exitFault
	}
	return exitOK
}

// refuse ends a run that came to nothing: a receipt, or where that can't be
// kept a line on standard error, and exit 0.
func (r *run) refuse(b *bridge.Bridge, e hooks.Event, reason string, err error) int {
	r.keep(b, e, bridge.Outcome{Decision: bridge.DidFail, Reason: reason, Err: err})
	return exitOK
}

func (r *run) keep(b *bridge.Bridge, e hooks.Event, o bridge.Outcome) {
	receipt := bridge.NewReceipt(e, o)
	receipt.Time = time.Now()
	receipt.Version = version.Number
	receipt.ClientVer = hooks.VersionFromEnv(e.Client, r.env.Getenv)
	receipt.Millis = float64(time.Since(r.started).Microseconds()) / 1000
	if e.SessionID != "" {
		receipt.Seat = bridge.SeatOf(b.Home.Session(e.Client, e.SessionID))
	}
	if told := r.seatTold(); told != receipt.Seat {
		receipt.Hearsay = told
	}
	if len(r.o.unknown) > 0 && receipt.Reason == "" {
		receipt.Reason = "unknown arguments: " + strings.Join(r.o.unknown, " ")
	}
	if err := b.Keep(receipt); err != nil && !errors.Is(o.Err, state.ErrNewer) {
		r.complain(fmt.Errorf("the receipt couldn't be kept: %w", err))
	}
	if o.Err != nil {
		r.complain(fmt.Errorf("%s: %w", o.Reason, o.Err))
	}
}

// seatTold is the seat that the environment names. It is hearsay: nested
// clients and shared daemons inherit it.
func (r *run) seatTold() string {
	if s := r.env.Getenv("RESEAT_SEAT"); s != "" {
		return s
	}
	return r.env.Getenv("OPENRIG_SESSION_NAME")
}

func (r *run) complain(err error) int {
	fmt.Fprintf(r.env.Stderr, "%s: %v\n", r.p.Name, err)
	return exitOK
}

// sink is standard output as bridge sees it.
type sink struct{ r *run }

var errNowhere = errors.New("standard output is closed or " + os.DevNull)

func (s sink) Leads() error {
	f, ok := s.r.env.Stdout.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", errNowhere, err)
	}
	null, err := os.Stat(os.DevNull)
	if err == nil && os.SameFile(info, null) {
		return errNowhere
	}
	return nil
}

func (s sink) Write(doc []byte) (int, error) {
	n, err := s.r.env.Stdout.Write(doc)
	s.r.printed.Store(err == nil && n == len(doc))
	return n, err
}

type options struct {
	runtime, home string
	help, version bool
	unknown       []string
}

// parse reads the flags tolerantly: a hook with a flag it doesn't know goes on.
func parse(args []string) (o options) {
	values := map[string]*string{"--runtime": &o.runtime, "--home": &o.home}
	switches := map[string]*bool{"--help": &o.help, "-h": &o.help, "--version": &o.version}
	for i := 0; i < len(args); i++ {
		name, value, given := strings.Cut(args[i], "=")
		if dst, ok := values[name]; ok {
			if !given && i+1 < len(args) {
				i++
				value = args[i]
			}
			*dst = value
			continue
		}
		if dst, ok := switches[args[i]]; ok {
			*dst = true
			continue
		}
		o.unknown = append(o.unknown, fmt.Sprintf("%.40q", args[i]))
	}
	return o
}

// guardProcess sees to it that no way of dying ends in exit code 2, which
// would block the host: a fatal error of the Go runtime ends in a signal, and a
// reader that has gone is a write error, not a death.
func guardProcess() {
	debug.SetTraceback("crash")
	noCoreFile()
	signal.Ignore(syscall.SIGPIPE)
}

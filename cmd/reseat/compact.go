package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/bridge/compact"
	"github.com/reseat-dev/reseat/bridge/seat"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/version"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/claude"
	"github.com/reseat-dev/reseat/plugins/host"
)

// eventCompact names a compaction from outside in the receipts, beside the
// hooks' events.
const eventCompact = "reseat compact"

func (c *call) statusline(ctx context.Context, own string) int {
	home, err := c.state()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	return claude.StatusLine(ctx, c.stdin, c.stdout, c.stderr, home, own, time.Now())
}

func compactCommand() command {
	return command{
		name: "compact", args: "SEAT", short: "compact a seat from outside, guided, with proof that it happened",
		long: `The seat gets a turn to write its recap, is waited for until it is idle, and is
compacted by its client: in its terminal or daemon if somebody has it open, else
in a client of ours. Then a short message brings the restore directive in, and the
transcript shows which of the files it names were opened. Nothing is typed over a
running turn, an open dialog, or what a person is typing.

Exit codes: 0 compacted, 1 not compacted (the reason is said), 2 it may or may not
have happened, 64 wrong usage.`,
		example: "reseat compact dev-impl@my-rig --instructions 'keep the numbers'\nreseat compact claude:11111111 --no-turns --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			o := &compact.Options{}
			f.StringVar(&o.Prep, "prep", "", "the preparation turn's message (default: asks for a recap)")
			f.StringVar(&o.Instructions, "instructions", "", "what the client's own summary should keep")
			f.DurationVar(&o.WaitIdle, "wait-idle", compact.DefaultWaitIdle, "how long to wait for the seat to be idle, before each step")
			f.DurationVar(&o.Timeout, "timeout", compact.DefaultTimeout, "how long each step may take")
			f.BoolVar(&o.DryRun, "dry-run", false, "make the checks and touch nothing")
			noTurns := f.Bool("no-turns", false, "leave out the preparation and the restore turn")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int {
				o.NoPrep, o.NoRestore = *noTurns, *noTurns
				switch {
				case len(c.args) != 1:
					return c.usage("compact needs one SEAT")
				case o.WaitIdle < 0 || o.Timeout <= 0:
					return c.usage("--wait-idle can't be negative, and --timeout must be over 0")
				case *noTurns && o.Prep != "":
					return c.usage("--prep and --no-turns contradict each other")
				}
				return c.compact(ctx, c.args[0], *o, *asJSON)
			}
		},
	}
}

func (c *call) compact(ctx context.Context, name string, o compact.Options, asJSON bool) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := c.bridge()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	home, _, found, err := c.adapters()
	if err != nil {
		return c.failAdapter(err)
	}
	lineup := host.NewLineup(found, c.settings(home))
	defer lineup.Close()
	target, err := seatNamed(ctx, b, lineup, name)
	if err != nil {
		return c.failSeat(err)
	}
	runtime, err := lineup.Get(ctx, target.Client)
	if err != nil {
		return c.failAdapter(err)
	}
	tell := c.tellStep
	if asJSON {
		tell = func(compact.Happening) {}
	}
	guide := compact.Guide{Runtime: runtime, Continuity: continuity{b}, Home: home, Now: time.Now}
	report := guide.Run(ctx, target, o, tell)
	if !o.DryRun {
		c.keepReceipt(b, report)
	}
	if asJSON {
		c.json(report)
		return compactCode(report)
	}
	return c.tellReport(report, o)
}

// seatNamed finds the session that a name means: one that our state knows, one
// that is live, or one named by client and id.
func seatNamed(ctx context.Context, b *bridge.Bridge, lineup *host.Lineup, name string) (compact.Seat, error) {
	sessions, err := b.Sessions(ctx)
	if err != nil {
		return compact.Seat{}, err
	}
	s, err := bridge.Find(sessions, name)
	if err == nil {
		return seatOf(s), nil
	}
	if !errors.Is(err, bridge.ErrNoSeat) {
		return compact.Seat{}, err
	}
	if address, parseErr := seat.ParseAddress(name); parseErr == nil {
		if bound, loadErr := seat.Load(b.Home, address); loadErr == nil && bound.Occupant != nil {
			return compact.Seat{Address: address, Client: string(bound.Occupant.Client), Session: bound.Occupant.Session}, nil
		}
		return compact.Seat{}, err
	}
	if runtime, id, ok := strings.Cut(name, ":"); ok && slices.Contains(lineup.Clients(), runtime) && len(id) >= 36 {
		return compact.Seat{Client: runtime, Session: id}, nil
	}
	live := compact.Look(ctx, nil, lineup.Clients(), adaptersOf(lineup), time.Now())
	var unseen []bridge.Session
	for _, s := range live.Standings {
		unseen = append(unseen, bridge.Session{Client: client.Client(s.Seat.Client), ID: s.Seat.Session, CWD: s.Seat.CWD, Transcript: s.Seat.Transcript})
	}
	if s, err = bridge.Find(unseen, name); err != nil {
		return compact.Seat{}, err
	}
	return seatOf(s), nil
}

func seatOf(s bridge.Session) compact.Seat {
	return compact.Seat{Address: s.Seat, Client: string(s.Client), Session: s.ID, Transcript: s.Transcript, CWD: s.CWD}
}

// adaptersOf gives a survey the adapters of a lineup.
func adaptersOf(l *host.Lineup) compact.Adapters {
	return func(ctx context.Context, name string) (plugins.Runtime, bool, error) {
		r, err := l.Get(ctx, name)
		if errors.Is(err, host.ErrNoAdapter) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		return r, true, nil
	}
}

// continuity tells what the hooks made of a compaction.
type continuity struct{ b *bridge.Bridge }

func (k continuity) Delivery(ctx context.Context, s compact.Seat, since time.Time) (compact.Delivery, bool, error) {
	sessions, err := k.b.Sessions(ctx)
	if err != nil {
		return compact.Delivery{}, false, err
	}
	for _, have := range sessions {
		if string(have.Client) != s.Client || have.ID != s.Session || len(have.Compactions) == 0 {
			continue
		}
		newest := have.Compactions[0]
		if newest.Begun.Before(since) {
			return compact.Delivery{}, false, nil
		}
		return compact.Delivery{
			ID: newest.ID, State: string(newest.State), Words: newest.Words, Packet: newest.Packet,
			Proves: proves(newest.State), Asked: compact.Asked(newest.Directive, newest.Packet),
		}, true, nil
	}
	return compact.Delivery{}, false, nil
}

// proves says whether an attempt in that state saw its compaction happen.
func proves(s bridge.State) bool {
	switch s {
	case bridge.Armed, bridge.Claimed1, bridge.Emitted1, bridge.Claimed2, bridge.Emitted2, bridge.Confirmed, bridge.Unverifiable:
		return true
	}
	return false
}

func (c *call) keepReceipt(b *bridge.Bridge, r compact.Report) {
	receipt := bridge.Receipt{
		Time: time.Now(), Version: version.Number, Client: client.Client(r.Client), Event: eventCompact,
		Mechanism: strings.TrimSuffix(string(r.Result.Mechanism)+" by "+string(r.Result.Channel), " by "),
		Session:   r.Session, Seat: r.Seat, Decision: bridge.Decision(r.Outcome), Reason: string(r.Reason),
		Millis: float64(r.Took.Milliseconds()),
	}
	if r.Delivery != nil {
		receipt.ID = r.Delivery.ID
	}
	if err := b.Keep(receipt); err != nil {
		c.fail(exitOK, fmt.Errorf("keeping a receipt: %w", err), "")
	}
}

// tellStep shows a person what happens, as it happens.
func (c *call) tellStep(h compact.Happening) {
	switch {
	case h.Done:
		c.printf("%-8s %s (%.1f s)\n", h.Step, h.Detail, h.Took.Seconds())
	case h.Stage == "":
		c.printf("%-8s ...\n", h.Step)
	default:
		c.printf("%-8s   %s%s\n", "", h.Stage, prefixed(": ", h.Detail))
	}
}

func (c *call) tellReport(r compact.Report, o compact.Options) int {
	code := compactCode(r)
	if o.DryRun {
		c.printf("%s: %s; nothing was touched\n", r.Seat, orWord(string(r.Outcome), "it would be compacted"))
		return code
	}
	c.printf("%s: %s in %.1f s\n", r.Seat, r.Outcome, r.Took.Seconds())
	if r.Result.Mechanism != "" {
		c.printf("  by        %s through %s\n", r.Result.Mechanism, orWord(string(r.Result.Channel), "no channel"))
	}
	if r.Outcome == plugins.Compacted {
		c.printf("  evidence  %s\n", r.Result.Evidence)
	}
	if d := r.Delivery; d != nil {
		c.printf("  directive %s\n", wrap(strings.TrimPrefix(d.ID+": "+d.Words, ": "), 0, 79))
	}
	if o.NoRestore && r.Outcome == plugins.Compacted {
		c.printf("  next      the directive comes with the session's next turn\n")
	}
	if r.Audit != nil {
		c.printf("  audit     %s\n", r.Audit)
	}
	if code != exitOK {
		return c.fail(code, fmt.Errorf("%s: %s%s", r.Seat, r.Outcome, prefixed(": ", r.Detail)), compactHint(r))
	}
	return code
}

func compactCode(r compact.Report) int {
	switch r.Outcome {
	case plugins.Compacted:
		return exitOK
	case "":
		if r.DryRun {
			return exitOK
		}
		return exitUnknown
	case plugins.TimedOut, plugins.Unknown:
		return exitUnknown
	}
	return exitNo
}

// compactHint says what a person can do about an outcome.
func compactHint(r compact.Report) string {
	switch r.Outcome {
	case plugins.Busy:
		return "try again when it is idle, or give --wait-idle more time"
	case plugins.Blocked:
		return "another hook of the client forbids it: look at its settings"
	case plugins.Unsupported:
		return "start the seat in tmux: reseat launch SEAT --tmux NAME"
	case plugins.TimedOut, plugins.Unknown:
		return "look at the session before trying again; reseat status shows what the hooks saw"
	case plugins.NoHistory:
		return "the packet, if there is one, can start a new session: reseat packet read"
	}
	return ""
}

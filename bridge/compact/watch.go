package compact

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sort"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/packet/transcript"
	"github.com/reseat-dev/reseat/plugins"
)

// giveUpAfter is how many attempts in a row may leave a seat above its threshold
// before it is left alone.
const giveUpAfter = 2

// Decision is what a watcher decided about a seat, and why: one line of its log.
type Decision struct {
	At      time.Time       `json:"at"`
	Seat    string          `json:"seat"`
	Client  string          `json:"client"`
	Session string          `json:"session"`
	Act     bool            `json:"act"` // a compaction was begun
	Reason  string          `json:"reason"`
	Percent float64         `json:"percent,omitempty"`
	Tokens  int64           `json:"tokens,omitempty"`
	Outcome plugins.Outcome `json:"outcome,omitempty"`
	Detail  string          `json:"detail,omitempty"`
}

// String is the decision in one line.
func (d Decision) String() string {
	text := d.At.Format(time.RFC3339) + " " + d.Seat + ": " + d.Reason
	if d.Outcome != "" {
		text += ": " + string(d.Outcome)
	}
	if d.Detail != "" {
		text += ": " + d.Detail
	}
	return text
}

// The reasons of a watcher.
const (
	reasonOff        = "off"
	reasonNoSession  = "nobody has it open"
	reasonUnknown    = "usage unknown"
	reasonStale      = "the sample isn't fresh"
	reasonBelow      = "below its threshold"
	reasonCooling    = "inside its cool-down"
	reasonQuiet      = "quiet hours"
	reasonStopped    = "stopped"
	reasonNotIdle    = "not idle"
	reasonChannel    = "no way to reach it"
	reasonPending    = "an attempt is still under way"
	reasonSettled    = "an earlier attempt was settled"
	reasonCompacting = "compacting"
	reasonCompacted  = "done"
)

// Watcher keeps seats below their thresholds.
type Watcher struct {
	Home       state.Home
	Seats      func(context.Context) ([]Seat, error)
	Clients    []string
	Adapters   Adapters
	Policy     func(Seat) config.Policy
	Continuity Continuity
	Log        func(Decision)
	Done       func(Report)                                                // told of each attempt; nil: nobody
	Notify     func(ctx context.Context, command []string, r Report) error // nil takes RunNotify
	Now        func() time.Time
	Settle     time.Duration // how long an attempt without a trace is still waited for; 0: half a minute
}

// ErrWatching is returned where another watcher is at work on this state.
var ErrWatching = errors.New("another watcher is at work")

// Once looks at every seat once and compacts those that are due, one after the
// other. It is what a timer calls; Watch calls it again and again.
func (w *Watcher) Once(ctx context.Context) error {
	unlock, err := lockWatch(w.Home)
	if err != nil {
		return err
	}
	defer unlock()
	return w.round(ctx)
}

// Watch works until the context ends. A round that fails is told and tried
// again.
func (w *Watcher) Watch(ctx context.Context, every time.Duration, failed func(error)) error {
	unlock, err := lockWatch(w.Home)
	if err != nil {
		return err
	}
	defer unlock()
	for {
		if err := w.round(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(every):
		}
	}
}

func (w *Watcher) round(ctx context.Context) error {
	ledger, err := readLedger(w.Home)
	if err != nil {
		return err
	}
	seats, err := w.Seats(ctx)
	if err != nil {
		return err
	}
	survey := Look(ctx, seats, w.Clients, w.Adapters, w.Now())
	sort.SliceStable(survey.Standings, func(i, j int) bool { // the fullest first
		return survey.Standings[i].Usage.Tokens > survey.Standings[j].Usage.Tokens
	})
	ledger.prune(w.Now())
	for _, s := range survey.Standings {
		if ctx.Err() != nil {
			break
		}
		if err := w.attend(ctx, ledger, s); err != nil {
			return err
		}
	}
	return ledger.write(w.Home)
}

// attend decides about one seat and acts.
func (w *Watcher) attend(ctx context.Context, l *Ledger, s Standing) error {
	r := l.of(s.Seat)
	r.Seen = w.Now()
	p := w.Policy(s.Seat)
	if r.Pending != nil {
		if settled := w.settle(ctx, r, s); !settled {
			w.say(s, false, reasonPending, "", "")
			return nil
		}
		if err := l.write(w.Home); err != nil {
			return err
		}
	}
	reason, detail := w.decide(r, s, p)
	if reason != "" {
		w.say(s, false, reason, "", detail)
		return nil
	}
	return w.act(ctx, l, r, s, p)
}

// decide says why a seat isn't compacted now; "" means that it is due.
func (w *Watcher) decide(r *Record, s Standing, p config.Policy) (reason, detail string) {
	if !p.Enabled {
		return reasonOff, p.Reason
	}
	if s.Gap != "" {
		return reasonUnknown, s.Gap
	}
	if s.Live == nil {
		return reasonNoSession, ""
	}
	if s.Usage.Unknown != plugins.UsageKnown {
		return reasonUnknown, string(s.Usage.Unknown)
	}
	if !s.Usage.Fresh() {
		return reasonStale, ""
	}
	if !over(s.Usage, p) {
		r.Attempts, r.Stopped = 0, ""
		return reasonBelow, ""
	}
	switch now := w.Now(); {
	case r.Stopped != "":
		return reasonStopped, r.Stopped
	case !r.Last.IsZero() && now.Sub(r.Last) < time.Duration(p.Cooldown):
		return reasonCooling, ""
	case quiet(p.QuietHours, now):
		return reasonQuiet, ""
	case s.Live.Channel == "":
		return reasonChannel, ""
	case s.Live.State != plugins.StateIdle:
		return reasonNotIdle, string(s.Live.State)
	case r.Attempts >= giveUpAfter:
		r.Stopped = fmt.Sprintf("%d attempts in a row left it above its threshold (the last: %s); it is left alone until it was below", r.Attempts, r.Outcome)
		return reasonStopped, r.Stopped
	}
	return "", ""
}

// over says whether the usage is at or above the policy's threshold.
func over(u plugins.Usage, p config.Policy) bool {
	if p.ThresholdTokens > 0 && u.Tokens >= p.ThresholdTokens {
		return true
	}
	return u.Window > 0 && p.ThresholdPercent > 0 && u.Percent >= float64(p.ThresholdPercent)
}

func quiet(hours []config.Hours, now time.Time) bool {
	for _, h := range hours {
		if h.Contains(now.Local()) {
			return true
		}
	}
	return false
}

// act compacts the seat. The intent is on disk before anything is sent.
func (w *Watcher) act(ctx context.Context, l *Ledger, r *Record, s Standing, p config.Policy) error {
	r.Pending = &Pending{Since: w.Now(), From: sizeOf(s.Seat.Transcript)}
	if err := l.write(w.Home); err != nil {
		r.Pending = nil
		return err
	}
	w.say(s, true, reasonCompacting, "", "")
	runtime, ok, err := w.Adapters(ctx, s.Seat.Client)
	if err != nil || !ok {
		r.Pending = nil
		return err
	}
	guide := Guide{Runtime: runtime, Continuity: w.Continuity, Home: w.Home, Now: w.Now}
	report := guide.Run(ctx, s.Seat, Options{
		Prep: p.Prep, NoPrep: p.Prep == "", NoRestore: !p.RestoreTurn, Instructions: p.Instructions, Timeout: DefaultTimeout,
	}, func(Happening) {})
	w.note(r, s, p, report)
	if err := l.write(w.Home); err != nil {
		return err
	}
	w.say(s, true, reasonCompacted, report.Outcome, InWords(report.Result))
	if w.Done != nil {
		w.Done(report)
	}
	w.tell(ctx, s, p.Notify, report)
	return nil
}

// note puts the end of an attempt into the record. An attempt whose end isn't
// known stays pending: the next round looks at what the client did.
func (w *Watcher) note(r *Record, s Standing, p config.Policy, report Report) {
	switch report.Outcome {
	case plugins.Unknown, plugins.TimedOut:
		r.Pending.Ended = report.Outcome
		return
	case plugins.Busy:
		r.Pending = nil // nothing was done, and it may be free soon
		return
	}
	w.ended(r, report.Outcome, w.Now())
	r.Attempts++
	b := report.Result.Boundary
	if report.Outcome != plugins.Compacted || b == nil {
		return
	}
	r.Boundary = b.Offset
	if after := s.Usage; b.PostTokens > 0 {
		after.Tokens = b.PostTokens
		if after.Window > 0 {
			after.Percent = 100 * float64(after.Tokens) / float64(after.Window)
		}
		if !over(after, p) {
			r.Attempts = 0 // it helped; a new crossing is a new cause
		}
	}
}

func (w *Watcher) ended(r *Record, o plugins.Outcome, at time.Time) {
	r.Pending, r.Last, r.Outcome = nil, at, o
}

// settle finds out what became of an attempt whose watcher died, or whose end
// wasn't seen. A boundary beyond where it began, or a directive of ours that was
// delivered since, is its compaction. Without one it counts as failed once the
// client is idle again, or its session closed; while the client is busy nothing
// is known. A watcher's own death is no failure of the seat's, but the cool-down
// counts from that attempt all the same.
func (w *Watcher) settle(ctx context.Context, r *Record, s Standing) bool {
	if proof := w.proof(ctx, r, s); proof != "" {
		w.ended(r, plugins.Compacted, r.Pending.Since)
		r.Attempts++
		w.say(s, false, reasonSettled, plugins.Compacted, proof)
		return true
	}
	state := s.State()
	if state != plugins.StateIdle && state != plugins.StateClosed || w.Now().Sub(r.Pending.Since) < cmp.Or(w.Settle, settleAfter) {
		return false
	}
	if r.Pending.Ended != "" {
		r.Attempts++
	}
	w.ended(r, plugins.Failed, r.Pending.Since)
	w.say(s, false, reasonSettled, plugins.Failed, "the client is "+string(state)+" and shows no compaction")
	return true
}

// proof says in words what shows that a pending attempt compacted, "" if nothing
// does.
func (w *Watcher) proof(ctx context.Context, r *Record, s Standing) string {
	tail, err := transcript.After(ctx, client.Client(s.Seat.Client), s.Seat.Transcript, r.Pending.From, nil)
	if err == nil && len(tail.Boundaries) > 0 {
		r.Boundary = tail.Boundaries[len(tail.Boundaries)-1].Offset
		return "its boundary is in the transcript"
	}
	if w.Continuity == nil {
		return ""
	}
	d, ok, err := w.Continuity.Delivery(ctx, s.Seat, r.Pending.Since)
	if err == nil && ok && d.Proves {
		return "our hooks saw it end (" + d.State + ")"
	}
	return ""
}

// settleAfter is how long after its beginning an attempt without a trace is
// still waited for.
const settleAfter = 30 * time.Second

func (w *Watcher) say(s Standing, act bool, reason string, o plugins.Outcome, detail string) {
	w.Log(Decision{
		At: w.Now(), Seat: s.Seat.Label(), Client: s.Seat.Client, Session: s.Seat.Session, Act: act, Reason: reason,
		Percent: s.Usage.Percent, Tokens: s.Usage.Tokens, Outcome: o, Detail: detail,
	})
}

func (w *Watcher) tell(ctx context.Context, s Standing, command []string, report Report) {
	if len(command) == 0 {
		return
	}
	notify := w.Notify
	if notify == nil {
		notify = RunNotify
	}
	if err := notify(ctx, command, report); err != nil {
		w.say(s, false, "the configured command failed", "", err.Error())
	}
}

// notifyTimeout bounds a configured command.
const notifyTimeout = 30 * time.Second

// RunNotify tells a command of a compaction: the report as JSON on its stdin.
func RunNotify(ctx context.Context, command []string, r Report) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(append(data, '\n'))
	cmd.WaitDelay = time.Second
	return cmd.Run()
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

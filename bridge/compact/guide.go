package compact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
)

// Delivery is what the hooks around a compaction made of its directive.
type Delivery struct {
	ID     string   `json:"id"`
	State  string   `json:"state"` // prepared, armed, emitted1, confirmed, ...
	Words  string   `json:"words"` // for a person
	Packet string   `json:"packet,omitempty"`
	Proves bool     `json:"-"` // the hooks saw the compaction happen
	Asked  []string `json:"-"` // absolute paths of the files that the directive asks to read
}

// Continuity tells what became of a session's directive: package bridge, behind
// the one question that is asked of it.
type Continuity interface {
	// Delivery returns the newest attempt of the session that began at or after
	// since; ok is false if there is none.
	Delivery(ctx context.Context, s Seat, since time.Time) (d Delivery, ok bool, err error)
}

// Options are how a person wants a seat compacted. The zero value takes the
// turns' built-in texts and waits for nothing.
type Options struct {
	Prep         string        // the preparation turn; "" takes the built-in text
	Restore      string        // the restore turn; "" takes the built-in text
	Instructions string        // for the client's summary
	NoPrep       bool          // leave the preparation turn out
	NoRestore    bool          // leave the restore turn and the audit out
	WaitIdle     time.Duration // for the seat to become idle, before each stage
	Timeout      time.Duration // for each stage's work
	DryRun       bool          // check, touch nothing
}

// DefaultWaitIdle and DefaultTimeout are a person's patience where none is
// given.
const (
	DefaultWaitIdle = 120 * time.Second
	DefaultTimeout  = 180 * time.Second
)

// Step is a stage of the guided way.
type Step string

// The steps, in order. Any but StepCompact may be left out.
const (
	StepPrep    Step = "prep"
	StepCompact Step = "compact"
	StepRestore Step = "restore"
	StepAudit   Step = "audit"
)

// Happening is something that a person watching sees: a step's beginning, a
// stage within it, or its end.
type Happening struct {
	Step   Step          `json:"step"`
	Stage  plugins.Stage `json:"stage,omitempty"` // "" at a step's beginning and end
	Done   bool          `json:"done,omitempty"`
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took,omitempty"` // at a step's end
	Detail string        `json:"detail,omitempty"`
}

// StepReport is how a step ended.
type StepReport struct {
	Step    Step            `json:"step"`
	Outcome plugins.Outcome `json:"outcome,omitempty"`
	Reason  plugins.Reason  `json:"reason,omitempty"`
	Detail  string          `json:"detail,omitempty"`
	Took    time.Duration   `json:"took"`
}

// Report is how a guided compaction ended. Outcome is the compaction's; where
// the preparation didn't end, the compaction wasn't triggered and Outcome says
// why.
type Report struct {
	Seat      string          `json:"seat"`
	Client    string          `json:"client"`
	Session   string          `json:"session"`
	Outcome   plugins.Outcome `json:"outcome"`
	Reason    plugins.Reason  `json:"reason,omitempty"`
	Detail    string          `json:"detail,omitempty"`
	Triggered bool            `json:"triggered"` // the client may have seen the trigger
	Result    plugins.Result  `json:"result"`    // the adapter's own
	Steps     []StepReport    `json:"steps"`
	Delivery  *Delivery       `json:"delivery,omitempty"`
	Audit     *Audit          `json:"audit,omitempty"`
	Began     time.Time       `json:"began"`
	Took      time.Duration   `json:"took"`
	DryRun    bool            `json:"dry_run,omitempty"`
}

// Guide compacts a seat the guided way.
type Guide struct {
	Runtime    plugins.Runtime
	Continuity Continuity // nil: nothing is known of directives
	Home       state.Home // where the seat's lock is
	Now        func() time.Time
}

// run is one guided compaction.
type run struct {
	*Guide
	seat   Seat
	opt    Options
	tell   func(Happening)
	report Report
}

// Run compacts the seat. Only one runs at a time for a session, also across
// processes; a second is told so and does nothing. The context's end stops what
// can be stopped, and the report says how far it came.
func (g *Guide) Run(ctx context.Context, seat Seat, o Options, tell func(Happening)) Report {
	r := &run{Guide: g, seat: seat, opt: o, tell: tell, report: Report{
		Seat: seat.Label(), Client: seat.Client, Session: seat.Session, Began: g.Now(), DryRun: o.DryRun, Steps: []StepReport{},
	}}
	unlock, err := lock(g.Home, seat)
	switch {
	case errors.Is(err, errLocked):
		r.end(plugins.Busy, plugins.ReasonCompacting, "another compaction of this seat is under way")
	case err != nil:
		r.end(plugins.Failed, "", err.Error())
	default:
		defer unlock()
		r.all(ctx)
	}
	r.report.Took = g.Now().Sub(r.report.Began)
	return r.report
}

func (r *run) all(ctx context.Context) {
	if !r.opt.NoPrep && !r.opt.DryRun && !r.prep(ctx) {
		return
	}
	if !r.compact(ctx) || r.opt.DryRun {
		return
	}
	if !r.opt.NoRestore {
		r.restore(ctx)
	}
	r.delivery(ctx)
	if !r.opt.NoRestore {
		r.audit(ctx)
	}
}

func (r *run) end(o plugins.Outcome, reason plugins.Reason, detail string) {
	r.report.Outcome, r.report.Reason, r.report.Detail = o, reason, detail
}

// patience is what one step may take.
func (r *run) patience() plugins.Patience {
	return plugins.Patience{WaitIdle: r.opt.WaitIdle, Timeout: r.opt.Timeout}
}

// step runs one step and keeps its report.
func (r *run) step(s Step, do func(stage func(plugins.Progress)) (plugins.Result, error)) plugins.Result {
	began := r.Now()
	r.tell(Happening{Step: s, At: began})
	result, err := do(func(p plugins.Progress) {
		r.tell(Happening{Step: s, Stage: p.Stage, At: p.At, Detail: p.Detail})
	})
	if err != nil {
		result = plugins.Result{Outcome: plugins.Unknown, Detail: err.Error(), State: plugins.StateUnknown, Evidence: plugins.EvidenceNone}
	}
	took := r.Now().Sub(began)
	r.report.Steps = append(r.report.Steps, StepReport{Step: s, Outcome: result.Outcome, Reason: result.Reason, Detail: result.Detail, Took: took})
	r.tell(Happening{Step: s, Done: true, At: r.Now(), Took: took, Detail: InWords(result)})
	return result
}

// prep gives the seat the turn in which it writes its recap. Without its end
// nothing is compacted: the seat may still be writing.
func (r *run) prep(ctx context.Context) bool {
	text := r.opt.Prep
	if text == "" {
		text = prepText
	}
	result := r.step(StepPrep, func(stage func(plugins.Progress)) (plugins.Result, error) {
		return r.Runtime.Turn(ctx, plugins.TurnRequest{Session: r.seat.ref(), Text: text, Patience: r.patience()}, stage)
	})
	if result.Outcome == plugins.Answered {
		return true
	}
	r.report.Result = result
	r.end(r.known(result.Outcome), result.Reason, "the preparation turn didn't end, so nothing was compacted: "+InWords(result))
	return false
}

func (r *run) compact(ctx context.Context) bool {
	result := r.step(StepCompact, func(stage func(plugins.Progress)) (plugins.Result, error) {
		return r.Runtime.Compact(ctx, plugins.CompactRequest{
			Session: r.seat.ref(), Instructions: r.opt.Instructions, Patience: r.patience(), DryRun: r.opt.DryRun,
		}, stage)
	})
	r.report.Result, r.report.Triggered = result, result.Sent
	r.end(r.known(result.Outcome), result.Reason, result.Detail)
	return result.Outcome == plugins.Compacted
}

// known turns "nobody knows this id" into "the native session isn't there" for
// a session that our own state knows: there are packets or a binding, and they
// are no history.
func (r *run) known(o plugins.Outcome) plugins.Outcome {
	if o == plugins.NotFound && (r.seat.Address != "" || r.seat.Transcript != "") {
		return plugins.NoHistory
	}
	return o
}

// restore gives the seat a short ordinary message: with it the client brings the
// directive in. The message itself carries none.
func (r *run) restore(ctx context.Context) {
	text := r.opt.Restore
	if text == "" {
		text = restoreText
	}
	r.step(StepRestore, func(stage func(plugins.Progress)) (plugins.Result, error) {
		return r.Runtime.Turn(ctx, plugins.TurnRequest{Session: r.seat.ref(), Text: text, Patience: r.patience()}, stage)
	})
}

func (r *run) delivery(ctx context.Context) {
	if r.Continuity == nil {
		return
	}
	d, ok, err := r.Continuity.Delivery(ctx, r.seat, r.report.Began)
	switch {
	case err != nil:
		r.report.Delivery = &Delivery{Words: "what became of the directive can't be told: " + err.Error()}
	case !ok:
		r.report.Delivery = &Delivery{Words: "our hooks left no trace of this compaction: are they installed? (reseat doctor)"}
	default:
		r.report.Delivery = &d
	}
}

// audit looks which of the files that the directive asked for were opened.
func (r *run) audit(ctx context.Context) {
	d, b := r.report.Delivery, r.report.Result.Boundary
	if d == nil || d.ID == "" || b == nil {
		return
	}
	began := r.Now()
	r.tell(Happening{Step: StepAudit, At: began})
	audit, err := MakeAudit(ctx, r.seat, b.Offset, d.Asked)
	report := StepReport{Step: StepAudit, Took: r.Now().Sub(began)}
	if err != nil {
		report.Detail = err.Error()
	} else {
		r.report.Audit = &audit
		report.Detail = audit.String()
	}
	r.report.Steps = append(r.report.Steps, report)
	r.tell(Happening{Step: StepAudit, Done: true, At: r.Now(), Took: report.Took, Detail: report.Detail})
}

// InWords says a result in one line for a person.
func InWords(r plugins.Result) string {
	text := string(r.Outcome)
	if text == "" {
		text = "would go on"
	}
	if r.Reason != "" {
		text += " (" + string(r.Reason) + ")"
	}
	if b := r.Boundary; b != nil && b.PreTokens > 0 {
		text += fmt.Sprintf(", from %s tokens", grouped(b.PreTokens))
		if b.PostTokens > 0 {
			text += " to " + grouped(b.PostTokens)
		}
	}
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	return text
}

package bridge

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path/filepath"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// tooManyTurns: more human turns than this after a boundary, and its directive
// comes too late.
const tooManyTurns = 2

// atPrompt handles UserPromptSubmit: it confirms what was printed, delivers
// what is proved and was missed, and repeats what was proved lost.
//
// Nothing pending is the usual case and must stay one look at the newest
// attempt.
func (b *Bridge) atPrompt(ctx context.Context, e hooks.Event, dir string, out Sink) Outcome {
	if e.InSubagent() {
		return Outcome{Decision: DidIgnore, Reason: "a subagent's prompt"}
	}
	for range maxTries {
		attempts, err := pending(dir)
		if err != nil {
			return failed("the session's state couldn't be read", err)
		}
		if len(attempts) == 0 {
			return Outcome{Decision: DidNothing}
		}
		if why := b.off(e, dir); why != "" {
			return Outcome{Decision: DidSwitch, Reason: why}
		}
		if o, v := b.settle(ctx, e, attempts, out); v != again {
			return o
		}
	}
	return Outcome{Decision: DidLose, Reason: "other processes kept changing the session's state"}
}

// pending lists the session's attempts, newest first, if a prompt may still have
// to do with one of them: it is empty where the newest is settled, which shuts
// out all older ones. A superseded one says nothing: what superseded it may have
// died before its claim.
func pending(dir string) ([]*Attempt, error) {
	nums, err := numbers(dir)
	if err != nil {
		return nil, err
	}
	for _, n := range nums {
		// The name alone tells, and nothing follows a terminal state: at most prompts
		// no file is opened.
		s, err := stateOf(filepath.Join(dir, "c", attemptName(n)))
		switch {
		case errors.Is(err, fs.ErrNotExist): // pruned
			continue
		case err != nil:
			return nil, err
		case s == Superseded:
			continue
		case s.Terminal():
			return nil, nil
		}
		return Attempts(dir)
	}
	return nil, nil
}

// unsettled cuts attempts, newest first, behind the newest one that was claimed
// or came too late: it shuts out all older ones. A superseded one doesn't cut:
// the claim that superseded it may never have come about.
func unsettled(attempts []*Attempt) []*Attempt {
	for i, a := range attempts {
		if a.State.claimed() || a.State == TooLate {
			return attempts[:i+1]
		}
	}
	return attempts
}

// verdict is what looking at the pending attempts came to.
type verdict int

const (
	settled verdict = iota // there is nothing more to do
	again                  // another process was faster: decide from the start
	open                   // none of them is due
)

// settle decides on the pending attempts, newest first: one whose compaction is
// proved is delivered, one that was printed already is confirmed. That is left
// to the prompt where the event is a SessionStart.
func (b *Bridge) settle(ctx context.Context, e hooks.Event, attempts []*Attempt, out Sink) (Outcome, verdict) {
	s, err := b.scene(ctx, e, attempts)
	if err != nil {
		return failed("the transcript couldn't be read", err), settled
	}
	waiting := Outcome{Decision: DidNothing}
	shut := false // somebody found a newer one due, on evidence
	for _, a := range s.due {
		_, proved := s.given[a.Number]
		switch {
		case a.State == Superseded:
			shut = true
		case shut && !a.State.claimed():
		case !a.State.claimed() && raced(a, attempts):
			return b.drop(a)
		case a.State == Armed || a.State == Prepared:
			switch due, err := b.isDue(ctx, e, a, s); {
			case err != nil:
				return failed("the transcript couldn't be read", err), settled
			case !due:
				waiting = Outcome{Decision: DidNothing, ID: a.ID(), Reason: "prepared; no compaction followed"}
				continue
			}
			return b.deliver(ctx, e, a, s, out)
		case a.State == Begun:
			if a.rescuing(b.Now()) {
				return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "another process is rescuing it"}, settled
			}
			if !proved && a.Begin.Mechanism != ByPostCompact {
				continue
			}
			return b.rescueOf(ctx, e, a, s, out)
		case a.State.Terminal() || e.Name != hooks.UserPromptSubmit:
			return waiting, open
		default:
			return b.confirm(ctx, e, a, s, out)
		}
	}
	return waiting, open
}

// drop ends an attempt that lost a race.
func (b *Bridge) drop(a *Attempt) (Outcome, verdict) {
	if _, err := b.move(a, a.State, Superseded); err != nil {
		return Outcome{Decision: DidFail, ID: a.ID(), Reason: "it lost a race", Err: err}, settled
	}
	return Outcome{}, again
}

// scene is what a decision about pending attempts rests on.
type scene struct {
	attempts []*Attempt // all of the session, newest first
	due      []*Attempt // those that may still be decided on
	ability  hooks.Ability
	path     string // of the transcript
	tail     transcript.Tail
	size     int64 // of the transcript
	gone     bool  // the transcript isn't there
	given    map[int]transcript.Boundary
}

// last is the last boundary on disk, nil if there is none: a directive comes into
// the context behind it and so stands for all before it as well.
func (s scene) last() *transcript.Position {
	if n := len(s.tail.Boundaries); n > 0 {
		return &s.tail.Boundaries[n-1].Position
	}
	return nil
}

// tooLate reports whether the session moved on since its last compaction.
func (s scene) tooLate() bool {
	last := s.last()
	return last != nil && turnsAfter(s.tail, last.Offset) > tooManyTurns
}

// bid is the decision to print a for the first time.
func (s scene) bid(a *Attempt, proof *transcript.Position) bid {
	return bid{a: a, to: Claimed1, all: s.attempts, proof: proof, size: s.size}
}

func (b *Bridge) scene(ctx context.Context, e hooks.Event, attempts []*Attempt) (scene, error) {
	s := scene{
		attempts: attempts, due: unsettled(attempts), ability: b.ability(e, knownVersion(attempts)),
		path: firstOf(e.TranscriptPath, attempts[0].transcript()),
	}
	var err error
	s.tail, err = transcript.After(ctx, e.Client, s.path, leastReach(s.due), ids(s.due))
	s.size, s.gone = s.tail.Size, errors.Is(err, fs.ErrNotExist)
	if err != nil && !s.gone {
		return s, err
	}
	s.given = boundaries(s.due, s.tail, s.ability)
	return s, nil
}

// isDue reports whether an attempt is to be delivered: a boundary of its own is on
// disk, or its compaction was reported, or it is a rescue, which is only begun on
// evidence. Of two rescues that raced one is enough.
func (b *Bridge) isDue(ctx context.Context, e hooks.Event, a *Attempt, s scene) (bool, error) {
	if _, proved := s.given[a.Number]; proved {
		return true, nil
	}
	if a.Begin.Mechanism != ByRescue && a.State != Armed {
		return false, nil
	}
	return b.another(ctx, e, a, s.attempts, s.ability)
}

// deliver claims a pending attempt, unless it comes too late.
func (b *Bridge) deliver(ctx context.Context, e hooks.Event, a *Attempt, s scene, out Sink) (Outcome, verdict) {
	if _, proved := s.given[a.Number]; !proved {
		return b.claim(ctx, e, s.bid(a, nil), out)
	}
	if !s.tooLate() {
		return b.claim(ctx, e, s.bid(a, s.last()), out)
	}
	o, v := b.conclude(a, TooLate, DidTooLate, "more than two turns went by without it")
	if o.Decision == DidTooLate && e.Name == hooks.SessionStart {
		return o, again // it stands for a newer compaction
	}
	return o, v
}

// rescueOf rescues the compaction of an attempt that was begun and never
// prepared.
func (b *Bridge) rescueOf(ctx context.Context, e hooks.Event, begun *Attempt, s scene, out Sink) (Outcome, verdict) {
	var proof *transcript.Position
	if boundary, proved := s.given[begun.Number]; proved {
		proof = &boundary.Position
		if s.tooLate() {
			return Outcome{Decision: DidTooLate, Reason: "more than two turns went by without it"}, settled
		}
	}
	a, used, o := b.rescue(ctx, e, s.attempts, s.ability, begun.Begin.Turn, proof)
	if a == nil {
		if errors.Is(o.Err, errTaken) {
			return o, again
		}
		return o, settled
	}
	if used != nil {
		used = s.last()
	}
	return b.claim(ctx, e, s.bid(a, used), out)
}

func leastReach(attempts []*Attempt) int64 {
	least := attempts[0].reach()
	for _, a := range attempts {
		least = min(least, a.reach())
		if p := a.proof(); p != nil {
			least = min(least, p.Offset)
		}
	}
	return least
}

func ids(attempts []*Attempt) []string {
	all := make([]string, len(attempts))
	for i, a := range attempts {
		all[i] = a.ID()
	}
	return all
}

// confirm settles a claimed attempt: its trace stands in the transcript, or it
// is proved lost and is printed once more, or it waits.
func (b *Bridge) confirm(ctx context.Context, e hooks.Event, a *Attempt, s scene, out Sink) (Outcome, verdict) {
	if s.gone {
		return b.conclude(a, Unverifiable, DidGiveUp, "there is no transcript that could tell")
	}
	for i, id := range s.tail.TraceOf {
		if id == a.ID() && s.tail.Traces[i].Offset >= a.reach() {
			return b.conclude(a, Confirmed, DidConfirm, "")
		}
	}
	if a.State != Claimed1 && a.State != Emitted1 {
		return Outcome{Decision: DidWait, ID: a.ID(), Reason: "printed twice, not confirmed"}, settled
	}
	boundary, proved := s.given[a.Number]
	heldBefore := func(id string) bool {
		held, err := transcript.Holds(s.path, id, max(0, a.reach()-lookBack), boundary.Offset)
		return held || err != nil
	}
	if !proved || !lossProved(a, boundary, s.tail, s.ability, heldBefore) {
		return Outcome{Decision: DidWait, ID: a.ID(), Reason: "printed, not confirmed yet"}, settled
	}
	if held, err := transcript.Holds(s.path, a.ID(), boundary.Offset, math.MaxInt64); held || err != nil {
		return Outcome{Decision: DidWait, ID: a.ID(), Reason: "printed; it stands in the transcript, but not in a form that is known"}, settled
	}
	if s.tooLate() {
		return b.conclude(a, TooLate, DidTooLate, "it was lost, and more than two turns went by without it")
	}
	d := s.bid(a, s.last())
	d.to = Claimed2
	return b.claim(ctx, e, d, out)
}

// conclude moves the attempt to a state that nothing follows.
func (b *Bridge) conclude(a *Attempt, to State, d Decision, reason string) (Outcome, verdict) {
	won, err := b.move(a, a.State, to)
	if err == nil && !won {
		return Outcome{}, again
	}
	return Outcome{Decision: decided(err, d), ID: a.ID(), Err: err, Reason: reason}, settled
}

// lookBack is how far before a record's reach an answer's id is looked for, to
// tell a new answer from one that a compaction kept.
const lookBack = 4 << 20

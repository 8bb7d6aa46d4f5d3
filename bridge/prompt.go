package bridge

import (
	"context"
	"errors"
	"io/fs"

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
		if o, again := b.settle(ctx, e, dir, attempts, out); !again {
			return o
		}
	}
	return Outcome{Decision: DidLose, Reason: "other processes kept changing the session's state"}
}

// pending lists the attempts that a prompt may still have to do with, newest
// first: up to the newest that was claimed, which shuts out all older ones.
// It is empty where that one is settled and nothing newer is open.
func pending(dir string) ([]*Attempt, error) {
	nums, err := numbers(dir)
	if err != nil {
		return nil, err
	}
	var found []*Attempt
	for _, n := range nums {
		a, err := load(dir, n)
		if err != nil {
			return nil, err
		}
		if a == nil || a.State == Superseded {
			continue
		}
		if a.State.Terminal() && len(found) == 0 {
			return nil, nil
		}
		found = append(found, a)
		if a.State.Terminal() || a.State.claimed() {
			break
		}
	}
	return found, nil
}

// settle decides on the pending attempts, newest first.
func (b *Bridge) settle(ctx context.Context, e hooks.Event, dir string, attempts []*Attempt, out Sink) (o Outcome, again bool) {
	ability := b.ability(e, knownVersion(attempts))
	path := firstOf(e.TranscriptPath, attempts[0].transcript())
	tail, err := transcript.After(ctx, e.Client, path, leastReach(attempts), ids(attempts))
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return failed("the transcript couldn't be read", err), false
	}
	given := boundaries(attempts, tail.Boundaries)
	waiting := Outcome{Decision: DidNothing}
	for _, a := range attempts {
		boundary, proved := given[a.Number]
		switch a.State {
		case Armed, Prepared:
			if !proved && (a.State == Prepared || !b.another(ctx, e, a, claimedBefore(attempts, a.Number), ability)) {
				waiting = Outcome{Decision: DidNothing, ID: a.ID(), Reason: "prepared; no compaction followed"}
				continue
			}
			if proved && turnsAfter(tail, boundary.Offset) > tooManyTurns {
				won, err := b.move(a, a.State, TooLate)
				return Outcome{Decision: decided(err, DidTooLate), ID: a.ID(), Err: err, Reason: "more than two turns went by without it"}, err == nil && !won
			}
			var proof *transcript.Position
			if proved {
				proof = &boundary.Position
			}
			return b.claim(ctx, e, a, attempts, Claimed1, proof, out)
		case Begun:
			if a.rescuing(b.Now()) {
				return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "another process is rescuing it"}, false
			}
			if !proved && a.Begin.Mechanism != ByPostCompact {
				continue
			}
			return b.rescueAtPrompt(ctx, e, attempts, ability, tail, boundary, proved, out)
		case Confirmed, Superseded, Unverifiable, TooLate:
			return waiting, false
		default:
			return b.confirm(ctx, e, a, attempts, confirmation{tail, boundary, proved, gone, ability, path}, out)
		}
	}
	return waiting, false
}

func (b *Bridge) rescueAtPrompt(ctx context.Context, e hooks.Event, attempts []*Attempt, ability hooks.Ability, tail transcript.Tail, boundary transcript.Boundary, proved bool, out Sink) (Outcome, bool) {
	var proof *transcript.Position
	if proved {
		proof = &boundary.Position
		if turnsAfter(tail, boundary.Offset) > tooManyTurns {
			return Outcome{Decision: DidTooLate, Reason: "more than two turns went by without it"}, false
		}
	} else {
		// What PostCompact reported is proof enough; a boundary on disk isn't
		// asked for.
		ability.PostFirst = false
	}
	a, used, o := b.rescue(ctx, e, attempts, ability, proof)
	if a == nil {
		return o, errors.Is(o.Err, fs.ErrExist)
	}
	return b.claim(ctx, e, a, attempts, Claimed1, used, out)
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

// confirmation is what is known about a printed directive.
type confirmation struct {
	tail     transcript.Tail
	boundary transcript.Boundary
	proved   bool // the boundary is on disk
	gone     bool // the transcript isn't there
	ability  hooks.Ability
	path     string
}

// confirm settles a claimed attempt: its trace stands in the transcript, or it
// is proved lost and is printed once more, or it waits.
func (b *Bridge) confirm(ctx context.Context, e hooks.Event, a *Attempt, all []*Attempt, c confirmation, out Sink) (o Outcome, again bool) {
	if c.gone {
		won, err := b.move(a, a.State, Unverifiable)
		return Outcome{Decision: decided(err, DidGiveUp), ID: a.ID(), Err: err, Reason: "there is no transcript that could tell"}, err == nil && !won
	}
	for i, id := range c.tail.TraceOf {
		if id == a.ID() && c.tail.Traces[i].Offset >= a.reach() {
			won, err := b.move(a, a.State, Confirmed)
			return Outcome{Decision: decided(err, DidConfirm), ID: a.ID(), Err: err}, err == nil && !won
		}
	}
	if a.State != Claimed1 && a.State != Emitted1 {
		return Outcome{Decision: DidWait, ID: a.ID(), Reason: "printed twice, not confirmed"}, false
	}
	heldBefore := func(id string) bool {
		held, err := transcript.Holds(c.path, id, max(0, a.reach()-lookBack), c.boundary.Offset)
		return held || err != nil
	}
	if !c.proved || !lossProved(a, c.boundary, c.tail, c.ability, heldBefore) {
		return Outcome{Decision: DidWait, ID: a.ID(), Reason: "printed, not confirmed yet"}, false
	}
	if turnsAfter(c.tail, c.boundary.Offset) > tooManyTurns {
		won, err := b.move(a, a.State, TooLate)
		return Outcome{Decision: decided(err, DidTooLate), ID: a.ID(), Err: err, Reason: "it was lost, and more than two turns went by without it"}, err == nil && !won
	}
	return b.claim(ctx, e, a, all, Claimed2, &c.boundary.Position, out)
}

// lookBack is how far before a record's reach an answer's id is looked for, to
// tell a new answer from one that a compaction kept.
const lookBack = 4 << 20

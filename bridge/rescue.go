package bridge

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// rescue prepares an attempt now, where a compaction is proved and no attempt
// can be used: PreCompact was killed, timed out, never fired, or the hooks were
// installed a minute ago. turn is the client's id of the compaction's turn, if
// it is known; proof is the boundary that proved it, nil where the event itself
// did.
//
// A second copy of the hook and a queued second SessionStart look just the
// same, so nothing is rescued while a claim or another rescue happened since
// the model's last answer. a is nil where nothing is to be delivered; an
// Outcome whose error is errTaken asks to decide again from the start.
func (b *Bridge) rescue(ctx context.Context, e hooks.Event, attempts []*Attempt, ability hooks.Ability, turn string, proof *transcript.Position) (a *Attempt, used *transcript.Position, o Outcome) {
	ctx, cancel := context.WithTimeout(ctx, rescueLimit)
	defer cancel()
	if why := b.guarded(ctx, e, attempts, ability, turn); why != "" {
		return nil, nil, Outcome{Decision: DidNothing, Reason: why}
	}
	dir, err := b.session(aboutOf(e))
	if err != nil {
		return nil, nil, failed("the session's folder couldn't be made", err)
	}
	j := b.job(e, dir)
	j.Mechanism = ByRescue
	story, err := b.Packer.Read(ctx, j)
	if err != nil {
		story = &transcript.Story{Client: e.Client, Path: e.TranscriptPath, Caveats: []string{err.Error()}}
	}
	if proof == nil && ability.PostFirst {
		if proof, o = unusedBoundary(attempts, story, ability); o.Decision != "" {
			return nil, nil, o
		}
	}
	if err == nil && !story.Unread && len(story.Messages) == 0 && len(story.Opening) == 0 && story.Size > 0 {
		return nil, nil, Outcome{Decision: DidNothing, Reason: "an empty session"}
	}
	next := 1
	if len(attempts) > 0 {
		next = attempts[0].Number + 1
	}
	begin := b.begin(e, ByRescue)
	begin.Turn, begin.Proof = turn, proof
	begin.After = newestClaimed(attempts)
	a, err = b.take(dir, next, begin)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil, Outcome{Decision: DidLose, Err: errTaken}
	}
	if err != nil {
		return nil, nil, failed("no rescue could be begun", err)
	}
	if err := b.commit(ctx, j, a, story); err != nil {
		if errors.Is(err, errOvertaken) {
			return nil, nil, Outcome{Decision: DidLose, ID: a.ID(), Reason: "a newer attempt was claimed meanwhile"}
		}
		if a.State == Prepared {
			return a, proof, Outcome{} // whole, but perhaps not safe from a power loss
		}
		r := b.record(j.of(a), a, story.Reach)
		r.Caveat = err.Error()
		r.Directive = b.Packer.Degraded(j.of(a), err.Error())
		b.disk.remove(filepath.Join(a.Dir, "record.json")) // what went wrong may have come after it
		if err := b.finish(a, r); err != nil {
			return nil, nil, Outcome{Decision: DidFail, ID: a.ID(), Reason: "nothing could be written", Err: err}
		}
	}
	return a, proof, Outcome{}
}

// errTaken: another process took the number.
var errTaken = errors.New("another process was faster")

// guarded says why nothing may be rescued now, "" if it may. A compaction in
// another turn than that of the last directive is another compaction, and so is
// one whose boundary lies behind that directive's.
func (b *Bridge) guarded(ctx context.Context, e hooks.Event, attempts []*Attempt, ability hooks.Ability, turn string) string {
	for _, a := range attempts {
		switch {
		case a.rescuing(b.Now()):
			return "another process is rescuing it"
		case a.State == TooLate:
			return ""
		case a.State.claimed():
			if a.inAnotherTurn(turn) || ability.PostFirst && a.proof() != nil {
				return "" // the turn tells, or the boundary will
			}
			tail, err := transcript.After(ctx, e.Client, firstOf(e.TranscriptPath, a.transcript()), a.reach(), nil)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "whether the model answered since the last directive couldn't be told"
			}
			if !answeredSince(a, tail) {
				return "a directive was delivered since the model's last answer"
			}
			return ""
		}
	}
	return ""
}

func (a *Attempt) transcript() string {
	if a.Record == nil {
		return ""
	}
	return a.Record.Transcript
}

// unusedBoundary finds the boundary of the compaction that an event reports,
// where the client has it on disk by then. A late copy of the hook reports one
// that was armed or claimed already. Where no transcript is kept the event alone
// has to do.
func unusedBoundary(attempts []*Attempt, story *transcript.Story, ability hooks.Ability) (*transcript.Position, Outcome) {
	if story.Size == 0 {
		return nil, Outcome{}
	}
	if len(story.Boundaries) == 0 {
		return nil, Outcome{Decision: DidNothing, Reason: "no compaction stands in the transcript"}
	}
	last := story.Boundaries[len(story.Boundaries)-1]
	given := boundaries(unsettled(attempts), transcript.Tail{Boundaries: story.Boundaries}, ability)
	for _, a := range attempts {
		g, ok := given[a.Number]
		if a.covers(last.Offset) || ok && g.Offset == last.Offset && (a.State == Armed || a.State.claimed()) {
			return nil, Outcome{Decision: DidNothing, ID: a.ID(), Reason: "its compaction is " + string(a.State) + " already"}
		}
	}
	return &last.Position, Outcome{}
}

// sessionOf is the session folder of an attempt.
func sessionOf(a *Attempt) string { return filepath.Dir(filepath.Dir(a.Dir)) }

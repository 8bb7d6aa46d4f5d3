package bridge

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// mainCompacted reports whether a SessionStart(compact) or PostCompact proves
// that the main session was compacted, and if not, why.
//
// Versions that mark a subagent's events settle it by agent_id. On older ones
// the event proves something only while no subagent is at work.
func (b *Bridge) mainCompacted(ctx context.Context, e hooks.Event, ability hooks.Ability) (proved bool, why string) {
	if e.InSubagent() {
		return false, "a subagent's compaction"
	}
	if ability.MarksSubagents {
		return true, ""
	}
	busy, err := transcript.SubagentsAtWork(ctx, e.TranscriptPath)
	switch {
	case err != nil:
		return false, "whether a subagent was compacted couldn't be told"
	case busy:
		return false, "a subagent is at work, and this client version doesn't tell whose compaction it was"
	}
	return true, ""
}

// mark names a position for good: the record's own id, else its offset.
func mark(p transcript.Position) string {
	if p.ID != "" {
		return p.ID
	}
	return "offset:" + strconv.FormatInt(p.Offset, 10)
}

// boundaries gives each boundary of the transcript to at most one attempt: it
// proves the compaction of that one and of no other.
//
// A claimed attempt takes its boundary first, however late that reached the
// disk: the one it names, else the first beyond its reach. What is left goes to
// the newest pending attempt that doesn't reach it.
//
// An old client can bring the boundaries of several compactions to the disk
// late, also of such whose attempts were superseded. So where an earlier
// compaction may have left one over, a boundary must also be younger than the
// attempt that it is to prove; and where there was no transcript at all when
// the attempt began, because what appears then can be a copy (a fork's).
func boundaries(attempts []*Attempt, seen []transcript.Boundary) map[int]transcript.Boundary {
	given := make(map[int]transcript.Boundary)
	used := make(map[int64]bool)
	give := func(a *Attempt, fits func(transcript.Boundary) bool) {
		for _, s := range seen {
			if !used[s.Offset] && fits(s) {
				used[s.Offset] = true
				given[a.Number] = s
				return
			}
		}
	}
	oldestFirst := slices.Clone(attempts)
	slices.Reverse(oldestFirst)
	for _, a := range oldestFirst {
		if proof := a.proof(); a.State.claimed() && proof != nil {
			give(a, func(s transcript.Boundary) bool { return mark(s.Position) == mark(*proof) })
		}
	}
	for _, a := range oldestFirst {
		if a.State.claimed() && a.proof() == nil {
			give(a, func(s transcript.Boundary) bool { return s.Offset >= a.reach() })
		}
	}
	left := slices.ContainsFunc(attempts, func(a *Attempt) bool { return a.State.claimed() || a.State == Superseded })
	for _, a := range attempts {
		switch a.State {
		case Begun, Prepared, Armed:
			if proof := a.proof(); proof != nil {
				give(a, func(s transcript.Boundary) bool { return mark(s.Position) == mark(*proof) })
				continue
			}
			young := left || a.reach() == 0
			give(a, func(s transcript.Boundary) bool {
				return s.Offset >= a.reach() && !(young && older(s.Time, a.Begin.Time))
			})
		}
	}
	return given
}

// older reports whether a record's time is before the time given. The clients
// write milliseconds.
func older(record, than time.Time) bool {
	return !record.IsZero() && record.Before(than.Truncate(time.Millisecond))
}

// proof is the boundary that an attempt is known to stand for, nil if none is.
func (a *Attempt) proof() *transcript.Position {
	if a.Begin.Proof != nil {
		return a.Begin.Proof
	}
	for _, c := range a.Claims() {
		if c.Proof != nil {
			return c.Proof
		}
	}
	return nil
}

// another reports whether attempt n, which an event would have delivered,
// stands for another compaction than the older attempt that was claimed
// already. A second copy of a hook that prepares late looks like a compaction of
// its own until it is asked this.
//
// Where the boundary is on disk when the event comes, one that the older
// attempt hasn't used must be n's. Elsewhere the client's id of the turn tells,
// or the model must have answered since the claim: one turn compacts twice only
// with an answer in between.
func (b *Bridge) another(ctx context.Context, e hooks.Event, n *Attempt, attempts []*Attempt, ability hooks.Ability) bool {
	m := claimedBefore(attempts, n.Number)
	if n.Begin.Mechanism == ByRescue {
		return m == nil || n.Begin.After >= m.Number
	}
	if ability.PostFirst {
		s, err := b.scene(ctx, e, attempts)
		if _, proved := s.given[n.Number]; err != nil || !s.gone {
			return err == nil && proved
		}
	}
	if m == nil || m.inAnotherTurn(n.Begin.Turn) {
		return true
	}
	claim, ok := m.lastClaim()
	if !ok {
		return false
	}
	if n.Record != nil && answers(n.Record.Reach.LastAnswer, claim) {
		return true
	}
	tail, err := transcript.After(ctx, e.Client, firstOf(e.TranscriptPath, n.transcript()), claim.Bytes, nil)
	return err == nil && answeredSince(m, tail)
}

// claimedBefore is the newest claimed attempt older than number, nil if there is
// none.
func claimedBefore(attempts []*Attempt, number int) *Attempt {
	for _, a := range attempts {
		if a.Number < number && a.State.claimed() {
			return a
		}
	}
	return nil
}

// answeredSince reports whether the model has answered since the attempt was
// claimed. It errs towards no: an answer that may be older proves nothing.
//
// Both position and time count: an old client writes the last turn late, and
// what it writes late is older than the claim.
func answeredSince(a *Attempt, tail transcript.Tail) bool {
	claim, ok := a.lastClaim()
	return ok && slices.ContainsFunc(tail.Answers, func(p transcript.Position) bool { return answers(p, claim) })
}

// turn is the client's id of the turn of the attempt's compaction, "" if it isn't
// known. An attempt can have been begun for a compaction that failed, and serve
// for a later one whose own PreCompact never ran: then the claim knows.
func (a *Attempt) turn() string {
	if claim, ok := a.lastClaim(); ok && claim.Event == hooks.SessionStart && claim.Turn != "" {
		return claim.Turn
	}
	return a.Begin.Turn
}

// inAnotherTurn reports whether the attempt was claimed for a compaction of
// another turn than the one named. A client may name none, and a prompt's is not
// the compaction's: then the answer is no.
func (a *Attempt) inAnotherTurn(turn string) bool {
	claim, ok := a.lastClaim()
	return ok && claim.Event == hooks.SessionStart && claim.Turn != "" && turn != "" && claim.Turn != turn
}

// lastClaim is what the attempt's newest claim noted. A claim that died before
// it noted anything printed nothing, and came after the record was written.
func (a *Attempt) lastClaim() (c Claim, ok bool) {
	if claims := a.Claims(); len(claims) > 0 {
		return claims[len(claims)-1], true
	}
	if a.State != Claimed1 || a.Record == nil {
		return Claim{}, false
	}
	return Claim{Time: a.Record.Prepared, Bytes: a.Record.Reach.Bytes}, true
}

// answers reports whether the model's answer at p is newer than the claim.
func answers(p transcript.Position, c Claim) bool {
	return p.Offset >= c.Bytes && p.Time.After(c.Time)
}

// turnsAfter counts a person's prompts beyond offset that the model answered.
func turnsAfter(tail transcript.Tail, offset int64) int {
	turns, open := 0, false
	prompts, answers := tail.Prompts, tail.Answers
	for len(prompts) > 0 || len(answers) > 0 {
		if len(answers) == 0 || len(prompts) > 0 && prompts[0].Offset < answers[0].Offset {
			open = open || prompts[0].Offset > offset
			prompts = prompts[1:]
			continue
		}
		if open && answers[0].Offset > offset {
			turns++
			open = false
		}
		answers = answers[1:]
	}
	return turns
}

// lossProved reports whether the client ran the hook and dropped its context:
// the boundary is on disk, the model answered after it and after the claim, no
// trace stands in between, and this client version's form of a trace is known.
func lossProved(a *Attempt, boundary transcript.Boundary, tail transcript.Tail, ability hooks.Ability, heldBefore func(id string) bool) bool {
	if tail.Contexts == 0 && !ability.KnowsTrace {
		return false
	}
	last, ok := a.lastClaim()
	if !ok {
		return false // printed, and nobody knows when: the note found no room
	}
	from := max(boundary.Offset, last.Bytes)
	if last.Event == hooks.UserPromptSubmit {
		// The prompt that carried it must be on disk, else the answer may
		// belong to a turn before.
		i := slices.IndexFunc(tail.Prompts, func(p transcript.Position) bool { return p.Offset >= last.Bytes })
		if i < 0 {
			return false
		}
		from = max(from, tail.Prompts[i].Offset)
	}
	return slices.ContainsFunc(tail.Answers, func(p transcript.Position) bool {
		// Where all is on disk in order the position alone tells; elsewhere a
		// compaction may have kept an old answer behind its boundary.
		return p.Offset > from && (ability.PostFirst || later(p.Time, boundary.Time) && (p.ID == "" || !heldBefore(p.ID)))
	})
}

func later(t, than time.Time) bool { return !t.IsZero() && t.After(than) }

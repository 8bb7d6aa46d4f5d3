package bridge

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
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

// boundaries gives each boundary of the transcript to at most one attempt: it
// proves the compaction of that one and of no other.
//
// A claimed attempt takes its boundary first, however late that reached the
// disk. What is left goes to the newest pending attempt that doesn't reach it.
func boundaries(attempts []*Attempt, tail transcript.Tail, ability hooks.Ability) map[int]transcript.Boundary {
	given := make(map[int]transcript.Boundary)
	left := slices.Clone(tail.Boundaries)
	give := func(a *Attempt, i int) {
		if i >= 0 {
			given[a.Number] = left[i]
			left = slices.Delete(left, i, i+1)
		}
	}
	for _, a := range slices.Backward(attempts) {
		if proof := a.proof(); proof != nil && a.State.claimed() {
			give(a, slices.IndexFunc(left, isAt(*proof)))
		}
	}
	for _, a := range slices.Backward(attempts) {
		if a.State.claimed() && a.proof() == nil {
			give(a, a.ownBoundary(left))
		}
	}
	m := claimedBefore(attempts, math.MaxInt)
	spent := func(s transcript.Boundary) bool {
		if m == nil {
			return false
		}
		own, has := given[m.Number]
		return m.covers(s.Offset) || has && s.Offset < own.Offset // of a compaction before it
	}
	for _, a := range attempts {
		switch a.State {
		case Begun, Prepared, Armed:
			if proof := a.proof(); proof != nil {
				give(a, slices.IndexFunc(left, isAt(*proof)))
				continue
			}
			give(a, slices.IndexFunc(left, func(s transcript.Boundary) bool {
				return s.Offset >= a.reach() && !spent(s) && (ability.PostFirst || a.fits(s, attempts, tail.Answers))
			}))
		}
	}
	return given
}

// ownBoundary picks the boundary of a claimed attempt that names none, -1 if there
// is none: of those behind its claim (one that was on disk by then would be
// named), else of those behind its reach, the nearest to the claim in time. An
// earlier compaction's can come to the disk together with it, and a later one's.
// What a prompt claimed had been compacted before.
func (a *Attempt) ownBoundary(left []transcript.Boundary) int {
	from, when, prompt := a.reach(), a.Changed, false
	if claims := a.Claims(); len(claims) > 0 {
		from, when, prompt = claims[0].Bytes, claims[0].Time, claims[0].Event == hooks.UserPromptSubmit
	}
	if !slices.ContainsFunc(left, func(s transcript.Boundary) bool { return s.Offset >= from }) {
		from = a.reach()
	}
	best, least := -1, time.Duration(math.MaxInt64)
	for i, s := range left {
		away := s.Time.Sub(when)
		if prompt && away > 0 {
			away += farOff
		}
		if s.Offset >= from && away.Abs() < least {
			best, least = i, away.Abs()
		}
	}
	return best
}

// farOff is more than any two records of a session are apart.
const farOff = 100 * 365 * 24 * time.Hour

// fits reports whether a boundary behind its reach can be that of the pending
// attempt a, on a client that brings boundaries to the disk late.
//
// It can be one that an earlier compaction left over: then it is older than the
// PreCompact, or than a claim that came after the attempt began. So it can where there was no transcript
// when the attempt began, because what appears then can be a copy (a fork's). And
// a turn compacts twice only with an answer in between: without one, what looks
// like a second compaction is a late copy of the hook.
func (a *Attempt) fits(s transcript.Boundary, attempts []*Attempt, said []transcript.Position) bool {
	earlier := slices.ContainsFunc(attempts, func(m *Attempt) bool { return m.State.claimed() || m.State == Superseded })
	if (earlier || a.reach() == 0) && a.Begin.Mechanism == ByPreCompact && older(s.Time, a.Begin.Time) {
		return false
	}
	m := claimedBefore(attempts, a.Number)
	if m == nil {
		return true
	}
	claim, _, ok := m.lastClaim()
	if ok && a.Begin.After < m.Number && older(s.Time, claim.Time) {
		return false
	}
	if m.proof() != nil || m.inAnotherTurn(a.Begin.Turn) {
		return true
	}
	// No copy of a hook is so late that a prompt came first.
	return ok && (claim.Event == hooks.UserPromptSubmit ||
		slices.ContainsFunc(said, func(p transcript.Position) bool { return answers(p, claim) && p.Offset < s.Offset }))
}

// covers reports whether a claim of the attempt, or what it was begun for, is
// known to stand for the boundary at offset or for a later one.
func (a *Attempt) covers(offset int64) bool {
	if !a.State.claimed() {
		return false
	}
	for _, c := range a.Claims() {
		if c.Proof != nil && c.Proof.Offset >= offset {
			return true
		}
	}
	return a.Begin.Proof != nil && a.Begin.Proof.Offset >= offset
}

// isAt finds a boundary again: by its record's own id, else by its offset.
func isAt(p transcript.Position) func(transcript.Boundary) bool {
	return func(s transcript.Boundary) bool {
		if p.ID != "" {
			return s.ID == p.ID
		}
		return s.Offset == p.Offset
	}
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
func (b *Bridge) another(ctx context.Context, e hooks.Event, n *Attempt, attempts []*Attempt, ability hooks.Ability) (bool, error) {
	m := claimedBefore(attempts, n.Number)
	if n.Begin.Mechanism == ByRescue {
		return !raced(n, attempts), nil // the guard asked before it was begun
	}
	if ability.PostFirst {
		s, err := b.scene(ctx, e, attempts)
		if _, proved := s.given[n.Number]; err != nil || !s.gone {
			return err == nil && proved, err
		}
	}
	turn := n.Begin.Turn
	if e.Name != hooks.UserPromptSubmit {
		turn = firstOf(e.TurnID, turn) // n can be left over from a compaction that failed
	}
	if m == nil || m.inAnotherTurn(turn) {
		return true, nil
	}
	claim, _, ok := m.lastClaim()
	if !ok {
		return false, nil
	}
	if n.Record != nil && answers(n.Record.Reach.LastAnswer, claim) {
		return true, nil
	}
	tail, err := transcript.After(ctx, e.Client, firstOf(e.TranscriptPath, n.transcript()), claim.Bytes, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // nothing that could tell
	}
	return err == nil && answeredSince(m, tail), err
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

// newestClaimed is the number of the newest claimed attempt, 0 if there is none.
func newestClaimed(attempts []*Attempt) int {
	for _, a := range attempts {
		if a.State.claimed() {
			return a.Number
		}
	}
	return 0
}

// raced reports whether the attempt lost a race: an older one was claimed while
// it came into being, for the same compaction. No client begins a compaction
// while a hook of the one before still runs.
//
// A rescue or a note was decided on before that claim. A PreCompact began before
// it, and who claimed didn't see it yet.
func raced(a *Attempt, attempts []*Attempt) bool {
	m := claimedBefore(attempts, a.Number)
	if m == nil || a.Begin.After >= m.Number {
		return false
	}
	if a.Begin.Mechanism != ByPreCompact {
		return true
	}
	claim, noted, _ := m.lastClaim()
	return noted && a.Number > claim.Newest
}

// answeredSince reports whether the model has answered since the attempt was
// claimed. It errs towards no: an answer that may be older proves nothing.
//
// Both position and time count: an old client writes the last turn late, and
// what it writes late is older than the claim.
func answeredSince(a *Attempt, tail transcript.Tail) bool {
	claim, _, ok := a.lastClaim()
	return ok && slices.ContainsFunc(tail.Answers, func(p transcript.Position) bool { return answers(p, claim) })
}

// turn is the client's id of the turn of the attempt's compaction, "" if it isn't
// known. An attempt can have been begun for a compaction that failed, and serve
// for a later one whose own PreCompact never ran: then the claim knows.
func (a *Attempt) turn() string {
	if claim, _, ok := a.lastClaim(); ok && claim.Event == hooks.SessionStart && claim.Turn != "" {
		return claim.Turn
	}
	return a.Begin.Turn
}

// inAnotherTurn reports whether the attempt was claimed for a compaction of
// another turn than the one named. Where either isn't known the answer is no.
func (a *Attempt) inAnotherTurn(turn string) bool {
	claim, noted, _ := a.lastClaim()
	if !noted || turn == "" {
		return false
	}
	if claim.Event == hooks.SessionStart {
		return claim.Turn != "" && claim.Turn != turn
	}
	return a.Begin.Turn != "" && a.Begin.Turn != turn && claim.Turn != turn
}

// lastClaim is what the attempt's newest claim noted. A claim that hasn't noted
// anything has printed nothing either, but may be about to: then only its time
// is known, and noted is false. ok is false where a directive was printed and
// the note found no room.
func (a *Attempt) lastClaim() (c Claim, noted, ok bool) {
	switch a.State {
	case Claimed1, Claimed2:
		if c, noted = a.note(a.State); !noted {
			c = Claim{Time: a.Changed, Bytes: a.reach()}
		}
		return c, noted, true
	case Emitted1:
		c, noted = a.note(Claimed1)
	case Emitted2:
		c, noted = a.note(Claimed2)
	default:
		if claims := a.Claims(); len(claims) > 0 {
			c, noted = claims[len(claims)-1], true
		}
	}
	return c, noted, noted
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
	last, noted, ok := a.lastClaim()
	if !ok {
		return false // printed, and nobody knows when
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
		if !noted && !p.Time.After(last.Time) {
			return false // whoever claimed it may be about to print
		}
		return p.Offset > from && (ability.PostFirst || later(p.Time, boundary.Time) && (p.ID == "" || !heldBefore(p.ID)))
	})
}

func later(t, than time.Time) bool { return !t.IsZero() && t.After(than) }

package bridge

import (
	"context"
	"errors"
	"io/fs"
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
	case err != nil && !errors.Is(err, fs.ErrNotExist):
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
// disk: the one its record or claim names, else the first beyond its reach.
// What is left goes to the newest pending attempt that doesn't reach it.
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
	for _, a := range attempts {
		switch a.State {
		case Begun, Prepared, Armed:
			give(a, func(s transcript.Boundary) bool { return s.Offset >= a.reach() })
		}
	}
	return given
}

// proof is the boundary that an attempt is known to stand for, nil if none is.
func (a *Attempt) proof() *transcript.Position {
	if a.Record != nil && a.Record.Proof != nil {
		return a.Record.Proof
	}
	for _, c := range a.Claims() {
		if c.Proof != nil {
			return c.Proof
		}
	}
	return nil
}

// another reports whether attempt n, which an event would have delivered,
// stands for another compaction than the older attempt m that was claimed
// already. A second copy of a hook that prepares late looks like a compaction of
// its own until it is asked this.
//
// Where the boundary is on disk when the event comes, one that m hasn't used
// must lie beyond n's reach. Elsewhere the client's id of the turn tells, or the
// model must have answered since m was claimed: one turn compacts twice only
// with an answer in between.
func (b *Bridge) another(ctx context.Context, e hooks.Event, n, m *Attempt, ability hooks.Ability) bool {
	path := firstOf(e.TranscriptPath, n.transcript())
	turns := m != nil && n.Begin.Turn != "" && m.Begin.Turn != "" && n.Begin.Turn != m.Begin.Turn
	if ability.PostFirst && path != "" {
		both := []*Attempt{n}
		if m != nil && !sawBoundaryOf(n, m) {
			both = append(both, m)
		}
		tail, err := transcript.After(ctx, e.Client, path, leastReach(both), nil)
		if errors.Is(err, fs.ErrNotExist) {
			return m == nil || turns
		}
		_, proved := boundaries(both, tail.Boundaries)[n.Number]
		return err == nil && proved
	}
	if m == nil || turns {
		return true
	}
	claims := m.Claims()
	if len(claims) == 0 {
		return false
	}
	claim := claims[len(claims)-1]
	if n.Record != nil && answers(n.Record.Reach.LastAnswer, claim) {
		return true
	}
	tail, err := transcript.After(ctx, e.Client, path, claim.Bytes, nil)
	return err == nil && answeredSince(m, tail)
}

// sawBoundaryOf reports whether the boundary of the claimed attempt m was on
// disk when n was prepared: then what lies beyond n's reach is none of m's.
func sawBoundaryOf(n, m *Attempt) bool {
	if n.Record == nil || n.Record.Reach.Boundary.Time.IsZero() && n.Record.Reach.Boundary.Offset == 0 {
		return false
	}
	from := m.reach()
	if p := m.proof(); p != nil {
		from = p.Offset
	}
	return n.Record.Reach.Boundary.Offset >= from
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
	claims := a.Claims()
	if len(claims) == 0 {
		return false
	}
	return slices.ContainsFunc(tail.Answers, func(p transcript.Position) bool { return answers(p, claims[len(claims)-1]) })
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
	from := boundary.Offset
	when := boundary.Time
	claims := a.Claims()
	if len(claims) == 0 {
		// The claim died before it noted anything, so nothing was printed; the
		// record's own facts have to do.
		if a.Record == nil {
			return false
		}
		from = max(from, a.Record.Reach.Bytes)
	} else {
		last := claims[len(claims)-1]
		from = max(from, last.Bytes)
		if last.Time.After(when) {
			when = last.Time
		}
		if last.Event == hooks.UserPromptSubmit {
			// The prompt that carried it must be on disk, else the answer may
			// belong to a turn before.
			i := slices.IndexFunc(tail.Prompts, func(p transcript.Position) bool { return p.Offset >= last.Bytes })
			if i < 0 {
				return false
			}
			from = max(from, tail.Prompts[i].Offset)
		}
	}
	return slices.ContainsFunc(tail.Answers, func(p transcript.Position) bool {
		return p.Offset > from && later(p.Time, when) && (p.ID == "" || !heldBefore(p.ID))
	})
}

func later(t, than time.Time) bool { return !t.IsZero() && t.After(than) }

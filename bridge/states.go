package bridge

// State is where an attempt stands. It is a file's name: state.<State>.
//
//	begun ──▶ prepared ──▶ armed
//	              │          │
//	              ├──────────┴──▶ claimed1 ──▶ emitted1 ──▶ confirmed
//	              │   ◀─ (not one    │            │
//	              │      byte out)   └──┬─────────┘
//	              │                     ├─ (loss proved) ─▶ claimed2 ──▶ emitted2 ──▶ confirmed
//	              │                     └─ (no transcript) ─▶ unverifiable
//	              └─ (moved on without it) ─▶ too-late
//
//	everything up to emitted2 ──▶ superseded, by the claim of a newer attempt
//
// A claim that died after it printed is confirmed from claimed1 or claimed2:
// the transcript decides.
type State string

// The states of an attempt.
const (
	Begun        State = "begun"        // a PreCompact or a rescue took the number
	Prepared     State = "prepared"     // packet and record are on disk
	Armed        State = "armed"        // PostCompact proved the compaction
	Claimed1     State = "claimed1"     // one process is printing, or died while it was
	Emitted1     State = "emitted1"     // printed whole
	Claimed2     State = "claimed2"     // the same after a proved loss
	Emitted2     State = "emitted2"     //
	Confirmed    State = "confirmed"    // seen in the session's context
	Superseded   State = "superseded"   // a newer attempt was claimed
	Unverifiable State = "unverifiable" // printed, and there is no transcript that could tell
	TooLate      State = "too-late"     // the session moved on without it
)

// moves are the states that an attempt in state s may go to next.
func moves(s State) []State {
	switch s {
	case Begun:
		return []State{Prepared, Superseded}
	case Prepared:
		return []State{Armed, Claimed1, TooLate, Superseded}
	case Armed:
		return []State{Claimed1, TooLate, Superseded}
	case Claimed1:
		return []State{Prepared, Armed, Emitted1, Confirmed, Claimed2, TooLate, Unverifiable, Superseded}
	case Emitted1:
		return []State{Confirmed, Claimed2, TooLate, Unverifiable, Superseded}
	case Claimed2:
		return []State{Claimed1, Emitted1, Emitted2, Confirmed, Unverifiable, Superseded}
	case Emitted2:
		return []State{Confirmed, Unverifiable, Superseded}
	}
	return nil
}

// States lists every state, in the order of an attempt's life.
func States() []State {
	return []State{
		Begun, Prepared, Armed, Claimed1, Emitted1, Claimed2, Emitted2,
		Confirmed, Superseded, Unverifiable, TooLate,
	}
}

// MayBecome reports whether an attempt in state s may go to state to.
func (s State) MayBecome(to State) bool {
	for _, m := range moves(s) {
		if m == to {
			return true
		}
	}
	return false
}

// Terminal reports whether nothing follows s.
func (s State) Terminal() bool {
	switch s {
	case Confirmed, Superseded, Unverifiable, TooLate:
		return true
	}
	return false
}

// claimed reports whether somebody once set out to print the attempt's
// directive: such an attempt uses up its boundary and shuts out all older ones.
func (s State) claimed() bool {
	switch s {
	case Claimed1, Emitted1, Claimed2, Emitted2, Confirmed, Unverifiable:
		return true
	}
	return false
}

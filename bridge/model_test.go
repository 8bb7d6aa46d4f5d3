package bridge

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

var (
	sequences = flag.Int("sequences", 300, "random sequences of the model test")
	modelSeed = flag.Uint64("seed", 1, "seed of the model test's first sequence; each has the next one")
)

// reference is the rules of delivery written down a second time, as simply as
// they can be: lists in memory, no files, no races. It predicts what bridge
// does.
type reference struct{ sessions map[*player]*refSession }

type refSession struct {
	p        *player
	attempts []*refAttempt // oldest first
	steps    []string
	limit    int // the run was killed after so many steps, -1: it wasn't
}

type refAttempt struct {
	n       int
	id      string
	state   State
	by      string // how it came to be
	turn    string
	begun   time.Time
	reach   int       // records of the transcript that it knows
	after   int       // the newest that was claimed when a rescue was begun
	proof   int       // index of the boundary it is known to stand for, -1
	last    int       // index of the last answer among them
	lastAt  time.Time // its time, zero if there is none
	changed time.Time // when its state did
	claims  []refClaim
}

// refClaim is what a claim noted before it printed.
type refClaim struct {
	at     int // records in the transcript then
	time   time.Time
	event  string
	turn   string
	to     State
	newest int // the newest attempt then
	proof  int // the last boundary then, -1 if none proved the compaction
}

type refKilled struct{}

func (r *reference) of(p *player) *refSession {
	s, ok := r.sessions[p]
	if !ok {
		s = &refSession{p: p}
		r.sessions[p] = s
	}
	return s
}

// predict says in steps what one run does; limit is after how many steps it was
// killed, -1 if it wasn't.
func (r *reference) predict(p *player, e hooks.Event, f fault, limit int) (steps []string) {
	s := r.of(p)
	s.steps, s.limit = nil, limit
	defer func() {
		if fault := recover(); fault != nil {
			if _, ok := fault.(refKilled); !ok {
				panic(fault)
			}
		}
		steps = s.steps
	}()
	switch {
	case limit == 0:
	case e.InSubagent():
	case e.Name == hooks.PreCompact:
		a := s.begin(ByPreCompact, e.TurnID)
		s.prepared(a)
	case e.Name == hooks.SessionStart && e.Source == hooks.SourceCompact:
		s.start(e, f)
	case e.Name == hooks.PostCompact:
		s.report(e)
	case e.Name == hooks.UserPromptSubmit:
		s.ask(e, f)
	}
	return
}

// did notes a step; a killed run ends with its last one.
func (s *refSession) did(format string, args ...any) {
	if len(s.steps) == s.limit {
		panic(refKilled{})
	}
	s.steps = append(s.steps, fmt.Sprintf(format, args...))
}

func (s *refSession) move(a *refAttempt, to State) {
	s.did("%d %s>%s", a.n, a.state, to)
	a.state, a.changed = to, s.p.w.now
}

func (s *refSession) newestFirst() []*refAttempt {
	all := slices.Clone(s.attempts)
	slices.Reverse(all)
	return all
}

// PreCompact.

func (s *refSession) begin(by, turn string) *refAttempt {
	n := 1
	if len(s.attempts) > 0 {
		n = s.attempts[len(s.attempts)-1].n + 1
	}
	s.did("%d begun", n)
	a := &refAttempt{n: n, state: Begun, by: by, turn: turn, begun: s.p.w.now, proof: -1}
	if m := s.claimedBefore(a); m != nil {
		a.after = m.n
	}
	s.read(a)
	s.attempts = append(s.attempts, a)
	return a
}

// read is how far the attempt knows the transcript.
func (s *refSession) read(a *refAttempt) {
	a.reach = len(s.p.file)
	for i, r := range s.p.file {
		if r.isAnswer() {
			a.last, a.lastAt = i, r.time
		}
	}
}

func (r rec) isAnswer() bool { return r.kind == answer || r.kind == agentCall }

func (s *refSession) prepared(a *refAttempt) {
	s.move(a, Prepared)
	s.prune()
}

// prune keeps three attempts a session.
func (s *refSession) prune() {
	lives := !s.missing()
	printed, free := false, []*refAttempt(nil)
	for _, a := range s.newestFirst() {
		may := true
		switch a.state {
		case Begun:
			may = s.p.w.now.Sub(a.begun).Abs() > time.Hour
		case Prepared, Armed, Claimed1, Claimed2:
			may = !lives
		case Emitted1, Emitted2, Confirmed, Unverifiable:
			may = printed || !lives
			printed = true
		}
		if may {
			free = append(free, a)
		}
	}
	slices.Reverse(free)
	for ; len(free) > 0 && len(s.attempts) > 3; free = free[1:] {
		s.did("%d removed", free[0].n)
		s.attempts = slices.DeleteFunc(s.attempts, func(a *refAttempt) bool { return a == free[0] })
	}
}

func (r *reference) beginSlow(p *player, e hooks.Event) int {
	s := r.of(p)
	s.steps, s.limit = nil, -1
	return s.begin(ByPreCompact, e.TurnID).n
}

func (r *reference) commitSlow(p *player, n int) []string {
	s := r.of(p)
	s.steps, s.limit = nil, -1
	for _, a := range s.attempts {
		if a.n == n && a.state == Begun {
			s.prepared(a)
			break
		}
	}
	return s.steps
}

// Evidence.

// busy: on a client that doesn't tell whose compaction an event reports, a
// subagent at work makes it prove nothing.
func (s *refSession) busy() bool {
	if s.p.marks {
		return false
	}
	if s.missing() {
		return true // it can't be told
	}
	open := 0
	for _, r := range s.p.file {
		switch r.kind {
		case agentCall:
			open++
		case agentEnd:
			open--
		}
	}
	return open > 0
}

// given gives each boundary to one attempt at most.
func (s *refSession) given(attempts []*refAttempt) map[*refAttempt]int {
	given, used := map[*refAttempt]int{}, map[int]bool{}
	give := func(a *refAttempt, fits func(i int) bool) {
		for i, r := range s.p.file {
			if r.kind == boundary && !used[i] && fits(i) {
				given[a], used[i] = i, true
				return
			}
		}
	}
	for _, a := range slices.Backward(attempts) {
		if a.state.claimed() && a.known() >= 0 {
			give(a, func(i int) bool { return i == a.known() })
		}
	}
	for _, a := range slices.Backward(attempts) {
		if a.state.claimed() && a.known() < 0 {
			at := s.nearest(a, used)
			give(a, func(i int) bool { return i == at })
		}
	}
	var m *refAttempt
	for _, a := range attempts {
		if m == nil && a.state.claimed() {
			m = a
		}
	}
	for _, a := range attempts {
		if a.state != Begun && a.state != Prepared && a.state != Armed {
			continue
		}
		if a.proof >= 0 {
			give(a, func(i int) bool { return i == a.proof })
			continue
		}
		give(a, func(i int) bool {
			if m != nil {
				if own, has := given[m]; m.covers(i) || has && i < own {
					return false
				}
			}
			return i >= a.reach && (s.p.post || s.fits(a, attempts, i))
		})
	}
	return given
}

// used reports whether the boundary at i is an armed or a claimed attempt's.
func (s *refSession) used(i int) bool {
	given := s.given(unsettledOf(s.newestFirst()))
	return slices.ContainsFunc(s.attempts, func(a *refAttempt) bool {
		at, ok := given[a]
		return a.state.claimed() && a.covers(i) || ok && at == i && (a.state.claimed() || a.state == Armed)
	})
}

// known is the boundary that a is known to stand for, -1 if none is.
func (a *refAttempt) known() int {
	if a.proof >= 0 {
		return a.proof
	}
	for _, c := range a.claims {
		if c.proof >= 0 {
			return c.proof
		}
	}
	return -1
}

// covers: a's directive came, or comes, behind the boundary at i.
func (a *refAttempt) covers(i int) bool {
	return a.proof >= i || slices.ContainsFunc(a.claims, func(c refClaim) bool { return c.proof >= i })
}

// lastBoundary is the index of the last boundary on disk, -1 if there is none.
func (s *refSession) lastBoundary() int {
	last := -1
	for i, r := range s.p.file {
		if r.kind == boundary {
			last = i
		}
	}
	return last
}

// nearest is the boundary behind a's claim, else behind its reach, that is the
// nearest to the claim in time.
func (s *refSession) nearest(a *refAttempt, used map[int]bool) int {
	from, when, asked := a.reach, a.changed, false
	if len(a.claims) > 0 {
		from, when, asked = a.claims[0].at, a.claims[0].time, a.claims[0].event == hooks.UserPromptSubmit
	}
	for {
		best, by := -1, time.Duration(0)
		for i, r := range s.p.file {
			if r.kind == boundary && !used[i] && i >= from {
				d := r.time.Sub(when).Abs()
				if asked && r.time.After(when) {
					d += farOff // it was compacted before the prompt
				}
				if best < 0 || d < by {
					best, by = i, d
				}
			}
		}
		if best >= 0 || from == a.reach {
			return best
		}
		from = a.reach
	}
}

// fits: on a client that writes late, a boundary can be one that an earlier
// compaction left over, or a copy, or the claimed attempt's own.
func (s *refSession) fits(a *refAttempt, attempts []*refAttempt, at int) bool {
	when := s.p.file[at].time
	earlier := slices.ContainsFunc(attempts, func(a *refAttempt) bool { return a.state.claimed() || a.state == Superseded })
	if (earlier || a.reach == 0) && a.by == ByPreCompact && when.Before(a.begun) {
		return false
	}
	m := s.claimedBefore(a)
	if m == nil {
		return true
	}
	c, ok := m.lastClaim()
	switch {
	case ok && a.after < m.n && when.Before(c.time):
		return false
	case m.known() >= 0 || m.inAnotherTurn(a.turn) || ok && c.event == hooks.UserPromptSubmit:
		return true
	}
	return ok && slices.ContainsFunc(s.p.file[min(c.at, at):at], func(r rec) bool { return r.isAnswer() && r.time.After(c.time) })
}

// claimedBefore is the newest claimed attempt that is older than a.
func (s *refSession) claimedBefore(a *refAttempt) *refAttempt {
	for _, m := range s.newestFirst() {
		if m.n < a.n && m.state.claimed() {
			return m
		}
	}
	return nil
}

// raced: an older one was claimed after a was begun.
func (s *refSession) raced(a *refAttempt) bool {
	m := s.claimedBefore(a)
	return m != nil && m.n > a.after && (a.by != ByPreCompact || len(m.claims) > 0 && a.n > m.claims[len(m.claims)-1].newest)
}

// another reports whether a stands for another compaction than the claimed one
// before it.
func (s *refSession) another(a *refAttempt, e hooks.Event) bool {
	m := s.claimedBefore(a)
	if a.by == ByRescue {
		return !s.raced(a)
	}
	if s.p.post && !s.missing() {
		_, ok := s.given(unsettledOf(s.newestFirst()))[a]
		return ok
	}
	turn := a.turn
	if e.Name != hooks.UserPromptSubmit && e.TurnID != "" {
		turn = e.TurnID
	}
	if m == nil || m.inAnotherTurn(turn) {
		return true
	}
	if c, ok := m.lastClaim(); ok && a.last >= c.at && a.lastAt.After(c.time) {
		return true
	}
	return s.answeredSince(m)
}

// lastClaim is the attempt's last claim. Of one that was killed before it noted
// anything only the time is known.
func (a *refAttempt) lastClaim() (c refClaim, ok bool) {
	if n := len(a.claims); n > 0 && !a.unnoted() {
		return a.claims[n-1], true
	}
	return refClaim{at: a.reach, time: a.changed}, a.unnoted()
}

// inAnotherTurn: a claim at SessionStart knows the turn of its compaction.
func (a *refAttempt) inAnotherTurn(turn string) bool {
	if a.unnoted() || len(a.claims) == 0 || turn == "" {
		return false
	}
	c := a.claims[len(a.claims)-1]
	if c.event == hooks.SessionStart {
		return c.turn != "" && c.turn != turn
	}
	return a.turn != "" && a.turn != turn && c.turn != turn
}

// compacted is the turn of the compaction that the attempt stands for.
func (a *refAttempt) compacted() string {
	if c, _ := a.lastClaim(); c.event == hooks.SessionStart && c.turn != "" {
		return c.turn
	}
	return a.turn
}

func (a *refAttempt) sameTurn(turn string) bool {
	return a.unnoted() || a.compacted() == "" || turn == "" || a.compacted() == turn
}

// unnoted: its claim was cut short before it noted anything.
func (a *refAttempt) unnoted() bool {
	if a.state != Claimed1 && a.state != Claimed2 {
		return false
	}
	return !slices.ContainsFunc(a.claims, func(c refClaim) bool { return c.to == a.state })
}

// missing: there is no transcript.
func (s *refSession) missing() bool { return len(s.p.file) == 0 }

// answeredSince reports whether the model answered since m was claimed.
func (s *refSession) answeredSince(m *refAttempt) bool {
	c, ok := m.lastClaim()
	for i, r := range s.p.file {
		if ok && i >= c.at && r.isAnswer() && r.time.After(c.time) {
			return true
		}
	}
	return false
}

// turnsAfter counts a person's prompts behind record i that were answered.
func (s *refSession) turnsAfter(i int) int {
	turns, open := 0, false
	for _, r := range s.p.file[i:] {
		if r.kind == prompt {
			open = true
		}
		if r.isAnswer() && open {
			turns, open = turns+1, false
		}
	}
	return turns
}

// SessionStart(compact).

func (s *refSession) start(e hooks.Event, f fault) {
	if s.busy() {
		return
	}
	if s.p.post {
		if s.lookAt(s.newestFirst(), e, f, false) {
			return
		}
	} else if len(s.attempts) > 0 {
		a := s.attempts[len(s.attempts)-1]
		if !a.state.claimed() && !a.state.Terminal() && s.raced(a) {
			s.move(a, Superseded)
		}
		if a.state == Prepared || a.state == Armed {
			if s.another(a, e) {
				s.claim(a, Claimed1, -1, e, f)
			}
			return
		}
	}
	s.rescue(e, f, e.TurnID, -1)
}

// lookAt goes through the attempts, newest first, up to the first that was
// claimed, for one whose compaction is proved. done: something was decided.
func (s *refSession) lookAt(attempts []*refAttempt, e hooks.Event, f fault, confirm bool) (done bool) {
	attempts = unsettledOf(attempts)
	given, shut := s.given(attempts), false
	for _, a := range attempts {
		at, proved := given[a]
		switch {
		case a.state == Superseded:
			shut = true
		case shut && !a.state.claimed():
		case !a.state.claimed() && s.raced(a):
			s.move(a, Superseded)
			return s.lookAt(s.newestFirst(), e, f, confirm)
		case a.state == Prepared || a.state == Armed:
			if !proved {
				at = -1
				if a.by != ByRescue && a.state != Armed || !s.another(a, e) {
					continue
				}
			}
			if proved && s.turnsAfter(s.lastBoundary()) > tooManyTurns {
				s.move(a, TooLate)
				return confirm // a SessionStart stands for a newer compaction
			}
			s.claim(a, Claimed1, at, e, f)
			return true
		case a.state == Begun:
			if !proved {
				at = -1
				if a.by != ByPostCompact {
					continue
				}
			}
			if !proved || s.turnsAfter(s.lastBoundary()) <= tooManyTurns {
				s.rescue(e, f, a.turn, at)
			}
			return true
		case a.state.claimed() && !a.state.Terminal() && confirm:
			s.confirm(a, e, f, at, proved)
			return true
		default:
			return false
		}
	}
	return false
}

// rescue prepares an attempt of its own for a compaction that is proved.
func (s *refSession) rescue(e hooks.Event, f fault, turn string, proof int) {
	if s.guarded(turn) {
		return
	}
	if proof < 0 && s.p.post && !s.missing() {
		proof = s.lastBoundary()
		if proof < 0 {
			return
		}
		if s.used(proof) {
			return
		}
	}
	if len(s.p.file) > 0 && !slices.ContainsFunc(s.p.file, func(r rec) bool { return r.kind == prompt || r.kind == answer }) {
		return // nobody has said a word: an empty session
	}
	a := s.begin(ByRescue, turn)
	a.proof = proof
	s.move(a, Prepared)
	s.claim(a, Claimed1, proof, e, f)
}

// guarded: a directive was delivered since the model's last answer.
func (s *refSession) guarded(turn string) bool {
	for _, a := range s.newestFirst() {
		switch {
		case a.state == TooLate:
			return false
		case a.state.claimed():
			return !a.inAnotherTurn(turn) && (!s.p.post || a.known() < 0) && !s.answeredSince(a)
		}
	}
	return false
}

// PostCompact.

func (s *refSession) report(e hooks.Event) {
	if s.busy() {
		return
	}
	if len(s.attempts) > 0 {
		a := s.attempts[len(s.attempts)-1]
		same := a.sameTurn(e.TurnID)
		switch {
		case a.state == Prepared && same:
			if s.another(a, e) {
				s.move(a, Armed)
			}
			return
		case a.state != Begun && a.state != Prepared && same:
			return
		case a.state == Begun && a.by == ByPostCompact && same:
			return
		}
	}
	for _, a := range s.attempts {
		if a.state.claimed() && !s.p.post && e.TurnID != "" && a.sameTurn(e.TurnID) {
			return
		}
	}
	proof := -1
	if s.p.post && !s.missing() {
		proof = s.lastBoundary()
		if proof < 0 {
			return
		}
		if s.used(proof) {
			return
		}
	}
	a := s.begin(ByPostCompact, e.TurnID)
	a.proof = proof
}

// UserPromptSubmit.

func (s *refSession) ask(e hooks.Event, f fault) {
	for _, a := range s.newestFirst() {
		if a.state == Superseded {
			continue
		}
		if !a.state.Terminal() {
			s.lookAt(s.newestFirst(), e, f, true)
		}
		return
	}
}

// unsettledOf cuts attempts, newest first, behind the first that was claimed or
// came too late.
func unsettledOf(attempts []*refAttempt) []*refAttempt {
	for i, a := range attempts {
		if a.state.claimed() || a.state == TooLate {
			return attempts[:i+1]
		}
	}
	return attempts
}

func (s *refSession) confirm(a *refAttempt, e hooks.Event, f fault, at int, proved bool) {
	if s.missing() {
		s.move(a, Unverifiable)
		return
	}
	for i, r := range s.p.file {
		if i >= a.reach && r.kind == trace && r.id == a.id {
			s.move(a, Confirmed)
			return
		}
	}
	if a.state != Claimed1 && a.state != Emitted1 || !proved || !s.lost(a, at) {
		return
	}
	if s.turnsAfter(s.lastBoundary()) > tooManyTurns {
		s.move(a, TooLate)
		return
	}
	s.claim(a, Claimed2, at, e, f)
}

// lost: behind the boundary and behind the emission stands an answer, and no
// trace before it.
func (s *refSession) lost(a *refAttempt, at int) bool {
	c, _ := a.lastClaim()
	from := max(at, c.at)
	if c.event == hooks.UserPromptSubmit {
		i := slices.IndexFunc(s.p.file[min(c.at, len(s.p.file)):], func(r rec) bool { return r.kind == prompt })
		if i < 0 {
			return false
		}
		from = max(from, c.at+i)
	}
	for i, r := range s.p.file {
		if a.unnoted() && !r.time.After(c.time) {
			continue
		}
		if i >= from && i != at && r.isAnswer() && (s.p.post || r.time.After(s.p.file[at].time)) {
			return true
		}
	}
	return false
}

// claim prints the directive of a.
func (s *refSession) claim(a *refAttempt, to State, proof int, e hooks.Event, f fault) {
	if f.out.gone != nil {
		return
	}
	for _, old := range s.newestFirst() {
		if old.n < a.n && !old.state.Terminal() {
			s.move(old, Superseded)
		}
	}
	if proof >= 0 {
		proof = s.lastBoundary()
	}
	from := a.state
	s.move(a, to)
	s.did("%d noted", a.n)
	a.claims = append(a.claims, refClaim{len(s.p.file), s.p.w.now, e.Name, e.TurnID, to, s.attempts[len(s.attempts)-1].n, proof})
	switch {
	case f.out.limit == 0:
		a.claims = a.claims[:len(a.claims)-1]
		s.did("%d unnoted", a.n)
		if from == Prepared && e.Name == hooks.SessionStart {
			from = Armed // that it was compacted is known now
		}
		s.move(a, from)
		return
	case f.out.limit > 0:
		s.did("printed %d of %d", f.out.limit, a.n)
		return
	}
	s.did("printed 100 of %d", a.n)
	if to == Claimed2 {
		s.move(a, Emitted2)
	} else {
		s.move(a, Emitted1)
	}
	for _, newer := range s.newestFirst() {
		if newer.n > a.n && !newer.state.Terminal() {
			s.move(newer, Superseded)
		}
	}
}

// TestModel runs random sequences of what clients do on the real code and a
// real folder in memory. A reference model predicts every step and state; and
// whatever both say, no context ever gets two directives, none gets one without
// a compaction, and none that is due is lost.
func TestModel(t *testing.T) {
	counts, ran := runSequences(t, true)
	var names []string
	total := 0
	for name, n := range counts {
		names = append(names, name)
		total += n
	}
	sort.Strings(names)
	var report strings.Builder
	for _, from := range States() {
		for _, to := range States() {
			if name := string(from) + ">" + string(to); from.MayBecome(to) {
				fmt.Fprintf(&report, "  %-24s %8d\n", name, counts[name])
				if *sequences >= 100_000 && counts[name] < 1000 {
					t.Errorf("%s was taken %d times, want 1,000 at least", name, counts[name])
				}
			}
		}
	}
	t.Logf("%d sequences from seed %d: %d steps\n%s", ran, *modelSeed, total, report.String())
}

// runSequences runs the sequences on all processors and counts the transitions.
func runSequences(t *testing.T, model bool) (counts map[string]int, ran int) {
	root := tempRoot(t)
	var lock sync.Mutex
	counts = map[string]int{}
	var next, failures int
	var wait sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			mine := map[string]int{}
			for {
				lock.Lock()
				i := next
				next++
				stop := i >= *sequences || failures >= 3
				lock.Unlock()
				if stop {
					break
				}
				seed := *modelSeed + uint64(i)
				w := newWorld(t, filepath.Join(root, fmt.Sprint(seed)), seed, mine)
				if model {
					w.ref = &reference{sessions: map[*player]*refSession{}}
				}
				w.run()
				os.RemoveAll(w.dir)
				if len(w.faults) > 0 {
					lock.Lock()
					failures++
					t.Errorf("seed %d (-seed %d -sequences 1):\n%s\n%s", seed, seed, strings.Join(w.script, "\n"), strings.Join(w.faults, "\n"))
					lock.Unlock()
				}
			}
			lock.Lock()
			defer lock.Unlock()
			for name, n := range mine {
				counts[name] += n
			}
		})
	}
	wait.Wait()
	return counts, min(next-runtime.GOMAXPROCS(0), *sequences)
}

// tempRoot is a folder in memory where the system has one.
func tempRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "reseat-model-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newWorld(t *testing.T, dir string, seed uint64, counts map[string]int) *world {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, dir: dir, rng: rand.New(rand.NewPCG(seed, 0)), now: time.Now().UTC().Truncate(time.Second),
		home: state.Home(filepath.Join(dir, "state")),
	}
	w.count = func(step string) {
		if _, move, ok := strings.Cut(step, " "); ok && strings.Contains(move, ">") {
			counts[move]++
		}
	}
	// The whole state is looked at once a day; here a session is enough.
	if err := w.home.Open(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.home.Join("gc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

var played = []struct {
	client  client.Client
	version string
}{
	{client.Claude, "2.1.332"},
	{client.Claude, "2.1.197"},
	{client.Codex, "0.171.0"},
	{client.Codex, "0.133.0"},
}

// run plays one sequence.
func (w *world) run() {
	for _, id := range []string{"11111111-2222-4333-8444-555555555555", "99999999-2222-4333-8444-555555555555"} {
		c := played[w.rng.IntN(len(played))]
		p := w.newPlayer(c.client, c.version, id)
		p.talks(true)
	}
	switch p := w.players[0]; w.rng.IntN(9) {
	case 0, 1:
		p.misses()
		if w.chance(20) {
			if w.chance(50) {
				p.talks(false)
			}
			p.vanishes()
		}
	case 2, 3:
		p.repeats()
	case 4, 5:
		p.wanders()
	}
	steps := 4 + w.rng.IntN(16)
	for i := range steps {
		p := w.players[w.rng.IntN(len(w.players))]
		if i == steps/2 && w.chance(10) && p.client == client.Claude {
			p.forks("77777777-2222-4333-8444-555555555555")
			continue
		}
		if w.chance(1) {
			p.vanishes()
		}
		p.step()
		if len(w.faults) > 0 {
			return
		}
	}
	for _, p := range w.players {
		p.ends()
	}
}

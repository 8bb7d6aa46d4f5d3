package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Sink is where a directive is printed: the hook's standard output.
type Sink interface {
	// Leads reports whether anybody can read what is written; a nil error is
	// yes.
	Leads() error
	// Write writes the whole document at once.
	Write(doc []byte) (n int, err error)
}

// maxTries bounds how often a decision is taken again because another process
// changed the state in between. Each round means that somebody else got ahead,
// so a handful is more than ever happens.
const maxTries = 16

// Deliver handles SessionStart, UserPromptSubmit and PostCompact.
func (b *Bridge) Deliver(ctx context.Context, e hooks.Event, out Sink) Outcome {
	dir := b.Home.Session(e.Client, e.SessionID)
	if err := b.Home.Check(); err != nil {
		return failed("the state can't be used", err)
	}
	switch e.Name {
	case hooks.SessionStart:
		if e.Source != hooks.SourceCompact {
			return b.greet(e)
		}
		return b.afterCompact(ctx, e, dir, out)
	case hooks.UserPromptSubmit:
		return b.atPrompt(ctx, e, dir, out)
	case hooks.PostCompact:
		return b.arm(ctx, e, dir)
	}
	return Outcome{Decision: DidIgnore, Reason: "not an event that delivers"}
}

// afterCompact handles SessionStart(compact).
func (b *Bridge) afterCompact(ctx context.Context, e hooks.Event, dir string, out Sink) Outcome {
	for range maxTries {
		size := sizeOf(e.TranscriptPath)
		attempts, err := Attempts(dir)
		if err != nil {
			return failed("the session's state couldn't be read", err)
		}
		ability := b.ability(e, knownVersion(attempts))
		if proved, why := b.mainCompacted(ctx, e, ability); !proved {
			return Outcome{Decision: DidIgnore, Reason: why}
		}
		if why := b.off(e, dir); why != "" {
			return Outcome{Decision: DidSwitch, Reason: why}
		}
		s := scene{attempts: attempts, ability: ability, size: size}
		o, v := b.deliverNewest(ctx, e, s, out)
		if v == open {
			o, v = b.rescueAtStart(ctx, e, s, out)
		}
		if v != again {
			return o
		}
	}
	return Outcome{Decision: DidLose, Reason: "other processes kept changing the session's state"}
}

// deliverNewest delivers the attempt that a SessionStart(compact) stands for:
// the newest, if it is prepared or armed.
//
// Where the client reports the compaction first, the boundary is on disk and
// tells more: a failed compaction leaves an attempt that is merely prepared, and
// of two compactions without a turn the second one's hook may have died. There
// the newest one is meant whose compaction is proved.
func (b *Bridge) deliverNewest(ctx context.Context, e hooks.Event, s scene, out Sink) (Outcome, verdict) {
	if len(s.attempts) == 0 {
		return Outcome{}, open
	}
	if s.ability.PostFirst {
		return b.settle(ctx, e, s.attempts, out)
	}
	a := s.attempts[0]
	switch {
	case !a.State.claimed() && !a.State.Terminal() && raced(a, s.attempts):
		return b.drop(a)
	case a.State != Prepared && a.State != Armed:
		return Outcome{}, open
	}
	switch other, err := b.another(ctx, e, a, s.attempts, s.ability); {
	case err != nil:
		return failed("the transcript couldn't be read", err), settled
	case !other:
		return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "this compaction's directive was delivered already"}, settled
	}
	return b.claim(ctx, e, s.bid(a, nil), out)
}

// rescueAtStart delivers where no attempt can be used.
func (b *Bridge) rescueAtStart(ctx context.Context, e hooks.Event, s scene, out Sink) (Outcome, verdict) {
	a, proof, o := b.rescue(ctx, e, s.attempts, s.ability, e.TurnID, nil)
	switch {
	case a != nil:
		return b.claim(ctx, e, s.bid(a, proof), out)
	case errors.Is(o.Err, errTaken):
		return o, again
	}
	return o, settled
}

func knownVersion(attempts []*Attempt) string {
	for _, a := range attempts {
		if a.Begin.Version != "" {
			return a.Begin.Version
		}
	}
	return ""
}

// arm handles PostCompact: the compaction that the newest attempt was prepared
// for has happened.
func (b *Bridge) arm(ctx context.Context, e hooks.Event, dir string) Outcome {
	attempts, err := Attempts(dir)
	if err != nil {
		return failed("the session's state couldn't be read", err)
	}
	ability := b.ability(e, knownVersion(attempts))
	if proved, why := b.mainCompacted(ctx, e, ability); !proved {
		return Outcome{Decision: DidIgnore, Reason: why}
	}
	if len(attempts) > 0 {
		a := attempts[0]
		switch {
		case a.State == Prepared && sameTurn(a, e):
			switch other, err := b.another(ctx, e, a, attempts, ability); {
			case err != nil:
				return failed("the transcript couldn't be read", err)
			case !other:
				return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "no compaction that wasn't delivered already"}
			}
			if won, err := b.move(a, Prepared, Armed); err != nil || won {
				return Outcome{Decision: decided(err, DidArm), ID: a.ID(), Err: err}
			}
			return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "already under way"}
		case a.State != Begun && a.State != Prepared && sameTurn(a, e):
			return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "already " + string(a.State)}
		case a.State == Begun && a.Begin.Mechanism == ByPostCompact && sameTurn(a, e):
			return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "already noted"}
		}
	}
	return b.note(ctx, e, dir, attempts, ability)
}

// note keeps the evidence of a compaction that nothing was prepared for, so
// that the next prompt can rescue it.
func (b *Bridge) note(ctx context.Context, e hooks.Event, dir string, attempts []*Attempt, ability hooks.Ability) Outcome {
	if why := b.off(e, dir); why != "" {
		return Outcome{Decision: DidSwitch, Reason: why}
	}
	for _, a := range attempts {
		if a.State.claimed() && !ability.PostFirst && e.TurnID != "" && sameTurn(a, e) {
			return Outcome{Decision: DidNothing, ID: a.ID(), Reason: "already " + string(a.State)}
		}
	}
	if _, err := b.session(aboutOf(e)); err != nil {
		return failed("the session's folder couldn't be made", err)
	}
	begin := b.begin(e, ByPostCompact)
	if ability.PostFirst {
		story, err := b.Packer.Read(ctx, b.job(e, dir))
		if err != nil {
			return failed("the transcript couldn't be read", err)
		}
		var o Outcome
		if begin.Proof, o = unusedBoundary(attempts, story, ability); o.Decision != "" {
			return o
		}
	}
	a, err := b.takeNext(dir, begin, newestClaimed(attempts))
	if err != nil {
		return failed("the compaction couldn't be noted", err)
	}
	return Outcome{Decision: DidNote, ID: a.ID(), Reason: "nothing was prepared for this compaction"}
}

// sameTurn reports whether the event belongs to the turn of the attempt's
// compaction; turns that aren't named on both sides can't differ, nor can they
// while a claim hasn't noted its own.
func sameTurn(a *Attempt, e hooks.Event) bool {
	turn := a.turn()
	if _, noted, ok := a.lastClaim(); ok && !noted {
		return true
	}
	return turn == "" || e.TurnID == "" || turn == e.TurnID
}

func decided(err error, d Decision) Decision {
	if err != nil {
		return DidFail
	}
	return d
}

// bid is a decision to print an attempt's directive, and what it rests on.
type bid struct {
	a     *Attempt
	to    State                // Claimed1 or Claimed2
	all   []*Attempt           // the session's attempts when it was decided
	proof *transcript.Position // the last boundary on disk, if one proved the compaction
	size  int64                // of the transcript when it was decided
}

// claim takes the attempt for this process, prints its directive and says what
// came of it.
func (b *Bridge) claim(ctx context.Context, e hooks.Event, d bid, out Sink) (Outcome, verdict) {
	a, from := d.a, d.a.State
	door, ok := e.Door()
	if !ok {
		return Outcome{Decision: DidIgnore, Reason: "no context is accepted for " + e.Name}, settled
	}
	if err := out.Leads(); err != nil {
		return Outcome{Decision: DidFail, ID: a.ID(), Reason: "standard output leads nowhere; the next chance delivers it", Err: err}, settled
	}
	if a.Record == nil {
		return Outcome{Decision: DidFail, ID: a.ID(), Reason: "its record is torn"}, settled
	}
	c := Claim{Event: e.Name, Turn: e.TurnID, PID: b.PID, From: from, Proof: d.proof, Bytes: d.size, Newest: newestOf(d)}
	c.Text, c.Packet = b.text(ctx, e, a)
	switch ok, err := b.supersede(d.all, a.Number); {
	case err != nil:
		return Outcome{Decision: DidFail, ID: a.ID(), Reason: "an older one couldn't be ended", Err: err}, settled
	case !ok:
		return Outcome{}, again
	}
	won, err := b.move(a, from, d.to)
	if err != nil {
		return Outcome{Decision: DidFail, ID: a.ID(), Reason: "it couldn't be claimed", Err: err}, settled
	}
	if !won {
		return Outcome{}, again
	}
	c.Time = b.Now()
	noted := b.noteClaim(a, d.to, c)
	back := from
	if from == Prepared && e.Name == hooks.SessionStart {
		back = Armed // the event has proved the compaction, and won't come again
	}
	o := b.print(a, back, d.to, door.Inject(c.Text), out, noted)
	if o.Decision == DidDeliver {
		b.supersedeNewer(d.all, a.Number)
	}
	return o, settled
}

// supersedeNewer ends the newer attempts that weren't found due: a twin's, or of
// a compaction that failed. If theirs happened after all, this directive comes
// into the context behind it.
func (b *Bridge) supersedeNewer(all []*Attempt, number int) {
	for _, a := range all {
		for s := a.State; a.Number > number && !s.Terminal() && !s.claimed(); {
			won, err := b.move(a, s, Superseded)
			if won || err != nil {
				break
			}
			if s, err = stateOf(a.Dir); err != nil {
				break
			}
		}
	}
}

// newestOf is the newest attempt that was known when d was decided.
func newestOf(d bid) int {
	newest := d.a.Number // a rescue is newer than what it was decided on
	for _, a := range d.all {
		newest = max(newest, a.Number)
	}
	return newest
}

// supersede ends everything older than the attempt that is to be claimed, so
// that a slow twin's commit or a late arming finds nothing to rename. It comes
// before the claim: of two processes that are after different attempts, both
// need the older one's state file, and one rename wins. ok is false where
// another process was faster: then everything has to be decided again. An error
// means that the system refused.
func (b *Bridge) supersede(all []*Attempt, number int) (ok bool, err error) {
	for _, a := range all {
		if a.Number >= number || a.State.Terminal() {
			continue
		}
		won, refused := b.move(a, a.State, Superseded)
		if won && refused == nil {
			continue
		}
		switch s, err := stateOf(a.Dir); {
		case errors.Is(err, fs.ErrNotExist): // pruned
		case err == nil && s.Terminal():
		default:
			return false, refused
		}
	}
	return true, nil
}

func (b *Bridge) noteClaim(a *Attempt, to State, c Claim) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return b.disk.replace(noteFile(a, to), append(data, '\n'))
}

func noteFile(a *Attempt, claimed State) string {
	if claimed == Claimed2 {
		return filepath.Join(a.Dir, "claim2.json")
	}
	return filepath.Join(a.Dir, "claim1.json")
}

// print writes the reply and moves the attempt on. Nothing else happens on
// this path: running past the time-out now would throw the text away.
func (b *Bridge) print(a *Attempt, back, claimed State, reply hooks.Reply, out Sink, noted error) Outcome {
	o := Outcome{Decision: DidDeliver, ID: a.ID(), Err: noted}
	doc := reply.Bytes()
	n, err := out.Write(doc)
	switch {
	case n == 0 && err != nil:
		// The note goes first: of the next claim nobody must think that it is this
		// one.
		failed := b.disk.remove(noteFile(a, claimed))
		if failed == nil {
			_, failed = b.move(a, claimed, back)
		}
		return Outcome{Decision: DidGiveBack, ID: a.ID(), Reason: "nothing could be printed; the next chance delivers it", Err: errors.Join(err, failed)}
	case n < len(doc):
		o.Decision, o.Partial, o.Err = DidFail, true, err
		o.Reason = fmt.Sprintf("only %d of %d bytes could be printed; the transcript decides", n, len(doc))
		return o
	}
	emitted := Emitted1
	if claimed == Claimed2 {
		emitted = Emitted2
	}
	if _, err := b.move(a, claimed, emitted); err != nil {
		o.Err = errors.Join(o.Err, err)
	}
	return o
}

// text is the directive as it is to be printed, and the folder it speaks of.
// What lies beyond the record's reach is brought in first, if there is time.
func (b *Bridge) text(ctx context.Context, e hooks.Event, a *Attempt) (text, packet string) {
	r := a.Record
	if !r.Packet {
		return r.Directive, ""
	}
	j := b.job(e, sessionOf(a)).of(a)
	j.Prepared, j.Transcript = r.Prepared, firstOf(e.TranscriptPath, r.Transcript)
	fresh, stale := b.refresh(ctx, j, a)
	if fresh != "" {
		return fresh, "packet-2"
	}
	j.PacketDir = a.PacketDir()
	if again, ok := b.Packer.Renew(ctx, j, r.World, stale); ok {
		return again, filepath.Base(j.PacketDir)
	}
	return r.Directive, "packet"
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// refresh writes packet-2 where messages or tool records lie beyond the
// record's reach: a client that prepares early, a turn that wasn't on disk yet.
// fresh is its directive; stale says in words that it couldn't be made.
func (b *Bridge) refresh(ctx context.Context, j Job, a *Attempt) (fresh, stale string) {
	if sizeOf(j.Transcript) <= a.Record.Reach.Bytes {
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, rescueLimit)
	defer cancel()
	tail, err := transcript.After(ctx, j.Event.Client, j.Transcript, a.Record.Reach.Bytes, nil)
	if err != nil || tail.Work == 0 {
		return "", ""
	}
	stale = "went on after the packet was kept, and that isn't in it"
	j.PacketDir = filepath.Join(a.Dir, "packet-2")
	j.Previous = filepath.Join(a.Dir, "packet")
	j.Mechanism = byRefresh
	if a.PacketDir() == j.PacketDir {
		return "", ""
	}
	story, err := b.Packer.Read(ctx, j)
	if err != nil {
		return "", stale
	}
	packed, err := b.Packer.Pack(ctx, j, story, j.PacketDir)
	if err != nil {
		return "", stale
	}
	return packed.Directive, ""
}

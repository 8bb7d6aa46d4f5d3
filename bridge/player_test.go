package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

// kind is what a record of a transcript is to delivery.
type kind int

const (
	noise kind = iota
	prompt
	answer
	boundary
	trace
	work
	agentCall
	agentEnd
)

// rec is one line of a transcript.
type rec struct {
	kind kind
	time time.Time
	id   string // trace: the id of the directive
	line []byte
}

// world is one state folder, one clock, and the sessions that live on them.
type world struct {
	t       testing.TB
	rng     *rand.Rand
	dir     string
	now     time.Time
	home    state.Home
	players []*player
	script  []string // what happened, for the report of a failure
	faults  []string
	count   func(step string)
	ref     *reference // nil: nobody predicts
}

func (w *world) say(format string, args ...any) {
	w.script = append(w.script, fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// player is one session of a client that behaves like the real one, and the
// truth about it: what was compacted, and what was injected into which context.
type player struct {
	*desk
	w       *world
	name    string
	post    bool // the client runs PostCompact before SessionStart, queued to the next turn
	atOnce  bool // with post: SessionStart follows at once within a turn (0.171)
	marks   bool
	lazy    bool // the client writes its transcript late
	file    []rec
	buffer  []rec
	gone    bool // the transcript was removed
	queue   int  // SessionStart(compact) that are due at the next turn
	turnID  string
	ids     int
	slow    []*slowRun
	turns   int // of a person, answered, since the last compaction
	context int // how many compactions this context has behind it
	got     map[int][]string
	seen    bool // a hook has kept evidence of the last compaction
	stepped bool // the clock was set back since the last compaction began
	deaf    int  // for so many steps no hook is run
	dropped bool // the client dropped an injected context of this one
}

type slowRun struct {
	goOn chan struct{}
	done chan Outcome
	l    *life
	n    int
}

func (w *world) newPlayer(c client.Client, version, id string) *player {
	p := &player{w: w, name: string(c) + " " + version + " " + id[:4], got: map[int][]string{}}
	p.desk = &desk{t: w.t, client: c, version: version, id: id, path: filepath.Join(w.dir, id+".jsonl"), clock: &w.now}
	ability := hooks.Can(c, version)
	p.post, p.marks = ability.PostFirst, ability.MarksSubagents
	p.atOnce = c == client.Codex && version == "0.171.0"
	p.lazy = c == client.Claude && version == "2.1.197"
	p.nextTurn()
	if c == client.Codex {
		p.put(noise, "", p.codexRecord("session_meta", m{"id": p.id, "cwd": "/work", "cli_version": p.version}))
	}
	w.players = append(w.players, p)
	return p
}

func (p *player) nextTurn() {
	p.ids++
	p.turnID = fmt.Sprintf("turn-%d", p.ids)
}

// put lets the client write a record: Codex at once, Claude when it flushes.
func (p *player) put(k kind, id string, record any) {
	line, err := json.Marshal(record)
	if err != nil {
		p.t.Fatal(err)
	}
	p.buffer = append(p.buffer, rec{kind: k, time: p.w.now, id: id, line: append(line, '\n')})
	if p.client == client.Codex {
		p.flush()
	}
}

// flush brings what the client has written to the disk, in order.
func (p *player) flush() {
	if p.gone {
		p.buffer = nil
	}
	if len(p.buffer) == 0 {
		return
	}
	var all []byte
	for _, r := range p.buffer {
		all = append(all, r.line...)
	}
	f, err := os.OpenFile(p.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(all); err != nil {
		p.t.Fatal(err)
	}
	p.file = append(p.file, p.buffer...)
	p.buffer = nil
}

// maybeFlush is a moment at which the client is expected to have written all:
// a lazy one may not have.
func (p *player) maybeFlush() {
	if !p.lazy || p.w.chance(40) {
		p.flush()
	}
}

func (p *player) prompts() {
	p.turn++
	p.put(prompt, "", p.prompt())
}

func (p *player) answers() {
	records := p.answer()
	for _, r := range records[:len(records)-1] {
		p.put(noise, "", r)
	}
	p.put(answer, "", records[len(records)-1])
}

// fault is what happens to one run of a hook.
type fault struct {
	missing bool // the hook isn't run
	kill    int  // operations until it is killed, -1: it isn't
	printed bool // it is killed as soon as it printed
	out     page
	dropped bool // the client throws its output away
}

func (f fault) String() string {
	switch {
	case f.missing:
		return "missing"
	case f.kill >= 0:
		return fmt.Sprintf("killed after %d", f.kill)
	case f.printed:
		return "killed after it printed"
	case f.out.gone != nil:
		return "stdout closed"
	case f.out.limit == 0:
		return "reader gone"
	case f.out.limit > 0:
		return "reader goes"
	case f.dropped:
		return "dropped"
	}
	return "undisturbed"
}

var undisturbed = fault{kill: -1, out: page{limit: -1}}

// draw picks a fault for the next hook.
func (p *player) draw() fault {
	f := undisturbed
	if p.deaf > 0 {
		f.missing = true
		return f
	}
	switch r := p.w.rng.IntN(100); {
	case r < 8:
		f.missing = true
	case r < 24:
		f.kill = p.w.rng.IntN(14)
	case r < 27:
		f.out.gone = errClosed
	case r < 30:
		f.out.limit = 0
	case r < 33:
		f.out.limit = 40
	case r < 41:
		f.dropped = true
	}
	return f
}

// bridgeFor is the bridge of one run.
func (p *player) bridgeFor(l *life, held chan chan struct{}) *Bridge {
	b := New(p.w.home, mortalPacker{l: l, held: held}, func(hooks.Event) string { return p.version }, os.Getpid())
	if l.left >= 0 || l.lastWords {
		b.PID = 1 << 30 // nobody has it: the run will be dead
	}
	b.Now = func() time.Time { return p.w.now }
	b.disk = mortalDisk{osDisk{}, l, func() time.Time { return p.w.now }}
	return b
}

func (p *player) happening(name string) hooks.Event {
	e := p.desk.event(name)
	e.TurnID, e.Trigger = p.turnID, "auto"
	if name == hooks.SessionStart {
		e.Source = hooks.SourceCompact
		if p.client == client.Codex {
			e.TurnID = ""
		}
	}
	return e
}

// hook runs one hook of the session and returns what went into the context.
func (p *player) hook(e hooks.Event, f fault) string {
	p.tick()
	p.w.say("%s: %s %s %s%s", p.name, e.Name, e.Source, f, agentOf(e))
	if f.missing {
		return ""
	}
	l := immortal()
	if f.kill >= 0 {
		l.left = f.kill
	}
	if f.printed {
		l.lastWords = true
	}
	out := &mortalPage{page: f.out, l: l}
	var o Outcome
	died := p.mortal(func() {
		if e.Name == hooks.PreCompact {
			o = p.bridgeFor(l, nil).Prepare(context.Background(), e)
			return
		}
		o = p.bridgeFor(l, nil).Deliver(context.Background(), e, out)
	})
	p.w.say("    %q %s: %s %v", l.steps, o.Decision, o.Reason, o.Err)
	p.after(e, f, l, died)
	whole := strings.HasSuffix(out.text, "\n")
	if out.text == "" || !whole || f.dropped || died && p.client == client.Codex {
		p.dropped = p.dropped || out.text != ""
		return ""
	}
	return contextOf(p.t, out.text)
}

func agentOf(e hooks.Event) string {
	if e.AgentID != "" {
		return " in a subagent"
	}
	return ""
}

// mortal runs do and reports whether it was killed.
func (p *player) mortal(do func()) (died bool) {
	defer func() {
		switch fault := recover(); fault.(type) {
		case nil:
		case killed:
			died = true
		default:
			panic(fault)
		}
	}()
	do()
	return false
}

// after lets the reference model predict the run, and keeps the truth.
func (p *player) after(e hooks.Event, f fault, l *life, died bool) {
	for _, step := range l.steps {
		p.w.count(step)
	}
	if e.AgentID == "" && len(l.steps) > 0 && (e.Name == hooks.PreCompact || e.Name == hooks.PostCompact || e.Name == hooks.SessionStart) {
		p.seen = true
	}
	if p.w.ref == nil {
		return
	}
	limit := -1
	if died {
		limit = len(l.steps)
	}
	want := p.w.ref.predict(p, e, f, limit)
	p.compare(want, l.steps)
}

func (p *player) compare(want, got []string) {
	if !slices.Equal(want, got) {
		p.w.fail("steps differ: the model says\n    %q\n  bridge did\n    %q", want, got)
		return
	}
	dir := p.w.home.Session(p.client, p.id)
	nums, err := numbers(dir)
	if err != nil {
		p.t.Fatal(err)
	}
	var states, model []string
	for _, n := range nums {
		state, err := stateOf(filepath.Join(dir, "c", attemptName(n)))
		if err != nil {
			p.t.Fatal(err)
		}
		states = append(states, fmt.Sprintf("%d %s", n, state))
	}
	s := p.w.ref.of(p)
	for _, a := range slices.Backward(s.attempts) {
		model = append(model, fmt.Sprintf("%d %s", a.n, a.state))
	}
	if !slices.Equal(states, model) {
		p.w.fail("states differ: the model says\n    %q\n  on disk are\n    %q", model, states)
		return
	}
	for _, a := range s.attempts {
		if a.id == "" {
			made, err := load(dir, a.n)
			if err != nil {
				p.t.Fatal(err)
			}
			a.id = made.ID()
		}
	}
}

// inject is the truth: text has come into the session's context.
func (p *player) inject(text string) {
	if text == "" {
		return
	}
	id := ""
	if _, rest, ok := strings.Cut(text, "rs-"); ok && len(rest) >= 13 {
		id = "rs-" + rest[:13]
	}
	p.got[p.context] = append(p.got[p.context], id)
	p.put(trace, id, p.trace(text))
	switch {
	case p.context == 0:
		p.w.fail("%s: a directive without a compaction: %s", p.name, text)
	case len(p.got[p.context]) > 1:
		p.w.fail("%s: two directives in one context: %v", p.name, p.got[p.context])
	case !p.owns(id):
		p.w.fail("%s: another session's directive: %s", p.name, id)
	}
}

func (p *player) owns(id string) bool {
	attempts, err := Attempts(p.w.home.Session(p.client, p.id))
	return err == nil && slices.ContainsFunc(attempts, func(a *Attempt) bool { return a.ID() == id })
}

// none is for an event after which nothing may come into any context.
func (p *player) none(text, why string) {
	if text != "" {
		p.w.fail("%s: a directive %s: %s", p.name, why, text)
	}
}

// compacts is the truth: the session's context was compacted now.
func (p *player) compacts() {
	p.context++
	p.turns, p.dropped = 0, false
	p.w.say("%s: compaction %d happened", p.name, p.context)
}

// compaction is one compaction as the client runs it.
func (p *player) compaction(manual bool) {
	if manual {
		was := p.turnID
		p.nextTurn()
		defer func() { p.turnID = was }()
	}
	seen, stepped := p.seen, p.stepped
	p.seen = false
	// Of a claim that was cut short only the time is known: that can stand in the
	// way of the next compaction for as long as the clock was set back.
	p.stepped = p.stepped && p.context > 0 && len(p.got[p.context]) == 0
	p.precompact()
	if p.w.chance(15) {
		p.seen, p.stepped = seen, stepped || p.stepped
		p.w.say("%s: the compaction failed or was skipped", p.name)
		return
	}
	p.compacts()
	if p.client == client.Codex {
		if p.atOnce {
			p.put(noise, "", p.codexRecord("response_item", m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": "a summary"}}}))
		}
		p.put(boundary, "", p.boundary())
		p.reported(hooks.PostCompact)
		p.queue++
		if p.atOnce && !manual {
			p.drain()
		}
		return
	}
	mark := p.boundary()
	p.maybeFlushLate()
	got := p.reported(hooks.SessionStart)
	p.reported(hooks.PostCompact)
	p.put(boundary, "", mark)
	p.buffer[len(p.buffer)-1].time = stampOf(mark)
	for _, text := range got {
		p.inject(text)
	}
	p.maybeFlush()
}

// stampOf is the time that a record bears.
func stampOf(record any) time.Time {
	at, _ := time.Parse("2006-01-02T15:04:05.000Z", record.(m)["timestamp"].(string))
	return at
}

// maybeFlushLate: a lazy client's last turn can be missing at PreCompact and be
// there at SessionStart.
func (p *player) maybeFlushLate() {
	if p.lazy && p.w.chance(50) {
		p.flush()
	}
}

// precompact runs the PreCompact hooks: none, one, two with a growing
// transcript, or one that is slow.
func (p *player) precompact() {
	p.maybeFlush()
	e := p.happening(hooks.PreCompact)
	switch r := p.w.rng.IntN(100); {
	case r < 70:
		p.hook(e, p.draw())
	case r < 85:
		p.hook(e, p.draw())
		if p.w.chance(50) {
			p.put(work, "", p.answerlike())
		}
		p.maybeFlush()
		p.hook(e, p.draw())
	case r < 95:
		if p.w.chance(50) {
			p.hook(e, p.draw())
		}
		p.hookSlowly(e)
	}
}

// answerlike is a record of work that is no answer.
func (p *player) answerlike() any {
	if p.client == client.Codex {
		return p.codexRecord("response_item", m{"type": "function_call_output", "call_id": p.uuid(), "output": "done"})
	}
	return p.claudeRecord("user", m{"message": m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": "toolu_" + p.uuid(), "content": "done"}}}})
}

// hookSlowly begins a PreCompact that commits later.
func (p *player) hookSlowly(e hooks.Event) {
	p.tick()
	p.w.say("%s: PreCompact, slow", p.name)
	run := &slowRun{done: make(chan Outcome, 1), l: immortal()}
	held := make(chan chan struct{})
	b := p.bridgeFor(run.l, held)
	go func() { run.done <- b.Prepare(context.Background(), e) }()
	run.goOn = <-held
	p.seen = true
	for _, step := range run.l.steps {
		p.w.count(step)
	}
	if p.w.ref != nil {
		run.n = p.w.ref.beginSlow(p, e)
		p.compare([]string{fmt.Sprintf("%d begun", run.n)}, run.l.steps)
	}
	p.slow = append(p.slow, run)
}

// commitSlow lets the oldest slow PreCompact go on.
func (p *player) commitSlow() {
	if len(p.slow) == 0 {
		return
	}
	run := p.slow[0]
	p.slow = p.slow[1:]
	p.tick()
	p.w.say("%s: the slow PreCompact of attempt %d goes on", p.name, run.n)
	before := len(run.l.steps)
	close(run.goOn)
	<-run.done
	for _, step := range run.l.steps[before:] {
		p.w.count(step)
	}
	if p.w.ref != nil {
		p.compare(p.w.ref.commitSlow(p, run.n), run.l.steps[before:])
	}
}

// reported runs SessionStart or PostCompact, at times by two registrations.
func (p *player) reported(name string) []string {
	var got []string
	for range 1 + p.w.rng.IntN(8)/7 {
		if p.w.chance(15) {
			p.commitSlow()
		}
		got = append(got, p.hook(p.happening(name), p.draw()))
	}
	return got
}

// drain runs the queued SessionStart(compact) hooks of Codex.
func (p *player) drain() {
	for ; p.queue > 0; p.queue-- {
		for _, text := range p.reported(hooks.SessionStart) {
			p.inject(text)
		}
	}
}

// talks is a whole turn, perhaps with compactions in the middle, perhaps
// interrupted before the model answers.
func (p *player) talks(calm bool) {
	p.nextTurn()
	draw, flush := p.draw, p.maybeFlush
	if calm {
		draw, flush = func() fault { return undisturbed }, p.flush
	}
	flush()
	if p.queue > 0 && calm {
		p.queue = 0
		p.inject(p.hook(p.happening(hooks.SessionStart), undisturbed))
	}
	p.drain()
	e := p.happening(hooks.UserPromptSubmit)
	got := p.hook(e, draw())
	if p.w.chance(8) && !calm {
		// A second registration of the hook.
		if again := p.hook(e, draw()); got == "" {
			got = again
		} else {
			p.none(again, "twice at one prompt")
		}
	}
	p.prompts()
	p.inject(got)
	if !calm && p.w.chance(10) {
		p.w.say("%s: interrupted", p.name)
		return
	}
	p.answers()
	p.turns++
	for !calm && p.w.chance(20) {
		p.put(work, "", p.answerlike())
		p.compaction(false)
		p.answers()
	}
	flush()
}

// subagent compacts a subagent of the session: nobody's business.
func (p *player) subagent() {
	if p.client == client.Claude {
		call := "toolu_" + p.uuid()
		p.put(agentCall, "", p.claudeRecord("assistant", m{"message": m{"role": "assistant", "id": "msg_" + call, "model": "made-up", "content": []any{
			m{"type": "tool_use", "id": call, "name": "Agent", "input": m{"description": "x", "prompt": "y"}},
		}}}))
		p.buffer[len(p.buffer)-1].kind = agentCall
		p.flush()
		defer func() {
			p.put(agentEnd, "", p.claudeRecord("user", m{"message": m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": call, "content": "done"}}}}))
			p.flush()
		}()
	}
	p.w.say("%s: a subagent is compacted", p.name)
	seen := p.seen
	for _, name := range []string{hooks.PreCompact, hooks.SessionStart, hooks.PostCompact} {
		if name == hooks.SessionStart && p.client == client.Codex {
			continue
		}
		e := p.happening(name)
		if p.marks {
			e.AgentID = "agent-1"
		}
		p.none(p.hook(e, p.draw()), "in a subagent")
	}
	p.seen = seen
}

// comes is a SessionStart that brings nothing: resume, startup, clear, or an old
// client's fork under the parent's id.
func (p *player) comes() {
	e := p.happening(hooks.SessionStart)
	sources := []string{hooks.SourceResume, hooks.SourceStartup, hooks.SourceClear, hooks.SourceFork}
	e.Source = sources[p.w.rng.IntN(len(sources))]
	p.none(p.hook(e, p.draw()), "at "+e.Source)
	if p.client == client.Codex && p.w.chance(50) {
		p.queue = 0 // the process ended; what was queued is gone
	}
}

// forks makes a new session whose transcript is a copy.
func (p *player) forks(id string) *player {
	p.comes()
	f := p.w.newPlayer(p.client, p.version, id)
	f.context = 0
	if p.client == client.Claude {
		f.none(f.hook(f.happening(hooks.UserPromptSubmit), f.draw()), "in a fork")
	}
	for _, r := range p.file {
		r.line = bytes.ReplaceAll(r.line, []byte(p.id), []byte(f.id))
		f.buffer = append(f.buffer, r)
	}
	f.records = p.records
	f.flush()
	return f
}

// vanishes removes the transcript.
func (p *player) vanishes() {
	p.w.say("%s: the transcript is removed", p.name)
	os.Remove(p.path)
	p.gone, p.file, p.buffer = true, nil, nil
}

// misses is a compaction whose directive is printed and doesn't come into the
// context, and a turn that proves it: what follows is about repeating it.
func (p *player) misses() {
	p.hook(p.happening(hooks.PreCompact), undisturbed)
	p.compacts()
	p.seen, p.stepped = true, false
	if p.client == client.Codex {
		p.put(boundary, "", p.boundary())
		p.hook(p.happening(hooks.PostCompact), undisturbed)
	}
	f := undisturbed
	switch p.w.rng.IntN(3) {
	case 0:
		f.kill = p.midClaim()
	case 1:
		f.out.limit = 40
	default:
		f.dropped = true
	}
	mark := p.boundary()
	p.inject(p.hook(p.happening(hooks.SessionStart), f))
	if p.client == client.Claude {
		p.put(boundary, "", mark)
		p.buffer[len(p.buffer)-1].time = stampOf(mark)
	}
	p.nextTurn()
	p.prompts()
	p.answers()
	p.turns++
	p.flush()
}

// midClaim is a moment to die at, mostly after the claim and before the rename
// behind it: before its note, before it printed, or afterwards.
func (p *player) midClaim() int { return 2 + min(p.w.rng.IntN(5), 3) }

// repeats is a directive that was proved lost and is printed once more, by a
// hook that comes to nothing or is cut short, and what may follow that.
func (p *player) repeats() {
	p.misses()
	p.nextTurn()
	f := undisturbed
	switch p.w.rng.IntN(4) {
	case 0:
		f.kill = 2 + p.midClaim() // a newer packet is made first
	case 1:
		f.printed = true
	case 2:
		f.out.limit = 40
	default:
		f.out.limit = 0
	}
	text := p.hook(p.happening(hooks.UserPromptSubmit), f)
	p.prompts()
	p.inject(text)
	p.answers()
	p.turns++
	p.flush()
	switch p.w.rng.IntN(4) {
	case 0:
		p.vanishes()
	case 1:
		p.compaction(true)
	default:
		p.talks(false)
	}
}

// wanders is a compaction after which a person goes on without any hook.
func (p *player) wanders() {
	if p.w.chance(50) {
		p.misses()
	} else {
		p.hook(p.happening(hooks.PreCompact), p.draw())
		p.compacts()
		p.put(boundary, "", p.boundary())
		if p.w.chance(50) {
			p.hook(p.happening(hooks.PostCompact), p.draw())
		}
	}
	for range 2 + p.w.rng.IntN(2) {
		p.nextTurn()
		p.prompts()
		p.answers()
		p.turns++
	}
	p.flush()
}

// step does one random thing.
func (p *player) step() {
	p.deaf--
	if p.deaf < 0 && p.w.chance(4) {
		p.deaf = 2 + p.w.rng.IntN(4)
		p.w.say("%s: the hooks are taken out for a while", p.name)
	}
	switch r := p.w.rng.IntN(100); {
	case r < 45:
		p.talks(false)
	case r < 72:
		p.compaction(true)
	case r < 80:
		p.subagent()
	case r < 88:
		p.comes()
	case r < 94:
		p.commitSlow()
	case r < 97:
		by := time.Duration(p.w.rng.IntN(7200)-3600) * time.Second
		p.w.say("the clock steps by %v", by)
		p.w.now = p.w.now.Add(by)
		for _, o := range p.w.players {
			o.stepped = o.stepped || by < 0
		}
	default:
		p.flush()
	}
}

// ends is a calm end: whatever happened before, a directive that is due comes
// now, once.
func (p *player) ends() {
	for len(p.slow) > 0 {
		p.commitSlow()
	}
	due := p.context > 0 && p.seen && !p.gone && !p.stepped && p.turns <= 1 && len(p.got[p.context]) == 0 && !p.spent()
	for range 3 {
		p.talks(true)
	}
	if due && len(p.got[p.context]) != 1 {
		p.w.fail("%s: the directive of compaction %d is lost", p.name, p.context)
	}
}

// spent reports whether the newest attempt was printed twice: then the rules
// have it that nothing follows.
func (p *player) spent() bool {
	attempts, err := Attempts(p.w.home.Session(p.client, p.id))
	if err != nil {
		return true
	}
	for _, a := range attempts {
		switch a.State {
		case Claimed2, Emitted2:
			return true
		}
		if a.State.claimed() {
			return false
		}
	}
	return false
}

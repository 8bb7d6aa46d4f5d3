package bridge

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
)

var races = flag.Int("races", 400, "random schedules of the interleaving test")

// runner is one hook's run that goes on by one operation at a time, when the
// scheduler says so.
type runner struct {
	name string
	e    hooks.Event
	l    *life
	out  mortalPage
	turn chan struct{} // the scheduler's word
	back chan bool     // the run's: true when it has ended
	died bool
	rank int
	o    Outcome
}

// start makes a run that waits for its first turn.
func (p *player) start(e hooks.Event, kill int) *runner {
	r := &runner{
		name: e.Name, e: e, l: &life{left: kill}, turn: make(chan struct{}), back: make(chan bool),
		rank: p.w.rng.IntN(1000),
	}
	r.out = mortalPage{page: page{limit: -1}, l: r.l}
	r.l.yield = func() {
		r.back <- false
		<-r.turn
	}
	b := p.bridgeFor(r.l, nil)
	// What is read between two operations is a moment of its own.
	now, version := b.Now, b.Version
	b.Now = func() time.Time { r.l.yield(); return now() }
	b.Version = func(e hooks.Event) string { r.l.yield(); return version(e) }
	go func() {
		<-r.turn
		r.died = p.mortal(func() {
			if e.Name == hooks.PreCompact {
				r.o = b.Prepare(context.Background(), e)
				return
			}
			r.o = b.Deliver(context.Background(), e, &r.out)
		})
		r.back <- true
	}()
	return r
}

// race lets the runs go on in a random order, an operation at a time, and brings
// the transcript's buffer to disk at a random moment. Half of the orders are
// drawn anew at each step; in the other half one run goes ahead until, a few
// times, it is stopped: those find what needs one run to sleep for long.
func (p *player) race(runs []*runner, flushes bool) {
	fair := p.w.chance(50)
	flushAt := -1
	if flushes {
		flushAt = p.w.rng.IntN(40)
	}
	for step := 0; len(runs) > 0; step++ {
		if step == flushAt {
			p.w.say("    (the boundary reaches the disk)")
			p.flush()
		}
		i := p.w.rng.IntN(len(runs))
		if !fair {
			for j := range runs {
				if runs[j].rank > runs[i].rank {
					i = j
				}
			}
			if p.w.chance(10) {
				runs[i].rank = p.w.rng.IntN(1000) - 1000
			}
		}
		r := runs[i]
		had := len(r.l.steps)
		r.turn <- struct{}{}
		ended := <-r.back
		for _, s := range r.l.steps[had:] {
			p.w.say("    %s: %s", r.name, s)
			p.w.count(s)
		}
		if ended {
			p.w.say("    %s ends: %s %s%s", r.name, r.o.Decision, r.o.Reason, map[bool]string{true: "KILLED"}[r.died])
			runs = append(runs[:i], runs[i+1:]...)
		}
	}
}

// injected is what of the runs' outputs comes into the context.
func (p *player) injected(runs []*runner) {
	for _, r := range runs {
		if r.out.text == "" || r.died && p.client == client.Codex {
			p.dropped = p.dropped || r.out.text != ""
			continue
		}
		p.inject(contextOf(p.t, r.out.text))
	}
}

// scramble is one compaction whose hooks all run at once, whatever the client's
// order, with late twins and kills.
//
// A prompt runs among them only where nothing is left of an earlier compaction:
// no client submits one before the hooks of a compaction have ended.
func (p *player) scramble(prompts bool) {
	p.nextTurn()
	p.seen = false
	pre := p.happening(hooks.PreCompact)
	switch p.w.rng.IntN(6) {
	case 0: // never ran
	case 1:
		p.hook(pre, fault{kill: p.w.rng.IntN(9), out: page{limit: -1}})
	case 2:
		p.hook(pre, undisturbed)
		p.hook(pre, undisturbed)
	default:
		p.hook(pre, undisturbed)
	}
	p.compacts()
	var runs []*runner
	add := func(most int, name string) {
		for range p.w.rng.IntN(most + 1) {
			kill := -1
			if p.w.chance(15) {
				kill = p.w.rng.IntN(12)
			}
			e := p.happening(name)
			if name == hooks.UserPromptSubmit {
				e.TurnID = "prompt-" + e.TurnID
			}
			runs = append(runs, p.start(e, kill))
		}
	}
	p.put(boundary, "", p.boundary())
	if p.client == client.Codex && p.w.chance(60) {
		p.hook(p.happening(hooks.PostCompact), undisturbed)
	}
	add(2, hooks.SessionStart)
	if prompts {
		add(2, hooks.UserPromptSubmit)
	}
	add(2, hooks.PostCompact)
	add(1, hooks.PreCompact)
	all := append([]*runner(nil), runs...)
	p.w.say("%s: %d hooks at once", p.name, len(runs))
	// Claude Code never has it on disk by its SessionStart and PostCompact.
	early := slices.ContainsFunc(runs, func(r *runner) bool { return r.name == hooks.SessionStart || r.name == hooks.PostCompact })
	flushes := p.client == client.Codex || p.w.chance(50) && !early
	p.race(runs, flushes)
	for _, r := range all {
		// A PreCompact that begins behind the boundary knows nothing of it.
		late := r.name == hooks.PreCompact && flushes
		p.seen = p.seen || len(r.l.steps) > 0 && !late
	}
	if !p.lazy {
		p.flush()
	}
	p.injected(all)
	if slices.ContainsFunc(all, func(r *runner) bool { return r.name == hooks.UserPromptSubmit }) {
		p.prompts()
		if p.w.chance(80) {
			p.answers()
		}
	}
}

// TestInterleavings runs the hooks of one compaction at once, one operation at a
// time in random orders: no context gets two directives, and where evidence is
// given afterwards, each gets its one.
func TestInterleavings(t *testing.T) {
	root := tempRoot(t)
	var lock sync.Mutex
	var wait sync.WaitGroup
	counts := map[string]int{}
	var next, failures int
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for {
				lock.Lock()
				i := next
				next++
				stop := i >= *races || failures >= 3
				lock.Unlock()
				if stop {
					return
				}
				seed := *modelSeed + uint64(i)
				mine := map[string]int{}
				w := newWorld(t, filepath.Join(root, fmt.Sprint(seed)), seed, mine)
				w.rng = rand.New(rand.NewPCG(seed, 1))
				c := played[w.rng.IntN(len(played))]
				p := w.newPlayer(c.client, c.version, "11111111-2222-4333-8444-555555555555")
				p.talks(true)
				settled := true
				for range 1 + w.rng.IntN(3) {
					p.scramble(settled)
					if settled = w.chance(80); settled {
						p.ends()
					}
					if len(w.faults) > 0 {
						break
					}
				}
				os.RemoveAll(w.dir)
				lock.Lock()
				for name, n := range mine {
					counts[name] += n
				}
				if len(w.faults) > 0 {
					failures++
					t.Errorf("seed %d (-seed %d -races 1):\n%s\n%s", seed, seed, strings.Join(w.script, "\n"), strings.Join(w.faults, "\n"))
				}
				lock.Unlock()
			}
		})
	}
	wait.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	t.Logf("%d schedules from seed %d: %d transitions", *races, *modelSeed, total)
}

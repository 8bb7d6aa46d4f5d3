package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
)

// startInto is SessionStart(compact) with standard output as given.
func (d *desk) startInto(out *page) Outcome {
	d.tick()
	e := d.event(hooks.SessionStart)
	e.Source = hooks.SourceCompact
	if d.client == client.Codex {
		e.TurnID = ""
	}
	return d.b.Deliver(context.Background(), e, out)
}

// nowhere is a standard output that nobody can read.
func nowhere() *page { return &page{limit: -1, gone: errors.New("closed")} }

func TestRescuedButUnprintedIsDeliveredAtThePrompt(t *testing.T) {
	for _, out := range []*page{nowhere(), {limit: 0}} {
		eachClient(t, func(t *testing.T, d *desk) {
			d.talk()
			if d.client == client.Codex {
				d.write(d.boundary())
			}
			d.startInto(&page{limit: out.limit, gone: out.gone})
			if d.client == client.Claude {
				d.write(d.boundary())
			}
			wantOne(t, d.talk())
			wantNone(t, d.talk())
			d.wantStates(Confirmed)
		})
	}
}

func TestRescueAtThePromptThatCouldNotPrintIsRepeated(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.beginOnly()
		d.write(d.boundary())
		d.turn++
		d.b.Deliver(context.Background(), d.event(hooks.UserPromptSubmit), &page{limit: 0})
		wantOne(t, d.talk())
		wantNone(t, d.talk())
	})
}

// beginRescue is a rescue at SessionStart that was killed after it took its
// number.
func (d *desk) beginRescue() {
	d.t.Helper()
	real := d.b.disk
	defer func() {
		d.b.disk = real
		if recover() == nil {
			d.t.Fatal("the rescue wasn't killed")
		}
	}()
	d.b.disk = diesAtCreate{real}
	d.startInto(&page{limit: -1})
}

type diesAtCreate struct{ disk }

func (d diesAtCreate) create(path string, data []byte) error {
	if strings.HasSuffix(path, "record.json") {
		panic("killed")
	}
	return d.disk.create(path, data)
}

func TestKilledRescueIsRepeatedAtThePrompt(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		if d.client == client.Codex {
			d.write(d.boundary())
		}
		d.beginRescue()
		if d.client == client.Claude {
			d.write(d.boundary())
		}
		wantOne(t, d.talk())
		wantNone(t, d.talk())
	})
}

// TestOneContextGetsOneDirective: two compactions without a turn between leave
// one context, whichever hooks of the second were cut short.
func TestOneContextGetsOneDirective(t *testing.T) {
	for _, c := range []struct {
		name   string
		second func(d *desk)
	}{
		{"PreCompact killed", func(d *desk) { d.beginOnly(); d.write(d.boundary()); d.post() }},
		{"PreCompact missing", func(d *desk) { d.write(d.boundary()); d.post() }},
		{"PostCompact missing", func(d *desk) { d.pre(); d.write(d.boundary()) }},
		{"PreCompact killed, PostCompact missing", func(d *desk) { d.beginOnly(); d.write(d.boundary()) }},
		{"only the boundary", func(d *desk) { d.write(d.boundary()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, client.Codex, "0.133.0")
			d.open()
			d.talk()
			d.compact()
			d.turn++
			c.second(d)
			got := ""
			for range 2 {
				text, _ := d.start(hooks.SourceCompact)
				if text != "" {
					d.write(d.trace(text))
				}
				got += text
			}
			wantOne(t, got+d.talk())
			wantNone(t, d.talk()+d.talk())
		})
	}
}

func TestLatePostCompactProvesNoSecondCompaction(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		if d.client == client.Codex {
			d.write(d.boundary())
			d.post()
		}
		got, _ := d.start(hooks.SourceCompact)
		d.beginOnly() // a late twin of PreCompact
		d.post()      // a late twin of PostCompact
		if d.client == client.Claude {
			d.write(d.boundary())
		}
		d.write(d.trace(got))
		wantOne(t, got+d.talk())
		wantNone(t, d.talk()+d.talk())
	})
}

// TestBoundariesOfTwoCompactionsThatComeLate: an old client has neither on disk
// when a third PreCompact runs, whose compaction fails.
func TestBoundariesOfTwoCompactionsThatComeLate(t *testing.T) {
	d := newDesk(t, client.Claude, "2.1.197")
	d.talk()
	d.pre() // no SessionStart hook for this one
	first := d.boundary()
	d.turn++
	d.pre()
	got, _ := d.start(hooks.SourceCompact)
	second := d.boundary()
	d.post()
	d.turn++
	d.pre() // fails
	d.write(first, second, d.trace(got))
	wantOne(t, got+d.talk())
	wantNone(t, d.talk()+d.talk())
}

// fullDisk fails to note claims, as a full disk does: renames still work.
type fullDisk struct{ disk }

func (fullDisk) replace(string, []byte) error { return errors.New("no space left on device") }

// TestUnnotedClaimIsNotTakenForUnprinted: on a client that has the answers of
// the turn between the boundary and the emission.
func TestUnnotedClaimIsNotTakenForUnprinted(t *testing.T) {
	d := newDesk(t, client.Codex, "0.133.0")
	d.open()
	d.talk()
	d.compact()
	d.write(d.answer()...) // the rest of the turn
	d.b.disk = fullDisk{d.b.disk}
	got, _ := d.start(hooks.SourceCompact)
	d.b.disk = osDisk{}
	again, _ := d.ask() // the trace isn't on disk yet
	d.write(d.trace(got), d.prompt())
	d.write(d.answer()...)
	wantOne(t, got+again+d.talk())
}

func TestClockStepsLoseNothing(t *testing.T) {
	step := func(d *desk, by time.Duration) { *d.clock = d.clock.Add(by) }
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		wantOne(t, d.compact()+d.next())
		step(d, -2*time.Hour)
		wantNone(t, d.talk())
		// The next compaction's PreCompact never ran.
		if d.client == client.Codex {
			d.write(d.boundary())
			d.post()
		}
		got, _ := d.start(hooks.SourceCompact)
		if d.client == client.Claude {
			d.post()
			d.write(d.boundary())
		}
		if got != "" {
			d.write(d.trace(got))
		}
		wantOne(t, got+d.talk())
		wantNone(t, d.talk())
	})
}

func TestClockStepBackHidesNoLoss(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		if d.client == client.Codex {
			d.write(d.boundary())
			d.post()
		}
		d.start(hooks.SourceCompact) // thrown away by the client
		*d.clock = d.clock.Add(-2 * time.Hour)
		if d.client == client.Claude {
			d.write(d.boundary())
		}
		wantNone(t, d.talk())
		wantOne(t, d.talk())
		wantNone(t, d.talk())
	})
}

// TestCopiedBoundaryProvesNothing: a fork's transcript doesn't exist at its
// first hooks and then is a copy, with its parent's boundaries.
func TestCopiedBoundaryProvesNothing(t *testing.T) {
	d := newDesk(t, client.Claude, "2.1.332")
	copied := []any{d.prompt(), d.answer()[0], d.boundary()}
	d.pre() // fails
	d.write(copied...)
	wantNone(t, d.talk()+d.talk())
}

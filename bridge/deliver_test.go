package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
)

// clients are the versions whose rules differ.
var clients = []struct {
	name    string
	client  client.Client
	version string
}{
	{"claude-2.1.332", client.Claude, "2.1.332"},
	{"claude-2.1.197", client.Claude, "2.1.197"},
	{"codex-0.171.0", client.Codex, "0.171.0"},
	{"codex-0.133.0", client.Codex, "0.133.0"},
}

func eachClient(t *testing.T, test func(t *testing.T, d *desk)) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, c.client, c.version)
			d.open()
			test(t, d)
		})
	}
}

// next is the turn after a compaction: what it injects.
func (d *desk) next() string {
	got := ""
	if d.client == client.Codex {
		got, _ = d.start(hooks.SourceCompact)
		if got != "" {
			d.write(d.trace(got))
		}
	}
	return got + d.talk()
}

func (d *desk) wantStates(want ...State) {
	d.t.Helper()
	if diff := cmp.Diff(want, d.states()); diff != "" {
		d.t.Errorf("states, newest first (-want +got):\n%s", diff)
	}
}

func wantOne(t *testing.T, got string) {
	t.Helper()
	if n := strings.Count(got, "directive "); n != 1 {
		t.Errorf("%d directives in %q, want one", n, got)
	}
}

func wantNone(t *testing.T, got string) {
	t.Helper()
	if got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestOneDirectiveForOneCompaction(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		wantNone(t, d.talk())
		got := d.compact() + d.next()
		wantOne(t, got)
		wantNone(t, d.talk()+d.talk())
		d.wantStates(Confirmed)
		got = d.compact() + d.next()
		wantOne(t, got)
		wantNone(t, d.talk())
		d.wantStates(Confirmed, Confirmed)
	})
}

func TestNoDirectiveWithoutACompaction(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		for _, source := range []string{hooks.SourceResume, hooks.SourceStartup, hooks.SourceClear, hooks.SourceFork} {
			got, _ := d.start(source)
			wantNone(t, got)
		}
		wantNone(t, d.talk()+d.talk())
		d.wantStates(Prepared)
		wantOne(t, d.compact()+d.next())
	})
}

func TestSecondPreCompactForOneCompaction(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		wantOne(t, d.compact()+d.next())
		wantNone(t, d.talk())
		d.wantStates(Confirmed, Superseded)
	})
}

func TestLatePreCompactTwinIsNeverDelivered(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		if d.client == client.Codex {
			d.write(d.boundary())
			d.post()
		}
		got, _ := d.start(hooks.SourceCompact)
		wantOne(t, got)
		d.pre() // the second copy of the hook, slow
		if d.client == client.Claude {
			d.post()
			d.write(d.boundary())
		}
		d.write(d.trace(got))
		wantNone(t, d.talk()+d.talk()+d.talk())
	})
}

func TestFailedCompactionAfterOneThatWorked(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		got := d.compact()
		d.pre() // fails
		wantOne(t, got+d.next())
		wantNone(t, d.talk())
	})
}

func TestTwoCompactionsWithoutATurn(t *testing.T) {
	d := newDesk(t, client.Codex, "0.171.0")
	d.open()
	d.talk()
	d.compact()
	d.compact()
	first, _ := d.start(hooks.SourceCompact)
	second, _ := d.start(hooks.SourceCompact)
	d.write(d.trace(first))
	d.wantStates(Emitted1, Superseded)
	wantOne(t, first+second+d.talk())
	wantNone(t, d.talk())
	d.wantStates(Confirmed, Superseded)
}

func TestProcessEndsBetweenCompactionAndTurn(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		d.write(d.boundary())
		if d.client == client.Codex {
			d.post()
		}
		resumed, _ := d.start(hooks.SourceResume)
		wantNone(t, resumed)
		wantOne(t, d.talk())
		wantNone(t, d.talk())
		d.wantStates(Confirmed)
	})
}

func TestRescueOnceWithoutPreCompact(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		if d.client == client.Codex {
			d.write(d.boundary())
		}
		first, o := d.start(hooks.SourceCompact)
		second, _ := d.start(hooks.SourceCompact) // a second copy of the hook
		if o.Decision != DidDeliver {
			t.Errorf("outcome %+v", o)
		}
		if d.client == client.Claude {
			d.post()
			d.write(d.boundary())
		}
		d.write(d.trace(first))
		wantOne(t, first+second)
		wantNone(t, d.talk()+d.talk())
		d.wantStates(Confirmed)
	})
}

func TestRescueAtThePromptWhenOnlyPostCompactRan(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.write(d.boundary())
		d.post()
		wantOne(t, d.talk())
		wantNone(t, d.talk())
		d.wantStates(Confirmed, Superseded)
	})
}

func TestDeadPreCompactIsRescued(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.beginOnly()
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

func TestDeadPreCompactIsRescuedAtThePrompt(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.beginOnly()
		wantNone(t, d.talk())
		d.write(d.boundary())
		wantOne(t, d.talk())
		wantNone(t, d.talk())
	})
}

// beginOnly is a PreCompact that was killed after it took its number.
func (d *desk) beginOnly() {
	d.t.Helper()
	e := d.event(hooks.PreCompact)
	dir, err := d.b.session(aboutOf(e))
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.b.takeNext(dir, d.b.begin(e, ByPreCompact), 0); err != nil {
		d.t.Fatal(err)
	}
}

func TestSubagentsCompactionIsNobodys(t *testing.T) {
	for _, c := range clients {
		if c.version == "2.1.197" {
			continue // doesn't mark them: see the next test
		}
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, c.client, c.version)
			d.open()
			d.talk()
			for _, name := range []string{hooks.PreCompact, hooks.SessionStart, hooks.PostCompact} {
				e := d.event(name)
				e.AgentID, e.Source = "a1", hooks.SourceCompact
				d.b.Prepare(context.Background(), e)
				got, _ := d.fire(e)
				wantNone(t, got)
			}
			d.wantStates()
			wantOne(t, d.compact()+d.next())
		})
	}
}

func TestUnmarkedSubagentProvesNothing(t *testing.T) {
	d := newDesk(t, client.Claude, "2.1.197")
	d.talk()
	d.write(d.claudeRecord("assistant", m{"message": m{"role": "assistant", "id": "msg_agent", "model": "made-up", "content": []any{
		m{"type": "tool_use", "id": "toolu_agent1", "name": "Agent", "input": m{"description": "x", "prompt": "y"}},
	}}}))
	d.pre()
	got, o := d.start(hooks.SourceCompact)
	wantNone(t, got)
	if o.Decision != DidIgnore {
		t.Errorf("outcome %+v, want it ignored", o)
	}
	d.post()
	d.wantStates(Prepared)
	d.write(d.claudeRecord("user", m{"message": m{"role": "user", "content": []any{
		m{"type": "tool_result", "tool_use_id": "toolu_agent1", "content": "done"},
	}}}))
	d.write(d.answer()...)
	wantNone(t, d.talk())
	wantOne(t, d.compact()+d.next())
}

func TestOtherSessionGetsNothing(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		other := d.beside("99999999-2222-4333-8444-555555555555")
		other.open()
		d.talk()
		other.talk()
		got := d.compact()
		wantNone(t, other.next())
		wantNone(t, other.talk())
		wantOne(t, got+d.next())
	})
}

func TestForkUnderTheParentsIDTakesNothing(t *testing.T) {
	d := newDesk(t, client.Claude, "2.1.197")
	d.talk()
	d.pre() // prepared, the compaction is still running
	got, _ := d.start(hooks.SourceResume)
	wantNone(t, got)
	fork := d.beside("77777777-2222-4333-8444-555555555555")
	wantNone(t, fork.talk())
	wantOne(t, d.compact()+d.next())
}

func TestLostDirectiveIsRepeatedOnce(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.compact()
		if d.client == client.Codex {
			d.start(hooks.SourceCompact) // printed, and thrown away by the client
			wantNone(t, d.talk())
		} else {
			d.dropTrace()
			wantNone(t, d.talk())
		}
		wantOne(t, d.talk())
		wantNone(t, d.talk())
		d.wantStates(Confirmed)
	})
}

// dropTrace takes the last record, a trace, out of the transcript.
func (d *desk) dropTrace() {
	d.t.Helper()
	data, err := os.ReadFile(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	text := strings.TrimSuffix(string(data), "\n")
	i := strings.LastIndexByte(text, '\n') + 1
	if !strings.Contains(text[i:], "hook_additional_context") {
		d.t.Fatalf("the last record is no trace: %s", text[i:])
	}
	if err := os.WriteFile(d.path, []byte(text[:i]), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func TestNothingIsLostWithoutAnAnswer(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.compact()
		if d.client == client.Codex {
			d.start(hooks.SourceCompact)
		} else {
			d.dropTrace()
		}
		for range 3 {
			got, o := d.ask()
			wantNone(t, got)
			if o.Decision != DidWait {
				t.Errorf("outcome %+v, want waiting", o)
			}
		}
	})
}

func TestClosedOutputLeavesItToTheNextChance(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		d.write(d.boundary())
		if d.client == client.Codex {
			d.post()
		}
		e := d.event(hooks.SessionStart)
		e.Source = hooks.SourceCompact
		for _, out := range []*page{{limit: -1, gone: errors.New("closed")}, {limit: 0}} {
			o := d.b.Deliver(context.Background(), e, out)
			if out.text != "" || o.Partial {
				t.Errorf("printed %q, outcome %+v", out.text, o)
			}
		}
		wantOne(t, d.talk())
		wantNone(t, d.talk())
		d.wantStates(Confirmed)
	})
}

func TestHalfADocumentIsLeftToTheTranscript(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		d.write(d.boundary())
		if d.client == client.Codex {
			d.post()
		}
		e := d.event(hooks.SessionStart)
		e.Source = hooks.SourceCompact
		o := d.b.Deliver(context.Background(), e, &page{limit: 40})
		if !o.Partial {
			t.Errorf("outcome %+v, want a partial one", o)
		}
		d.wantStates(Claimed1)
		wantNone(t, d.talk())
		wantOne(t, d.talk())
		wantNone(t, d.talk())
		d.wantStates(Confirmed)
	})
}

func TestTranscriptGone(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		wantOne(t, d.compact()+d.next())
		if d.client == client.Claude {
			d.compact()
		} else {
			d.compact()
			d.start(hooks.SourceCompact)
		}
		if err := os.Remove(d.path); err != nil {
			t.Fatal(err)
		}
		got, _ := d.ask()
		wantNone(t, got)
		if s := d.states()[0]; s != Unverifiable {
			t.Errorf("state %s, want unverifiable", s)
		}
	})
}

func TestSessionThatMovedOnGetsNothing(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		d.write(d.boundary())
		if d.client == client.Codex {
			d.post()
		}
		for range 3 { // no hook runs
			d.turn++
			d.write(d.prompt())
			d.write(d.answer()...)
		}
		wantNone(t, d.talk())
		d.wantStates(TooLate)
	})
}

func TestAgeAloneDropsNothing(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.pre()
		d.write(d.boundary())
		if d.client == client.Codex {
			d.post()
		}
		*d.clock = d.clock.Add(30 * 24 * time.Hour)
		wantOne(t, d.talk())
	})
}

func TestBoundaryThatComesLateIsUsedByItsOwnRecord(t *testing.T) {
	d := newDesk(t, client.Claude, "2.1.197")
	d.talk()
	d.pre()
	got, _ := d.start(hooks.SourceCompact)
	d.post()
	wantOne(t, got)
	wantNone(t, d.talk())
	d.pre() // a second one, whose compaction fails
	d.write(d.boundary(), d.trace(got))
	d.write(d.answer()...)
	wantNone(t, d.talk()+d.talk())
}

func TestRefreshWhereTheTranscriptWentOn(t *testing.T) {
	d := newDesk(t, client.Claude, "2.1.332")
	d.talk()
	d.pre()
	d.write(d.answer()...)
	got, _ := d.start(hooks.SourceCompact)
	if !strings.HasSuffix(got, "packet-2") {
		t.Errorf("directive %q, want one of packet-2", got)
	}
}

func TestNoPacketIsSaidInOneLine(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		d.b.Packer = lightPacker{fail: errors.New("no space left on device")}
		if o := d.pre(); o.Decision != DidFail || o.Reply.Silent() {
			t.Errorf("outcome %+v, want a failure that the person is told of", o)
		}
		if d.client == client.Codex {
			d.write(d.boundary())
			d.post()
		}
		got, _ := d.start(hooks.SourceCompact)
		if !strings.Contains(got, "degraded") || !strings.Contains(got, "no space left") {
			t.Errorf("got %q, want the honest line", got)
		}
		if d.client == client.Claude {
			d.write(d.boundary())
		}
		d.write(d.trace(got))
		wantNone(t, d.talk())
	})
}

func TestOffMeansNothing(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		d.talk()
		for _, s := range []Switch{{}, {Project: "/work"}, {Client: d.client, Session: d.id}} {
			if err := d.b.Off(s); err != nil {
				t.Fatal(err)
			}
			wantNone(t, d.compact()+d.next())
			if was, err := d.b.On(s); !was || err != nil {
				t.Errorf("on: %v %v", was, err)
			}
		}
		d.wantStates()
		wantOne(t, d.compact()+d.next())
	})
}

func TestEveryTransitionIsOneOfTheDrawing(t *testing.T) {
	d := newDesk(t, client.Claude, "2.1.332")
	for _, from := range States() {
		for _, to := range States() {
			dir := filepath.Join(t.TempDir(), "0001")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "state."+string(from)), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			a := &Attempt{Number: 1, Dir: dir, State: from}
			won, err := d.b.move(a, from, to)
			if won != from.MayBecome(to) || (err == nil) != from.MayBecome(to) {
				t.Errorf("%s to %s: won %v, error %v", from, to, won, err)
			}
			if won {
				if again, err := d.b.move(&Attempt{Number: 1, Dir: dir}, from, to); again || err != nil {
					t.Errorf("%s to %s a second time: won %v, error %v", from, to, again, err)
				}
			}
		}
	}
}

func TestFiftyHooksAtOnceDeliverOne(t *testing.T) {
	eachClient(t, func(t *testing.T, d *desk) {
		for round := range 4 {
			d.talk()
			if round%2 == 0 {
				d.pre()
			}
			if d.client == client.Codex {
				d.write(d.boundary())
				if round%2 == 0 {
					d.post()
				}
			}
			got := d.together(50, hooks.SessionStart)
			if d.client == client.Claude {
				d.write(d.boundary())
			}
			if len(got) != 1 {
				t.Fatalf("round %d: %d directives, want one: %q; states %v", round, len(got), got, d.states())
			}
			d.write(d.trace(got[0]))
			before := d.story()
			if got := d.talk(); got != "" {
				t.Fatalf("round %d: %q came too; before %s\nafter %s", round, got, before, d.story())
			}
		}
	})
}

// together runs n hooks at once and returns what they printed.
func (d *desk) together(n int, event string) []string {
	e := d.event(event)
	e.Source = hooks.SourceCompact
	pages := make(chan string, n)
	gate := make(chan struct{})
	d.tick()
	for range n {
		go func() {
			<-gate
			out := &page{limit: -1}
			b := *d.b
			b.Deliver(context.Background(), e, out)
			pages <- out.text
		}()
	}
	close(gate)
	var got []string
	for range n {
		if text := <-pages; text != "" {
			got = append(got, contextOf(d.t, text))
		}
	}
	return got
}

// story tells all attempts, for a failing test.
func (d *desk) story() string {
	attempts, _ := Attempts(d.b.Home.Session(d.client, d.id))
	var all []string
	for _, a := range attempts {
		text := fmt.Sprintf("%s %s by %s", a.ID(), a.State, a.Begin.Mechanism)
		if a.Record != nil {
			text += fmt.Sprintf(" reach %d last answer %d boundary %d", a.Record.Reach.Bytes, a.Record.Reach.LastAnswer.Offset, a.Record.Reach.Boundary.Offset)
		}
		for _, c := range a.Claims() {
			text += fmt.Sprintf("; claimed from %s at %d by %s proof %v", c.From, c.Bytes, c.Event, c.Proof)
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

func ExampleState_MayBecome() {
	fmt.Println(Prepared.MayBecome(Claimed1), Confirmed.MayBecome(Claimed1))
	// Output: true false
}

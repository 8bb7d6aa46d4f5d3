package compact

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
)

// watched is a watcher over one seat of a runtime in memory.
type watched struct {
	*Watcher
	t       *testing.T
	r       *runtime
	clock   *clock
	policy  config.Policy
	said    []Decision
	reports []Report
	seat    Seat
}

func newWatched(t *testing.T, at state.Home) *watched {
	t.Helper()
	w := &watched{
		t: t, r: newRuntime(), clock: newClock(), seat: dev,
		policy: config.Policy{Enabled: true, ThresholdPercent: 80, Cooldown: config.Duration(10 * time.Minute)},
	}
	w.seat.Transcript = filepath.Join(t.TempDir(), dev.Session+".jsonl")
	w.r.live(dev.Session, 900, 1000, plugins.StateIdle)
	w.Watcher = &Watcher{
		Home: at, Clients: []string{"claude"}, Now: w.clock.now,
		Adapters: adapters(map[string]plugins.Runtime{"claude": w.r}),
		Seats:    func(context.Context) ([]Seat, error) { return []Seat{w.seat}, nil },
		Policy:   func(Seat) config.Policy { return w.policy },
		Log:      func(d Decision) { w.said = append(w.said, d) },
		Done:     func(r Report) { w.reports = append(w.reports, r) },
	}
	return w
}

// round lets the watcher look once and returns why it did what it did last.
func (w *watched) round() string {
	w.t.Helper()
	if err := w.Once(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	return w.said[len(w.said)-1].Reason
}

// use sets how full the seat is.
func (w *watched) use(tokens int64) { w.r.usage[dev.Session] = usageOf(tokens, 1000) }

func (w *watched) ledger() *Record {
	w.t.Helper()
	l, err := readLedger(w.Home)
	if err != nil {
		w.t.Fatal(err)
	}
	return l.of(w.seat)
}

func TestASeatIsCompactedOncePerCrossing(t *testing.T) {
	w := newWatched(t, home(t))
	for crossing := 1; crossing <= 3; crossing++ {
		w.use(900)
		if got := w.round(); got != reasonCompacted {
			t.Fatalf("crossing %d: %s", crossing, got)
		}
		w.use(20)
		for range 3 {
			w.clock.at = w.clock.at.Add(20 * time.Minute)
			if got := w.round(); got != reasonBelow {
				t.Fatalf("after crossing %d: %s", crossing, got)
			}
		}
		if got := w.r.times("compact"); got != crossing {
			t.Fatalf("%d compactions for %d crossings", got, crossing)
		}
	}
	if w.r.times("turn") != 0 {
		t.Error("an idle seat got a turn that nobody configured")
	}
}

func TestWhatKeepsAWatcherFromActing(t *testing.T) {
	for name, test := range map[string]struct {
		bend func(*watched)
		want string
	}{
		"policy off":       {func(w *watched) { w.policy.Enabled = false }, reasonOff},
		"below":            {func(w *watched) { w.use(799) }, reasonBelow},
		"a stale sample":   {func(w *watched) { u := usageOf(900, 1000); u.Newer = true; w.r.usage[dev.Session] = u }, reasonStale},
		"usage unknown":    {func(w *watched) { w.r.usage[dev.Session] = plugins.Usage{Unknown: plugins.UsageNoData} }, reasonUnknown},
		"busy":             {func(w *watched) { w.r.sessions[0].State = plugins.StateBusy }, reasonNotIdle},
		"waits for person": {func(w *watched) { w.r.sessions[0].State = plugins.StateWaiting }, reasonNotIdle},
		"state unknown":    {func(w *watched) { w.r.sessions[0].State = plugins.StateUnknown }, reasonNotIdle},
		"closed":           {func(w *watched) { w.r.sessions = nil }, reasonNoSession},
		"no channel":       {func(w *watched) { w.r.sessions[0].Channel = "" }, reasonChannel},
		"quiet hours":      {func(w *watched) { w.policy.QuietHours = []config.Hours{{From: 11 * 60, To: 13 * 60}} }, reasonQuiet},
		"adapter failed":   {func(w *watched) { w.r.fails = errors.New("gone") }, reasonUnknown},
		"window unknown":   {func(w *watched) { w.r.usage[dev.Session] = usageOf(900, 0) }, reasonBelow},
	} {
		w := newWatched(t, home(t))
		test.bend(w)
		if got := w.round(); got != test.want || w.r.times("compact") != 0 {
			t.Errorf("%s: %s, %d compactions", name, got, w.r.times("compact"))
		}
	}
}

func TestAnInvalidPolicyIsSaidAloud(t *testing.T) {
	w := newWatched(t, home(t))
	w.policy.Enabled, w.policy.Reason = false, "the policy is off: threshold_percent is 101"
	w.round()
	if line := w.said[0].String(); !strings.Contains(line, "101") {
		t.Errorf("said %q", line)
	}
}

func TestTokensAloneAreAThreshold(t *testing.T) {
	w := newWatched(t, home(t))
	w.policy.ThresholdPercent, w.policy.ThresholdTokens = 0, 500
	w.r.usage[dev.Session] = usageOf(500, 0)
	if got := w.round(); got != reasonCompacted {
		t.Errorf("got %s", got)
	}
}

func TestASeatThatStaysAboveIsStoppedAfterTwo(t *testing.T) {
	w := newWatched(t, home(t))
	w.r.compact = func(context.Context, plugins.CompactRequest) plugins.Result { return compactedAt(100, 900) }
	for n, want := range []string{reasonCompacted, reasonCooling, reasonCompacted, reasonCooling, reasonStopped, reasonStopped} {
		if got := w.round(); got != want {
			t.Fatalf("round %d: %s, want %s", n, got, want)
		}
		if want == reasonCooling {
			w.clock.at = w.clock.at.Add(11 * time.Minute)
		}
	}
	if got := w.r.times("compact"); got != 2 {
		t.Errorf("%d compactions", got)
	}
	if detail := w.said[len(w.said)-1].Detail; !strings.Contains(detail, "2 attempts") {
		t.Errorf("said %q", detail)
	}
	w.use(100)
	w.round()
	w.use(900)
	w.clock.at = w.clock.at.Add(time.Hour)
	if got := w.round(); got != reasonCompacted {
		t.Errorf("once it was below it counts anew: %s", got)
	}
}

func TestTwoFailuresStopASeat(t *testing.T) {
	for _, outcome := range []plugins.Outcome{plugins.Failed, plugins.Blocked, plugins.NotEnough} {
		w := newWatched(t, home(t))
		w.r.compact = func(context.Context, plugins.CompactRequest) plugins.Result {
			return plugins.Result{Outcome: outcome, Evidence: plugins.EvidenceNone}
		}
		for range 5 {
			w.round()
			w.clock.at = w.clock.at.Add(11 * time.Minute)
		}
		if got := w.r.times("compact"); got != 2 || w.ledger().Stopped == "" {
			t.Errorf("%s: %d attempts, stopped %q", outcome, got, w.ledger().Stopped)
		}
	}
}

func TestABusySeatIsNoFailure(t *testing.T) {
	w := newWatched(t, home(t))
	w.r.compact = func(context.Context, plugins.CompactRequest) plugins.Result {
		return plugins.Result{Outcome: plugins.Busy, Reason: plugins.ReasonPersonTyping}
	}
	for range 5 {
		w.round()
	}
	if r := w.ledger(); r.Pending != nil || r.Attempts != 0 || r.Stopped != "" || !r.Last.IsZero() {
		t.Errorf("record %+v", r)
	}
}

// A compaction whose watcher dies in the middle: the test ends the round by a
// panic where kill -9 would, and a new watcher takes over the state folder.
func TestAWatcherThatDiesNeitherLosesNorRepeats(t *testing.T) {
	for name, test := range map[string]struct {
		boundary bool
		delivery *Delivery
		settled  plugins.Outcome
	}{
		"compacted, with a boundary": {true, nil, plugins.Compacted},
		"compacted, hooks saw it":    {false, &Delivery{State: "emitted1", Proves: true}, plugins.Compacted},
		"only prepared":              {false, &Delivery{State: "prepared"}, plugins.Failed},
		"nothing was sent":           {false, nil, plugins.Failed},
	} {
		at := home(t)
		w := newWatched(t, at)
		if err := os.WriteFile(w.seat.Transcript, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.r.compact = func(context.Context, plugins.CompactRequest) plugins.Result {
			if test.boundary {
				appendBoundary(t, w.seat.Transcript)
			}
			panic("killed")
		}
		func() {
			defer func() { _ = recover() }()
			_ = w.Once(t.Context())
		}()

		next := newWatched(t, at)
		next.seat.Transcript, next.Continuity = w.seat.Transcript, hooks{test.delivery}
		next.clock.at = w.clock.at.Add(time.Minute)
		next.round()
		r := next.ledger()
		if r.Pending != nil || r.Outcome != test.settled || next.r.times("compact") != 0 {
			t.Errorf("%s: settled as %+v, %d compactions", name, r, next.r.times("compact"))
		}
		if !r.Last.Equal(w.clock.at) {
			t.Errorf("%s: the cool-down counts from %v", name, r.Last)
		}
		next.clock.at = next.clock.at.Add(11 * time.Minute)
		if got := next.round(); got != reasonCompacted { // still above: due again, once the cool-down is over
			t.Errorf("%s: after the cool-down %s", name, got)
		}
	}
}

func appendBoundary(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	record := `{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"00000000-0000-4000-8000-000000000009",` +
		`"timestamp":"2026-11-29T15:00:09.000Z","compactMetadata":{"trigger":"manual","preTokens":900},"sessionId":"` + dev.Session + `","version":"2.1.332"}` + "\n"
	if _, err := f.WriteString(record); err != nil {
		t.Fatal(err)
	}
}

func TestNothingIsRetriedWhileTheOutcomeIsUnknown(t *testing.T) {
	w := newWatched(t, home(t))
	w.r.compact = func(context.Context, plugins.CompactRequest) plugins.Result {
		return plugins.Result{Outcome: plugins.TimedOut, Sent: true}
	}
	w.round()
	w.r.sessions[0].State = plugins.StateBusy
	for range 3 {
		w.clock.at = w.clock.at.Add(time.Hour)
		if got := w.round(); got != reasonPending {
			t.Fatalf("while it is busy: %s", got)
		}
	}
	w.r.sessions[0].State = plugins.StateIdle
	w.policy.Cooldown = config.Duration(24 * time.Hour)
	w.round()
	if r := w.ledger(); r.Pending != nil || r.Outcome != plugins.Failed || r.Attempts != 1 {
		t.Errorf("once it is idle: %+v", r)
	}
}

func TestOneWatcherAtATime(t *testing.T) {
	w := newWatched(t, home(t))
	w.r.compact = func(ctx context.Context, _ plugins.CompactRequest) plugins.Result {
		if err := w.Once(ctx); !errors.Is(err, ErrWatching) {
			t.Errorf("a second one: %v", err)
		}
		return compactedAt(1, 1)
	}
	w.round()
}

func TestALedgerThatCantBeReadStopsTheWatcher(t *testing.T) {
	w := newWatched(t, home(t))
	w.use(10)
	w.round()
	for _, text := range []string{"", "{", `{"version":2}`} {
		if err := os.WriteFile(filepath.Join(folder(w.Home), ledgerName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.use(900)
		if err := w.Once(t.Context()); err == nil || w.r.times("compact") != 0 {
			t.Errorf("ledger %q: %v", text, err)
		}
	}
}

func TestTheConfiguredCommandIsTold(t *testing.T) {
	w := newWatched(t, home(t))
	out := filepath.Join(t.TempDir(), "told")
	w.policy.Notify = []string{"sh", "-c", `cat >"$1"`, "sh", out}
	w.round()
	data, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(data), `"outcome":"compacted"`) || !strings.Contains(string(data), `"seat":"dev@rig"`) {
		t.Errorf("told %q, %v", data, err)
	}
	if len(w.reports) != 1 {
		t.Errorf("%d reports", len(w.reports))
	}
}

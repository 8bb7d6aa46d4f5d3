package compact

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", path, got, want)
	}
}

// runtime is an adapter of a client that is all in memory: what is asked of it
// is counted, and a compaction does what the test says.
type runtime struct {
	mu       sync.Mutex
	sessions []plugins.Session
	usage    map[string]plugins.Usage
	turn     func(plugins.TurnRequest) plugins.Result
	compact  func(context.Context, plugins.CompactRequest) plugins.Result
	asked    map[string]int
	turns    []string
	fails    error
}

func newRuntime() *runtime {
	return &runtime{
		usage: map[string]plugins.Usage{}, asked: map[string]int{},
		turn: func(plugins.TurnRequest) plugins.Result {
			return plugins.Result{Outcome: plugins.Answered, Evidence: plugins.EvidenceCompletion}
		},
		compact: func(context.Context, plugins.CompactRequest) plugins.Result { return compactedAt(100, 20) },
	}
}

func compactedAt(offset, left int64) plugins.Result {
	return plugins.Result{
		Outcome: plugins.Compacted, Sent: true, Mechanism: plugins.ClaudeCompact, Channel: plugins.ChannelPane, Evidence: plugins.EvidenceBoundary,
		Boundary: &plugins.Boundary{Offset: offset, PreTokens: 900, PostTokens: left},
	}
}

func (r *runtime) count(call string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked[call]++
}

func (r *runtime) times(call string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[call]
}

func (r *runtime) Describe(context.Context) (plugins.Description, error) {
	return plugins.Description{}, nil
}

func (r *runtime) Sessions(context.Context) (plugins.Sessions, error) {
	r.count("sessions")
	return plugins.Sessions{Sessions: r.sessions}, r.fails
}

func (r *runtime) Usage(_ context.Context, of []plugins.SessionRef) ([]plugins.Usage, error) {
	r.count("usage")
	var out []plugins.Usage
	for _, ref := range of {
		u, ok := r.usage[ref.ID]
		if !ok {
			u = plugins.Usage{Unknown: plugins.UsageNotFound}
		}
		u.Session = ref.ID
		out = append(out, u)
	}
	return out, nil
}

func (r *runtime) Turn(_ context.Context, t plugins.TurnRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	r.count("turn")
	r.turns = append(r.turns, t.Text)
	stage(plugins.Progress{Stage: plugins.StageSending})
	return r.turn(t), nil
}

func (r *runtime) Compact(ctx context.Context, c plugins.CompactRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	r.count("compact")
	stage(plugins.Progress{Stage: plugins.StageSending})
	return r.compact(ctx, c), nil
}

func (r *runtime) Launch(context.Context, plugins.LaunchRequest) (plugins.Launch, error) {
	return plugins.Launch{}, nil
}

// adapters is a lineup of runtimes.
func adapters(of map[string]plugins.Runtime) Adapters {
	return func(_ context.Context, client string) (plugins.Runtime, bool, error) {
		r, ok := of[client]
		return r, ok, nil
	}
}

// live puts an idle session with a usage into the runtime.
func (r *runtime) live(id string, tokens, window int64, state plugins.State) {
	r.sessions = append(r.sessions, plugins.Session{ID: id, State: state, Channel: plugins.ChannelPane})
	r.usage[id] = usageOf(tokens, window)
}

func usageOf(tokens, window int64) plugins.Usage {
	u := plugins.Usage{Tokens: tokens, Window: window, SampledAt: time.Unix(1, 0), Source: "made_up"}
	if window > 0 {
		u.Percent = 100 * float64(tokens) / float64(window)
	}
	return u
}

// clock is a time that only the test moves.
type clock struct{ at time.Time }

func newClock() *clock { return &clock{time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)} }

func (c *clock) now() time.Time { return c.at }

func home(t *testing.T) state.Home {
	t.Helper()
	return state.Home(t.TempDir())
}

// hooks is a Continuity that knows one delivery.
type hooks struct{ d *Delivery }

func (h hooks) Delivery(context.Context, Seat, time.Time) (Delivery, bool, error) {
	if h.d == nil {
		return Delivery{}, false, nil
	}
	return *h.d, true, nil
}

//go:build unix

package compact

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
)

// TestMain also is the watcher of the test below: a process that can be killed.
func TestMain(m *testing.M) {
	if root := os.Getenv("COMPACT_TEST_WATCH"); root != "" {
		watchFleet(root)
		return
	}
	os.Exit(m.Run())
}

// fleetSeats is how many seats the fleet has, of both clients by turns.
const fleetSeats = 12

// A client answers at once; the watcher waits much longer before it calls an
// attempt without a trace failed, so that a machine with other work doesn't make
// a client look dead.
const (
	fleetSettle   = 5 * time.Second
	fleetCooldown = 500 * time.Millisecond
)

func fleetSeat(root string, n int) Seat {
	client := []string{"claude", "codex"}[n%2]
	return Seat{
		Address: fmt.Sprintf("dev-%02d@rig", n), Client: client, Session: fmt.Sprintf("%s-%02d", client, n),
		Transcript: filepath.Join(root, strconv.Itoa(n)+".jsonl"),
	}
}

// files is a runtime whose clients live in another process and are reached
// through files: N.jsonl is a transcript, N.state what the client does and how
// full it is, N.ask what it was told.
type files struct {
	runtime
	root, client string
}

func (f *files) each(do func(n int, s Seat, state string, tokens int64)) {
	for n := range fleetSeats {
		if s := fleetSeat(f.root, n); s.Client == f.client {
			data, _ := os.ReadFile(filepath.Join(f.root, strconv.Itoa(n)+".state"))
			word, number, _ := strings.Cut(string(data), " ")
			tokens, _ := strconv.ParseInt(number, 10, 64)
			do(n, s, word, tokens)
		}
	}
}

func (f *files) Sessions(context.Context) (plugins.Sessions, error) {
	var out plugins.Sessions
	f.each(func(_ int, s Seat, state string, _ int64) {
		out.Sessions = append(out.Sessions, plugins.Session{ID: s.Session, Transcript: s.Transcript, State: plugins.State(state), Channel: plugins.ChannelPane})
	})
	return out, nil
}

func (f *files) Usage(_ context.Context, of []plugins.SessionRef) ([]plugins.Usage, error) {
	by := map[string]int64{}
	f.each(func(_ int, s Seat, _ string, tokens int64) { by[s.Session] = tokens })
	var out []plugins.Usage
	for _, ref := range of {
		u := usageOf(by[ref.ID], 1000)
		u.Session = ref.ID
		out = append(out, u)
	}
	return out, nil
}

// Compact tells the client and waits for its boundary.
func (f *files) Compact(ctx context.Context, c plugins.CompactRequest, _ func(plugins.Progress)) (plugins.Result, error) {
	before := sizeOf(c.Session.Transcript)
	if err := os.WriteFile(strings.TrimSuffix(c.Session.Transcript, ".jsonl")+".ask", nil, 0o600); err != nil {
		return plugins.Result{}, err
	}
	for end := time.Now().Add(fleetSettle); time.Now().Before(end) && ctx.Err() == nil; <-time.After(2 * time.Millisecond) {
		if sizeOf(c.Session.Transcript) > before {
			return compactedAt(before, 50), nil
		}
	}
	return plugins.Result{Outcome: plugins.TimedOut, Sent: true}, nil
}

// watchFleet is the watcher's process.
func watchFleet(root string) {
	of := map[string]plugins.Runtime{"claude": &files{root: root, client: "claude"}, "codex": &files{root: root, client: "codex"}}
	w := &Watcher{
		Home: state.Home(filepath.Join(root, "home")), Clients: []string{"claude", "codex"}, Adapters: adapters(of), Now: time.Now,
		Settle: fleetSettle,
		Seats: func(context.Context) ([]Seat, error) {
			var seats []Seat
			for n := range fleetSeats {
				seats = append(seats, fleetSeat(root, n))
			}
			return seats, nil
		},
		Policy: func(Seat) config.Policy {
			return config.Policy{Enabled: true, ThresholdPercent: 80, Cooldown: config.Duration(fleetCooldown)}
		},
		Log: func(d Decision) {
			if d.Act || d.Reason == reasonSettled {
				line, _ := json.Marshal(d)
				fmt.Println(string(line))
			}
		},
	}
	if err := w.Watch(context.Background(), 10*time.Millisecond, func(err error) { fmt.Println(err) }); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// fleet is the clients: they go on whatever becomes of the watcher.
type clients struct {
	t      *testing.T
	root   string
	mu     sync.Mutex
	tokens [fleetSeats]int64
	busy   [fleetSeats]bool
	done   [fleetSeats]int
	wrong  []string
}

func (c *clients) show(n int) {
	word := "idle"
	if c.busy[n] {
		word = "busy"
	}
	path := filepath.Join(c.root, strconv.Itoa(n)+".state")
	if err := os.WriteFile(path+".new", []byte(word+" "+strconv.FormatInt(c.tokens[n], 10)), 0o600); err == nil {
		_ = os.Rename(path+".new", path)
	}
}

// work takes what clients are told.
func (c *clients) work(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		for n := range fleetSeats {
			if os.Remove(filepath.Join(c.root, strconv.Itoa(n)+".ask")) != nil {
				continue
			}
			wg.Go(func() { c.compact(n) })
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Millisecond):
		}
	}
}

// compact is one client at work. It takes a while before it shows anything. What
// it uses falls no later than its boundary appears, as with the real ones: a
// sample from before the boundary isn't fresh.
func (c *clients) compact(n int) {
	c.mu.Lock()
	if c.busy[n] {
		c.wrong = append(c.wrong, fmt.Sprintf("seat %d was told while it was busy", n))
	}
	c.mu.Unlock()
	<-time.After(time.Duration(rand.IntN(250)) * time.Millisecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens[n] = 50
	c.show(n)
	appendBoundary(c.t, fleetSeat(c.root, n).Transcript)
	c.done[n]++
}

func (c *clients) set(n int, tokens int64, busy bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens[n], c.busy[n] = tokens, busy
	c.show(n)
}

// all says whether every client compacted that often.
func (c *clients) all(times int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range c.done {
		if n < times {
			return false
		}
	}
	return true
}

func TestAWatcherKilledAtRandomNeitherLosesNorDoubles(t *testing.T) {
	root := t.TempDir()
	c := &clients{t: t, root: root}
	for n := range fleetSeats {
		if err := os.WriteFile(fleetSeat(root, n).Transcript, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		c.set(n, 10, false)
	}
	working, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { c.work(working) })
	defer wg.Wait()
	defer stop()
	kills := 0
	for crossing := 1; crossing <= 2; crossing++ {
		for n := range fleetSeats {
			c.set(n, 900, n == 3) // one is busy until the watchers have died often enough
		}
		for range 10 {
			watcher := startWatcher(t, root)
			<-time.After(time.Duration(rand.IntN(120)) * time.Millisecond)
			if err := watcher.Process.Signal(syscall.SIGKILL); err == nil {
				kills++
			}
			_ = watcher.Wait()
		}
		c.set(3, 900, false)
		watcher := startWatcher(t, root)
		for end := time.Now().Add(time.Minute); !c.all(crossing); <-time.After(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("lost: after crossing %d the seats compacted %v times", crossing, c.done)
				break
			}
		}
		<-time.After(2 * fleetCooldown) // time for a second one
		_ = watcher.Process.Kill()
		_ = watcher.Wait()
		for n, done := range c.done {
			if done != crossing {
				t.Errorf("crossing %d: seat %d compacted %d times", crossing, n, done)
			}
		}
	}
	for _, w := range c.wrong {
		t.Error(w)
	}
	t.Logf("%d watchers killed, compactions %v", kills, c.done)
}

func startWatcher(t *testing.T, root string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "COMPACT_TEST_WATCH="+root)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// fleetSeats is how many seats of each client the fleet has.
const fleetSeats = 6

// fleet is seats of both clients in one home, each in its own terminal.
type fleet struct {
	claude *claude
	codex  *codex
	env    []string
	seats  []*fleetSeat
}

type fleetSeat struct {
	client, session string
	transcript      string
	term            *terminal
	busyWith        string // the answer to a turn that runs while watchers die
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	k := newCodex(t, withDaemon)
	c := &claude{home: k.home, version: claudeVersions[0], program: clientProgram(t, "claude", claudeVersions[0])}
	c.book = anthropic.NewBook()
	c.stub = c.startStub(t, c.book.Script)
	putPrograms(t, k.Bin)
	c.skipOnboarding(t)
	f := &fleet{claude: c, codex: k}
	f.env = clientOnPath(t, k.home, "codex", k.program, clientOnPath(t, k.home, "claude", c.program, append(k.codexEnv(), c.claudeEnv()...)))
	for n := range fleetSeats {
		f.seats = append(f.seats, f.seatOfClaude(t, n), f.seatOfCodex(t, n))
	}
	return f
}

// seatOfClaude starts a seat and fills it above the threshold.
func (f *fleet) seatOfClaude(t *testing.T, n int) *fleetSeat {
	t.Helper()
	term := startTerminal(t, f.claude.home.command(f.claude.program, f.claude.claudeEnv()))
	term.waitFor("❯")
	first, second := fmt.Sprintf("opening words %02d", n), fmt.Sprintf("filling words %02d", n)
	f.claude.exchange(t, term, first)
	f.claude.book.Turn(second, stubmodel.Text("a full context").Using(60_000))
	session := f.claude.exchange(t, term, second)
	return &fleetSeat{client: "claude", session: session, transcript: f.claude.transcript(t, session), term: term}
}

func (f *fleet) seatOfCodex(t *testing.T, n int) *fleetSeat {
	t.Helper()
	term := f.codex.startTerminal(t)
	prompt := fmt.Sprintf("codex words %02d", n)
	f.codex.scenes.On(prompt, stubmodel.Text("answer to %s", prompt).Using(60_000))
	session := f.codex.exchange(t, term, prompt)
	s := &fleetSeat{client: "codex", session: session, term: term}
	for _, rollout := range f.codex.rollouts(t) {
		if strings.Contains(rollout, session) {
			s.transcript = rollout
		}
	}
	return s
}

// compactions counts the boundaries in the seat's transcript.
func (s *fleetSeat) compactions(t *testing.T) int {
	t.Helper()
	n := 0
	for _, r := range readRecords(readFile(t, s.transcript)) {
		if r.Get("subtype").String() == "compact_boundary" || r.Get("type").String() == "compacted" {
			n++
		}
	}
	return n
}

// watcher is `reseat watch` as a process that can be killed.
type watcher struct {
	cmd *exec.Cmd
	out bytes.Buffer
}

func (f *fleet) watch(t *testing.T) *watcher {
	t.Helper()
	w := &watcher{cmd: exec.Command(filepath.Join(f.claude.Bin, "reseat"), "watch", "--every", "1s", "--json")}
	w.cmd.Env, w.cmd.Dir = f.env, f.claude.Project
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.out
	w.cmd.WaitDelay = 5 * time.Second // an adapter may hold the pipe a little longer
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *watcher) kill() {
	_ = w.cmd.Process.Signal(syscall.SIGKILL)
	_ = w.cmd.Wait()
}

// Twelve real seats of both clients, all above their threshold, one of each
// client busy: watchers die at twenty random moments, and each seat is compacted
// once, the busy ones after their turn.
func TestWatcherOverTwelveRealSeatsKilledAtRandom(t *testing.T) {
	f := newFleet(t)
	for _, s := range f.seats[:2] {
		s.busyWith = "the end of a long turn of " + s.client
		prompt := "a long turn of " + s.client
		reply := stubmodel.Text("%s", s.busyWith).Using(61_000).After(50 * time.Second)
		f.claude.book.Turn(prompt, reply)
		f.codex.scenes.On(prompt, reply)
		s.term.enter(prompt)
	}
	f.claude.configure(t, "[policy.claude]\nenabled = true\nthreshold_tokens = 50000\ncooldown = \"2s\"\n"+
		"[policy.codex]\nenabled = true\nthreshold_tokens = 50000\ncooldown = \"2s\"\n")
	said := ""
	for range 20 {
		w := f.watch(t)
		<-time.After(time.Duration(rand.IntN(4000)) * time.Millisecond) // the moment is the point
		w.kill()
		said += w.out.String()
	}
	w := f.watch(t)
	eventually(t, 5*time.Minute, "a compaction of every seat", func() bool {
		for _, s := range f.seats {
			if s.compactions(t) == 0 {
				return false
			}
		}
		return true
	})
	w.kill()
	said += w.out.String()
	// A watcher that looks once more finds nothing to do.
	for _, d := range watchOnce(t, f.claude.home, f.env) {
		if d.Get("act").Bool() {
			t.Errorf("acted once more: %s", d.Raw)
		}
	}
	for _, s := range f.seats {
		if n := s.compactions(t); n != 1 {
			t.Errorf("%s:%s was compacted %d times", s.client, s.session, n)
		}
		if s.busyWith != "" {
			f.checkTurnCameFirst(t, s)
		}
	}
	t.Logf("decisions to act: %d", strings.Count(said, `"act":true,"reason":"compacting"`))
}

// checkTurnCameFirst holds that a running turn was ended before its seat was
// compacted.
func (f *fleet) checkTurnCameFirst(t *testing.T, s *fleetSeat) {
	t.Helper()
	answered := false
	for _, r := range readRecords(readFile(t, s.transcript)) {
		answered = answered || strings.Contains(r.Raw, s.busyWith)
		if kind := r.Get("type").String(); kind == "compacted" || r.Get("subtype").String() == "compact_boundary" {
			if !answered {
				t.Errorf("%s:%s was compacted before its turn's end", s.client, s.session)
			}
			return
		}
	}
}

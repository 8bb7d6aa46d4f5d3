//go:build linux

package torture

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// runner is one of several hooks that run at once.
type runner struct {
	event string
	out   bytes.Buffer
	err   error
}

// atOnce starts the hooks at random moments within 20 ms, and kills those that
// are to be killed at a random moment of their lives.
func (s *seat) atOnce(rng *rand.Rand, events []string, kill func(event string) bool) []*runner {
	s.t.Helper()
	runs := make([]*runner, len(events))
	var wait sync.WaitGroup
	for i, event := range events {
		r := &runner{event: event}
		runs[i] = r
		cmd := s.command(s.t.Context(), event)
		cmd.Stdout = &r.out
		delay := time.Duration(rng.IntN(20_000)) * time.Microsecond
		life := time.Duration(-1)
		if kill(event) {
			life = time.Duration(rng.IntN(12_000)) * time.Microsecond
		}
		wait.Go(func() {
			time.Sleep(delay) // the race itself, not a wait
			if r.err = cmd.Start(); r.err != nil {
				return
			}
			if life >= 0 {
				time.AfterFunc(life, func() { cmd.Process.Kill() })
			}
			r.err = cmd.Wait()
		})
	}
	wait.Wait()
	return runs
}

// TestHooksRaceAsProcesses runs the hooks of one compaction at once, in rounds
// with and without SessionStart, with a late second copy of PreCompact, and with
// hooks killed while they run: the context gets exactly one directive.
func TestHooksRaceAsProcesses(t *testing.T) {
	rounds := 12
	if *full {
		rounds = 200
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	root := memory(t)
	kills := 0
	for round := range rounds {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		runtime := runtimes[round%2]
		s := newSeat(t, runtime, filepath.Join(root, fmt.Sprint(round)))
		second := round%4 >= 2
		if second {
			s.compact()
			if err := s.settle(1); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		s.hook("PreCompact")
		s.compacts()
		if runtime == "codex" {
			s.boundary()
		}
		events := []string{"UserPromptSubmit", "PostCompact", "PreCompact"}
		if rng.IntN(4) > 0 {
			events = append(events, "SessionStart")
		}
		killing := rng.IntN(2) == 0
		runs := s.atOnce(rng, events, func(event string) bool {
			return killing && (event == "SessionStart" || event == "UserPromptSubmit")
		})
		var early, late []string
		for _, r := range runs {
			killed := diedOfKill(r.err)
			if killed {
				kills++
			} else if r.err != nil {
				t.Errorf("round %d: %s: %v", round, r.event, r.err)
			}
			text := s.accepted(r.out.Bytes(), killed)
			if r.event == "UserPromptSubmit" {
				late = append(late, text)
			} else {
				early = append(early, text)
			}
		}
		if runtime == "claude" {
			s.boundary()
		}
		for _, text := range early {
			s.inject(text)
		}
		s.prompt()
		for _, text := range late {
			s.inject(text)
		}
		s.answer()
		before := s.states()
		if err := s.settle(1); err != nil {
			t.Errorf("round %d (%s, %v, killing %v, then %s): %v", round, runtime, events, killing, before, err)
		}
		if err := s.torn(); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		os.RemoveAll(s.dir)
	}
	t.Logf("%d rounds, %d hooks killed while they ran", rounds, kills)
}

// TestManySessionsCompactAtOnce: each session of both clients on one state folder
// gets the one directive that speaks of its own work, and a session that doesn't
// compact isn't touched.
func TestManySessionsCompactAtOnce(t *testing.T) {
	sessions := 12
	if *full {
		sessions = 100
	}
	root := memory(t)
	home := filepath.Join(root, "state")
	bystander := newSeat(t, "claude", filepath.Join(root, "bystander"))
	bystander.home, bystander.session = home, "99999999-0000-4000-8000-000000000000"
	bystander.prompt()
	bystander.answer()
	bystander.compact()
	if err := bystander.settle(1); err != nil {
		t.Fatal(err)
	}
	folders, _ := filepath.Glob(filepath.Join(home, "s", "*"))
	if len(folders) != 1 {
		t.Fatalf("%d session folders, want one", len(folders))
	}
	untouched := fingerprint(t, folders[0])

	seats := make([]*seat, sessions)
	for i := range seats {
		s := newSeat(t, runtimes[i%2], filepath.Join(root, fmt.Sprint("seat", i)))
		os.Remove(s.transcript())
		s.home, s.session = home, fmt.Sprintf("%08d-1111-4222-8333-444455556666", i)
		s.turns = 1000 * (i + 1) // the work that it speaks of
		if s.runtime == "codex" {
			s.write(m{"timestamp": s.stamp(), "type": "session_meta", "payload": m{"id": s.session, "cwd": s.work(), "cli_version": s.version}})
		}
		s.prompt()
		s.answer()
		seats[i] = s
	}
	var wait sync.WaitGroup
	for _, s := range seats {
		wait.Go(s.compact)
	}
	wait.Wait()
	for i, s := range seats {
		if len(s.got) != 1 {
			t.Errorf("session %d: %d directives, want one: %s", i, len(s.got), s.got)
			continue
		}
		if work := fmt.Sprintf("part %d.", 1000*(i+1)+1); !strings.Contains(s.got[0], work) {
			t.Errorf("session %d: the directive doesn't speak of %q: %s", i, work, s.got[0])
		}
		if !strings.Contains(s.got[0], s.session) && !strings.Contains(s.got[0], s.session[:8]) {
			t.Errorf("session %d: the directive doesn't name it: %s", i, s.got[0])
		}
	}
	for _, s := range seats {
		wait.Go(func() {
			if err := s.settle(1); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if now := fingerprint(t, folders[0]); now != untouched {
		t.Errorf("the session that didn't compact was touched:\n%s\n%s", untouched, now)
	}
	folders, _ = filepath.Glob(filepath.Join(home, "s", "*"))
	if len(folders) != sessions+1 {
		t.Errorf("%d session folders, want %d", len(folders), sessions+1)
	}
	t.Logf("%d sessions", sessions)
}

// fingerprint is all that is below dir, with contents and times.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var data []byte
		if !d.IsDir() {
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&all, "%s %v %v %x\n", path, info.Mode(), info.ModTime(), sha256.Sum256(data))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

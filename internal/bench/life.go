package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// slowSize is from where on reading a whole transcript takes seconds: that is
// done in the first rounds only.
const (
	slowSize   = 1 << 30
	slowRounds = 3
)

// lives runs one round over a client's sessions.
func (w *world) lives(ctx context.Context, sessions []*session) error {
	for _, s := range sessions {
		for _, life := range []func(context.Context, *session) error{w.ordinaryLife, w.rescuedLife, w.refreshedLife, w.wholeTranscript} {
			err := life(ctx, s)
			if err == nil {
				err = s.reset()
			}
			if err != nil {
				return fmt.Errorf("%s, %d MB: %w", s.client, s.size>>20, err)
			}
		}
	}
	return nil
}

// laterCompactions is how many follow the first one in an ordinary life.
const laterCompactions = 2

// ordinaryLife is a session that begins, is compacted a few times, and goes on.
func (w *world) ordinaryLife(ctx context.Context, s *session) error {
	state := w.state()
	defer os.RemoveAll(state)
	if err := w.begin(s, state); err != nil {
		return err
	}
	if err := w.prompt(s, state, idle, "t0"); err != nil {
		return err
	}
	for n := 1; n <= 1+laterCompactions; n++ {
		turn, row := "t"+strconv.Itoa(n), first
		if n > 1 {
			row = later
		}
		if err := w.prepare(ctx, s, state, row, turn, n); err != nil {
			return err
		}
		if err := w.compaction(s, state, turn); err != nil {
			return err
		}
		text, err := w.deliver(s, state, deliver, turn)
		if err != nil {
			return err
		}
		if err := has(attempt(state, n), "state.emitted1"); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(attempt(state, n), "packet-2")); err == nil {
			return fmt.Errorf("attempt %d was refreshed, and nothing had been added", n)
		}
		if err := s.injected(text); err != nil {
			return err
		}
		if err := s.turn(); err != nil {
			return err
		}
		if err := w.prompt(s, state, "", turn+"a"); err != nil { // confirms
			return err
		}
		if err := has(attempt(state, n), "state.confirmed"); err != nil {
			return err
		}
		if err := w.prompt(s, state, settled, turn+"b"); err != nil {
			return err
		}
	}
	return nil
}

// rescuedLife is a session whose PreCompact never ran.
func (w *world) rescuedLife(ctx context.Context, s *session) error {
	state := w.state()
	defer os.RemoveAll(state)
	if err := w.begin(s, state); err != nil {
		return err
	}
	if err := s.compacted(); err != nil {
		return err
	}
	if _, err := w.deliver(s, state, rescue, "t1"); err != nil {
		return err
	}
	return w.checkPacket(ctx, s, filepath.Join(attempt(state, 1), "packet"), false)
}

// refreshedLife is a session that goes on after its packet was made, before it
// is compacted.
func (w *world) refreshedLife(ctx context.Context, s *session) error {
	state := w.state()
	defer os.RemoveAll(state)
	if err := w.begin(s, state); err != nil {
		return err
	}
	if err := w.prepare(ctx, s, state, "", "t1", 1); err != nil {
		return err
	}
	if err := s.turn(); err != nil {
		return err
	}
	if err := w.compaction(s, state, "t1"); err != nil {
		return err
	}
	if _, err := w.deliver(s, state, refresh, "t1"); err != nil {
		return err
	}
	return w.checkPacket(ctx, s, filepath.Join(attempt(state, 1), "packet-2"), false)
}

// wholeTranscript writes a packet with every message, against wc -l.
func (w *world) wholeTranscript(ctx context.Context, s *session) error {
	if done := len(w.samples[key{countNL, s.client, s.size}]); s.size >= slowSize && (done >= slowRounds || !w.counted) {
		return nil
	}
	wc, err := exec.LookPath("wc")
	if err != nil {
		return err
	}
	if err := w.measure(key{countNL, s.client, s.size}, w.program(wc, "-l", s.path)); err != nil {
		return err
	}
	if s.size > w.o.full {
		return nil
	}
	dir := w.state()
	defer os.RemoveAll(dir)
	j := w.program(filepath.Join(w.bin, "reseat"), "packet", "write", "--source-jsonl", s.path, "--target", dir, "--full-transcript")
	if err := w.measure(key{whole, s.client, s.size}, j); err != nil {
		return err
	}
	return w.checkPacket(ctx, s, dir, true)
}

// run runs a hook, measured where row names what as.
func (w *world) run(s *session, state, row, event, source, turn string) error {
	j, err := w.hook(s, state, event, source, turn)
	if err != nil {
		return err
	}
	if row == "" {
		_, err = w.runs(j)
	} else {
		err = w.measure(key{row, s.client, s.size}, j)
	}
	return err
}

// silent fails where the last hook printed anything.
func (w *world) silent(event string) error {
	out, err := os.ReadFile(filepath.Join(w.io, "out"))
	if err == nil && len(out) > 0 {
		err = fmt.Errorf("%s printed %.300q", event, out)
	}
	return err
}

func (w *world) begin(s *session, state string) error {
	if err := w.run(s, state, "", "SessionStart", "startup", "t0"); err != nil {
		return err
	}
	return w.silent("SessionStart")
}

func (w *world) prompt(s *session, state, row, turn string) error {
	if err := w.run(s, state, row, "UserPromptSubmit", "", turn); err != nil {
		return err
	}
	return w.silent("UserPromptSubmit")
}

// prepare runs PreCompact, which has to leave attempt n prepared with a packet.
func (w *world) prepare(ctx context.Context, s *session, state, row, turn string, n int) error {
	if err := w.run(s, state, row, "PreCompact", "", turn); err != nil {
		return err
	}
	if err := w.silent("PreCompact"); err != nil {
		return err
	}
	if err := has(attempt(state, n), "state.prepared"); err != nil {
		return err
	}
	return w.checkPacket(ctx, s, filepath.Join(attempt(state, n), "packet"), false)
}

// compaction is what the client does and reports.
func (w *world) compaction(s *session, state, turn string) error {
	if err := s.compacted(); err != nil || s.client != client.Codex {
		return err
	}
	return w.run(s, state, "", "PostCompact", "", turn)
}

// deliver runs SessionStart(compact), which has to print a directive.
func (w *world) deliver(s *session, state, row, turn string) (text string, err error) {
	if err := w.run(s, state, row, "SessionStart", "compact", turn); err != nil {
		return "", err
	}
	return checkDirective(s, filepath.Join(w.io, "out"))
}

// attempt is the folder of attempt n of the one session in state.
func attempt(state string, n int) string {
	found, _ := filepath.Glob(filepath.Join(state, "s", "*", "c", fmt.Sprintf("%04d", n)))
	return strings.Join(found, " and ")
}

func has(dir, name string) error {
	if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
		there, _ := filepath.Glob(filepath.Join(dir, "*"))
		return fmt.Errorf("%s isn't there, only %q", name, there)
	}
	return nil
}

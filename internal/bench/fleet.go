package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// fleet is many seats on one state folder. Each seat of Claude Code has a live
// process, as the client notes it; a live Codex can't be made up from outside.
type fleet struct {
	*world
	state    string
	sessions []*session
	sleepers []*exec.Cmd
}

// fleet measures what concerns many seats: the plan, and hooks all at once.
func (w *world) fleet(ctx context.Context) (err error) {
	if w.o.seats == 0 {
		return nil
	}
	f := &fleet{world: w, state: w.state()}
	defer func() { err = errors.Join(err, f.end()) }()
	w.say("seating %d sessions", w.o.seats)
	for i := range w.o.seats {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.seat(ctx, i); err != nil {
			return err
		}
	}
	return w.rounds(ctx, "seats", func() error { return f.round(ctx) })
}

func (f *fleet) end() error {
	for _, s := range f.sleepers {
		_ = s.Process.Kill()
		_ = s.Wait()
	}
	return os.RemoveAll(f.state)
}

// seat makes session i, of the clients in turn, and seats it.
func (f *fleet) seat(ctx context.Context, i int) error {
	c := client.All()[i%2]
	id := fmt.Sprintf("%08x-1111-4111-8111-111111111111", 0x10000000+i)
	path := filepath.Join(f.home, ".claude", "projects", dashed(f.cwd), fileName(c, id))
	if c == client.Codex {
		id = fmt.Sprintf("019b7d50-%04x-7000-8000-000000000001", i) // of 2 January 2026
		path = filepath.Join(f.home, ".codex", "sessions", "2026", "01", "02", fileName(c, id))
	}
	s, err := create(path, f.cwd, id, c, f.o.sizes[0], f.o.seed+uint64(i))
	if err != nil {
		return err
	}
	f.sessions = append(f.sessions, s)
	if err := f.begin(s, f.state); err != nil {
		return err
	}
	if c == client.Claude {
		if err := f.live(s); err != nil {
			return err
		}
	}
	bind := f.reseat(ctx, "seat", "bind", "--home", f.state, fmt.Sprintf("dev-%d@bench", i), string(c)+":"+id)
	if out, err := bind.CombinedOutput(); err != nil {
		return fmt.Errorf("seat bind: %w\n%s", err, out)
	}
	return nil
}

// dashed is Claude Code's folder name for a working directory.
func dashed(path string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, path)
}

// live gives the session a process, and notes it where the client does.
func (f *fleet) live(s *session) error {
	cmd := exec.Command("sleep", "86400")
	if err := cmd.Start(); err != nil {
		return err
	}
	f.sleepers = append(f.sleepers, cmd)
	pid := cmd.Process.Pid
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return nil // no such table here: then nobody has the session open
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	note, err := json.Marshal(object{
		"pid": pid, "sessionId": s.id, "cwd": s.cwd, "procStart": fields[19], "version": "2.1.332", "kind": "interactive", "status": "idle",
	})
	if err != nil {
		return err
	}
	path := filepath.Join(f.home, ".claude", "sessions", strconv.Itoa(pid)+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, note, 0o600)
}

func (f *fleet) round(ctx context.Context) error {
	j := f.program(filepath.Join(f.bin, "reseat"), "compact-plan", "--home", f.state, "--threshold-tokens", "1000", "--json")
	if err := f.measure(key{what: plan}, j); err != nil {
		return err
	}
	if err := f.checkPlan(j.Stdout); err != nil {
		return err
	}
	for _, b := range bursts {
		jobs, err := f.hooks(b.event)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return nil
		}
		for _, run := range []struct {
			what string
			j    job
		}{{b.inTurn, job{InTurn: jobs}}, {b.atOnce, job{AtOnce: jobs}}} {
			if err := f.measure(key{what: run.what}, run.j); err != nil {
				return err
			}
			if err := f.checkHooks(ctx, b.event); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPlan fails unless the plan names every seat and knows its usage.
func (f *fleet) checkPlan(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var p struct {
		Summary struct{ TotalSeats, CandidateCount, BlockedCount int }
		Blocked []struct{ Reasons []string }
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	if p.Summary.TotalSeats != f.o.seats {
		return fmt.Errorf("the plan has %d seats", p.Summary.TotalSeats)
	}
	if strings.Contains(string(data), `"context_unknown"`) {
		return fmt.Errorf("the plan doesn't know every seat's usage: %.2000s", data)
	}
	return nil
}

// hooks are the jobs of so many sessions at one event.
func (f *fleet) hooks(event string) ([]job, error) {
	var jobs []job
	for i, s := range f.sessions[:f.o.burst] {
		j, err := f.hook(s, f.state, event, "", "t"+strconv.Itoa(f.states))
		if err != nil {
			return nil, err
		}
		own := func(path string) string { return path + "-" + strconv.Itoa(i) }
		if err := os.Rename(j.Stdin, own(j.Stdin)); err != nil {
			return nil, err
		}
		j.Stdin, j.Stdout, j.Stderr = own(j.Stdin), own(j.Stdout), own(j.Stderr)
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// checkHooks fails unless all hooks were silent and a PreCompact left each
// session a prepared attempt, with a packet that holds what it should.
func (f *fleet) checkHooks(ctx context.Context, event string) error {
	for i := range f.o.burst {
		out, err := os.ReadFile(filepath.Join(f.io, "out-"+strconv.Itoa(i)))
		if err != nil || len(out) > 0 {
			return fmt.Errorf("%s printed %q: %v", event, out, err)
		}
	}
	if event != "PreCompact" {
		return nil
	}
	return f.checkPrepared(ctx)
}

func (f *fleet) checkPrepared(ctx context.Context) error {
	prepared, err := filepath.Glob(filepath.Join(f.state, "s", "*", "c", "*", "state.prepared"))
	if err != nil {
		return err
	}
	newest := map[string]string{}
	for _, path := range prepared { // sorted: the newest of a session last
		dir := filepath.Dir(path)
		newest[filepath.Dir(dir)] = dir
	}
	if len(newest) != f.o.burst {
		return fmt.Errorf("%d of %d sessions have a prepared attempt", len(newest), f.o.burst)
	}
	for _, dir := range newest {
		if err := f.checkOne(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// checkOne checks the packet of an attempt against the session that it is of.
func (f *fleet) checkOne(ctx context.Context, dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, "..", "..", "about.json"))
	if err != nil {
		return err
	}
	var about struct{ Session string }
	if err := json.Unmarshal(data, &about); err != nil {
		return err
	}
	for _, s := range f.sessions {
		if s.id == about.Session {
			return f.checkPacket(ctx, s, filepath.Join(dir, "packet"), false)
		}
	}
	return fmt.Errorf("%s is of no session", dir)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
)

// What is measured. The first four are the floors.
const (
	empty   = "an empty Go program"
	small   = "one durable small-file write"
	status  = "one git status of the folder"
	countNL = "wc -l of the transcript"

	idle    = "directive, nothing pending, never compacted"
	settled = "directive, nothing pending, compacted before"
	deliver = "directive, delivering"
	first   = "precompact, first"
	later   = "precompact, second and third"
	rescue  = "directive, rescue"
	refresh = "directive, refresh"
	whole   = "packet write --full-transcript"
	plan    = "compact-plan"
)

// bursts are hooks of many sessions, one after the other and then at once.
var bursts = []struct {
	event, inTurn, atOnce string
	limit                 time.Duration // a hook's own, delivery.md
}{
	{"PreCompact", "precompacts one after the other", "the same precompacts at once", 10 * time.Second},
	{"UserPromptSubmit", "prompts one after the other", "the same prompts at once", 2 * time.Second},
}

// key names a row of measurements.
type key struct {
	what   string
	client client.Client // "" where it makes no difference
	size   int64         // of the transcript in bytes, 0 where there is none
}

// world is a machine's worth of one benchmark: programs, a repository to work
// in, transcripts, and what was measured.
type world struct {
	o        options
	temp     string
	bin      string
	cwd      string // the repository
	home     string // HOME
	io       string // what goes into and comes out of a program
	runner   *runner
	strace   string // "" where there is none
	load     string // of the machine when it began
	progress io.Writer

	samples map[key][]report
	syncs   map[key]int
	counted bool // this round's runs count; the one before only warms up and counts syncs
	states  int
}

func newWorld(ctx context.Context, o options, progress io.Writer) (w *world, err error) {
	temp, err := os.MkdirTemp(o.temp, "reseat-bench-")
	if err != nil {
		return nil, err
	}
	w = &world{
		o: o, temp: temp, progress: progress, load: load(), samples: map[key][]report{}, syncs: map[key]int{},
		bin: filepath.Join(temp, "bin"), cwd: filepath.Join(temp, "repo"), home: filepath.Join(temp, "home"), io: filepath.Join(temp, "io"),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	for _, dir := range []string{w.bin, w.cwd, w.home, w.io} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	w.strace, _ = exec.LookPath("strace")
	w.say("building the programs")
	if err := build(ctx, w.bin); err != nil {
		return nil, err
	}
	if err := repository(ctx, w.cwd); err != nil {
		return nil, err
	}
	return w, w.renew()
}

// renew starts a new measuring process, which has grown by nothing yet.
func (w *world) renew() error {
	if w.runner != nil {
		if err := w.runner.close(); err != nil {
			return err
		}
	}
	var err error
	w.runner, err = startRunner()
	return err
}

func (w *world) close() error {
	var err error
	if w.runner != nil {
		err = w.runner.close()
	}
	return errors.Join(err, os.RemoveAll(w.temp))
}

func (w *world) say(format string, args ...any) {
	fmt.Fprintf(w.progress, "bench: "+format+"\n", args...)
}

func (w *world) env() []string {
	return []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH"), "LANG=C", "AI_AGENT=claude-code_2-1-332_harness"}
}

// program is a job that runs a program in the repository.
func (w *world) program(path string, args ...string) job {
	return job{
		Args: append([]string{path}, args...), Env: w.env(), Dir: w.cwd,
		Stdout: filepath.Join(w.io, "out"), Stderr: filepath.Join(w.io, "err"),
	}
}

// hook is a job that runs a hook as the client starts it.
func (w *world) hook(s *session, state, event, source, turn string) (job, error) {
	doc, err := s.payload(event, source, turn)
	if err != nil {
		return job{}, err
	}
	name := "reseat-directive"
	if event == "PreCompact" {
		name = "reseat-precompact"
	}
	j := w.program(filepath.Join(w.bin, name), "--runtime", string(s.client), "--home", state)
	j.Stdin = filepath.Join(w.io, "in")
	return j, os.WriteFile(j.Stdin, doc, 0o600)
}

// measure runs the job and keeps what it cost.
func (w *world) measure(k key, j job) error {
	if w.counted {
		r, err := w.runs(j)
		if err == nil {
			w.samples[k] = append(w.samples[k], r)
		}
		return err
	}
	if w.strace == "" || len(j.Args) == 0 {
		_, err := w.runs(j)
		return err
	}
	trace := filepath.Join(w.io, "trace")
	j.Args = append([]string{w.strace, "-f", "-qq", "-e", "trace=fsync,fdatasync,sync,syncfs,sync_file_range,msync", "-o", trace}, j.Args...)
	if _, err := w.runs(j); err != nil {
		return err
	}
	data, err := os.ReadFile(trace)
	n := 0
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "sync") && strings.HasSuffix(strings.TrimSpace(line), "= 0") { // those of pipes fail
			n++
		}
	}
	w.syncs[k] = n
	return err
}

// runs runs the job; a program that fails or complains is an error.
func (w *world) runs(j job) (report, error) {
	r, err := w.runner.run(j)
	if err != nil {
		return r, err
	}
	all := append(append([]job{j}, j.AtOnce...), j.InTurn...)
	for _, one := range all {
		if len(one.Args) == 0 {
			continue
		}
		complaint, err := os.ReadFile(one.Stderr)
		if err != nil {
			return r, err
		}
		if len(complaint) > 0 {
			return r, fmt.Errorf("%s complains: %.500s", strings.Join(one.Args, " "), complaint)
		}
	}
	if r.Code != 0 {
		return r, fmt.Errorf("%s: exit code %d", strings.Join(j.Args, " "), r.Code)
	}
	return r, nil
}

// state is a fresh state folder.
func (w *world) state() string {
	w.states++
	return filepath.Join(w.temp, "state-"+strconv.Itoa(w.states))
}

// measureAll runs everything in turn, round by round: a machine that gets
// slower meanwhile gets slower for all.
func (w *world) measureAll(ctx context.Context) error {
	for _, c := range client.All() {
		sessions, err := w.transcripts(ctx, c)
		if err == nil {
			err = w.renew()
		}
		if err != nil {
			return err
		}
		err = w.rounds(ctx, string(c), func() error { return w.lives(ctx, sessions) })
		for _, s := range sessions {
			err = errors.Join(err, os.Remove(s.path)) // room for the other client's
		}
		if err != nil {
			return err
		}
	}
	return w.fleet(ctx)
}

// rounds calls fn once to warm up and then as often as asked for.
func (w *world) rounds(ctx context.Context, of string, fn func() error) error {
	for round := range w.o.runs + 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.counted = round > 0
		if round%5 == 0 {
			w.say("%s: round %d of %d", of, round, w.o.runs)
		}
		if err := w.floors(); err != nil {
			return err
		}
		if err := fn(); err != nil {
			return err
		}
	}
	return nil
}

// transcripts makes a client's, one of each size.
func (w *world) transcripts(ctx context.Context, c client.Client) ([]*session, error) {
	id := "11111111-1111-4111-8111-111111111111"
	if c == client.Codex {
		id = "019a0000-0000-7000-8000-000000000001"
	}
	var all []*session
	for _, size := range w.o.sizes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		w.say("%s: writing a transcript of %d MB", c, size>>20)
		path := filepath.Join(w.temp, "transcripts", fmt.Sprintf("%s-%dMB", c, size>>20), fileName(c, id))
		s, err := create(path, w.cwd, id, c, size, w.o.seed)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// fileName is a transcript's name as the client gives it.
func fileName(c client.Client, id string) string {
	if c == client.Codex {
		return "rollout-2026-01-02T08-00-00-" + id + ".jsonl"
	}
	return id + ".jsonl"
}

// oftenPerRound is how often a round runs what is quick and stands below every
// ratio.
const oftenPerRound = 3

func (w *world) floors() error {
	git, err := exec.LookPath("git")
	if err != nil {
		return err
	}
	for range oftenPerRound {
		for k, j := range map[key]job{
			{what: empty}:  w.program(filepath.Join(w.bin, "empty")),
			{what: small}:  {Durable: filepath.Join(w.io, "small")},
			{what: status}: w.program(git, "--no-optional-locks", "status", "--porcelain=v2", "--branch"),
		} {
			if err := w.measure(k, j); err != nil {
				return err
			}
		}
	}
	return nil
}

func number(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil
}

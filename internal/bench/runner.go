package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/reseat-dev/reseat/internal/durable"
)

// runnerVar marks the process that starts and measures the programs. It is one
// of its own because a program's peak memory, as the kernel counts it, begins
// with that of the process it was forked from: this one stays small. What it
// has is the empty program's peak in the table; no peak below can be told.
const runnerVar = "RESEAT_BENCH_RUNNER"

// job is a program to run once, or one of the other things in it.
type job struct {
	Args   []string
	Env    []string
	Dir    string
	Stdin  string // a file; "" for an empty one
	Stdout string // a file that is made anew; never the null device, which hooks notice
	Stderr string

	AtOnce  []job  // instead: these, all at the same time
	InTurn  []job  // instead: these, one after the other
	Durable string // instead: one small file, durably, at this path
}

// report is what a run cost.
type report struct {
	Wall time.Duration
	CPU  time.Duration // of the program and its children
	Peak int64         // bytes; the largest process of the program and its children
	Code int
	Each []report // of AtOnce and InTurn
	Err  string
}

// runner is the measuring process as its parent sees it.
type runner struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startRunner() (*runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = []string{runnerVar + "=1", "GOGC=10"}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &runner{cmd: cmd, in: in, out: json.NewDecoder(out)}, nil
}

func (r *runner) run(j job) (report, error) {
	var got report
	err := json.NewEncoder(r.in).Encode(j)
	if err == nil {
		err = r.out.Decode(&got)
	}
	if err == nil && got.Err != "" {
		err = errors.New(got.Err)
	}
	return got, err
}

func (r *runner) close() error {
	return errors.Join(r.in.Close(), r.cmd.Wait())
}

// serve is the measuring process: jobs in, reports out.
func serve(in io.Reader, out io.Writer) int {
	pin()
	jobs, reports := json.NewDecoder(bufio.NewReader(in)), json.NewEncoder(out)
	for {
		var j job
		if err := jobs.Decode(&j); err != nil {
			return 0 // the parent is done, or gone
		}
		if err := reports.Encode(j.run()); err != nil {
			return 1
		}
	}
}

func (j job) run() report {
	switch {
	case len(j.AtOnce) > 0:
		return j.atOnce()
	case len(j.InTurn) > 0:
		return total(time.Now(), func(add func(report)) {
			for _, one := range j.InTurn {
				add(one.run())
			}
		})
	case j.Durable != "":
		start := time.Now()
		err := durable.WriteFile(j.Durable, []byte("a small file\n"), 0o600)
		r := report{Wall: time.Since(start)}
		if err != nil {
			r.Err = err.Error()
		}
		return r
	}
	return j.one()
}

func (j job) atOnce() report {
	each := make([]report, len(j.AtOnce))
	var wait sync.WaitGroup
	return total(time.Now(), func(add func(report)) {
		for i, one := range j.AtOnce {
			wait.Go(func() { each[i] = one.run() })
		}
		wait.Wait()
		for _, r := range each {
			add(r)
		}
	})
}

func total(start time.Time, do func(add func(report))) (sum report) {
	do(func(r report) {
		sum.Each = append(sum.Each, r)
		sum.CPU += r.CPU
		sum.Peak = max(sum.Peak, r.Peak)
		sum.Code = max(sum.Code, r.Code)
		if r.Err != "" {
			sum.Err = r.Err
		}
	})
	sum.Wall = time.Since(start)
	return sum
}

// one runs the program and waits for it.
func (j job) one() (r report) {
	files, err := j.files()
	defer func() {
		for _, f := range files {
			f.Close()
		}
		if err != nil {
			r.Err = fmt.Sprintf("%s: %v", filepath.Base(j.Args[0]), err)
		}
	}()
	if err != nil {
		return r
	}
	start := time.Now()
	p, err := os.StartProcess(j.Args[0], j.Args, &os.ProcAttr{Dir: j.Dir, Env: j.Env, Files: files})
	if err != nil {
		return r
	}
	state, err := p.Wait()
	if err != nil {
		return r
	}
	r.Wall = time.Since(start)
	r.CPU, r.Code, r.Peak = state.UserTime()+state.SystemTime(), state.ExitCode(), peak(state)
	return r
}

func (j job) files() (files []*os.File, err error) {
	stdin := j.Stdin
	if stdin == "" {
		stdin = os.DevNull
	}
	in, err := os.Open(stdin)
	if err != nil {
		return nil, err
	}
	files = append(files, in)
	for _, path := range []string{j.Stdout, j.Stderr} {
		f, err := os.Create(path)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// commandTimeout bounds one run of a client or of a program of ours. A turn
// takes about a second; a machine that is busy takes longer.
const commandTimeout = 2 * time.Minute

// home is a throw-away HOME with a project in it. Its path holds a space on
// purpose: every command line that leads there must be quoted.
type home struct {
	Dir     string // HOME
	Project string // a git repository with one commit: the clients' working directory
	State   string // our state folder
	Bin     string // our programs
}

// newBareHome makes a home without anything of ours; putPrograms and the
// installing functions put it there.
func newBareHome(t *testing.T) *home {
	t.Helper()
	root, err := os.MkdirTemp("", "reseat-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("RESEAT_E2E_KEEP") != "" {
			t.Logf("kept: %s", root)
			return
		}
		_ = os.RemoveAll(root)
	})
	dir := filepath.Join(root, "a home")
	h := &home{
		Dir:     dir,
		Project: filepath.Join(dir, "project"),
		State:   filepath.Join(dir, ".local", "state", "reseat"),
		Bin:     filepath.Join(dir, ".local", "bin"),
	}
	for _, dir := range []string{h.Project, filepath.Join(h.Dir, "tmp")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.write(t, "project/README.md", "A project.\n")
	h.write(t, ".gitconfig", "[user]\n\tname = Example\n\temail = example@example.com\n[init]\n\tdefaultBranch = main\n")
	h.git(t, "init", "-q")
	h.git(t, "add", ".")
	h.git(t, "commit", "-q", "-m", "Begin")
	return h
}

// env is the whole environment of a program in this home: nothing of the
// machine's own but PATH. extra entries are NAME=value.
func (h *home) env(extra ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + h.Dir,
		"TMPDIR=" + filepath.Join(h.Dir, "tmp"),
		"TERM=xterm-256color",
		"LANG=C.UTF-8",
		"SHELL=/bin/bash",
	}, extra...)
}

// write writes a file below the home.
func (h *home) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(h.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (h *home) git(t *testing.T, args ...string) {
	t.Helper()
	h.must(t, h.command("git", h.env(), args...))
}

// reseat runs our command and returns its stdout; it must end with 0.
func (h *home) reseat(t *testing.T, args ...string) string {
	t.Helper()
	return h.must(t, h.command(filepath.Join(h.Bin, "reseat"), h.env(), args...)).stdout
}

// command is one run of a program.
type command struct {
	program string
	args    []string
	env     []string
	dir     string
	stdin   string
}

func (h *home) command(program string, env []string, args ...string) command {
	return command{program: program, args: args, env: env, dir: h.Project}
}

// outcome is how a command ended.
type outcome struct {
	code   int
	stdout string
	stderr string
}

// must runs a command that has to end with 0.
func (h *home) must(t *testing.T, c command) outcome {
	t.Helper()
	got, err := c.run(t.Context())
	if err == nil && got.code != 0 {
		err = fmt.Errorf("exit code %d", got.code)
	}
	if err != nil {
		t.Fatalf("%s %s: %v\nstdout: %s\nstderr: %s", c.program, strings.Join(c.args, " "), err, tail(got.stdout), tail(got.stderr))
	}
	return got
}

// run runs the command in a process group of its own, which is ended with it.
// An error is a command that couldn't be run to its end.
func (c command) run(ctx context.Context) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	run := exec.CommandContext(ctx, c.program, c.args...)
	run.Env, run.Dir, run.Stdin = c.env, c.dir, strings.NewReader(c.stdin)
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	run.Cancel = func() error { return syscall.Kill(-run.Process.Pid, syscall.SIGKILL) }
	run.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	err := run.Run()
	got := outcome{stdout: stdout.String(), stderr: stderr.String()}
	if ctx.Err() != nil {
		return got, fmt.Errorf("ended after %s: %w", commandTimeout, context.Cause(ctx))
	}
	if run.ProcessState != nil {
		got.code = run.ProcessState.ExitCode()
		return got, nil
	}
	return got, err
}

func tail(text string) string {
	const most = 4000
	if len(text) > most {
		return "..." + text[len(text)-most:]
	}
	return text
}

// eventually waits until ok is true, looking again a few times a second: for
// what gives no other sign. what says what was waited for.
func eventually(t *testing.T, within time.Duration, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("not within %s: %s", within, what)
		}
	}
}

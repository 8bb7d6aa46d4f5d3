//go:build linux

package torture

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outlets are the ways in which a hook's standard output can come to nothing.
// Each returns what is to be done once the hook has ended.
var outlets = []struct {
	name string
	slow bool // the hook has to run into its own limit
	open func(t *testing.T, cmd *exec.Cmd) (finish func())
}{
	{name: "closed", open: func(_ *testing.T, cmd *exec.Cmd) func() {
		cmd.Args = append([]string{"sh", "-c", `exec "$0" "$@" >&-`}, cmd.Args...)
		cmd.Path = "/bin/sh"
		return func() {}
	}},
	{name: "dev full", open: func(t *testing.T, cmd *exec.Cmd) func() { return device(t, cmd, "/dev/full") }},
	{name: "dev null", open: func(t *testing.T, cmd *exec.Cmd) func() { return device(t, cmd, os.DevNull) }},
	{name: "a reader that goes after 100 bytes", open: func(t *testing.T, cmd *exec.Cmd) func() {
		r, w := pipe(t)
		cmd.Stdout = w
		go func() {
			io.CopyN(io.Discard, r, 100)
			r.Close()
		}()
		return func() { w.Close() }
	}},
	{name: "a full pipe whose reader goes after 100 bytes", open: func(t *testing.T, cmd *exec.Cmd) func() {
		r, w := fullPipe(t)
		cmd.Stdout = w
		go func() {
			io.CopyN(io.Discard, r, 100)
			waitBlocked(t, cmd)
			r.Close()
		}()
		return func() { w.Close() }
	}},
	{name: "no reader", open: func(t *testing.T, cmd *exec.Cmd) func() {
		r, w := pipe(t)
		r.Close()
		cmd.Stdout = w
		return func() { w.Close() }
	}},
	{name: "a pipe nobody reads", open: func(t *testing.T, cmd *exec.Cmd) func() {
		r, w := pipe(t)
		cmd.Stdout = w
		return func() { r.Close(); w.Close() }
	}},
	{name: "a full pipe nobody reads", slow: true, open: func(t *testing.T, cmd *exec.Cmd) func() {
		r, w := fullPipe(t)
		cmd.Stdout = w
		return func() { r.Close(); w.Close() }
	}},
}

func device(t *testing.T, cmd *exec.Cmd, path string) func() {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = f
	return func() { f.Close() }
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// fullPipe is a pipe that takes nothing more.
func fullPipe(t *testing.T) (r, w *os.File) {
	r, w = pipe(t)
	fd := int(w.Fd()) // blocking from now on
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{4096, 1} {
		for {
			if _, err := syscall.Write(fd, make([]byte, n)); err != nil {
				break
			}
		}
	}
	if err := syscall.SetNonblock(fd, false); err != nil {
		t.Fatal(err)
	}
	return r, w
}

// waitBlocked waits until the process sleeps in a write to a pipe.
func waitBlocked(t *testing.T, cmd *exec.Cmd) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if cmd.Process == nil {
			continue
		}
		tasks, _ := filepath.Glob(filepath.Join("/proc", itoa(cmd.Process.Pid), "task", "*", "wchan"))
		for _, task := range tasks {
			if data, _ := os.ReadFile(task); strings.Contains(string(data), "pipe_write") {
				return
			}
		}
		if _, err := os.Stat(filepath.Join("/proc", itoa(cmd.Process.Pid))); err != nil {
			return
		}
	}
}

func itoa(n int) string {
	var b []byte
	for ; n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}

// TestOutputThatLeadsNowhere: whatever becomes of standard output, the hook harms
// nobody, and the directive is delivered by the next chance, once.
func TestOutputThatLeadsNowhere(t *testing.T) {
	for _, runtime := range runtimes {
		for _, event := range []string{"PreCompact", "SessionStart", "UserPromptSubmit"} {
			for _, o := range outlets {
				t.Run(strings.ReplaceAll(runtime+"/"+event+"/"+o.name, " ", "-"), func(t *testing.T) {
					if o.slow && event == "SessionStart" && !*full {
						t.Skip("takes the hook's whole limit")
					}
					t.Parallel()
					s := newSeat(t, runtime, filepath.Join(memory(t), "seat"))
					if event != "PreCompact" {
						s.hook("PreCompact")
						happens(s)
						if event == "UserPromptSubmit" && runtime == "claude" {
							s.boundary()
						}
					}
					s.toOutlet(event, o.open)
					if event == "PreCompact" {
						happens(s)
						s.starts()
					}
					if event != "UserPromptSubmit" && runtime == "claude" {
						s.boundary()
					}
					if event == "UserPromptSubmit" {
						moved(s)
					}
					if err := s.settle(1); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func (s *seat) toOutlet(event string, open func(t *testing.T, cmd *exec.Cmd) func()) {
	t := s.t.(*testing.T)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := s.command(ctx, event)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	finish := open(t, cmd)
	err := cmd.Run()
	finish()
	if ctx.Err() != nil {
		t.Fatalf("%s was still running after 20 s", event)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 1 {
		t.Errorf("%s: %v, exit %d\n%s", event, err, code, complaint.String())
	}
}

//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// screenTimeout bounds the wait for a text on the screen.
const screenTimeout = 60 * time.Second

// terminal is a program in a tmux of its own: own socket, own server, which
// ends with the test.
type terminal struct {
	t      *testing.T
	socket string
	server int // its process id
}

// startTerminal runs a command in a new terminal of 160 x 50.
func startTerminal(t *testing.T, c command) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatalf("tmux is needed for a client in a terminal: %v", err)
	}
	dir, err := os.MkdirTemp("", "rs-tmux-") // short: a socket's path may have 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	term := &terminal{t: t, socket: filepath.Join(dir, "s")}
	args := []string{"new-session", "-d", "-x", "160", "-y", "50", "-c", c.dir, "env", "-i"}
	args = append(args, c.env...)
	args = append(args, c.program)
	term.tmux(append(args, c.args...)...)
	pid, err := strconv.Atoi(strings.TrimSpace(term.tmux("display-message", "-p", "#{pid}")))
	if err != nil {
		t.Fatalf("pid of the tmux server: %v", err)
	}
	term.server = pid
	t.Cleanup(term.kill)
	return term
}

// tmux runs a tmux command on this terminal's own server.
func (term *terminal) tmux(args ...string) string {
	term.t.Helper()
	run := exec.Command("tmux", append([]string{"-f", "/dev/null", "-S", term.socket}, args...)...)
	run.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}
	out, err := run.CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// kill ends the server, and with it the pane's program.
func (term *terminal) kill() {
	if term.t.Failed() {
		out, _ := exec.Command("tmux", "-S", term.socket, "capture-pane", "-p").CombinedOutput()
		term.t.Logf("the screen at the end:\n%s", out)
	}
	for deadline := time.Now().Add(5 * time.Second); syscall.Kill(term.server, syscall.SIGTERM) == nil && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond) // not our child: there is nothing to wait on
	}
}

// screen is what stands on the screen, lines that were wrapped joined.
func (term *terminal) screen() string {
	term.t.Helper()
	return term.tmux("capture-pane", "-p", "-J")
}

// waitFor waits until text stands on the screen.
func (term *terminal) waitFor(text string) {
	term.t.Helper()
	eventually(term.t, screenTimeout, fmt.Sprintf("%q on the screen", text), func() bool {
		return strings.Contains(term.screen(), text)
	})
}

// enter types a line as a person does: the text, then, when it is on the
// screen, Enter.
func (term *terminal) enter(line string) {
	term.t.Helper()
	term.tmux("send-keys", "-l", line)
	term.waitFor(line)
	term.tmux("send-keys", "Enter")
}

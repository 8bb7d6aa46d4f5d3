// Package pane looks at and types into tmux panes.
//
// A pane belongs to a person first. Nothing here types before it has looked, a
// text and its Enter are two acts with a look between them, and who else is at
// the pane is part of every look. What a screen means is the client's own
// business: packages claude and codex read it.
package pane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// ErrGone is returned where a pane, or the whole tmux server, isn't there any
// more.
var ErrGone = errors.New("the pane is gone")

// callTimeout bounds one call of tmux.
const callTimeout = 5 * time.Second

// Pane is one pane of one tmux server.
type Pane struct {
	socket  string
	id      string
	session string
	pid     int // of the process that tmux started in it
}

// Info is the pane as the contract names it.
func (p *Pane) Info() *plugins.Pane {
	return &plugins.Pane{Socket: p.socket, ID: p.id, Session: p.session}
}

// Find finds the pane in which pid runs, through the process tree: the tmux
// server is an ancestor of it, and the pane's first process too. A nil pane
// without an error means that pid doesn't run in tmux.
func Find(ctx context.Context, table proctable.Table, pid int, getenv func(string) string) (*Pane, error) {
	lineage := table.Lineage(pid)
	var problem error
	for _, socket := range sockets(lineage, getenv) {
		panes, err := list(ctx, socket)
		if err != nil {
			problem = err
			continue
		}
		for _, ancestor := range lineage { // the nearest first: tmux in tmux
			for _, p := range panes {
				if p.pid == ancestor.PID {
					return p, nil
				}
			}
		}
	}
	return nil, problem
}

// sockets lists the sockets of tmux servers worth asking: those on which an
// ancestor listens or, where the system doesn't show that, those of the default
// folder.
func sockets(lineage []proctable.Process, getenv func(string) string) []string {
	var out []string
	shown := false
	for _, p := range lineage {
		if !strings.HasPrefix(p.Name, "tmux") {
			continue
		}
		listening, err := proctable.Listening(p.PID)
		if err != nil {
			continue
		}
		shown = true
		out = append(out, listening...)
	}
	if shown || len(lineage) == 0 {
		return out
	}
	if proctable.Program(os.Getpid()) != "" {
		return nil // the system would have shown it
	}
	dir := getenv("TMUX_TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	found, _ := filepath.Glob(filepath.Join(dir, "tmux-"+strconv.Itoa(os.Getuid()), "*"))
	return found
}

// list asks a server for its panes.
func list(ctx context.Context, socket string) ([]*Pane, error) {
	out, err := tmux(ctx, socket, nil, "list-panes", "-a", "-F", "#{pane_id}\t#{pane_pid}\t#{session_name}")
	if err != nil {
		return nil, err
	}
	var panes []*Pane
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 3)
		if len(fields) != 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		panes = append(panes, &Pane{socket: socket, id: fields[0], session: fields[2], pid: pid})
	}
	return panes, nil
}

// View is one look at a pane.
type View struct {
	Rows             []Row
	CursorX, CursorY int
	InMode           bool      // copy mode, or another mode of tmux
	Dead             bool      // its process has ended
	LastKey          time.Time // the last time that a person at an attached client pressed a key; zero if nobody is attached
}

// Row is row y, empty beyond the screen.
func (v View) Row(y int) Row {
	if y < 0 || y >= len(v.Rows) {
		return nil
	}
	return v.Rows[y]
}

// Look looks at the pane.
func (p *Pane) Look(ctx context.Context) (View, error) {
	out, err := tmux(ctx, p.socket, nil,
		"display-message", "-p", "-t", p.id, "#{pane_id}\t#{cursor_x}\t#{cursor_y}\t#{pane_in_mode}\t#{pane_dead}\t#{pane_pid}",
		";", "list-clients", "-t", p.id, "-F", "client\t#{client_activity}",
		";", "capture-pane", "-p", "-e", "-t", p.id)
	if err != nil {
		return View{}, err
	}
	return p.parseLook(out)
}

// steadyAfter is how far apart two looks lie that have to show the same, and
// steadyLooks how many are taken at most.
const (
	steadyAfter = 40 * time.Millisecond
	steadyLooks = 12
)

// Steady looks until two looks in a row show the same screen: a client draws in
// several writes, and between two of them a screen can show what nobody wrote.
// What goes on moving, as a clock does, is returned as it was seen last.
func (p *Pane) Steady(ctx context.Context) (View, error) {
	last, err := p.Look(ctx)
	for range steadyLooks {
		if err != nil {
			return View{}, err
		}
		select {
		case <-ctx.Done():
			return View{}, ctx.Err()
		case <-time.After(steadyAfter):
		}
		before := last.Rows
		if last, err = p.Look(ctx); err == nil && slices.EqualFunc(before, last.Rows, slices.Equal[Row]) {
			break
		}
	}
	return last, err
}

func (p *Pane) parseLook(out string) (View, error) {
	head, rest, _ := strings.Cut(out, "\n")
	fields := strings.Split(head, "\t")
	if len(fields) != 6 || fields[0] != p.id {
		return View{}, ErrGone
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	if number(5) != p.pid {
		return View{}, fmt.Errorf("%w: another process runs in %s", ErrGone, p.id)
	}
	view := View{CursorX: number(1), CursorY: number(2), InMode: number(3) != 0, Dead: number(4) != 0}
	for {
		line, after, ok := strings.Cut(rest, "\n")
		activity, client := strings.CutPrefix(line, "client\t")
		if !ok || !client {
			break
		}
		if seconds, err := strconv.ParseInt(activity, 10, 64); err == nil {
			if at := time.Unix(seconds, 0); at.After(view.LastKey) {
				view.LastKey = at
			}
		}
		rest = after
	}
	view.Rows = ParseScreen(rest)
	return view, nil
}

// longest is what send-keys is given at once; longer or several lines go through
// a paste, which a client that asked for it gets bracketed.
const longest = 400

// Type puts text at the cursor, without an Enter. Control characters other than
// line ends are left out.
func (p *Pane) Type(ctx context.Context, text string) error {
	text = Printable(text)
	if len(text) <= longest && !strings.Contains(text, "\n") {
		if strings.HasSuffix(text, ";") { // tmux would take it for the end of a command
			text = strings.TrimSuffix(text, ";") + `\;`
		}
		_, err := tmux(ctx, p.socket, nil, "send-keys", "-t", p.id, "-l", "--", text)
		return err
	}
	buffer := "reseat-" + strconv.Itoa(os.Getpid()) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	_, err := tmux(ctx, p.socket, []byte(text), "load-buffer", "-b", buffer, "-",
		";", "paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", p.id)
	return err
}

// Enter presses Enter.
func (p *Pane) Enter(ctx context.Context) error {
	_, err := tmux(ctx, p.socket, nil, "send-keys", "-t", p.id, "Enter")
	return err
}

// Printable drops control characters but line ends, and turns tabs into blanks:
// a tab at a prompt completes.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0:
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
}

// tmux runs one command line of tmux on a server that is there; none of the
// commands used here starts one.
func tmux(ctx context.Context, socket string, stdin []byte, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", socket}, args...)...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err == nil {
		return stdout.String(), nil
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("tmux %s: %w", args[0], ctx.Err())
	}
	said := strings.TrimSpace(stderr.String())
	for _, gone := range []string{"no server running", "can't find", "no current", "error connecting", "lost server", "server exited"} {
		if strings.Contains(said, gone) {
			return "", fmt.Errorf("%w: %s", ErrGone, said)
		}
	}
	return "", fmt.Errorf("tmux %s: %w: %s", args[0], err, said)
}

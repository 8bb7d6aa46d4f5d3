package pane

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/plugins/proctable"
)

// server starts a tmux server of this test's own with one pane that runs the
// command, and returns its socket and the pane's process.
func server(t *testing.T, command string) (socket string, pid int) {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("needs tmux")
	}
	dir, err := os.MkdirTemp("", "pane") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, "s")
	cmd := exec.Command("tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-x", "60", "-y", "10", "-P", "-F", "#{pane_pid}", command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TERM=xterm-256color", "LANG=C.UTF-8"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	pid, err = strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return socket, pid
}

func find(t *testing.T, pid int) *Pane {
	t.Helper()
	table, err := proctable.Read()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Find(t.Context(), table, pid, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// until looks at the pane until what it shows is right.
func until(t *testing.T, p *Pane, what string, ok func(View) bool) View {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		view, err := p.Look(ctx)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if ok(view) {
			return view
		}
	}
}

func shows(text string) func(View) bool {
	return func(v View) bool {
		for _, r := range v.Rows {
			if strings.Contains(r.String(), text) {
				return true
			}
		}
		return false
	}
}

func TestPaneIsFoundThroughTheProcessTree(t *testing.T) {
	socket, pid := server(t, "sh -c 'cat; :'")
	p := find(t, pid)
	if p == nil || p.Info().Socket != socket || p.Info().ID == "" {
		t.Fatalf("got %+v", p)
	}
	if p := find(t, os.Getpid()); p != nil && p.Info().Socket == socket {
		t.Errorf("a process outside of the server is in its pane %+v", p)
	}
}

func TestTextIsTypedAsItIs(t *testing.T) {
	_, pid := server(t, "cat")
	p := find(t, pid)
	for _, text := range []string{"plain", "-l looks like a flag", "ends in a semicolon;", `a\;b "q" 'r' $HOME #{pane_id}`, "wide 漢字 é"} {
		if err := p.Type(t.Context(), text); err != nil {
			t.Fatal(err)
		}
		until(t, p, text, shows(text))
		if err := p.Enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSeveralLinesArePastedBracketed(t *testing.T) {
	// The program asks for bracketed paste and shows the brackets' escapes.
	_, pid := server(t, `sh -c 'stty -echo -icanon; printf "\033[?2004hready\n"; cat -v'`)
	p := find(t, pid)
	until(t, p, "the program", shows("ready"))
	if err := p.Type(t.Context(), "one\ntwo\x1b[31m\x07three"); err != nil {
		t.Fatal(err)
	}
	view := until(t, p, "the end of the paste", shows("^[[201~"))
	if !shows("^[[200~one")(view) || !shows("two[31mthree^[[201~")(view) {
		t.Errorf("screen:\n%v", view.Rows)
	}
}

func TestCopyModeIsSeen(t *testing.T) {
	socket, pid := server(t, "cat")
	p := find(t, pid)
	if v, err := p.Look(t.Context()); err != nil || v.InMode {
		t.Fatalf("%+v, %v", v, err)
	}
	if err := exec.Command("tmux", "-S", socket, "copy-mode", "-t", p.id).Run(); err != nil {
		t.Fatal(err)
	}
	if v, err := p.Look(t.Context()); err != nil || !v.InMode {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestAPaneThatIsGoneIsSaidToBe(t *testing.T) {
	socket, pid := server(t, "cat")
	p := find(t, pid)
	if err := exec.Command("tmux", "-S", socket, "new-window", "cat").Run(); err != nil {
		t.Fatal(err)
	}
	if err := exec.Command("tmux", "-S", socket, "kill-pane", "-t", p.id).Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Look(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("killed pane: %v", err)
	}
	if err := p.Type(t.Context(), "x"); !errors.Is(err, ErrGone) {
		t.Errorf("typing into it: %v", err)
	}
	if err := exec.Command("tmux", "-S", socket, "kill-server").Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Look(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("killed server: %v", err)
	}
}

func TestAnotherProcessInThePaneIsSeen(t *testing.T) {
	socket, pid := server(t, "cat")
	p := find(t, pid)
	if err := exec.Command("tmux", "-S", socket, "respawn-pane", "-k", "-t", p.id, "cat").Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Look(t.Context()); !errors.Is(err, ErrGone) {
		t.Errorf("got %v", err)
	}
}

func TestAPersonAtAnAttachedClientIsSeen(t *testing.T) {
	socket, pid := server(t, "cat")
	p := find(t, pid)
	if v, err := p.Look(t.Context()); err != nil || !v.LastKey.IsZero() {
		t.Fatalf("nobody is attached: %v, %v", v.LastKey, err)
	}
	// A second server's pane is the terminal of a person who is attached.
	outer, outerPID := server(t, "env -u TMUX tmux -S "+socket+" attach")
	person := find(t, outerPID)
	view := until(t, p, "the client", func(v View) bool { return !v.LastKey.IsZero() })
	if age := time.Since(view.LastKey); age > time.Minute {
		t.Errorf("attached %v ago on %s", age, outer)
	}
	if err := person.Type(t.Context(), "typed by a person"); err != nil {
		t.Fatal(err)
	}
	until(t, p, "what the person typed", shows("typed by a person"))
}

func TestAttributesTellTypedFromPlaceholder(t *testing.T) {
	rows := ParseScreen("\x1b[1m›\x1b[0m \x1b[2mAsk me\x1b[22mreal\x1b[38;5;244mgrey\x1b[39mdefault\x1b[0m\n\x1b[7m \x1b[27m   \nthird \x1b]8;;x\x1b\\link\x1b[38;2;1;2;3mrgb\n")
	if len(rows) != 3 {
		t.Fatalf("%d rows: %v", len(rows), rows)
	}
	if got := rows[0].String(); got != "› Ask merealgreydefault" {
		t.Errorf("text %q", got)
	}
	var attributes strings.Builder
	for _, c := range rows[0] {
		switch {
		case c.Dim:
			attributes.WriteByte('d')
		case c.Grey:
			attributes.WriteByte('g')
		default:
			attributes.WriteByte('.')
		}
	}
	if got, want := attributes.String(), "..dddddd....gggg......."; got != want {
		t.Errorf("attributes %s, want %s", got, want)
	}
	if len(rows[1]) != 1 || !rows[1][0].Inverse {
		t.Errorf("the cursor's blank: %+v", rows[1])
	}
	if got := rows[2].String(); got != "third linkrgb" {
		t.Errorf("text %q", got)
	}
}

func FuzzParseScreen(f *testing.F) {
	f.Add("\x1b[1m›\x1b[0m \x1b[2mAsk me\x1b[38;5m\x1b[38;2;1mx\x1b]x\x1b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, row := range ParseScreen(text) {
			for _, c := range row {
				if c.Rune < ' ' {
					t.Fatalf("control character %q in a row", c.Rune)
				}
			}
		}
	})
}

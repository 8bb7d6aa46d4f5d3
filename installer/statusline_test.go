package installer

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// lineWanted is what an install with a status line wants.
func lineWanted(t *testing.T) Wanted {
	t.Helper()
	line, err := Programs{Home: "/home/u", Dir: "/home/u/.local/bin", State: "/home/u/.local/state/reseat"}.StatusLine()
	must(t, err)
	w := wantedIn(client.Claude)
	w.StatusLine = line
	return w
}

// statusLines are settings with the user's own status line in many spellings;
// ~ is one step of indentation.
var statusLines = map[string]string{
	"none":          "{\n~\"model\": \"opus\"\n}\n",
	"empty object":  "{}\n",
	"missing":       "",
	"blank":         " \n",
	"plain":         "{\n~\"statusLine\": {\"type\": \"command\", \"command\": \"line.sh\"}\n}\n",
	"other keys":    "{\n~\"statusLine\": {\n~~\"padding\": 0,\n~~\"command\" : \"~/bin/line\",\n~~\"type\":\"command\",\n~~\"refreshInterval\": 1.0\n~},\n~\"zeta\": 9007199254740993\n}\n",
	"own spelling":  "{\n~\"statusLine\": {\"command\": \"echo \\u0041\\/b \\u00e9 '$x' \\\"y\\\" <&> | tr a b\", \"type\": \"command\"}\n}\n",
	"several lines": "{\n~\"statusLine\": {\"type\": \"command\", \"command\": \"a\\nb # c\\n\"}\n}\n",
	"no command":    "{\n~\"statusLine\": {\"type\": \"command\", \"command\": \"\"}\n}\n",
	"looks like it": "{\n~\"statusLine\": {\"type\": \"command\", \"command\": \"reseat statusline | cut -c1-9\"}\n}\n",
}

func TestStatusLineIsChainedAndGivenBack(t *testing.T) {
	w := lineWanted(t)
	plain := wantedIn(client.Claude)
	for name, content := range statusLines {
		for _, eol := range []string{"\n", "\r\n"} {
			for _, unit := range []string{"  ", "\t"} {
				for _, mark := range []string{"", bom} {
					src := []byte(strings.NewReplacer("\n~~", eol+unit+unit, "\n~", eol+unit, "\n", eol).Replace(content))
					if content != "" {
						src = append([]byte(mark), src...)
					}
					if err := lineRoundTrip(src, w, plain); err != nil {
						t.Errorf("%s, %q, %q, %q: %v", name, eol, unit, mark, err)
					}
				}
			}
		}
	}
}

// lineRoundTrip installs twice with a status line and once more without asking
// for one, and takes it out in both ways.
func lineRoundTrip(src []byte, w, plain Wanted) error {
	first, err := InstallJSON(src, w)
	if err != nil {
		return err
	}
	if err := verifyJSON(src, first.Data, w, true); err != nil {
		return fmt.Errorf("%w\n%s", err, first.Data)
	}
	undo := first.Undo
	for _, again := range []Wanted{w, plain} {
		next, err := InstallJSON(first.Data, again)
		if err != nil {
			return err
		}
		if string(next.Data) != string(first.Data) {
			return fmt.Errorf("a further install changed something:\n%s", next.Data)
		}
		undo = undo.and(next.Undo)
	}
	back, err := UninstallJSON(first.Data, w, &undo)
	if err != nil {
		return err
	}
	if string(back.Data) != string(src) {
		return fmt.Errorf("uninstall gave %q\nnot           %q\nvia           %q", back.Data, src, first.Data)
	}
	if err := verifyJSON(first.Data, back.Data, w, false); err != nil {
		return err
	}
	without := plain
	without.NoStatusLine, without.OldStatusLine = true, undo.StatusLine
	left, err := InstallJSON(first.Data, without)
	if err != nil {
		return err
	}
	only, err := InstallJSON(src, plain)
	if err != nil {
		return err
	}
	if string(left.Data) != string(only.Data) {
		return fmt.Errorf("taking only the line out gave %q\nnot %q", left.Data, only.Data)
	}
	return verifyJSON(first.Data, left.Data, without, true)
}

func TestStatusLineOfAnOddShapeIsRefused(t *testing.T) {
	w := lineWanted(t)
	for src, want := range map[string]string{
		`{"statusLine": "line.sh"}`:                                           `"statusLine" is a string`,
		`{"statusLine": null}`:                                                `"statusLine" is null`,
		`{"statusLine": ["line.sh"]}`:                                         `"statusLine" is an array`,
		`{"statusLine": {"command": "line.sh"}}`:                              `"statusLine" is not of type "command"`,
		`{"statusLine": {"type": "static", "command": "a"}}`:                  `"statusLine" is not of type "command"`,
		`{"statusLine": {"type": "command"}}`:                                 `"statusLine" has no "command"`,
		`{"statusLine": {"type": "command", "command": ["a"]}}`:               `"statusLine"."command" is an array`,
		`{"statusLine": {"type": "command", "command": "a\u0000b"}}`:          `"statusLine"."command" holds a zero byte`,
		`{"statusLine": {"type": "command", "command": "a", "command": "b"}}`: `"statusLine"."command" is there twice`,
		`{"statusLine": {"type": "command", "command": "a"}, "statusLine": {"type": "command", "command": ""}}`: `"statusLine" is there twice`,
	} {
		if _, err := InstallJSON([]byte(src), w); err == nil || !strings.Contains(err.(*Refusal).Reason, want) {
			t.Errorf("%s: %v, want %s", src, err, want)
		}
		if _, err := InstallJSON([]byte(src), wantedIn(client.Claude)); err != nil {
			t.Errorf("%s: refused although no status line was asked for: %v", src, err)
		}
	}
}

// lineSandbox is a sandbox whose reseat prints its last argument, as the shell
// made it.
func lineSandbox(t *testing.T) *sandbox {
	t.Helper()
	s := newSandbox(t, client.Claude)
	program := filepath.Join(s.opts.Programs, Operator)
	s.write(program, "#!/bin/sh\nfor last; do :; done\nprintf %s \"$last\"\n")
	must(t, os.Chmod(program, 0o700))
	s.opts.StatusLine = true
	return s
}

func TestStatusLineReachesTheShellAsItWas(t *testing.T) {
	s := lineSandbox(t)
	own := `printf '%s' "$HOME" | tr a 'b' # \ é` + "\n" + `echo "*" '$(x)'`
	ours, err := Programs{Home: s.home, Dir: s.opts.Programs, State: string(s.opts.State)}.StatusLine()
	must(t, err)
	cmd := exec.Command("/bin/sh", "-c", chained(ours, &own))
	cmd.Env = []string{"HOME=" + s.home, "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != own {
		t.Errorf("the shell hands on %q (%v), not %q", out, err, own)
	}
}

func TestStatusLineOnDisk(t *testing.T) {
	const own = "{\r\n\t\"statusLine\": {\"type\": \"command\", \"command\": \"li\\u006ee.sh\", \"padding\": 2}\r\n}"
	t.Run("given back byte for byte", func(t *testing.T) {
		s := lineSandbox(t)
		settings := s.path(".claude/settings.json")
		s.write(settings, own)
		s.install()
		once := s.read(settings)
		if !strings.Contains(once, ` --own line.sh", "padding": 2}`) {
			t.Fatalf("not chained:\n%s", once)
		}
		s.opts.StatusLine = false
		s.install()
		s.opts.StatusLine = true
		if again := s.install(); again.Changed() || s.read(settings) != once {
			t.Errorf("a further install changed something:\n%s", s.read(settings))
		}
		s.uninstall()
		if back := s.read(settings); back != own {
			t.Errorf("uninstall left %q", back)
		}
	})
	t.Run("others' changes stay", func(t *testing.T) {
		s := lineSandbox(t)
		settings := s.path(".claude/settings.json")
		s.write(settings, own)
		s.install()
		s.write(settings, strings.Replace(s.read(settings), `"padding": 2`, `"padding": 3`, 1))
		s.uninstall()
		if back, want := s.read(settings), strings.Replace(own, "2", "3", 1); back != want {
			t.Errorf("uninstall left %q, not %q", back, want)
		}
	})
	t.Run("a line of the user's in place of ours stays", func(t *testing.T) {
		s := lineSandbox(t)
		settings := s.path(".claude/settings.json")
		s.write(settings, "{}")
		s.install()
		mine := "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}}"
		s.write(settings, mine)
		s.uninstall()
		if back := s.read(settings); back != mine {
			t.Errorf("uninstall left %q", back)
		}
	})
	t.Run("a file of ours goes again", func(t *testing.T) {
		s := lineSandbox(t)
		s.install()
		if made := s.read(s.path(".claude/settings.json")); !strings.Contains(made, `"statusLine"`) {
			t.Fatalf("no status line in %s", made)
		}
		s.uninstall()
		if _, err := os.Stat(s.path(".claude/settings.json")); !os.IsNotExist(err) {
			t.Errorf("settings.json after uninstall: %v", err)
		}
	})
	t.Run("a plan writes nothing and shows the line", func(t *testing.T) {
		s := lineSandbox(t)
		s.write(s.path(".claude/settings.json"), own)
		before := snapshot(t, s.home)
		p, err := PlanInstall(s.opts)
		must(t, err)
		if !strings.Contains(p.Changes[0].Diff, "statusline --home") {
			t.Errorf("the diff lacks the status line:\n%s", p.Changes[0].Diff)
		}
		if after := snapshot(t, s.home); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Error("a plan wrote something")
		}
	})
}

func TestStatusLineOnlyWhereThereCanBeOne(t *testing.T) {
	s := lineSandbox(t)
	for name, change := range map[string]func(*Options){
		"committed file":  func(o *Options) { o.Scope = Project },
		"only Codex":      func(o *Options) { o.Clients = []client.Client{client.Codex} },
		"in and out":      func(o *Options) { o.NoStatusLine = true },
		"missing program": func(o *Options) { o.Programs = filepath.Join(s.home, "nowhere") },
	} {
		o := s.opts
		change(&o)
		if _, err := PlanInstall(o); err == nil {
			t.Errorf("%s: planned all the same", name)
		}
	}
}

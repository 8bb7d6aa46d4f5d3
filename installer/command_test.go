package installer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

func TestCommandIsTheDocumentedOne(t *testing.T) {
	p := Programs{Home: "/home/u", Dir: "/home/u/.local/bin", State: "/home/u/.local/state/reseat"}
	got, err := p.Command(client.Claude, Entries()[1])
	must(t, err)
	if want := `"$HOME"/.local/bin/reseat-directive --runtime claude --home "$HOME"/.local/state/reseat`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// oddFolders are what people call their folders.
var oddFolders = []string{"plain", "my tools", "o'neil", "$x", "a\"b", "back\\slash", "star*?[a]", "semi;colon&", "日本", "-dash", "`tick`", "tab=equals", "#hash", "~tilde", "{a,b}", "!bang"}

// TestCommandRunsInTheShell executes the command strings, and reads them back.
func TestCommandRunsInTheShell(t *testing.T) {
	for _, name := range oddFolders {
		for _, below := range []bool{true, false} {
			home := filepath.Join(t.TempDir(), name)
			base := home
			if !below {
				base = filepath.Join(t.TempDir(), "else", name)
			}
			dir, stateDir := filepath.Join(base, "bin "+name), filepath.Join(base, name+" state")
			must(t, os.MkdirAll(dir, 0o700))
			must(t, os.WriteFile(filepath.Join(dir, Directive), []byte("#!/bin/sh\nprintf '%s\\n' \"$0\" \"$@\"\n"), 0o700))
			command, err := Programs{Home: home, Dir: dir, State: stateDir}.Command(client.Codex, Entries()[1])
			must(t, err)
			cmd := exec.Command("/bin/sh", "-c", command)
			cmd.Env = []string{"HOME=" + home}
			out, err := cmd.CombinedOutput()
			want := strings.Join([]string{filepath.Join(dir, Directive), "--runtime", "codex", "--home", stateDir, ""}, "\n")
			if err != nil || string(out) != want {
				t.Errorf("%s: %q, %v; want %q", command, out, err, want)
			}
			use, ok := ReadUse(command, func(string) string { return home })
			if want := (Use{Directive, filepath.Join(dir, Directive), client.Codex, stateDir}); !ok || use != want {
				t.Errorf("%s: read as %+v, %v; want %+v", command, use, ok, want)
			}
			if below && !strings.HasPrefix(command, `"$HOME"/`) {
				t.Errorf("%s names the home", command)
			}
		}
	}
}

func TestCommandRefusesPathsThatNoFileCanHold(t *testing.T) {
	for _, dir := range []string{"/a\nb", "/a\x00b", "/a\u2028b", "/a\xffb", "/a\x7fb"} {
		if command, err := (Programs{Home: "/h", Dir: dir}).Command(client.Claude, Entries()[0]); err == nil {
			t.Errorf("%q: %s", dir, command)
		}
	}
}

func TestWindowsCommandsSuitEveryShell(t *testing.T) {
	p := Programs{Home: `C:\Users\u`, Dir: `C:\Users\u\my tools`, State: `C:\Users\u\AppData\Local\reseat`, Windows: true}
	got, err := p.Command(client.Claude, Entries()[1])
	must(t, err)
	if !strings.HasSuffix(got, `reseat-directive.exe" --runtime claude --home "C:/Users/u/AppData/Local/reseat"`) || strings.Contains(got, `\`) {
		t.Error(got)
	}
	if use, ok := ReadUse(got, testEnv); !ok || use.Program != Directive {
		t.Errorf("%+v %v", use, ok)
	}
}

func TestOnlyOurOwnWayOfRunningIsOurs(t *testing.T) {
	for command, ours := range map[string]bool{
		`reseat-directive --runtime claude`:                           true,
		`/usr/bin/reseat-directive --runtime claude`:                  true,
		`"$HOME"/.local/bin/reseat-directive --runtime claude`:        true,
		`'/my tools/reseat-directive' --runtime=claude --home='/x y'`: true,
		`~/bin/reseat-directive --home /x --runtime claude`:           true,
		`${HOME}/bin/reseat-directive --runtime claude-code`:          true,
		`/a\ b/reseat-directive --runtime claude`:                     true,
		`C:/x/reseat-directive.exe --runtime claude`:                  true,
		`reseat-directive`:                                                  false,
		`reseat-directive --runtime gemini`:                                 false,
		`reseat-directive --runtime claude --verbose`:                       false,
		`reseat-directive --runtime`:                                        false,
		`reseat-directive-old --runtime claude`:                             false,
		`my-reseat-directive --runtime claude`:                              false,
		`echo reseat-directive --runtime claude`:                            false,
		`reseat-directive --runtime claude 2>/dev/null`:                     false,
		`reseat-directive --runtime claude; true`:                           false,
		`reseat-directive --runtime claude | cat`:                           false,
		`reseat-directive --runtime claude & `:                              false,
		`X=1 reseat-directive --runtime claude`:                             false,
		`$(which reseat-directive) --runtime claude`:                        false,
		"`which reseat-directive` --runtime claude":                         false,
		`reseat-directive --runtime claude # note`:                          false,
		`"reseat-directive --runtime claude"`:                               false,
		`reseat-directive --runtime 'claude`:                                false,
		``:                                                                  false,
		`timeout 5 reseat-directive --runtime claude`:                       false,
		`sh -c "reseat-directive --runtime claude"`:                         false,
		`/x/reseat-directive/other --runtime claude`:                        false,
		"reseat-directive --runtime claude\nrm -rf /tmp/x":                  false,
		`reseat-directive --runtime claude --home ~other/x`:                 false,
		`reseat-directive --runtime "clau"'de'`:                             true,
		`"$UNSET"reseat-directive --runtime claude`:                         true,
		`reseat-precompact --runtime claude --home "$HOME/.local/state/rs"`: true,
	} {
		if _, got := ReadUse(command, testEnv); got != ours {
			t.Errorf("%s: ours %v, want %v", command, got, ours)
		}
	}
}

func TestMentionsFindsAUsersOwnUse(t *testing.T) {
	for command, want := range map[string]bool{
		`timeout 5 /x/reseat-directive --runtime claude`: true,
		`sh -c "exec reseat-directive --runtime claude"`: true,
		`x | /y/reseat-precompact > z`:                   true,
		`reseat-directive-old`:                           false,
		`echo hello`:                                     false,
	} {
		if got := Mentions(command); got != want {
			t.Errorf("%s: %v, want %v", command, got, want)
		}
	}
}

// FuzzReadUse compares the reading of a command with the shell's own.
func FuzzReadUse(f *testing.F) {
	for _, name := range oddFolders {
		f.Add(quote("/x/" + name + "/" + Directive))
	}
	f.Add(`"$HOME"/a' b'\ c`)
	f.Fuzz(func(t *testing.T, s string) {
		words, ok := splitWords(s, func(name string) string { return map[string]string{"HOME": "/h"}[name] })
		if !ok || len(words) == 0 || strings.ContainsAny(s, "\x00\r\v\f") {
			return
		}
		cmd := exec.Command("/bin/sh", "-c", "set -f; printf '%s\\n' "+s)
		cmd.Env = []string{"HOME=/h"}
		out, err := cmd.Output()
		if want := strings.Join(words, "\n") + "\n"; err != nil || string(out) != want {
			t.Errorf("%q: read as %q, the shell says %q (%v)", s, words, out, err)
		}
	})
}

package claude

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares text with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", path, got, want)
	}
}

func launcher(t *testing.T) (a *Adapter, cwd string) {
	t.Helper()
	return &Adapter{program: "/usr/bin/claude", home: state.Home(t.TempDir())}, t.TempDir()
}

func TestLaunchLines(t *testing.T) {
	a, cwd := launcher(t)
	if err := os.WriteFile(filepath.Join(cwd, "mine.json"), []byte("{\n\t\"env\": {\"TOKEN\": \"sk-ant-EXAMPLE\"},\n\t\"idleCompaction\": true\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, test := range []struct {
		name string
		off  bool
		args []string
	}{
		{"policy off", false, []string{"--settings", `{"a":1}`, "hello"}},
		{"policy on", true, nil},
		{"policy on, full bypass", true, []string{"--dangerously-skip-permissions", "--resume", "x"}},
		{"policy on, a prompt behind --", true, []string{"--", "--settings", "x"}},
		{"policy on, JSON", true, []string{"--model", "opus", "--settings", `{ "hooks": {}, "n": 9007199254740993 }`, "hello"}},
		{"policy on, JSON that says true", true, []string{`--settings={"idleCompaction": true, "b": "<&>"}`, "hello"}},
		{"policy on, empty JSON", true, []string{"--settings", "{}"}},
		{"policy on, a file", true, []string{"--settings", "mine.json", "hello"}},
		{"policy on, twice", true, []string{"--settings", `{"first":1}`, "hello", "--settings", `{"last":1}`, "--verbose"}},
	} {
		l, err := a.Launch(context.Background(), plugins.LaunchRequest{Arguments: test.args, IdleCompactionOff: test.off, CWD: cwd})
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		b.WriteString("# " + test.name + "\n")
		for _, arg := range l.Command {
			b.WriteString("  " + strings.ReplaceAll(arg, string(a.home), "$RESEAT_HOME") + "\n")
		}
		for _, caveat := range l.Caveats {
			b.WriteString("  note: " + caveat + "\n")
		}
	}
	golden(t, "launch.txt", b.String())
}

func TestAFilesTextDoesntGetOntoTheCommandLine(t *testing.T) {
	a, cwd := launcher(t)
	const text = "{\n\t\"env\": {\"TOKEN\": \"sk-ant-EXAMPLE\"},\n\t\"idleCompaction\": true\n}\n"
	if err := os.WriteFile(filepath.Join(cwd, "mine.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := a.Launch(context.Background(), plugins.LaunchRequest{Arguments: []string{"--settings", "mine.json"}, IdleCompactionOff: true, CWD: cwd})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(l.Command, " "), "EXAMPLE") {
		t.Fatalf("command %q", l.Command)
	}
	merged, err := os.ReadFile(l.Command[2])
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Replace(text, "true", "false", 1); string(merged) != want {
		t.Errorf("merged %q, want %q", merged, want)
	}
	info, err := os.Stat(l.Command[2])
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if own, err := os.ReadFile(filepath.Join(cwd, "mine.json")); err != nil || string(own) != text {
		t.Errorf("the person's file: %q, %v", own, err)
	}
}

func TestSettingsThatCantBeReadAreRefused(t *testing.T) {
	a, cwd := launcher(t)
	for _, value := range []string{"missing.json", `{"a":`, `{"a":1} x`} {
		if _, err := a.Launch(context.Background(), plugins.LaunchRequest{Arguments: []string{"--settings", value}, IdleCompactionOff: true, CWD: cwd}); err == nil {
			t.Errorf("%q was taken", value)
		}
	}
}

func TestOldVersionsAreSaidToIgnoreIt(t *testing.T) {
	a, cwd := launcher(t)
	program := filepath.Join(cwd, "2.1.197")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	a.program = program
	l, err := a.Launch(context.Background(), plugins.LaunchRequest{IdleCompactionOff: true})
	if err != nil || len(l.Caveats) != 1 || !strings.Contains(l.Caveats[0], "2.1.290") {
		t.Errorf("caveats %q, %v", l.Caveats, err)
	}
}

func FuzzSetFalse(f *testing.F) {
	f.Add(`{"a": 1, "idleCompaction": true}`)
	f.Add(`{ }`)
	f.Add(`{"idleCompaction": 1, "x": {"idleCompaction": true}, "idleCompaction": null}`)
	f.Fuzz(func(t *testing.T, text string) {
		if !gjson.Valid(text) || !gjson.Parse(text).IsObject() {
			return
		}
		got, err := setFalse(text, "idleCompaction")
		if err != nil {
			return // invalid UTF-8, or nested too deep for the editor
		}
		if !gjson.Valid(got) {
			t.Fatalf("%q became %q", text, got)
		}
		if v := gjson.Get(got, "idleCompaction"); v.Type != gjson.False {
			t.Fatalf("%q became %q", text, got)
		}
		again, err := setFalse(got, "idleCompaction")
		if err != nil || again != got {
			t.Fatalf("%q became %q, then %q", text, got, again)
		}
	})
}

package cmd_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var nonce = regexp.MustCompile(`RESEAT_SEAT_NONCE=\S+|RESEAT_NONCE=\S+`)

// TestLaunchPrintsTheLine holds the whole way of `reseat launch --print`: the
// configuration, the adapter, the client's version and the user's own arguments.
func TestLaunchPrintsTheLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the client here is a shell script")
	}
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", bin, "./reseat-runtime-claude").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const on = "[policy.claude]\nenabled = true\n"
	var golden strings.Builder
	for _, test := range []struct {
		name, config, version string
		args                  []string
	}{
		{"policy off", "", "2.1.332", []string{"--settings", `{"a":1}`, "hello"}},
		{"policy on", on, "2.1.332", nil},
		{"policy invalid: off", on + "threshold_percent = 140\n", "2.1.332", []string{"--settings", `{"a":1}`}},
		{"policy on, full bypass", on, "2.1.332", []string{"--dangerously-skip-permissions"}},
		{"policy on, the user's settings as JSON that says true", on, "2.1.332", []string{"--settings", `{"idleCompaction":true,"b":"it's"}`, "hello"}},
		{"policy on, the user's settings as a file", on, "2.1.332", []string{"--settings", "mine.json"}},
		{"policy on, settings twice", on, "2.1.332", []string{"--settings", `{"first":1}`, "--settings", `{"last":1}`}},
	} {
		home := t.TempDir()
		write := func(name, text string, mode os.FileMode) {
			t.Helper()
			path := filepath.Join(home, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), mode); err != nil {
				t.Fatal(err)
			}
		}
		write("bin/claude", "#!/bin/sh\necho '"+test.version+" (Claude Code)'\n", 0o755)
		write(".config/reseat/config.toml", test.config, 0o600)
		write("work/mine.json", `{"env":{"TOKEN":"sk-ant-EXAMPLE"}}`, 0o600)
		cmd := exec.Command(filepath.Join(bin, "reseat"), append([]string{"launch", "dev-impl@my-rig", "--runtime", "claude", "--print", "--"}, test.args...)...)
		cmd.Dir = filepath.Join(home, "work")
		cmd.Env = []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", test.name, err, out)
		}
		text := strings.ReplaceAll(string(out), home, "/HOME")
		golden.WriteString("# " + test.name + "\n" + nonce.ReplaceAllStringFunc(text, func(s string) string {
			name, _, _ := strings.Cut(s, "=")
			return name + "=NONCE"
		}))
	}
	path := filepath.Join("testdata", "launch.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if golden.String() != string(want) {
		t.Errorf("%s:\ngot\n%s\nwant\n%s", path, golden.String(), want)
	}
}

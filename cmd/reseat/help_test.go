package main

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestHelpIsPinned holds every help text, so that a change to the public face
// shows in review, and keeps it within 80 columns.
func TestHelpIsPinned(t *testing.T) {
	calls := map[string][]string{"reseat": {"help"}}
	for _, cmd := range commands() {
		calls["reseat-"+strings.ReplaceAll(cmd.name, " ", "-")] = append(strings.Fields(cmd.name), "--help")
	}
	for name, args := range calls {
		t.Run(name, func(t *testing.T) {
			var out, complaint bytes.Buffer
			if code := run(context.Background(), args, strings.NewReader(""), &out, &complaint, noEnv); code != exitOK || complaint.Len() > 0 {
				t.Fatalf("exit %d, complained %q", code, complaint.String())
			}
			for i, line := range strings.Split(out.String(), "\n") {
				if len([]rune(line)) > 80 {
					t.Errorf("line %d is wider than 80 columns: %s", i+1, line)
				}
			}
			if !strings.Contains(out.String(), "Example:") && name != "reseat" {
				t.Error("no example")
			}
			file := filepath.Join("testdata", "help", name+".txt")
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v (go test ./cmd/reseat -run TestHelpIsPinned -update)", err)
			}
			if out.String() != string(want) {
				t.Errorf("the help changed (-update writes it anew):\n%s", out.String())
			}
		})
	}
}

func noEnv(string) string { return "" }

// TestWrongUsage: exit 64 with a hint, and nothing on standard output.
func TestWrongUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"nonsense"},
		{"packet"},
		{"status", "--nonsense"},
		{"seat", "bind", "only-one"},
		{"purge"},
		{"off", "--project", ".", "--seat", "a@b"},
		{"recap", "write"},
		{"install", "--client", "emacs"},
	} {
		var out, complaint bytes.Buffer
		home := t.TempDir()
		env := func(name string) string {
			if name == "HOME" {
				return home
			}
			return ""
		}
		if code := run(context.Background(), args, strings.NewReader(""), &out, &complaint, env); code != exitUsage {
			t.Errorf("%q: exit %d, want %d; %s", args, code, exitUsage, complaint.String())
		}
		if out.Len() > 0 {
			t.Errorf("%q printed %q", args, out.String())
		}
		if len(args) > 0 && !strings.Contains(complaint.String(), "reseat: hint: ") {
			t.Errorf("%q: no hint in %q", args, complaint.String())
		}
	}
}

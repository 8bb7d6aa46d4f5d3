package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/runtimetest"
)

// TestAdapterKeepsTheContract builds the adapter, makes two sessions of the real
// agent, one open and one closed, and lets the kit do the rest.
func TestAdapterKeepsTheContract(t *testing.T) {
	program := filepath.Join(t.TempDir(), "reseat-runtime-shellagent")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	home := t.TempDir()
	agent := newAgent(t)
	environ := []string{"PATH=" + filepath.Dir(agent) + ":" + os.Getenv("PATH"), "HOME=" + home, "SHELLAGENT_HOME=" + filepath.Join(home, "agents")}
	for _, session := range []string{"closed-one", "open-one"} {
		say(t, agent, environ, session, "the first thing")
		say(t, agent, environ, session, "the second thing")
	}
	keepOpen(t, agent, environ, "open-one")
	runtimetest.Run(t, runtimetest.Subject{
		Program: program, Environ: environ,
		Closed: plugins.SessionRef{ID: "closed-one"}, Live: plugins.SessionRef{ID: "open-one"},
	})
}

// newAgent copies the script to where only it is.
func newAgent(t *testing.T) string {
	t.Helper()
	script, err := os.ReadFile("shellagent")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "shellagent")
	if err := os.WriteFile(path, script, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func say(t *testing.T, agent string, environ []string, session, text string) {
	t.Helper()
	cmd := exec.Command(agent, session, "--once", text)
	cmd.Env = environ
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("shellagent: %v\n%s", err, out)
	}
}

// keepOpen runs the agent on a session until the test's end.
func keepOpen(t *testing.T, agent string, environ []string, session string) {
	t.Helper()
	cmd := exec.Command(agent, session)
	cmd.Env = environ
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	dir := filepath.Join(environ[2][len("SHELLAGENT_HOME="):], session)
	go func() { // the agent's own words aren't needed
		for s := bufio.NewScanner(out); s.Scan(); {
		}
	}()
	for {
		data, err := os.ReadFile(filepath.Join(dir, "open"))
		if err == nil && strings.Contains(string(data), "idle") {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the agent didn't start")
		}
	}
}

//go:build e2e

package e2e

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// execRun is what one `codex exec --json` told.
type execRun struct {
	outcome
	thread string
	events []gjson.Result
}

// exec runs one prompt in a new session, headless, and returns its thread id.
func (c *codex) exec(t *testing.T, prompt string) string {
	t.Helper()
	return c.run(t, "exec", "--json", "--skip-git-repo-check", prompt).thread
}

// execResume runs one prompt in a session that is there.
func (c *codex) execResume(t *testing.T, thread, prompt string) {
	t.Helper()
	if got := c.run(t, "exec", "resume", thread, "--json", "--skip-git-repo-check", prompt).thread; got != thread {
		t.Fatalf("resumed %s, got %s", thread, got)
	}
}

// execFork forks a session and runs one prompt in the fork, whose id it
// returns. 0.133.0 and 0.139.0 don't have it.
func (c *codex) execFork(t *testing.T, thread, prompt string) string {
	t.Helper()
	id := c.run(t, "exec", "fork", thread, "--json", "--skip-git-repo-check", prompt).thread
	if id == "" || id == thread {
		t.Fatalf("forked %s, got %q", thread, id)
	}
	return id
}

// run runs a command of Codex that must succeed.
func (c *codex) run(t *testing.T, args ...string) execRun {
	t.Helper()
	r := c.tryRun(t, args...)
	if r.code != 0 {
		t.Fatalf("codex %s: exit code %d\n%s\n%s", strings.Join(args, " "), r.code, tail(r.stdout), tail(r.stderr))
	}
	return r
}

// tryRun runs a command of Codex, whatever becomes of it.
func (c *codex) tryRun(t *testing.T, args ...string) execRun {
	t.Helper()
	got, err := c.command(c.program, c.codexEnv(), args...).run(t.Context())
	if err != nil {
		t.Fatalf("codex %s: %v\n%s", strings.Join(args, " "), err, tail(got.stderr))
	}
	r := execRun{outcome: got}
	for line := range strings.Lines(got.stdout) {
		if !gjson.Valid(line) {
			continue
		}
		event := gjson.Parse(line)
		r.events = append(r.events, event)
		if event.Get("type").String() == "thread.started" {
			r.thread = event.Get("thread_id").String()
		}
	}
	return r
}

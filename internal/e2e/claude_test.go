//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// stubKey is a key of no account. Its last 20 characters are what the client
// asks about in a terminal.
const stubKey = "sk-ant-EXAMPLE-000000000000000000000000"

// autoCompactWindow is the context window that the client is told to keep, and
// fullWindow the usage that makes it compact.
const (
	autoCompactWindow = 100_000
	fullWindow        = 99_000
)

// claude is one pinned Claude Code in a home of its own, talking to a stub.
type claude struct {
	*home
	version string
	program string
	stub    *anthropic.Stub
	book    *anthropic.Book // what the stub answers
}

// newClaude makes a home in which Claude Code talks to a new stub. Nothing is
// installed in it yet.
func newClaude(t *testing.T, version string) *claude {
	t.Helper()
	c := &claude{home: newBareHome(t), version: version, program: clientProgram(t, "claude", version)}
	c.book = anthropic.NewBook()
	c.stub = c.startStub(t, c.book.Script)
	return c
}

func (c *claude) startStub(t *testing.T, script anthropic.Script) *anthropic.Stub {
	t.Helper()
	stub, err := anthropic.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() && os.Getenv("RESEAT_E2E_KEEP") != "" {
			c.keepRequests(t, stub)
		}
		_ = stub.Close()
	})
	return stub
}

func (c *claude) keepRequests(t *testing.T, stub *anthropic.Stub) {
	t.Helper()
	var lines []string
	for _, req := range stub.All() {
		lines = append(lines, string(req.Body))
	}
	port := stub.URL()[strings.LastIndex(stub.URL(), ":")+1:]
	c.write(t, "requests-"+port+".jsonl", strings.Join(lines, "\n"))
}

// claudeEnv is the client's whole environment.
func (c *claude) claudeEnv(extra ...string) []string {
	return c.env(append([]string{
		"ANTHROPIC_BASE_URL=" + c.stub.URL(),
		"ANTHROPIC_API_KEY=" + stubKey,
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_TELEMETRY=1",
		"IS_SANDBOX=1",
		"CLAUDE_CODE_TMPDIR=" + filepath.Join(c.Dir, "tmp"),
		fmt.Sprintf("CLAUDE_CODE_AUTO_COMPACT_WINDOW=%d", autoCompactWindow),
	}, extra...)...)
}

// turn is what a headless run said.
type turn struct {
	SessionID string `json:"session_id"`
	Result    string `json:"result"`
	IsError   bool   `json:"is_error"`
	Subtype   string `json:"subtype"`
}

// say runs one headless turn: `claude -p prompt --output-format json flags`.
func (c *claude) say(t *testing.T, prompt string, flags ...string) turn {
	t.Helper()
	return c.finish(t, c.headless(prompt, flags...))
}

// finish runs a headless turn that has to succeed.
func (c *claude) finish(t *testing.T, cmd command) turn {
	t.Helper()
	out := c.must(t, cmd)
	var said turn
	if err := json.Unmarshal([]byte(out.stdout), &said); err != nil {
		t.Fatalf("%q: %v in %s\n%s", cmd.args, err, tail(out.stdout), tail(out.stderr))
	}
	if said.IsError {
		t.Fatalf("%q: the client reports an error: %s", cmd.args, tail(out.stdout))
	}
	return said
}

// resume goes on with a session.
func (c *claude) resume(t *testing.T, session, prompt string, flags ...string) turn {
	t.Helper()
	said := c.say(t, prompt, append([]string{"--resume", session}, flags...)...)
	if said.SessionID != session {
		t.Fatalf("%q: resumed %s, got %s", prompt, session, said.SessionID)
	}
	return said
}

// fork forks a session with a prompt and returns the new session.
func (c *claude) fork(t *testing.T, session, prompt string) turn {
	t.Helper()
	said := c.say(t, prompt, "--resume", session, "--fork-session")
	if said.SessionID == session {
		t.Fatalf("%q: the fork has its parent's id", prompt)
	}
	return said
}

func (c *claude) headless(prompt string, flags ...string) command {
	args := append([]string{"-p", prompt, "--output-format", "json"}, flags...)
	return c.home.command(c.program, c.claudeEnv(), args...)
}

// transcript is the path of a session's transcript.
func (c *claude) transcript(t *testing.T, session string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(c.Dir, ".claude", "projects", "*", session+".jsonl"))
	if err != nil || len(found) != 1 {
		t.Fatalf("transcripts of %s: %v, %v", session, found, err)
	}
	return found[0]
}

// records is the transcript's records.
func (c *claude) records(t *testing.T, session string) []gjson.Result {
	t.Helper()
	raw, err := os.ReadFile(c.transcript(t, session))
	if err != nil {
		t.Fatal(err)
	}
	return readRecords(string(raw))
}

func readRecords(transcript string) []gjson.Result {
	var records []gjson.Result
	for line := range strings.Lines(transcript) {
		records = append(records, gjson.Parse(line))
	}
	return records
}

// boundaries is the triggers of the boundary records, in file order.
func boundaries(records []gjson.Result) []string {
	var triggers []string
	for _, record := range records {
		if record.Get("subtype").String() == "compact_boundary" {
			triggers = append(triggers, record.Get("compactMetadata.trigger").String())
		}
	}
	return triggers
}

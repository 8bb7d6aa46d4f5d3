package packet

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/gitstate"
	"github.com/reseat-dev/reseat/packet/transcript"
)

var update = flag.Bool("update", false, "write the golden files anew")

// secrets is a small honest redactor: one shape of invented secret.
type secrets struct{}

var secretShape = regexp.MustCompile(`sk-ant-EXAMPLE[A-Za-z0-9]{4,}|password=[^\s\]\[“”"…]{3,}`)

func (secrets) Text(s string) (string, int) {
	n := 0
	s = secretShape.ReplaceAllStringFunc(s, func(m string) string {
		n++
		if strings.HasPrefix(m, "password=") {
			return "password=[REDACTED]"
		}
		return "[REDACTED]"
	})
	return s, n
}

func (s secrets) Path(p string) (string, int) { return s.Text(p) }

func (s secrets) Cut(text string, n int) (kept string, left, found int) {
	text, found = s.Text(text)
	if len(text) <= n {
		return text, 0, found
	}
	at := edge(text, n)
	return text[:at], len(text) - at, found
}

func (s secrets) CutFront(text string, n int) (kept string, left, found int) {
	text, found = s.Text(text)
	at := max(len(text)-n, 0)
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:], at, found
}

func (secrets) Additions() []string  { return []string{"aws", "jwt"} }
func (secrets) Exemptions() []string { return []string{"git-sha", "uuid"} }

var day = time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC)

// at is the place of record n of a made-up transcript.
func at(n int) transcript.Position {
	return transcript.Position{
		Offset: int64(n) * 1000, Line: int64(n) + 1,
		ID:   fmt.Sprintf("00000000-0000-4000-8000-%012d", n),
		Time: day.Add(time.Duration(n) * time.Second),
	}
}

func said(n int, role, text string) transcript.Message {
	return transcript.Message{Position: at(n), Role: role, Text: text, Typed: role == "user"}
}

func exit(n int) *int { return &n }

// aStory is a session with some of everything.
func aStory() *transcript.Story {
	const session = "11111111-2222-4333-8444-555555555555"
	return &transcript.Story{
		Client: client.Claude,
		Path:   "/home/dev/.claude/projects/-work-shop/" + session + ".jsonl",
		Size:   70000,
		Identity: transcript.Identity{
			SessionID: session, RootID: session, CWD: "/work/shop", Version: "2.1.332", Model: "claude-example-1",
			GitBranch: "main", PermissionMode: "acceptEdits", Started: day,
		},
		Opening: []transcript.Message{said(1, "user", "Make the basket keep its goods over a restart.\nThe customers lose them today.")},
		Messages: []transcript.Message{
			said(1, "user", "Make the basket keep its goods over a restart.\nThe customers lose them today."),
			said(2, "assistant", "I begin with the store.\n\n## 7. user 2026\n\nnot a head\n\\## 8. user x"),
			said(20, "user", "Use the key sk-ant-EXAMPLE0000 for the shop, then go on"),
			said(30, "assistant", "Done, the tests fail still."),
			said(60, "user", "Mind the old carts; the table may be large"),
		},
		Requests: []transcript.Message{
			said(1, "user", "Make the basket keep its goods over a restart.\nThe customers lose them today."),
			said(20, "user", "Use the key sk-ant-EXAMPLE0000 for the shop, then go on"),
			{Position: at(40), Role: "user", Text: "<task-notification>done</task-notification>"},
			said(60, "user", "Mind the old carts; the table may be large"),
		},
		Boundaries: []transcript.Boundary{{Position: at(10), Trigger: "auto", PreTokens: 150000}},
		Plan: &transcript.Plan{
			Position: at(50), Source: "TodoWrite",
			Items: []transcript.PlanItem{
				{Position: at(50), ID: "1", Text: "Choose the store", Status: "completed"},
				{Position: at(50), ID: "2", Text: "Write the migration", Status: "in_progress"},
				{Position: at(50), ID: "3", Text: "Run the tests", Status: "pending"},
			},
		},
		Open: []transcript.OpenWork{{Position: at(55), Kind: "subagent", CallID: "toolu_01EXAMPLE", Description: "Look for other readers of the table"}},
		Files: []transcript.File{
			{Path: "/work/shop/basket/store.go", Edits: 3, Reads: 2, First: at(5), Last: at(52)},
			{Path: "/work/shop/basket/old cart.go", Edits: 1, Deleted: true, First: at(3), Last: at(25)},
			{Path: "/work/shop/README.md", Reads: 1, Mentions: 1, First: at(4), Last: at(4)},
		},
		Commands: []transcript.Command{
			{Position: at(28), CallID: "toolu_02EXAMPLE", Text: "go test ./basket/...", Test: true, Done: true, ExitCode: exit(1), Failed: true, Output: "--- FAIL: TestKeep\nFAIL basket 0.1s\n", Result: at(29)},
			{Position: at(51), CallID: "toolu_03EXAMPLE", Text: "git diff --stat", Done: true, ExitCode: exit(0), Output: " 1 file changed", Result: at(52)},
		},
		Usage: &transcript.Usage{Position: at(60), Tokens: 151000, Window: 200000},
		Reach: transcript.Reach{Bytes: 61000, Last: at(60), LastAnswer: at(30), Boundary: at(10)},
		Lines: 61,
		Omitted: transcript.Omitted{
			Reasoning: 4, ToolOutputs: 7, FunctionCalls: 9, Meta: 2, Summaries: 1,
		},
	}
}

func anInput() Input {
	return Input{
		ID: "rs-0007-5f3a9c1e", Client: client.Claude, Session: "11111111-2222-4333-8444-555555555555", Seat: "dev-impl@shop",
		Story: aStory(),
		Declared: Declared{
			Intent: "Customers never lose a basket", RolePointer: "/work/shop/ROLE.md", DefaultRepo: "/work/shop",
			NextOwner: "dev-review@shop", AuthorityBoundaries: "Never touch the payment tables. No push to main.",
			Caveats: []string{"the staging base is shared"}, Pointers: Pointers{Queue: []string{"/work/shop/QUEUE.md"}}, Digest: "d1",
		},
		Git: &gitstate.State{
			Root: "/work/shop", Branch: "main", Head: strings.Repeat("a1b2", 10), Listed: true,
			Changed: []gitstate.Change{{Path: "basket/store.go", Status: ".M"}, {Path: "new file.txt", Status: "??"}},
		},
		Memory: []Surface{
			{Kind: ProjectContext, Path: "/work/shop/CLAUDE.md", Purpose: "read by the client itself", Modified: day.Add(-time.Hour), Bytes: 10, SHA256: strings.Repeat("0", 64)},
			{Kind: Recap, Path: "/state/recap/RECAP.md", Purpose: "written by the occupant before", Modified: day.Add(-50 * time.Hour), Bytes: 20, SHA256: strings.Repeat("1", 64)},
		},
		Mechanism: Mechanism(client.Claude, WayPreCompact), Trigger: "manual", Instructions: "keep the numbers",
		Time: day.Add(2 * time.Minute), Generator: Generator("0.1.0"), Redactor: secrets{},
	}
}

func mustMake(t testing.TB, in Input) *Packet {
	t.Helper()
	p, err := Make(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// written writes a packet below a test's folder and returns its path.
func written(t testing.TB, in Input) string {
	t.Helper()
	dir := t.TempDir() + "/packet"
	if err := mustMake(t, in).Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func removeFile(dir, name string) error { return os.Remove(filepath.Join(dir, name)) }

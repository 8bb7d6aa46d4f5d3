//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// directiveLead is how a directive begins; its group is the compaction's id.
// The second form is that of a directive without a packet.
var directiveLead = regexp.MustCompile(`This session's context was compacted[^\n]*?\b(rs-[0-9]{4}-[0-9a-f]{8})\b`)

// directiveIDs is the ids of all directives that stand in a request, wherever
// they stand: one id twice is a directive twice.
func directiveIDs(req anthropic.Request) []string {
	var ids []string
	for _, text := range append(anthropic.Texts(req), req.System) {
		for _, found := range directiveLead.FindAllStringSubmatch(text, -1) {
			ids = append(ids, found[1])
		}
	}
	return ids
}

// turns is the requests of a session's own turns, in order.
func (c *claude) turns(session string) []anthropic.Request {
	var turns []anthropic.Request
	for _, req := range c.stub.Of(anthropic.Main) {
		if req.SessionID == session {
			turns = append(turns, req)
		}
	}
	return turns
}

// none requires that no request, from index since on, of any session and kind
// (a summary's and a subagent's too) holds a directive.
func (c *claude) none(t *testing.T, since int) {
	t.Helper()
	for _, req := range c.stub.Since(since) {
		if ids := directiveIDs(req); len(ids) > 0 {
			t.Errorf("request %d (%s of %s, %q) holds directives %v%s", req.N, req.Kind, req.SessionID, req.Prompt(), ids, c.story(t))
		}
	}
}

// once requires that every one of the requests holds exactly one directive,
// the same one, in a hook's context, word for word what `reseat show` tells.
func (c *claude) once(t *testing.T, requests []anthropic.Request) claudeDirective {
	t.Helper()
	if len(requests) == 0 {
		t.Fatal("no request that could hold a directive")
	}
	ids := directiveIDs(requests[0])
	if len(ids) != 1 {
		t.Fatalf("request %d (%q) holds directives %v, want one%s", requests[0].N, requests[0].Prompt(), ids, c.story(t))
	}
	shown := c.shown(t, ids[0])
	for _, req := range requests {
		if got := directiveIDs(req); !slices.Equal(got, ids) {
			t.Errorf("request %d (%q) holds directives %v, want %v%s", req.N, req.Prompt(), got, ids, c.story(t))
		}
		if n := anthropic.Occurrences(req, shown.text); n != 1 {
			t.Errorf("request %d (%q): the text that reseat show tells stands in it %d times", req.N, req.Prompt(), n)
		}
		if !slices.ContainsFunc(anthropic.Contexts(req), func(ctx anthropic.Context) bool {
			return strings.Contains(ctx.Text, shown.text)
		}) {
			t.Errorf("request %d (%q): the directive isn't in a hook's context", req.N, req.Prompt())
		}
	}
	return shown
}

// claudeDirective is what `reseat show` tells of a compaction.
type claudeDirective struct {
	directive
	id        string
	session   string
	trigger   string
	event     string // through which it was printed
	confirmed bool
	words     string
}

func (c *claude) shown(t *testing.T, id string) claudeDirective {
	t.Helper()
	out := c.reseat(t, "show", id, "--json", "--home", c.State)
	if !gjson.Valid(out) {
		t.Fatalf("reseat show %s --json: %s", id, out)
	}
	shown := gjson.Parse(out)
	d := claudeDirective{
		directive: directive{text: shown.Get("directive").String(), packet: shown.Get("packet").String()},
		id:        shown.Get("id").String(),
		session:   shown.Get("session").String(),
		trigger:   shown.Get("trigger").String(),
		event:     shown.Get("event").String(),
		confirmed: shown.Get("confirmed").Bool(),
		words:     shown.Get("words").String(),
	}
	if d.id != id || d.text == "" {
		t.Fatalf("reseat show %s --json: %s", id, out)
	}
	if len(d.text) > 6000 {
		t.Errorf("a directive of %d bytes, at most 6,000 are allowed", len(d.text))
	}
	if n := strings.Count(d.text, d.packet); n != 1 {
		t.Errorf("the directive names the packet's folder %d times, want once:\n%s", n, d.text)
	}
	return d
}

// valid requires the packet that a directive names to be valid, by our own
// command, and returns its continuity.json.
func (c *claude) valid(t *testing.T, d claudeDirective) gjson.Result {
	t.Helper()
	c.reseat(t, "packet", "validate", d.packet)
	return gjson.Parse(d.file(t, "continuity.json"))
}

// compactions is what status tells of a session's compactions, newest first.
func (c *claude) compactions(t *testing.T, session string) []gjson.Result {
	t.Helper()
	out := c.reseat(t, "status", "--json", "--home", c.State)
	if !json.Valid([]byte(out)) {
		t.Fatalf("reseat status --json: %s", out)
	}
	for _, s := range gjson.Get(out, "sessions").Array() {
		if s.Get("session").String() == session {
			return s.Get("compactions").Array()
		}
	}
	return nil
}

// story is what our programs say happened, for a failed test.
func (c *claude) story(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	receipts, _ := filepath.Glob(filepath.Join(c.State, "receipts", "*.jsonl"))
	for _, file := range receipts {
		b.WriteString("\n" + readFile(t, file))
	}
	states, _ := filepath.Glob(filepath.Join(c.State, "s", "*", "c", "*", "state.*"))
	for _, file := range states {
		b.WriteString("\n" + strings.TrimPrefix(file, c.State))
	}
	return b.String()
}

// installedClaude is a Claude Code with our programs and hooks.
func installedClaude(t *testing.T, version string) *claude {
	t.Helper()
	c := newClaude(t, version)
	installClaude(t, c.home)
	return c
}

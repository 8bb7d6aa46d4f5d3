//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// startTerminal starts Claude Code in a terminal, past its first questions:
// theme, trust in the folder, the key.
func (c *claude) startTerminal(t *testing.T, flags ...string) *terminal {
	t.Helper()
	c.skipOnboarding(t)
	term := startTerminal(t, c.home.command(c.program, c.claudeEnv(), flags...))
	term.waitFor("❯")
	return term
}

// skipOnboarding writes what the client remembers of a person who went through
// its first questions (seen on 2.1.197 to 2.1.332).
func (c *claude) skipOnboarding(t *testing.T) {
	t.Helper()
	state := map[string]any{
		"hasCompletedOnboarding": true,
		"theme":                  "dark",
		"projects": map[string]any{
			c.Project: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true},
		},
		"customApiKeyResponses": map[string]any{"approved": []string{stubKey[len(stubKey)-20:]}},
	}
	raw, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	c.write(t, ".claude.json", string(raw))
}

// waitAsked waits until the model was asked something whose last words hold
// text, and returns that request.
func waitAsked(t *testing.T, stub *anthropic.Stub, text string) anthropic.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := stub.Wait(ctx, func(r anthropic.Request) bool {
		return r.Kind == anthropic.Main && strings.Contains(r.Prompt(), text)
	})
	if err != nil {
		t.Fatalf("a prompt with %q: %v", text, err)
	}
	return req
}

func TestClaudeInATerminalDeliversOnce(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		r := recordEverything(t, c)
		term := c.startTerminal(t)
		session := c.talk(t, term, "first words").SessionID
		c.talk(t, term, "second words")
		before := len(c.turns(session))
		c.compactTyped(t, term, r, "keep the numbers")
		c.talk(t, term, "third words")
		c.talk(t, term, "fourth words")
		d := c.once(t, c.turns(session)[before:])
		c.valid(t, d)
		holdsInOrder(t, "transcript-latest.md", d.file(t, "transcript-latest.md"), "first words", "second words")
		c.confirmed(t, session, d.id)
	})
}

// talk types a prompt and waits until it was answered.
func (c *claude) talk(t *testing.T, term *terminal, prompt string) anthropic.Request {
	t.Helper()
	answer := "answer to " + prompt
	c.book.Turn(prompt, stubmodel.Text("%s", answer))
	term.enter(prompt)
	req := waitAsked(t, c.stub, prompt)
	term.waitFor(answer)
	return req
}

// compactTyped types /compact and waits until the compaction is over.
func (c *claude) compactTyped(t *testing.T, term *terminal, r recorder, instructions string) {
	t.Helper()
	term.enter("/compact " + instructions)
	eventually(t, time.Minute, "the end of the compaction", func() bool {
		return slices.Contains(r.names(t), "PostCompact(manual)")
	})
}

// An agent that is told where its packet lies reads it, in every mode that
// doesn't let everything pass, and nobody is there to answer a dialog.
func TestClaudeReadsItsPacketWithoutADialog(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		for _, mode := range []string{"default", "acceptEdits", "auto"} {
			t.Run(mode, func(t *testing.T) {
				c := installedClaude(t, version)
				r := recordEverything(t, c)
				term := c.startTerminal(t, "--permission-mode", mode)
				session := c.talk(t, term, "first words").SessionID
				c.talk(t, term, "second words")
				c.compactTyped(t, term, r, "keep the numbers")
				c.stub.Use(c.readPacket())
				term.enter("read your packet")
				term.waitFor("I read it.")
				turns := c.turns(session)
				d := c.once(t, turns[len(turns)-1:])
				checkPacketWasRead(t, turns[len(turns)-1], d)
			})
		}
	})
}

// packetFiles is the files of a packet that a directive tells to read.
var packetFiles = []string{"restore-instructions.md", "transcript-latest.md", "touched-files.md", "continuity.json"}

// readPacket is a model that, told to read its packet, calls the Read tool on
// each of its files in the folder that the directive names, and otherwise does
// as the book says.
func (c *claude) readPacket() anthropic.Script {
	return func(req anthropic.Request) stubmodel.Reply {
		if req.Kind != anthropic.Main {
			return c.book.Script(req)
		}
		if results := anthropic.Results(req); len(results) >= len(packetFiles) {
			return stubmodel.Text("I read it.")
		}
		folder := packetFolder.FindString(strings.Join(anthropic.Texts(req), "\n"))
		if folder == "" {
			return stubmodel.Text("I know of no packet.")
		}
		var calls []stubmodel.Call
		for _, name := range packetFiles {
			calls = append(calls, anthropic.Read(filepath.Join(c.State, folder, name)))
		}
		return stubmodel.UseTools(calls...)
	}
}

// checkPacketWasRead checks that the files' content reached the model.
func checkPacketWasRead(t *testing.T, req anthropic.Request, d claudeDirective) {
	t.Helper()
	for _, name := range packetFiles {
		read := resultOf(t, req, filepath.Join(d.packet, name))
		// The tool numbers the lines: compare what they say.
		for line := range strings.Lines(d.file(t, name)) {
			if line = strings.TrimSpace(line); !strings.Contains(read, line) {
				t.Errorf("%s: the line %q didn't arrive", name, line)
				break
			}
		}
	}
}

// resultOf is what the tool call whose input holds words brought back; it must
// have succeeded.
func resultOf(t *testing.T, req anthropic.Request, words string) string {
	t.Helper()
	result, ok := anthropic.ResultOf(req, func(call anthropic.Part) bool {
		return strings.Contains(string(call.Input), words)
	})
	switch {
	case !ok:
		t.Errorf("no result of a tool call with %q", words)
	case result.Failed:
		t.Errorf("the tool call with %q failed: %s", words, result.Text)
	}
	return result.Text
}

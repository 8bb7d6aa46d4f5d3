//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var moment = regexp.MustCompile(`"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d`)

// daysAgo moves all that a session's transcript and our state of it tell of time
// into the past: to the programs it is as if the session had been left since. It
// changes no file's length.
func (c *claude) daysAgo(t *testing.T, session string, days int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(c.State, "s", "*", "c", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, c.transcript(t, session))
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			continue // a packet stays as it is: its bytes are sealed
		}
		text := moment.ReplaceAllStringFunc(readFile(t, file), func(s string) string {
			then, err := time.Parse(`"2006-01-02T15:04:05`, s)
			if err != nil {
				t.Fatal(err)
			}
			return then.AddDate(0, 0, -days).Format(`"2006-01-02T15:04:05`)
		})
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		then := time.Now().AddDate(0, 0, -days)
		if err := os.Chtimes(file, then, then); err != nil {
			t.Fatal(err)
		}
	}
}

// compactedUndelivered is a session whose compaction nothing was delivered for: the
// hooks that deliver weren't there then, and are now again after back.
func (c *claude) compactedUndelivered(t *testing.T) (session string, back func()) {
	t.Helper()
	hooks := readSettings(t, c.home)
	c.without(t, "SessionStart", "UserPromptSubmit", "PostCompact")
	return c.compacted(t), func() { hooks.write(t, c.home) }
}

// A session compacted and left gets its directive whenever it is taken up again,
// and is told how old that is.
func TestClaudeSessionLeftForThirtyDaysGetsItsDirective(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		session, back := c.compactedUndelivered(t)
		back()
		c.daysAgo(t, session, 30)
		c.reseat(t, "gc", "--home", c.State)
		before := len(c.turns(session))
		c.again(t, session, "Go on, please.", "And on.")
		d := c.once(t, c.turns(session)[before:])
		if !strings.Contains(d.text, "30 days") {
			t.Errorf("it doesn't say how old it is:\n%s", d.text)
		}
		c.valid(t, d)
		c.confirmed(t, session, d.id)
	})
}

// A session that went on without its directive for three turns of a person
// doesn't get it any more.
func TestClaudeSessionThatMovedOnIsTooLate(t *testing.T) {
	eachClaude(t, func(t *testing.T, version string) {
		c := installedClaude(t, version)
		session, back := c.compactedUndelivered(t)
		c.again(t, session, "Without it, one.", "Without it, two.", "Without it, three.")
		back()
		c.again(t, session, "Go on, please.", "And on.")
		c.none(t, 0)
		got := c.compactions(t, session)
		if len(got) != 1 || got[0].Get("state").String() != "too-late" || !strings.Contains(got[0].Get("words").String(), "too late") {
			t.Errorf("status tells %s%s", got, c.story(t))
		}
	})
}

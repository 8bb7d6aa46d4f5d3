//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/plugins"
)

// A person's own status line goes on to show, gets the client's own input, and a
// sample of the usage arrives; uninstall gives the settings back.
func TestClaudeStatusLineShowsAndIsSampled(t *testing.T) {
	t.Parallel()
	c := newClaude(t, claudeVersions[0])
	putPrograms(t, c.Bin)
	own := "{\n\t\"statusLine\": {\"type\": \"command\", \"command\": \"printf 'mine is \\u0073een '; grep -c session_id\", \"padding\": 0}\n}\n"
	c.write(t, ".claude/settings.json", own)
	c.reseat(t, "install", "--client", "claude", "--statusline", "--yes", "--home", c.State)
	if now := readFile(t, settingsPath(c.home)); !strings.Contains(now, " --own ") {
		t.Fatalf("not chained:\n%s", now)
	}

	term := c.startTerminal(t)
	session := c.exchange(t, term, "first words")
	term.waitFor("mine is seen 1")
	a := c.adapter(t)
	var usage plugins.Usage
	eventually(t, time.Minute, "a sample of "+session, func() bool {
		all, err := a.Usage(t.Context(), []plugins.SessionRef{{ID: session}})
		if err != nil {
			t.Fatal(err)
		}
		usage = all[0]
		return usage.Source == "claude_statusline_json"
	})
	if usage.Tokens == 0 || usage.Window == 0 || usage.Newer {
		t.Errorf("usage %+v", usage)
	}

	c.reseat(t, "uninstall", "--client", "claude", "--yes", "--home", c.State)
	if back := readFile(t, settingsPath(c.home)); back != own {
		t.Errorf("uninstall left %q", back)
	}
}

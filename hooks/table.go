package hooks

import (
	"strconv"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// Ability is what a client version's events prove. The facts were seen on the
// real clients, each against a stub model on loopback; an unknown newer version
// counts like the newest one here, an unknown version too.
type Ability struct {
	// Since is the first version of the row.
	Since string
	// RunsHooks: SessionStart(compact) and the compaction events are fired.
	RunsHooks bool
	// MarksSubagents: the events of a subagent's compaction can be told from
	// the main session's, see Event.InSubagent. Where it is false they look
	// exactly like those.
	MarksSubagents bool
	// ForkSource is the source that a fork's SessionStart carries. Where it
	// isn't "fork" the event can't tell a fork from what the word says: "resume"
	// comes under the parent's session id, "startup" under the fork's own.
	ForkSource string
	// PostFirst: PostCompact runs before SessionStart(compact), and
	// SessionStart(compact) is queued until the next turn. So a record must
	// have been armed by PostCompact, and a SessionStart without one proves a
	// compaction only together with a boundary that no record has used.
	PostFirst bool
	// KnowsTrace: the form of the record that shows an injected context in the
	// transcript is known for this version.
	KnowsTrace bool
}

// The versions at which something changed, oldest first.
var (
	claudeTable = [...]Ability{
		{Since: "0", RunsHooks: true, KnowsTrace: true, ForkSource: SourceResume},
		{Since: "2.1.214", RunsHooks: true, KnowsTrace: true, ForkSource: SourceFork},
		{Since: "2.1.324", RunsHooks: true, KnowsTrace: true, ForkSource: SourceFork, MarksSubagents: true},
	}
	codexTable = [...]Ability{
		{Since: "0", MarksSubagents: true, PostFirst: true, ForkSource: SourceStartup},
		{Since: "0.133.0", RunsHooks: true, KnowsTrace: true, MarksSubagents: true, PostFirst: true, ForkSource: SourceStartup},
		{Since: "0.171.0", RunsHooks: true, KnowsTrace: true, MarksSubagents: true, PostFirst: true, ForkSource: SourceFork},
	}
)

// rowsOf is the table of client c, nil for an unknown one.
func rowsOf(c client.Client) []Ability {
	switch c {
	case client.Claude:
		return claudeTable[:]
	case client.Codex:
		return codexTable[:]
	}
	return nil
}

// Can is what version of client c proves. An empty or unreadable version counts
// as the newest known.
func Can(c client.Client, version string) Ability {
	rows := rowsOf(c)
	if len(rows) == 0 {
		return Ability{}
	}
	if _, ok := parseVersion(version); !ok {
		return rows[len(rows)-1]
	}
	found := rows[0]
	for _, row := range rows {
		if CompareVersions(row.Since, version) <= 0 {
			found = row
		}
	}
	return found
}

// NewestTried is the newest version of c that was run against reseat.
func NewestTried(c client.Client) string {
	switch c {
	case client.Claude:
		return "2.1.332"
	case client.Codex:
		return "0.171.0"
	}
	return ""
}

// OldestSupported is the first version of c that fires what a directive needs.
func OldestSupported(c client.Client) string {
	for _, row := range rowsOf(c) {
		if row.RunsHooks {
			return row.Since
		}
	}
	return ""
}

// VersionFromEnv reads the version that Claude Code puts into its hooks'
// environment: AI_AGENT=claude-code_2-1-332_harness. Empty where it doesn't.
func VersionFromEnv(c client.Client, getenv func(string) string) string {
	if c != client.Claude {
		return ""
	}
	rest, ok := strings.CutPrefix(getenv("AI_AGENT"), "claude-code_")
	if !ok {
		return ""
	}
	version, _, _ := strings.Cut(rest, "_")
	version = strings.ReplaceAll(version, "-", ".")
	if _, ok := parseVersion(version); !ok {
		return ""
	}
	return version
}

// CompareVersions compares two dotted versions by their numbers: -1, 0 or 1.
// What follows a "-" or "+" is ignored; a version that can't be read is newer
// than every other.
func CompareVersions(a, b string) int {
	va, oka := parseVersion(a)
	vb, okb := parseVersion(b)
	switch {
	case !oka && !okb:
		return 0
	case !oka:
		return 1
	case !okb:
		return -1
	}
	for i := range va {
		if va[i] != vb[i] {
			if va[i] < vb[i] {
				return -1
			}
			return 1
		}
	}
	return 0
}

func parseVersion(s string) (v [3]int, ok bool) {
	s = strings.TrimPrefix(strings.TrimSpace(s), "v")
	if i := strings.IndexAny(s, "-+ "); i >= 0 {
		s = s[:i]
	}
	if s == "" {
		return v, false
	}
	for i, part := range strings.SplitN(s, ".", 4) {
		if i == len(v) {
			break
		}
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return v, false
		}
		v[i] = n
	}
	return v, true
}

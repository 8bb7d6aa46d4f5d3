package claude

import (
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/plugins"
)

const (
	askedCompact  = `{"type":"user","message":{"role":"user","content":"<command-name>/compact</command-name>\n            <command-message>compact</command-message>\n            <command-args></command-args>"}}`
	askedModel    = `{"type":"user","message":{"role":"user","content":"<command-name>/model</command-name>"}}`
	blockedRecord = `{"type":"system","subtype":"local_command","content":"<local-command-stderr>Compaction blocked by PreCompact hook: [x]: not now</local-command-stderr>"}`
	oldRecord     = `{"type":"user","message":{"role":"user","content":"<local-command-stdout>\u001b[2mCompacted \u001b[22m</local-command-stdout>"}}`
	partsRecord   = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"<local-command-stderr>Error: No messages to compact</local-command-stderr>"}]}}`
	sideRecord    = `{"isSidechain":true,"type":"user","message":{"content":"<local-command-stdout>Compacted</local-command-stdout>"}}`
)

func TestTheEndOfACompactionIsReadFromTheTranscript(t *testing.T) {
	long := `{"type":"attachment","x":"command-` + strings.Repeat("y", 2*maxRecord) + `"}`
	for name, test := range map[string]struct {
		lines []string
		want  commandEnded
	}{
		"blocked":              {[]string{askedCompact, blockedRecord}, commandEnded{true, "Compaction blocked by PreCompact hook: [x]: not now"}},
		"the old form":         {[]string{askedCompact, long, oldRecord}, commandEnded{true, "Compacted "}},
		"as parts":             {[]string{askedCompact, partsRecord}, commandEnded{true, "Error: No messages to compact"}},
		"still running":        {[]string{askedCompact}, commandEnded{}},
		"another command's":    {[]string{askedModel, blockedRecord}, commandEnded{}},
		"a sidechain's":        {[]string{askedCompact, sideRecord}, commandEnded{}},
		"the second of two":    {[]string{askedCompact, blockedRecord, askedCompact}, commandEnded{}},
		"broken lines between": {[]string{askedCompact, "{command-", "", blockedRecord}, commandEnded{true, "Compaction blocked by PreCompact hook: [x]: not now"}},
	} {
		got := scanCompactEnded(strings.NewReader(strings.Join(test.lines, "\n") + "\n"))
		if got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
	if got := scanCompactEnded(strings.NewReader(askedCompact + "\n" + blockedRecord)); got.found {
		t.Errorf("a line that is still being written counts: %+v", got)
	}
}

func TestTheClientsWordsAreJudged(t *testing.T) {
	for said, want := range map[string]plugins.Outcome{
		"Compacted (ctrl+o to see full summary)":            plugins.Compacted,
		"Not enough messages to compact.":                   plugins.NotEnough,
		"Error: No messages to compact":                     plugins.NotEnough,
		"Compaction blocked by PreCompact hook: [x]: later": plugins.Blocked,
		"skipped: Compaction blocked by PreCompact hook: y": plugins.Blocked,
		"Error: Compaction canceled.":                       plugins.Failed,
		"API Error: 500 stub says no":                       plugins.Failed,
	} {
		if got, _, ok := judge(said); !ok || got != want {
			t.Errorf("%q: %s, %v", said, got, ok)
		}
	}
	for _, said := range []string{"", "Running PreCompact hooks…", "Compacting conversation"} {
		if got, _, ok := judge(said); ok {
			t.Errorf("%q is taken for an end: %s", said, got)
		}
	}
}

func FuzzScanCompactEnded(f *testing.F) {
	f.Add(askedCompact + "\n" + blockedRecord + "\n")
	f.Fuzz(func(_ *testing.T, text string) { scanCompactEnded(strings.NewReader(text)) })
}

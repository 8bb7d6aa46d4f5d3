package codex

import (
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/plugins/pane"
)

// view is a screen made by hand after a real one; "^" in a line is where the
// cursor stands.
func view(lines ...string) pane.View {
	var v pane.View
	for y, line := range lines {
		if before, after, ok := strings.Cut(line, "^"); ok {
			v.CursorY = y
			v.CursorX = len(pane.ParseScreen(before + "\x1b[7mx")[0]) - 1
			lines[y] = before + after
		}
	}
	v.Rows = pane.ParseScreen(strings.Join(lines, "\n") + "\n")
	return v
}

const footer = "  gpt-5.5 default · ~/w"

func TestPromptIsReadFromTheScreen(t *testing.T) {
	mark := "\x1b[1m›\x1b[0m "
	for name, test := range map[string]struct {
		lines []string
		want  prompt
	}{
		"free":                {[]string{"• answer", "", mark + "^\x1b[2mAsk Codex to do anything\x1b[0m", "", footer}, prompt{found: true}},
		"typed":               {[]string{"• answer", "", mark + "half typed^", "", footer}, prompt{found: true, text: "half typed"}},
		"cursor at home":      {[]string{mark + "^half typed", "", footer}, prompt{found: true, text: "half typed"}},
		"several lines":       {[]string{mark + "one", "  two^", "", footer}, prompt{found: true, text: "one\ntwo"}},
		"working":             {[]string{"• Working (1s • esc to interrupt)", "", mark + "^\x1b[2mExplain\x1b[0m", "", footer}, prompt{found: true, busy: true}},
		"starting":            {[]string{"  Waiting for startup · esc cancel", mark + "^\x1b[2mAsk\x1b[0m", "", footer}, prompt{found: true, busy: true}},
		"a menu":              {[]string{"  Meet the new model", "", "^› 1. Try new model", "  2. Use existing model", "  enter/esc confirm"}, prompt{}},
		"a menu, cursor in":   {[]string{"› 1. ^Try new model", "  2. Use existing model"}, prompt{}},
		"an old prompt above": {[]string{"› hello there", "", "• answer", "", mark + "^\x1b[2mAsk\x1b[0m", "", footer}, prompt{found: true}},
		"an editor":           {[]string{"one^", "~", "~"}, prompt{}},
		"cursor elsewhere":    {[]string{"^• answer", "", mark + "\x1b[2mAsk\x1b[0m"}, prompt{}},
		"nothing":             {nil, prompt{}},
	} {
		if got := readPrompt(view(test.lines...)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestOnlyTheLineItselfCountsAsTyped(t *testing.T) {
	for _, test := range []struct {
		shown, typed string
		want         bool
	}{
		{"/compact", "/compact", true},
		{"/compact\n/compact  summarize the conversation", "/compact", true}, // the menu of commands below it
		{"x/compact", "/compact", false},
		{"a long line that\nwas wrapped", "a long line that was wrapped", true},
		{"[Pasted Content 2000 chars]", "one\ntwo", true},
		{"mine [Pasted Content 2000 chars]", "one\ntwo", false},
	} {
		if got := showsTyped(test.shown, test.typed); got != test.want {
			t.Errorf("%q shown for %q: %v", test.shown, test.typed, got)
		}
	}
}

func FuzzReadPrompt(f *testing.F) {
	f.Add("\x1b[1m›\x1b[0m \x1b[2mAsk\n\n  gpt\n", 2, 0)
	f.Fuzz(func(_ *testing.T, text string, x, y int) {
		readPrompt(pane.View{Rows: pane.ParseScreen(text), CursorX: x, CursorY: y})
	})
}

package claude

import (
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/plugins/pane"
)

const rule = "\x1b[38;5;244m────────────────────────────\x1b[39m"

// view is a screen made by hand after a real one: what capture-pane -e writes.
func view(lines ...string) pane.View {
	return pane.View{Rows: pane.ParseScreen(strings.Join(lines, "\n") + "\n")}
}

func TestPromptIsReadFromTheScreen(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  prompt
	}{
		"empty":             {[]string{"● ok", rule, "❯\u00a0\x1b[7m \x1b[0m", rule, "  ? for shortcuts"}, prompt{found: true}},
		"empty, no cursor":  {[]string{rule, "❯", rule}, prompt{found: true}},
		"placeholder, dim":  {[]string{rule, "❯\u00a0\x1b[7mT\x1b[27m\x1b[2mry \"fix lint errors\"\x1b[22m", rule}, prompt{found: true}},
		"placeholder, grey": {[]string{rule, "❯\u00a0\x1b[38;5;246mgo on with the tests\x1b[39m", rule}, prompt{found: true}},
		"typed":             {[]string{rule, "❯\u00a0hello one\x1b[7m \x1b[0m", rule}, prompt{found: true, text: "hello one"}},
		"one letter":        {[]string{rule, "❯\u00a0x\x1b[7m \x1b[0m", rule}, prompt{found: true, text: "x"}},
		"cursor on the one": {[]string{rule, "❯\u00a0\x1b[7mx\x1b[0m", rule}, prompt{found: true, text: "x"}},
		"cursor at home":    {[]string{rule, "❯\u00a0\x1b[7mh\x1b[27mello", rule}, prompt{found: true, text: "hello"}},
		"several lines":     {[]string{rule, "❯\u00a0one", "  two", "  \x1b[7m \x1b[0m", rule}, prompt{found: true, text: "one\ntwo"}},
		"shell mode":        {[]string{rule, "!\u00a0\x1b[7m \x1b[0m", rule, "  ! for shell mode"}, prompt{found: true, text: "!"}},
		"permission dialog": {[]string{rule, " Bash command", " touch x", " Do you want to proceed?", " ❯ 1. Yes", "   2. No", " Esc to cancel"}, prompt{}},
		"menu below a rule": {[]string{rule, "❯ 1. Default", "  2. Opus"}, prompt{}},
		"an editor":         {[]string{"one", "two", "~", "~", `"x.go" 2L, 8B`}, prompt{}},
		"nothing":           {nil, prompt{}},
		"label in the rule": {[]string{"──────────────────── dev-impl ──", "❯\u00a0\x1b[7m \x1b[0m", rule}, prompt{found: true}},
		"echo above the box": {
			[]string{rule, "❯ an old prompt", rule, "● answer", rule, "❯\u00a0\x1b[7m \x1b[0m", rule},
			prompt{found: true},
		},
	} {
		if got := readPrompt(view(test.lines...)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestWhatACompactionPrintedIsFoundBelowIt(t *testing.T) {
	v := view(
		"❯ /compact old", "  ⎿  Compacted (ctrl+o to see full summary)", "❯ hello", "● ok",
		"❯ /compact keep the numbers", "  ⎿  Compaction blocked by PreCompact hook: [test -e x]: not", "     now", rule, "❯\u00a0", rule,
	)
	if got, want := echoed(v), "Compaction blocked by PreCompact hook: [test -e x]: not\nnow"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	typed := view("● ok", rule, "❯\u00a0/compact keep", rule)
	if got := echoed(typed); got != "" {
		t.Errorf("what is only typed passes for an echo: %q", got)
	}
}

func TestAnOlderCompactionsWordsArentThisOnes(t *testing.T) {
	older := []string{"❯ /compact keep", "  ⎿  Compaction blocked by PreCompact hook: [x]: not now"}
	waiting := view(append(older, rule, "❯\u00a0/compact keep", rule)...)
	before := echoPlace(waiting)
	if got := freshEcho(waiting, before); got != "" {
		t.Errorf("the line still stands in the box, and %q counts", got)
	}
	emptied := view(append(older, rule, "❯\u00a0", rule)...)
	if got := freshEcho(emptied, before); got != "" {
		t.Errorf("the box was emptied, nothing new was printed, and %q counts", got)
	}
	again := view(append(older, "❯ /compact keep", older[1], rule, "❯\u00a0", rule)...)
	if got := freshEcho(again, before); !strings.Contains(got, "blocked") {
		t.Errorf("the same words a second time: got %q", got)
	}
	taken := view(append(older, "❯ /compact keep", rule, "❯\u00a0", rule)...)
	if got := freshEcho(taken, before); got != "" {
		t.Errorf("nothing was printed below the new one, and %q counts", got)
	}
	ended := view(append(older, "❯ /compact keep", "  ⎿  Compacted (ctrl+o to see full summary)", rule, "❯\u00a0", rule)...)
	if got := freshEcho(ended, before); !strings.HasPrefix(got, "Compacted") {
		t.Errorf("got %q", got)
	}
}

func TestOnlyTheLineItselfCountsAsTyped(t *testing.T) {
	for _, test := range []struct {
		shown, typed string
		want         bool
	}{
		{"/compact keep", "/compact keep", true},
		{"/compact keep the\nnumbers", "/compact keep the numbers", true},
		{"x/compact keep", "/compact keep", false},
		{"/compact kee", "/compact keep", false},
		{"", "/compact", false},
		{"[Pasted text #1 +12 lines]", "one\ntwo", true},
		{"mine [Pasted text #1 +12 lines]", "one\ntwo", false},
		{"[Pasted text #1 +12 lines][Pasted text #2 +3 lines]", "one\ntwo", false},
	} {
		if got := showsTyped(test.shown, test.typed); got != test.want {
			t.Errorf("%q shown for %q: %v", test.shown, test.typed, got)
		}
	}
}

func FuzzReadPrompt(f *testing.F) {
	f.Add(rule + "\n❯\u00a0\x1b[7m \x1b[0m\n" + rule + "\n")
	f.Fuzz(func(_ *testing.T, text string) {
		v := pane.View{Rows: pane.ParseScreen(text)}
		readPrompt(v)
		echoed(v)
	})
}

package packet

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever comes in: within the bound, whole runes, nothing hidden.
func FuzzTexts(f *testing.F) {
	f.Add("the basket 🧺 of the shop", 12)
	f.Add("“a” \u202e\x1b[2J\r\n b\u2028c", 9)
	f.Add("password=[REDACTED] and [LEFT OUT]", 15)
	f.Add("\xff\xfe[…", 3)
	f.Add("## 12. user x\n\\## 3. y\n### Compaction boundary z", 1000)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n > 1<<16 {
			return
		}
		if got := clip(s, n); len(got) > n || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("clip: %q", got)
		}
		if got := quote(s, n); len(got) > max(n, 6) || strings.Count(got, "“") != 1 || strings.Count(got, "”") != 1 {
			t.Errorf("quote: %q", got)
		}
		if got, left := limit(s, n); (left > 0) != (len(s) > n) || len(got) > max(n, 60) || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("limit: %q, %d left", got, left)
		}
		for _, r := range line(s) {
			if hidden(r) {
				t.Errorf("line: %U", r)
			}
		}
		if got := line(s); strings.Contains(got, "  ") || got != line(got) {
			t.Errorf("line: %q", got)
		}
		if got := shown(s); strings.ContainsFunc(got, hidden) {
			t.Errorf("shown: %q", got)
		}
		for l := range strings.SplitSeq(escapeHeads(s), "\n") {
			if isHead(l) {
				t.Errorf("a head: %q", l)
			}
		}
		if got := withoutTornWord(s); len(got) > len(s) {
			t.Errorf("torn word: %q", got)
		}
	})
}

func TestClipKeepsMarkersWhole(t *testing.T) {
	const s = "password=[REDACTED] and more"
	for n := range len(s) {
		if got := clip(s, n); strings.Contains(got, "[R") && !strings.Contains(got, "[REDACTED]") {
			t.Errorf("%d: %q", n, got)
		}
	}
	if got := clip("abc [x] defghijk", 12); got != "abc [x] d…" && got != "abc [x] def…" {
		t.Errorf("got %q", got)
	}
}

// Escaping is undone by taking one backslash away: no line is lost or changed
// otherwise.
func TestEscapedHeadsCanBeReadBack(t *testing.T) {
	const text = "## 1. user\n\\## 2. x\n\\\\## 3. y\n### Compaction boundary\nplain\n\\plain"
	back := strings.Split(escapeHeads(text), "\n")
	for i, l := range back {
		if rest, ok := strings.CutPrefix(l, `\`); ok && isHead(strings.TrimLeft(rest, `\`)) {
			back[i] = rest
		}
	}
	if got := strings.Join(back, "\n"); got != text {
		t.Errorf("got %q", got)
	}
}

// FuzzBlock: the short way says what the long one says.
func FuzzBlock(f *testing.F) {
	for _, s := range []string{"", "a\r\nb\tc", "a\rb", "\x00", "\x7f", "\xff", "Größe 中文 🙂", "a\u200bb\u200d\u2028", "\u202e", "\u0085"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := strings.Map(func(r rune) rune {
			if r != '\n' && r != '\t' && hidden(r) {
				return -1
			}
			return r
		}, strings.ReplaceAll(s, "\r\n", "\n"))
		if got := block(s); got != want {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	})
}

package packet

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// clip is at most n bytes of s: whole runes, and a visible mark where something
// is missing. Below the mark's own three bytes there is nothing.
func clip(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	if n < len(mark) {
		return ""
	}
	n = edge(s, n-len(mark))
	return strings.TrimRight(s[:n], " \n\u200d") + mark
}

// edge is where s may be cut, at or before n: between runes, and not inside a
// "[REDACTED]", whose half would look like a secret again.
func edge(s string, n int) int {
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	const longest = len("[LEFT OUT]")
	near := s[max(n-longest, 0):n]
	if open := strings.LastIndexByte(near, '['); open > strings.LastIndexByte(near, ']') {
		return n - len(near) + open
	}
	return n
}

// limit is clip for texts that are kept as such: it also says how many bytes
// were left out, in the text and as a number.
func limit(s string, n int) (string, int64) {
	if len(s) <= n {
		return s, 0
	}
	keep := edge(s, n-markRoom)
	left := int64(len(s) - keep)
	return s[:keep] + leftOut(left), left
}

// markRoom is kept free for leftOut, in bytes.
const markRoom = 40

// leftOut says in a text that n bytes of it are missing.
func leftOut(n int64) string { return fmt.Sprintf("\n[… %d bytes left out]", n) }

// hidden reports whether a rune acts on a reader without being seen: control
// characters, directions, tags and the like. The joiners that hold emoji and
// some scripts together stay.
func hidden(r rune) bool {
	switch r {
	case '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// block is a text of several lines without anything hidden.
func block(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if overt(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && hidden(r) {
			return -1
		}
		return r
	}, s)
}

// overt reports whether block has nothing to take out of a text, as of nearly
// every one; ASCII is told without a look at the tables.
func overt(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) {
			return false
		}
		i += n
	}
	return true
}

// line is a text in one line without anything hidden.
func line(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) || r == '\u2028' || r == '\u2029' {
			space = b.Len() > 0
			continue
		}
		if hidden(r) {
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// quote marks words as somebody's: one line, at most n bytes with its marks,
// and no mark inside that could end the quotation early.
func quote(s string, n int) string {
	const open, end = "“", "”"
	s = strings.NewReplacer(open, "\"", end, "\"").Replace(line(s))
	return open + clip(s, max(n-len(open)-len(end), 0)) + end
}

// moment is a time for a person and a model: UTC, to the second.
func moment(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// span is a duration in its largest whole unit: "3 days".
func span(d time.Duration) string {
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if n := int64(d / unit.of); n >= 1 {
			return count(n, unit.name)
		}
	}
	return "less than a second"
}

// count is a number with its noun: "1 file", "2 files".
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// joined is as many whole items as fit into n bytes, and how many didn't.
func joined(items []string, sep string, n int) (string, int) {
	var b strings.Builder
	for i, item := range items {
		// Room for saying that there are more, unless this is the last.
		need, reserve := len(item), 0
		if b.Len() > 0 {
			need += len(sep)
		}
		if i < len(items)-1 {
			reserve = len(sep) + len("and 99999 more")
		}
		if b.Len()+need+reserve > n {
			return more(b.String(), sep, len(items)-i), len(items) - i
		}
		if b.Len() > 0 {
			b.WriteString(sep)
		}
		b.WriteString(item)
	}
	return b.String(), 0
}

func more(s, sep string, n int) string {
	if s == "" {
		return fmt.Sprintf("%d in all", n)
	}
	return fmt.Sprintf("%s%sand %d more", s, sep, n)
}

// shown is a path as it is, or quoted as Go does where printing it would do more
// than show it.
func shown(path string) string {
	if strings.ContainsFunc(path, hidden) || !utf8.ValidString(path) {
		return strconv.Quote(path)
	}
	return path
}

// cutMark begins the mark that a cut leaves in a text, the reader's and ours.
const cutMark = "[…"

// withoutMark is a text that a reader cut, without the mark that it left.
func withoutMark(s string) string {
	if i := strings.LastIndex(s, " "+cutMark); i >= 0 && strings.HasSuffix(s, " bytes left out]") {
		return s[:i]
	}
	return s
}

// withoutTornWord takes the letters off a text that touch the mark of a cut: a
// secret that was cut in two no longer looks like one, and half of it would
// stay.
func withoutTornWord(s string) string {
	i := strings.LastIndex(s, cutMark)
	if i < 0 {
		i = len(s)
	}
	head, tail := strings.TrimRight(s[:i], " \t\n"), s[i:]
	gap := s[len(head):i]
	j := len(head)
	for j > 0 && head[j-1] > ' ' && head[j-1] < utf8.RuneSelf {
		j--
	}
	if end := strings.IndexByte(tail, ']'); end >= 0 {
		k := end + 1
		for k < len(tail) && (tail[k] == ' ' || tail[k] == '\n') {
			k++
		}
		rest := k
		for rest < len(tail) && tail[rest] > ' ' && tail[rest] < utf8.RuneSelf {
			rest++
		}
		tail = tail[:k] + tail[rest:]
	}
	return head[:j] + gap + tail
}

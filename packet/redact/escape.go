package redact

import (
	"sort"
	"unicode/utf8"
)

// levels is how deep escapes are resolved: a tool's argument is a JSON string
// inside a JSON line, and what it quotes may be JSON once more.
const levels = 3

// view is a text with its escapes resolved and the way back to the source.
type view struct {
	text  string
	under *view  // the text these escapes stood in; nil: this is the source
	marks []mark // ascending
}

// mark notes that a byte of a view and a byte of the text under it are the same
// place. There is one for every few hundred bytes; what lies between is decoded
// again when it is asked for.
type mark struct{ at, under int }

const markEvery = 512

// unescape resolves one more level: the escapes of JSON and of most languages'
// strings, percent encoding and the entities of XML.
func (v *view) unescape() *view {
	next := &view{under: v}
	src := v.text
	out := make([]byte, 0, len(src))
	for i := 0; i < len(src); {
		if n := len(next.marks); n == 0 || len(out)-next.marks[n-1].at >= markEvery {
			next.marks = append(next.marks, mark{len(out), i})
		}
		if to := plainEnd(src, i, markEvery); to > i {
			out = append(out, src[i:to]...)
			i = to
			continue
		}
		n := 0
		out, n = appendUnit(out, src[i:])
		i += n
	}
	next.text = string(out)
	return next
}

// plainEnd is the end of the text without the sign of an escape that s has from
// i on, looking at no more than limit bytes.
func plainEnd(s string, i, limit int) int {
	for end := min(len(s), i+limit); i < end && s[i] != '\\' && s[i] != '%' && s[i] != '&'; {
		i++
	}
	return i
}

// appendUnit appends what s begins with, a byte or an escape resolved, and
// returns how long it was.
func appendUnit(out []byte, s string) ([]byte, int) {
	c := s[0]
	if c != '\\' && c != '%' && c != '&' {
		return append(out, c), 1
	}
	r, n := decodeEscape(s)
	switch {
	case n == 0:
		return append(out, c), 1
	case c == '%':
		return append(out, byte(r)), n // percent encoding is of bytes
	}
	return utf8.AppendRune(out, r), n
}

// source maps a span of the view to the span of the source that it came from.
// An escape belongs to the span whole or not at all.
func (v *view) source(start, end int) (int, int) {
	for u := v; u.under != nil; u = u.under {
		start, end = u.back(start, false), u.back(end, true)
	}
	return start, end
}

// back maps one offset of the view to the text under it: to the beginning of
// the byte or escape that it lies in or, for the end of a span, behind it.
func (v *view) back(at int, end bool) int {
	n := sort.Search(len(v.marks), func(i int) bool { return v.marks[i].at > at })
	if n == 0 {
		return 0
	}
	m := v.marks[n-1]
	var unit [utf8.UTFMax]byte
	for m.at < at {
		out, used := appendUnit(unit[:0], v.under.text[m.under:])
		if m.at+len(out) > at && !end {
			break
		}
		m.at, m.under = m.at+len(out), m.under+used
	}
	return m.under
}

// decodeEscape reads the escape that s begins with. n is its length, 0 if s
// begins with none.
func decodeEscape(s string) (r rune, n int) {
	if len(s) < 2 {
		return 0, 0
	}
	switch s[0] {
	case '\\':
		return decodeBackslash(s)
	case '%':
		if v, ok := hexDigits(s[1:], 2); ok && v >= ' ' { // "%02d" is no encoding
			return v, 3
		}
	case '&':
		for _, e := range entities {
			if len(s) >= len(e.name) && s[:len(e.name)] == e.name {
				return e.r, len(e.name)
			}
		}
	}
	return 0, 0
}

var entities = [...]struct {
	name string
	r    rune
}{{"&quot;", '"'}, {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&#39;", '\''}, {"&apos;", '\''}}

func decodeBackslash(s string) (r rune, n int) {
	switch s[1] {
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case '"', '\\', '/', '\'', '`':
		return rune(s[1]), 2
	case 'u':
		if v, ok := hexDigits(s[2:], 4); ok {
			return v, 6 // half of a surrogate pair becomes U+FFFD: nothing that is looked for
		}
	case 'x':
		if v, ok := hexDigits(s[2:], 2); ok {
			return v, 4
		}
	}
	return 0, 0
}

func hexDigits(s string, n int) (rune, bool) {
	if len(s) < n {
		return 0, false
	}
	var v rune
	for i := range n {
		c := s[i]
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			v = v<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

package transcript

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A transcript's line is scanned in place: no value is copied or decoded before
// it is known to matter, and a body that can't matter costs one search for the
// next quote. A raw value is the slice of the line that holds it, white space
// around it gone; a raw string keeps its quotes and escapes.

// maxNesting bounds the depth of a value that this scanner walks through.
const maxNesting = 512

// skipValue returns the index behind the value that starts at b[i], or -1 if
// there is no whole value. It checks what framing needs (quotes, brackets and
// their kinds), not the spelling of numbers.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '{' || c == '[':
		return skipNested(b, i)
	case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
		for i < len(b) && !ends[b[i]] {
			i++
		}
		return i
	}
	return -1
}

// ends marks the bytes that end a number or a literal.
var ends = [256]bool{',': true, '}': true, ']': true, ':': true, ' ': true, '\t': true, '\n': true, '\r': true, '"': true, '{': true, '[': true}

// skipString returns the index behind the string whose opening quote is b[i],
// or -1 if it doesn't end.
func skipString(b []byte, i int) int {
	i++
	for {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		i += q + 1
		if !escaped(b, i-1) {
			return i
		}
	}
}

// escaped reports whether an odd number of backslashes stands before b[i].
func escaped(b []byte, i int) bool {
	n := 0
	for i--; i >= 0 && b[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

// skipNested skips an object or array. The kinds of the open brackets are kept
// as bits, so that a mismatch is found without a stack.
func skipNested(b []byte, i int) int {
	var kinds [maxNesting / 64]uint64
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if i < 0 {
				return -1
			}
			continue
		case '{', '[':
			if depth == maxNesting {
				return -1
			}
			bit := uint64(1) << (depth % 64)
			if b[i] == '{' {
				kinds[depth/64] |= bit
			} else {
				kinds[depth/64] &^= bit
			}
			depth++
		case '}', ']':
			depth--
			if (kinds[depth/64]>>(depth%64)&1 == 1) != (b[i] == '}') {
				return -1
			}
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// fields walks the members of an object or the elements of an array:
//
//	for f := members(raw); f.next(); {
//		switch string(f.key) {
type fields struct {
	b     []byte
	i     int
	close byte // '}' or ']'; 0 when over
	key   []byte
	val   []byte
	whole bool // the closing bracket was reached
}

// members walks an object's members; on another kind of value there are none.
func members(raw []byte) fields { return begin(raw, '{', '}') }

// elements walks an array's elements; on another kind of value there are none.
func elements(raw []byte) fields { return begin(raw, '[', ']') }

func begin(raw []byte, open, close byte) fields {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != open {
		return fields{}
	}
	return fields{b: raw, i: i + 1, close: close}
}

// next moves to the next member or element. A trailing comma is accepted.
func (f *fields) next() bool {
	if f.close == 0 {
		return false
	}
	i := skipSpace(f.b, f.i)
	if i < len(f.b) && f.b[i] == ',' {
		i = skipSpace(f.b, i+1)
	}
	if i < len(f.b) && f.b[i] == f.close {
		f.i, f.close, f.whole = i+1, 0, true
		return false
	}
	if f.close == '}' {
		if i >= len(f.b) || f.b[i] != '"' {
			return f.fail()
		}
		end := skipString(f.b, i)
		if end < 0 {
			return f.fail()
		}
		f.key = f.b[i+1 : end-1]
		if bytes.IndexByte(f.key, '\\') >= 0 {
			f.key = unquote(f.b[i:end])
		}
		i = skipSpace(f.b, end)
		if i >= len(f.b) || f.b[i] != ':' {
			return f.fail()
		}
		i = skipSpace(f.b, i+1)
	}
	end := skipValue(f.b, i)
	if end < 0 {
		return f.fail()
	}
	f.val, f.i = f.b[i:end], end
	return true
}

func (f *fields) fail() bool {
	f.close, f.key, f.val = 0, nil, nil
	return false
}

// member returns an object's member, nil if it has none of that name.
func member(raw []byte, name string) []byte {
	for f := members(raw); f.next(); {
		if string(f.key) == name {
			return f.val
		}
	}
	return nil
}

// at follows names through nested objects.
func at(raw []byte, names ...string) []byte {
	for _, name := range names {
		raw = member(raw, name)
	}
	return raw
}

func isString(raw []byte) bool { return len(raw) >= 2 && raw[0] == '"' }
func isNull(raw []byte) bool   { return string(raw) == "null" }
func isTrue(raw []byte) bool   { return string(raw) == "true" }

// plain returns a raw string's bytes as they stand between the quotes: enough to
// compare with a word that needs no escape. nil if it isn't a string.
func plain(raw []byte) []byte {
	if !isString(raw) {
		return nil
	}
	return raw[1 : len(raw)-1]
}

// is reports whether a raw value is the string s, which needs no escape.
func is(raw []byte, s string) bool {
	return len(raw) == len(s)+2 && raw[0] == '"' && string(raw[1:len(raw)-1]) == s
}

// str decodes a raw string; "" if it isn't one.
func str(raw []byte) string { return string(unquote(raw)) }

// short decodes a raw string of at most limit bytes, cut on a rune boundary
// without a mark: for names, ids and paths, which have no business being longer.
func short(raw []byte, limit int) string {
	t := textOf(limit)
	t.mark = false
	t.add(raw, 0)
	return t.String()
}

// integer reads a raw number, or a string that holds one; 0 if it is neither.
func integer(raw []byte) int64 {
	if isString(raw) {
		raw = raw[1 : len(raw)-1]
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.Abs(f) > 1<<53 || f != f {
		return 0
	}
	return int64(f)
}

// unquote decodes a raw string whole. Lone surrogates and invalid UTF-8 become
// U+FFFD. The result may share the line's memory.
func unquote(raw []byte) []byte {
	in := plain(raw)
	if in == nil {
		return nil
	}
	if bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		return in
	}
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		var n int
		out, n = appendRune(out, in)
		in = in[n:]
	}
	return out
}

// appendRune decodes the first rune of the inside of a raw string and returns
// how many bytes of it that took.
func appendRune(dst, in []byte) ([]byte, int) {
	c := in[0]
	if c != '\\' {
		if c < utf8.RuneSelf {
			return append(dst, c), 1
		}
		r, n := utf8.DecodeRune(in)
		return utf8.AppendRune(dst, r), n
	}
	if len(in) < 2 {
		return utf8.AppendRune(dst, utf8.RuneError), len(in)
	}
	switch in[1] {
	case 'n':
		return append(dst, '\n'), 2
	case 't':
		return append(dst, '\t'), 2
	case 'r':
		return append(dst, '\r'), 2
	case 'b':
		return append(dst, '\b'), 2
	case 'f':
		return append(dst, '\f'), 2
	case 'u':
		return appendEscape(dst, in)
	case '"', '\\', '/':
		return append(dst, in[1]), 2
	}
	return utf8.AppendRune(dst, utf8.RuneError), 2
}

// appendEscape decodes a \u escape, with its second half where it is a pair.
func appendEscape(dst, in []byte) ([]byte, int) {
	r, ok := hex4(in)
	if !ok {
		return utf8.AppendRune(dst, utf8.RuneError), 2
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r), 6
	}
	if low, ok := hex4(in[6:]); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), 12
		}
	}
	return utf8.AppendRune(dst, utf8.RuneError), 6
}

// hex4 reads a \uXXXX at the start of in.
func hex4(in []byte) (rune, bool) {
	if len(in) < 6 || in[0] != '\\' || in[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range in[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

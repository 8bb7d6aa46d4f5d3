package transcript

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// markRoom is kept free for the mark of a cut: its words and a 64-bit number.
const markRoom = 48

// The mark of a cut stands around the number of bytes that are missing.
const (
	cutBegin = " […"
	cutEnd   = " bytes left out]"
)

// text collects the decoded words of one message up to a limit and counts what
// doesn't fit.
type text struct {
	buf   []byte
	limit int
	cut   int64
	mark  bool // say in the text that it was cut
}

func textOf(limit int) text { return text{limit: limit, mark: limit > 2*markRoom} }

// add appends a raw JSON string, decoded; missing is how many of its bytes were
// left out before it came here (see shrink).
func (t *text) add(raw []byte, missing int64) {
	t.decode(plain(raw))
	t.cut += missing
}

// decode appends the inside of a raw string.
func (t *text) decode(in []byte) {
	var scratch [16]byte
	for len(in) > 0 {
		n := bytes.IndexByte(in, '\\')
		if n < 0 {
			n = len(in)
		}
		if n == 0 {
			var r []byte
			r, n = appendRune(scratch[:0], in)
			t.put(r)
		} else {
			t.run(in[:n])
		}
		in = in[n:]
	}
}

// run appends bytes without escapes.
func (t *text) run(in []byte) {
	if !utf8.Valid(in) {
		in = replaceInvalid(in)
	}
	n := min(len(in), max(0, t.limit-len(t.buf)))
	if t.cut > 0 {
		n = 0
	}
	for n > 0 && n < len(in) && !utf8.RuneStart(in[n]) {
		n--
	}
	t.buf = append(t.buf, in[:n]...)
	t.cut += int64(len(in) - n)
}

// put appends one rune's bytes, or counts them: behind the first that doesn't
// fit nothing does.
func (t *text) put(r []byte) {
	if t.cut > 0 || len(t.buf)+len(r) > t.limit {
		t.cut += int64(len(r))
		return
	}
	t.buf = append(t.buf, r...)
}

// replaceInvalid puts U+FFFD in the place of each byte that is no UTF-8.
func replaceInvalid(in []byte) []byte {
	out := make([]byte, 0, len(in)+2*utf8.UTFMax)
	for len(in) > 0 {
		r, n := utf8.DecodeRune(in)
		out = utf8.AppendRune(out, r)
		in = in[n:]
	}
	return out
}

// part begins another part of the message on a line of its own.
func (t *text) part() {
	if !t.empty() {
		t.write("\n")
	}
}

// pictures appends what stands for images, behind the words that came with them.
func (t *text) pictures(words []string) {
	for _, w := range words {
		t.part()
		t.write(w)
	}
}

// write appends words of ours.
func (t *text) write(s string) { t.run([]byte(s)) }

// untorn drops the word that a cut tore, and the mark behind it.
func untorn(words string) string {
	if !strings.HasSuffix(words, cutEnd) {
		return words
	}
	i := max(strings.LastIndex(words, cutBegin), 0)
	return words[:strings.LastIndexAny(words[:i], " \t\n")+1]
}

func (t *text) empty() bool { return len(t.buf) == 0 && t.cut == 0 }

// String returns the text, at most limit bytes of valid UTF-8. Where something
// is missing it ends with how much.
func (t *text) String() string {
	if t.cut == 0 || !t.mark {
		return string(t.buf)
	}
	t.trim(t.limit - markRoom)
	return string(t.buf) + cutBegin + strconv.FormatInt(t.cut, 10) + cutEnd
}

// trim shortens the text to n bytes, on a rune boundary.
func (t *text) trim(n int) {
	if len(t.buf) <= n {
		return
	}
	for n > 0 && !utf8.RuneStart(t.buf[n]) {
		n--
	}
	t.cut += int64(len(t.buf) - n)
	t.buf = t.buf[:n]
}

// tail decodes the last limit bytes of a raw string: the end of an output is what
// tells. missing is as for text.add: an end that wasn't read ends with the last
// line that was, so that no word is torn.
func tail(raw []byte, limit int, missing int64) string {
	in := plain(raw)
	out := decodeFrom(in, len(in)-2*limit)
	if len(out) < limit { // more escapes than usual
		out = decodeFrom(in, len(in)-longestEscape*limit)
	}
	if missing > 0 {
		out = out[:bytes.LastIndexByte(out, '\n')+1]
	}
	return string(lastRunes(out, limit))
}

// decodeFrom decodes the inside of a raw string from start or a little behind it.
func decodeFrom(in []byte, start int) []byte {
	if start > 0 {
		in = in[aligned(in, start):]
	}
	t := text{buf: make([]byte, 0, len(in)), limit: 3 * len(in)} // a bad byte takes three
	t.decode(in)
	return t.buf
}

// aligned finds an index at or behind start that is neither inside an escape nor
// inside a rune.
func aligned(in []byte, start int) int {
	for i := start; i < len(in); i++ {
		if utf8.RuneStart(in[i]) && bytes.IndexByte(in[max(0, i-12):i], '\\') < 0 {
			return i
		}
	}
	return 0
}

func lastRunes(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	b = b[len(b)-limit:]
	for len(b) > 0 && !utf8.RuneStart(b[0]) {
		b = b[1:]
	}
	return b
}

package transcript

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// shrink.go makes a line of any length small enough to scan: a copy in which
// long strings are cut and, once the copy is full, nested members are left out,
// while the line's own members (type, id, time, flags) are kept. Memory is the
// copy and one block, whatever the line's length.

// cut says that a string of a shrunk line is missing bytes of its raw form.
type cut struct {
	at      int // index of the string's opening quote in the copy
	missing int64
}

// shrunk is the small copy of a long line.
type shrunk struct {
	b    []byte
	cuts []cut
}

// missing returns how many bytes a raw string of the copy lost. raw must be a
// slice of the copy.
func (s *shrunk) missing(raw []byte) int64 {
	if s == nil || len(s.cuts) == 0 || len(raw) == 0 {
		return 0
	}
	at := cap(s.b) - cap(raw)
	for _, c := range s.cuts {
		if c.at == at {
			return c.missing
		}
	}
	return 0
}

// shrinker is a recursive-descent copier over a stream. Every method returns
// false when the line isn't JSON.
type shrinker struct {
	src   *source
	buf   []byte
	pos   int   // next byte in buf
	off   int64 // file offset behind buf
	to    int64 // end of the line
	out   shrunk
	keep  int // raw bytes of a string that are kept
	limit int // of the copy; beyond it nested members are dropped
	mute  int // over 0: copy nothing
	err   error
}

// keepNesting is the depth up to which members are copied when the copy is full:
// a line's own members, and those of its message, item or payload.
const keepNesting = 2

// shrink copies the line [off, off+n). ok is false if it isn't a JSON object.
func (s *source) shrink(off, n int64, keep, limit int) (small *shrunk, ok bool, err error) {
	z := &shrinker{src: s, off: off, to: off + n, keep: keep, limit: limit, buf: make([]byte, 0, block/4)}
	ok = z.object(0) && z.rest()
	return &z.out, ok && z.err == nil, z.err
}

// peek returns the next byte that isn't white space, 0 at the end.
func (z *shrinker) peek() byte {
	for {
		for ; z.pos < len(z.buf); z.pos++ {
			if c := z.buf[z.pos]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				return c
			}
		}
		if !z.fill() {
			return 0
		}
	}
}

// rest reports whether nothing but white space is left.
func (z *shrinker) rest() bool { return z.peek() == 0 }

func (z *shrinker) fill() bool {
	want := min(int64(cap(z.buf)), z.to-z.off)
	if want <= 0 || z.err != nil {
		return false
	}
	n, err := z.src.read(z.buf[:want], z.off)
	z.buf, z.pos, z.off, z.err = z.buf[:n], 0, z.off+int64(n), err
	return n > 0 && err == nil
}

func (z *shrinker) emit(c ...byte) {
	if z.mute == 0 {
		z.out.b = append(z.out.b, c...)
	}
}

// take consumes the byte that peek returned.
func (z *shrinker) take(c byte) bool {
	if z.peek() != c {
		return false
	}
	z.pos++
	z.emit(c)
	return true
}

// full reports whether a member at this depth is left out of the copy.
func (z *shrinker) full(depth int) bool {
	n := len(z.out.b)
	return n > z.limit && depth > keepNesting || n > 2*z.limit
}

func (z *shrinker) value(depth int) bool {
	switch c := z.peek(); {
	case c == '"':
		return z.str()
	case c == '{':
		return depth < maxNesting && z.object(depth)
	case c == '[':
		return depth < maxNesting && z.array(depth)
	case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
		return z.word()
	}
	return false
}

func (z *shrinker) object(depth int) bool {
	if !z.take('{') {
		return false
	}
	for first := true; ; first = false {
		if z.peek() == '}' {
			return z.take('}')
		}
		if !first && !z.comma() {
			return false
		}
		drop := z.full(depth + 1)
		if drop {
			z.mute++
		} else if !first {
			z.emit(',')
		}
		ok := z.peek() == '"' && z.str() && z.take(':') && z.value(depth+1)
		if drop {
			z.mute--
		}
		if !ok {
			return false
		}
	}
}

func (z *shrinker) array(depth int) bool {
	if !z.take('[') {
		return false
	}
	for first := true; ; first = false {
		if z.peek() == ']' {
			return z.take(']')
		}
		if !first && !z.comma() {
			return false
		}
		drop := z.full(depth + 1)
		if drop {
			z.mute++
		} else if !first {
			z.emit(',')
		}
		ok := z.value(depth + 1)
		if drop {
			z.mute--
		}
		if !ok {
			return false
		}
	}
}

// comma consumes a comma without copying it.
func (z *shrinker) comma() bool {
	if z.peek() != ',' {
		return false
	}
	z.pos++
	return true
}

// word copies a number or a literal. One that is too long to be either is null.
func (z *shrinker) word() bool {
	var w [64]byte
	n := 0
	for {
		for ; z.pos < len(z.buf) && !ends[z.buf[z.pos]]; z.pos++ {
			if n < len(w) {
				w[n] = z.buf[z.pos]
			}
			n++
		}
		if z.pos < len(z.buf) || !z.fill() {
			break
		}
	}
	if n > len(w) {
		n = copy(w[:], "null")
	}
	z.emit(w[:n]...)
	return z.err == nil
}

// str copies a string's first keep raw bytes, up to a whole rune, and finds its
// end.
func (z *shrinker) str() bool {
	start := len(z.out.b)
	z.pos++
	z.emit('"')
	closed, ok := z.head()
	if ok && !closed {
		var missing int64
		missing, ok = z.skipString()
		if z.mute == 0 {
			whole := wholeRunes(z.out.b, start+1)
			missing += int64(len(z.out.b) - len(whole))
			z.out.b = whole
			z.out.cuts = append(z.out.cuts, cut{at: start, missing: missing})
		}
	}
	z.emit('"')
	return ok
}

// head copies a string's inside until its closing quote (closed) or until keep
// bytes are copied and no escape is open. What holds neither a quote nor an
// escape is copied at once.
func (z *shrinker) head() (closed, ok bool) {
	slash, hex := false, 0
	for copied := 0; ; copied++ {
		if z.pos == len(z.buf) && !z.fill() {
			return false, false
		}
		if !slash && hex == 0 {
			n := plainRun(z.buf[z.pos:min(len(z.buf), z.pos+max(0, z.keep-copied))])
			z.emit(z.buf[z.pos : z.pos+n]...)
			z.pos += n
			copied += n
			if z.pos == len(z.buf) && !z.fill() {
				return false, false
			}
		}
		c := z.buf[z.pos]
		switch {
		case slash:
			slash = false
			if c == 'u' {
				hex = 4
			}
		case c == '"':
			z.pos++
			return true, true
		case hex > 0:
			hex--
		case copied >= z.keep:
			return false, true
		case c == '\\':
			slash = true
		}
		z.pos++
		z.emit(c)
	}
}

// plainRun counts the bytes before the first quote or backslash.
func plainRun(b []byte) int {
	for i, c := range b {
		if c == '"' || c == '\\' {
			return i
		}
	}
	return len(b)
}

// skipString finds the closing quote and counts the bytes before it.
func (z *shrinker) skipString() (missing int64, ok bool) {
	slashes := 0 // how many end what was passed
	for {
		rest := z.buf[z.pos:]
		i := bytes.IndexByte(rest, '"')
		n := i
		if i < 0 {
			n = len(rest)
		}
		run := len(rest[:n]) - len(bytes.TrimRight(rest[:n], "\\"))
		if run == n {
			run += slashes
		}
		missing += int64(n)
		if i >= 0 {
			z.pos += i + 1
			if run%2 == 0 {
				return missing, true
			}
			missing++ // an escaped quote
			slashes = 0
			continue
		}
		slashes = run
		z.pos = len(z.buf)
		if !z.fill() {
			return 0, false
		}
	}
}

// wholeRunes drops what a cut left of a rune or of a surrogate pair at the end of
// a string's inside that starts at from.
func wholeRunes(b []byte, from int) []byte {
	if n := len(b); n-from >= 6 {
		if r, ok := hex4(b[n-6:]); ok && utf16.IsSurrogate(r) && r < 0xDC00 && !escaped(b[:n-6], n-6) {
			return b[:n-6]
		}
	}
	for n := 1; n < utf8.UTFMax && len(b)-n >= from; n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

package config

import "strings"

// keyLines finds on which line each table and key of a TOML document stands
// first, by the joined path. The document was parsed before, so that only what
// is needed to step over its values is known here; of one that isn't TOML the
// result is of no use, and harmless.
func keyLines(doc string) map[string]int {
	w := &lineWalker{s: doc, line: 1, at: map[string]int{}}
	var table []string
	for w.skipSpace(true); w.i < len(w.s); w.skipSpace(true) {
		if w.s[w.i] == '[' {
			for w.i < len(w.s) && w.s[w.i] == '[' {
				w.i++
			}
			table = w.key(nil)
			w.note(table)
			w.skipLine()
			continue
		}
		before := w.i
		w.pair(table)
		if w.i == before {
			w.step()
		}
	}
	return w.at
}

// joined makes one map key of a path; no name holds a NUL.
func joined(path []string) string { return strings.Join(path, "\x00") }

type lineWalker struct {
	s    string
	i    int
	line int
	at   map[string]int
}

func (w *lineWalker) note(path []string) {
	for n := 1; n <= len(path); n++ {
		if _, ok := w.at[joined(path[:n])]; !ok {
			w.at[joined(path[:n])] = w.line
		}
	}
}

func (w *lineWalker) step() {
	if w.s[w.i] == '\n' {
		w.line++
	}
	w.i++
}

// skipSpace passes over blanks and, with lines, over line ends and comments.
func (w *lineWalker) skipSpace(lines bool) {
	for w.i < len(w.s) {
		switch c := w.s[w.i]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			w.step()
		case c == '#' && lines:
			w.skipLine()
		default:
			return
		}
	}
}

func (w *lineWalker) skipLine() {
	for w.i < len(w.s) && w.s[w.i] != '\n' {
		w.i++
	}
}

// pair reads a key and steps over its value.
func (w *lineWalker) pair(table []string) {
	path := w.key(table)
	if len(path) == len(table) {
		return
	}
	w.note(path)
	w.skipSpace(false)
	if w.i < len(w.s) && w.s[w.i] == '=' {
		w.i++
		w.value(path, 0)
	}
}

// key reads a dotted key and returns it behind prefix.
func (w *lineWalker) key(prefix []string) []string {
	path := append([]string(nil), prefix...)
	for w.i < len(w.s) {
		w.skipSpace(false)
		if w.i == len(w.s) {
			break
		}
		start := w.i
		switch c := w.s[w.i]; c {
		case '"', '\'':
			text := w.text()
			path = append(path, text)
		default:
			for w.i < len(w.s) && strings.IndexByte(" \t\r\n.=[]{}\"',#", w.s[w.i]) < 0 {
				w.i++
			}
			if w.i == start {
				return path
			}
			path = append(path, w.s[start:w.i])
		}
		w.skipSpace(false)
		if w.i == len(w.s) || w.s[w.i] != '.' {
			break
		}
		w.i++
	}
	return path
}

// maxNesting is how deep values are stepped into; what is deeper is passed over
// as it comes.
const maxNesting = 64

func (w *lineWalker) value(path []string, depth int) {
	w.skipSpace(false)
	if w.i == len(w.s) {
		return
	}
	switch c := w.s[w.i]; {
	case c == '"' || c == '\'':
		w.text()
	case (c == '[' || c == '{') && depth < maxNesting:
		w.nested(path, c, depth)
	default:
		for w.i < len(w.s) && strings.IndexByte(",]}\n#", w.s[w.i]) < 0 {
			w.i++
		}
	}
}

// nested steps over an array or an inline table, whose keys are noted.
func (w *lineWalker) nested(path []string, open byte, depth int) {
	w.i++
	for {
		w.skipSpace(true)
		if w.i == len(w.s) {
			return
		}
		before := w.i
		switch c := w.s[w.i]; {
		case c == ']' || c == '}':
			w.i++
			return
		case c == ',':
			w.i++
		case open == '{':
			inner := w.key(path)
			w.note(inner)
			w.skipSpace(false)
			if w.i < len(w.s) && w.s[w.i] == '=' {
				w.i++
				w.value(inner, depth+1)
			}
		default:
			w.value(path, depth+1)
		}
		if w.i == before {
			w.step()
		}
	}
}

// text reads a string of any of TOML's four kinds and returns what it says, its
// escapes resolved as far as keys have them.
func (w *lineWalker) text() string {
	q := w.s[w.i : w.i+1]
	if strings.HasPrefix(w.s[w.i:], q+q+q) {
		q += q + q
	}
	w.i += len(q)
	var b strings.Builder
	for w.i < len(w.s) && !strings.HasPrefix(w.s[w.i:], q) {
		if len(q) == 1 && w.s[w.i] == '\n' {
			break
		}
		if w.s[w.i] == '\\' && q[0] == '"' && w.i+1 < len(w.s) {
			w.i++
			if n := strings.IndexByte(`"\tn`, w.s[w.i]); n >= 0 {
				b.WriteByte("\"\\\t\n"[n])
				w.i++
				continue
			}
		}
		b.WriteByte(w.s[w.i])
		w.step()
	}
	w.i = min(len(w.s), w.i+len(q))
	for len(q) == 3 && w.i < len(w.s) && w.s[w.i] == q[0] {
		w.i++ // quotes right before the closing ones belong to the text
	}
	return b.String()
}

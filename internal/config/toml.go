package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tomlParser reads the TOML of a configuration and notes on which line each
// table and key stands. A library would do, but the one for this weighs 180 KB
// in a hook that may weigh 3.8 MB; a test holds this reader against it.
type tomlParser struct {
	s      string
	i      int
	root   map[string]any
	lines  map[string]int  // of tables and keys, by joined path: the first time
	headed map[string]bool // tables that had a header of their own
	sealed map[string]bool // inline tables and values, which nothing is added to
	depth  int

	counted, breaks int // up to where line ends were counted, and how many
}

// syntaxError is why a text isn't TOML.
type syntaxError struct {
	line int
	what string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.what) }

// date is a date or time. No setting is one.
type date string

// maxNesting is how deep values may be nested.
const maxNesting = 64

// parseTOML reads a document. Values are string, int64, float64, bool, date,
// []any and map[string]any.
func parseTOML(s string) (root map[string]any, lines map[string]int, err error) {
	p := &tomlParser{s: s, root: map[string]any{}, lines: map[string]int{}, headed: map[string]bool{}, sealed: map[string]bool{}}
	defer func() {
		// Every fault is found deep inside and ends the reading.
		if fault, ok := recover().(*syntaxError); ok {
			root, lines, err = nil, nil, fault
		}
	}()
	p.document()
	return p.root, p.lines, nil
}

// joined makes one map key of a path.
func joined(path []string) string { return strings.Join(path, "\x00") }

func (p *tomlParser) fail(format string, args ...any) {
	panic(&syntaxError{1 + strings.Count(p.s[:min(p.i, len(p.s))], "\n"), fmt.Sprintf(format, args...)})
}

func (p *tomlParser) document() {
	table, path := p.root, []string(nil)
	for p.space(true); p.i < len(p.s); p.space(true) {
		if p.s[p.i] == '[' {
			table, path = p.header()
		} else {
			p.pair(table, path)
		}
		p.space(false)
		if p.i < len(p.s) && p.s[p.i] != '\n' && !strings.HasPrefix(p.s[p.i:], "\r\n") {
			p.fail("expected the end of the line, found %q", p.next())
		}
	}
}

// next is what stands at the position, for a message.
func (p *tomlParser) next() string {
	rest, _, _ := strings.Cut(p.s[p.i:], "\n")
	if len(rest) > 20 {
		rest = strings.ToValidUTF8(rest[:20], "")
	}
	return rest
}

// space passes over blanks and comments and, with lines, over line ends.
func (p *tomlParser) space(lines bool) {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || strings.HasPrefix(p.s[p.i:], "\r\n")):
			p.i++
		case c == '#':
			for p.i < len(p.s) && p.s[p.i] != '\n' {
				p.i++
			}
		default:
			return
		}
	}
}

func (p *tomlParser) expect(text string) {
	if !strings.HasPrefix(p.s[p.i:], text) {
		p.fail("expected %q, found %q", text, p.next())
	}
	p.i += len(text)
}

// header reads [a.b] or [[a.b]] and returns the table that it opens.
func (p *tomlParser) header() (map[string]any, []string) {
	list := strings.HasPrefix(p.s[p.i:], "[[")
	p.i++
	if list {
		p.i++
	}
	path := p.key()
	at := joined(path)
	p.note(path)
	parent := p.descend(p.root, nil, path[:len(path)-1])
	name := path[len(path)-1]
	p.expect("]")
	if list {
		p.expect("]")
		all, ok := parent[name].([]any)
		if parent[name] != nil && !ok || p.sealed[at] {
			p.fail("%q is defined twice", dotted(path))
		}
		t := map[string]any{}
		parent[name] = append(all, t)
		return t, path
	}
	if _, listed := parent[name].([]any); listed || p.headed[at] {
		p.fail("%q is defined twice", dotted(path))
	}
	p.headed[at] = true
	return p.descend(parent, path[:len(path)-1], path[len(path)-1:]), path
}

// descend goes down from the table t at path, and makes the tables that aren't
// there.
func (p *tomlParser) descend(t map[string]any, path, down []string) map[string]any {
	path = append([]string(nil), path...)
	for _, name := range down {
		path = append(path, name)
		if p.sealed[joined(path)] {
			p.fail("%q is defined already", dotted(path))
		}
		switch v := t[name].(type) {
		case nil:
			below := map[string]any{}
			t[name] = below
			t = below
		case map[string]any:
			t = v
		case []any: // of tables: the last one
			last, ok := v[len(v)-1].(map[string]any)
			if !ok {
				p.fail("%q is no table", dotted(path))
			}
			t = last
		default:
			p.fail("%q is no table", dotted(path))
		}
	}
	return t
}

func (p *tomlParser) note(path []string) {
	p.breaks += strings.Count(p.s[p.counted:p.i], "\n")
	p.counted = p.i
	for n := len(path); n > 0; n-- {
		at := joined(path[:n])
		if _, ok := p.lines[at]; ok {
			return
		}
		p.lines[at] = 1 + p.breaks
	}
}

// pair reads a key and its value into the table t at path.
func (p *tomlParser) pair(t map[string]any, path []string) {
	key := p.key()
	whole := append(append([]string(nil), path...), key...)
	p.note(whole)
	t = p.descend(t, path, key[:len(key)-1])
	name := key[len(key)-1]
	if _, ok := t[name]; ok {
		p.fail("%q is defined twice", dotted(whole))
	}
	p.space(false)
	p.expect("=")
	p.space(false)
	t[name] = p.value(whole)
	p.sealed[joined(whole)] = true
}

// key reads a dotted key.
func (p *tomlParser) key() []string {
	var path []string
	for {
		p.space(false)
		start := p.i
		switch {
		case p.i < len(p.s) && (p.s[p.i] == '"' || p.s[p.i] == '\''):
			path = append(path, p.line())
		default:
			for p.i < len(p.s) && isBare(p.s[p.i]) {
				p.i++
			}
			if p.i == start {
				p.fail("expected a key, found %q", p.next())
			}
			path = append(path, p.s[start:p.i])
		}
		p.space(false)
		if p.i == len(p.s) || p.s[p.i] != '.' {
			return path
		}
		p.i++
	}
}

func isBare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// value reads the value of the key at path.
func (p *tomlParser) value(path []string) any {
	if p.i == len(p.s) {
		p.fail("expected a value, found the end of the file")
	}
	rest := p.s[p.i:]
	switch {
	case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
		return p.lines3()
	case rest[0] == '"', rest[0] == '\'':
		return p.line()
	case rest[0] == '[' || rest[0] == '{':
		if p.depth++; p.depth > maxNesting {
			p.fail("nested too deep")
		}
		defer func() { p.depth-- }()
		if rest[0] == '[' {
			return p.array(path)
		}
		return p.inline(path)
	}
	return p.plain()
}

func (p *tomlParser) array(path []string) []any {
	list := []any{}
	p.i++
	for p.space(true); p.i < len(p.s) && p.s[p.i] != ']'; p.space(true) {
		list = append(list, p.value(path))
		p.space(true)
		if p.i < len(p.s) && p.s[p.i] == ']' {
			break
		}
		p.expect(",")
	}
	p.expect("]")
	return list
}

func (p *tomlParser) inline(path []string) map[string]any {
	t := map[string]any{}
	p.i++
	for p.space(true); p.i < len(p.s) && p.s[p.i] != '}'; p.space(true) {
		p.pair(t, path)
		p.space(true)
		if p.i < len(p.s) && p.s[p.i] == '}' {
			break
		}
		p.expect(",")
	}
	p.expect("}")
	return t
}

// plain reads a number, a boolean or a date.
func (p *tomlParser) plain() any {
	start := p.i
	for p.i < len(p.s) && (isBare(p.s[p.i]) || strings.IndexByte("+.:", p.s[p.i]) >= 0) {
		p.i++
	}
	text := p.s[start:p.i]
	v, ok := plainValue(text)
	if !ok {
		p.i = start
		p.fail("expected a value, found %q", p.next())
	}
	return v
}

func plainValue(text string) (any, bool) {
	digits := strings.TrimLeft(text, "+-")
	switch {
	case text == "true" || text == "false":
		return text == "true", true
	case digits == "" || len(text)-len(digits) > 1:
		return nil, false
	case digits == "inf" || digits == "nan":
		if digits == "nan" {
			return math.NaN(), true
		}
		return math.Inf(1 - 2*strings.Count(text, "-")), true
	case digits[0] < '0' || digits[0] > '9' || strings.Contains(digits, "__") || strings.HasSuffix(digits, "_"):
		return nil, false
	case len(digits) > 4 && (digits[4] == '-' || digits[2] == ':'):
		return date(text), true
	}
	prefixed := len(digits) > 2 && strings.IndexByte("xob", digits[1]) >= 0
	if prefixed || !strings.ContainsAny(digits, ".eE") {
		if !prefixed && len(digits) > 1 && digits[0] == '0' {
			return nil, false
		}
		n, err := strconv.ParseInt(text, 0, 64)
		return n, err == nil
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return f, err == nil && !strings.HasSuffix(digits, ".")
}

// line reads a text in one pair of quotes.
func (p *tomlParser) line() string {
	quote := p.s[p.i]
	p.i++
	var b strings.Builder
	for {
		switch {
		case p.i == len(p.s):
			p.fail("a text has no closing quote")
		case p.s[p.i] == '\n':
			p.fail("a text in single quotes ends on its line")
		case p.s[p.i] == quote:
			p.i++
			return b.String()
		}
		p.char(&b, quote == '"')
	}
}

// lines3 reads a text in three quotes.
func (p *tomlParser) lines3() string {
	quotes := p.s[p.i : p.i+3]
	p.i += 3
	if strings.HasPrefix(p.s[p.i:], "\r\n") {
		p.i++
	}
	if p.i < len(p.s) && p.s[p.i] == '\n' {
		p.i++
	}
	var b strings.Builder
	for !strings.HasPrefix(p.s[p.i:], quotes) {
		if p.i == len(p.s) {
			p.fail("a text has no closing quotes")
		}
		if quotes[0] == '"' && p.foldedLine() {
			continue
		}
		p.char(&b, quotes[0] == '"')
	}
	p.i += 3
	for n := 0; n < 2 && p.i < len(p.s) && p.s[p.i] == quotes[0]; n++ {
		b.WriteByte(quotes[0]) // quotes right before the closing ones
		p.i++
	}
	return b.String()
}

// foldedLine passes over a backslash at the end of a line and the space behind.
func (p *tomlParser) foldedLine() bool {
	rest := p.s[p.i:]
	if rest == "" || rest[0] != '\\' {
		return false
	}
	after := strings.TrimLeft(rest[1:], " \t\r")
	if after == "" || after[0] != '\n' {
		return false
	}
	p.i = len(p.s) - len(strings.TrimLeft(after, " \t\r\n"))
	return true
}

// char reads one sign of a text, or an escape.
func (p *tomlParser) char(b *strings.Builder, escapes bool) {
	c := p.s[p.i]
	switch {
	case c != '\\' || !escapes:
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			p.fail("a text holds the control character %#02x", c)
		}
		b.WriteByte(c)
		p.i++
		return
	case p.i+1 == len(p.s):
		p.fail("a text has no closing quote")
	}
	c = p.s[p.i+1]
	if n := strings.IndexByte(`btnfr"\`, c); n >= 0 {
		b.WriteByte("\b\t\n\f\r\"\\"[n])
		p.i += 2
		return
	}
	size := map[byte]int{'u': 4, 'U': 8}[c]
	if size == 0 || p.i+2+size > len(p.s) {
		p.fail("invalid escape \\%c", c)
	}
	n, err := strconv.ParseUint(p.s[p.i+2:p.i+2+size], 16, 32)
	if err != nil || n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		p.fail("invalid escape \\%c", c)
	}
	b.WriteRune(rune(n))
	p.i += 2 + size
}

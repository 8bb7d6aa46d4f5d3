package installer

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlText is a TOML text as a list of its expressions with their places. It is
// the only user of go-toml's unstable parser.
type tomlText struct {
	src  []byte // without byte order mark
	nl   string
	list []expression
}

// expression is one header or one key with its value.
type expression struct {
	kind unstable.Kind // Table, ArrayTable or KeyValue
	// key is the whole path from the root, the header's part included.
	key []string
	// parts are the places of the key's parts as written here: of a KeyValue
	// without those of the header.
	parts []span
	// whole is from the first byte of the expression to its end, without white
	// space, comment and line end around it.
	whole span
	value value // of a KeyValue
}

// value is a TOML value with its place.
type value struct {
	kind   unstable.Kind
	at     span
	text   string // of a string
	raw    string // of other scalars
	items  []value
	keys   [][]string // of an inline table, one for each of items
	places []span     // of those keys
}

// span is a range of bytes.
type span struct{ start, end int }

const tomlHint = "Codex doesn't start with such a file; correct it and run this again"

// parseTOML reads a TOML text. What isn't one is refused with its place.
func parseTOML(src []byte) (*tomlText, error) {
	src = slices.Clip(src) // the parser tells places by capacities
	t := &tomlText{src: src, nl: newline(src)}
	if err := checkNesting(src); err != nil {
		return nil, err
	}
	var p unstable.Parser
	p.Reset(src)
	var header []string
	for p.NextExpression() {
		e := t.read(&p, p.Expression(), header)
		if e.kind != unstable.KeyValue {
			header = e.key
		}
		t.list = append(t.list, e)
	}
	if err := p.Error(); err != nil {
		if perr := (*unstable.ParserError)(nil); errors.As(err, &perr) {
			return nil, refuseAt(src, int(p.Range(perr.Highlight).Offset), tomlHint, "not TOML: %s", perr.Message)
		}
		return nil, &Refusal{Reason: "not TOML: " + err.Error(), Hint: tomlHint}
	}
	return t, nil
}

// checkNesting bounds the recursion of every parser that follows. Brackets in
// strings and comments count too: no configuration comes near the limit.
func checkNesting(src []byte) error {
	depth := 0
	for i, b := range src {
		switch b {
		case '[', '{':
			if depth++; depth > maxDepth {
				return refuseAt(src, i, tomlHint, "nested more than %d levels deep", maxDepth)
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return nil
}

func (t *tomlText) read(p *unstable.Parser, n *unstable.Node, header []string) expression {
	e := expression{kind: n.Kind}
	for it := n.Key(); it.Next(); {
		e.key = append(e.key, string(it.Node().Data))
		e.parts = append(e.parts, rawSpan(it.Node()))
	}
	last := e.parts[len(e.parts)-1]
	if e.kind == unstable.KeyValue {
		e.key = slices.Concat(header, e.key)
		e.value = readTOMLValue(n.Value())
		e.whole = rawSpan(n)
		e.value.at = t.valueSpan(e)
		return e
	}
	brackets := 1
	if n.Kind == unstable.ArrayTable {
		brackets = 2
	}
	closing := last.end
	for t.src[closing] == ' ' || t.src[closing] == '\t' {
		closing++
	}
	e.whole = span{bytes.LastIndexByte(t.src[:e.parts[0].start], '[') + 1 - brackets, closing + brackets}
	return e
}

// valueSpan finds a value behind its key: not every kind of node has its place.
func (t *tomlText) valueSpan(e expression) span {
	last := e.parts[len(e.parts)-1]
	equals := bytes.IndexByte(t.src[last.end:e.whole.end], '=') + last.end
	start := equals + 1
	for start < e.whole.end && (t.src[start] == ' ' || t.src[start] == '\t') {
		start++
	}
	return span{start, e.whole.end}
}

func readTOMLValue(n *unstable.Node) value {
	v := value{kind: n.Kind, at: rawSpan(n)}
	switch n.Kind {
	case unstable.String:
		v.text = string(n.Data)
	case unstable.Array:
		for it := n.Children(); it.Next(); {
			if it.Node().Kind != unstable.Comment {
				v.items = append(v.items, readTOMLValue(it.Node()))
			}
		}
	case unstable.InlineTable:
		for it := n.Children(); it.Next(); {
			kv := it.Node()
			if kv.Kind != unstable.KeyValue {
				continue
			}
			var key []string
			var place span
			for k := kv.Key(); k.Next(); {
				key = append(key, string(k.Node().Data))
				place = rawSpan(k.Node())
			}
			v.keys = append(v.keys, key)
			v.places = append(v.places, place)
			v.items = append(v.items, readTOMLValue(kv.Value()))
		}
	default:
		v.raw = string(n.Data)
	}
	return v
}

func rawSpan(n *unstable.Node) span {
	return span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)}
}

// get is the member of an inline table with a plain key.
func (v *value) get(name string) *value {
	for i, key := range v.keys {
		if len(key) == 1 && key[0] == name {
			return &v.items[i]
		}
	}
	return nil
}

// lines widens a span to the whole lines it touches, line end included.
func (t *tomlText) lines(s span) span {
	start := bytes.LastIndexByte(t.src[:s.start], '\n') + 1
	end := len(t.src)
	if i := bytes.IndexByte(t.src[s.end:], '\n'); i >= 0 {
		end = s.end + i + 1
	}
	return span{start, end}
}

// blankLineBefore is the start of the blank line that ends at offset, or offset
// itself if the line before isn't blank.
func (t *tomlText) blankLineBefore(offset int) int {
	if offset == 0 {
		return 0
	}
	start := bytes.LastIndexByte(t.src[:offset-1], '\n') + 1
	if isBlank(t.src[start:offset]) {
		return start
	}
	return offset
}

// tomlString writes s as a TOML string: literal where that is possible, since a
// command holds double quotes, else basic.
func tomlString(s string) string {
	if !strings.ContainsRune(s, '\'') && printable(s) {
		return "'" + s + "'"
	}
	return tomlBasic(s)
}

// tomlBasic writes s as a basic string, as Codex writes its own keys.
func tomlBasic(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f:
			const digits = "0123456789ABCDEF"
			b.WriteString(`\u00` + string(digits[r>>4]) + string(digits[r&15]))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func printable(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) < 0
}

package installer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonText is a JSON text with the place of every value in it, to be edited by
// splices.
type jsonText struct {
	src  []byte // without byte order mark
	root hujson.Value
	nl   string // the line end
	unit string // one step of indentation
	// colon is what stands between a name and its value, comma what follows a
	// comma on the same line.
	colon, comma string
}

// maxDepth is how deep a configuration may be nested; the parsers recurse.
const maxDepth = 500

const strictHint = "the client reads strict JSON only and drops a file that isn't, with all settings in it; correct it and run this again"

// parseJSON reads a strict JSON text. Anything else is refused with its place.
func parseJSON(src []byte) (*jsonText, error) {
	if err := checkDepth(src); err != nil {
		return nil, err
	}
	root, err := hujson.Parse(src)
	if err != nil {
		return nil, refuseJSON(src, err)
	}
	if !root.IsStandard() {
		at, what := firstExtension(&root)
		return nil, refuseAt(src, at, strictHint, "%s", what)
	}
	if !json.Valid(src) {
		// What hujson lets pass and the standard doesn't; none is known.
		return nil, refuseJSON(src, json.Unmarshal(src, new(any)))
	}
	t := &jsonText{src: src, root: root, nl: newline(src)}
	t.learnStyle()
	return t, nil
}

// checkDepth refuses nesting that no configuration has, before anything recurses
// into it.
func checkDepth(src []byte) error {
	depth, inString := 0, false
	for i := 0; i < len(src); i++ {
		switch b := src[i]; {
		case inString && b == '\\':
			i++
		case b == '"':
			inString = !inString
		case inString:
		case b == '{' || b == '[':
			if depth++; depth > maxDepth {
				return refuseAt(src, i, strictHint, "nested more than %d levels deep", maxDepth)
			}
		case b == '}' || b == ']':
			depth--
		}
	}
	return nil
}

var hujsonPlace = regexp.MustCompile(`^hujson: line (\d+), column (\d+): (.*)$`)

// refuseJSON turns a parser's error into a refusal with its place.
func refuseJSON(src []byte, err error) *Refusal {
	if m := hujsonPlace.FindStringSubmatch(err.Error()); m != nil {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		return &Refusal{Line: line, Column: column, Reason: "not JSON: " + m[3], Hint: strictHint}
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return refuseAt(src, int(syntax.Offset)-1, strictHint, "not JSON: %v", syntax)
	}
	return &Refusal{Reason: fmt.Sprintf("not JSON: %v", err), Hint: strictHint}
}

// firstExtension finds the first comment or trailing comma.
func firstExtension(root *hujson.Value) (at int, what string) {
	at, what = -1, "not strict JSON"
	see := func(offset int, found string) {
		if at < 0 || offset < at {
			at, what = offset, found
		}
	}
	extra := func(start int, e hujson.Extra) {
		if i := bytes.IndexByte(e, '/'); i >= 0 {
			see(start+i, "a comment")
		}
	}
	for v := range root.All() {
		comma := func(last *hujson.Value) {
			if last.AfterExtra != nil {
				extra(last.EndOffset, last.AfterExtra)
				see(last.EndOffset+len(last.AfterExtra), "a trailing comma")
			}
		}
		extra(v.StartOffset-len(v.BeforeExtra), v.BeforeExtra)
		extra(v.EndOffset, v.AfterExtra)
		switch x := v.Value.(type) {
		case *hujson.Object:
			extra(v.EndOffset-1-len(x.AfterExtra), x.AfterExtra)
			if n := len(x.Members); n > 0 {
				comma(&x.Members[n-1].Value)
			}
		case *hujson.Array:
			extra(v.EndOffset-1-len(x.AfterExtra), x.AfterExtra)
			if n := len(x.Elements); n > 0 {
				comma(&x.Elements[n-1])
			}
		}
	}
	return max(at, 0), what
}

// learnStyle takes indentation and spacing from what is there.
func (t *jsonText) learnStyle() {
	t.unit, t.colon, t.comma = "  ", ": ", " "
	object, ok := t.root.Value.(*hujson.Object)
	if !ok || len(object.Members) == 0 {
		return
	}
	first := object.Members[0]
	indent, multiline := lastIndent(string(first.Name.BeforeExtra))
	if multiline {
		t.unit = strings.TrimPrefix(indent, lineIndent(t.src, t.root.StartOffset))
	}
	if between := string(first.Name.AfterExtra) + ":" + string(first.Value.BeforeExtra); !strings.ContainsAny(between, "\r\n") {
		t.colon = between
	}
	t.comma = t.colon[strings.IndexByte(t.colon, ':')+1:]
	if len(object.Members) > 1 {
		if space := string(object.Members[1].Name.BeforeExtra); !strings.ContainsAny(space, "\r\n") {
			t.comma = space
		}
	}
}

// child is one element of an array or member of an object, by its place.
type child struct {
	name       string // of a member
	start, end int
	before     string // the white space before it
	value      *hujson.Value
}

// children lists what an object or array holds; nil for anything else.
func children(v *hujson.Value) []child {
	var list []child
	switch x := v.Value.(type) {
	case *hujson.Object:
		for i := range x.Members {
			m := &x.Members[i]
			name := m.Name.Value.(hujson.Literal).String()
			list = append(list, child{name, m.Name.StartOffset, m.Value.EndOffset, string(m.Name.BeforeExtra), &m.Value})
		}
	case *hujson.Array:
		for i := range x.Elements {
			e := &x.Elements[i]
			list = append(list, child{"", e.StartOffset, e.EndOffset, string(e.BeforeExtra), e})
		}
	}
	return list
}

// member finds the one member with a name. Two of them are refused: parsers
// disagree about which counts.
func (t *jsonText) member(object *hujson.Value, path, name string) (*hujson.Value, error) {
	var found *hujson.Value
	for _, c := range children(object) {
		if c.name != name {
			continue
		}
		if found != nil {
			return nil, refuseAt(t.src, c.start, "keep one of the two", "%s is there twice", join(path, name))
		}
		found = c.value
	}
	return found, nil
}

func join(path, name string) string {
	if path == "" {
		return strconv.Quote(name)
	}
	return path + "." + strconv.Quote(name)
}

// kindName is what a value is, for a message.
func kindName(v *hujson.Value) string {
	switch v.Value.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	}
	return "a number"
}

// addTo adds items at the end of an object or array, in the style of what
// stands there. An empty one is opened up; what was inside it is returned.
func (t *jsonText) addTo(edit *splices, v *hujson.Value, items []item) (inside string) {
	if len(items) == 0 {
		return ""
	}
	list := children(v)
	if len(list) == 0 {
		return t.fillEmpty(edit, v, items)
	}
	last := list[len(list)-1]
	indent, multiline := lastIndent(last.before)
	var b strings.Builder
	for _, it := range items {
		b.WriteByte(',')
		if multiline {
			b.WriteString(t.nl + indent)
		} else if len(list) > 1 {
			b.WriteString(last.before)
		} else {
			b.WriteString(t.comma)
		}
		t.render(&b, it, indent, multiline)
	}
	*edit = append(*edit, splice{at: last.end, ins: b.String()})
	return ""
}

func (t *jsonText) fillEmpty(edit *splices, v *hujson.Value, items []item) (inside string) {
	start, end := v.StartOffset+1, v.EndOffset-1
	inside = string(t.src[start:end])
	multiline := true // where there is nothing to take a style from
	if root := children(&t.root); len(root) > 0 {
		_, multiline = lastIndent(root[0].before)
	}
	var b strings.Builder
	t.renderAll(&b, items, lineIndent(t.src, v.StartOffset), multiline)
	*edit = append(*edit, splice{at: start, del: end - start, ins: b.String()})
	return inside
}

// remove takes children out of an object or array, the commas with them. An
// emptied one holds inside again.
func (t *jsonText) remove(edit *splices, v *hujson.Value, gone func(i int) bool, inside string) {
	list := children(v)
	kept := 0 // the first that stays
	for kept < len(list) && gone(kept) {
		kept++
	}
	if kept == len(list) {
		*edit = append(*edit, splice{at: v.StartOffset + 1, del: v.EndOffset - v.StartOffset - 2, ins: inside})
		return
	}
	for i, c := range list {
		switch {
		case !gone(i):
		case i < kept:
			*edit = append(*edit, splice{at: c.start, del: list[i+1].start - c.start})
		default:
			*edit = append(*edit, splice{at: list[i-1].end, del: c.end - list[i-1].end})
		}
	}
}

// item is a value to be written: a literal, or an object or array of items. In
// an object each has a name.
type item struct {
	name    string
	literal string // the text of a scalar
	open    byte   // '{' or '[' for a composite
	items   []item
}

func text(name, s string) item           { return item{name: name, literal: string(hujson.String(s))} }
func number(name string, n int) item     { return item{name: name, literal: strconv.Itoa(n)} }
func object(name string, x ...item) item { return item{name: name, open: '{', items: x} }
func array(name string, x ...item) item  { return item{name: name, open: '[', items: x} }

func (t *jsonText) render(b *strings.Builder, it item, indent string, multiline bool) {
	if it.name != "" {
		b.WriteString(string(hujson.String(it.name)) + t.colon)
	}
	if it.open == 0 {
		b.WriteString(it.literal)
		return
	}
	b.WriteByte(it.open)
	t.renderAll(b, it.items, indent, multiline)
	b.WriteByte(it.open + 2) // the closing one, in ASCII
}

// renderAll writes what stands between two brackets; indent is that of the line
// with the opening one.
func (t *jsonText) renderAll(b *strings.Builder, items []item, indent string, multiline bool) {
	for i, it := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		if multiline {
			b.WriteString(t.nl + indent + t.unit)
		} else if i > 0 {
			b.WriteString(t.comma)
		}
		t.render(b, it, indent+t.unit, multiline)
	}
	if multiline {
		b.WriteString(t.nl + indent)
	}
}

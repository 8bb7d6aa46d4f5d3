package installer

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// bom is the byte order mark that some editors put before a file. It is not
// part of the text, and it stays.
const bom = "\ufeff"

// cutBOM parts the mark from the text.
func cutBOM(src []byte) (mark string, text []byte) {
	if rest, ok := bytes.CutPrefix(src, []byte(bom)); ok {
		return bom, rest
	}
	return "", src
}

// A splice replaces del bytes at offset at by ins.
type splice struct {
	at, del int
	ins     string
}

// splices is an edit of a text. Those with the same offset keep their order.
type splices []splice

// apply makes the edited text. Overlapping deletions count once.
func (s splices) apply(src []byte) []byte {
	sorted := slices.Clone(s)
	slices.SortStableFunc(sorted, func(a, b splice) int { return cmp.Compare(a.at, b.at) })
	out := make([]byte, 0, len(src)+len(sorted)*128)
	done := 0
	for _, x := range sorted {
		if x.at > done {
			out = append(out, src[done:x.at]...)
			done = x.at
		}
		out = append(out, x.ins...)
		done = max(done, x.at+x.del)
	}
	return append(out, src[done:]...)
}

// newline is the line end that a text uses: that of its first line.
func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// isBlank tells whether a text is nothing but white space.
func isBlank(text []byte) bool { return len(bytes.Trim(text, " \t\r\n")) == 0 }

// lineIndent is the white space at the start of the line that holds offset.
func lineIndent(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// lastIndent is what follows the last newline of white space, and whether there
// is a newline at all.
func lastIndent(space string) (indent string, multiline bool) {
	i := strings.LastIndexByte(space, '\n')
	if i < 0 {
		return "", false
	}
	return space[i+1:], true
}

package pane

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Cell is one character of a screen, with what tells a placeholder from typed
// text.
type Cell struct {
	Rune    rune
	Dim     bool
	Inverse bool
	Grey    bool // drawn in one of the greys of the 256-colour palette, as notes and placeholders are
}

// Row is one row of a screen, without trailing blanks.
type Row []Cell

// String is the row's text.
func (r Row) String() string {
	var b strings.Builder
	for _, c := range r {
		b.WriteRune(c.Rune)
	}
	return b.String()
}

// ParseScreen reads what tmux's capture-pane -e writes: rows of text with SGR
// sequences. Attributes last from row to row until they are reset. Other escape
// sequences are dropped.
func ParseScreen(text string) []Row {
	var rows []Row
	var row Row
	pen := Cell{}
	for len(text) > 0 {
		switch {
		case text[0] == '\n':
			rows = append(rows, trimmed(row))
			row, text = nil, text[1:]
		case text[0] == 0x1b:
			var params string
			var sgr bool
			params, sgr, text = cutEscape(text)
			if sgr {
				pen = pen.with(params)
			}
		case text[0] < ' ':
			text = text[1:]
		default:
			r, size := utf8.DecodeRuneInString(text)
			cell := pen
			cell.Rune = r
			row = append(row, cell)
			text = text[size:]
		}
	}
	if len(row) > 0 {
		rows = append(rows, trimmed(row))
	}
	return rows
}

// trimmed takes trailing blanks off, but not a cursor that is drawn as an
// inverse blank.
func trimmed(r Row) Row {
	for len(r) > 0 && !r[len(r)-1].Inverse && isBlank(r[len(r)-1].Rune) {
		r = r[:len(r)-1]
	}
	return r
}

func isBlank(r rune) bool { return r == ' ' || r == '\u00a0' || r == '\t' }

// cutEscape takes one escape sequence off the front of text. sgr says whether
// it sets attributes, and params holds what it sets.
func cutEscape(text string) (params string, sgr bool, rest string) {
	if len(text) < 2 {
		return "", false, ""
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if c := text[i]; c >= 0x40 && c <= 0x7e {
				return text[2:i], c == 'm', text[i+1:]
			}
		}
		return "", false, ""
	case ']': // OSC, up to BEL or ESC \
		for i := 2; i < len(text); i++ {
			if text[i] == 0x07 {
				return "", false, text[i+1:]
			}
			if text[i] == 0x1b && i+1 < len(text) && text[i+1] == '\\' {
				return "", false, text[i+2:]
			}
		}
		return "", false, ""
	}
	return "", false, text[2:]
}

// with applies an SGR sequence's parameters.
func (c Cell) with(params string) Cell {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		return Cell{}
	}
	for i := 0; i < len(codes); i++ {
		n, _ := strconv.Atoi(codes[i])
		switch n {
		case 0:
			c = Cell{}
		case 2:
			c.Dim = true
		case 22:
			c.Dim = false
		case 7:
			c.Inverse = true
		case 27:
			c.Inverse = false
		case 38, 48:
			skip, grey := colour(codes[i+1:])
			if n == 38 {
				c.Grey = grey
			}
			i += skip
		case 39:
			c.Grey = false
		default:
			if n >= 30 && n <= 37 || n >= 90 && n <= 97 {
				c.Grey = n == 90
			}
		}
	}
	return c
}

// colour says how many parameters an extended colour takes and whether it is
// a grey of the 256-colour palette's ramp, or an equal mix in true colour that
// is neither black nor white.
func colour(codes []string) (skip int, grey bool) {
	at := func(i int) int {
		if i >= len(codes) {
			return -1
		}
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			return -1
		}
		return n
	}
	switch at(0) {
	case 5:
		return 2, at(1) >= 232 && at(1) <= 250 || at(1) == 8
	case 2:
		r, g, b := at(1), at(2), at(3)
		return 4, r == g && g == b && r > 40 && r < 190
	}
	return 0, false
}

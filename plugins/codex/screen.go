package codex

import (
	"strings"

	"github.com/reseat-dev/reseat/plugins/pane"
)

// prompt is the client's input line as a screen shows it.
type prompt struct {
	found bool   // the cursor stands on it: no menu in its place, no other program
	text  string // what stands in it, without the placeholder; lines joined by \n
	busy  bool   // the client shows that it works
}

// readPrompt finds the input line (seen on 0.133.0 to 0.171.0): the last row
// that begins with "›" and a blank, with the cursor on it or on the rows below
// that belong to it. A menu's choices begin with the same mark, then a number.
// The placeholder is dim. While it works the client says "esc to interrupt".
func readPrompt(v pane.View) prompt {
	var p prompt
	mark := -1
	for y, r := range v.Rows {
		text := r.String()
		if strings.Contains(text, "esc to interrupt") || strings.Contains(text, "· esc cancel") {
			p.busy = true
		}
		if len(r) > 0 && r[0].Rune == '›' && (len(r) == 1 || r[1].Rune == ' ') {
			mark = y
		}
	}
	if mark < 0 || v.CursorY < mark || v.CursorX < 2 {
		return p
	}
	for y := mark + 1; y <= v.CursorY; y++ {
		if len(v.Row(y)) > 0 && !strings.HasPrefix(v.Row(y).String(), "  ") {
			return p
		}
	}
	first := body(v.Rows[mark])
	if isChoice(first.String()) {
		return p
	}
	p.found = true
	if isPlaceholder(first) && v.CursorY == mark && v.CursorX == 2 {
		return p
	}
	lines := []string{first.String()}
	for y := mark + 1; y < len(v.Rows) && len(v.Rows[y]) > 0 && (y <= v.CursorY || continues(v, y)); y++ {
		lines = append(lines, strings.TrimPrefix(v.Rows[y].String(), "  "))
	}
	p.text = strings.Join(lines, "\n")
	return p
}

// continues says whether row y still belongs to the input: a blank row parts it
// from the footer.
func continues(v pane.View, y int) bool {
	for ; y < len(v.Rows); y++ {
		if len(v.Rows[y]) == 0 {
			return true
		}
	}
	return false
}

func body(r pane.Row) pane.Row {
	if len(r) < 2 {
		return nil
	}
	return r[2:]
}

func isPlaceholder(r pane.Row) bool {
	for _, c := range r {
		if !c.Dim && c.Rune != ' ' {
			return false
		}
	}
	return true
}

// isChoice tells "1. Try new model" from typed text, as far as a screen can.
func isChoice(text string) bool {
	digits, _, ok := strings.Cut(text, ". ")
	return ok && digits != "" && strings.Trim(digits, "0123456789") == ""
}

package claude

import (
	"strings"

	"github.com/reseat-dev/reseat/plugins/pane"
)

// prompt is the client's input box as a screen shows it.
type prompt struct {
	found bool   // the box is there: no dialog or menu in its place, no other program
	text  string // what stands in it, without a placeholder; lines joined by \n
}

func (p prompt) empty() bool { return p.found && p.text == "" }

// readPrompt finds the input box: rows between two horizontal rules, of which
// the first begins with the prompt mark (seen on 2.1.197 to 2.1.332: the mark is
// "❯", a no-break blank follows). The lowest one counts. In shell mode the mark
// is "!": that is a box with something in it.
func readPrompt(v pane.View) prompt {
	bottom := len(v.Rows)
	for y := len(v.Rows) - 1; y > 0; y-- {
		if isRule(v.Rows[y]) {
			bottom = y
			continue
		}
		if !isRule(v.Rows[y-1]) || bottom == len(v.Rows) {
			continue
		}
		mark, typed, ok := cutMark(v.Rows[y])
		if !ok {
			return prompt{}
		}
		if mark == '!' {
			return prompt{found: true, text: "!" + strings.TrimRight(typed.String(), " \u00a0")}
		}
		return prompt{found: true, text: typedText(typed, v.Rows[y+1:bottom])}
	}
	return prompt{}
}

// isRule says whether a row is a horizontal rule; a label may stand in it.
func isRule(r pane.Row) bool {
	if len(r) < 10 || r[0].Rune != '─' {
		return false
	}
	lines := 0
	for _, c := range r {
		if c.Rune == '─' {
			lines++
		}
	}
	return lines*2 > len(r)
}

// cutMark takes the prompt mark and its blank off a row.
func cutMark(r pane.Row) (mark rune, rest pane.Row, ok bool) {
	if len(r) == 0 {
		return 0, nil, false
	}
	switch r[0].Rune {
	case '❯', '>', '!':
	default:
		return 0, nil, false
	}
	rest = r[1:]
	if len(rest) > 0 && isBlank(rest[0].Rune) && !rest[0].Inverse {
		rest = rest[1:]
	}
	return r[0].Rune, rest, true
}

// typedText is what a person typed. A placeholder is drawn dim or grey; the
// cursor is an inverse cell, on the placeholder's first letter or on a blank.
func typedText(first pane.Row, more []pane.Row) string {
	if isPlaceholder(first) && len(more) == 0 {
		return ""
	}
	lines := []string{strings.TrimRight(first.String(), " \u00a0")}
	for _, r := range more {
		lines = append(lines, strings.TrimRight(strings.TrimPrefix(r.String(), "  "), " \u00a0"))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func isPlaceholder(r pane.Row) bool {
	for i, c := range r {
		cursor := c.Inverse && i == 0
		if !cursor && !c.Dim && !c.Grey && !isBlank(c.Rune) {
			return false
		}
		if cursor && len(r) == 1 && !isBlank(c.Rune) {
			return false // one typed letter under the cursor
		}
	}
	return true
}

func isBlank(r rune) bool { return r == ' ' || r == '\u00a0' }

// echoRow is the row of the last "/compact" above the input box, -1 if there is
// none.
func echoRow(v pane.View) int {
	at := -1
	for y, r := range v.Rows {
		if mark, rest, ok := cutMark(r); ok && mark != '!' && strings.HasPrefix(rest.String(), "/compact") && (y == 0 || !isRule(v.Rows[y-1])) {
			at = y
		}
	}
	return at
}

// echoPlace tells one screen's last "/compact" from another's: its row and what
// stands above it, which a later one pushes up.
func echoPlace(v pane.View) string {
	at := echoRow(v)
	if at < 0 {
		return ""
	}
	var b strings.Builder
	for _, r := range v.Rows[:at+1] {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// echoed is what the client printed below the last "/compact" of the screen, up
// to the input box: "" while it printed nothing.
func echoed(v pane.View) string {
	from := echoRow(v)
	if from < 0 {
		return ""
	}
	var b strings.Builder
	for _, r := range v.Rows[from+1:] {
		if isRule(r) {
			break
		}
		b.WriteString(strings.TrimLeft(r.String(), " \u00a0⎿"))
		b.WriteByte('\n')
	}
	return strings.TrimSpace(b.String())
}

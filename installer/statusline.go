package installer

import (
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/tailscale/hujson"
)

// Operator is the operator's command. As a status line it keeps a sample of the
// usage and then runs the user's own one.
const Operator = "reseat"

// StatusLine is the status-line command without a user's own one behind it.
func (p Programs) StatusLine() (string, error) {
	program, err := p.path(p.Dir + "/" + Operator)
	if err != nil {
		return "", err
	}
	state, err := p.path(p.State)
	return program + " statusline --home " + state, err
}

// chained puts the user's own status line behind ours; nil: there is none.
func chained(ours string, own *string) string {
	if own == nil {
		return ours
	}
	return ours + " --own " + quote(*own)
}

// readStatusLine tells whether a status-line command is ours, and which one of
// the user's stands behind it; nil if none. A command with anything more around
// it is the user's own use.
func readStatusLine(command string, getenv func(string) string) (own *string, ours bool) {
	words, ok := splitWords(command, getenv)
	if !ok || len(words) < 2 || words[1] != "statusline" {
		return nil, false
	}
	if base := words[0][strings.LastIndexAny(words[0], `/\`)+1:]; base != Operator {
		return nil, false
	}
	rest := words[2:]
	for ; len(rest) > 1; rest = rest[2:] {
		switch rest[0] {
		case "--home":
		case "--own":
			own = &rest[1]
		default:
			return nil, false
		}
	}
	return own, len(rest) == 0
}

// installStatusLine puts our status line before the user's own, whose command is
// the only thing in the file that changes; what has to be added at the top is
// returned.
func (e *jsonEdit) installStatusLine() (top []item, err error) {
	if e.w.StatusLine == "" {
		return nil, nil
	}
	line, err := e.member(&e.root, "", "statusLine")
	if err != nil {
		return nil, err
	}
	if line == nil {
		return []item{e.made("statusLine", statusLineMember(e.w.StatusLine))}, nil
	}
	command, err := e.statusLineCommand(line)
	if err != nil {
		return nil, err
	}
	own, ours := readStatusLine(literal(command), e.w.Getenv)
	if !ours {
		had := literal(command)
		if strings.ContainsRune(had, 0) {
			return nil, refuseAt(e.src, command.StartOffset, "correct or remove it", `"statusLine"."command" holds a zero byte`)
		}
		raw := string(e.src[command.StartOffset:command.EndOffset])
		own, e.undo.StatusLine = &had, raw
	}
	if want := chained(e.w.StatusLine, own); literal(command) != want {
		e.replace(command, string(hujson.String(want)))
	}
	return nil, nil
}

func statusLineMember(command string) item {
	return object("statusLine", text("type", "command"), text("command", command))
}

// statusLineCommand finds the command of a status line. A shape that the client
// doesn't take is refused.
func (t *jsonText) statusLineCommand(line *hujson.Value) (*hujson.Value, error) {
	const hint = `correct or remove it, or install without --statusline`
	if err := t.mustBe(line, '{', `"statusLine"`, hint); err != nil {
		return nil, err
	}
	kind, err := t.member(line, `"statusLine"`, "type")
	if err != nil {
		return nil, err
	}
	if kind == nil || literal(kind) != "command" {
		return nil, refuseAt(t.src, line.StartOffset, hint, `"statusLine" is not of type "command"`)
	}
	command, err := t.member(line, `"statusLine"`, "command")
	if err != nil {
		return nil, err
	}
	if command == nil {
		return nil, refuseAt(t.src, line.StartOffset, hint, `"statusLine" has no "command"`)
	}
	return command, t.mustBe(command, '"', `"statusLine"."command"`, hint)
}

// uninstallStatusLine gives the user's own status line back, or tells that
// "statusLine" shall go as a whole. raw is how its command was spelled.
func (e *jsonEdit) uninstallStatusLine(raw string) (all bool) {
	if e.w.Client != client.Claude {
		return false
	}
	for _, c := range children(&e.root) {
		command := ownStatusLine(c)
		own, ours := readStatusLine(literal(command), e.w.Getenv)
		switch {
		case !ours:
		case own == nil:
			all = true
		case spells(raw, *own):
			e.replace(command, raw)
		default:
			e.replace(command, string(hujson.String(*own)))
		}
	}
	return all
}

// ownStatusLine is the command of a top member that is a status line; nil for
// anything else.
func ownStatusLine(top child) *hujson.Value {
	if top.name != "statusLine" {
		return nil
	}
	for _, c := range children(top.value) {
		if c.name == "command" {
			return c.value
		}
	}
	return nil
}

// spells tells whether raw is a JSON text of the string s.
func spells(raw, s string) bool {
	v, err := hujson.Parse([]byte(raw))
	return err == nil && literal(&v) == s
}

// takeOutStatusLine puts the user's own status line in the place of ours and
// returns what stood there; empty if ours isn't there.
func (t *tree) takeOutStatusLine(w Wanted) (found string) {
	if w.Client != client.Claude {
		return ""
	}
	command := t.get("statusLine").get("command")
	own, ours := readStatusLine(command.text(), w.Getenv)
	if !ours {
		return ""
	}
	found = command.text()
	if own == nil {
		t.drop("statusLine")
	} else {
		command.value = *own
	}
	return found
}

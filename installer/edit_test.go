package installer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// testEnv is the environment in which command strings are read in tests.
func testEnv(name string) string {
	if name == "HOME" {
		return "/home/u"
	}
	return ""
}

// wantedIn is what a default install wants in a client's file.
func wantedIn(c client.Client) Wanted {
	return wantedFrom(c, Programs{Home: "/home/u", Dir: "/home/u/.local/bin", State: "/home/u/.local/state/reseat"})
}

func wantedFrom(c client.Client, p Programs) Wanted {
	w := Wanted{Client: c, Getenv: testEnv}
	for _, e := range Entries() {
		command, err := p.Command(c, e)
		if err != nil {
			panic(err)
		}
		w.Hooks = append(w.Hooks, WantedHook{e, command})
	}
	if c == client.Claude {
		w.Rule = "Read(~/.local/state/reseat/s/**)"
	} else {
		w.File = "/home/u/.codex/config.toml"
	}
	return w
}

// format is one of the two kinds of file, for tests that hold for both.
type format struct {
	name      string
	client    client.Client
	install   func(src []byte, w Wanted) (Edit, error)
	uninstall func(src []byte, w Wanted, undo *Undo) (Edit, error)
	verify    func(before, after []byte, w Wanted, installed bool) error
}

func formats() []format {
	return []format{
		{"settings.json", client.Claude, InstallJSON, UninstallJSON, verifyJSON},
		{"config.toml", client.Codex, InstallTOML, UninstallTOML, func(before, after []byte, w Wanted, installed bool) error {
			return verifyTOML(before, after, w, installed, nil, nil)
		}},
	}
}

// roundTrip installs twice and uninstalls, and tells what is not as it should
// be.
func (f format) roundTrip(src []byte) error { return f.roundTripFrom(src, src, Undo{}) }

// roundTripFrom is roundTrip for a file that src was before an install that undo
// tells of, and that is now by now.
func (f format) roundTripFrom(src, now []byte, undo Undo) error {
	w := wantedIn(f.client)
	first, err := f.install(now, w)
	if err != nil {
		return fmt.Errorf("install: %w", err)
	}
	if err := f.verify(src, first.Data, w, true); err != nil {
		return fmt.Errorf("verifying the install: %w\n%s", err, first.Data)
	}
	second, err := f.install(first.Data, w)
	if err != nil {
		return fmt.Errorf("second install: %w", err)
	}
	if string(second.Data) != string(first.Data) {
		return fmt.Errorf("the second install changed something:\n%s", second.Data)
	}
	undo = undo.and(first.Undo).and(second.Undo)
	back, err := f.uninstall(first.Data, w, &undo)
	if err != nil {
		return fmt.Errorf("uninstall: %w", err)
	}
	if string(back.Data) != string(src) {
		return fmt.Errorf("uninstall gave %q\nnot           %q\nvia           %q", back.Data, src, first.Data)
	}
	if err := f.verify(first.Data, back.Data, w, false); err != nil {
		return fmt.Errorf("verifying the uninstall: %w", err)
	}
	return nil
}

// TestInstallChangesOnlyItsOwnBytes runs every combination of line end, byte
// order mark, final newline, indentation and content through both formats.
func TestInstallChangesOnlyItsOwnBytes(t *testing.T) {
	cells := 0
	var table strings.Builder
	for _, f := range formats() {
		for _, content := range []string{"missing", "empty", "{}", "own hooks", "foreign hooks", "200 KB"} {
			for _, indent := range []string{"tab", "2 spaces", "4 spaces", "minified"} {
				if content == "200 KB" && indent[0] != 't' && indent[0] != 'm' && !*full {
					continue // each takes a second
				}
				var row strings.Builder
				for _, eol := range []string{"LF", "CRLF"} {
					for _, mark := range []string{"", "BOM"} {
						for _, final := range []string{"newline", "none"} {
							src := matrixFile(f, content, indent)
							if eol == "CRLF" {
								src = strings.ReplaceAll(src, "\n", "\r\n")
							}
							if final == "none" {
								src = strings.TrimRight(src, "\r\n")
							}
							if mark != "" && content != "missing" {
								src = bom + src
							}
							cells++
							verdict := " ok"
							if err := f.matrixCell(content, []byte(src)); err != nil {
								verdict = " FAIL"
								t.Errorf("%s, %s, %s, %s, %q, %s: %v", f.name, content, indent, eol, mark, final, err)
							}
							row.WriteString(verdict)
						}
					}
				}
				fmt.Fprintf(&table, "%-14s %-14s %-9s %s\n", f.name, content, indent, row.String())
			}
		}
	}
	t.Logf("%d cells; columns: {LF, CRLF} x {no BOM, BOM} x {final newline, none}\n%s", cells, table.String())
	if cells < 150 {
		t.Errorf("%d cells", cells)
	}
}

// matrixCell judges one combination. With own hooks in the file, an earlier
// install from another folder put them there.
func (f format) matrixCell(content string, src []byte) error {
	if content != "own hooks" {
		return errors.Join(f.roundTrip(src), f.bytesAround(src))
	}
	moved := wantedFrom(f.client, Programs{Home: "/home/u", Dir: "/opt/my tools", State: "/home/u/.local/state/reseat"})
	earlier, err := f.install(src, moved)
	if err != nil {
		return err
	}
	return f.roundTripFrom(src, earlier.Data, earlier.Undo)
}

// bytesAround shows that an install only inserts: what was there is left when
// the inserted bytes are taken out.
func (f format) bytesAround(src []byte) error {
	edit, err := f.install(src, wantedIn(f.client))
	if err != nil {
		return err
	}
	rest := src
	for _, b := range edit.Data {
		if len(rest) > 0 && rest[0] == b {
			rest = rest[1:]
		}
	}
	if len(rest) > 0 && len(strings.Trim(string(rest), bom+" \t\r\n{}")) > 0 {
		return fmt.Errorf("install lost %q", rest)
	}
	return nil
}

func matrixFile(f format, content, indent string) string {
	if f.client == client.Codex {
		return matrixTOML(content, indent)
	}
	return matrixJSON(content, indent)
}

func matrixJSON(content, indent string) string {
	unit := map[string]string{"tab": "\t", "2 spaces": "  ", "4 spaces": "    ", "minified": ""}[indent]
	var file string
	switch content {
	case "missing", "empty":
		return ""
	case "{}":
		return map[string]string{"tab": "{\n}\n", "2 spaces": "{}\n", "4 spaces": "{ }\n", "minified": "{}\n"}[indent]
	case "own hooks":
		file = "{\n~\"model\": \"opus\",\n~\"hooks\": {\n~~\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a && b > /dev/null\"}]}]\n~}\n}\n"
	case "foreign hooks":
		var events []string
		for _, event := range []string{"PreToolUse", "PreCompact", "SessionStart", "UserPromptSubmit", "PostCompact", "Stop"} {
			events = append(events, fmt.Sprintf("~~%q: [\n~~~{\n~~~~\"matcher\": \"*\",\n~~~~\"hooks\": [\n~~~~~{\"type\": \"command\", \"command\": \"other %s <&> \\\"x\\\"\", \"timeout\": 1.0}\n~~~~]\n~~~}\n~~]", event, event))
		}
		file = "{\n~\"zeta\": 9007199254740993,\n~\"hooks\": {\n" + strings.Join(events, ",\n") + "\n~},\n~\"permissions\": {\n~~\"deny\": [\"Bash\"],\n~~\"allow\": []\n~},\n~\"alpha\": 1.0\n}\n"
	case "200 KB":
		var b strings.Builder
		b.WriteString("{\n~\"permissions\": {\n~~\"allow\": [\n")
		for i := range 4000 {
			fmt.Fprintf(&b, "~~~\"Bash(command number %d with some length:*)\",\n", i)
		}
		b.WriteString("~~~\"Bash(last)\"\n~~]\n~}\n}\n")
		file = b.String()
	}
	if indent == "minified" {
		return strings.NewReplacer("~", "", "\n", "", "\": ", "\":", ", ", ",").Replace(file) + "\n"
	}
	return strings.ReplaceAll(file, "~", unit)
}

func matrixTOML(content, indent string) string {
	unit := map[string]string{"tab": "\t", "2 spaces": "  ", "4 spaces": "    ", "minified": ""}[indent]
	var file string
	switch content {
	case "missing", "empty":
		return ""
	case "{}":
		return "# only a comment\n"
	case "own hooks":
		file = "model = \"gpt\" # why\n\n[features]\n~hooks = true\n"
	case "foreign hooks":
		var b strings.Builder
		b.WriteString("model = \"gpt\"\n")
		for _, event := range []string{"PreToolUse", "PreCompact", "SessionStart", "UserPromptSubmit", "PostCompact", "Stop"} {
			fmt.Fprintf(&b, "\n[[hooks.%s]]\n~matcher = \"*\"\n~[[hooks.%s.hooks]]\n~~type = \"command\"\n~~command = \"other %s <&> \\\"x\\\"\"\n", event, event, event)
		}
		b.WriteString("\n[hooks.state.\"/home/u/.codex/config.toml:pre_compact:0:0\"]\ntrusted_hash = \"sha256:00\"\n")
		file = b.String()
	case "200 KB":
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "[projects.\"/home/u/work/project-%d\"]\n~trust_level = \"trusted\" # %d\n\n", i, i)
		}
		file = b.String()
	}
	if indent == "minified" {
		file = strings.ReplaceAll(file, " = ", "=")
	}
	return strings.ReplaceAll(file, "~", unit)
}

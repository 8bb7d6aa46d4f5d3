package installer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// brokenFile is a file that must be refused and left as it is.
type brokenFile struct {
	name    string
	client  client.Client
	file    string // its name in the client's folder
	content string
	line    int // 0: the file as a whole
	column  int
	reason  string // part of the reason or, if line is 0, of reason or hint
}

func brokenFiles() []brokenFile {
	json := func(name, content string, line, column int, reason string) brokenFile {
		return brokenFile{name, client.Claude, "settings.json", content, line, column, reason}
	}
	toml := func(name, content string, line, column int, reason string) brokenFile {
		return brokenFile{name, client.Codex, "config.toml", content, line, column, reason}
	}
	beside := func(name, content string, line, column int, reason string) brokenFile {
		return brokenFile{name, client.Codex, "hooks.json", content, line, column, reason}
	}
	group := "[[hooks.PreCompact]]\n[[hooks.PreCompact.hooks]]\n"
	return []brokenFile{
		json("line comment", "{\"a\":1,// c\n\"b\":2}", 1, 8, "comment"),
		json("comma and comment", "{\"a\":1,// c\n}", 1, 7, "trailing comma"),
		json("block comment", "{\n  /* c */ \"a\": 1\n}", 2, 3, "comment"),
		json("comment at the end", "{}\n// c\n", 2, 1, "comment"),
		json("comment before", "// c\n{}\n", 1, 1, "comment"),
		json("comment in an array", "{\"a\": [1 /* c */]}", 1, 10, "comment"),
		json("trailing comma", "{\n  \"a\": 1,\n}", 2, 9, "trailing comma"),
		json("trailing comma in an array", "{\"a\": [1,]}", 1, 9, "trailing comma"),
		json("comment behind CRLF", "{\r\n\"a\": 1 // c\r\n}", 2, 8, "comment"),
		json("comment behind a mark", bom+"{// c\n}", 1, 2, "comment"),
		json("cut off", "{\n  \"a\": [1,\n", 3, 1, "not JSON"),
		json("cut off in a string", "{\"a", 1, 4, "not JSON"),
		json("missing comma", "{\"a\": 1 \"b\": 2}", 1, 9, "not JSON"),
		json("single quotes", "{'a': 1}", 1, 2, "not JSON"),
		json("bare name", "{a: 1}", 1, 2, "not JSON"),
		json("two values", "{} {}", 1, 4, "not JSON"),
		json("bad escape", "{\"a\": \"\\x\"}", 1, 7, "not JSON"),
		json("control character", "{\"a\": \"\t\"}", 1, 7, "not JSON"),
		json("bad number", "{\"a\": 01}", 1, 7, "not JSON"),
		json("NaN", "{\"a\": NaN}", 1, 7, "not JSON"),
		json("binary", "\x00\x01\xff", 1, 1, "not JSON"),
		json("conflict marks", "{\n<<<<<<< HEAD\n}", 2, 1, "not JSON"),
		json("an array", "[]\n", 1, 1, "an array, not an object"),
		json("a string", "\"x\"", 1, 1, "a string, not an object"),
		json("null", "null\n", 1, 1, "null, not an object"),
		json("hooks null", "{\"hooks\": null}", 1, 11, `"hooks" is null`),
		json("hooks array", "{\"hooks\": []}", 1, 11, `"hooks" is an array`),
		json("hooks twice", "{\"hooks\": {}, \"hooks\": {}}", 1, 15, `"hooks" is there twice`),
		json("hooks twice, escaped", "{\"hooks\": {}, \"\\u0068ooks\": {}}", 1, 15, "twice"),
		json("event twice", "{\"hooks\": {\"PreCompact\": [],\n\"PreCompact\": []}}", 2, 1, `"PreCompact" is there twice`),
		json("event object", "{\"hooks\": {\"PreCompact\": {}}}", 1, 26, `"PreCompact" is an object`),
		json("event null", "{\"hooks\": {\"SessionStart\": null}}", 1, 28, `"SessionStart" is null`),
		json("group string", "{\"hooks\": {\"PreCompact\": [\"x\"]}}", 1, 27, "[0] is a string"),
		json("group without hooks", "{\"hooks\": {\"PreCompact\": [{}]}}", 1, 27, `has no "hooks"`),
		json("group with hooks twice", "{\"hooks\": {\"PreCompact\": [{\"hooks\": [], \"hooks\": []}]}}", 1, 41, "twice"),
		json("matcher number", "{\"hooks\": {\"PreCompact\": [{\"matcher\": 1, \"hooks\": []}]}}", 1, 39, `"matcher" is a number`),
		json("handler string", "{\"hooks\": {\"PreCompact\": [{\"hooks\": [\"x\"]}]}}", 1, 38, "[0] is a string"),
		json("command twice", "{\"hooks\": {\"PreCompact\": [{\"hooks\": [{\"command\": \"a\", \"command\": \"b\"}]}]}}", 1, 55, "twice"),
		json("permissions null", "{\"permissions\": null}", 1, 17, `"permissions" is null`),
		json("permissions twice", "{\"permissions\": {}, \"permissions\": {}}", 1, 21, "twice"),
		json("allow string", "{\"permissions\": {\"allow\": \"Bash\"}}", 1, 27, `"allow" is a string`),
		json("allow of numbers", "{\"permissions\": {\"allow\": [1]}}", 1, 28, "[0] is a number"),
		json("switch of another type", "{\"disableAllHooks\": \"yes\"}", 1, 21, "is a string"),
		json("too deep", strings.Repeat("[", 600), 1, 501, "nested more than"),

		toml("second features table", "[features]\na = true\n[features]\nb = true\n", 3, 2, "not TOML"),
		toml("key twice", "a = 1\na = 2\n", 2, 7, "not TOML"),
		toml("missing value", "a = \n", 1, 5, "not TOML"),
		toml("bare string", "a = yes\n", 1, 5, "not TOML"),
		toml("cut off", "a = [1,\n", 1, 8, "not TOML"),
		toml("cut off in a string", "x = 1\na = \"b\n", 2, 7, "not TOML"),
		toml("a carriage return alone", "a = 1\rb = 2\n", 1, 6, "not TOML"),
		toml("not a table header", "[a\n", 1, 3, "not TOML"),
		toml("JSON", "{\"a\": 1}\n", 1, 1, "not TOML"),
		toml("binary", "\x00\xff\n", 1, 1, "not TOML"),
		toml("bad UTF-8", "a = \"\xff\"\n", 1, 6, "not TOML"),
		toml("conflict marks", "a = 1\n<<<<<<< HEAD\n", 2, 1, "not TOML"),
		toml("inline hooks", "a = 1\nhooks = { SessionStart = [] }\n", 2, 1, "can't be added to"),
		toml("array value", "[hooks]\nPreCompact = []\n", 2, 1, "can't be added to"),
		toml("dotted array value", "hooks.PostCompact = []\n", 1, 1, "can't be added to"),
		toml("hooks is a number", "hooks = 1\n", 1, 1, "hooks is not a table"),
		toml("hooks is an array", "[[hooks]]\n", 1, 1, "hooks is not a table"),
		toml("event is a table", "[hooks.PreCompact]\n", 1, 1, "not an array of tables"),
		toml("event is a string", "[hooks]\nStop = \"x\"\n", 2, 1, "not an array of tables"),
		toml("no type", group+"command = \"x\"\n", 2, 1, "no type"),
		toml("unknown type", group+"type = \"x\"\n", 3, 1, "no type"),
		toml("no command", group+"type = \"command\"\n", 2, 1, "no command"),
		toml("negative time-out", group+"type = \"command\"\ncommand = \"x\"\ntimeout = -1\n", 5, 1, "timeout"),
		toml("fractional time-out", group+"type = \"command\"\ncommand = \"x\"\ntimeout = 1.5\n", 5, 1, "timeout"),
		toml("async as a string", group+"type = \"command\"\ncommand = \"x\"\nasync = \"no\"\n", 5, 1, "async"),
		toml("matcher as a number", "[[hooks.PreCompact]]\nmatcher = 1\n", 2, 1, "matcher"),
		toml("approval without a table", "[hooks.state]\n\"k\" = 1\n", 2, 1, "approval"),
		toml("features.hooks as a string", "[features]\nhooks = \"on\"\n", 2, 1, "features.hooks"),
		toml("too deep", "a = "+strings.Repeat("[", 600), 1, 505, "nested more than"),

		beside("more than hooks", "{\"$schema\": \"x\", \"hooks\": {}}", 1, 2, "unknown key"),
		beside("comment", "{\n  \"hooks\": {} // c\n}", 2, 15, "comment"),
		beside("hooks array", "{\"hooks\": []}", 1, 11, `"hooks" is an array`),
	}
}

// TestBrokenFilesAreRefusedWithTheirPlace prints its table with -v.
func TestBrokenFilesAreRefusedWithTheirPlace(t *testing.T) {
	cases := brokenFiles()
	if len(cases) < 60 {
		t.Errorf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.file+"/"+c.name, func(t *testing.T) {
			s := newSandbox(t, c.client)
			path := filepath.Join(s.home, "."+string(c.client), c.file)
			s.write(path, c.content)
			before := snapshot(t, s.home)
			_, err := s.tryInstall()
			var r *Refusal
			if !errors.As(err, &r) {
				t.Fatalf("%v, want a refusal", err)
			}
			t.Logf("%v\n\thint: %s", r, r.Hint)
			if r.Path != path || r.Line != c.line || r.Column != c.column || !strings.Contains(r.Reason, c.reason) || r.Hint == "" {
				t.Errorf("want line %d, column %d, %q", c.line, c.column, c.reason)
			}
			if want := fmt.Sprintf("line %d, column %d", c.line, c.column); !strings.Contains(err.Error(), want) {
				t.Errorf("%q lacks %q", err, want)
			}
			must(t, os.RemoveAll(s.path(".local/state")))
			sameSnapshot(t, before, snapshot(t, s.home))
		})
	}
}

func TestRefusalOfAnInlineTableGivesTheTextToPaste(t *testing.T) {
	for content, want := range map[string]string{
		"[hooks]\nPreCompact = []\n":    "to the array PreCompact:  { hooks = [{ type = \"command\", command = '\"$HOME\"/.local/bin/reseat-precompact --runtime codex --home \"$HOME\"/.local/state/reseat', timeout = 30 }] }",
		"hooks = { SessionStart = [] }": "to the table hooks:  PreCompact = [{ hooks = [",
	} {
		_, err := InstallTOML([]byte(content), wantedIn(client.Codex))
		var r *Refusal
		if !errors.As(err, &r) || !strings.Contains(r.Hint, want) {
			t.Errorf("%q: %v, hint %v", content, err, r)
		}
	}
	// Once pasted, the entries count as installed.
	w := wantedIn(client.Codex)
	var events []string
	for _, h := range w.Hooks {
		events = append(events, fmt.Sprintf("%s = [{ hooks = [{ type = \"command\", command = '%s', timeout = %d }] }]", h.Event, h.Command, h.Timeout))
	}
	pasted := "hooks = { " + strings.Join(events, ", ") + " }\n"
	edit, err := InstallTOML([]byte(pasted), w)
	if err != nil || string(edit.Data) != pasted {
		t.Errorf("%v: %s", err, edit.Data)
	}
	must(t, verifyTOML([]byte(pasted), edit.Data, w, true, nil, nil))
	// They can't be taken out of their brackets by a machine.
	_, err = UninstallTOML([]byte(pasted), w, nil)
	var r *Refusal
	if !errors.As(err, &r) || r.Line != 1 {
		t.Errorf("%v", err)
	}
}

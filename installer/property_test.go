package installer

import (
	"bytes"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
)

var full = flag.Bool("full", os.Getenv("RESEAT_FULL") != "", "run the long tests at their full size")

// size is how often something is tried: the full number, or few.
func size(n, few int) int {
	if *full {
		return n
	}
	return few
}

// leastDrawn is how often each shape must have been drawn in a full run.
const leastDrawn = 500

// TestInstallThenUninstallIsTheIdentity draws random files; each goes through
// install, install again, and uninstall, and is judged by the independent parser.
func TestInstallThenUninstallIsTheIdentity(t *testing.T) {
	shapes := map[string][]string{
		"settings.json": {"duplicate names off our path", "nesting", "CRLF", "odd numbers", "odd strings", "odd names", "minified", "byte order mark", "no final newline", "empty container on our path", "foreign hooks", "own program under another matcher", "wild white space", "empty object"},
		"config.toml":   {"comments", "nesting", "dotted keys", "quoted keys", "arrays of tables", "inline tables", "CRLF", "byte order mark", "no final newline", "foreign hooks", "own program under another matcher", "approvals"},
	}
	for _, f := range formats() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			g := newGenerator(20261129)
			draw := g.json
			if f.client == client.Codex {
				draw = g.toml
			}
			n := size(20000, 1500)
			onDisk := size(200, 30)
			disk := newDiskTrial(t, f)
			for i := range n {
				src := draw()
				if err := f.roundTrip(src); err != nil {
					t.Fatalf("case %d: %v\n--- file\n%s", i, err, src)
				}
				if i%(n/onDisk) == 0 {
					disk.try(src)
				}
			}
			t.Logf("%d cases, %d of them through the disk; shapes drawn:", n, disk.n)
			for _, shape := range slices.Sorted(maps.Keys(g.drawn)) {
				t.Logf("  %-36s %6d", shape, g.drawn[shape])
			}
			for _, shape := range shapes[f.name] {
				if g.drawn[shape] < size(leastDrawn, 10) {
					t.Errorf("%s: drawn %d times only", shape, g.drawn[shape])
				}
			}
		})
	}
}

// diskTrial takes files through the whole protocol.
type diskTrial struct {
	*sandbox
	path string
	n    int
}

func newDiskTrial(t *testing.T, f format) *diskTrial {
	s := newSandbox(t, f.client)
	return &diskTrial{sandbox: s, path: filepath.Join(s.home, "."+string(f.client), f.name)}
}

func (d *diskTrial) try(src []byte) {
	d.t.Helper()
	d.n++
	d.write(d.path, string(src))
	done := d.install()
	if len(done.Refusals) > 0 {
		d.t.Fatalf("refused: %v\n%s", done.Refusals[0], src)
	}
	if d.install().Changed() {
		d.t.Fatalf("the second install changed something:\n%s", src)
	}
	d.uninstall()
	if got := d.read(d.path); got != string(src) {
		d.t.Fatalf("got %q, want %q", got, src)
	}
}

// TestVerifyCatchesWhatAnEditDamages plants a bug in the edit and shows that it
// gets through without the independent parser and doesn't with it.
func TestVerifyCatchesWhatAnEditDamages(t *testing.T) {
	bugs := map[client.Client]map[string]func(data string) string{
		client.Claude: {
			"a number loses digits": func(s string) string { return strings.Replace(s, "9007199254740993", "9007199254740992", 1) },
			"a member goes":         func(s string) string { return strings.Replace(s, "\"model\": \"opus\",", "", 1) },
			"members change places": func(s string) string { return strings.Replace(s, `"a": 1, "b": 2`, `"b": 2, "a": 1`, 1) },
			"a double goes":         func(s string) string { return strings.Replace(s, `"c": 3, "c": 4`, `"c": 4`, 1) },
			"a foreign hook goes":   func(s string) string { return strings.Replace(s, `{"type": "command", "command": "theirs"}`, "", 1) },
			"an entry is there twice": func(s string) string {
				return strings.Replace(s, `"PostCompact": [`, `"PostCompact": [{"hooks": [{"type": "command", "command": "reseat-directive --runtime claude"}]},`, 1)
			},
			"an entry is missing": func(s string) string { return strings.Replace(s, "reseat-precompact", "reseat-other", 1) },
			"the permission is lost": func(s string) string {
				return strings.Replace(s, "Read(~/.local/state/reseat/s/**)", "Read(~/.local/**)", 1)
			},
			"not JSON any more": func(s string) string { return s + "}" },
		},
		client.Codex: {
			"a value changes":         func(s string) string { return strings.Replace(s, "model = \"m\"", "model = \"n\"", 1) },
			"a second features table": func(s string) string { return s + "[features]\nhooks = true\n" },
			"a foreign hook moves":    func(s string) string { return "[[hooks.PreCompact]]\n" + s },
			"an approval goes":        func(s string) string { return strings.Replace(s, "sha256:00", "sha256:01", 1) },
			"an approval is new":      func(s string) string { return s + "[hooks.state.\"x\"]\ntrusted_hash = \"y\"\n" },
			"a bad time-out":          func(s string) string { return strings.Replace(s, "timeout = 15", "timeout = \"15\"", 1) },
			"a short time-out":        func(s string) string { return strings.Replace(s, "timeout = 15", "timeout = 1", 1) },
		},
	}
	files := map[client.Client]string{
		client.Claude: "{\"model\": \"opus\", \"n\": 9007199254740993, \"x\": {\"a\": 1, \"b\": 2}, \"c\": 3, \"c\": 4, \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}]}}\n",
		client.Codex:  "model = \"m\"\n[features]\nhooks = true\n[[hooks.PreCompact]]\n[[hooks.PreCompact.hooks]]\ntype = \"command\"\ncommand = \"theirs\"\n[hooks.state.\"k\"]\ntrusted_hash = \"sha256:00\"\n",
	}
	for c, planted := range bugs {
		for name, bug := range planted {
			t.Run(string(c)+"/"+name, func(t *testing.T) {
				s := newSandbox(t, c)
				steps, err := s.opts.installSteps(c)
				must(t, err)
				step := steps[0]
				s.write(step.path, files[c])
				edit, verify := step.edit, true
				step.edit = func(f *durable.UserFile, r *Receipt) (outcome, error) {
					out, err := edit(f, r)
					damaged := []byte(bug(string(out.data)))
					if bytes.Equal(damaged, out.data) {
						t.Fatal("the bug does nothing")
					}
					out.data = damaged
					if !verify {
						out.verify = nil
					}
					return out, err
				}
				var r *Refusal
				if _, err := (writer{s.opts}).do(step); !errors.As(err, &r) {
					t.Errorf("with verify: %v, want a refusal", err)
				}
				if got := s.read(step.path); got != files[c] {
					t.Errorf("the file was written: %q", got)
				}
				verify = false
				must(t, os.MkdirAll(s.opts.State.Backups(), 0o700))
				if _, err := (writer{s.opts}).do(step); err != nil {
					t.Errorf("without verify: %v, want the bug to pass", err)
				}
			})
		}
	}
}

func FuzzInstallJSON(f *testing.F) {
	fuzz(f, formats()[0], newGenerator(1).json)
}

func FuzzInstallTOML(f *testing.F) {
	fuzz(f, formats()[1], newGenerator(1).toml)
}

// fuzz requires of any bytes that they are refused with a place or remedy, or
// survive install and uninstall. A file with entries of ours in it doesn't come
// back: they go.
func fuzz(f *testing.F, format format, draw func() []byte) {
	for range 50 {
		f.Add(draw())
	}
	for _, c := range brokenFiles() {
		if c.client == format.client {
			f.Add([]byte(c.content))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		w := wantedIn(format.client)
		_, err := format.install(src, w)
		if err != nil {
			var r *Refusal
			if !errors.As(err, &r) || r.Hint == "" {
				t.Errorf("%v is no refusal with a hint", err)
			}
			return
		}
		clean, err := format.uninstall(src, w, nil)
		if err == nil && bytes.Equal(clean.Data, src) {
			if err := format.roundTrip(src); err != nil {
				t.Error(err)
			}
		}
	})
}

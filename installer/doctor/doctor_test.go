package doctor

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

var update = flag.Bool("update", false, "write the golden files anew")

// programs is a folder with the real hook programs.
var programs string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "reseat-doctor-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "../../cmd/reseat-precompact", "../../cmd/reseat-directive")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the hook programs: %v\n%s", err, out)
		return 1
	}
	programs = dir
	return m.Run()
}

// ward is a home in which something may be wrong.
type ward struct {
	*testing.T
	home string
	env  map[string]string
	opts Options
}

func newWard(t *testing.T) *ward {
	t.Helper()
	w := &ward{T: t, home: t.TempDir()}
	bin := w.path(".local/bin")
	w.env = map[string]string{"HOME": w.home, "PATH": w.path("clients") + ":/usr/bin:/bin", "SHELL": "/bin/sh"}
	w.opts.Install = installer.Options{
		Home: w.home, Programs: bin, State: state.Home(w.path(".local/state/reseat")), Project: w.path("work"), Root: w.path("root"),
		Getenv: func(name string) string { return w.env[name] },
	}
	w.must(os.MkdirAll(w.path("work"), 0o700))
	w.must(os.MkdirAll(bin, 0o700))
	for _, name := range []string{installer.Precompact, installer.Directive} {
		w.must(os.Symlink(filepath.Join(programs, name), filepath.Join(bin, name)))
	}
	return w
}

func (w *ward) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *ward) path(rel string) string { return filepath.Join(w.home, rel) }

func (w *ward) write(rel, content string) {
	w.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(rel)), 0o700))
	w.must(os.WriteFile(w.path(rel), []byte(content), 0o600))
}

func (w *ward) read(rel string) string {
	w.Helper()
	data, err := os.ReadFile(w.path(rel))
	w.must(err)
	return string(data)
}

// edit replaces a text in a file that must hold it.
func (w *ward) edit(rel, old, by string) {
	w.Helper()
	content := w.read(rel)
	if !strings.Contains(content, old) {
		w.Fatalf("%s lacks %q:\n%s", rel, old, content)
	}
	w.write(rel, strings.ReplaceAll(content, old, by))
}

// has puts a client on the machine that says it is of a version.
func (w *ward) has(c client.Client, version string) {
	w.Helper()
	w.script("clients/"+string(c), "echo '"+version+" (made up)'")
	w.must(os.MkdirAll(w.path("."+string(c)), 0o700))
}

func (w *ward) script(rel, body string) {
	w.Helper()
	w.must(os.RemoveAll(w.path(rel)))
	w.write(rel, "#!/bin/sh\n"+body+"\n")
	w.must(os.Chmod(w.path(rel), 0o700))
}

// installed puts our hooks into a client, approved.
func (w *ward) installed(c client.Client) {
	w.Helper()
	w.installIn(c, installer.User, true)
}

func (w *ward) installIn(c client.Client, scope installer.Scope, trust bool) {
	w.Helper()
	o := w.opts.Install
	o.Clients, o.Scope, o.TrustHooks = []client.Client{c}, scope, trust
	o.Getenv = func(name string) string {
		if name == "PATH" {
			return "" // no client is asked
		}
		return w.env[name]
	}
	plan, err := installer.PlanInstall(o)
	w.must(err)
	_, err = plan.Apply(context.Background())
	w.must(err)
}

// ran leaves the trace of a hook that ran in a client just now.
func (w *ward) ran(c client.Client) {
	w.Helper()
	const day = ".local/state/reseat/receipts/2999-01-01.jsonl"
	before, _ := os.ReadFile(w.path(day))
	w.write(day, string(before)+fmt.Sprintf(`{"time":%q,"client":%q,"event":"UserPromptSubmit"}`+"\n", "2999-01-01T00:00:00Z", c))
}

// healthy is a machine on which everything is as it should be.
func healthy(c client.Client) func(w *ward) {
	return func(w *ward) {
		w.has(c, map[client.Client]string{client.Claude: "2.1.332", client.Codex: "0.171.0"}[c])
		w.installed(c)
		w.ran(c)
	}
}

// and does one thing after another.
func and(steps ...func(w *ward)) func(w *ward) {
	return func(w *ward) {
		for _, step := range steps {
			step(w)
		}
	}
}

const (
	settings  = ".claude/settings.json"
	codexTOML = ".codex/config.toml"
)

// setUps are the machines that the doctor is shown.
var setUps = []struct {
	name string
	make func(w *ward)
	code int
	id   string // of the finding that matters
}{
	{"healthy claude", healthy(client.Claude), Healthy, "installed"},
	{"healthy codex", healthy(client.Codex), Healthy, "approved"},
	{"healthy both", and(healthy(client.Codex), healthy(client.Claude)), Healthy, "installed"},
	{"no client", func(*ward) {}, Sick, "no-client"},
	{"claude without hooks", func(w *ward) { w.has(client.Claude, "2.1.332"); w.write(settings, "{}\n") }, Sick, "not-installed"},
	{"codex without hooks", func(w *ward) { w.has(client.Codex, "0.171.0") }, Sick, "not-installed"},
	{"one event missing", and(healthy(client.Claude), func(w *ward) { w.edit(settings, "PostCompact", "Stop") }), Sick, "hooks-missing"},
	{"program gone", and(healthy(client.Claude), func(w *ward) { w.must(os.Remove(w.path(".local/bin/reseat-directive"))) }), Sick, "program"},
	{"program not executable", and(healthy(client.Codex), func(w *ward) {
		w.script(".local/bin/reseat-precompact", "")
		w.must(os.Chmod(w.path(".local/bin/reseat-precompact"), 0o600))
	}), Sick, "program"},
	{"program not in path", and(func(w *ward) {
		w.has(client.Claude, "2.1.332")
		w.installIn(client.Claude, installer.Project, false)
		w.ran(client.Claude)
	}), Sick, "program"},
	{"program that fails", and(healthy(client.Claude), func(w *ward) { w.script(".local/bin/reseat-precompact", "echo broken >&2; exit 1") }), Sick, "run"},
	{"program that prints rubbish", and(healthy(client.Claude), func(w *ward) { w.script(".local/bin/reseat-directive", "echo hello") }), Sick, "run"},
	{"command no shell reads", and(healthy(client.Claude), func(w *ward) { w.edit(settings, `reseat-precompact --runtime`, `reseat-precompact' --runtime`) }), Sick, "shell"},
	{"matcher without compact", and(healthy(client.Claude), func(w *ward) {
		w.edit(settings, "\"SessionStart\": [\n      {\n", "\"SessionStart\": [\n      {\n        \"matcher\": \"startup|resume\",\n")
	}), Sick, "matcher"},
	{"short time-out", and(healthy(client.Claude), func(w *ward) { w.edit(settings, `"timeout": 30`, `"timeout": 2`) }), Healthy, "time-out"},
	{"in the background", and(healthy(client.Claude), func(w *ward) { w.edit(settings, `"timeout": 15`, `"timeout": 15, "async": true`) }), Sick, "async"},
	{"user and project", and(healthy(client.Claude), func(w *ward) {
		w.env["PATH"] += ":" + w.path(".local/bin")
		w.installIn(client.Claude, installer.Project, false)
		w.ran(client.Claude)
	}), Healthy, "double"},
	{"plugin and user", and(healthy(client.Claude), func(w *ward) {
		w.write(".claude/plugins/cache/market/reseat/1.0/hooks/hooks.json", `{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "/opt/reseat-precompact --runtime claude"}]}]}}`)
	}), Healthy, "double"},
	{"disableAllHooks", and(healthy(client.Claude), func(w *ward) { w.edit(settings, "{\n  \"hooks\"", "{\n  \"disableAllHooks\": true,\n  \"hooks\"") }), Sick, "hooks-off"},
	{"managed hooks only", and(healthy(client.Claude), func(w *ward) {
		w.write("root/etc/claude-code/managed-settings.json", `{"allowManagedHooksOnly": true}`)
	}), Sick, "managed-only"},
	{"comment in settings", and(healthy(client.Claude), func(w *ward) { w.edit(settings, "{\n  \"hooks\"", "{ // mine\n  \"hooks\"") }), Sick, "file-unreadable"},
	{"no read permission", and(healthy(client.Claude), func(w *ward) { w.edit(settings, "Read(~/.local/state/reseat/s/**)", "Read(~/other/**)") }), Healthy, "read-permission"},
	{"read permission denied", and(healthy(client.Claude), func(w *ward) { w.edit(settings, `"allow"`, `"deny"`) }), Healthy, "read-permission"},
	{"never ran", func(w *ward) { w.has(client.Claude, "2.1.332"); w.installed(client.Claude) }, Healthy, "never-ran"},
	{"codex untrusted", func(w *ward) {
		w.has(client.Codex, "0.171.0")
		w.installIn(client.Codex, installer.User, false)
		w.ran(client.Codex)
	}, Sick, "untrusted"},
	{"codex modified", and(healthy(client.Codex), func(w *ward) { w.edit(codexTOML, "timeout = 15", "timeout = 20") }), Sick, "modified"},
	{"codex disabled", and(healthy(client.Codex), func(w *ward) { w.edit(codexTOML, "trusted_hash", "enabled = false\ntrusted_hash") }), Sick, "disabled"},
	{"codex features off", and(healthy(client.Codex), func(w *ward) {
		w.edit(codexTOML, "[[hooks.PreCompact]]", "[features]\nhooks = false\n\n[[hooks.PreCompact]]")
	}), Sick, "hooks-off"},
	{"codex managed only", and(healthy(client.Codex), func(w *ward) { w.write("root/etc/codex/requirements.toml", "allow_managed_hooks_only = true\n") }), Sick, "managed-only"},
	{"codex project untrusted", func(w *ward) {
		w.has(client.Codex, "0.171.0")
		w.env["PATH"] += ":" + w.path(".local/bin")
		w.installIn(client.Codex, installer.Project, true)
		w.ran(client.Codex)
	}, Sick, "project-untrusted"},
	{"codex too old", and(healthy(client.Codex), func(w *ward) { w.has(client.Codex, "0.130.0") }), Sick, "client-version"},
	{"codex config broken", and(healthy(client.Codex), func(w *ward) { w.edit(codexTOML, "timeout = 15", "timeout = \"15\"") }), Sick, "file-unreadable"},
	{"codex foreign hook in front", and(healthy(client.Codex), func(w *ward) {
		w.edit(codexTOML, "[[hooks.PreCompact]]\n[", "[[hooks.PreCompact]]\n[[hooks.PreCompact.hooks]]\ntype = \"command\"\ncommand = \"first\"\n\n[[hooks.PreCompact]]\n[")
	}), Sick, "untrusted"},
	{"client newer than any tried", and(healthy(client.Claude), func(w *ward) { w.has(client.Claude, "9.0.0") }), Healthy, "client-version"},
	{"client does not start", and(healthy(client.Claude), func(w *ward) { w.script("clients/claude", "exit 3") }), Unclear, "client-version"},
	{"client not in path", and(healthy(client.Claude), func(w *ward) { w.must(os.Remove(w.path("clients/claude"))) }), Healthy, "client-program"},
	{"hooks of other tools", and(healthy(client.Claude), func(w *ward) {
		w.edit(settings, "\"PreCompact\": [", "\"PreCompact\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"other --flag\"}]},")
	}), Healthy, "other-hooks"},
	{"state open to others", and(healthy(client.Claude), func(w *ward) { w.must(os.Chmod(w.path(".local/state/reseat"), 0o755)) }), Healthy, "state-mode"},
	{"state of a newer reseat", and(healthy(client.Claude), func(w *ward) { w.write(".local/state/reseat/format", "reseat-state 9\n") }), Sick, "state"},
	{"state is a file", func(w *ward) {
		w.has(client.Claude, "2.1.332")
		w.installed(client.Claude)
		w.must(os.RemoveAll(w.path(".local/state/reseat")))
		w.write(".local/state/reseat", "")
	}, Sick, "state"},
	{"switched off", and(healthy(client.Claude), func(w *ward) { w.write(".local/state/reseat/off/all", "everything\n") }), Sick, "off"},
	{"switched off by variable", and(healthy(client.Claude), func(w *ward) { w.env["RESEAT_DISABLE"] = "1" }), Sick, "off"},
	{"off for one project", and(healthy(client.Claude), func(w *ward) { w.write(".local/state/reseat/off/project-x", "project /x\n") }), Healthy, "off"},
	{"mixed versions", and(healthy(client.Claude), func(w *ward) { w.opts.Watchers = map[string]string{"watcher of x@y (pid 1)": "0.0.1"} }), Healthy, "versions"},
	{"mistake in our configuration", and(healthy(client.Claude), func(w *ward) { w.write(".config/reseat/config.toml", "[defaults]\nnonsense = 1\n") }), Healthy, "config"},
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	if len(setUps) < 25 {
		t.Errorf("%d set-ups", len(setUps))
	}
	for _, s := range setUps {
		t.Run(s.name, func(t *testing.T) {
			w := newWard(t)
			s.make(w)
			report := Check(context.Background(), w.opts)
			if code := report.ExitCode(); code != s.code {
				t.Errorf("exit code %d, want %d", code, s.code)
			}
			found := false
			for _, f := range report.Findings {
				if f.ID == s.id {
					found = true
				}
				if f.Colour != Green && (f.Remedy == "" && !f.Unknown || len(f.Evidence) == 0) {
					t.Errorf("%+v lacks evidence or remedy", f)
				}
			}
			if !found {
				t.Errorf("no finding %s", s.id)
			}
			golden(t, strings.ReplaceAll(s.name, " ", "-"), w.stable(report))
		})
	}
}

var (
	durations = regexp.MustCompile(`\d+ ms`)
	sizes     = regexp.MustCompile(`takes \d+\.\d MiB`)
	temporary = regexp.MustCompile(`/tmp/reseat-round-trip-\d+`)
)

// stable is a report without what differs from machine to machine.
func (w *ward) stable(r Report) string {
	w.Helper()
	var b strings.Builder
	w.must(r.WriteText(&b, true))
	text := strings.ReplaceAll(b.String(), w.home, "/HOME")
	text = durations.ReplaceAllString(text, "N ms")
	text = sizes.ReplaceAllString(text, "takes N MiB")
	text = temporary.ReplaceAllString(text, "/TMP")
	return fmt.Sprintf("%sexit code %d\n", text, r.ExitCode())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (run with -update)", err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update):\n%s\nwant\n%s", file, got, want)
	}
}

func TestDoctorChangesNothing(t *testing.T) {
	w := newWard(t)
	healthy(client.Claude)(w)
	before := w.read(settings)
	names := func() (all []string) {
		w.must(filepath.WalkDir(w.home, func(path string, _ os.DirEntry, err error) error {
			all = append(all, path)
			return err
		}))
		return all
	}
	files := names()
	Check(context.Background(), w.opts)
	if after := names(); strings.Join(files, "\n") != strings.Join(after, "\n") || w.read(settings) != before {
		t.Errorf("%v, was %v", after, files)
	}
}

func TestReportWithoutAllLeavesOutWhatIsGreen(t *testing.T) {
	r := Report{[]Finding{{ID: "a", Colour: Green, Says: "fine", Evidence: []string{"seen"}}, {ID: "b", Colour: Red, Client: client.Codex, Says: "bad", Evidence: []string{"shown"}, Remedy: "do\nthis"}}}
	var b strings.Builder
	if err := r.WriteText(&b, false); err != nil {
		t.Fatal(err)
	}
	want := "red     codex   bad (b)\n                shown\n        remedy  do\n                this\ngreen   reseat  fine (a)\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

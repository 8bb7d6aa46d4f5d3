package installer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

// sandbox is a home of its own, with programs that can be run.
type sandbox struct {
	t    *testing.T
	home string
	env  map[string]string
	opts Options
}

func newSandbox(t *testing.T, clients ...client.Client) *sandbox {
	t.Helper()
	return sandboxIn(t, t.TempDir(), clients...)
}

func sandboxIn(t *testing.T, home string, clients ...client.Client) *sandbox {
	t.Helper()
	s := &sandbox{t: t, home: home, env: map[string]string{"HOME": home}}
	bin := filepath.Join(home, ".local", "bin")
	for _, program := range []string{Precompact, Directive} {
		s.write(filepath.Join(bin, program), "#!/bin/sh\n")
		must(t, os.Chmod(filepath.Join(bin, program), 0o700))
	}
	s.opts = Options{
		Clients: clients, Home: home, Programs: bin,
		State:   state.Home(filepath.Join(home, ".local", "state", "reseat")),
		Project: filepath.Join(home, "work"), Root: filepath.Join(home, "root"),
		Getenv: func(name string) string { return s.env[name] },
	}
	must(t, os.MkdirAll(s.opts.Project, 0o700))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *sandbox) path(rel string) string { return filepath.Join(s.home, rel) }

func (s *sandbox) write(path, content string) {
	s.t.Helper()
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(s.t, os.WriteFile(path, []byte(content), 0o600))
}

func (s *sandbox) read(path string) string {
	s.t.Helper()
	data, err := os.ReadFile(path)
	must(s.t, err)
	return string(data)
}

// install applies an install and returns what was done.
func (s *sandbox) install() *Plan {
	s.t.Helper()
	done, err := s.tryInstall()
	must(s.t, err)
	return done
}

func (s *sandbox) tryInstall() (*Plan, error) {
	p, err := PlanInstall(s.opts)
	if err != nil {
		return p, err
	}
	return p.Apply(context.Background())
}

func (s *sandbox) uninstall() *Plan {
	s.t.Helper()
	p, err := PlanUninstall(s.opts)
	must(s.t, err)
	done, err := p.Apply(context.Background())
	must(s.t, err)
	return done
}

// tree is every path below dir with its content, links as their target.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			files[rel] = "folder"
		case info.Mode()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			files[rel] = "-> " + to
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			files[rel] = info.Mode().Perm().String() + " " + string(data)
		}
		return nil
	}))
	return files
}

func sameSnapshot(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, content := range before {
		if after[path] != content {
			t.Errorf("%s: %q, was %q", path, after[path], content)
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			t.Errorf("%s is new: %q", path, after[path])
		}
	}
}

func both() []client.Client { return client.All() }

func TestUninstallGivesBackTheFolderOfEachClient(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no folder":    {},
		"empty folder": {".claude/x": "", ".codex/x": ""},
		"files":        {".claude/settings.json": "{\"a\": 1}", ".codex/config.toml": "model = \"m\""},
		"hooks.json":   {".claude/settings.json": "{}\n", ".codex/hooks.json": `{"hooks":{"PreCompact":[{"hooks":[{"type":"command","command":"x"}]}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, both()...)
			for path, content := range files {
				s.write(s.path(path), content)
			}
			before := snapshot(t, s.home)
			done := s.install()
			if len(done.Refusals) > 0 || !done.Changed() {
				t.Fatalf("%+v", done)
			}
			installed := snapshot(t, s.home)
			if s.install().Changed() {
				t.Error("the second install changed something")
			}
			sameSnapshot(t, installed, snapshot(t, s.home))
			s.uninstall()
			must(t, os.RemoveAll(s.path(".local/state")))
			sameSnapshot(t, before, snapshot(t, s.home))
		})
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	s := newSandbox(t, both()...)
	s.write(s.path(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n")
	before := snapshot(t, s.home)
	p, err := PlanInstall(s.opts)
	must(t, err)
	sameSnapshot(t, before, snapshot(t, s.home))
	if len(p.Changes) != 2 || p.Changes[0].Action != ActionEdit || p.Changes[1].Action != ActionCreate {
		t.Fatalf("%+v", p.Changes)
	}
	for _, want := range []string{"--- " + s.path(".claude/settings.json"), "\n-  \"model\": \"opus\"\n+  \"model\": \"opus\",\n", `+            "command": "\"$HOME\"/.local/bin/reseat-precompact --runtime claude --home \"$HOME\"/.local/state/reseat",`} {
		if !strings.Contains(p.Changes[0].Diff, want) {
			t.Errorf("the diff lacks %q:\n%s", want, p.Changes[0].Diff)
		}
	}
	if !strings.HasPrefix(p.Changes[1].Diff, "--- /dev/null\n+++ ") {
		t.Errorf("%s", p.Changes[1].Diff)
	}
}

func TestUninstallKeepsWhatOthersChangedInBetween(t *testing.T) {
	s := newSandbox(t, both()...)
	s.install()
	settings, config := s.path(".claude/settings.json"), s.path(".codex/config.toml")
	s.write(settings, strings.Replace(s.read(settings), "{\n", "{\n  \"model\": \"opus\",\n", 1))
	s.write(config, s.read(config)+"\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n")
	s.uninstall()
	if got := s.read(settings); got != "{\n  \"model\": \"opus\"\n}\n" {
		t.Errorf("settings.json: %q", got)
	}
	if got := s.read(config); got != "\n[projects.\"/w\"]\ntrust_level = \"trusted\"\n" {
		t.Errorf("config.toml: %q", got)
	}
}

func TestUninstallRemovesACreatedFileThatOthersOnlyReformatted(t *testing.T) {
	s := newSandbox(t, client.Claude)
	s.install()
	settings := s.path(".claude/settings.json")
	s.write(settings, strings.ReplaceAll(s.read(settings), "  ", "\t"))
	s.uninstall()
	if _, err := os.Stat(s.path(".claude")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", snapshot(t, s.home))
	}
}

func TestUninstallWorksWithoutAReceipt(t *testing.T) {
	s := newSandbox(t, both()...)
	s.write(s.path(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n")
	s.write(s.path(".codex/config.toml"), "model = \"m\"\n")
	before := snapshot(t, s.home)
	s.install()
	must(t, os.RemoveAll(s.path(".local/state")))
	s.uninstall()
	must(t, os.RemoveAll(s.path(".local/state")))
	sameSnapshot(t, before, snapshot(t, s.home))
}

func TestReinstallMendsAMovedEntryInPlace(t *testing.T) {
	s := newSandbox(t, both()...)
	s.write(s.path(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n")
	s.write(s.path(".codex/config.toml"), "model = \"m\"")
	before := snapshot(t, s.home)
	s.install()
	old := s.opts.Programs
	s.opts.Programs = s.path("o'neil/my tools")
	must(t, os.MkdirAll(filepath.Dir(s.opts.Programs), 0o700))
	must(t, os.Rename(old, s.opts.Programs))
	done := s.install()
	for _, c := range done.Changes {
		if c.Action != ActionEdit {
			t.Errorf("%s: %s", c.Path, c.Action)
		}
		if now := s.read(c.Path); strings.Contains(now, ".local/bin") || strings.Count(now, Directive) != 3 {
			t.Errorf("%s", now)
		}
	}
	s.uninstall()
	must(t, os.Rename(s.opts.Programs, old))
	must(t, os.Remove(s.path("o'neil")))
	must(t, os.RemoveAll(s.path(".local/state")))
	sameSnapshot(t, before, snapshot(t, s.home))
}

func TestInstallUsesTheFolderThatTheVariableNames(t *testing.T) {
	for _, value := range []string{"", "  ", "/abs", "/abs/", "rel/dir", "/with space/x"} {
		t.Run(value, func(t *testing.T) {
			s := newSandbox(t, both()...)
			want := map[client.Client]string{client.Claude: s.path(".claude"), client.Codex: s.path(".codex")}
			if strings.TrimSpace(value) != "" {
				for c, name := range map[client.Client]string{client.Claude: "CLAUDE_CONFIG_DIR", client.Codex: "CODEX_HOME"} {
					dir := value + string(c)
					if strings.HasSuffix(value, "/") {
						dir = value + string(c) + "/"
					}
					if filepath.IsAbs(value) {
						dir = s.home + dir
						want[c] = filepath.Clean(dir)
					} else {
						want[c] = filepath.Join(s.opts.Project, dir)
					}
					s.env[name] = dir
				}
			}
			done := s.install()
			for _, change := range done.Changes {
				if filepath.Dir(change.Path) != want[change.Client] {
					t.Errorf("%s, want it in %s", change.Path, want[change.Client])
				}
			}
			if strings.TrimSpace(value) != "" {
				for _, dir := range []string{".claude", ".codex"} {
					if _, err := os.Lstat(s.path(dir)); err == nil {
						t.Errorf("%s was touched", dir)
					}
				}
			}
		})
	}
}

func TestInstallRefusesWhereHooksAreSwitchedOff(t *testing.T) {
	for name, c := range map[string]struct {
		client        client.Client
		path, content string
		place         [2]int
	}{
		"disableAllHooks":          {client.Claude, ".claude/settings.json", "{\n \"disableAllHooks\": true\n}", [2]int{2, 21}},
		"managed disableAllHooks":  {client.Claude, "root/etc/claude-code/managed-settings.json", `{"disableAllHooks": true}`, [2]int{1, 21}},
		"allowManagedHooksOnly":    {client.Claude, "root/etc/claude-code/managed-settings.d/10.json", `{"allowManagedHooksOnly": true}`, [2]int{1, 27}},
		"features table":           {client.Codex, ".codex/config.toml", "a = 1\n[features]\nhooks = false\n", [2]int{3, 1}},
		"spaced":                   {client.Codex, ".codex/config.toml", "[ features ]\nhooks=false\n", [2]int{2, 1}},
		"quoted":                   {client.Codex, ".codex/config.toml", "[\"features\"]\n'hooks' = false\n", [2]int{2, 1}},
		"dotted":                   {client.Codex, ".codex/config.toml", "features.hooks = false\r\n", [2]int{1, 1}},
		"inline":                   {client.Codex, ".codex/config.toml", "features = { x = 1, hooks = false }\n", [2]int{1, 21}},
		"old name":                 {client.Codex, ".codex/config.toml", "[features]\ncodex_hooks = false\n", [2]int{2, 1}},
		"allow_managed_hooks_only": {client.Codex, "root/etc/codex/requirements.toml", "allow_managed_hooks_only = true\n", [2]int{1, 1}},
		"managed features":         {client.Codex, "root/etc/codex/managed_config.toml", "[features]\nhooks = false\n", [2]int{2, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, c.client)
			s.write(s.path(c.path), c.content)
			before := snapshot(t, s.home)
			_, err := s.tryInstall()
			var r *Refusal
			if !errors.As(err, &r) || r.Path != s.path(c.path) || [2]int{r.Line, r.Column} != c.place || r.Hint == "" {
				t.Errorf("%#v", err)
			}
			must(t, os.RemoveAll(s.path(".local/state")))
			sameSnapshot(t, before, snapshot(t, s.home))
		})
	}
}

func TestProjectScopeNamesNoFolderOfThisMachine(t *testing.T) {
	s := newSandbox(t, both()...)
	s.opts.Scope = Project
	done := s.install()
	for _, c := range done.Changes {
		if c.Action == ActionNone {
			continue
		}
		content := s.read(c.Path)
		if strings.Contains(content, s.home) || strings.Contains(content, ".local/bin") || !strings.Contains(content, "reseat-directive --runtime "+string(c.Client)) {
			t.Errorf("%s: %s", c.Path, content)
		}
	}
	s.opts.State = state.Home(s.path("../elsewhere-reseat-test"))
	t.Cleanup(func() { os.RemoveAll(string(s.opts.State)) })
	p, err := PlanInstall(s.opts)
	must(t, err)
	for _, c := range p.Changes {
		if strings.Contains(c.Diff, "+ ") && strings.Contains(c.Diff, "elsewhere") {
			t.Errorf("%s", c.Diff)
		}
	}
}

func TestUninstallWithoutScopeFindsEveryPlace(t *testing.T) {
	s := newSandbox(t, both()...)
	before := snapshot(t, s.home)
	s.install()
	s.opts.Scope = Project
	s.install()
	s.opts.Scope, s.opts.Clients = Local, []client.Client{client.Claude}
	s.install()
	s.opts.Scope, s.opts.Clients = "", nil
	s.env["CLAUDE_CONFIG_DIR"] = s.path("other") // the first install is elsewhere now
	receipts, err := Receipts(s.opts.State)
	must(t, err)
	if len(receipts) != 5 {
		t.Fatalf("%d receipts", len(receipts))
	}
	s.uninstall()
	must(t, os.RemoveAll(s.path(".local/state")))
	sameSnapshot(t, before, snapshot(t, s.home))
}

func TestFoundNeedsAFolderOrAProgram(t *testing.T) {
	s := newSandbox(t)
	if found := Found(s.opts); len(found) > 0 {
		t.Errorf("%v", found)
	}
	s.write(s.path(".claude/x"), "")
	s.write(s.path("bin/codex"), "")
	must(t, os.Chmod(s.path("bin/codex"), 0o700))
	s.env["PATH"] = "relative:" + s.path("bin")
	if found := Found(s.opts); !slices.Equal(found, both()) {
		t.Errorf("%v", found)
	}
}

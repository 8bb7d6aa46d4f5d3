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

func TestHashIsTheOneThatCodexComputes(t *testing.T) {
	thirty, writing := int64(30), "writing packet"
	for _, c := range []struct {
		hook Configured
		want string
	}{
		// Reported by the real client as the current hash of these hooks.
		{Configured{Event: "SessionStart", Kind: "command", Command: "/opt/x/hook.py SessionStart"}, "sha256:8e055fc3c355e1a608c39b4d99891079e632e3ed5733ef6b35b186375cd8e773"},
		{Configured{Event: "PreCompact", Kind: "command", Command: "/opt/x/hook.py PreCompact", Timeout: &thirty, StatusMessage: &writing}, "sha256:cf79b9751203de0b12603f0fd6f5835d3f18678bd20712fe8398fd697ac4cecc"},
		{Configured{Event: "PreCompact", Kind: "command", Command: `"$HOME"/.local/bin/reseat-precompact --runtime codex --home "$HOME"/.local/state/reseat`, Timeout: &thirty}, "sha256:04d94aaf27f4d5769f8acc1c31cbc849ef05dca4d2a0dd76cafd95ee5aad422f"},
	} {
		if got := c.hook.Hash(); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.hook.Event, c.hook.Command, got, c.want)
		}
	}
}

func TestHashLeavesOutWhatCodexLeavesOut(t *testing.T) {
	all, zero := "*", int64(0)
	one := int64(1)
	same := func(a, b Configured) {
		t.Helper()
		if a.Hash() != b.Hash() {
			t.Errorf("%+v and %+v have different hashes", a, b)
		}
	}
	same(Configured{Event: "UserPromptSubmit", Matcher: &all}, Configured{Event: "UserPromptSubmit"})
	same(Configured{Event: "SessionStart", Timeout: &zero}, Configured{Event: "SessionStart", Timeout: &one})
	if (Configured{Event: "PreCompact", Matcher: &all}).Hash() == (Configured{Event: "PreCompact"}).Hash() {
		t.Error("a matcher makes no difference")
	}
}

func TestKeysAreSnakeCasePositions(t *testing.T) {
	if got := (place{"UserPromptSubmit", 1, 2}).key("/h/.codex/config.toml"); got != "/h/.codex/config.toml:user_prompt_submit:1:2" {
		t.Error(got)
	}
}

// foreign is a config.toml with hooks of the user's before and after where ours
// come, approved.
func foreignHook(event, command string) string {
	return fmt.Sprintf("[[hooks.%s]]\n[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %q\n", event, event, command)
}

func approvalOf(s *sandbox, event string, group int, hash string) string {
	return fmt.Sprintf("[hooks.state.%q]\ntrusted_hash = %q\n", place{event, group, 0}.key(keyFile(s.path(".codex/config.toml"))), hash)
}

func TestUninstallMovesTheApprovalsOfTheHooksBehindOurs(t *testing.T) {
	s := newSandbox(t, client.Codex)
	config := s.path(".codex/config.toml")
	first := foreignHook("PreCompact", "first")
	s.write(config, first+approvalOf(s, "PreCompact", 0, "sha256:11"))
	s.install()
	// Two hooks more, behind ours, and their approvals, one of them turned off.
	s.write(config, s.read(config)+foreignHook("PreCompact", "third")+approvalOf(s, "PreCompact", 2, "sha256:33")+
		foreignHook("PreCompact", "fourth")+approvalOf(s, "PreCompact", 3, "sha256:44")+"enabled = false\n")
	s.uninstall()
	now := s.read(config)
	want := first + approvalOf(s, "PreCompact", 0, "sha256:11") + foreignHook("PreCompact", "third") + approvalOf(s, "PreCompact", 1, "sha256:33") +
		foreignHook("PreCompact", "fourth") + approvalOf(s, "PreCompact", 2, "sha256:44") + "enabled = false\n"
	if now != want {
		t.Errorf("got\n%s\nwant\n%s", now, want)
	}
}

func TestTrustWritesOurApprovalsAndUninstallTakesThemOut(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"nothing there":      {},
		"config.toml":        {"config.toml": "model = \"m\""},
		"hooks of another":   {"config.toml": foreignHook("SessionStart", "x")},
		"hooks.json":         {"hooks.json": `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}`},
		"hooks.json and all": {"hooks.json": `{"hooks": {"Stop": []}}`, "config.toml": "model = \"m\"\n[features]\nhooks = true"},
	} {
		for _, scope := range []Scope{User, Project} {
			t.Run(name+"/"+string(scope), func(t *testing.T) {
				s := newSandbox(t, client.Codex)
				s.opts.TrustHooks, s.opts.Scope = true, scope
				dir := s.path(".codex")
				if scope == Project {
					dir = filepath.Join(s.opts.Project, ".codex")
				}
				for file, content := range files {
					s.write(filepath.Join(dir, file), content)
				}
				before := snapshot(t, s.home)
				done := s.install()
				config, err := os.ReadFile(s.path(".codex/config.toml"))
				must(t, err)
				approved := 0
				for _, change := range done.Changes {
					for _, a := range change.Approvals {
						approved++
						if !strings.Contains(string(config), "[hooks.state."+tomlBasic(a.Key)+"]\ntrusted_hash = \""+a.Hash+"\"\n") {
							t.Errorf("%+v isn't in\n%s", a, config)
						}
					}
				}
				if approved != 4 {
					t.Errorf("%d approvals", approved)
				}
				if s.install().Changed() {
					t.Error("the second install changed something")
				}
				s.uninstall()
				must(t, os.RemoveAll(s.path(".local/state")))
				sameSnapshot(t, before, snapshot(t, s.home))
			})
		}
	}
}

func TestReinstallAfterAMoveRenewsOnlyOurApprovals(t *testing.T) {
	s := newSandbox(t, client.Codex)
	s.opts.TrustHooks = true
	config := s.path(".codex/config.toml")
	theirs := foreignHook("PreCompact", "x") + approvalOf(s, "PreCompact", 0, "sha256:11")
	s.write(config, theirs)
	before := snapshot(t, s.home)
	first := s.install().Changes
	old := s.opts.Programs
	s.opts.Programs = s.path("moved")
	must(t, os.Rename(old, s.opts.Programs))
	again := s.install()
	now := s.read(config)
	if !strings.HasPrefix(now, theirs) || strings.Count(now, "trusted_hash") != 5 {
		t.Errorf("%s", now)
	}
	for i, a := range again.Changes[0].Approvals {
		if stale := first[0].Approvals[i]; a.Key != stale.Key || a.Hash == stale.Hash || strings.Contains(now, stale.Hash) || !strings.Contains(now, a.Hash) {
			t.Errorf("%+v, was %+v", a, stale)
		}
	}
	s.uninstall()
	must(t, os.Rename(s.opts.Programs, old))
	must(t, os.RemoveAll(s.path(".local/state")))
	sameSnapshot(t, before, snapshot(t, s.home))
}

func TestTrustRefusesWhatTheUserTurnedOff(t *testing.T) {
	s := newSandbox(t, client.Codex)
	s.install()
	config := s.path(".codex/config.toml")
	s.write(config, s.read(config)+"\n"+approvalOf(s, "PostCompact", 0, "sha256:00")+"enabled = false\n")
	before := s.read(config)
	s.opts.TrustHooks = true
	_, err := s.tryInstall()
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(r.Reason, "PostCompact is turned off") || r.Line == 0 || s.read(config) != before {
		t.Errorf("%v", err)
	}
}

func TestApproveKnowsEverySpellingOfTheApprovals(t *testing.T) {
	const key = "/c/config.toml:pre_compact:0:0"
	approval := []Approval{{Event: "PreCompact", Key: key, Hash: "sha256:new"}}
	for content, want := range map[string]string{
		"": "[hooks.state.\"" + key + "\"]\ntrusted_hash = \"sha256:new\"\n",
		"[hooks.state.\"" + key + "\"]\ntrusted_hash = \"sha256:old\" # x\n":   "[hooks.state.\"" + key + "\"]\ntrusted_hash = \"sha256:new\" # x\n",
		"[hooks.state.'" + key + "'] # x\nenabled = true\n":                    "[hooks.state.'" + key + "']\ntrusted_hash = \"sha256:new\" # x\nenabled = true\n",
		"[hooks.state]\n\"" + key + "\" = { trusted_hash = 'sha256:old' }\n":   "[hooks.state]\n\"" + key + "\" = { trusted_hash = \"sha256:new\" }\n",
		"[hooks.state]\n\"" + key + "\".trusted_hash = \"sha256:old\"\n":       "[hooks.state]\n\"" + key + "\".trusted_hash = \"sha256:new\"\n",
		"hooks.state.\"" + key + "\".trusted_hash = \"sha256:old\"\r\na = 1\r": "",
		"hooks = { state = { \"k\" = { trusted_hash = \"x\" } } }\n":           "",
		"[hooks]\nstate = { }\n": "",
	} {
		edit, err := Approve([]byte(content), approval)
		if want == "" {
			var r *Refusal
			if !errors.As(err, &r) {
				t.Errorf("%q: %v, want a refusal", content, err)
			}
			continue
		}
		if err != nil || string(edit.Data) != want {
			t.Errorf("%q: %q, %v; want %q", content, edit.Data, err, want)
		}
		nothing := Wanted{Client: "none", Getenv: testEnv}
		if err := verifyTOML([]byte(content), edit.Data, nothing, false, nil, approval); err != nil {
			t.Errorf("%q: %v", content, err)
		}
	}
}

func TestHooksJSONIsUsedWhereItHoldsTheHooks(t *testing.T) {
	hooks := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}`
	for name, c := range map[string]struct {
		config, hooks string
		want          string
	}{
		"neither":                 {"", "", "config.toml"},
		"only hooks.json":         {"", hooks, "hooks.json"},
		"only config.toml":        {foreignHook("Stop", "x"), "", "config.toml"},
		"both":                    {foreignHook("Stop", "x"), hooks, "config.toml"},
		"config.toml, no hooks":   {"model = \"m\"\n", hooks, "hooks.json"},
		"hooks.json with no hook": {"", "{}\n", "hooks.json"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t, client.Codex)
			if c.config != "" {
				s.write(s.path(".codex/config.toml"), c.config)
			}
			if c.hooks != "" {
				s.write(s.path(".codex/hooks.json"), c.hooks)
			}
			before := snapshot(t, s.home)
			s.install()
			for _, file := range []string{"config.toml", "hooks.json"} {
				data, _ := os.ReadFile(s.path(".codex/" + file))
				if has := strings.Contains(string(data), Precompact); has != (file == c.want) {
					t.Errorf("%s: our entries there: %v", file, has)
				}
			}
			s.uninstall()
			must(t, os.RemoveAll(s.path(".local/state")))
			sameSnapshot(t, before, snapshot(t, s.home))
		})
	}
}

func TestInstallLeavesOurEntriesInOneRepresentation(t *testing.T) {
	s := newSandbox(t, client.Codex)
	s.write(s.path(".codex/config.toml"), "model = \"m\"\n")
	s.install()
	config := s.read(s.path(".codex/config.toml"))
	// Somebody copied all hooks into a hooks.json.
	edit, err := InstallJSON(nil, func() Wanted { w, _ := s.opts.wanted(client.Codex, User); return w }())
	must(t, err)
	s.write(s.path(".codex/hooks.json"), string(edit.Data))
	s.install()
	if got := s.read(s.path(".codex/config.toml")) + s.read(s.path(".codex/hooks.json")); strings.Count(got, Precompact) != 1 {
		t.Errorf("%s", got)
	}
	_ = config
}

// TestCopyForCodexHasTheSamePlaces checks the file that a codex program is shown.
func TestCopyForCodexHasTheSamePlaces(t *testing.T) {
	g := newGenerator(3)
	for range 300 {
		src := g.toml()
		all, err := configured(src, false)
		must(t, err)
		again, err := configured([]byte(copyOf(all)), false)
		must(t, err)
		if len(again) != len(all) {
			t.Fatalf("%d hooks, want %d", len(again), len(all))
		}
		for i, c := range all {
			if a := again[i]; a.Event != c.Event || a.Group != c.Group || a.Index != c.Index || a.Hash() != c.Hash() {
				t.Fatalf("%+v, want %+v, in\n%s", a, c, copyOf(all))
			}
		}
	}
}

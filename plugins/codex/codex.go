// Package codex is the runtime adapter for Codex.
//
// A thread that a daemon holds is reached through the daemon's control socket,
// one in a terminal of its own through its pane, and one that nobody has open
// through an app-server of ours. Starting a compaction on a busy thread kills
// its turn, so nothing is started before the thread is known to be idle. Writer
// locks, rollouts and the process table are read, never touched; auth.json is
// never opened (promise 1).
package codex

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// Options are what the adapter is told about its surroundings.
type Options struct {
	Version string              // of the adapter
	Getenv  func(string) string // os.Getenv
}

// Adapter knows Codex. It is a [plugins.Runtime].
type Adapter struct {
	version string
	home    string // CODEX_HOME, links resolved where it is there
	program string // "" if none was found
	getenv  func(string) string
	now     func() time.Time
	table   func() (proctable.Table, error)
}

var _ plugins.Runtime = (*Adapter)(nil)

// New makes an adapter for the CODEX_HOME that the environment names.
func New(o Options) *Adapter {
	cwd, _ := os.Getwd()
	home := client.Codex.ConfigDir(o.Getenv, o.Getenv("HOME"), cwd)
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	program, err := exec.LookPath("codex")
	if err != nil {
		program = ""
	}
	return &Adapter{version: o.Version, home: home, program: program, getenv: o.Getenv, now: time.Now, table: proctable.Read}
}

// KeyVariables lists the names of the variables in which the configured model
// providers look for their keys: an app-server of ours needs them as the
// person's own client does. Only names are read; a configuration that can't be
// read has none.
func KeyVariables(getenv func(string) string) []string {
	cwd, _ := os.Getwd()
	var c struct {
		Providers map[string]struct {
			Key     string            `toml:"env_key"`
			Headers map[string]string `toml:"env_http_headers"`
		} `toml:"model_providers"`
	}
	if _, err := toml.DecodeFile(filepath.Join(client.Codex.ConfigDir(getenv, getenv("HOME"), cwd), "config.toml"), &c); err != nil {
		return nil
	}
	var names []string
	for _, p := range c.Providers {
		names = append(names, p.Key)
		for _, variable := range p.Headers {
			names = append(names, variable)
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(n string) bool { return n == "" || strings.HasSuffix(n, "_") })
}

// Describe says what the adapter is.
func (a *Adapter) Describe(context.Context) (plugins.Description, error) {
	return plugins.Description{
		Client: string(client.Codex), Title: client.Codex.Title(), AdapterVersion: a.version,
		ClientVersions: []string{"0.171.0", "0.139.0", "0.133.0"},
		ClientProgram:  a.program, InstalledVersion: versionOf(a.program),
		Capabilities: []plugins.Capability{
			plugins.CanSessions, plugins.CanUsage, plugins.CanTurnLive, plugins.CanTurnClosed,
			plugins.CanCompactLive, plugins.CanCompactClosed, plugins.CanLaunch,
		},
		Hooks: []plugins.HookTrust{
			{Event: "PreCompact", Since: "0.129.0", Note: "no proof: it also runs before a compaction that fails"},
			{Event: "PostCompact", Since: "0.129.0", Note: "runs only after a compaction that worked; this is what arms a record"},
			{Event: "SessionStart", Since: "0.133.0", Note: "with source compact it waits for the next turn, queues up, and is lost with the process"},
			{Event: "UserPromptSubmit", Since: "0.129.0"},
		},
	}, nil
}

// versionOf tells the installed client's version without starting it, from the
// npm package around the program. "" where there is none.
func versionOf(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if program == "" || err != nil {
		return ""
	}
	for dir, steps := filepath.Dir(real), 0; steps < 6; dir, steps = filepath.Dir(dir), steps+1 {
		data, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err != nil {
			continue
		}
		var manifest struct{ Name, Version string }
		if json.Unmarshal(data, &manifest) == nil && strings.HasPrefix(manifest.Name, "@openai/codex") {
			version, _, _ := strings.Cut(manifest.Version, "-") // platform packages append theirs
			return version
		}
		return ""
	}
	return ""
}

// Launch makes the client's command line: the person's own. Codex has no
// compaction of idle sessions to switch off.
func (a *Adapter) Launch(_ context.Context, r plugins.LaunchRequest) (plugins.Launch, error) {
	program := a.program
	launch := plugins.Launch{Environment: r.Environment}
	if program == "" {
		program = "codex"
		launch.Caveats = append(launch.Caveats, "no codex was found on the PATH")
	}
	launch.Command = append([]string{program}, r.Arguments...)
	return launch, nil
}

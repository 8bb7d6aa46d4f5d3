// Package claude is the runtime adapter for Claude Code.
//
// A session that somebody has open is compacted through its terminal pane, one
// that nobody has open through a headless client of ours, and never both: the
// client itself lets two processes write one transcript. What is known comes
// from sessions/<pid>.json, the process table, the screen and the transcript,
// all read-only; *.key files and credentials are never opened (promise 1).
package claude

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// Options are what the adapter is told about its surroundings.
type Options struct {
	Version string              // of the adapter
	Getenv  func(string) string // os.Getenv
	Home    state.Home          // our state, for status-line samples; "" if unknown
}

// Adapter knows Claude Code. It is a [plugins.Runtime].
type Adapter struct {
	version string
	config  string // the client's configuration folder
	program string // "" if none was found
	home    state.Home
	getenv  func(string) string
	now     func() time.Time
	table   func() (proctable.Table, error)
}

var _ plugins.Runtime = (*Adapter)(nil)

// New makes an adapter for the configuration folder that the environment names.
func New(o Options) *Adapter {
	cwd, _ := os.Getwd()
	return &Adapter{
		version: o.Version,
		config:  client.Claude.ConfigDir(o.Getenv, o.Getenv("HOME"), cwd),
		program: findProgram(o.Getenv),
		home:    o.Home,
		getenv:  o.Getenv,
		now:     time.Now,
		table:   proctable.Read,
	}
}

// findProgram looks where the client's own installers put it, the PATH first.
func findProgram(getenv func(string) string) string {
	if path, err := exec.LookPath("claude"); err == nil {
		return path
	}
	for _, below := range []string{".local/bin/claude", ".claude/local/claude"} {
		path := filepath.Join(getenv("HOME"), filepath.FromSlash(below))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// Describe says what the adapter is.
func (a *Adapter) Describe(context.Context) (plugins.Description, error) {
	return plugins.Description{
		Client: string(client.Claude), Title: client.Claude.Title(), AdapterVersion: a.version,
		ClientVersions: []string{"2.1.332", "2.1.322", "2.1.197"},
		ClientProgram:  a.program, InstalledVersion: versionOf(a.program),
		Capabilities: []plugins.Capability{
			plugins.CanSessions, plugins.CanUsage, plugins.CanTurnLive, plugins.CanTurnClosed,
			plugins.CanCompactLive, plugins.CanCompactClosed, plugins.CanLaunch, plugins.CanInstructions,
		},
		Hooks: []plugins.HookTrust{
			{Event: "PreCompact", UnmarkedSubagents: true, MarkedSince: "2.1.324", Note: "can fire with no compaction after it, and twice for one"},
			{Event: "SessionStart", UnmarkedSubagents: true, MarkedSince: "2.1.324", Note: "with source compact it comes before PostCompact; a fork is reported as one since 2.1.214"},
			{Event: "PostCompact", UnmarkedSubagents: true, MarkedSince: "2.1.324", Note: "cannot carry context"},
			{Event: "UserPromptSubmit", Note: "also fires for a background task's end, which nobody typed"},
		},
	}, nil
}

// versionOf tells the installed client's version without starting it: the
// native installer names the program after it, npm puts a package.json beside
// it. "" where neither is so.
func versionOf(program string) string {
	real, err := filepath.EvalSymlinks(program)
	if program == "" || err != nil {
		return ""
	}
	if name := filepath.Base(real); looksLikeVersion(name) {
		return name
	}
	data, err := os.ReadFile(filepath.Join(filepath.Dir(real), "package.json"))
	if err != nil {
		return ""
	}
	var manifest struct{ Name, Version string }
	if json.Unmarshal(data, &manifest) != nil || !strings.HasPrefix(manifest.Name, "@anthropic-ai/claude-code") {
		return ""
	}
	return manifest.Version
}

func looksLikeVersion(s string) bool {
	_, ok := parseVersion(s)
	return ok
}

// parseVersion reads "2.1.332".
func parseVersion(s string) (v [3]int, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 3 {
		return v, false
	}
	for i, part := range parts {
		if part == "" || len(part) > 6 {
			return v, false
		}
		for _, r := range part {
			if r < '0' || r > '9' {
				return v, false
			}
			v[i] = v[i]*10 + int(r-'0')
		}
	}
	return v, true
}

// before says whether version s is known to be older than v.
func before(s string, v [3]int) bool {
	have, ok := parseVersion(s)
	if !ok {
		return false
	}
	for i := range have {
		if have[i] != v[i] {
			return have[i] < v[i]
		}
	}
	return false
}

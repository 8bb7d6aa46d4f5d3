package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/internal/version"
	"github.com/reseat-dev/reseat/packet/redact"
)

// noVersion: a command runs outside a client.
func noVersion(hooks.Event) string { return "" }

func configCommand() command {
	return command{
		name: "config", short: "a commented sample of the configuration, or what is in force",
		example: "reseat config > ~/.config/reseat/config.toml\nreseat config --effective",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			effective := f.Bool("effective", false, "check the file and print what is in force")
			path := f.Bool("path", false, "print only where the file is looked for")
			return func(_ context.Context, c *call) int { return c.config(*effective, *path) }
		},
	}
}

func (c *call) config(effective, path bool) int {
	home, err := c.state()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	file := config.Path(c.getenv, c.getenv("HOME"), string(home))
	switch {
	case path:
		c.printf("%s\n", file)
		return exitOK
	case !effective:
		c.printf("%s", config.Sample())
		return exitOK
	}
	cfg, err := config.Load(file)
	if err != nil {
		return c.failConfig(err)
	}
	if _, err := redact.New(redact.Options{Patterns: cfg.Redact.Patterns, LeaveOut: cfg.Redact.LeaveOutPaths}); err != nil {
		return c.fail(exitNo, fmt.Errorf("reading %q: %w", file, err), "mend it under [redact]; until then packets are made without it, and say so")
	}
	c.printf("# from %s\n", file)
	if err := cfg.Effective(c.stdout); err != nil {
		return c.fail(exitUnknown, err, "")
	}
	return exitOK
}

func (c *call) failConfig(err error) int {
	var problem *config.Error
	if errors.As(err, &problem) {
		return c.fail(exitNo, err, problem.Remedy)
	}
	return c.fail(exitNo, err, "")
}

func versionCommand() command {
	return command{
		name: "version", short: "the versions of all our programs, and whether they match",
		example: "reseat version --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int { return c.version(ctx, *asJSON) }
		},
	}
}

// programVersion is what one of our programs says of itself.
type programVersion struct {
	Program string `json:"program"`
	Path    string `json:"path"`
	Version string `json:"version"` // "" where it couldn't be asked
	Fault   string `json:"fault,omitempty"`
}

func (c *call) version(ctx context.Context, asJSON bool) int {
	dir, err := programsDir()
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	all := []programVersion{{Program: "reseat", Path: filepath.Join(dir, exe("reseat")), Version: version.Number}}
	for _, name := range []string{"reseat-precompact", "reseat-directive", "reseat-runtime-claude", "reseat-runtime-codex"} {
		all = append(all, askVersion(ctx, dir, name))
	}
	code := exitOK
	for _, p := range all {
		if p.Version != version.Number {
			code = exitNo
		}
	}
	if asJSON {
		c.json(all)
		return code
	}
	commit, modified := version.Revision()
	if len(commit) > 12 {
		commit = commit[:12]
	}
	if modified {
		commit += ", modified"
	}
	for _, p := range all {
		c.printf("%-22s %s%s\n", p.Program, orWord(p.Version, p.Fault), mismatch(p.Version))
	}
	if commit != "" {
		c.printf("built from             %s\n", commit)
	}
	if code != exitOK {
		c.fail(code, errors.New("the programs don't match"), "install them together: make install")
	}
	return code
}

func mismatch(v string) string {
	if v == version.Number || v == "" {
		return ""
	}
	return "  (this is " + version.Number + ")"
}

func askVersion(ctx context.Context, dir, name string) programVersion {
	p := programVersion{Program: name, Path: filepath.Join(dir, exe(name))}
	out, err := exec.CommandContext(ctx, p.Path, "--version").Output()
	if err != nil {
		p.Fault = fmt.Sprintf("can't be run (%v)", err)
		return p
	}
	_, p.Version, _ = strings.Cut(strings.TrimSpace(string(out)), " ")
	return p
}

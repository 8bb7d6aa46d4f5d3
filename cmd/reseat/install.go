package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/installer/roundtrip"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

type installFlags struct {
	clients, scope string
	dryRun, yes    bool
	trust, noRead  bool
	line, noLine   bool
	roundTrip      bool
	json           bool
}

func (f *installFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.clients, "client", "", "claude, codex or all (default: those found on this machine)")
	set.StringVar(&f.scope, "scope", "user", "user, project or local (Codex: user or project)")
	set.BoolVarP(&f.dryRun, "dry-run", "n", false, "show the diff, write nothing")
	set.BoolVarP(&f.yes, "yes", "y", false, "don't ask")
	set.BoolVar(&f.json, "json", false, "print JSON; never asks")
}

func installCommand() command {
	return command{
		name: "install", short: "put the hooks into the clients' configurations",
		long: `Only reseat's own bytes are added; everything else in a file stays as it is, and
reseat uninstall gives the file back. What can't be edited safely is refused with
file, line and remedy. Running it twice changes nothing.`,
		example: "reseat install --dry-run\nreseat install --client codex --trust-hooks\nreseat install --client claude --statusline",
		setup: func(set *pflag.FlagSet) func(context.Context, *call) int {
			f := &installFlags{}
			f.register(set)
			set.BoolVar(&f.trust, "trust-hooks", false, "write Codex's approval for exactly our own hooks")
			set.BoolVar(&f.noRead, "no-allow-read", false, "leave out Claude Code's permission to read our packets")
			set.BoolVar(&f.line, "statusline", false, "put a keeper of usage samples before your own Claude Code status line")
			set.BoolVar(&f.noLine, "no-statusline", false, "give your own status line back, keep the hooks")
			set.BoolVar(&f.roundTrip, "round-trip", false, "then take a made-up session through the programs and show it")
			return func(ctx context.Context, c *call) int { return c.install(ctx, f) }
		},
	}
}

func uninstallCommand() command {
	return command{
		name: "uninstall", short: "take the hooks out and give the files back",
		long: `Without --client and --scope every file is covered that install has written, and
the user's own. What others changed in between stays.`,
		example: "reseat uninstall --dry-run",
		setup: func(set *pflag.FlagSet) func(context.Context, *call) int {
			f := &installFlags{}
			f.register(set)
			set.Lookup("scope").DefValue = ""
			f.scope = ""
			return func(ctx context.Context, c *call) int { return c.uninstall(ctx, f) }
		},
	}
}

func (c *call) installOptions(f *installFlags) (installer.Options, error) {
	home, err := c.state()
	if err != nil {
		return installer.Options{}, err
	}
	programs, err := programsDir()
	if err != nil {
		return installer.Options{}, err
	}
	project, err := os.Getwd()
	if err != nil {
		return installer.Options{}, err
	}
	o := installer.Options{
		Home: c.getenv("HOME"), State: home, Programs: programs, Project: project, Getenv: c.getenv,
		NoAllowRead: f.noRead, TrustHooks: f.trust, StatusLine: f.line, NoStatusLine: f.noLine,
	}
	if f.scope != "" {
		if o.Scope, err = installer.ParseScope(f.scope); err != nil {
			return o, err
		}
	}
	o.Clients, err = parseClients(f.clients)
	return o, err
}

func parseClients(s string) ([]client.Client, error) {
	if s == "" {
		return nil, nil
	}
	if s == "all" {
		return client.All(), nil
	}
	var all []client.Client
	for _, name := range strings.Split(s, ",") {
		c, err := client.Parse(name)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// programsDir is the folder of our programs, by the path that stays when a
// version is replaced: a link in PATH is kept, not followed.
func programsDir() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding our own programs: %w", err)
	}
	real, err := filepath.EvalSymlinks(self)
	if err != nil {
		return "", fmt.Errorf("finding our own programs: %w", err)
	}
	if found, err := exec.LookPath("reseat"); err == nil && filepath.IsAbs(found) {
		if behind, err := filepath.EvalSymlinks(found); err == nil && behind == real {
			return filepath.Dir(found), nil
		}
	}
	return filepath.Dir(self), nil
}

func (c *call) install(ctx context.Context, f *installFlags) int {
	o, err := c.installOptions(f)
	if err != nil {
		return c.usage("%v", err)
	}
	if len(o.Clients) == 0 && len(installer.Found(o)) == 0 {
		if !f.roundTrip {
			return c.fail(exitNo, errors.New("no client found: neither Claude Code nor Codex is here"), "name one with --client")
		}
		c.printf("clients   none found here; once there is one, run: reseat install\n")
		return c.showRoundTrip(ctx, o, client.All())
	}
	plan, err := installer.PlanInstall(o)
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	code := c.carryOut(ctx, plan, f, o.State.Backups())
	if code != exitOK || f.dryRun || f.json || !f.roundTrip {
		return code
	}
	clients := o.Clients
	if len(clients) == 0 {
		clients = installer.Found(o)
	}
	return c.showRoundTrip(ctx, o, clients)
}

func (c *call) uninstall(ctx context.Context, f *installFlags) int {
	o, err := c.installOptions(f)
	if err != nil {
		return c.usage("%v", err)
	}
	plan, err := installer.PlanUninstall(o)
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	return c.carryOut(ctx, plan, f, o.State.Backups())
}

// carryOut shows a plan, asks on a terminal, and does it.
func (c *call) carryOut(ctx context.Context, plan *installer.Plan, f *installFlags, backups string) int {
	if !f.json {
		c.showPlan(plan)
	}
	refused := len(plan.Refusals) > 0
	if !f.dryRun && plan.Changed() {
		if !f.yes && !f.json && c.onTerminal() && !c.agreed() {
			c.printf("nothing was written\n")
			return exitNo
		}
		done, err := plan.Apply(ctx)
		if err != nil && done == nil {
			return c.fail(exitNo, err, "")
		}
		if err != nil && len(done.Refusals) == 0 {
			return c.fail(exitNo, err, "")
		}
		plan = done
		if !f.json {
			c.showWritten(plan, backups)
		}
		refused = refused || len(done.Refusals) > 0
	}
	if f.json {
		c.json(plan)
	}
	for _, r := range plan.Refusals {
		c.fail(exitNo, r, r.Hint)
	}
	if refused {
		return exitNo
	}
	if !f.json {
		for _, line := range plan.Next {
			c.printf("%s\n", wrap(line, 0, 79))
		}
	}
	return exitOK
}

func (c *call) showPlan(plan *installer.Plan) {
	for _, change := range plan.Changes {
		if plan.Changed() && change.Action == installer.ActionNone && len(change.Notes) == 0 {
			continue
		}
		where := change.Path
		if change.Target != "" {
			where += " (really " + change.Target + ")"
		}
		c.printf("%-9s %s: %s\n", change.Client, where, actionWords(change.Action))
		if change.Diff != "" {
			c.printf("%s", change.Diff)
		}
		for _, a := range change.Approvals {
			c.printf("  approve %s\n          %s\n", a.Key, a.Hash)
		}
		for _, note := range change.Notes {
			c.printf("%s\n", wrap(note, 2, 79))
		}
	}
}

func actionWords(action string) string {
	switch action {
	case installer.ActionNone:
		return "nothing to change"
	case installer.ActionCreate:
		return "is made"
	case installer.ActionRemove:
		return "goes again"
	}
	return "is edited"
}

func (c *call) showWritten(plan *installer.Plan, backups string) {
	for _, change := range plan.Changes {
		if change.Action == installer.ActionNone {
			continue
		}
		c.printf("written   %s\n", change.Path)
		if change.Backup != "" {
			c.printf("  before  %s\n", filepath.Join(backups, change.Backup))
		}
	}
}

// onTerminal reports whether a person can be asked.
func (c *call) onTerminal() bool { return isTerminal(c.stdin) && isTerminal(c.stdout) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func (c *call) agreed() bool {
	c.printf("write this? [y/N] ")
	line, err := bufio.NewReader(c.stdin).ReadString('\n')
	answer := strings.ToLower(strings.TrimSpace(line))
	return err == nil && (answer == "y" || answer == "yes")
}

// showRoundTrip takes a made-up session of each client through the programs.
func (c *call) showRoundTrip(ctx context.Context, o installer.Options, clients []client.Client) int {
	p := roundtrip.Programs{
		Precompact: filepath.Join(o.Programs, exe(installer.Precompact)),
		Directive:  filepath.Join(o.Programs, exe(installer.Directive)),
	}
	for i, which := range clients {
		r, err := roundtrip.Run(ctx, p, which)
		if err != nil {
			return c.fail(exitNo, fmt.Errorf("the round trip failed: %w", err), "see: reseat doctor")
		}
		c.printf("\nround trip of a made-up %s session, in a throw-away home\n", which.Title())
		for _, s := range r.Steps {
			c.printf("  %-17s %-17s %5.1f ms\n", s.Event, s.Program, float64(s.Took.Microseconds())/1000)
		}
		if i > 0 {
			continue
		}
		c.printf("  packet\n")
		for _, file := range r.Files {
			c.printf("    %s\n", file)
		}
		c.printf("  directive, once\n%s\n", indentLines(r.Directive, "    ", 79))
	}
	c.printf("\nlook: reseat status, reseat show     off: reseat off     undo: make uninstall\n")
	return exitOK
}

func indentLines(text, pad string, width int) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		fmt.Fprintln(&b, wrap(line, len(pad), width))
	}
	return strings.TrimRight(b.String(), "\n")
}

func exe(name string) string {
	if os.PathSeparator == '\\' {
		return name + ".exe"
	}
	return name
}

// configFolder is a client's configuration that install has written.
type configFolder struct {
	Client    client.Client `json:"client"`
	Scope     string        `json:"scope"`
	Path      string        `json:"path"`
	Installed time.Time     `json:"installed"`
}

func (f configFolder) String() string {
	return fmt.Sprintf("%-6s %s (%s, since %s)", f.Client, f.Path, f.Scope, f.Installed.Local().Format(time.DateOnly))
}

// configFolders are those that receipts name.
func (c *call) configFolders(home state.Home) []configFolder {
	receipts, _ := installer.Receipts(home) // one that can't be read is the doctor's business
	var all []configFolder
	for _, r := range receipts {
		all = append(all, configFolder{r.Client, string(r.Scope), r.Path, r.Installed})
	}
	return all
}

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins/codex"
	"github.com/reseat-dev/reseat/plugins/host"
	"github.com/reseat-dev/reseat/plugins/runtimetest"
)

// adapters are the runtime adapters that a command may use.
func (c *call) adapters() (home state.Home, cfg *config.Config, found []host.Adapter, err error) {
	if home, err = c.state(); err != nil {
		return "", nil, nil, err
	}
	if err := home.Check(); err != nil {
		return "", nil, nil, err
	}
	if cfg, err = config.Load(config.Path(c.getenv, c.getenv("HOME"), string(home))); err != nil {
		return "", nil, nil, err
	}
	dir, err := programsDir()
	if err != nil {
		return "", nil, nil, err
	}
	found, err = host.Find(host.Place{Beside: dir, Home: home, Configured: cfg.Plugins.Paths})
	return home, cfg, found, err
}

func (c *call) settings(home state.Home) host.Settings {
	return host.Settings{
		Home: string(home), Environ: os.Environ(),
		Allow: map[string][]string{string(client.Codex): codex.KeyVariables(c.getenv)},
	}
}

// failAdapter says why an adapter can't be used, with the remedy if it has one.
func (c *call) failAdapter(err error) int {
	var refused *host.RefusedError
	var problem *config.Error
	switch {
	case errors.As(err, &refused):
		return c.fail(exitNo, err, refused.Hint())
	case errors.As(err, &problem):
		return c.fail(exitNo, err, problem.Remedy)
	case errors.Is(err, host.ErrNoAdapter):
		return c.fail(exitNo, err, "see: reseat plugin list")
	case errors.Is(err, state.ErrNewer):
		return c.fail(exitNo, err, "install the newer reseat again")
	}
	return c.fail(exitUnknown, err, "")
}

func pluginListCommand() command {
	return command{
		name: "plugin list", short: "runtime adapters: which there are and which may run",
		example: "reseat plugin list --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			return func(_ context.Context, c *call) int { return c.pluginList(*asJSON) }
		},
	}
}

// listed is an adapter as plugin list --json shows it.
type listed struct {
	host.Adapter
	Refused string `json:"refused,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
}

func (c *call) pluginList(asJSON bool) int {
	_, _, found, err := c.adapters()
	if err != nil {
		return c.failAdapter(err)
	}
	all := make([]listed, 0, len(found))
	for _, a := range found {
		l := listed{Adapter: a}
		var refused *host.RefusedError
		if a.Refuse != nil {
			l.Refused = a.Refuse.Error()
		}
		if errors.As(a.Refuse, &refused) {
			l.Refused, l.Remedy = refused.Reason, refused.Remedy
		}
		all = append(all, l)
	}
	if asJSON {
		return c.json(all)
	}
	for _, l := range all {
		c.printf("%-12s %s\n", l.Client, l.Path)
		c.printf("%-12s %s\n", "", strings.Join(l.words(), ", "))
		if l.Remedy != "" {
			c.printf("%-12s %s\n", "", l.Remedy)
		}
	}
	if len(all) == 0 {
		c.printf("no runtime adapter was found beside reseat, in its state folder or in the configuration\n")
	}
	return exitOK
}

// words say where an adapter is from and whether it may run.
func (l listed) words() []string {
	words := []string{"from the " + map[host.Origin]string{
		host.FromConfig: "configuration", host.FromHome: "state folder", host.FromPackage: "package",
	}[l.Origin]}
	switch {
	case l.Refused != "":
		words = append(words, "refused: "+l.Refused)
	case l.Ours:
		words = append(words, "ours")
	default:
		words = append(words, "allowed "+when(l.Pin.AllowedAt))
	}
	if l.Hidden {
		words = append(words, "not used: another one comes first")
	}
	return words
}

func pluginInfoCommand() command {
	return command{
		name: "plugin info", args: "CLIENT", short: "what a runtime adapter says of itself and its client",
		example: "reseat plugin info claude",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int {
				if len(c.args) != 1 {
					return c.usage("plugin info needs one CLIENT")
				}
				return c.pluginInfo(ctx, c.args[0], *asJSON)
			}
		},
	}
}

func (c *call) pluginInfo(ctx context.Context, name string, asJSON bool) int {
	home, _, found, err := c.adapters()
	if err != nil {
		return c.failAdapter(err)
	}
	lineup := host.NewLineup(found, c.settings(home))
	defer lineup.Close()
	r, err := lineup.Get(ctx, name)
	if err != nil {
		return c.failAdapter(err)
	}
	d := r.Description()
	if asJSON {
		return c.json(d)
	}
	c.printf("%s (%s), adapter %s\n", d.Title, d.Client, d.AdapterVersion)
	c.printf("program    %s\n", r.Adapter().Path)
	c.printf("client     %s\n", orWord(d.ClientProgram, "not found"))
	c.printf("version    %s\n", orWord(d.InstalledVersion, "unknown"))
	c.printf("tried with %s\n", strings.Join(d.ClientVersions, ", "))
	words := make([]string, 0, len(d.Capabilities))
	for _, can := range d.Capabilities {
		words = append(words, string(can))
	}
	c.printf("can        %s\n", strings.Join(words, ", "))
	for _, h := range d.Hooks {
		c.printf("hook       %s\n", hookWords(h.Event, h.Since, h.UnmarkedSubagents, h.MarkedSince, h.Note))
	}
	return exitOK
}

func hookWords(event, since string, unmarked bool, marked, note string) string {
	text := event
	if since != "" {
		text += ", since " + since
	}
	if unmarked {
		text += ", before " + marked + " a subagent's looks the same"
	}
	if note != "" {
		text += ": " + note
	}
	return text
}

func pluginVerifyCommand() command {
	return command{
		name: "plugin verify", args: "CLIENT", short: "check that an adapter keeps the contract, and allow a stranger's",
		long: `The adapter is started and asked what the test kit for adapters asks; no client
is started and no session touched. One that isn't part of reseat runs only as it
was when you allowed it: --allow notes its checksum, and it is refused once the
program changes. It may use variables of your environment that you name with --env.`,
		example: "reseat plugin verify claude\nreseat plugin verify myagent --allow --env MYAGENT_HOME",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			allow := f.Bool("allow", false, "allow this program, as it is now")
			env := f.StringArray("env", nil, "with --allow: a variable that it may have; a name that ends in _ is a prefix")
			return func(ctx context.Context, c *call) int {
				if len(c.args) != 1 {
					return c.usage("plugin verify needs one CLIENT")
				}
				if len(*env) > 0 && !*allow {
					return c.usage("--env goes with --allow")
				}
				return c.pluginVerify(ctx, c.args[0], *allow, *env)
			}
		},
	}
}

func (c *call) pluginVerify(ctx context.Context, name string, allow bool, env []string) int {
	home, _, found, err := c.adapters()
	if err != nil {
		return c.failAdapter(err)
	}
	adapter, ok := host.For(found, name)
	if !ok {
		return c.failAdapter(fmt.Errorf("%q: %w", name, host.ErrNoAdapter))
	}
	sum, err := host.Checksum(adapter.Path)
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	c.printf("%s\nsha256 %s\n", adapter.Path, hex.EncodeToString(sum))
	if allow && !adapter.Ours {
		if _, err := host.Allow(home, adapter, env, time.Now()); err != nil {
			return c.failAdapter(err)
		}
		if _, _, found, err = c.adapters(); err != nil {
			return c.failAdapter(err)
		}
		c.printf("allowed\n")
	}
	lineup := host.NewLineup(found, c.settings(home))
	defer lineup.Close()
	r, err := lineup.Get(ctx, name)
	if err != nil {
		return c.failAdapter(err)
	}
	return c.pluginChecks(runtimetest.Verify(ctx, r))
}

func (c *call) pluginChecks(checks []runtimetest.Check) int {
	failed := 0
	for _, check := range checks {
		switch {
		case check.Err != nil:
			failed++
			c.printf("FAIL  %s: %v\n", check.Name, check.Err)
		case check.Skipped != "":
			c.printf("skip  %s: %s\n", check.Name, check.Skipped)
		default:
			c.printf("ok    %s\n", check.Name)
		}
	}
	if failed > 0 {
		return c.fail(exitNo, fmt.Errorf("%d of %d checks failed", failed, len(checks)), "the contract: plugins/runtimepb/runtime.proto")
	}
	return exitOK
}

func statuslineCommand() command {
	return command{
		name: "statusline", short: "for the client: keep a usage sample and be your own status line",
		long: `reseat install --statusline puts this in place of your own status line, which it
runs with the same input. Claude Code gives it the session's usage on stdin.`,
		example: `reseat statusline --own "$HOME/bin/my-status-line" < sample.json`,
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			own := f.String("own", "", "your own status line's command")
			return func(ctx context.Context, c *call) int { return c.statusline(ctx, *own) }
		},
	}
}

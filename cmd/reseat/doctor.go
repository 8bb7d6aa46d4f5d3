package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge/compact"
	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/installer/doctor"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

func doctorCommand() command {
	return command{
		name: "doctor", short: "find out why a hook doesn't fire",
		long: `It looks at everything a client needs to run the hooks and runs the very command
strings of the configuration on a throw-away state. --live goes further: the
installed client itself compacts a made-up session in a throw-away home against
a stub model on loopback. No account, no tokens and no network are used.`,
		example: "reseat doctor\nreseat doctor --live --client claude",
		setup: func(set *pflag.FlagSet) func(context.Context, *call) int {
			clients := set.String("client", "", "claude, codex or all (default: those found)")
			live := set.Bool("live", false, "prove it with the installed client")
			all := set.Bool("all", false, "show the evidence of what is in order, too")
			asJSON := set.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int {
				o, err := c.installOptions(&installFlags{clients: *clients})
				if err != nil {
					return c.usage("%v", err)
				}
				return c.doctor(ctx, o, *live, *all, *asJSON)
			}
		},
	}
}

func (c *call) doctor(ctx context.Context, o installer.Options, live, all, asJSON bool) int {
	var r doctor.Report
	if live {
		started := time.Now()
		r = doctor.Live(ctx, doctor.LiveOptions{Install: o, Progress: func(which client.Client, what string) {
			if !asJSON {
				fmt.Fprintf(c.stderr, "%5.1f s  %-6s %s\n", time.Since(started).Seconds(), which, what)
			}
		}})
	} else {
		r = doctor.Check(ctx, doctor.Options{Install: o, Now: time.Now, Watchers: watchers(o.State)})
	}
	if asJSON {
		c.json(r)
		return r.ExitCode()
	}
	if err := r.WriteText(c.stdout, all); err != nil {
		return c.fail(exitUnknown, err, "")
	}
	return r.ExitCode()
}

// watchers is the watcher that is at work on this state, if there is one.
func watchers(home state.Home) map[string]string {
	pid, number, running := compact.Watching(home)
	if !running || number == "" {
		return nil
	}
	return map[string]string{fmt.Sprintf("the running watcher (process %d)", pid): number}
}

package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/bridge/compact"
	"github.com/reseat-dev/reseat/bridge/seat"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/plugins/host"
)

func compactPlanCommand() command {
	return command{
		name: "compact-plan", short: "which seats to compact, in which order, and why not the others; read-only",
		long: `Bound seats and live sessions are judged by how full their contexts are. Nothing
is compacted, typed or started; each client's adapter is asked once.`,
		example: "reseat compact-plan\nreseat compact-plan --rig my-rig --threshold-tokens 150000 --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			t := &compact.Thresholds{}
			f.Int64Var(&t.Tokens, "threshold-tokens", compact.DefaultThresholdTokens, "from how many tokens on a seat is a candidate")
			f.Float64Var(&t.Percent, "threshold-percent", compact.DefaultThresholdPercent, "the same in percent, where the window's size isn't known")
			rig := f.String("rig", "", "only the seats of this rig")
			f.Bool("refresh", false, "samples are always read anew: accepted for scripts of the v0 tools")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int {
				if len(c.args) > 0 {
					return c.usage("compact-plan takes no arguments")
				}
				if err := t.Validate(); err != nil {
					return c.usage("%v", err)
				}
				return c.compactPlan(ctx, *t, *rig, *asJSON)
			}
		},
	}
}

func (c *call) compactPlan(ctx context.Context, t compact.Thresholds, rig string, asJSON bool) int {
	b, err := c.bridge()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	seats, err := boundSeats(ctx, b)
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	if rig != "" {
		seats = slices.DeleteFunc(seats, func(s compact.Seat) bool { return s.Rig() != rig })
		if len(seats) == 0 {
			return c.fail(exitNo, fmt.Errorf("no seat of rig %q is known", rig), "see: reseat seat list")
		}
	}
	home, _, found, err := c.adapters()
	if err != nil {
		return c.failAdapter(err)
	}
	lineup := host.NewLineup(found, c.settings(home))
	defer lineup.Close()
	survey := compact.Look(ctx, seats, lineup.Clients(), adaptersOf(lineup), time.Now())
	if rig != "" {
		survey.Standings = slices.DeleteFunc(survey.Standings, func(s compact.Standing) bool { return s.Seat.Rig() != rig })
	}
	plan := compact.MakePlan(survey, t)
	if asJSON {
		return c.json(plan)
	}
	if err := plan.WriteTable(c.stdout); err != nil {
		return c.fail(exitUnknown, err, "")
	}
	return exitOK
}

// boundSeats are the seats that a session sits at, with what our state knows of
// that session.
func boundSeats(ctx context.Context, b *bridge.Bridge) ([]compact.Seat, error) {
	sessions, err := b.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	bound, err := seat.List(b.Home)
	if err != nil {
		return nil, err
	}
	var out []compact.Seat
	for _, s := range bound {
		if s.Occupant == nil {
			continue
		}
		one := compact.Seat{Address: s.Address, Client: string(s.Occupant.Client), Session: s.Occupant.Session}
		for _, have := range sessions {
			if have.Client == s.Occupant.Client && have.ID == s.Occupant.Session {
				one.Transcript, one.CWD = have.Transcript, have.CWD
			}
		}
		out = append(out, one)
	}
	return out, nil
}

func watchCommand() command {
	return command{
		name: "watch", short: "compact seats as they pass their thresholds, by the configured policy",
		long: `Each seat's policy is read from the configuration ([policy.claude], [policy.codex]
and [seat."..."]); without one that is enabled nothing is ever compacted. Only a
fresh sample triggers, one seat at a time, and never inside a seat's cool-down; a
seat that is busy, waits for a person or has one typing is left alone; after two
attempts that left it above its threshold a seat is stopped until it was below.
What is under way is on disk: a watcher that dies neither loses nor repeats it.`,
		example: "reseat watch\nreseat watch --once --json   # from cron",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			once := f.Bool("once", false, "look once, do what is due, and end")
			every := f.Duration("every", 30*time.Second, "how often to look")
			asJSON := f.Bool("json", false, "print decisions as JSON, one a line")
			return func(ctx context.Context, c *call) int {
				if len(c.args) > 0 {
					return c.usage("watch takes no arguments")
				}
				if *every < time.Second {
					return c.usage("--every must be at least 1s")
				}
				return c.watch(ctx, *once, *every, *asJSON)
			}
		},
	}
}

func (c *call) watch(ctx context.Context, once bool, every time.Duration, asJSON bool) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	b, err := c.bridge()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	home, cfg, found, err := c.adapters()
	if err != nil {
		return c.failAdapter(err)
	}
	lineup := host.NewLineup(found, c.settings(home))
	defer lineup.Close()
	w := &compact.Watcher{
		Home: home, Clients: lineup.Clients(), Adapters: adaptersOf(lineup), Continuity: continuity{b}, Now: time.Now,
		Seats: func(ctx context.Context) ([]compact.Seat, error) {
			lineup.Renew()
			return boundSeats(ctx, b)
		},
		Policy: func(s compact.Seat) config.Policy { return cfg.Policy(client.Client(s.Client), s.Address) },
		Log:    c.decisionLog(once, asJSON),
		Done:   func(r compact.Report) { c.keepReceipt(b, r) },
	}
	if once {
		err = w.Once(ctx)
	} else {
		err = w.Watch(ctx, every, func(err error) { c.fail(exitUnknown, err, "") })
	}
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	return exitOK
}

// decisionLog prints decisions; a watcher that runs on leaves out those that say
// the same of a seat as the one before.
func (c *call) decisionLog(all, asJSON bool) func(compact.Decision) {
	last := map[string]string{}
	return func(d compact.Decision) {
		key, same := d.Client+":"+d.Session, d.Reason+d.Detail
		if !all && !d.Act && last[key] == same {
			return
		}
		last[key] = same
		if asJSON {
			c.jsonLine(d)
			return
		}
		c.printf("%s\n", d)
	}
}

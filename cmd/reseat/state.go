package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge"
)

// target is what off, on and purge are about.
type target struct {
	project, seat, session string
	all                    bool
}

func targetFlags(f *pflag.FlagSet, verb string) *target {
	t := &target{}
	f.StringVar(&t.project, "project", "", verb+" for every session in this folder or below it")
	f.StringVar(&t.seat, "seat", "", verb+" for the seat with this address")
	f.StringVar(&t.session, "session", "", verb+" for one session: claude:ID, codex:ID or a prefix of 8 letters")
	return t
}

func (t *target) count() (n int) {
	for _, s := range []string{t.project, t.seat, t.session} {
		if s != "" {
			n++
		}
	}
	if t.all {
		n++
	}
	return n
}

var errOneTarget = errors.New("give one of --project, --seat and --session")

// switchFor is the switch that the flags mean; without any it is everything.
func (c *call) switchFor(ctx context.Context, b *bridge.Bridge, t *target) (bridge.Switch, error) {
	switch {
	case t.count() > 1:
		return bridge.Switch{}, errOneTarget
	case t.project != "":
		return bridge.Switch{Project: absolute(t.project)}, nil
	case t.seat != "":
		return bridge.Switch{Seat: t.seat}, nil
	case t.session != "":
		all, err := b.Sessions(ctx)
		if err != nil {
			return bridge.Switch{}, err
		}
		s, err := bridge.Find(all, t.session)
		return bridge.Switch{Client: s.Client, Session: s.ID}, err
	}
	return bridge.Switch{}, nil
}

func offCommand() command {
	return command{
		name: "off", short: "let the hooks do nothing, for a project, seat, session or all",
		long: `Packets and receipts stay. The variable RESEAT_DISABLE=1 does the same for one
process and its children.`,
		example: "reseat off --project .\nreseat off",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			t := targetFlags(f, "off")
			return func(ctx context.Context, c *call) int { return c.turn(ctx, t, false) }
		},
	}
}

func onCommand() command {
	return command{
		name: "on", short: "take an off back",
		example: "reseat on --project .",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			t := targetFlags(f, "on")
			return func(ctx context.Context, c *call) int { return c.turn(ctx, t, true) }
		},
	}
}

func (c *call) turn(ctx context.Context, t *target, on bool) int {
	if len(c.args) > 0 {
		return c.usage("unexpected %q", c.args[0])
	}
	b, err := c.bridge()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	s, err := c.switchFor(ctx, b, t)
	if errors.Is(err, errOneTarget) {
		return c.usage("%v", err)
	}
	if err != nil {
		return c.failSeat(err)
	}
	if !on {
		if err := b.Off(s); err != nil {
			return c.fail(exitNo, err, "")
		}
		c.printf("off: %s\n", s)
		return exitOK
	}
	was, err := b.On(s)
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	if !was {
		c.printf("on: %s (it wasn't off)\n", s)
	} else {
		c.printf("on: %s\n", s)
	}
	for _, still := range b.Switches() {
		c.printf("still off: %s\n", still)
	}
	return exitOK
}

func gcCommand() command {
	return command{
		name: "gc", short: "keep the state within its limits",
		long: `Hooks do this as they pass. Nothing goes that is being prepared, is still to be
delivered, or stands in the context of a session that lives.`,
		example: "reseat gc --dry-run",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			dry := f.BoolP("dry-run", "n", false, "say what would go, remove nothing")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int {
				b, err := c.bridge()
				if err != nil {
					return c.fail(exitNo, err, "")
				}
				gone, err := b.GC(ctx, *dry)
				if err != nil {
					return c.fail(exitUnknown, err, "")
				}
				return c.removed(gone, *dry, *asJSON)
			}
		},
	}
}

func (c *call) removed(gone []bridge.Removal, dry, asJSON bool) int {
	if asJSON {
		if gone == nil {
			gone = []bridge.Removal{}
		}
		return c.json(gone)
	}
	var total int64
	for _, r := range gone {
		total += r.Bytes
		c.printf("%10s  %s\n            %s\n", bytesInWords(r.Bytes), r.Path, r.Reason)
	}
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	c.printf("%s %d, %s\n", verb, len(gone), bytesInWords(total))
	return exitOK
}

func purgeCommand() command {
	return command{
		name: "purge", short: "remove what is kept of a session, a project or all",
		long: `Packets, directives and bindings go for good; receipts stay, unless all goes. A
packet that a session was told of is then missing when it looks for it.`,
		example: "reseat purge --session claude:3f2b8c1e --dry-run\nreseat purge --all",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			t := targetFlags(f, "purge")
			f.BoolVar(&t.all, "all", false, "purge the whole state")
			dry := f.BoolP("dry-run", "n", false, "say what would go, remove nothing")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int { return c.purge(ctx, t, *dry, *asJSON) }
		},
	}
}

func (c *call) purge(ctx context.Context, t *target, dry, asJSON bool) int {
	if t.count() != 1 || len(c.args) > 0 {
		return c.usage("purge needs one of --project, --seat, --session and --all")
	}
	b, err := c.bridge()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	match := func(bridge.About) bool { return true }
	switch {
	case t.project != "":
		match = bridge.OfProject(absolute(t.project))
	case t.seat != "" || t.session != "":
		all, err := b.Sessions(ctx)
		if err != nil {
			return c.fail(exitUnknown, err, "")
		}
		s, err := bridge.Find(all, firstArg(t.seat, t.session))
		if err != nil {
			return c.failSeat(err)
		}
		match = bridge.OfSession(s.Client, s.ID)
	}
	gone, err := b.Purge(match, dry)
	if err == nil && t.all {
		var rest []bridge.Removal
		rest, err = b.PurgeReceipts(dry)
		gone = append(gone, rest...)
	}
	if err != nil {
		return c.fail(exitNo, fmt.Errorf("not everything could be removed: %w", err), "")
	}
	return c.removed(gone, dry, asJSON)
}

func firstArg(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

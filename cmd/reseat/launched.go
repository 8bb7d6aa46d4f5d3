package main

import (
	"context"
	"errors"
	"slices"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/bridge/compact"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/host"
)

// lacking is a running session that the policy covers and that was started with
// its client's own compaction of idle sessions on: a new policy takes effect at
// the next launch only.
type lacking struct {
	Seat    string `json:"seat"` // its address, else client:id
	Client  string `json:"client"`
	Session string `json:"session"`
	Version string `json:"client_version,omitempty"`
}

const lackingWords = "started without idleCompaction: false, so its client may compact it when idle, beside the policy; " +
	"start it again with reseat launch"

// lackingOf picks them from live sessions; bound gives a session its seat.
func lackingOf(of string, live []plugins.Session, bound []compact.Seat, policy func(client.Client, string) config.Policy) []lacking {
	var out []lacking
	for _, s := range live {
		at := compact.Seat{Client: of, Session: s.ID}
		for _, b := range bound {
			if b.Client == of && b.Session == s.ID {
				at = b
			}
		}
		if s.IdleCompaction == plugins.SwitchOn && policy(client.Client(of), at.Address).Enabled {
			out = append(out, lacking{Seat: at.Label(), Client: of, Session: s.ID, Version: s.Version})
		}
	}
	return out
}

// lacking looks at the live sessions of each client that has a policy which is
// on; without one no adapter is started. An error says what couldn't be looked
// at; the rest is told all the same.
func (c *call) lacking(ctx context.Context, b *bridge.Bridge) ([]lacking, error) {
	home, cfg, found, err := c.adapters()
	if err != nil {
		return nil, err
	}
	bound, err := boundSeats(ctx, b)
	if err != nil {
		return nil, err
	}
	lineup := host.NewLineup(found, c.settings(home))
	defer lineup.Close()
	var out []lacking
	var errs []error
	for _, of := range lineup.Clients() {
		on := func(address string) bool { return cfg.Policy(client.Client(of), address).Enabled }
		if !on("") && !slices.ContainsFunc(cfg.Seats(), on) {
			continue
		}
		r, err := lineup.Get(ctx, of)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		live, err := r.Sessions(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		out = append(out, lackingOf(of, live.Sessions, bound, cfg.Policy)...)
	}
	return out, errors.Join(errs...)
}

// lastHook is the newest receipt of a hook; nil if there is none. Those of reseat
// compact and watch aren't a hook's.
func lastHook(receipts []bridge.Receipt) *bridge.Receipt {
	for i := len(receipts) - 1; i >= 0; i-- {
		if receipts[i].Event != eventCompact {
			return &receipts[i]
		}
	}
	return nil
}

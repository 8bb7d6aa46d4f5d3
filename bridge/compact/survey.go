// Package compact compacts seats from outside, on top of runtime adapters: the
// guided compaction, the plan, the watcher, and the line that starts a seat.
//
// It knows no client. It claims a compaction only where an adapter shows one,
// acts on fresh samples only, on one seat at a time, and never twice for the
// same cause, also after its own death (promises 2 and 5). The hooks around a
// compaction are package bridge's business; what became of their directive is
// asked through [Continuity].
package compact

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/plugins"
)

// Seat is a seat, or an unnamed session, as our own state knows it.
type Seat struct {
	Address    string // member@rig, "" for an unnamed session
	Client     string // the --runtime value
	Session    string // native id
	Transcript string // as last seen, "" if unknown
	CWD        string
}

// Label names the seat for a person: its address, else client and session id.
func (s Seat) Label() string {
	if s.Address != "" {
		return s.Address
	}
	return s.Client + ":" + s.Session
}

// Rig is the rig part of the address, "" for an unnamed session.
func (s Seat) Rig() string {
	_, rig, _ := strings.Cut(s.Address, "@")
	return rig
}

func (s Seat) ref() plugins.SessionRef {
	return plugins.SessionRef{ID: s.Session, Transcript: s.Transcript, CWD: s.CWD}
}

// Standing is how a seat stands now.
type Standing struct {
	Seat  Seat
	Live  *plugins.Session // nil: nobody has the session open, or it isn't known
	Usage plugins.Usage
	Gap   string // why nothing is known, in words: no adapter, an adapter that failed; "" otherwise
}

// State is what the session does.
func (s Standing) State() plugins.State {
	switch {
	case s.Live != nil:
		return s.Live.State
	case s.Gap != "":
		return plugins.StateUnknown
	}
	return plugins.StateClosed
}

// Survey is one look at all seats.
type Survey struct {
	At        time.Time
	Standings []Standing // by label
	Caveats   []string
}

// Adapters gives the runtime for a client; ok is false where there is none, and
// err says why one that is there can't be used.
type Adapters func(ctx context.Context, client string) (r plugins.Runtime, ok bool, err error)

// Look asks each client's adapter once for its live sessions and once for all
// usages. Live sessions that no seat is bound to are shown under their session.
func Look(ctx context.Context, seats []Seat, clients []string, adapters Adapters, now time.Time) Survey {
	survey := Survey{At: now}
	for _, client := range clients {
		var mine []Seat
		for _, s := range seats {
			if s.Client == client {
				mine = append(mine, s)
			}
		}
		standings, caveats := lookAt(ctx, client, mine, adapters)
		survey.Standings = append(survey.Standings, standings...)
		survey.Caveats = append(survey.Caveats, caveats...)
	}
	for _, s := range seats {
		if !contains(clients, s.Client) {
			survey.Standings = append(survey.Standings, Standing{Seat: s, Gap: "no adapter for " + s.Client})
		}
	}
	sort.SliceStable(survey.Standings, func(i, j int) bool {
		return survey.Standings[i].Seat.Label() < survey.Standings[j].Seat.Label()
	})
	return survey
}

func lookAt(ctx context.Context, client string, seats []Seat, adapters Adapters) (standings []Standing, caveats []string) {
	gap := func(why string) ([]Standing, []string) {
		for _, s := range seats {
			standings = append(standings, Standing{Seat: s, Gap: why})
		}
		return standings, append(caveats, why)
	}
	runtime, ok, err := adapters(ctx, client)
	switch {
	case err != nil:
		return gap(fmt.Sprintf("the adapter for %s: %v", client, err))
	case !ok:
		return gap("no adapter for " + client)
	}
	live, err := runtime.Sessions(ctx)
	if err != nil {
		return gap(err.Error())
	}
	caveats = append(caveats, live.Caveats...)
	standings = match(client, seats, live.Sessions)
	refs := make([]plugins.SessionRef, 0, len(standings))
	for _, s := range standings {
		refs = append(refs, s.Seat.ref())
	}
	usages, err := runtime.Usage(ctx, refs)
	if err != nil {
		caveats = append(caveats, err.Error())
	}
	for i := range standings {
		standings[i].Usage = plugins.Usage{Session: standings[i].Seat.Session, Unknown: plugins.UsageUnreadable}
		if err == nil {
			standings[i].Usage = usages[i]
		}
	}
	return standings, caveats
}

// match puts live sessions to their seats.
func match(client string, seats []Seat, live []plugins.Session) []Standing {
	var out []Standing
	seen := map[string]bool{}
	byID := map[string]*plugins.Session{}
	for i := range live {
		byID[live[i].ID] = &live[i]
	}
	for _, s := range seats {
		standing := Standing{Seat: s, Live: byID[s.Session]}
		if standing.Live != nil {
			standing.Seat = fill(s, *standing.Live)
		}
		seen[s.Session] = true
		out = append(out, standing)
	}
	for i := range live {
		if l := &live[i]; !seen[l.ID] {
			seen[l.ID] = true
			out = append(out, Standing{Seat: fill(Seat{Client: client, Session: l.ID}, *l), Live: l})
		}
	}
	return out
}

// fill takes what a live session tells over what was last seen of it.
func fill(s Seat, l plugins.Session) Seat {
	if l.Transcript != "" {
		s.Transcript = l.Transcript
	}
	if l.CWD != "" {
		s.CWD = l.CWD
	}
	return s
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}

package bridge

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/reseat-dev/reseat/bridge/seat"
	"github.com/reseat-dev/reseat/hooks"
)

// Told is what a hook's environment says about the session. It is hearsay: a
// nonce counts because it can be used once only, a process id only to follow a
// session that we bound ourselves.
type Told struct {
	Nonce string // RESEAT_NONCE
	PID   int    // CLAUDE_PID: the client's process
}

// greet notes a session that begins or comes back, and who sits where. Nothing
// is ever delivered here: an old client reports a fork as resume, under the
// parent's id.
func (b *Bridge) greet(e hooks.Event) Outcome {
	if e.InSubagent() {
		return Outcome{Decision: DidIgnore, Reason: "a subagent's session"}
	}
	dir, err := b.session(aboutOf(e))
	if err != nil {
		return failed("the session's folder couldn't be made", err)
	}
	o := Outcome{Decision: DidNothing, Reason: e.Source}
	address, occupant := b.seating(e, dir)
	if address == "" {
		return o
	}
	if err := seat.Bind(b.Home, address, occupant); err != nil {
		o.Err = fmt.Errorf("binding %s: %w", address, err)
		return o
	}
	o.Reason = e.Source + ", sits at " + address
	return o
}

// seating is the seat that the session takes by this event, "" if none.
func (b *Bridge) seating(e hooks.Event, dir string) (string, seat.Occupant) {
	occupant := seat.Occupant{
		Client: e.Client, Session: e.SessionID, How: howCame(e, b.ability(e, "")), Since: b.Now(), PID: b.Told.PID,
	}
	if address, how, ok := seat.Redeem(b.Home, b.Told.Nonce, b.Now()); ok {
		occupant.By = "launch"
		if how != "" {
			occupant.How = how
		}
		return address, occupant
	}
	if address := seat.Of(dir); address != "" {
		occupant.By = "hook"
		return address, occupant
	}
	if e.Source == hooks.SourceClear {
		occupant.By = "clear"
		return seat.OfProcess(b.Home, e.Client, b.Told.PID), occupant
	}
	return "", occupant
}

// howCame tells from a SessionStart how the session came to be. Where a client
// version reports a fork as something else, that word proves nothing.
func howCame(e hooks.Event, ability hooks.Ability) seat.How {
	if e.Source == ability.ForkSource && e.Source != hooks.SourceFork {
		return seat.Unknown
	}
	switch e.Source {
	case hooks.SourceStartup, hooks.SourceClear:
		return seat.Fresh
	case hooks.SourceFork:
		return seat.Forked
	case hooks.SourceResume:
		return seat.Resumed
	}
	return seat.Unknown
}

// SeatOf is the address of the seat that the session in dir fills, "" if none
// is bound.
func SeatOf(dir string) string { return seat.Of(dir) }

// SeatKey names the seat of the session in dir for what is kept per seat: its
// address, or for an unnamed one the session folder's name.
func SeatKey(dir string) string { return cmp.Or(seat.Of(dir), filepath.Base(dir)) }

// ErrNoSeat is returned by Find where nothing matches.
var ErrNoSeat = errors.New("no session or seat is known by that name")

// AmbiguousError is returned by Find where several sessions match.
type AmbiguousError struct {
	Name    string
	Matches []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q fits %d sessions", e.Name, len(e.Matches))
}

// minPrefix is how many letters of an id a person has to give at least.
const minPrefix = 8

// Find picks the session that name means: a seat's address, claude:ID, codex:ID,
// or a unique prefix of an id of eight letters or more.
func Find(all []Session, name string) (Session, error) {
	runtime, id, qualified := strings.Cut(name, ":")
	var found []Session
	for _, s := range all {
		switch {
		case s.Seat != "" && s.Seat == name:
			return s, nil
		case qualified && string(s.Client) == runtime && s.ID == id:
			return s, nil
		case qualified && string(s.Client) == runtime && len(id) >= minPrefix && strings.HasPrefix(s.ID, id),
			len(name) >= minPrefix && strings.HasPrefix(s.ID, name):
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return Session{}, fmt.Errorf("%.60q: %w", name, ErrNoSeat)
	case 1:
		return found[0], nil
	}
	err := &AmbiguousError{Name: name}
	for _, s := range found {
		err.Matches = append(err.Matches, cmp.Or(s.Seat, string(s.Client)+":"+s.ID))
	}
	return Session{}, err
}

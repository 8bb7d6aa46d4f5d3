package bridge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/folder"
	"github.com/reseat-dev/reseat/internal/state"
)

// Switch says for what reseat is off: an empty Switch is all of it. Each is a
// file in off/ whose text is for a person.
type Switch struct {
	Session string        // a native id, together with Client
	Client  client.Client //
	Seat    string        // an address
	Project string        // an absolute path; everything below it is meant too
}

func (s Switch) file(home state.Home) string {
	switch {
	case s.Session != "":
		return filepath.Join(home.Off(), "session-"+state.SessionName(s.Client, s.Session))
	case s.Seat != "":
		return filepath.Join(home.Off(), "seat-"+state.Encode(s.Seat))
	case s.Project != "":
		return filepath.Join(home.Off(), "project-"+state.Encode(filepath.Clean(s.Project)))
	}
	return filepath.Join(home.Off(), "all")
}

// String names the switch for a person.
func (s Switch) String() string {
	switch {
	case s.Session != "":
		return "session " + string(s.Client) + ":" + s.Session
	case s.Seat != "":
		return "seat " + s.Seat
	case s.Project != "":
		return "project " + s.Project
	}
	return "everything"
}

// Off switches reseat off for s.
func (b *Bridge) Off(s Switch) error {
	if err := b.Home.Open(); err != nil {
		return err
	}
	if err := os.Mkdir(b.Home.Off(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return durable.WriteFile(s.file(b.Home), []byte(s.String()+"\n"), 0o600)
}

// On takes an Off for s back; was is false where there was none.
func (b *Bridge) On(s Switch) (was bool, err error) {
	err = os.Remove(s.file(b.Home))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Switches lists what is switched off, in words.
func (b *Bridge) Switches() []string {
	names, _ := folder.Names(b.Home.Off())
	var all []string
	for _, e := range names {
		data, err := os.ReadFile(filepath.Join(b.Home.Off(), e))
		if err == nil {
			all = append(all, strings.TrimSpace(string(data)))
		}
	}
	slices.Sort(all)
	return all
}

// switchedOff says why the session is off by our own state, "" if it isn't.
// One look at the folder off/ settles it for everybody who never used it.
func switchedOff(home state.Home, c client.Client, session, seat, cwd string) string {
	names, err := folder.Names(home.Off())
	if err != nil || len(names) == 0 {
		return ""
	}
	has := func(s Switch) bool {
		name := filepath.Base(s.file(home))
		return slices.Contains(names, name)
	}
	switch {
	case has(Switch{}):
		return "switched off"
	case has(Switch{Client: c, Session: session}):
		return "switched off for this session"
	case seat != "" && has(Switch{Seat: seat}):
		return "switched off for this seat"
	}
	for dir := filepath.Clean(cwd); filepath.IsAbs(dir); dir = filepath.Dir(dir) {
		if has(Switch{Project: dir}) {
			return "switched off for the project " + dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

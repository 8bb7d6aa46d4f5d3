package compact

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
)

// Ledger is what a watcher knows of each session, on disk before and after each
// act, so that a watcher that was killed neither loses a compaction nor makes a
// second one.
type Ledger struct {
	Version  int                `json:"version"`
	Sessions map[string]*Record `json:"sessions"` // by client:id
}

// Record is the ledger's line for one session.
type Record struct {
	Seat     string          `json:"seat"`
	Pending  *Pending        `json:"pending,omitempty"`  // a compaction that was begun and whose end isn't noted yet
	Last     time.Time       `json:"last,omitzero"`      // the end of the last attempt: the cool-down counts from here
	Outcome  plugins.Outcome `json:"outcome,omitempty"`  // of the last attempt
	Attempts int             `json:"attempts,omitempty"` // in a row that left the seat above its threshold
	Stopped  string          `json:"stopped,omitempty"`  // why it is left alone until it was below its threshold
	Seen     time.Time       `json:"seen,omitzero"`      // when it was last looked at
	Boundary int64           `json:"boundary,omitempty"` // offset of the last compaction's boundary
}

// Pending is an attempt under way.
type Pending struct {
	Since time.Time `json:"since"`
	From  int64     `json:"from"` // size of the transcript before it: a boundary beyond is the attempt's
	// Ended says that the attempt was seen to its end without its outcome being
	// known; otherwise the watcher itself died in between.
	Ended plugins.Outcome `json:"ended,omitempty"`
}

const (
	ledgerVersion = 1
	ledgerName    = "watch.json"
	// forget is how long a session that isn't seen any more stays in the ledger.
	forget = 30 * 24 * time.Hour
)

// readLedger reads the ledger; one that isn't there is empty, one that can't be
// read is an error: to begin anew could compact a seat twice.
func readLedger(home state.Home) (*Ledger, error) {
	path := filepath.Join(folder(home), ledgerName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &Ledger{Version: ledgerVersion, Sessions: map[string]*Record{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the watcher's ledger: %w", err)
	}
	var l Ledger
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, fmt.Errorf("reading the watcher's ledger %q: %w", path, err)
	}
	if l.Version != ledgerVersion {
		return nil, fmt.Errorf("the watcher's ledger %q is of version %d, not %d", path, l.Version, ledgerVersion)
	}
	for key, r := range l.Sessions {
		if r == nil {
			delete(l.Sessions, key)
		}
	}
	if l.Sessions == nil {
		l.Sessions = map[string]*Record{}
	}
	return &l, nil
}

// write puts the ledger on disk, whole.
func (l *Ledger) write(home state.Home) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	if _, err := durable.MakeDirs(folder(home), 0o700); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(folder(home), ledgerName), append(data, '\n'), 0o600)
}

// of returns the session's record, a new one where there is none.
func (l *Ledger) of(s Seat) *Record {
	key := s.Client + ":" + s.Session
	r := l.Sessions[key]
	if r == nil {
		r = &Record{}
		l.Sessions[key] = r
	}
	r.Seat = s.Label()
	return r
}

// prune forgets sessions that weren't seen for long.
func (l *Ledger) prune(now time.Time) {
	for key, r := range l.Sessions {
		if now.Sub(r.Seen) > forget {
			delete(l.Sessions, key)
		}
	}
}

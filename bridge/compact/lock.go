package compact

import (
	"errors"
	"fmt"

	"github.com/gofrs/flock"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
)

// errLocked is returned where another process holds the lock.
var errLocked = errors.New("locked")

// lock takes the session's lock, which the system gives back when the process
// ends, however it ends.
func lock(home state.Home, s Seat) (unlock func(), err error) {
	return lockFile(home, state.SessionName(client.Client(s.Client), s.Session)+".lock")
}

func lockFile(home state.Home, name string) (unlock func(), err error) {
	dir := folder(home)
	if _, err := durable.MakeDirs(dir, 0o700); err != nil {
		return nil, err
	}
	l := flock.New(dir+"/"+name, flock.SetPermissions(0o600))
	ok, err := l.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the seat: %w", err)
	}
	if !ok {
		return nil, errLocked
	}
	return func() { _ = l.Unlock() }, nil
}

// folder is where this package keeps its locks and the watcher's ledger.
func folder(home state.Home) string { return home.Join("compact") }

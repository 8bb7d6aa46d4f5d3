package compact

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/internal/version"
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

const watchLock = "watch.lock"

// lockWatch takes the watcher's lock and writes into it who holds it. It is
// tried for a moment: whoever asks for the running watcher touches the lock.
func lockWatch(home state.Home) (unlock func(), err error) {
	for range 5 {
		if unlock, err = lockFile(home, watchLock); !errors.Is(err, errLocked) {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if errors.Is(err, errLocked) {
		return nil, ErrWatching
	}
	if err != nil {
		return nil, err
	}
	who := fmt.Sprintf("%d %s\n", os.Getpid(), version.Number)
	if err := os.WriteFile(filepath.Join(folder(home), watchLock), []byte(who), 0o600); err != nil {
		unlock()
		return nil, fmt.Errorf("noting the watcher: %w", err)
	}
	return unlock, nil
}

// Watching tells the process and the version of the watcher that is at work on
// this state; running is false where there is none. The number is "" for the
// moment in which it hasn't said it yet.
func Watching(home state.Home) (pid int, number string, running bool) {
	path := filepath.Join(folder(home), watchLock)
	if _, err := os.Stat(path); err != nil {
		return 0, "", false // and none is made
	}
	unlock, err := lockFile(home, watchLock)
	if err == nil {
		unlock()
	}
	if !errors.Is(err, errLocked) {
		return 0, "", false
	}
	data, _ := os.ReadFile(path)
	fields := strings.Fields(string(data))
	if len(fields) == 2 {
		number = fields[1]
		pid, _ = strconv.Atoi(fields[0])
	}
	return pid, number, true
}

// folder is where this package keeps its locks and the watcher's ledger.
func folder(home state.Home) string { return home.Join("compact") }

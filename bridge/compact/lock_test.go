package compact

import (
	"errors"
	"os"
	"testing"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/internal/version"
)

func TestARunningWatcherIsKnown(t *testing.T) {
	home := state.Home(t.TempDir())
	if _, _, running := Watching(home); running {
		t.Error("one runs, and none was started")
	}
	unlock, err := lockWatch(home)
	if err != nil {
		t.Fatal(err)
	}
	pid, number, running := Watching(home)
	if pid != os.Getpid() || number != version.Number || !running {
		t.Errorf("got %d, %q, %t", pid, number, running)
	}
	if _, err := lockWatch(home); !errors.Is(err, ErrWatching) {
		t.Errorf("a second watcher got %v", err)
	}
	unlock()
	if _, _, running := Watching(home); running {
		t.Error("one runs, and it has ended")
	}
	again, err := lockWatch(home)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

package host

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// exited waits until p has ended and doesn't reap it. It returns false where
// that can't be told.
func exited(p *os.Process) bool {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

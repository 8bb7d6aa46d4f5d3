//go:build unix

package bridge

import (
	"errors"
	"syscall"
)

// isTaken tells the errors of a rename onto a folder that has something in it.
func isTaken(err error) bool {
	return errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, syscall.EEXIST)
}

// processGone reports whether no process has this id. Where it can't be told
// the answer is no.
func processGone(pid int) bool {
	return pid > 0 && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

package bridge

import (
	"errors"
	"syscall"
)

// isTaken tells the errors of a rename onto a folder that is there.
func isTaken(err error) bool {
	return errors.Is(err, syscall.ERROR_ACCESS_DENIED) || errors.Is(err, syscall.ERROR_ALREADY_EXISTS)
}

// processGone reports whether no process has this id. Where it can't be told
// the answer is no.
func processGone(pid int) bool {
	const stillThere = syscall.Errno(87) // ERROR_INVALID_PARAMETER: no such process
	h, err := syscall.OpenProcess(syscall.SYNCHRONIZE, false, uint32(pid))
	if err == nil {
		syscall.CloseHandle(h)
		return false
	}
	return errors.Is(err, stillThere)
}

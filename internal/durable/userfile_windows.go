package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const openNonBlock = 0

func exchange(string, string) error { return errors.ErrUnsupported }

// keepOwnership does nothing: a file made in the folder inherits its access
// control list there.
func keepOwnership(string, *os.File) error { return nil }

// checkOwner refuses a file with a second name: replacing it would part the two.
func checkOwner(path, target string, _ fs.FileInfo) error {
	f, err := os.Open(target)
	if err != nil {
		return wrap("reading", path, err)
	}
	defer f.Close()
	var info syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &info); err != nil {
		return wrap("reading", path, err)
	}
	if info.NumberOfLinks > 1 {
		return &RefusedError{path, fmt.Sprintf("has %d hard links, and replacing it would part them", info.NumberOfLinks), "make it a file of its own or a symbolic link"}
	}
	return nil
}

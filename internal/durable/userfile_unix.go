//go:build unix

package durable

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const openNonBlock = syscall.O_NONBLOCK

// checkOwner refuses another user's file, one with a second name (replacing
// would part the two) and one that this user can't write, such as in a read-only
// store.
func checkOwner(path, target string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return &RefusedError{path, "its owner can't be told", "edit it by hand"}
	}
	if int(stat.Uid) != os.Geteuid() {
		return &RefusedError{path, fmt.Sprintf("owned by user %d, you are %d", stat.Uid, os.Geteuid()), "run this as the owner"}
	}
	if stat.Nlink > 1 {
		return &RefusedError{path, fmt.Sprintf("has %d hard links, and replacing it would part them", stat.Nlink), "make it a file of its own or a symbolic link"}
	}
	if err := unix.Access(target, unix.W_OK); err != nil {
		return &RefusedError{path, fmt.Sprintf("can't be written: %v", err), "make it writable or add the entries where the file is made"}
	}
	return nil
}

// keepOwnership gives the new file the group and the extended attributes (access
// control lists among them) of the old one.
func keepOwnership(target string, out *os.File) error {
	info, err := os.Lstat(target)
	if err != nil {
		return err
	}
	mine, err := out.Stat()
	if err != nil {
		return err
	}
	old, ok1 := info.Sys().(*syscall.Stat_t)
	now, ok2 := mine.Sys().(*syscall.Stat_t)
	if ok1 && ok2 && old.Gid != now.Gid {
		if err := out.Chown(-1, int(old.Gid)); err != nil {
			return fmt.Errorf("keeping its group: %w", err)
		}
	}
	return keepAttributes(target, out)
}

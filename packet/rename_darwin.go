package packet

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a folder to a name that must not exist. A plain rename
// would replace an empty folder there.
func renameNew(from, to string) error {
	err := unix.RenamexNp(from, to, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) { // a file system that can't
		return renameChecked(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

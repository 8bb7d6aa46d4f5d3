package packet

import (
	"errors"
	"io/fs"
	"os"
)

// renameChecked is the best that remains where the system has no rename that
// refuses an existing name. A folder with something in it is refused by every
// rename; an empty one that appears in between would be replaced.
func renameChecked(from, to string) error {
	_, err := os.Lstat(to)
	if err == nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(from, to)
}

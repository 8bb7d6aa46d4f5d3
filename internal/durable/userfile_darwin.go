package durable

import (
	"errors"

	"golang.org/x/sys/unix"
)

// exchange swaps two files in one step; HFS+ and network volumes can't.
func exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}

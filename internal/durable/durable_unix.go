//go:build unix

package durable

import (
	"errors"
	"os"
	"syscall"
)

const (
	openNoFollow = syscall.O_NOFOLLOW
	syncFlag     = os.O_RDONLY
)

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	// Some network and FUSE file systems refuse to sync a folder; they have no
	// better promise to give.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

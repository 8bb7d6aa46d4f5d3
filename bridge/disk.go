package bridge

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/reseat-dev/reseat/internal/durable"
)

// disk is every operation by which bridge changes the state folder. There is
// one real one; tests put a wrapper around it that dies between two of them.
type disk interface {
	mkdir(path string) error                // private; fs.ErrExist where it is there
	rename(from, to string) error           // fs.ErrNotExist where from is gone, fs.ErrExist where a folder to is taken
	create(path string, data []byte) error  // private, must not exist
	replace(path string, data []byte) error // whole or not at all, not synced
	append(path string, line []byte) error  // one write
	sync(paths ...string) error             // in parallel
	remove(path string) error               // a file or a folder with all in it
}

type osDisk struct{}

func (osDisk) mkdir(path string) error { return os.Mkdir(path, 0o700) }

func (osDisk) rename(from, to string) error {
	err := os.Rename(from, to)
	if err != nil && isTaken(err) {
		return fmt.Errorf("%w: %w", fs.ErrExist, err)
	}
	return err
}

func (osDisk) create(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func (osDisk) replace(path string, data []byte) error {
	return durable.WriteCache(path, data, 0o600)
}

func (osDisk) append(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

func (osDisk) sync(paths ...string) error { return durable.SyncFiles(paths...) }

func (osDisk) remove(path string) error { return os.RemoveAll(path) }

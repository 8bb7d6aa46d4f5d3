// Package durable writes files that are there whole or not at all, and that
// are on disk once the call returns (promise 4).
//
// For files of our own it offers WriteFile, CreateFile, WriteCache, SyncFiles
// and SyncDir; the caller composes them so that a sequence costs few syncs. For
// a file that belongs to the user (promise 6) it offers UserFile: read, then
// replace only if it is still what was read, through links, with mode and group
// kept.
//
// It knows no formats, no state layout and no client. It links nothing that
// the hook programs mustn't: no net, no reflection-heavy encoders.
package durable

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/natefinch/atomic"

	"github.com/reseat-dev/reseat/internal/folder"
)

// tempSuffix ends the name of every temporary file of this package, so that
// Sweep knows its own leftovers.
const tempSuffix = ".reseat-tmp"

// WriteFile puts data at path, replacing what is there: whole, with exactly
// the mode perm whatever the umask, on disk when it returns (one sync of the
// file, one of its folder). On an error path is as it was and no temporary file
// is left. A symbolic link at path is replaced, not followed.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	err := put(path, data, perm, true, atomic.ReplaceFile)
	if err == nil {
		err = SyncDir(filepath.Dir(path))
	}
	return wrap("writing", path, err)
}

// CreateFile is WriteFile for a file that must not be there yet: of any number
// of callers one succeeds, the others get an error that is fs.ErrExist, and
// nobody ever sees half a file.
func CreateFile(path string, data []byte, perm fs.FileMode) error {
	err := put(path, data, perm, true, renameNew)
	if err == nil {
		err = SyncDir(filepath.Dir(path))
	}
	return wrap("creating", path, err)
}

// WriteCache is WriteFile without the syncs, for what may vanish in a power
// loss. It is still there whole or not at all while the machine runs.
func WriteCache(path string, data []byte, perm fs.FileMode) error {
	return wrap("writing", path, put(path, data, perm, false, atomic.ReplaceFile))
}

// SyncFiles brings the content of the files at paths to disk, all at once: n
// syncs in parallel cost about as much time as one. All are tried; the errors
// are joined.
func SyncFiles(paths ...string) error {
	errs := make([]error, len(paths))
	var wait sync.WaitGroup
	for i, path := range paths {
		wait.Go(func() { errs[i] = wrap("syncing", path, syncFile(path)) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// SyncDir brings the names in the folder dir to disk: without it a file that
// was created or renamed may be gone after a power loss. Where a platform or
// file system knows no such thing it does nothing.
func SyncDir(dir string) error {
	return wrap("syncing folder", dir, syncDir(dir))
}

// MakeDirs creates dir and its missing parents with exactly the mode perm, and
// syncs the folders that got a new name. It returns the folders it made,
// outermost first, also when it fails half-way.
func MakeDirs(dir string, perm fs.FileMode) (made []string, err error) {
	missing, err := missingDirs(dir)
	if err != nil {
		return nil, wrap("creating folder", dir, err)
	}
	for _, d := range missing {
		err := os.Mkdir(d, perm)
		if errors.Is(err, fs.ErrExist) {
			continue // somebody else was quicker: not ours
		}
		if err != nil {
			return made, wrap("creating folder", d, err)
		}
		made = append(made, d)
		if err := os.Chmod(d, perm); err != nil {
			return made, wrap("creating folder", d, err)
		}
		if err := SyncDir(filepath.Dir(d)); err != nil {
			return made, err
		}
	}
	return made, nil
}

// missingDirs lists dir and those of its parents that don't exist, outermost
// first.
func missingDirs(dir string) ([]string, error) {
	var missing []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		info, err := os.Stat(d)
		if err == nil {
			if !info.IsDir() {
				return nil, fmt.Errorf("%s is not a folder", d)
			}
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		missing = append([]string{d}, missing...)
		if d == filepath.Dir(d) {
			break
		}
	}
	return missing, nil
}

// Sweep removes the temporary files that killed runs of this package left in
// dir, if they are older than age. Other files it leaves alone. That dir doesn't
// exist is no error.
func Sweep(dir string, age time.Duration) error {
	return sweep(dir, "", time.Now().Add(-age))
}

// sweep removes this package's temporary files in dir that were last written
// before the time given; base, if not empty, limits it to those of one file.
func sweep(dir, base string, before time.Time) error {
	names, err := folder.Names(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap("sweeping", dir, err)
	}
	var errs []error
	for _, name := range names {
		of, ok := tempOf(name)
		if !ok || (base != "" && of != shortened(base)) {
			continue
		}
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before) {
			continue // gone already, or perhaps still being written
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, wrap("sweeping", dir, err))
		}
	}
	return errors.Join(errs...)
}

// TempName is a name beside path that nobody can predict, for something that
// will be renamed to path. Sweep finds it again.
func TempName(path string) string {
	return filepath.Join(filepath.Dir(path), "."+shortened(filepath.Base(path))+"."+random()+tempSuffix)
}

// tempOf tells of which file (shortened) a name made by TempName is.
func tempOf(name string) (base string, ok bool) {
	rest, ok := strings.CutSuffix(name, tempSuffix)
	if !ok || !strings.HasPrefix(rest, ".") {
		return "", false
	}
	base, tag, ok := cutLast(rest[1:], ".")
	if !ok || len(tag) != 32 || strings.Trim(tag, "0123456789abcdef") != "" {
		return "", false
	}
	return base, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// shortened keeps the temporary name of a file with a very long name below the
// 255 bytes that a name may have.
func shortened(base string) string {
	const limit = 150
	if len(base) > limit {
		return base[:limit]
	}
	return base
}

// random is 128 bits from the runtime's generator, which is seeded by the
// system in every process and not predictable from outside; crypto/rand would
// weigh a tenth of a hook program.
func random() string {
	var b [16]byte
	for i := 0; i < len(b); i += 8 {
		v := rand.Uint64()
		for j := range 8 {
			b[i+j] = byte(v >> (8 * j))
		}
	}
	return hex.EncodeToString(b[:])
}

// put writes a temporary file beside path and moves it there with commit.
func put(path string, data []byte, perm fs.FileMode, sync bool, commit func(temp, path string) error) error {
	return withTemp(path, func(temp string, f *os.File) error {
		if err := fill(f, data, perm, sync); err != nil {
			return err
		}
		return commit(temp, path)
	})
}

// withTemp runs fn with a new empty file beside path that only this process can
// have opened, and removes it again if it is still there afterwards.
func withTemp(path string, fn func(temp string, f *os.File) error) error {
	temp := TempName(path)
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return err
	}
	err = fn(temp, f)
	_ = f.Close() // closed by fill already, where that came so far
	if rmErr := os.Remove(temp); rmErr != nil && !errors.Is(rmErr, fs.ErrNotExist) {
		err = errors.Join(err, rmErr)
	}
	return err
}

// fill writes data, sets the mode before anything can have the final name, and
// closes the file.
func fill(f *os.File, data []byte, perm fs.FileMode, sync bool) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := f.Chmod(perm); err != nil {
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return f.Close()
}

// renameNew moves temp to path unless something is there.
func renameNew(temp, path string) error {
	err := os.Link(temp, path) // unlike rename it fails when path exists
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links: exclusive for everyone who goes the
	// same way is the best it has.
	claim, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|openNoFollow, 0o600)
	if err != nil {
		return err
	}
	_ = claim.Close()
	return atomic.ReplaceFile(temp, path)
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, syncFlag, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func wrap(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %q: %w", doing, path, err)
}

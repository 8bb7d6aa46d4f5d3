package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/natefinch/atomic"

	"github.com/reseat-dev/reseat/internal/sha256"
)

// maxUserFile bounds what is read as a user's configuration, in bytes. Nobody
// writes sixteen megabytes of settings by hand.
const maxUserFile = 16 << 20

// ErrChanged says that a user's file is no longer what was read: somebody else
// wrote it in between. Nothing of theirs was touched; read again and decide anew.
var ErrChanged = errors.New("changed by another program in between")

// RefusedError says that a user's file isn't one that may be replaced, and what
// the user can do about it.
type RefusedError struct {
	Path   string // the file as the caller named it
	Reason string // what is odd about it
	Hint   string // what to do, a sentence without a full stop
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%q: %s", e.Path, e.Reason) }

// UserFile is a file that belongs to the user, as it was when it was read.
type UserFile struct {
	Path   string      // as the caller named it
	Target string      // the real file, links resolved; for a new one, where it will be
	Exists bool        // false: nothing is there (or a link to nothing)
	Data   []byte      // its bytes; nil if it doesn't exist
	Mode   fs.FileMode // its permission bits; 0 if it doesn't exist
	sum    [sha256.Size]byte
}

// ReadUserFile follows links (relative, chained, to a file that doesn't exist
// yet), checks that the file is one we may edit, and reads it. What isn't, such
// as a loop of links, a folder, a device, a file with a second hard link, another
// owner's or a read-only one, is a *RefusedError.
func ReadUserFile(path string) (*UserFile, error) {
	target, err := resolve(path)
	if err != nil {
		return nil, err
	}
	file := &UserFile{Path: path, Target: target}
	info, err := os.Lstat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return nil, wrap("reading", path, err)
	}
	if err := check(path, target, info); err != nil {
		return nil, err
	}
	if file.Data, err = readRegular(target); err != nil {
		return nil, wrap("reading", path, err)
	}
	file.Exists = true
	file.Mode = info.Mode().Perm()
	file.sum = sha256.Sum256(file.Data)
	return file, nil
}

// Replace puts data in the place of what was read, or creates the file with mode
// perm where there was none; the folder must exist. An existing file keeps its
// mode, group and extended attributes. If the file is no longer what was read,
// it returns ErrChanged and leaves it. Afterwards the UserFile stands for the new
// content. Leftovers of killed runs beside the file are removed.
func (f *UserFile) Replace(data []byte, perm fs.FileMode) error {
	if f.Exists {
		perm = f.Mode
	}
	err := withTemp(f.Target, func(temp string, out *os.File) error {
		if info, err := out.Stat(); err == nil {
			// Ages are compared by the file system's own clock.
			_ = sweep(filepath.Dir(f.Target), filepath.Base(f.Target), info.ModTime().Add(-time.Minute))
		}
		if f.Exists {
			if err := keepOwnership(f.Target, out); errors.Is(err, fs.ErrNotExist) {
				return ErrChanged
			} else if err != nil {
				return err
			}
		}
		if err := fill(out, data, perm, true); err != nil {
			return err
		}
		if !f.Exists {
			return createExpecting(temp, f.Target)
		}
		return f.commit(temp, sha256.Sum256(data))
	})
	if err == nil {
		err = SyncDir(filepath.Dir(f.Target))
	}
	if err != nil {
		return wrap("writing", f.Path, err)
	}
	f.Exists, f.Data, f.Mode, f.sum = true, bytes.Clone(data), perm, sha256.Sum256(data)
	return nil
}

// Remove takes the file away if it is still what was read, else it returns
// ErrChanged and leaves it. A link to it stays.
func (f *UserFile) Remove() error {
	if !f.Exists {
		return nil
	}
	temp := TempName(f.Target)
	if err := os.Rename(f.Target, temp); errors.Is(err, fs.ErrNotExist) {
		return wrap("removing", f.Path, ErrChanged)
	} else if err != nil {
		return wrap("removing", f.Path, err)
	}
	if sum, err := sumOf(temp); err != nil || sum != f.sum {
		return wrap("removing", f.Path, errors.Join(ErrChanged, err, giveBack(temp, f.Target)))
	}
	if err := os.Remove(temp); err != nil {
		return wrap("removing", f.Path, errors.Join(err, giveBack(temp, f.Target)))
	}
	f.Exists, f.Data, f.Mode = false, nil, 0
	return SyncDir(filepath.Dir(f.Target))
}

// giveBack returns a file that was moved aside. If a new one stands there by
// now, that one is newer and stays.
func giveBack(temp, target string) error {
	err := renameNew(temp, target)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("giving it back from %q: %w", temp, err)
	}
	return os.Remove(temp)
}

// Unchanged tells whether the file still is what was read.
func (f *UserFile) Unchanged() (bool, error) {
	target, err := resolve(f.Path)
	if err != nil || target != f.Target {
		return false, err
	}
	sum, err := sumOf(f.Target)
	if errors.Is(err, fs.ErrNotExist) {
		return !f.Exists, nil
	}
	return f.Exists && sum == f.sum, err
}

func createExpecting(temp, target string) error {
	err := renameNew(temp, target)
	if errors.Is(err, fs.ErrExist) {
		return ErrChanged
	}
	return err
}

// commit moves temp, whose content has the hash ours, over the target, but only
// over what was read. Where the system can exchange two files in one step, the
// look at what was there comes after the step and nothing can slip in between;
// elsewhere it comes just before.
func (f *UserFile) commit(temp string, ours [sha256.Size]byte) error {
	same, err := f.Unchanged()
	if err != nil {
		return err
	}
	if !same {
		return ErrChanged
	}
	err = exchange(temp, f.Target)
	if errors.Is(err, errors.ErrUnsupported) {
		return atomic.ReplaceFile(temp, f.Target)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	if err != nil {
		return err
	}
	return f.settle(temp, ours)
}

// settle looks at what the exchange brought out. If it isn't what was read, it
// gives it back, and whatever was written meanwhile after it, until the newest
// of theirs stands at the target again.
func (f *UserFile) settle(temp string, ours [sha256.Size]byte) error {
	out, err := sumOf(temp)
	if err != nil {
		return err
	}
	if out == f.sum {
		return nil
	}
	for inside := ours; ; {
		expected := inside
		inside = out
		if err := exchange(temp, f.Target); err != nil {
			return errors.Join(ErrChanged, err)
		}
		if out, err = sumOf(temp); err != nil {
			return err
		}
		if out == expected {
			return ErrChanged
		}
	}
}

// resolve finds the real file behind path. Only the last element may be missing,
// or, where no link is involved, the folders above it too.
func resolve(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", wrap("resolving", path, err)
	}
	linked := false
	for range 40 { // as many as Linux follows
		dir, err := resolveDir(path, filepath.Dir(at), linked)
		if err != nil {
			return "", err
		}
		at = filepath.Join(dir, filepath.Base(at))
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return at, nil
		}
		if err != nil {
			return "", wrap("resolving", path, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			return at, nil
		}
		to, err := os.Readlink(at)
		if err != nil {
			return "", wrap("resolving", path, err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		at, linked = to, true
	}
	return "", &RefusedError{path, "a loop of symbolic links", "point the link at a real file"}
}

// resolveDir finds the real folder dir of a file. A folder that doesn't exist
// is fine as long as it can simply be created.
func resolveDir(path, dir string, linked bool) (string, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", &RefusedError{path, fmt.Sprintf("the folder %q can't be resolved: %v", dir, err), "point the link at a real folder"}
	}
	if linked {
		return "", &RefusedError{path, fmt.Sprintf("a link into the folder %q, which doesn't exist", dir), "create that folder or remove the link"}
	}
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", &RefusedError{path, fmt.Sprintf("the folder %q is a link to nothing", dir), "create the folder it points at or remove the link"}
	}
	parent, err := resolveDir(path, filepath.Dir(dir), false)
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(dir)), nil
}

// check refuses what can't be replaced without taking something away from
// somebody.
func check(path, target string, info fs.FileInfo) error {
	name := ""
	if target != filepath.Clean(path) {
		name = fmt.Sprintf(" (%q)", target)
	}
	switch {
	case info.IsDir():
		return &RefusedError{path, "a folder" + name + ", not a file", "move it away"}
	case !info.Mode().IsRegular():
		return &RefusedError{path, "not a regular file" + name, "replace it by a regular file"}
	case info.Size() > maxUserFile:
		return &RefusedError{path, fmt.Sprintf("%d bytes%s, more than the %d that a configuration may have", info.Size(), name, maxUserFile), "check what the file holds"}
	case info.Mode().Perm()&0o200 == 0:
		return &RefusedError{path, fmt.Sprintf("read-only%s, mode %04o", name, info.Mode().Perm()), fmt.Sprintf("make it writable (chmod u+w %s) or add the entries where the file is made", target)}
	}
	return checkOwner(path, target, info)
}

// readRegular reads a file that was just seen to be regular, without following
// a link that took its place and without hanging on a pipe.
func readRegular(target string) ([]byte, error) {
	f, err := os.OpenFile(target, os.O_RDONLY|openNoFollow|openNonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxUserFile+1))
	if err == nil && len(data) > maxUserFile {
		err = fmt.Errorf("more than %d bytes", maxUserFile)
	}
	return data, err
}

func sumOf(path string) (sum [sha256.Size]byte, err error) {
	data, err := readRegular(path)
	if err != nil {
		return sum, err
	}
	return sha256.Sum256(data), nil
}

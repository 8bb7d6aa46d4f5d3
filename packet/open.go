package packet

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxInMemory is how much of a packet's file is read into memory: more than any
// file of ours has, little enough for a hook. transcript.md is never read whole.
const maxInMemory = 4 << 20

// Opened is a packet on disk.
type Opened struct {
	Dir        string
	Summary    *Summary
	Continuity *Continuity // nil in a packet of another generator
	FullBytes  int64       // of transcript.md, -1 where there is none
}

// Open reads the summary and, where there is one, the continuity of the packet
// in dir. It doesn't judge them: that is Validate's matter.
func Open(dir string) (*Opened, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	o := &Opened{Dir: dir, FullBytes: -1}
	data, err := f.read(SummaryFile)
	if err != nil {
		return nil, err
	}
	if o.Summary, err = DecodeSummary(data); err != nil {
		return nil, f.wrap(SummaryFile, err)
	}
	switch o.Continuity, err = f.continuity(); {
	case errors.Is(err, fs.ErrNotExist) && !o.Summary.Ours():
	case err != nil:
		return nil, err
	}
	if info, err := f.lstat(FullFile); err == nil {
		o.FullBytes = info.Size()
	}
	return o, nil
}

// ReadContinuity reads the continuity of the packet in dir, strictly. An error
// that is fs.ErrNotExist says that there is none.
func ReadContinuity(dir string) (*Continuity, error) {
	f, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	return f.continuity()
}

// Instructions is the packet's restore-instructions.md.
func (o *Opened) Instructions() (string, error) { return o.read(InstructionsFile) }

// read is one of the packet's files, for a person.
func (o *Opened) read(name string) (string, error) {
	f, err := openFolder(o.Dir)
	if err != nil {
		return "", err
	}
	data, err := f.read(name)
	return string(data), err
}

// folder is a packet's folder. Only what lies directly in it, and is no link, is
// ever opened.
type folder struct{ dir string }

func openFolder(dir string) (folder, error) {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err != nil {
		return folder{}, fmt.Errorf("opening packet %q: %w", dir, err)
	}
	return folder{dir}, nil
}

func (f folder) lstat(name string) (fs.FileInfo, error) { return os.Lstat(filepath.Join(f.dir, name)) }

func (f folder) wrap(name string, err error) error {
	return fmt.Errorf("reading packet %q: %s: %w", f.dir, name, err)
}

// errNotFile is for a link, a pipe or a folder where a packet has a file.
var errNotFile = errors.New("not a regular file")

// open opens a regular file of the packet.
func (f folder) open(name string) (*os.File, fs.FileInfo, error) {
	if filepath.Base(name) != name {
		return nil, nil, f.wrap(name, errNotFile)
	}
	info, err := f.lstat(name)
	if err != nil {
		return nil, nil, f.wrap(name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, f.wrap(name, errNotFile)
	}
	file, err := os.Open(filepath.Join(f.dir, name))
	if err != nil {
		return nil, nil, f.wrap(name, err)
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		_ = file.Close()
		return nil, nil, f.wrap(name, errors.Join(errNotFile, err))
	}
	return file, info, nil
}

// errTooLarge is for a file beyond what is read into memory.
var errTooLarge = errors.New("too large")

// read is a whole file of the packet.
func (f folder) read(name string) ([]byte, error) {
	file, info, err := f.open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxInMemory {
		return nil, f.wrap(name, fmt.Errorf("%w: %d bytes, at most %d are read", errTooLarge, info.Size(), maxInMemory))
	}
	data, err := io.ReadAll(io.LimitReader(file, maxInMemory+1))
	if err == nil && len(data) > maxInMemory {
		err = errTooLarge
	}
	if err != nil {
		return nil, f.wrap(name, err)
	}
	return data, nil
}

func (f folder) continuity() (*Continuity, error) {
	data, err := f.read(ContinuityFile)
	if err != nil {
		return nil, err
	}
	c, err := DecodeContinuity(data)
	if err != nil {
		return nil, f.wrap(ContinuityFile, err)
	}
	return c, nil
}

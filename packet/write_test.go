package packet

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/reseat-dev/reseat/packet/transcript"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var l []string
	for _, e := range entries {
		l = append(l, e.Name())
	}
	return l
}

func TestWritePutsAPrivatePacket(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "packet")
	in := anInput()
	in.Full = func(emit func(transcript.Message) error) error { return emit(said(1, "user", "hello")) }
	if err := mustMake(t, in).Write(dir); err != nil {
		t.Fatal(err)
	}
	if got := names(t, parent); !slices.Equal(got, []string{"packet"}) {
		t.Errorf("beside it stand %v", got)
	}
	want := append(slices.Clone(packetFiles), FullFile)
	slices.Sort(want)
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("files %v", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", info.Mode(), err)
	}
	for _, name := range names(t, dir) {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// What stands at the name already stays as it is: a packet, a file, an empty
// folder, a link to nowhere.
func TestWriteReplacesNothing(t *testing.T) {
	for name, plant := range map[string]func(path string) error{
		"a folder with something in it": func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o700) },
		"an empty folder":               func(p string) error { return os.Mkdir(p, 0o755) },
		"a file":                        func(p string) error { return os.WriteFile(p, []byte("mine"), 0o644) },
		"a link to nowhere":             func(p string) error { return os.Symlink(p+"-nowhere", p) },
		"a link to a folder":            func(p string) error { return os.Symlink(filepath.Dir(p), p) },
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			dir := filepath.Join(parent, "packet")
			if err := plant(dir); err != nil {
				t.Skip(err)
			}
			before, err := os.Lstat(dir)
			if err != nil {
				t.Fatal(err)
			}
			// Seen at once, and also when it appears only at the last moment.
			for _, late := range []bool{false, true} {
				p := mustMake(t, anInput())
				if late {
					err = p.write(dir+"-late", writeOptions{}, &faulty{onRename: func(from, _ string) error { return system{}.rename(from, dir) }})
				} else {
					err = p.Write(dir)
				}
				if !errors.Is(err, fs.ErrExist) {
					t.Errorf("late %v: %v", late, err)
				}
				after, err := os.Lstat(dir)
				if err != nil || !os.SameFile(before, after) || after.Mode() != before.Mode() {
					t.Errorf("late %v: it is another one now", late)
				}
				if got := names(t, parent); !slices.Equal(got, []string{"packet"}) {
					t.Errorf("late %v: left %v", late, got)
				}
			}
		})
	}
}

func TestWriteNeedsItsParent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone", "packet")
	if err := mustMake(t, anInput()).Write(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// faulty is the real disk with an operation that fails, and a note of what was
// done.
type faulty struct {
	failAt   int64 // the operation that fails, counted from 1; 0: none
	onRename func(from, to string) error

	mu   sync.Mutex
	ops  atomic.Int64
	done []string
}

var errDisk = errors.New("the disk is full")

func (d *faulty) step(format string, args ...any) error {
	n := d.ops.Add(1)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = append(d.done, fmt.Sprintf(format, args...))
	if n == d.failAt {
		return fmt.Errorf("%s: %w", d.done[len(d.done)-1], errDisk)
	}
	return nil
}

func (d *faulty) mkdir(dir string) error {
	if err := d.step("mkdir"); err != nil {
		return err
	}
	return system{}.mkdir(dir)
}

func (d *faulty) create(path string) (diskFile, error) {
	if err := d.step("create %s", filepath.Base(path)); err != nil {
		return nil, err
	}
	f, err := system{}.create(path)
	return faultyFile{f, d, filepath.Base(path)}, err
}

func (d *faulty) syncDir(dir string) error {
	if err := d.step("sync folder"); err != nil {
		return err
	}
	return system{}.syncDir(dir)
}

func (d *faulty) rename(from, to string) error {
	if err := d.step("rename"); err != nil {
		return err
	}
	if d.onRename != nil {
		return d.onRename(from, to)
	}
	return system{}.rename(from, to)
}

func (d *faulty) removeAll(dir string) error { return system{}.removeAll(dir) }

type faultyFile struct {
	diskFile
	d    *faulty
	name string
}

func (f faultyFile) Write(p []byte) (int, error) {
	if err := f.d.step("write %s", f.name); err != nil {
		n, _ := f.diskFile.Write(p[:len(p)/2]) // as a full disk does it
		return n, err
	}
	return f.diskFile.Write(p)
}

func (f faultyFile) Sync() error {
	if err := f.d.step("sync %s", f.name); err != nil {
		return err
	}
	return f.diskFile.Sync()
}

func (f faultyFile) Close() error {
	err := f.d.step("close %s", f.name)
	return errors.Join(err, f.diskFile.Close())
}

// Whatever operation fails: an error, and nothing of the packet stays.
func TestAFailedWriteLeavesNothing(t *testing.T) {
	in := anInput()
	in.Full = func(emit func(transcript.Message) error) error { return emit(said(1, "user", "hello")) }
	run := func(failAt int64) (*faulty, string, error) {
		parent := t.TempDir()
		d := &faulty{failAt: failAt}
		return d, parent, mustMake(t, in).write(filepath.Join(parent, "packet"), writeOptions{}, d)
	}
	whole, parent, err := run(0)
	if err != nil {
		t.Fatal(err)
	}
	if r := Validate(filepath.Join(parent, "packet"), secrets{}); !r.Valid {
		t.Fatalf("%+v", r.Findings)
	}
	total := whole.ops.Load()
	for n := int64(1); n <= total; n++ {
		d, parent, err := run(n)
		if !errors.Is(err, errDisk) {
			t.Errorf("operation %d (%v): %v", n, d.done, err)
		}
		if left := names(t, parent); len(left) > 0 {
			t.Errorf("operation %d (%s): left %v", n, d.done[n-1], left)
		}
	}
	if total < 4*6+4 {
		t.Errorf("only %d operations: %v", total, whole.done)
	}
}

// The name appears by one rename, when all files and their folder are synced;
// six syncs without the parent's leave room for the caller's.
func TestWriteSyncsBeforeItRenamesOnce(t *testing.T) {
	d := &faulty{}
	if err := mustMake(t, anInput()).write(filepath.Join(t.TempDir(), "packet"), writeOptions{leaveParent: true}, d); err != nil {
		t.Fatal(err)
	}
	syncs := 0
	for i, op := range d.done {
		switch {
		case strings.HasPrefix(op, "sync"):
			syncs++
		case op == "rename" && i != len(d.done)-1:
			t.Errorf("the rename isn't the last: %v", d.done)
		}
	}
	if d.done[len(d.done)-1] != "rename" || d.done[len(d.done)-2] != "sync folder" || syncs != 6 {
		t.Errorf("%d syncs: %v", syncs, d.done)
	}
}

func TestWriteRefusesAFullTranscriptThatFails(t *testing.T) {
	parent := t.TempDir()
	in := anInput()
	in.Full = func(emit func(transcript.Message) error) error {
		return errors.Join(emit(said(1, "user", "hello")), errDisk)
	}
	if err := mustMake(t, in).Write(filepath.Join(parent, "packet")); !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
	if left := names(t, parent); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Each message of any size, none kept in memory, and the packet twice if wanted.
func TestFullTranscriptIsStreamed(t *testing.T) {
	in := anInput()
	in.Full = func(emit func(transcript.Message) error) error {
		for i := range 500 {
			if err := emit(said(i, "user", fmt.Sprintf("message %d %s", i, strings.Repeat("x", 300)))); err != nil {
				return err
			}
		}
		return nil
	}
	p := mustMake(t, in)
	for _, name := range []string{"one", "two"} {
		dir := filepath.Join(t.TempDir(), name)
		if err := p.Write(dir); err != nil {
			t.Fatal(err)
		}
		if r := Validate(dir, secrets{}); !r.Valid {
			t.Errorf("%+v", r.Findings)
		}
		o, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if o.Summary.Full == nil || o.Summary.Full.Messages != 500 || o.FullBytes < 500*300 || len(o.Continuity.Checksums) != 5 {
			t.Errorf("%+v, %d bytes, %d sums", o.Summary.Full, o.FullBytes, len(o.Continuity.Checksums))
		}
	}
}

// Two writers of one name: one wins, the other says so, nothing is mixed.
func TestOneOfTwoWritersWins(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "packet")
	errs := make([]error, 8)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = mustMake(t, anInput()).Write(dir) })
	}
	wait.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, fs.ErrExist):
			t.Error(err)
		}
	}
	if won != 1 || !slices.Equal(names(t, parent), []string{"packet"}) {
		t.Errorf("%d won, left %v", won, names(t, parent))
	}
	if r := Validate(dir, secrets{}); !r.Valid {
		t.Errorf("%+v", r.Findings)
	}
}

func TestTemporaryNamesCannotBeGuessed(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		name := tempName("/x/" + strings.Repeat("p", 255))
		if seen[name] || len(filepath.Base(name)) > 255 || filepath.Dir(name) != "/x" || !strings.HasSuffix(name, ".tmp") {
			t.Fatalf("name %q", name)
		}
		seen[name] = true
	}
	if name := filepath.Base(tempName("/x/packet")); !strings.HasPrefix(name, "packet.") {
		t.Errorf("name %q", name)
	}
}

func TestRenameCheckedRefusesWhatIsThere(t *testing.T) {
	parent := t.TempDir()
	from, to := filepath.Join(parent, "from"), filepath.Join(parent, "to")
	for _, dir := range []string{from, to} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := renameChecked(from, to); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if err := renameChecked(from, to+"2"); err != nil {
		t.Error(err)
	}
}

package durable

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
	"time"
)

func TestWriteFileSetsContentAndModeWhateverTheUmask(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "record.json")
	for _, perm := range []fs.FileMode{0o600, 0o666, 0o755} {
		if err := WriteFile(path, []byte("content"), perm); err != nil {
			t.Fatal(err)
		}
		wantFile(t, path, "content")
		if runtime.GOOS != "windows" {
			wantMode(t, path, perm)
		}
	}
	wantNames(t, dir, "record.json")
}

func TestWriteFileReplacesALinkInsteadOfFollowingIt(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "state")
	mustWrite(t, victim, "theirs")
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("ours"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFile(t, victim, "theirs")
	wantFile(t, path, "ours")
}

func TestWriteFileLeavesNothingBehindOnAnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "child"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := WriteFile(path, []byte("x"), 0o600) // a folder with a child can't be replaced
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("error %v, want one that names the path", err)
	}
	wantNames(t, dir, "taken")

	err = WriteFile(filepath.Join(dir, "no", "such", "folder"), nil, 0o600)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want fs.ErrNotExist", err)
	}
}

func TestWriteFileTakesVeryLongNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("n", 250))
	if err := WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFile(t, path, "x")
}

func TestCreateFileHasOneWinnerAndNoHalfFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "about.json")
	var won atomic.Int32
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			err := CreateFile(path, []byte(strings.Repeat(fmt.Sprint(i%10), 4096)), 0o600)
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if won.Load() != 1 {
		t.Errorf("%d winners, want 1", won.Load())
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) != 4096 || strings.Trim(string(data), string(data[:1])) != "" {
		t.Errorf("%d bytes of mixed writers, %v", len(data), err)
	}
	wantNames(t, dir, "about.json")
}

func TestSyncFilesNamesEachFileThatFails(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	mustWrite(t, good, "x")
	if err := SyncFiles(good, good); err != nil {
		t.Fatal(err)
	}
	err := SyncFiles(filepath.Join(dir, "a"), good, filepath.Join(dir, "b"))
	if !errors.Is(err, fs.ErrNotExist) || strings.Count(err.Error(), "syncing") != 2 {
		t.Errorf("error %v, want two", err)
	}
}

func TestMakeDirsSaysWhatItMade(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	made, err := MakeDirs(deep, 0o700)
	want := []string{filepath.Join(dir, "a"), filepath.Join(dir, "a", "b"), deep}
	if err != nil || !slices.Equal(made, want) {
		t.Fatalf("made %q, %v", made, err)
	}
	if made, err = MakeDirs(deep, 0o700); err != nil || len(made) != 0 {
		t.Fatalf("made %q again, %v", made, err)
	}
	mustWrite(t, filepath.Join(dir, "file"), "")
	if _, err = MakeDirs(filepath.Join(dir, "file", "x"), 0o700); err == nil {
		t.Fatal("made a folder below a file")
	}
}

func TestSweepTakesOnlyItsOwnOldLeftovers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	old, fresh := TempName(path), TempName(path)
	theirs := []string{".settings.json.tmp", "x.reseat-tmp", ".y.1234.reseat-tmp", "settings.json"}
	for _, p := range []string{old, fresh} {
		mustWrite(t, p, "")
	}
	for _, name := range theirs {
		mustWrite(t, filepath.Join(dir, name), "")
		backdate(t, filepath.Join(dir, name))
	}
	backdate(t, old)
	if err := Sweep(dir, time.Hour); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, append(theirs, filepath.Base(fresh))...)
	if err := Sweep(filepath.Join(dir, "missing"), 0); err != nil {
		t.Error(err)
	}
}

func backdate(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}

func mustWrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s: %q, %v; want %q", path, got, err, want)
	}
}

func wantMode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s: mode %o, want %o", path, info.Mode().Perm(), want)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

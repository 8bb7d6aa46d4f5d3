//go:build unix

package durable

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReplaceKeepsLinksModeAndLeavesNoTemporaryFile(t *testing.T) {
	for name, link := range map[string]func(t *testing.T, dir string) string{
		"plain file": func(t *testing.T, dir string) string {
			return filepath.Join(dir, "real", "file")
		},
		"relative link": func(t *testing.T, dir string) string {
			return symlink(t, "real/file", filepath.Join(dir, "link"))
		},
		"chained links": func(t *testing.T, dir string) string {
			symlink(t, filepath.Join(dir, "real", "file"), filepath.Join(dir, "second"))
			return symlink(t, "second", filepath.Join(dir, "first"))
		},
		"relative link below a linked folder": func(t *testing.T, dir string) string {
			if err := os.MkdirAll(filepath.Join(dir, "dotfiles", "claude"), 0o700); err != nil {
				t.Fatal(err)
			}
			symlink(t, "../../real/file", filepath.Join(dir, "dotfiles", "claude", "settings.json"))
			return filepath.Join(symlink(t, "dotfiles/claude", filepath.Join(dir, ".claude")), "settings.json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
				t.Fatal(err)
			}
			target := filepath.Join(dir, "real", "file")
			mustWrite(t, target, "before")
			if err := os.Chmod(target, 0o640); err != nil {
				t.Fatal(err)
			}
			path := link(t, dir)
			file, err := ReadUserFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := file.Replace([]byte("after"), 0o600); err != nil {
				t.Fatal(err)
			}
			wantFile(t, target, "after")
			wantMode(t, target, 0o640)
			wantNames(t, filepath.Join(dir, "real"), "file")
			if path != target {
				if info, err := os.Lstat(filepath.Clean(path)); err != nil || info.Mode()&os.ModeSymlink == 0 {
					t.Errorf("the link is gone: %v %v", info.Mode(), err)
				}
			}
			if err := file.Replace([]byte("again"), 0o600); err != nil {
				t.Errorf("a second replacement by the same reader: %v", err)
			}
		})
	}
}

func TestReplaceFollowsALinkToNothing(t *testing.T) {
	dir := t.TempDir()
	path := symlink(t, "target", filepath.Join(dir, "link"))
	file, err := ReadUserFile(path)
	if err != nil || file.Exists {
		t.Fatalf("%+v, %v", file, err)
	}
	if err := file.Replace([]byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantFile(t, filepath.Join(dir, "target"), "new")
	if err := file.Remove(); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "link")
}

func TestReadUserFileRefusesWhatItCannotReplace(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"loop":                      {func(t *testing.T, p string) { symlink(t, p, p) }, "loop"},
		"loop of two":               {func(t *testing.T, p string) { symlink(t, p, p+"2"); symlink(t, p+"2", p) }, "loop"},
		"folder":                    {func(t *testing.T, p string) { mkdir(t, p) }, "a folder"},
		"pipe":                      {func(t *testing.T, p string) { mkfifo(t, p) }, "not a regular file"},
		"device":                    {func(t *testing.T, p string) { symlink(t, "/dev/null", p) }, "not a regular file"},
		"hard link":                 {func(t *testing.T, p string) { mustWrite(t, p, ""); hardlink(t, p, p+"2") }, "2 hard links"},
		"read-only":                 {func(t *testing.T, p string) { mustWrite(t, p, ""); chmod(t, p, 0o444) }, "read-only"},
		"link into a missing place": {func(t *testing.T, p string) { symlink(t, "missing/file", p) }, "doesn't exist"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			c.make(t, path)
			_, err := ReadUserFile(path)
			var refused *RefusedError
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || refused.Hint == "" {
				t.Errorf("error %v, want a refusal with %q and a hint", err, c.want)
			}
		})
	}
}

func TestReadUserFileRefusesAFolderThatIsALinkToNothing(t *testing.T) {
	dir := t.TempDir()
	symlink(t, "missing", filepath.Join(dir, ".claude"))
	_, err := ReadUserFile(filepath.Join(dir, ".claude", "settings.json"))
	var refused *RefusedError
	if !errors.As(err, &refused) {
		t.Errorf("error %v, want a refusal", err)
	}
}

func TestReplaceNeverOverwritesWhatAnotherWrote(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")

	file := read(t, path) // nothing there
	mustWrite(t, path, "theirs")
	if err := file.Replace([]byte("ours"), 0o600); !errors.Is(err, ErrChanged) {
		t.Errorf("creating over a new file: %v", err)
	}
	wantFile(t, path, "theirs")

	file = read(t, path)
	mustWrite(t, path, "theirs, again")
	if err := file.Replace([]byte("ours"), 0o600); !errors.Is(err, ErrChanged) {
		t.Errorf("replacing a changed file: %v", err)
	}
	if err := file.Remove(); !errors.Is(err, ErrChanged) {
		t.Errorf("removing a changed file: %v", err)
	}
	wantFile(t, path, "theirs, again")

	file = read(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := file.Replace([]byte("ours"), 0o600); !errors.Is(err, ErrChanged) {
		t.Errorf("replacing a removed file: %v", err)
	}
	wantNames(t, filepath.Dir(path))
}

// The last moment is the one between looking and moving; commit is called as if
// the look had found nothing.
func TestReplaceGivesBackWhatSlippedInAtTheLastMoment(t *testing.T) {
	dir := t.TempDir()
	path, temp := filepath.Join(dir, "f"), filepath.Join(dir, "t")
	mustWrite(t, path, "read")
	file := read(t, path)
	mustWrite(t, path, "slipped in")
	mustWrite(t, temp, "ours")
	if err := exchange(temp, path); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this file system can't exchange files")
	} else if err != nil {
		t.Fatal(err)
	}
	ours, err := sumOf(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.settle(temp, ours); !errors.Is(err, ErrChanged) {
		t.Errorf("error %v, want ErrChanged", err)
	}
	wantFile(t, path, "slipped in")
}

func TestReplaceSweepsLeftoversOfKilledRuns(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	mustWrite(t, path, "before")
	leftover, running := TempName(path), TempName(path)
	other := TempName(filepath.Join(dir, "other.json"))
	for _, p := range []string{leftover, running, other} {
		mustWrite(t, p, "half")
	}
	for _, p := range []string{leftover, other} {
		then := time.Now().Add(-time.Hour)
		if err := os.Chtimes(p, then, then); err != nil {
			t.Fatal(err)
		}
	}
	if err := read(t, path).Replace([]byte("after"), 0); err != nil {
		t.Fatal(err)
	}
	wantNames(t, dir, "settings.json", filepath.Base(running), filepath.Base(other))
}

func read(t *testing.T, path string) *UserFile {
	t.Helper()
	file, err := ReadUserFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func symlink(t *testing.T, to, path string) string {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func hardlink(t *testing.T, path, second string) {
	t.Helper()
	if err := os.Link(path, second); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func mkfifo(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

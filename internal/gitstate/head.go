package gitstate

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxSmall  = 4 << 10  // of HEAD, a loose ref, a .git file, commondir
	maxPacked = 16 << 20 // read of packed-refs at most
	maxHops   = 5        // symbolic refs followed, as git does
)

// Head tells root, branch, head and operation from the files below .git alone:
// linked worktrees, packed refs and a detached head included. Nothing is
// started. A repository whose refs aren't files (reftable) has neither branch
// nor head, and the note says so.
func Head(dir string) State {
	root, gitDir, err := find(dir)
	if err != nil {
		return State{Note: err.Error()}
	}
	state := State{Root: root, Operation: operation(gitDir)}
	head, err := readSmall(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		state.addNote("branch and head unknown: HEAD can't be read")
		return state
	}
	ref, symbolic := strings.CutPrefix(head, "ref:")
	if !symbolic {
		if !isObjectID(head) {
			state.addNote("branch and head unknown: HEAD isn't a ref or a commit")
			return state
		}
		state.Head, state.Detached = head, true
		return state
	}
	ref = strings.TrimSpace(ref)
	if ref == "refs/heads/.invalid" {
		state.addNote("branch and head unknown: refs aren't kept as files")
		return state
	}
	if !safeRef(ref) {
		state.addNote("branch and head unknown: HEAD names no branch")
		return state
	}
	state.Branch = strings.TrimPrefix(ref, "refs/heads/")
	id, err := resolve(gitDir, commonDir(gitDir), ref)
	if err != nil {
		state.addNote("head unknown: " + err.Error())
		return state
	}
	state.Head = id
	return state
}

var errNoRepository = errors.New("not in a git repository")

// find walks up from dir to the folder with .git and says where the
// repository's own files lie.
func find(dir string) (root, gitDir string, err error) {
	if !filepath.IsAbs(dir) {
		return "", "", errNoRepository
	}
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		dotGit := filepath.Join(d, ".git")
		info, err := os.Stat(dotGit)
		switch {
		case err == nil && info.IsDir():
			return d, dotGit, nil
		case err == nil && info.Mode().IsRegular():
			gitDir, err := linked(d, dotGit)
			return d, gitDir, err
		}
		if d == filepath.Dir(d) {
			return "", "", errNoRepository
		}
	}
}

// linked reads the .git file of a linked worktree or a submodule.
func linked(root, file string) (string, error) {
	text, err := readSmall(file)
	if err != nil {
		return "", errNoRepository
	}
	path, ok := strings.CutPrefix(text, "gitdir:")
	if !ok {
		return "", errNoRepository
	}
	path = filepath.FromSlash(strings.TrimSpace(path))
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return "", errors.New("the worktree's repository is gone")
	}
	return filepath.Clean(path), nil
}

// commonDir is where a worktree's shared refs lie.
func commonDir(gitDir string) string {
	text, err := readSmall(filepath.Join(gitDir, "commondir"))
	if err != nil || text == "" {
		return gitDir
	}
	path := filepath.FromSlash(text)
	if !filepath.IsAbs(path) {
		path = filepath.Join(gitDir, path)
	}
	return filepath.Clean(path)
}

// resolve follows a ref to its commit; "" for a branch without one.
func resolve(gitDir, common, ref string) (string, error) {
	for range maxHops {
		text, err := readRef(gitDir, common, ref)
		if errors.Is(err, fs.ErrNotExist) {
			return packed(common, ref)
		}
		if err != nil {
			return "", errors.New("the branch can't be read")
		}
		next, symbolic := strings.CutPrefix(text, "ref:")
		if !symbolic {
			if !isObjectID(text) {
				return "", errors.New("the branch doesn't name a commit")
			}
			return text, nil
		}
		if ref = strings.TrimSpace(next); !safeRef(ref) {
			return "", errors.New("the branch doesn't name a commit")
		}
	}
	return "", errors.New("too many symbolic refs")
}

// readRef reads a loose ref, the worktree's own before the shared one.
func readRef(gitDir, common, ref string) (string, error) {
	name := filepath.FromSlash(ref)
	text, err := readSmall(filepath.Join(gitDir, name))
	if err != nil && gitDir != common {
		text, err = readSmall(filepath.Join(common, name))
	}
	return text, err
}

// packed looks a ref up in packed-refs.
func packed(common, ref string) (string, error) {
	f, err := openRegular(filepath.Join(common, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", errors.New("packed-refs can't be read")
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", errors.New("packed-refs can't be read")
	}
	data := make([]byte, min(info.Size(), maxPacked))
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", errors.New("packed-refs can't be read")
	}
	for line := range bytes.Lines(data[:n]) {
		id, name, ok := strings.Cut(string(bytes.TrimRight(line, "\r\n")), " ")
		if ok && name == ref && isObjectID(id) {
			return id, nil
		}
	}
	return "", nil
}

// operation names what is under way, in the order in which git status does.
func operation(gitDir string) string {
	for _, mark := range []struct{ file, name string }{
		{"MERGE_HEAD", "merge"},
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(gitDir, mark.file)); err == nil {
			return mark.name
		}
	}
	return ""
}

// safeRef reports whether a ref's name stays below refs/ when it is used as a
// path: a repository's files are data, not paths to follow.
func safeRef(ref string) bool {
	return strings.HasPrefix(ref, "refs/") && filepath.IsLocal(filepath.FromSlash(ref)) &&
		!strings.Contains(ref, "..") && !strings.ContainsAny(ref, "\x00\n\r\\:*?[ ")
}

// isObjectID reports whether s is a whole SHA-1 or SHA-256 in hex.
func isObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func readSmall(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSmall))
	return strings.TrimSpace(string(data)), err
}

// openRegular opens a file, but not a named pipe that someone put in its place:
// opening one would wait for its other end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	return os.Open(path)
}

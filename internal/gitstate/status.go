package gitstate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// changes is what one git status told.
type changes struct {
	branch, head string
	detached     bool
	list         []Change
	more         int
	cut          bool
	filtered     bool // content filters are configured and were switched off
}

// status runs git status in the root of a working tree.
//
// A stale index makes git read files again, and that runs the clean filters
// that the configuration names (Git LFS's even writes into the repository). No
// switch turns them all off, so they are asked for by name first and each is
// overridden.
func status(ctx context.Context, root string, limits Limits) (changes, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return changes{}, errNoGit
	}
	if splitIndex(root) {
		return changes{}, errSplit
	}
	off, err := filtersOff(ctx, git, root, limits)
	if err != nil {
		return changes{}, err
	}
	args := append(off,
		"status", "--porcelain=v2", "--branch", "-z",
		"--untracked-files=normal", "--ignore-submodules=all",
		// Finding renames reads objects, which a partial clone would fetch; and
		// counting commits ahead is a walk of the history.
		"--no-renames", "--no-ahead-behind")
	out, cut, err := run(ctx, git, root, args, limits)
	if err != nil {
		return changes{}, err
	}
	result := parse(out, cut, limits.Changes)
	result.filtered = len(off) > 0
	return result, nil
}

// splitIndex reports whether the index is kept in two files: reading it renews
// the times of the shared one.
func splitIndex(root string) bool {
	_, gitDir, err := find(root)
	if err != nil {
		return false
	}
	d, err := os.Open(gitDir)
	if err != nil {
		return false
	}
	defer d.Close()
	for {
		names, err := d.Readdirnames(256)
		for _, name := range names {
			if strings.HasPrefix(name, "sharedindex.") {
				return true
			}
		}
		if err != nil {
			return false
		}
	}
}

// filtersOff is the switches that make every configured content filter do
// nothing.
func filtersOff(ctx context.Context, git, root string, limits Limits) ([]string, error) {
	out, cut, err := run(ctx, git, root,
		[]string{"config", "-z", "--name-only", "--get-regexp", `^filter\..*\.(clean|process)$`}, limits)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return nil, nil // none is configured
	}
	if err != nil {
		return nil, err
	}
	if cut {
		return nil, errBadFilter
	}
	var off []string
	for key := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		driver := key[:strings.LastIndexByte(key, '.')+1]
		if strings.ContainsAny(driver, "=\n\r") {
			return nil, errBadFilter
		}
		// Not "required" either: a required filter that does nothing is fatal.
		off = append(off, "-c", driver+"clean=", "-c", driver+"process=", "-c", driver+"required=false")
	}
	return off, nil
}

// run starts git and returns what it printed, up to the limit.
func run(ctx context.Context, git, root string, args []string, limits Limits) (out []byte, cut bool, err error) {
	cmd := command(ctx, git, root, args)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	var stderr firstLine
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return nil, false, errNoGit
	}
	out, readErr := io.ReadAll(io.LimitReader(stdout, int64(limits.Output)+1))
	if len(out) > limits.Output {
		out, cut = out[:limits.Output], true
		_ = cmd.Process.Kill() // nobody reads the rest
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, false, errTooSlow
	case cut:
		return out, true, nil
	case err != nil && len(stderr.kept) > 0:
		return nil, false, fmt.Errorf("%s (%w)", stderr.kept, err)
	}
	return out, false, errors.Join(err, readErr)
}

// command is a git that reads only.
//
//   - --no-optional-locks: it doesn't rewrite the index with fresh times.
//   - core.fsmonitor empty: it runs no monitor. Empty, not "false": before 2.36
//     the value was a program's name.
//   - core.hooksPath: a hook would be looked for where there is none.
//   - safe.bareRepository: a folder that only looks like a repository isn't one.
//   - the environment is made anew: GIT_DIR, GIT_INDEX_FILE, GIT_TRACE and the
//     like would point it elsewhere, and no transport is allowed, so that a
//     partial clone can't start one.
func command(ctx context.Context, git, root string, args []string) *exec.Cmd {
	fixed := []string{
		"--no-optional-locks", "--no-pager", "--literal-pathspecs",
		"-c", "core.fsmonitor=", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "safe.bareRepository=explicit", "-c", "core.quotePath=false",
	}
	cmd := exec.CommandContext(ctx, git, append(fixed, args...)...)
	cmd.Dir = root
	cmd.Env = environment(os.Getenv)
	cmd.WaitDelay = 100 * time.Millisecond // a grandchild may hold the pipe open
	return cmd
}

// environment is what git gets: enough to find the person's own configuration
// (their ignore file, the folders they call safe) and nothing that steers it.
func environment(getenv func(string) string) []string {
	env := []string{
		"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0",
	}
	keep := []string{"PATH", "HOME", "XDG_CONFIG_HOME"}
	if runtime.GOOS == "windows" {
		keep = append(keep, "SystemRoot", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "TEMP", "TMP", "ProgramData")
	}
	for _, name := range keep {
		if value := getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// firstLine keeps the first line written to it, at most 200 bytes.
type firstLine struct {
	kept []byte
	done bool
}

func (w *firstLine) Write(p []byte) (int, error) {
	line := p
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		line = p[:i]
	}
	if room := 200 - len(w.kept); !w.done && room > 0 {
		w.kept = append(w.kept, line[:min(len(line), room)]...)
	}
	w.done = w.done || len(line) < len(p)
	return len(p), nil
}

// parse reads the output of git status --porcelain=v2 --branch -z. cut says
// that the output ends early: its last record is then not whole.
func parse(out []byte, cut bool, limit int) changes {
	result := changes{cut: cut}
	records := strings.Split(string(out), "\x00")
	// Whole output ends with NUL, so what follows the last one is nothing or a
	// broken piece.
	records = records[:len(records)-1]
	for i := 0; i < len(records); i++ {
		kind, rest, _ := strings.Cut(records[i], " ")
		switch kind {
		case "#":
			result.header(rest)
		case "1":
			result.add(rest, 7, limit)
		case "2":
			result.add(rest, 8, limit)
			i++ // its second record is the path before
		case "u":
			result.add(rest, 9, limit)
		case "?":
			result.keep(Change{Path: rest, Status: "??"}, limit)
		}
	}
	return result
}

func (c *changes) header(line string) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "branch.oid":
		if isObjectID(value) {
			c.head = value
		}
	case "branch.head":
		if value == "(detached)" {
			c.detached = true
			return
		}
		c.branch = value
	}
}

// add keeps the change of a record whose path stands after so many fields.
func (c *changes) add(rest string, fields, limit int) {
	parts := strings.SplitN(rest, " ", fields+1)
	if len(parts) != fields+1 {
		return
	}
	c.keep(Change{Path: parts[fields], Status: parts[0]}, limit)
}

func (c *changes) keep(change Change, limit int) {
	if change.Path == "" {
		return
	}
	if len(c.list) >= limit {
		c.more++
		return
	}
	c.list = append(c.list, change)
}

// Short is the first twelve digits of a commit's id, for a person.
func Short(head string) string {
	return head[:min(len(head), 12)]
}

// Abs is the absolute path of a change.
func (s State) Abs(c Change) string {
	return filepath.Join(s.Root, filepath.FromSlash(c.Path))
}

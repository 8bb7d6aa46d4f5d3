// Package gitstate says where a folder's git repository stands: branch, head,
// what is under way and which files are changed.
//
// It never fails and never waits long: what can't be told is left empty and
// State.Note says why. It changes nothing and starts nothing that a repository
// names: a hook runs in whatever folder the session is in, which may be anyone's
// clone (promises 1 and 3).
//
// Read starts git, closed in on all sides (see command). Head reads the files
// below .git itself and starts nothing: it is for the delivery path, where a
// process is too dear.
package gitstate

import (
	"context"
	"errors"
	"time"
)

// State is where a repository stands.
type State struct {
	Root      string   // of the working tree, absolute; "" outside a repository
	Branch    string   // without refs/heads/; "" when detached or unknown
	Head      string   // the commit's full id; "" before the first commit or when unknown
	Detached  bool     // HEAD names a commit, not a branch
	Operation string   // "merge", "rebase", "cherry-pick", "revert", "bisect" or ""
	Listed    bool     // Changed was asked for and is an answer; false: unknown
	Changed   []Change // in git's order, at most Limits.Changes
	More      int      // changed files beyond those; a lower bound when Cut
	Cut       bool     // git's output was longer than Limits.Output
	Note      string   // in words: what is missing and why, "" for nothing
}

// Change is one path that differs from the head.
type Change struct {
	Path   string // relative to Root, with slashes
	Status string // git's two letters (index, working tree), "." for unchanged; "??" untracked
}

// Limits bound a reading. The zero value takes the defaults.
type Limits struct {
	Time    time.Duration // for everything git does; default 1.5 s
	Output  int           // bytes of git's output that are read; default 1 MiB
	Changes int           // changed files kept; default 200
}

func (l Limits) withDefaults() Limits {
	if l.Time <= 0 {
		l.Time = 1500 * time.Millisecond
	}
	if l.Output <= 0 {
		l.Output = 1 << 20
	}
	if l.Changes <= 0 {
		l.Changes = 200
	}
	return l
}

// Read tells the state of the repository that dir lies in, changed files
// included. Where git is missing, refuses or is too slow, it falls back to what
// Head tells.
func Read(ctx context.Context, dir string, limits Limits) State {
	limits = limits.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()

	state := Head(dir)
	if state.Root == "" {
		return state
	}
	changes, err := status(ctx, state.Root, limits)
	if err != nil {
		state.addNote("changed files unknown: " + err.Error())
		return state
	}
	state.Listed = true
	state.Changed, state.More, state.Cut = changes.list, changes.more, changes.cut
	if changes.branch != "" || changes.detached {
		state.Branch, state.Detached = changes.branch, changes.detached
	}
	if changes.head != "" {
		state.Head = changes.head
	}
	if changes.cut {
		state.addNote("more files are changed than were read")
	}
	if changes.filtered {
		state.addNote("the repository's content filters weren't run, so a file under one may be listed although it is unchanged")
	}
	return state
}

func (s *State) addNote(note string) {
	if s.Note != "" {
		s.Note += "; "
	}
	s.Note += note
}

// The reasons why changed files aren't known.
var (
	errNoGit     = errors.New("git isn't installed")
	errTooSlow   = errors.New("git took too long")
	errSplit     = errors.New("a split index, which reading would touch")
	errBadFilter = errors.New("a content filter whose name can't be switched off on the command line")
)

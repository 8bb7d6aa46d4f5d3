// Package installer puts reseat's hooks into a client's configuration and takes
// them out again (promise 6: what a user had stays byte for byte theirs).
//
// The files are the user's: settings.json of Claude Code, config.toml or
// hooks.json of Codex. An edit inserts, mends or removes only our own entries as
// splices of the bytes that are there; nothing is decoded and encoded again. Each
// result is judged by a second, independent parser before anything is written,
// and what is odd about a file is refused with line, column and remedy. See
// Apply for the order of one edit on disk.
//
// It is not the doctor, which finds out why a hook doesn't fire, and it knows
// nothing of what the hooks do.
package installer

import (
	"fmt"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// Entry is one hook that is installed: at Event the client runs Program and
// gives it Timeout seconds.
type Entry struct {
	Event   string
	Program string
	Timeout int
}

// The two hook programs.
const (
	Precompact = "reseat-precompact"
	Directive  = "reseat-directive"
)

// Entries is what is installed into each client, in the order in which it is
// written. There is no matcher: PreCompact must run for every trigger, and
// SessionStart decides by itself what to do with each source.
func Entries() []Entry {
	return []Entry{
		{"PreCompact", Precompact, 30},
		{"SessionStart", Directive, 15},
		{"UserPromptSubmit", Directive, 10},
		{"PostCompact", Directive, 10},
	}
}

// Scope is which of a client's configuration files is edited.
type Scope string

// The scopes: the user's own file, the project's committed one, and the project's
// own of this user (Claude Code only).
const (
	User    Scope = "user"
	Project Scope = "project"
	Local   Scope = "local"
)

// ParseScope reads a --scope value.
func ParseScope(s string) (Scope, error) {
	switch scope := Scope(strings.TrimSpace(s)); scope {
	case User, Project, Local:
		return scope, nil
	}
	return "", fmt.Errorf("unknown scope %q: use user, project or local", s)
}

// Refusal says why a file isn't edited: where it is odd, and what to do about
// it. The file is byte for byte as it was.
type Refusal struct {
	Client client.Client `json:"client"`
	Path   string        `json:"path"`
	Line   int           `json:"line,omitempty"`   // 1 is the first; 0: the file as a whole
	Column int           `json:"column,omitempty"` // in bytes, 1 is the first
	Reason string        `json:"reason"`
	Hint   string        `json:"hint"` // what to do; may be several lines where there is text to paste
}

func (r *Refusal) Error() string {
	if r.Line == 0 {
		return fmt.Sprintf("%q: %s", r.Path, r.Reason)
	}
	return fmt.Sprintf("%q: line %d, column %d: %s", r.Path, r.Line, r.Column, r.Reason)
}

// refuseAt makes a Refusal for the byte at offset of src.
func refuseAt(src []byte, offset int, hint, format string, args ...any) *Refusal {
	line, column := position(src, offset)
	return &Refusal{Line: line, Column: column, Reason: fmt.Sprintf(format, args...), Hint: hint}
}

// position is the line and column of the byte at offset, both from 1.
func position(src []byte, offset int) (line, column int) {
	line, column = 1, 1
	for _, b := range src[:min(max(offset, 0), len(src))] {
		column++
		if b == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

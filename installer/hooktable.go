package installer

import (
	"cmp"
	"slices"

	"github.com/reseat-dev/reseat/internal/client"
)

// Wanted is what one configuration file shall hold of ours.
type Wanted struct {
	Client client.Client
	Hooks  []WantedHook
	// Rule is the read permission for our packets; empty for none.
	Rule string
	// OldRule is the one that an earlier install put there, if another.
	OldRule string
	// StatusLine is our status line's command; empty leaves what is there.
	StatusLine string
	// NoStatusLine takes our status line out; OldStatusLine is then how the
	// user's own command was spelled (Undo.StatusLine).
	NoStatusLine  bool
	OldStatusLine string
	// File is the path under which Codex knows this configuration: its approvals
	// go by it. Empty for Claude Code.
	File string
	// Getenv looks up the variables in command strings, HOME above all.
	Getenv func(string) string
}

// WantedHook is an Entry with its command string.
type WantedHook struct {
	Entry
	Command string
}

// owns tells whether a hook of event, in a group with this matcher (nil: none),
// is an entry of ours: by what it runs, whatever its folder and quoting. Under a
// matcher that lets only some through it is the user's own use of our program.
func (w Wanted) owns(event string, matcher *string, kind, command string) bool {
	if kind != "command" || !matchesAll(matcher) {
		return false
	}
	use, ok := ReadUse(command, w.Getenv)
	return ok && use.Runtime == w.Client && slices.ContainsFunc(Entries(), func(e Entry) bool {
		return e.Event == event && e.Program == use.Program
	})
}

// matchesAll tells whether a matcher lets everything through. Both clients take
// an empty one and "*" for none; the client's own dialog writes an empty one.
func matchesAll(matcher *string) bool {
	return matcher == nil || *matcher == "" || *matcher == "*"
}

// ours tells whether an entry of ours can be at this event.
func ours(event string) bool {
	return slices.ContainsFunc(Entries(), func(e Entry) bool { return e.Event == event })
}

// Undo is what an uninstall must know to give back the bytes, beyond what it
// sees in the file.
type Undo struct {
	// Blank is what a file held that was there and had no value in it.
	Blank *string `json:"blank,omitempty"`
	// Made lists the containers that weren't there, as paths: "hooks",
	// "hooks/PreCompact", "permissions/allow".
	Made []string `json:"made,omitempty"`
	// Inside is the white space in containers that were there and empty.
	Inside map[string]string `json:"inside,omitempty"`
	// Rule is the read permission that was added; empty if it was there before.
	Rule string `json:"rule,omitempty"`
	// StatusLine is the user's own status-line command as it stood, a JSON string
	// with its quotes; empty if ours isn't before one.
	StatusLine string `json:"status_line,omitempty"`
	// Unended: the last line of a config.toml had no line end.
	Unended bool `json:"unended,omitempty"`
	// Keys are the approvals that were written, by their hash.
	Keys map[string]string `json:"keys,omitempty"`
}

// and adds what a later install did to what the earlier ones did.
func (u Undo) and(later Undo) Undo {
	sum := Undo{Blank: u.Blank, Rule: u.Rule, Inside: map[string]string{}, Keys: map[string]string{}}
	if sum.Blank == nil {
		sum.Blank = later.Blank
	}
	if later.Rule != "" {
		sum.Rule = later.Rule
	}
	sum.StatusLine = cmp.Or(later.StatusLine, u.StatusLine)
	sum.Made = slices.Concat(u.Made, later.Made)
	slices.Sort(sum.Made)
	sum.Made = slices.Compact(sum.Made)
	sum.Unended = u.Unended || later.Unended
	for _, from := range []Undo{u, later} {
		for path, inside := range from.Inside {
			if _, known := sum.Inside[path]; !known {
				sum.Inside[path] = inside
			}
		}
		for key, hash := range from.Keys {
			sum.Keys[key] = hash
		}
	}
	return sum
}

// made tells whether the container at path was made by an install. Without any
// record (nil) what is left empty counts as ours.
func (u *Undo) made(path string) bool { return u == nil || slices.Contains(u.Made, path) }

func (u *Undo) inside(path string) string {
	if u == nil {
		return ""
	}
	return u.Inside[path]
}

func (u *Undo) statusLine() string {
	if u == nil {
		return ""
	}
	return u.StatusLine
}

// An Edit is the outcome of a pure edit function.
type Edit struct {
	Data []byte // the whole file as it shall be
	Undo Undo   // what this edit did, for an uninstall
	// Moves tells what becomes of Codex's approvals with it, by key. A config.toml
	// is edited accordingly already.
	Moves map[string]Move
}

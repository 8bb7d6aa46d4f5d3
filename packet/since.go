package packet

import (
	"slices"
	"time"
)

// World is what is so now, to be held against what was so when a packet was
// made. What isn't known is left zero and isn't compared.
type World struct {
	Time           time.Time
	Branch, Head   string // of the repository that the packet speaks of
	Detached       bool
	Memory         []Surface // looked at again, same paths
	ConfigDigest   string
	PermissionMode string
	CWD            string
}

// Difference is one thing that isn't any more as the packet has it.
type Difference struct {
	What string `json:"what"` // "age", "head", "branch", "role", "recap", "configuration", "permission mode", "working directory"
	Was  string `json:"was"`  // "" where it can't be said in a word
	Now  string `json:"now"`
}

// String is the difference in words.
func (d Difference) String() string {
	switch {
	case d.What == "age":
		return "the packet is " + d.Now + " old"
	case d.Was == "" && d.Now == "":
		return d.What + " changed"
	case d.Was == "":
		return d.What + " " + d.Now
	}
	return d.What + " was " + d.Was + ", is " + d.Now
}

// Since names what changed since the packet was made. Current state beats
// historical state.
func (c *Continuity) Since(now World) []Difference {
	if c == nil {
		return nil
	}
	var l []Difference
	add := func(what, was, is string) {
		if was != "" && is != "" && was != is {
			l = append(l, Difference{what, clip(line(was), 300), clip(line(is), 300)})
		}
	}
	if g := c.Git; g != nil {
		add("branch", branchWord(g.Branch, g.Detached), branchWord(now.Branch, now.Detached))
		add("head", short(g.Head), short(now.Head))
	}
	add("working directory", c.Session.CWD, now.CWD)
	if c.Session.ModeCompares() {
		add("permission mode", c.Session.PermissionMode, now.PermissionMode)
	}
	l = append(l, c.surfacesSince(now.Memory)...)
	if was, is := c.Declared.Digest, now.ConfigDigest; was != "" && is != "" && was != is {
		l = append(l, Difference{What: "configuration"})
	}
	if age := now.Time.Sub(c.GeneratedAt); !now.Time.IsZero() && age >= oldAfter {
		l = append(l, Difference{What: "age", Now: span(age)})
	}
	return l
}

func branchWord(branch string, detached bool) string {
	if detached {
		return "none (detached)"
	}
	return branch
}

func short(head string) string { return head[:min(len(head), 12)] }

// surfacesSince compares what was looked at both times.
func (c *Continuity) surfacesSince(now []Surface) []Difference {
	var l []Difference
	for _, was := range c.Memory {
		i := slices.IndexFunc(now, func(s Surface) bool { return s.Kind == was.Kind && s.Path == was.Path })
		if i < 0 {
			continue
		}
		switch is := now[i]; {
		case is.Missing && !was.Missing:
			l = append(l, Difference{What: was.Kind + " file", Now: "is gone"})
		case was.Missing && !is.Missing:
			l = append(l, Difference{What: was.Kind + " file", Now: "is there now"})
		case is.SHA256 != was.SHA256:
			l = append(l, Difference{What: was.Kind + " file", Now: "was written again at " + moment(is.Modified)})
		}
	}
	return l
}

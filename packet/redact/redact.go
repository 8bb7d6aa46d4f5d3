// Package redact takes secrets out of texts and paths before they reach a
// packet, and finds the ones that were left in one.
//
// It owns one promise: what looks like a secret is gone, whole, and what a
// successor needs to read (commit ids, digests, UUIDs, paths, the clients' own
// ids, code) stays. It keeps design.md's promise 7. It doesn't know packets or
// transcripts and it doesn't decide what is written.
//
// The scanner is written by hand and reads a text once for each level of
// escaping it finds in it, in time linear in the text; no regular expression
// runs unless a user configured some. It is a heuristic: it knows the published
// shapes of about 150 kinds of credential, names that announce a secret
// (password, token, api_key, ... in shell, JSON, YAML, code, command lines and
// headers) and what random text looks like. A secret without a shape, a name or
// randomness is not recognised.
//
// Redact whole texts, before they are cut: half a secret has lost what it was
// known by. [Redactor.Cut] and [Redactor.CutFront] do both in that order.
// Redact the texts of a document, not the encoded document, so that its syntax
// survives; for a document there is [Redactor.Find].
package redact

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

// Marker stands where a secret stood, as in the v0 redaction policies.
const Marker = "[REDACTED]"

// LeftOut stands for a path that the configuration leaves out.
const LeftOut = "[LEFT OUT]"

// Options say what else is a secret and what isn't. The zero value takes the
// built-in classes only.
type Options struct {
	Patterns []string // regular expressions as in package regexp, without \p{...}; with a group, the first group is the secret, else the whole match
	LeaveOut []string // globs of paths that are never named, see [Redactor.LeavesOut]
	Exempt   []string // texts that are no secrets: a match that equals one of them stays
	Home     string   // what a leading "~/" in LeaveOut stands for; "" leaves it literal
}

// Match is one secret found in a text.
type Match struct {
	Class string // what it was recognised by, such as "github-token" or "password"
	Start int    // byte offsets in the text, on rune boundaries
	End   int
}

// Redactor replaces secrets. It doesn't change after New and may be used by
// many goroutines.
type Redactor struct {
	patterns []*pattern
	leaveOut []glob
	exempt   map[string]bool
}

// New makes a Redactor. A pattern or glob that can't be parsed is an error that
// says which; the Redactor then does without it, and is never nil. Patterns are
// compiled only here and only if there are any.
func New(o Options) (*Redactor, error) {
	r := &Redactor{}
	var faults []error
	for _, p := range o.Patterns {
		c, err := compilePattern(p)
		if err != nil {
			faults = append(faults, fmt.Errorf("redaction pattern %q: %w", p, err))
			continue
		}
		r.patterns = append(r.patterns, c)
	}
	for _, p := range o.LeaveOut {
		g, err := parseGlob(p, o.Home)
		if err != nil {
			faults = append(faults, fmt.Errorf("path to leave out %q: %w", p, err))
			continue
		}
		r.leaveOut = append(r.leaveOut, g)
	}
	for _, s := range o.Exempt {
		if r.exempt == nil {
			r.exempt = make(map[string]bool, len(o.Exempt))
		}
		r.exempt[s] = true
	}
	return r, errors.Join(faults...)
}

// passes bounds how often a text is scanned again after a replacement. One more
// scan finds nothing in almost every text; a text made to go on for ever is
// given up in coarser and coarser pieces.
const passes = 6

// Text replaces each secret in s by [Marker] and returns how many it replaced.
// A text without one is returned as it is. Applying Text to its own result
// changes nothing: [Redactor.Find] has no match in it.
func (r *Redactor) Text(s string) (string, int) {
	n := 0
	for pass := 0; ; pass++ {
		found := r.Find(s)
		if len(found) == 0 {
			return s, n
		}
		n += len(found)
		switch {
		case pass < passes:
			s = replace(s, found)
		case pass == passes:
			s = replace(s, []Match{{Start: lineStart(s, found[0].Start), End: len(s)}})
		default:
			return Marker, n
		}
	}
}

// Path redacts a path like a text: a token that is a component or part of a
// query goes, hashes in file names stay. A path to be left out becomes
// [LeftOut].
func (r *Redactor) Path(p string) (string, int) {
	if r.LeavesOut(p) {
		return LeftOut, 1
	}
	return r.Text(p)
}

// LeavesOut reports whether the path p, absolute or relative, is one that the
// configuration leaves out. A glob without a slash matches any component, one
// with a slash the path from its beginning ("**/" matches at any depth), and
// both match everything below what they match.
func (r *Redactor) LeavesOut(p string) bool {
	for _, g := range r.leaveOut {
		if g.match(p) {
			return true
		}
	}
	return false
}

// Find returns the secrets in s in ascending order, without overlap. Each holds
// at least one byte that isn't part of a Marker.
func (r *Redactor) Find(s string) []Match {
	found, escaped := scan(s)
	found = r.user(found, s)
	if escaped {
		found = r.deeper(found, s)
	}
	if len(found) == 0 {
		return nil
	}
	return r.settle(s, found)
}

// deeper appends what is found with the escapes of s resolved, level by level.
func (r *Redactor) deeper(found []Match, s string) []Match {
	v := &view{text: s}
	for escaped, depth := true, 0; escaped && depth < levels; depth++ {
		v = v.unescape()
		var more []Match
		more, escaped = scan(v.text)
		for _, m := range r.user(more, v.text) {
			m.Start, m.End = v.source(m.Start, m.End)
			found = append(found, m)
		}
	}
	return found
}

// user appends the matches of the configured patterns.
func (r *Redactor) user(found []Match, s string) []Match {
	for _, p := range r.patterns {
		for _, at := range p.all(s) {
			start, end := at[0], at[1]
			if at[2] >= 0 {
				start, end = at[2], at[3]
			}
			if start < end {
				found = append(found, Match{Class: "configured", Start: start, End: end})
			}
		}
	}
	return found
}

// settle sorts the matches, drops the exempt ones, joins those that overlap,
// and widens one that reaches into a Marker over the whole of it, so that a
// second redaction can't nibble at the first. What is nothing but markers is
// no match.
func (r *Redactor) settle(s string, found []Match) []Match {
	sort.Stable(byStart(found))
	marks := markers(s)
	out := found[:0]
	for _, m := range found {
		if r.exempt[s[m.Start:m.End]] {
			continue
		}
		if last := len(out) - 1; last >= 0 && m.Start < out[last].End {
			out[last].End = max(out[last].End, m.End)
			continue
		}
		out = append(out, m)
	}
	if len(marks) == 0 {
		return out
	}
	return clearOf(s, out, marks)
}

// byStart orders matches, the longer one first. It isn't generic because each
// instance of a generic sort weighs 20 KB in a hook.
type byStart []Match

func (b byStart) Len() int      { return len(b) }
func (b byStart) Swap(i, j int) { b[i], b[j] = b[j], b[i] }
func (b byStart) Less(i, j int) bool {
	return b[i].Start < b[j].Start || b[i].Start == b[j].Start && b[i].End > b[j].End
}

// clearOf widens the matches over the markers they touch and drops those that
// hold nothing else. Matches and marks ascend.
func clearOf(s string, found []Match, marks []int) []Match {
	out := found[:0]
	for _, m := range found {
		first := sort.SearchInts(marks, m.Start-len(Marker)+1)
		covered := 0
		for _, at := range marks[first:] {
			if at >= m.End {
				break
			}
			covered += min(at+len(Marker), m.End) - max(at, m.Start)
		}
		if covered == m.End-m.Start {
			continue
		}
		if covered > 0 {
			if at := marks[first]; at < m.Start {
				m.Start = at
			}
			if last := strings.LastIndex(s[m.Start:min(len(s), m.End+len(Marker)-1)], Marker); last >= 0 {
				m.End = max(m.End, m.Start+last+len(Marker))
			}
		}
		if last := len(out) - 1; last >= 0 && m.Start < out[last].End {
			out[last].End = max(out[last].End, m.End)
			continue
		}
		out = append(out, m)
	}
	return out
}

// markers lists where the markers in s begin.
func markers(s string) []int {
	var at []int
	for i := 0; ; {
		n := strings.Index(s[i:], Marker)
		if n < 0 {
			return at
		}
		at = append(at, i+n)
		i += n + len(Marker)
	}
}

func replace(s string, found []Match) string {
	var b strings.Builder
	b.Grow(len(s))
	from := 0
	for _, m := range found {
		b.WriteString(s[from:m.Start])
		b.WriteString(Marker)
		from = m.End
	}
	b.WriteString(s[from:])
	return b.String()
}

func lineStart(s string, i int) int { return strings.LastIndexByte(s[:i], '\n') + 1 }

// Cut redacts s and keeps its beginning: at most n bytes, ending on a rune
// boundary and never inside a Marker. left is how many bytes of the redacted
// text went, found how many secrets went from what was read. No more of s than n
// and a margin is read, so a long text costs what is kept of it.
//
// Of a text longer than n no byte behind the first n is kept, however short
// redaction makes them: s may itself be the beginning of a longer text, and what
// stands at its end half a secret.
func (r *Redactor) Cut(s string, n int) (kept string, left, found int) {
	n = max(n, 0)
	window := s[:runeStart(s, n+margin)]
	whole, found := r.Text(window)
	at := clampEnd(whole, n)
	if len(s) > n {
		head, _ := r.Text(s[:runeStart(s, n)])
		at = clampEnd(whole, min(at, common(head, whole)))
	}
	return whole[:at], len(s) - len(window) + len(whole) - at, found
}

// CutFront redacts s and keeps its end: at most n bytes, beginning on a rune
// boundary and never inside a Marker. left and found are as for Cut. All of s
// is read, because what announces a secret stands before it. Of a text longer
// than n no byte before the last n is kept.
func (r *Redactor) CutFront(s string, n int) (kept string, left, found int) {
	n = max(n, 0)
	whole, found := r.Text(s)
	at := clampStart(whole, n)
	if len(s) > n {
		tail, _ := r.Text(s[len(s)-n:])
		at = clampStart(whole, min(len(whole)-at, commonEnd(tail, whole)))
	}
	return whole[at:], at, found
}

// common is how many bytes a and b begin with alike.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// commonEnd is how many bytes a and b end with alike.
func commonEnd(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[len(a)-1-i] != b[len(b)-1-i] {
			return i
		}
	}
	return n
}

// margin is how many bytes beyond a cut are read, so that a secret that begins
// before it is whole. What is longer (a key block, a large token) is recognised
// by its beginning.
const margin = 8 << 10

// clampEnd is the largest cut of s at or below n that splits no rune and no
// Marker.
func clampEnd(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	at := runeStart(s, max(n, 0))
	from := max(0, at-len(Marker)+1)
	if i := strings.Index(s[from:min(len(s), at+len(Marker)-1)], Marker); i >= 0 && from+i < at {
		at = from + i
	}
	return at
}

// clampStart is the smallest cut of s that leaves at most n bytes after it and
// splits no rune and no Marker.
func clampStart(s string, n int) int {
	at := max(0, len(s)-max(n, 0))
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	from := max(0, at-len(Marker)+1)
	if i := strings.Index(s[from:min(len(s), at+len(Marker)-1)], Marker); i >= 0 && from+i < at {
		at = from + i + len(Marker)
	}
	return at
}

// runeStart is the largest rune boundary at or below i. Bytes that belong to no
// rune are boundaries themselves.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := 0; back < utf8.UTFMax && i-back >= 0; back++ {
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i
}

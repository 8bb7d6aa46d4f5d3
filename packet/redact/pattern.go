package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is a configured regular expression: the syntax and the meaning of
// package regexp without Unicode classes (\p{...}), and like there in time linear
// in the text for each match. It is here because package regexp weighs a quarter
// of a megabyte in a program that may weigh 3.8, and makes tables at each start
// of it; a test holds the two against each other.
type pattern struct {
	prog   []inst
	prefix string // every match begins with it
}

// inst is one instruction of a pattern's program.
type inst struct {
	op     op
	x, y   int    // where to go on; y only for opSplit
	ranges []rune // opRune: pairs of first and last, ascending
	not    bool   // opRune: none of them
	fold   bool   // opRune: in either letter case
	assert assertion
}

type op uint8

const (
	opRune  op = iota // one rune
	opSplit           // x, and if that fails, y
	opGo              // x
	opSave            // note the position in slot y, then x
	opCheck           // x, if the assertion holds here
	opMatch
)

type assertion uint8

const (
	textStart assertion = iota
	textEnd
	lineStartHere
	lineEndHere
	wordEdge
	noWordEdge
)

// The slots of a match: its beginning and end and those of its first group.
type slots [4]int

// all returns the matches in s that aren't empty, from left to right without
// overlap.
func (p *pattern) all(s string) []slots {
	var found []slots
	m := machine{p: p, s: s, seen: make([]int, len(p.prog))}
	for at := 0; at <= len(s); {
		got, ok := m.run(at)
		if !ok {
			break
		}
		if got[1] > got[0] {
			found = append(found, got)
			at = got[1]
			continue
		}
		_, width := utf8.DecodeRuneInString(s[got[1]:])
		at = got[1] + max(width, 1)
	}
	return found
}

// machine runs a program over a text by keeping all the places in the program
// that the text so far leads to, the preferred first.
type machine struct {
	p    *pattern
	s    string
	seen []int // of each instruction, 1 + the step that added it last
	step int
	now  []thread
	next []thread
}

type thread struct {
	pc  int
	cap slots
}

// run finds the leftmost match that begins at or behind at.
func (m *machine) run(at int) (best slots, ok bool) {
	m.now = m.now[:0]
	m.begin()
	for i := at; ; {
		if !ok && len(m.now) == 0 {
			if i = m.candidate(i); i < 0 {
				return best, false
			}
		}
		r, width := rune(-1), 0
		if i < len(m.s) {
			r, width = utf8.DecodeRuneInString(m.s[i:])
		}
		if !ok {
			m.now = m.add(m.now, 0, i, slots{i, -1, -1, -1})
		}
		if ok && len(m.now) == 0 {
			return best, true
		}
		m.begin()
		m.next = m.next[:0]
		for _, t := range m.now {
			in := &m.p.prog[t.pc]
			if in.op == opMatch {
				best, ok = t.cap, true
				best[1] = i
				break // what comes later is less preferred
			}
			if width > 0 && in.takes(r) {
				m.next = m.add(m.next, in.x, i+width, t.cap)
			}
		}
		m.now, m.next = m.next, m.now
		if width == 0 {
			return best, ok
		}
		i += width
	}
}

// candidate is where a match may begin at or behind i, -1 if nowhere.
func (m *machine) candidate(i int) int {
	n := strings.Index(m.s[i:], m.p.prefix)
	if n < 0 {
		return -1
	}
	return i + n
}

// begin starts a new set of places.
func (m *machine) begin() { m.step++ }

// add follows what needs no rune from pc on and adds the places reached.
func (m *machine) add(list []thread, pc, i int, c slots) []thread {
	if m.seen[pc] == m.step {
		return list
	}
	m.seen[pc] = m.step
	switch in := &m.p.prog[pc]; in.op {
	case opGo:
		return m.add(list, in.x, i, c)
	case opSplit:
		return m.add(m.add(list, in.x, i, c), in.y, i, c)
	case opSave:
		c[in.y] = i
		return m.add(list, in.x, i, c)
	case opCheck:
		if !m.holds(in.assert, i) {
			return list
		}
		return m.add(list, in.x, i, c)
	}
	return append(list, thread{pc, c})
}

func (m *machine) holds(a assertion, i int) bool {
	switch a {
	case textStart:
		return i == 0
	case textEnd:
		return i == len(m.s)
	case lineStartHere:
		return i == 0 || m.s[i-1] == '\n'
	case lineEndHere:
		return i == len(m.s) || m.s[i] == '\n'
	}
	before := i > 0 && is(m.s[i-1], word)
	after := i < len(m.s) && is(m.s[i], word)
	return (before != after) == (a == wordEdge)
}

func (in *inst) takes(r rune) bool {
	if in.op != opRune {
		return false
	}
	if !in.fold {
		return within(in.ranges, r) != in.not
	}
	in1 := within(in.ranges, r)
	for f := unicode.SimpleFold(r); f != r && !in1; f = unicode.SimpleFold(f) {
		in1 = within(in.ranges, f)
	}
	return in1 != in.not
}

func within(ranges []rune, r rune) bool {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}

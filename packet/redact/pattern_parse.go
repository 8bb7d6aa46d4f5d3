package redact

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a part of a pattern's text.
type node struct {
	kind     nodeKind
	subs     []*node
	inst     inst // nodeInst
	min, max int  // nodeRepeat; max -1: without end
	lazy     bool
	group    int // nodeGroup: its number
}

type nodeKind uint8

const (
	nodeEmpty nodeKind = iota
	nodeInst
	nodeSequence
	nodeChoice
	nodeRepeat
	nodeGroup
)

const (
	maxProgram = 10_000 // instructions of a pattern, counted repetitions written out
	maxDepth   = 200    // of groups
	maxRepeat  = 1000   // as in package regexp
)

// flags are the settings (?imsU).
type flags struct{ fold, lines, dotAll, lazy bool }

// parser reads a pattern.
type parser struct {
	s      string
	i      int
	depth  int
	groups int
	flags
}

// compilePattern makes a pattern of its text.
func compilePattern(s string) (*pattern, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("isn't UTF-8")
	}
	p := &parser{s: s}
	n, err := p.choice()
	if err == nil && p.i < len(s) {
		err = p.fault("unexpected )")
	}
	if err != nil {
		return nil, err
	}
	c := &pattern{}
	if err := c.emit(n); err != nil {
		return nil, err
	}
	c.prog = append(c.prog, inst{op: opMatch})
	c.prefix = c.literal()
	return c, nil
}

func (p *parser) fault(what string) error { return fmt.Errorf("%s at offset %d", what, p.i) }

func (p *parser) more() bool { return p.i < len(p.s) }

func (p *parser) take(text string) bool {
	if strings.HasPrefix(p.s[p.i:], text) {
		p.i += len(text)
		return true
	}
	return false
}

// choice reads alternatives up to a closing parenthesis or the end.
func (p *parser) choice() (*node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fault("nested too deep")
	}
	defer func() { p.depth-- }()
	var all []*node
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		all = append(all, n)
		if !p.take("|") {
			break
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return &node{kind: nodeChoice, subs: all}, nil
}

func (p *parser) sequence() (*node, error) {
	seq := &node{kind: nodeSequence}
	for p.more() && p.s[p.i] != '|' && p.s[p.i] != ')' {
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		last := len(seq.subs)
		if n != nil {
			seq.subs = append(seq.subs, n)
		} else if last--; last < 0 {
			continue // flags, and nothing before them that a repetition could hold for
		}
		if seq.subs[last], err = p.repeated(seq.subs[last]); err != nil {
			return nil, err
		}
	}
	return seq, nil
}

// repeated reads what may stand behind an atom: * + ? {m,n}.
func (p *parser) repeated(n *node) (*node, error) {
	for done := false; p.more(); done = true {
		from, least, most := p.i, 0, -1
		switch {
		case p.take("*"):
		case p.take("+"):
			least = 1
		case p.take("?"):
			most = 1
		default:
			var ok bool
			if least, most, ok = p.counts(); !ok {
				return n, nil
			}
			if least > maxRepeat || most > maxRepeat || most >= 0 && most < least {
				return nil, p.fault("invalid repeat count")
			}
		}
		if done {
			p.i = from
			return nil, p.fault("repetition of a repetition")
		}
		n = &node{kind: nodeRepeat, subs: []*node{n}, min: least, max: most, lazy: p.take("?") != p.lazy}
	}
	return n, nil
}

// counts reads {m}, {m,} or {m,n}. What only looks like one is text.
func (p *parser) counts() (least, most int, ok bool) {
	rest := p.s[p.i:]
	end := strings.IndexByte(rest, '}')
	if rest[0] != '{' || end < 0 {
		return 0, 0, false
	}
	first, second, ranged := strings.Cut(rest[1:end], ",")
	least, ok = number(first)
	switch {
	case !ok:
		return 0, 0, false
	case !ranged:
		most = least
	case second == "":
		most = -1
	default:
		if most, ok = number(second); !ok {
			return 0, 0, false
		}
	}
	p.i += end + 1
	return least, most, true
}

func number(s string) (int, bool) {
	if s == "" || !all(s, digit) || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		n = maxRepeat + 1
	}
	return n, true
}

// atom reads one unit; nil for what matches nothing of its own: flags.
func (p *parser) atom() (*node, error) {
	switch c := p.s[p.i]; c {
	case '(':
		return p.groupOrFlags()
	case '[':
		return p.class()
	case '.':
		p.i++
		if p.dotAll {
			return p.runes([]rune{0, utf8.MaxRune}, false), nil
		}
		return p.runes([]rune{'\n', '\n'}, true), nil
	case '^', '$':
		p.i++
		return check(p.anchor(c)), nil
	case '*', '+', '?', '{':
		if _, _, ok := p.counts(); ok || c != '{' {
			return nil, p.fault("nothing to repeat")
		}
	case '\\':
		return p.escape()
	}
	r, width := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += width
	return p.runes([]rune{r, r}, false), nil
}

func (p *parser) anchor(c byte) assertion {
	switch {
	case c == '^' && p.lines:
		return lineStartHere
	case c == '^':
		return textStart
	case p.lines:
		return lineEndHere
	}
	return textEnd
}

func check(a assertion) *node {
	return &node{kind: nodeInst, inst: inst{op: opCheck, assert: a}}
}

func (p *parser) runes(ranges []rune, not bool) *node {
	return &node{kind: nodeInst, inst: inst{op: opRune, ranges: ranges, not: not, fold: p.fold}}
}

func (p *parser) groupOrFlags() (*node, error) {
	p.i++
	before := p.flags
	number := 0
	switch {
	case p.take("?P<"), p.take("?<"):
		end := strings.IndexByte(p.s[p.i:], '>')
		if end <= 0 || !all(p.s[p.i:p.i+end], word) {
			return nil, p.fault("invalid name of a group")
		}
		p.i += end + 1
		p.groups++
		number = p.groups
	case p.take("?"):
		closed, err := p.setFlags()
		if err != nil || closed {
			return nil, err
		}
	default:
		p.groups++
		number = p.groups
	}
	n, err := p.choice()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fault("missing )")
	}
	p.flags = before
	return &node{kind: nodeGroup, subs: []*node{n}, group: number}, nil
}

// setFlags reads the letters behind "(?". closed says that they hold for the
// rest of the group they stand in and not for one of their own.
func (p *parser) setFlags() (closed bool, err error) {
	on, some := true, false
	for p.more() {
		c := p.s[p.i]
		p.i++
		switch c {
		case 'i':
			p.fold, some = on, true
		case 'm':
			p.lines, some = on, true
		case 's':
			p.dotAll, some = on, true
		case 'U':
			p.lazy, some = on, true
		case '-':
			if !on {
				return false, p.fault("invalid flags")
			}
			on, some = false, false
		case ':', ')':
			if !on && !some {
				return false, p.fault("invalid flags")
			}
			return c == ')', nil
		default:
			return false, p.fault("invalid flags")
		}
	}
	return false, p.fault("missing )")
}

// escape reads what a backslash begins, outside of a class.
func (p *parser) escape() (*node, error) {
	if p.i+1 == len(p.s) {
		return nil, p.fault("trailing backslash")
	}
	c := p.s[p.i+1]
	switch c {
	case 'A', 'z', 'b', 'B':
		p.i += 2
		return check(map[byte]assertion{'A': textStart, 'z': textEnd, 'b': wordEdge, 'B': noWordEdge}[c]), nil
	case 'Q':
		p.i += 2
		text, _, closed := strings.Cut(p.s[p.i:], `\E`)
		p.i += len(text)
		if closed {
			p.i += 2
		}
		seq := &node{kind: nodeSequence}
		for _, r := range text {
			seq.subs = append(seq.subs, p.runes([]rune{r, r}, false))
		}
		return p.quoted(seq)
	}
	if ranges, not := perlClass(c); ranges != nil {
		p.i += 2
		return p.runes(ranges, not), nil
	}
	r, err := p.escapedRune()
	if err != nil {
		return nil, err
	}
	return p.runes([]rune{r, r}, false), nil
}

// quoted lets a repetition behind \Q...\E hold for its last rune. An empty one
// is as if it weren't there.
func (p *parser) quoted(seq *node) (*node, error) {
	n := len(seq.subs)
	if n == 0 {
		return nil, nil
	}
	last, err := p.repeated(seq.subs[n-1])
	seq.subs[n-1] = last
	return seq, err
}

// perlClass is \d, \s, \w and their opposites.
func perlClass(c byte) (ranges []rune, not bool) {
	switch c {
	case 'd', 'D':
		ranges = []rune{'0', '9'}
	case 's', 'S':
		ranges = []rune{'\t', '\n', '\f', '\r', ' ', ' '}
	case 'w', 'W':
		ranges = []rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}
	}
	return ranges, is(c, upper)
}

// escapedRune reads a backslash and the rune that it stands for.
func (p *parser) escapedRune() (rune, error) {
	if p.i+1 >= len(p.s) {
		return 0, p.fault("trailing backslash")
	}
	c, width := utf8.DecodeRuneInString(p.s[p.i+1:])
	p.i += 1 + width
	if n := strings.IndexRune("afnrtv", c); n >= 0 {
		return rune("\a\f\n\r\t\v"[n]), nil
	}
	switch {
	case c == 'x':
		return p.hexRune()
	case '0' <= c && c <= '7':
		return p.octalRune(c)
	case c == 'p' || c == 'P':
		return 0, p.fault("classes of Unicode aren't supported")
	case c < utf8.RuneSelf && !is(byte(c), word) || c == '_':
		return c, nil
	}
	return 0, p.fault("invalid escape")
}

// octalRune reads the rest of a number of up to three octal digits. One digit
// other than 0 would be a reference to a group, which there aren't.
func (p *parser) octalRune(first rune) (rune, error) {
	r, n := first-'0', 1
	for ; n < 3 && p.more() && '0' <= p.s[p.i] && p.s[p.i] <= '7'; n++ {
		r = r<<3 | rune(p.s[p.i]-'0')
		p.i++
	}
	if n == 1 && first != '0' {
		return 0, p.fault("invalid escape")
	}
	return r, nil
}

// hexRune reads what stands behind \x: two digits, or any number in braces.
func (p *parser) hexRune() (rune, error) {
	digits := p.s[p.i:min(len(p.s), p.i+2)]
	if p.take("{") {
		n := strings.IndexByte(p.s[p.i:], '}')
		if n < 0 {
			return 0, p.fault("invalid escape")
		}
		digits = p.s[p.i : p.i+n]
		p.i++
	} else if len(digits) < 2 {
		return 0, p.fault("invalid escape")
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || v > utf8.MaxRune || !all(digits, hexa) {
		return 0, p.fault("invalid escape")
	}
	p.i += len(digits)
	return rune(v), nil
}

// class reads [...].
func (p *parser) class() (*node, error) {
	p.i++
	not := p.take("^")
	var ranges []rune
	for first := true; ; first = false {
		if !p.more() {
			return nil, p.fault("missing ]")
		}
		if !first && p.take("]") {
			return p.runes(ranges, not), nil
		}
		more, err := p.classItem()
		if err != nil {
			return nil, err
		}
		ranges = append(ranges, more...)
	}
}

// classItem reads one member of a class: a named class, a range, a rune.
func (p *parser) classItem() ([]rune, error) {
	rest := p.s[p.i:]
	if strings.HasPrefix(rest, "[:") {
		if name, _, ok := strings.Cut(rest[2:], ":]"); ok {
			ranges := posixClass(name)
			if ranges == nil {
				return nil, p.fault("invalid class")
			}
			p.i += len("[:") + len(name) + len(":]")
			return ranges, nil
		}
	}
	if rest[0] == '\\' && len(rest) > 1 {
		if ranges, not := perlClass(rest[1]); ranges != nil {
			p.i += 2
			if not {
				ranges = opposite(ranges)
			}
			return ranges, nil
		}
	}
	low, err := p.classRune()
	if err != nil {
		return nil, err
	}
	high := low
	if rest := p.s[p.i:]; len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
		p.i++
		if high, err = p.classRune(); err != nil {
			return nil, err
		}
	}
	if high < low {
		return nil, p.fault("invalid range")
	}
	return []rune{low, high}, nil
}

func (p *parser) classRune() (rune, error) {
	if !p.more() {
		return 0, p.fault("missing ]")
	}
	if p.s[p.i] == '\\' {
		return p.escapedRune()
	}
	r, width := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += width
	return r, nil
}

// opposite is all runes outside of ascending ranges.
func opposite(ranges []rune) []rune {
	var out []rune
	next := rune(0)
	for i := 0; i < len(ranges); i += 2 {
		if next < ranges[i] {
			out = append(out, next, ranges[i]-1)
		}
		next = ranges[i+1] + 1
	}
	return append(out, next, utf8.MaxRune)
}

func posixClass(name string) []rune {
	name, not := strings.CutPrefix(name, "^")
	ranges := map[string][]rune{
		"alnum": {'0', '9', 'A', 'Z', 'a', 'z'}, "alpha": {'A', 'Z', 'a', 'z'}, "ascii": {0, 0x7f}, "blank": {'\t', '\t', ' ', ' '},
		"cntrl": {0, 0x1f, 0x7f, 0x7f}, "digit": {'0', '9'}, "graph": {'!', '~'}, "lower": {'a', 'z'}, "print": {' ', '~'},
		"punct": {'!', '/', ':', '@', '[', '`', '{', '~'}, "space": {'\t', '\r', ' ', ' '}, "upper": {'A', 'Z'},
		"word": {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}, "xdigit": {'0', '9', 'A', 'F', 'a', 'f'},
	}[name]
	if not && ranges != nil {
		return opposite(ranges)
	}
	return ranges
}

// emit appends the program of a node. Its last instruction goes on to the one
// that is appended next.
func (c *pattern) emit(n *node) error {
	if len(c.prog) > maxProgram {
		return errors.New("too large")
	}
	switch n.kind {
	case nodeInst:
		c.put(n.inst)
	case nodeSequence:
		for _, sub := range n.subs {
			if err := c.emit(sub); err != nil {
				return err
			}
		}
	case nodeGroup:
		return c.emitGroup(n)
	case nodeChoice:
		return c.emitChoice(n.subs)
	case nodeRepeat:
		return c.emitRepeat(n)
	}
	return nil
}

// put appends an instruction that goes on to the next.
func (c *pattern) put(in inst) int {
	in.x = len(c.prog) + 1
	c.prog = append(c.prog, in)
	return len(c.prog) - 1
}

func (c *pattern) emitGroup(n *node) error {
	if n.group != 1 {
		return c.emit(n.subs[0])
	}
	c.put(inst{op: opSave, y: 2})
	if err := c.emit(n.subs[0]); err != nil {
		return err
	}
	c.put(inst{op: opSave, y: 3})
	return nil
}

func (c *pattern) emitChoice(subs []*node) error {
	var ends []int
	for i, sub := range subs {
		split := -1
		if i < len(subs)-1 {
			split = c.put(inst{op: opSplit})
		}
		if err := c.emit(sub); err != nil {
			return err
		}
		if split >= 0 {
			ends = append(ends, c.put(inst{op: opGo}))
			c.prog[split].y = len(c.prog)
		}
	}
	for _, at := range ends {
		c.prog[at].x = len(c.prog)
	}
	return nil
}

func (c *pattern) emitRepeat(n *node) error {
	sub := n.subs[0]
	atLeast := n.min
	if n.max < 0 {
		atLeast = max(0, n.min-1) // the last one is the loop
	}
	for range atLeast {
		if err := c.emit(sub); err != nil {
			return err
		}
	}
	var splits []int
	if n.max < 0 {
		if n.min == 0 {
			splits = append(splits, c.split(n.lazy))
		}
		if err := c.emitLoop(sub, n.lazy); err != nil {
			return err
		}
	}
	for range n.max - n.min {
		splits = append(splits, c.split(n.lazy))
		if err := c.emit(sub); err != nil {
			return err
		}
	}
	for _, at := range splits {
		c.leave(at, n.lazy)
	}
	return nil
}

// emitLoop appends a node one or more times. The choice stands behind it, so
// that one that can match nothing is gone through once.
func (c *pattern) emitLoop(sub *node, lazy bool) error {
	start := len(c.prog)
	if err := c.emit(sub); err != nil {
		return err
	}
	at := c.put(inst{op: opSplit})
	if lazy {
		c.prog[at].y = start
		return nil
	}
	c.prog[at].x, c.prog[at].y = start, at+1
	return nil
}

// split appends a choice between the next instruction and one that leave sets.
func (c *pattern) split(lazy bool) int {
	at := c.put(inst{op: opSplit})
	if lazy {
		c.prog[at].y = at + 1
	}
	return at
}

func (c *pattern) leave(at int, lazy bool) {
	if lazy {
		c.prog[at].x = len(c.prog)
		return
	}
	c.prog[at].y = len(c.prog)
}

// literal is the text that every match begins with.
func (c *pattern) literal() string {
	var b strings.Builder
	for pc := 0; ; {
		in := &c.prog[pc]
		switch {
		case in.op == opSave || in.op == opGo && in.x > pc:
		case in.op == opRune && !in.fold && !in.not && len(in.ranges) == 2 && in.ranges[0] == in.ranges[1] && in.ranges[0] != utf8.RuneError:
			b.WriteRune(in.ranges[0])
		default:
			return b.String()
		}
		pc = in.x
	}
}

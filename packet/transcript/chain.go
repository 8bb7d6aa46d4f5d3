package transcript

// chain.go finds the records of a Claude Code session's own conversation. A
// rewind writes nothing: the next prompt simply names an older parent, and what
// was said since then is an abandoned branch. So the conversation is what the
// newest record's parents lead to, and what hangs on them: the results of
// parallel tool calls and the other parts of one answer are siblings, not
// ancestors.

// nodeKind is what a record is to the chain.
type nodeKind uint8

const (
	nodeOther     nodeKind = iota // attachment, system, progress
	nodePrompt                    // a user's record that isn't a tool result
	nodeResult                    // tool results
	nodeAssistant                 // a part of an answer
	nodeBoundary                  // a compaction's boundary or summary
)

// node is one record that can be in the chain.
type node struct {
	off     int64
	id      idKey
	parent  idKey
	logical idKey
	source  idKey  // a tool result's assistant record
	message uint64 // an assistant's message id: parts of one answer share it
	kind    nodeKind
	root    bool // parentUuid is null
	counts  bool // it holds a message
	on      bool // in the session's own chain
	adrift  bool // its parent is nowhere: the record before it stands in
}

// maxNodes bounds the index of a reading, and with it the memory: 5 MB.
const maxNodes = 64 << 10

// chain is an index of the records read so far, newest first.
type chain struct {
	nodes []node
	byID  map[idKey]int32
	twin  map[int32]int32 // the next older record with the same id
}

func nodeOf(l line, c *claudeLine) (n node, ok bool) {
	n = node{off: l.off, id: keyOf(c.id), parent: keyOf(c.parent), logical: keyOf(c.logical), source: keyOf(c.source), root: c.root}
	switch string(c.typ) {
	case "user":
		m := parseClaudeMessage(c.message)
		switch userKindOf(c, m.content) {
		case userSummary:
			n.kind = nodeBoundary
		case userResult:
			n.kind = nodeResult
		case userTyped, userWritten:
			n.kind, n.counts = nodePrompt, true
		default:
			n.kind = nodePrompt
		}
	case "assistant":
		m := parseClaudeMessage(c.message)
		n.kind, n.message = nodeAssistant, hashOf(m.id)
		n.counts = !m.synthetic(c) && speaks(m.content)
	case "attachment":
		n.counts = is(member(c.attachment, "type"), "queued_command") && !starts(member(c.attachment, "prompt"), localStarts)
	case "system":
		if string(c.subtype) == "compact_boundary" {
			n.kind = nodeBoundary
		}
	case "progress":
	default:
		return node{}, false
	}
	return n, true
}

// speaks reports whether an answer's part holds words.
func speaks(content []byte) bool {
	if isString(content) {
		return len(content) > 2
	}
	for f := elements(content); f.next(); {
		if is(member(f.val, "type"), "text") {
			return true
		}
	}
	return false
}

func (c *chain) add(n node) { c.nodes = append(c.nodes, n) }

func (c *chain) index() {
	c.byID = make(map[idKey]int32, len(c.nodes))
	c.twin = nil
	for i := range c.nodes {
		n := &c.nodes[i]
		n.on = false
		if n.id == (idKey{}) {
			continue
		}
		if newer, dup := c.byID[n.id]; dup {
			if c.twin == nil {
				c.twin = map[int32]int32{}
			}
			for c.twin[newer] != 0 {
				newer = c.twin[newer]
			}
			c.twin[newer] = int32(i)
			continue
		}
		c.byID[n.id] = int32(i)
	}
}

// find returns the record with the id, best the newest one older than the record
// at index than; one that is in the chain already is no parent any more.
func (c *chain) find(id idKey, than int) int {
	i, ok := c.byID[id]
	if !ok {
		return -1
	}
	found := -1
	for {
		if !c.nodes[i].on {
			found = int(i)
			if found > than {
				return found
			}
		}
		older := c.twin[i]
		if older == 0 {
			return found
		}
		i = older
	}
}

// walk marks the ancestors of the newest record and returns the index of the
// last one found, and whether the chain ended at a root. More is in the file
// where whole is false: then a parent that isn't there may just not be read yet.
func (c *chain) walk(whole bool) (last int, rooted bool) {
	at := c.leaf()
	if at < 0 {
		return -1, true
	}
	for {
		n := &c.nodes[at]
		n.on = true
		next := -1
		if n.parent != (idKey{}) {
			next = c.find(n.parent, at)
		}
		if next < 0 && n.logical != (idKey{}) {
			next = c.find(n.logical, at)
		}
		if next < 0 {
			if n.root && n.kind == nodePrompt {
				return at, true
			}
			known := n.parent != (idKey{}) || n.logical != (idKey{})
			if known && !whole && !n.adrift {
				return at, false
			}
			if next = c.before(at); next < 0 {
				return at, whole
			}
		}
		at = next
	}
}

// leaf is the newest record of the conversation: what the client noted about
// itself behind it may hang anywhere.
func (c *chain) leaf() int {
	for i := range c.nodes {
		if c.nodes[i].kind != nodeOther {
			return i
		}
	}
	if len(c.nodes) > 0 {
		return 0
	}
	return -1
}

// before returns the nearest older record that isn't in the chain, for a parent
// that is nowhere.
func (c *chain) before(at int) int {
	for i := at + 1; i < len(c.nodes); i++ {
		if !c.nodes[i].on {
			return i
		}
	}
	return -1
}

// siblings marks what hangs on the chain, oldest first: tool results and notes of
// records in it, other parts of an answer in it.
func (c *chain) siblings() {
	answers := map[uint64]bool{}
	for i := range c.nodes {
		if n := &c.nodes[i]; n.on && n.message != 0 {
			answers[n.message] = true
		}
	}
	on := func(id idKey) bool {
		i, ok := c.byID[id]
		return ok && c.nodes[i].on
	}
	for i := len(c.nodes) - 1; i >= 0; i-- {
		n := &c.nodes[i]
		if n.on {
			continue
		}
		switch n.kind {
		case nodeAssistant:
			n.on = answers[n.message]
		case nodeResult, nodeOther:
			n.on = on(n.parent) || on(n.source)
		}
	}
}

// messages counts the messages in the chain.
func (c *chain) messages() (n int) {
	for i := range c.nodes {
		if c.nodes[i].on && c.nodes[i].counts {
			n++
		}
	}
	return n
}

// settle decides on what was read so far.
func (c *chain) settle(whole bool) (last int, rooted bool) {
	c.index()
	last, rooted = c.walk(whole)
	c.share()
	c.siblings()
	c.share()
	return last, rooted
}

// share lets all copies of a record share its fate. 2.1.197 writes what a
// compaction preserves once more each time.
func (c *chain) share() {
	for newest := range c.twin {
		if c.byID[c.nodes[newest].id] != newest {
			continue // not the first of its copies
		}
		on := false
		for i := newest; !on; i = c.twin[i] {
			on = c.nodes[i].on
			if c.twin[i] == 0 {
				break
			}
		}
		if !on {
			continue
		}
		for i := newest; ; i = c.twin[i] {
			c.nodes[i].on = true
			if c.twin[i] == 0 {
				break
			}
		}
	}
}

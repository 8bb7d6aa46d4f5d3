package transcript

import (
	"bytes"
	"context"
	"fmt"

	"github.com/reseat-dev/reseat/internal/client"
)

// recentIDs is how many record ids Walk remembers to count duplicates once: a
// client rewrites records next to a boundary, not far from it.
const recentIDs = 16 << 10

// Walk calls fn for each message of a transcript, oldest first; of a Codex fork,
// of its parents' history too. It streams the file twice at most, with bounded
// memory: once to find what a rewind or a rollback abandoned, once to decode. An
// error of fn ends it and is returned; so is ctx's. Of opt, the bounds of one
// message and one line count.
func Walk(ctx context.Context, c client.Client, path string, opt Options, fn func(Message) error) (Omitted, error) {
	src, err := open(path)
	if err != nil {
		return Omitted{}, err
	}
	defer src.close()
	return walkSource(ctx, c, src, opt, fn)
}

func walkSource(ctx context.Context, c client.Client, src *source, opt Options, fn func(Message) error) (Omitted, error) {
	r := newReader(ctx, c, src, opt)
	r.b.emit = fn
	var err error
	if c == client.Codex {
		err = r.walkCodex()
	} else {
		err = r.walkClaude()
	}
	return r.st.Omitted, err
}

func (r *reader) walkClaude() error {
	off, err := r.abandoned()
	if err != nil {
		return err
	}
	cr := &claudeReader{b: r.b}
	recent := newRing(recentIDs)
	f := r.src.forward(0, r.src.size, r.opt.LineBytes)
	defer f.stop()
	for n := 0; ; n++ {
		if n%256 == 255 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		l, ok := f.scan()
		if !ok {
			break
		}
		r.b.line++
		if r.silent(l) {
			continue
		}
		c, class := r.parse(l)
		if !r.note(l, class) {
			continue
		}
		for len(off) > 0 && l.off >= off[0].to {
			off = off[1:]
		}
		if len(off) > 0 && l.off >= off[0].from && len(c.id) > 0 {
			r.st.Omitted.OffChain++
			continue
		}
		if recent.again(keyOf(c.id)) {
			r.st.Omitted.Duplicates++
			continue
		}
		cr.record(l, &c)
		clear(r.b.calls)
		r.b.open = r.b.open[:0]
		if r.b.err != nil {
			return r.b.err
		}
	}
	if f.err == nil && r.st.Lines == 0 {
		return fmt.Errorf("reading transcript %q: %w", r.src.path, ErrEmpty)
	}
	return f.err
}

// silent counts a line that certainly holds no message by its first bytes, and
// by a search of the whole line for a part with text, which is many times faster
// than a scan.
func (r *reader) silent(l line) bool {
	if len(l.b) < 64 || l.b[len(l.b)-1] != '}' {
		return false
	}
	q := firstOf(l.b)
	if !q.known || q.sidechain {
		return false
	}
	o := &r.st.Omitted
	var count *int64
	switch {
	case q.typ == claudeAttachment && q.name != "queued_command":
		count = &o.Meta
	case q.part == "tool_result":
		count = &o.ToolOutputs
	case q.part == "tool_use":
		count = &o.FunctionCalls
	case q.part == "thinking":
		count = &o.Reasoning
	default:
		return false
	}
	if q.typ != claudeAttachment && hasText(l.b) {
		return false
	}
	*count++
	r.st.Lines++
	return true
}

// hasText reports whether a part of type text may stand in a line. It looks for
// bytes of which the first is rare in a transcript: a quote would be found at
// every step.
func hasText(b []byte) bool { return bytes.Contains(b, []byte(`:"text"`)) }

// abandoned finds the branches that a rewind left: two prompts with one parent,
// and everything from the first to the second belongs to no conversation any
// more.
func (r *reader) abandoned() ([]span, error) {
	firsts := map[idKey]asked{} // by parent
	var off []span
	f := r.src.forward(0, r.src.size, r.opt.LineBytes)
	defer f.stop()
	for n := 0; ; n++ {
		if n%256 == 255 && r.ctx.Err() != nil {
			return nil, r.ctx.Err()
		}
		l, ok := f.scan()
		if !ok {
			return merged(off), f.err
		}
		n, ok := r.promptNode(l)
		if !ok {
			continue
		}
		first, again := firsts[n.parent]
		switch {
		case !again:
			firsts[n.parent] = asked{off: l.off, id: n.id}
		case first.id != n.id: // not a copy of the same record
			off = append(off, span{from: first.off, to: l.off})
		}
	}
}

// promptNode returns a record that opens a turn.
func (r *reader) promptNode(l line) (n node, ok bool) {
	if l.b == nil {
		return n, false
	}
	if q := firstOf(l.b); q.known {
		asks := q.typ == claudeUser && q.part != "tool_result" || q.typ == claudeAttachment && q.name == "queued_command"
		if q.sidechain || !asks {
			return n, false
		}
	} else if class, _ := classifyClaude(l.b); class != classScan {
		return n, false
	}
	c, class := r.parse(l)
	if class != classScan || c.sidechain || c.parent == nil && !c.root {
		return n, false
	}
	n, ok = nodeOf(l, &c)
	return n, ok && (n.kind == nodePrompt || n.kind == nodeOther && n.counts)
}

// merged joins overlapping spans, in file order. They come in the order of their
// ends.
func merged(spans []span) []span {
	var out []span
	for _, s := range spans {
		for len(out) > 0 && s.from <= out[len(out)-1].to {
			s.from = min(s.from, out[len(out)-1].from)
			out = out[:len(out)-1]
		}
		out = append(out, s)
	}
	return out
}

// ring remembers the last ids.
type ring struct {
	ids  []idKey
	next int
	has  map[idKey]bool
}

func newRing(n int) *ring { return &ring{ids: make([]idKey, 0, n), has: make(map[idKey]bool, n)} }

// again reports whether the id was seen, and remembers it.
func (r *ring) again(id idKey) bool {
	if id == (idKey{}) {
		return false
	}
	if r.has[id] {
		return true
	}
	if len(r.ids) < cap(r.ids) {
		r.ids = append(r.ids, id)
	} else {
		delete(r.has, r.ids[r.next])
		r.ids[r.next] = id
		r.next = (r.next + 1) % len(r.ids)
	}
	r.has[id] = true
	return false
}

func (r *reader) walkCodex() error {
	segments, err := r.segments()
	defer func() {
		for _, s := range segments[min(1, len(segments)):] {
			s.src.close()
		}
	}()
	if err != nil {
		return err
	}
	cr := &codexReader{b: r.b, first: true}
	for i := len(segments) - 1; i >= 0; i-- {
		s := segments[i]
		if err := r.rollbacks(s); err != nil {
			return err
		}
		if err := r.walkSegment(cr, s); err != nil {
			return err
		}
	}
	cr.finish()
	return r.b.err
}

func (r *reader) walkSegment(cr *codexReader, s *segment) error {
	r.b.in, r.b.line = s.in, 0
	f := s.src.forward(0, s.to, r.opt.LineBytes)
	for n := 0; ; n++ {
		if n%256 == 255 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		l, ok := f.scan()
		if !ok {
			r.b.in = ""
			return f.err
		}
		r.b.line++
		if r.quiet(l) {
			continue
		}
		c, class := r.parseCodex(s, l)
		if !r.note(l, class) {
			continue
		}
		if s.rolledBack(l.off) {
			r.st.Omitted.OffChain++
			continue
		}
		cr.record(l, &c)
		clear(r.b.calls)
		r.b.open = r.b.open[:0]
		if r.b.err != nil {
			return r.b.err
		}
	}
}

// quiet counts a record of Codex that certainly holds no message by its first
// bytes.
func (r *reader) quiet(l line) bool {
	if len(l.b) == 0 || l.b[len(l.b)-1] != '}' {
		return false
	}
	o := &r.st.Omitted
	switch q := quickCodex(l.b); {
	case q.typ == "event_msg" && codexEventKnown(q.sub) && !(q.sub == "item_completed" && (q.item == "UserMessage" || q.item == "")):
	case q.typ == "response_item" && (q.sub == "function_call" || q.sub == "custom_tool_call"):
		o.FunctionCalls++
	case q.typ == "response_item" && (q.sub == "function_call_output" || q.sub == "custom_tool_call_output"):
		o.ToolOutputs++
	case q.typ == "response_item" && q.sub == "reasoning":
		o.Reasoning++
	case q.typ == "world_state", q.typ == "token_usage_record", q.typ == "turn_context":
	default:
		return false
	}
	r.st.Lines++
	return true
}

// rollbacks finds what was rolled back in a file (0.133.0, 0.139.0), walking it
// backwards if it was at all.
func (r *reader) rollbacks(s *segment) error {
	// A part of the event's name thread_rolled_back, without quotes, which would
	// have to be looked for in two forms, and beginning with a rare letter.
	found, err := s.src.holds("_rolled_back", 0, s.to)
	if err != nil || !found {
		return err
	}
	t := &codexTail{reader: r}
	back := s.src.backward(s.to, r.opt.LineBytes)
	for {
		l, ok := back.scan()
		if !ok {
			t.begins(s)
			return back.err
		}
		t.take(s, l)
	}
}

package transcript

import (
	"bytes"
	"fmt"
	"time"
)

// segment is one file of a Codex thread's history, newest first: the rollout
// itself, then what it was forked from (history_base), each up to where the fork
// was taken.
type segment struct {
	src  *source
	to   int64
	in   string // the path, "" for the transcript itself
	from int64  // where decoding begins; to if it isn't reached
	off  []span // what was rolled back
}

// span is a range of a file, [from, to).
type span struct{ from, to int64 }

func (s *segment) rolledBack(off int64) bool {
	for _, x := range s.off {
		if off >= x.from && off < x.to {
			return true
		}
	}
	return false
}

// codex reads a rollout of Codex.
func (r *reader) codex() error {
	segments, err := r.segments()
	defer func() {
		for _, s := range segments[min(1, len(segments)):] {
			s.src.close()
		}
	}()
	if err != nil {
		return err
	}
	t := &codexTail{reader: r, end: r.backTime(), segments: segments}
	if err := t.find(); err != nil {
		return err
	}
	cr := &codexReader{b: r.b, main: true}
	r.b.cwd = r.st.Identity.CWD
	cr.first = true // the identity was read first of all
	if !r.opt.TailOnly {
		if err := r.codexBefore(cr, t); err != nil {
			return err
		}
	}
	return r.codexForward(cr, t)
}

// codexTail is the walk backwards over a thread's history.
type codexTail struct {
	*reader
	end      time.Time
	segments []*segment
	counted  int
	oldest   int // index of the segment where decoding begins
	rolled   int // turns still to be passed because they were rolled back
	rolledAt int64
	typed    bool // an event of a typed message was passed, its item is to come
	summary  bool // a boundary was passed, its summary is to come
	seen     int64
}

func (t *codexTail) find() error {
	for i, s := range t.segments {
		s.from, t.oldest = s.to, i
		done, err := t.walk(s)
		if err != nil {
			return err
		}
		if done {
			return nil
		}
	}
	return nil
}

// walk goes back over one file until a bound is full.
func (t *codexTail) walk(s *segment) (done bool, err error) {
	t.rolled, t.typed, t.summary = 0, false, false
	back := s.src.backward(s.to, t.opt.LineBytes)
	defer back.stop()
	for n := 0; ; n++ {
		if t.counted >= t.opt.Messages && t.rolled == 0 || t.seen >= t.opt.TailBytes {
			return true, nil
		}
		if n%64 == 63 && t.seen > leastTail && t.out(t.end) {
			return true, nil
		}
		l, ok := back.scan()
		if !ok {
			t.begins(s)
			return false, back.err
		}
		t.seen += l.n + 1
		s.from = l.off
		t.take(s, l)
	}
}

// begins ends the walk at the start of a file: more was rolled back than there is.
func (t *codexTail) begins(s *segment) {
	if t.rolled > 0 {
		s.off = append(s.off, span{from: 0, to: t.rolledAt})
		t.rolled = 0
	}
}

// take looks at one line of the tail.
func (t *codexTail) take(s *segment, l line) {
	head := l.b
	if head == nil {
		head = s.src.firstBytes(l)
	}
	switch q := quickCodex(head); {
	case q.typ == "event_msg" && q.sub == "thread_rolled_back":
		if c, class := t.parseCodex(s, l); class == classScan {
			if t.rolled == 0 {
				t.rolledAt = l.off
			}
			t.rolled += int(max(0, min(integer(member(c.payload, "num_turns")), 1<<20)))
		}
	case q.typ == "event_msg" && (q.sub == "user_message" || q.sub == "item_completed" && q.item == "UserMessage"):
		t.typed = true
	case q.typ == "compacted":
		t.summary = true
	case q.typ == "response_item" && q.sub == "message" && q.role == "assistant":
		if t.rolled == 0 && !t.summary {
			t.counted++
		}
		t.summary = false
	case q.typ == "response_item" && q.sub == "message" && q.role == "user", q.typ == "":
		t.takeUser(s, l)
	}
}

func (t *codexTail) takeUser(s *segment, l line) {
	c, class := t.parseCodex(s, l)
	if class != classScan || !is(member(c.payload, "type"), "message") {
		return
	}
	m := parseCodexMessage(c.payload)
	kind := m.kind(&c)
	if kind != codexUser && kind != codexAnswer {
		return
	}
	switch {
	case t.rolled == 0:
		t.counted++
	case kind == codexUser && t.typed:
		t.rolled--
		if t.rolled == 0 {
			s.off = append(s.off, span{from: l.off, to: t.rolledAt})
		}
	}
	if kind == codexUser {
		t.typed = false
	}
}

// codexQuick is what a line's first bytes tell.
type codexQuick struct{ typ, sub, item, role, name string }

// quickCodex reads the first bytes of a line in the order that every version
// seen writes. The zero value says that they don't tell.
func quickCodex(b []byte) (q codexQuick) {
	head := b[:min(len(b), headBytes)]
	if !bytes.HasPrefix(head, []byte(`{"timestamp":"`)) {
		return q
	}
	i := bytes.Index(head, []byte(`,"payload":{`))
	if i < 0 {
		return q
	}
	before, payload := head[:i], head[i:]
	typ := after(before, `"type":"`)
	if typ == nil {
		return q
	}
	q.typ = word(typ)
	if sub, ok := bytes.CutPrefix(payload, []byte(`,"payload":{"type":"`)); ok {
		if end := bytes.IndexByte(sub, '"'); end >= 0 {
			q.sub = word(sub[:end])
		}
	}
	switch {
	case q.sub == "message":
		q.role = word(after(payload, `"role":"`))
	case q.sub == "item_completed":
		q.item = word(after(payload, `"item":{"type":"`))
	case q.sub == "function_call" || q.sub == "custom_tool_call":
		q.name = word(after(payload, `"name":"`))
	}
	if q.typ == "response_item" && (q.sub == "" || q.sub == "message" && q.role == "") {
		return codexQuick{} // another order than usual
	}
	return q
}

// parseCodex scans a line of a segment.
func (r *reader) parseCodex(s *segment, l line) (c codexLine, class claudeClass) {
	b := bytes.TrimSpace(l.b)
	var small *shrunk
	if l.b == nil {
		on := *r
		on.src = s.src
		var ok bool
		if small, ok = on.shrinkLine(l); !ok {
			return c, classNone
		}
		b = small.b
	}
	c, ok := parseCodex(b, small)
	if !ok {
		return c, classNone
	}
	return c, classScan
}

// codexForward decodes from where the tail begins, through all files.
func (r *reader) codexForward(cr *codexReader, t *codexTail) error {
	r.b.dim = false
	for i := t.oldest; i >= 0; i-- {
		s := t.segments[i]
		if i == 0 {
			r.st.From = s.from
			if r.ctx.Err() != nil && s.to-s.from > leastTail {
				at, err := s.src.alignment(s.to - leastTail)
				if err != nil {
					return err
				}
				s.from, r.st.From, r.late = at, at, true
			}
		}
		if i == t.oldest {
			r.st.Omitted.BytesBefore = s.from
			for _, older := range t.segments[i+1:] {
				r.st.Omitted.BytesBefore += older.to
			}
		}
		if err := r.codexSegment(cr, s); err != nil {
			return err
		}
	}
	cr.finish()
	return nil
}

func (r *reader) codexSegment(cr *codexReader, s *segment) error {
	on := *r
	on.src = s.src
	lines, err := on.linesBefore(s.from)
	if err != nil {
		return err
	}
	counting := lines >= 0
	r.b.line, r.b.in = max(lines, 0), s.in
	f := s.src.forward(s.from, s.to, r.opt.LineBytes)
	defer f.stop()
	for {
		l, ok := f.scan()
		if !ok {
			r.b.in = ""
			return f.err
		}
		if counting {
			r.b.line++
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
	}
}

// codexBefore reads what stands before the tail.
func (r *reader) codexBefore(cr *codexReader, t *codexTail) error {
	s := t.segments[t.oldest]
	last := t.segments[len(t.segments)-1]
	r.b.dim, r.b.opening = true, true
	from := max(0, s.from-r.opt.LookBack)
	if s != last || from > 0 {
		to := last.to
		if s == last {
			to = from
		}
		if err := r.codexDim(cr, last, 0, min(to, headLimit), true); err != nil {
			return err
		}
		cr.settle()
		if len(r.st.Opening) == 0 {
			r.b.caveat("no opening request was found at the head of the transcript")
		}
		r.b.opening = false
		r.forget()
	}
	if s.from > 0 {
		if err := r.codexDim(cr, s, from, s.from, false); err != nil {
			return err
		}
	}
	cr.settle()
	return nil
}

// codexDim reads [from, to) of a file for what lasts; of the head it reads no more
// than the opening requests need.
func (r *reader) codexDim(cr *codexReader, s *segment, from, to int64, head bool) error {
	from, err := s.src.alignment(from)
	if err != nil {
		return err
	}
	on := *r
	on.src = s.src
	lines, err := on.linesBefore(from)
	if err != nil {
		return err
	}
	counting := lines >= 0
	r.b.line, r.b.in = max(lines, 0), s.in
	defer func() { r.b.in = "" }()
	firstAt := int64(-1)
	f := s.src.forward(from, to, r.opt.LineBytes)
	defer f.stop()
	for n := 0; ; n++ {
		l, ok := f.scan()
		if !ok {
			return f.err
		}
		if counting {
			r.b.line++
		}
		if n%64 == 63 && r.out(r.backTime()) {
			return nil
		}
		if firstAt < 0 && len(r.st.Opening) > 0 {
			firstAt = l.off
		}
		if head && (len(r.st.Opening) == maxOpening || firstAt >= 0 && l.off-firstAt > headAfter) {
			return nil
		}
		if s.rolledBack(l.off) {
			continue
		}
		first := l.b
		if first == nil {
			first = s.src.firstBytes(l)
		}
		if !cr.lasting(first) {
			continue
		}
		if c, class := r.parseCodex(s, l); class == classScan {
			cr.record(l, &c)
		}
	}
}

// lasting judges by a line's first bytes whether it can tell something that
// lasts. If they don't tell, it can.
func (r *codexReader) lasting(b []byte) bool {
	q := quickCodex(b)
	switch q.typ {
	case "":
		return true
	case "compacted":
		return true
	case "event_msg":
		switch q.sub {
		case "user_message", "patch_apply_end", "":
			return true
		case "item_completed":
			switch q.item {
			case "UserMessage", "FileChange", "SubAgentActivity", "CollabAgentToolCall", "Plan", "":
				return true
			case "CommandExecution":
				return len(r.b.open) > 0
			}
		}
		return false
	case "response_item":
		return r.lastingItem(q, b)
	}
	return false
}

func (r *codexReader) lastingItem(q codexQuick, b []byte) bool {
	head := b[:min(len(b), headBytes)]
	switch q.sub {
	case "message":
		return q.role == "user"
	case "function_call", "custom_tool_call":
		switch q.name {
		case "exec_command", "shell", "shell_command", "update_plan", "apply_patch", "spawn_agent", "close_agent", "interrupt_agent", "write_stdin", "wait", "wait_agent", "":
			return true
		}
	case "local_shell_call":
		return true
	case "function_call_output", "custom_tool_call_output":
		id := string(after(head, `"call_id":"`))
		k := r.b.calls[id]
		if k == nil {
			return id == "" && len(r.b.calls) > 0
		}
		if k.command != nil && k.paths == nil && !bytes.Contains(head, []byte("Process running with session ID")) {
			r.b.result(id)
			return false
		}
		return true
	}
	return false
}

// firstMeta finds a rollout's identity: its first session_meta.
func (s *source) firstMeta(r *reader) (c codexLine, found bool, err error) {
	f := s.forward(0, min(s.size, headLimit), r.opt.LineBytes)
	defer f.stop()
	seg := &segment{src: s, to: s.size}
	for n := 0; n < 256; n++ {
		l, ok := f.scan()
		if !ok {
			return c, false, f.err
		}
		c, class := r.parseCodex(seg, l)
		if class == classScan && string(c.typ) == "session_meta" {
			return codexLine{payload: bytes.Clone(c.payload), at: bytes.Clone(c.at)}, true, nil
		}
	}
	return c, false, nil
}

// segments opens the transcript's history.
func (r *reader) segments() ([]*segment, error) {
	own := &segment{src: r.src, to: r.src.size}
	list := []*segment{own}
	c, found, err := r.src.firstMeta(r)
	if err != nil {
		return list, err
	}
	if !found {
		if r.src.size == 0 || r.blank() {
			return list, fmt.Errorf("reading transcript %q: %w", r.src.path, ErrEmpty)
		}
		r.b.caveat("the rollout has no session_meta: whose it is isn't known")
		return list, nil
	}
	codexIdentity(&r.st.Identity, &c)
	if id := r.st.Identity.SessionID; r.opt.Session != "" && id != r.opt.Session {
		return list, fmt.Errorf("reading transcript %q: it is %s's: %w", r.src.path, id, ErrOtherSession)
	}
	return r.ancestors(list, &c), nil
}

// blank reports whether the file's first block holds white space only.
func (r *reader) blank() bool {
	buf := make([]byte, min(block, r.src.size))
	n, err := r.src.read(buf, 0)
	return err == nil && r.src.size <= block && len(bytes.TrimSpace(buf[:n])) == 0
}

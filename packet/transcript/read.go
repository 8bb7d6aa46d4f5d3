package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
)

// Defaults of Options.
const (
	defaultMessages     = 120
	defaultMessageBytes = 24 << 10
	defaultLineBytes    = 1 << 20
	defaultTailBytes    = 64 << 20
	defaultLookBack     = 4 << 20
	defaultOutputBytes  = 4 << 10
)

// Bounds of a reading that aren't options.
const (
	countedBytes = 4 << 20  // lines before the tail are counted up to here
	headLimit    = 64 << 20 // the search for the opening request ends here
	headAfter    = 1 << 20  // and this much behind the first one
	gapBytes     = 16 << 20 // how far a missing parent is looked for
	leastTail    = 1 << 20  // read whatever the time
)

func (o Options) withDefaults() Options {
	set(&o.Messages, defaultMessages)
	set(&o.MessageBytes, defaultMessageBytes)
	set(&o.LineBytes, defaultLineBytes)
	set(&o.TailBytes, defaultTailBytes)
	set(&o.LookBack, defaultLookBack)
	set(&o.OutputBytes, defaultOutputBytes)
	return o
}

func set[T int | int64](to *T, to0 T) {
	if *to <= 0 {
		*to = to0
	}
}

// Read reads a transcript: the tail until the message bound is full, across
// boundaries, what stands a little before it of plan, edits and open work, and
// the head for the requests that opened the work.
//
// The story is never nil. When ctx is done it holds what was read till then, the
// newest first, with the omission counted and a caveat, and no error. The error
// says that there is no content: fs.ErrNotExist, fs.ErrPermission,
// ErrNotRegular, ErrEmpty, ErrOtherSession, or what reading failed with; the
// story's caveat says it in words.
func Read(ctx context.Context, c client.Client, path string, opt Options) (*Story, error) {
	st := &Story{Client: c, Path: path}
	src, err := open(path)
	if err != nil {
		st.Caveats = append(st.Caveats, unread(err))
		return st, err
	}
	defer src.close()
	return readSource(ctx, c, src, opt)
}

func readSource(ctx context.Context, c client.Client, src *source, opt Options) (*Story, error) {
	r := newReader(ctx, c, src, opt)
	r.began = time.Now()
	var err error
	if c == client.Codex {
		err = r.codex()
	} else {
		err = r.claude()
	}
	if err != nil {
		blank := &Story{Client: c, Path: src.path, Size: src.size, Identity: Identity{SessionID: r.st.Identity.SessionID}}
		blank.Caveats = append(blank.Caveats, unread(err))
		blank.Unread = !errors.Is(err, ErrOtherSession)
		return blank, err
	}
	r.b.finish()
	r.finish()
	return r.st, nil
}

func newReader(ctx context.Context, c client.Client, src *source, opt Options) *reader {
	st := &Story{Client: c, Path: src.path, Size: src.size}
	r := &reader{ctx: ctx, src: src, opt: opt.withDefaults(), st: st}
	r.b = newBuilder(r.opt, st)
	return r
}

// unread says in words why a transcript wasn't read.
func unread(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "the transcript is missing"
	case errors.Is(err, fs.ErrPermission):
		return "the transcript may not be read"
	case errors.Is(err, ErrNotRegular):
		return "the transcript's path is no regular file"
	case errors.Is(err, ErrEmpty):
		return "the transcript is empty"
	case errors.Is(err, ErrOtherSession):
		return "the transcript belongs to another session"
	}
	return "the transcript could not be read: " + err.Error()
}

// reader is one reading of one transcript.
type reader struct {
	ctx   context.Context
	src   *source
	opt   Options
	st    *Story
	b     *builder
	began time.Time
	late  bool // time was up before the bounds were full
}

// backTime is when the walk backwards has to end: decoding what it found takes
// about as long again.
func (r *reader) backTime() time.Time {
	end, ok := r.ctx.Deadline()
	if !ok {
		return time.Time{}
	}
	return r.began.Add(end.Sub(r.began) / 2)
}

// out reports whether the walk backwards has to end for want of time.
func (r *reader) out(end time.Time) bool {
	if r.ctx.Err() != nil || !end.IsZero() && time.Now().After(end) {
		r.late = true
	}
	return r.late
}

// finish notes what all readings note.
func (r *reader) finish() {
	st := r.st
	if r.late {
		r.b.caveat("time was up: only the end of the transcript was read")
	}
	switch now := r.src.sizeNow(); {
	case now > st.Size:
		r.b.caveat("the transcript grew while it was read")
	case now < st.Size:
		r.b.caveat("the transcript shrank while it was read")
	}
	if st.Omitted.Oversize > 0 {
		r.b.caveat(fmt.Sprintf("%d very long records were skimmed", st.Omitted.Oversize))
	}
}

// firstBytes reads the start of a line that was too long to be kept.
func (s *source) firstBytes(l line) []byte {
	head := make([]byte, min(headBytes, l.n))
	n, _ := s.read(head, l.off)
	return head[:n]
}

// longestEscape is how many bytes one byte of a text takes at most in JSON: a string's
// first longestEscape*n raw bytes are at least the text's first n.
const longestEscape = len(`\u0041`)

// shrinkLine makes a long line scannable.
func (r *reader) shrinkLine(l line) (*shrunk, bool) {
	small, ok, err := r.src.shrink(l.off, l.n, longestEscape*max(r.opt.MessageBytes, r.opt.OutputBytes, proposalBytes), max(r.opt.LineBytes/2, block))
	return small, ok && err == nil
}

// claude reads a transcript of Claude Code.
func (r *reader) claude() error {
	t := &claudeTail{reader: r, end: r.backTime()}
	if err := t.find(); err != nil {
		return err
	}
	cr := &claudeReader{b: r.b}
	if len(t.chain.nodes) == 0 && t.sidechain {
		cr.sub, r.st.Identity.Subagent = true, true
		r.b.caveat("the transcript is a subagent's: it holds no conversation of the session's own")
	}
	r.b.opening = !r.opt.TailOnly
	if !r.opt.TailOnly {
		if err := r.claudeBefore(cr, t); err != nil {
			return err
		}
	}
	return r.claudeForward(cr, t)
}

// claudeTail is the walk backwards over the tail: it frames and classifies, and
// decodes nothing.
type claudeTail struct {
	*reader
	end     time.Time
	back    *backward
	chain   chain
	counted int   // messages in the index, whatever branch they are on
	start   int64 // offset of the oldest line seen
	from    int64 // where decoding begins
	session string
	records int

	sidechain bool // a subagent's record was seen
}

func (t *claudeTail) find() error {
	t.back = t.src.backward(t.src.size, t.opt.LineBytes)
	t.start = t.src.size
	for need := t.opt.Messages; ; {
		if err := t.extend(need); err != nil {
			return err
		}
		last, rooted := t.chain.settle(t.start == 0)
		have := t.chain.messages()
		if have >= t.opt.Messages || t.start == 0 || t.full() {
			break
		}
		if !rooted && last >= 0 && t.chain.nodes[last].off-t.start > gapBytes {
			t.chain.nodes[last].adrift = true
			continue
		}
		need = t.counted + t.opt.Messages - have
	}
	if t.chain.messages() < t.opt.Messages {
		t.chain.settle(true)
	}
	if t.records == 0 {
		return fmt.Errorf("reading transcript %q: %w", t.src.path, ErrEmpty)
	}
	t.from = t.chain.from(t.opt.Messages, t.start)
	t.back.stop()
	return nil
}

// full reports whether a bound other than the messages' ends the walk.
func (t *claudeTail) full() bool {
	return t.late || len(t.chain.nodes) >= maxNodes || t.src.size-t.start >= t.opt.TailBytes || t.back.done
}

// from returns the offset of the oldest of the newest n messages in the chain.
func (c *chain) from(n int, start int64) int64 {
	for i := range c.nodes {
		if x := &c.nodes[i]; x.on && x.counts {
			if n--; n == 0 {
				return x.off
			}
		}
	}
	return start
}

// extend walks back until the index holds need messages; called again, at least
// one block further.
func (t *claudeTail) extend(need int) error {
	again, goal := t.start < t.src.size, t.start-block
	for n := 0; !t.full(); n++ {
		if t.counted >= need && (!again || t.start <= goal) {
			return nil
		}
		if n%64 == 63 && t.src.size-t.start > leastTail && t.out(t.end) {
			return nil
		}
		l, ok := t.back.scan()
		if !ok {
			return t.back.err
		}
		t.start = l.off
		if err := t.take(l); err != nil {
			return err
		}
	}
	return nil
}

// take indexes one line.
func (t *claudeTail) take(l line) error {
	c, class := t.brief(l)
	if class != classScan {
		if class == classOther || class == classUnseen {
			t.records++
		}
		return nil
	}
	t.records++
	if t.session == "" && isString(c.session) {
		t.session = short(c.session, nameBytes)
		t.st.Identity.SessionID = t.session
		if t.opt.Session != "" && t.session != t.opt.Session {
			return fmt.Errorf("reading transcript %q: it is %s's: %w", t.src.path, t.session, ErrOtherSession)
		}
	}
	if c.sidechain {
		t.sidechain = true
		return nil
	}
	if n, ok := nodeOf(l, &c); ok {
		t.chain.add(n)
		if n.counts {
			t.counted++
		}
	}
	return nil
}

// brief is parse for the index: up to the record's id once the session is known.
func (t *claudeTail) brief(l line) (c claudeLine, class claudeClass) {
	if t.session == "" || l.b == nil {
		return t.parse(l)
	}
	b := bytes.TrimSpace(l.b)
	if class, _ := classifyClaude(b); class != classScan {
		return c, class
	}
	c, ok := briefClaude(b)
	if !ok {
		return c, classNone
	}
	return c, classScan
}

// classNone is a line that holds no record: blank, or not JSON.
const classNone claudeClass = -1

// parse classifies a line and scans it where its first bytes don't tell.
func (r *reader) parse(l line) (c claudeLine, class claudeClass) {
	b := bytes.TrimSpace(l.b)
	var small *shrunk
	if l.b == nil {
		if class, _ := classifyClaude(r.src.firstBytes(l)); class != classScan {
			return c, class
		}
		var ok bool
		if small, ok = r.shrinkLine(l); !ok {
			return c, classNone
		}
		b = small.b
	}
	if class, _ := classifyClaude(b); class != classScan {
		return c, class
	}
	c, ok := parseClaude(b, small)
	if !ok {
		return c, classNone
	}
	return c, classScan
}

// claudeForward decodes from where the tail begins.
func (r *reader) claudeForward(cr *claudeReader, t *claudeTail) error {
	from := t.from
	if r.ctx.Err() != nil && r.src.size-from > leastTail {
		from = t.chain.since(r.src.size - leastTail)
		r.late = true
	}
	r.b.dim = false
	r.st.From = from
	r.st.Omitted.BytesBefore = from
	if from == 0 {
		r.st.Omitted.BytesBefore = 0
	}
	var err error
	if r.b.line, err = r.linesBefore(from); err != nil {
		return err
	}
	counting := r.b.line >= 0
	if !counting {
		r.b.line = 0
	}
	var seen map[idKey]bool
	if t.chain.twin != nil {
		seen = map[idKey]bool{}
	}
	at := len(t.chain.nodes) - 1
	f := r.src.forward(from, r.src.size, r.opt.LineBytes)
	defer f.stop()
	for {
		l, ok := f.scan()
		if !ok {
			return f.err
		}
		if counting {
			r.b.line++
		}
		c, class := r.parse(l)
		if !r.note(l, class) {
			continue
		}
		for at >= 0 && t.chain.nodes[at].off < l.off {
			at--
		}
		if at >= 0 && t.chain.nodes[at].off == l.off {
			n := &t.chain.nodes[at]
			if seen != nil && n.id != (idKey{}) {
				if seen[n.id] {
					r.st.Omitted.Duplicates++
					continue
				}
				seen[n.id] = true
			}
			if !n.on {
				r.st.Omitted.OffChain++
				continue
			}
		}
		cr.record(l, &c)
	}
}

// since returns the offset of the first record at or behind off.
func (c *chain) since(off int64) int64 {
	i := slices.IndexFunc(c.nodes, func(n node) bool { return n.off < off })
	switch {
	case i < 0 && len(c.nodes) > 0:
		return c.nodes[len(c.nodes)-1].off
	case i <= 0:
		return off
	}
	return c.nodes[i-1].off
}

// note counts a line and reports whether it is a record to decode.
func (r *reader) note(l line, class claudeClass) bool {
	blank := l.b != nil && len(bytes.TrimSpace(l.b)) == 0
	if class == classNone && l.open {
		return false // half written: for the next reading
	}
	r.st.Reach.Bytes = l.end()
	if blank {
		return false
	}
	r.st.Lines++
	if l.b == nil && class != classOther {
		r.st.Omitted.Oversize++
	}
	switch class {
	case classNone:
		r.st.Omitted.Malformed++
	case classUnseen:
		r.st.Omitted.Unknown++
	}
	return class == classScan
}

// linesBefore counts the lines before off, -1 where that costs too much.
func (r *reader) linesBefore(off int64) (int64, error) {
	if off > countedBytes || r.opt.TailOnly {
		return -1, nil
	}
	var n int64
	buf := r.src.spare[:cap(r.src.spare)]
	if len(buf) < block {
		buf = make([]byte, min(block, off))
	}
	for at := int64(0); at < off; {
		got, err := r.src.read(buf[:min(int64(len(buf)), off-at)], at)
		if err != nil || got == 0 {
			return -1, err
		}
		n += int64(bytes.Count(buf[:got], []byte{'\n'}))
		at += int64(got)
	}
	return n, nil
}

package transcript

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/folder"
)

const (
	identityBytes = 64 << 10 // of each end that Identify looks at
	detectBytes   = 1 << 20  // of the head that Detect looks at
	detectLines   = 64
)

// Identify says who a transcript belongs to, from its head and its last 64 KiB or
// at least its last record. Errors are Read's.
func Identify(c client.Client, path string) (Identity, error) {
	src, err := open(path)
	if err != nil {
		return Identity{}, err
	}
	defer src.close()
	r := newReader(context.Background(), c, src, Options{})
	if c == client.Codex {
		err = r.codexIdentity()
	} else {
		err = r.claudeIdentity()
	}
	return r.st.Identity, err
}

func (r *reader) codexIdentity() error {
	c, found, err := r.src.firstMeta(r)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("reading transcript %q: no session_meta: %w", r.src.path, ErrEmpty)
	}
	codexIdentity(&r.st.Identity, &c)
	cr := &codexReader{b: r.b}
	back := r.src.backward(r.src.size, r.opt.LineBytes)
	for {
		l, ok := back.scan()
		if !ok {
			return back.err
		}
		if l.b != nil && quickCodex(l.b).typ == "turn_context" {
			if c, class := r.parseCodex(&segment{src: r.src}, l); class == classScan {
				cr.context(&c)
				return nil
			}
		}
		if r.src.size-l.off > identityBytes {
			return nil
		}
	}
}

func (r *reader) claudeIdentity() error {
	cr := &claudeReader{b: r.b}
	records := 0
	take := func(l line) {
		if l.b == nil {
			return
		}
		if c, class := r.parse(l); class == classScan {
			records++
			id := &r.st.Identity
			id.Subagent = id.Subagent || c.sidechain && isString(c.agent)
			cr.identity(&c)
			if m := member(c.message, "model"); isString(m) && !is(m, "<synthetic>") && !c.sidechain {
				id.Model = short(m, nameBytes)
			}
		} else if class != classNone {
			records++
		}
	}
	f := r.src.forward(0, min(r.src.size, identityBytes), identityBytes)
	for {
		l, ok := f.scan()
		if !ok || l.open && f.to < r.src.size {
			break
		}
		take(l)
	}
	if f.err != nil {
		return f.err
	}
	from, err := r.lastLines()
	if err != nil {
		return err
	}
	f = r.src.forward(max(from, f.next), r.src.size, r.opt.LineBytes)
	for {
		l, ok := f.scan()
		if !ok {
			break
		}
		take(l)
	}
	if f.err == nil && records == 0 {
		return fmt.Errorf("reading transcript %q: %w", r.src.path, ErrEmpty)
	}
	return f.err
}

// lastLines returns where the last 64 KiB's whole lines begin: at least one that
// names the session.
func (r *reader) lastLines() (int64, error) {
	back := r.src.backward(r.src.size, r.opt.LineBytes)
	at := r.src.size
	for named := false; ; {
		l, ok := back.scan()
		if !ok {
			return at, back.err
		}
		if r.src.size-l.off > identityBytes && named {
			return at, nil
		}
		at = l.off
		if c, class := r.parse(l); class == classScan && c.cwd != nil {
			named = true
		}
		if r.src.size-at > countedBytes {
			return at, nil
		}
	}
}

// Detect says whose transcript a file is, by its content only: the first record
// that one of the clients alone writes. The error is ErrUnknownFormat if the
// first lines hold none, or one of Read's.
func Detect(path string) (client.Client, error) {
	src, err := open(path)
	if err != nil {
		return "", err
	}
	defer src.close()
	if src.size == 0 {
		return "", fmt.Errorf("reading transcript %q: %w", path, ErrEmpty)
	}
	r := &reader{src: src, opt: Options{LineBytes: detectBytes}.withDefaults()}
	f := src.forward(0, src.size, detectBytes)
	for range detectLines {
		l, ok := f.scan()
		if !ok || l.off > detectBytes {
			break
		}
		if c := r.whose(l); c != "" {
			return c, nil
		}
	}
	if f.err != nil {
		return "", f.err
	}
	return "", fmt.Errorf("reading transcript %q: %w", path, ErrUnknownFormat)
}

// whose judges one record, "" if it tells nothing.
func (r *reader) whose(l line) client.Client {
	b := l.b
	if b == nil {
		small, ok := r.shrinkLine(l)
		if !ok {
			return ""
		}
		b = small.b
	}
	var typ string
	payload, session, record := false, false, false
	f := members(b)
	for f.next() {
		switch string(f.key) {
		case "type":
			typ = short(f.val, nameBytes)
		case "payload":
			payload = true
		case "sessionId":
			session = true
		case "uuid", "parentUuid":
			record = true
		}
	}
	if !f.whole {
		return ""
	}
	switch typ {
	case "session_meta", "response_item", "event_msg", "turn_context", "compacted":
		if payload {
			return client.Codex
		}
	case "user", "assistant", "system", "attachment":
		if session || record {
			return client.Claude
		}
	}
	if session && typ != "" {
		return client.Claude
	}
	return ""
}

// SubagentsAtWork reports whether a subagent of a Claude Code session may be at
// work: an Agent or Task call near the end of the main chain that isn't over, or
// a subagent's transcript, in <path without .jsonl>/subagents/, that is newer
// than the main transcript's last record. Near is the last 4 MiB; a foreground
// call that a person's later prompt left behind is over.
func SubagentsAtWork(ctx context.Context, path string) (bool, error) {
	src, err := open(path)
	if err != nil {
		return false, err
	}
	defer src.close()
	r := newReader(ctx, client.Claude, src, Options{})
	st := r.st
	r.b.dim = true
	cr := &claudeReader{b: r.b}
	from, err := src.alignment(src.size - defaultLookBack)
	if err != nil {
		return false, err
	}
	var last, prompted Position
	f := src.forward(from, src.size, r.opt.LineBytes)
	for n := 0; ; n++ {
		if n%64 == 63 && ctx.Err() != nil {
			return false, ctx.Err()
		}
		l, ok := f.scan()
		if !ok {
			break
		}
		c, class := r.parse(l)
		if class != classScan {
			continue
		}
		if at := c.stamp(); at.After(last.Time) {
			last.Time = at
		}
		asked := len(st.Requests)
		cr.record(l, &c)
		if len(st.Requests) > 0 && (len(st.Requests) > asked || st.Requests[len(st.Requests)-1].Offset == l.off) {
			prompted = cr.pos(l, &c)
		}
	}
	if f.err != nil {
		return false, f.err
	}
	for _, w := range r.b.open {
		if w.Kind == "subagent" && !w.over && (w.waits || w.Offset >= prompted.Offset) {
			return true, nil
		}
	}
	return newerThan(strings.TrimSuffix(path, ".jsonl"), last.Time, src.info.ModTime()), nil
}

// newerThan looks for a subagent's transcript written after the main one's last
// record.
func newerThan(base string, last, modified time.Time) bool {
	if last.IsZero() {
		last = modified
	}
	dir := filepath.Join(base, "subagents")
	names, err := folder.Names(dir)
	if err != nil {
		return false
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".jsonl") {
			continue
		}
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && info.ModTime().After(last) {
			return true
		}
	}
	return false
}

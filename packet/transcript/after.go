package transcript

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// After reads what was appended to a transcript at or behind from, a Reach of an
// earlier reading, and says what delivery decides by. Only the main chain counts:
// no sidechains.
//
// A trace is a record that the client writes for what a hook injected, and that
// holds one of the words in want: in Claude Code's transcript an attachment of
// type hook_additional_context, in Codex's a developer message marked as
// hooks.additional_context (0.171.0) or, before there were marks, one that isn't
// known as the client's own. The same words in a prompt, an answer or a tool's
// output are no trace.
//
// If from lies behind the end the error is ErrBeyondEnd and only Size is set.
// When ctx is done, its error is returned with what was read.
func After(ctx context.Context, c client.Client, path string, from int64, want []string) (Tail, error) {
	src, err := open(path)
	if err != nil {
		return Tail{}, err
	}
	defer src.close()
	return afterSource(ctx, c, src, from, want)
}

func afterSource(ctx context.Context, c client.Client, src *source, from int64, want []string) (Tail, error) {
	t := Tail{Size: src.size, Reach: from}
	if from > src.size {
		return Tail{Size: src.size}, fmt.Errorf("reading transcript %q from byte %d of %d: %w", src.path, from, src.size, ErrBeyondEnd)
	}
	start, err := src.alignment(from)
	if err != nil {
		return t, err
	}
	a := &appended{
		reader: newReader(ctx, c, src, Options{}),
		tail:   &t, want: want, seen: map[idKey]bool{},
	}
	if c == client.Codex {
		if err := a.meta(); err != nil {
			return t, err
		}
	}
	f := src.forward(start, src.size, a.opt.LineBytes)
	for n := 0; ; n++ {
		if n%64 == 63 && ctx.Err() != nil {
			return t, ctx.Err()
		}
		l, ok := f.scan()
		if !ok {
			return t, f.err
		}
		whole := false
		if c == client.Codex {
			whole = a.codex(l)
		} else {
			whole = a.claude(l)
		}
		if whole || !l.open {
			t.Reach = l.end()
		}
	}
}

// appended collects a Tail.
type appended struct {
	*reader
	tail    *Tail
	want    []string
	seen    map[idKey]bool
	bounded bool   // Claude: a boundary record came last
	sum     uint64 // Codex: hash of the last answer's text
	sumLen  int
}

// claude takes one line and reports whether it is a whole record.
func (a *appended) claude(l line) bool {
	c, class := a.parse(l)
	if class != classScan {
		return class != classNone
	}
	if isString(c.session) && len(c.session) > 2 {
		a.tail.SessionID = same(a.tail.SessionID, c.session, nameBytes)
	}
	if isString(c.version) && len(c.version) > 2 {
		a.tail.Version = same(a.tail.Version, c.version, nameBytes)
	}
	if c.sidechain {
		return true
	}
	if id := keyOf(c.id); id != (idKey{}) {
		if a.seen[id] {
			return true
		}
		a.seen[id] = true
	}
	pos := Position{Offset: l.off, ID: string(c.id), Time: c.stamp()}
	switch string(c.typ) {
	case "user":
		a.claudeUser(&c, pos)
		a.bounded = false
	case "assistant":
		if m := parseClaudeMessage(c.message); !m.synthetic(&c) {
			a.tail.Answers = append(a.tail.Answers, pos)
			a.tail.Work++
		}
		a.bounded = false
	case "attachment":
		a.claudeAttachment(l, &c, pos)
	case "system":
		if string(c.subtype) == "compact_boundary" {
			a.bounded = true
			a.tail.Boundaries = append(a.tail.Boundaries, Boundary{
				Position: pos, Trigger: short(member(c.compact, "trigger"), nameBytes), PreTokens: integer(member(c.compact, "preTokens")),
			})
		}
	}
	return true
}

func (a *appended) claudeUser(c *claudeLine, pos Position) {
	switch userKindOf(c, member(c.message, "content")) {
	case userTyped:
		a.tail.Prompts = append(a.tail.Prompts, pos)
		a.tail.Work++
	case userWritten, userResult:
		a.tail.Work++
	case userSummary:
		if c.summary && !a.bounded {
			a.tail.Boundaries = append(a.tail.Boundaries, Boundary{Position: pos})
		}
	}
}

func (a *appended) claudeAttachment(l line, c *claudeLine, pos Position) {
	switch string(plain(member(c.attachment, "type"))) {
	case "queued_command":
		mode, prompt := member(c.attachment, "commandMode"), member(c.attachment, "prompt")
		if starts(prompt, localStarts) || is(mode, "bash") {
			return
		}
		a.tail.Work++
		if (mode == nil || is(mode, "prompt")) && human(member(c.attachment, "origin")) && !starts(prompt, writtenStarts) {
			a.tail.Prompts = append(a.tail.Prompts, pos)
		}
	case "hook_additional_context":
		a.tail.Contexts++
		a.trace(l, member(c.attachment, "content"), pos)
	}
}

// trace notes a context that holds one of the wanted words.
func (a *appended) trace(l line, content []byte, pos Position) {
	for _, w := range a.want {
		if w != "" && (heldBy(content, w) || l.b == nil && a.heldIn(l, w)) {
			a.tail.Traces = append(a.tail.Traces, pos)
			a.tail.TraceOf = append(a.tail.TraceOf, w)
		}
	}
}

// heldIn looks in the file for words that a long line's copy may have lost.
func (a *appended) heldIn(l line, w string) bool {
	found, err := a.src.holds(w, l.off, l.off+l.n)
	return err == nil && found
}

// heldBy reports whether a raw value's words hold w: a string, an array of
// strings, or an array of parts with a text.
func heldBy(raw []byte, w string) bool {
	if isString(raw) {
		return strings.Contains(str(raw), w)
	}
	for f := elements(raw); f.next(); {
		words := f.val
		if !isString(words) {
			words = member(words, "text")
		}
		if isString(words) && strings.Contains(str(words), w) {
			return true
		}
	}
	return false
}

// meta takes the session and version of a rollout from its first session_meta.
func (a *appended) meta() error {
	c, found, err := a.src.firstMeta(a.reader)
	if found {
		var id Identity
		codexIdentity(&id, &c)
		a.tail.SessionID, a.tail.Version = id.SessionID, id.Version
	}
	return err
}

// codex takes one line and reports whether it is a whole record.
func (a *appended) codex(l line) bool {
	c, class := a.parseCodex(&segment{src: a.src}, l)
	if class != classScan {
		return false
	}
	pos := Position{Offset: l.off, ID: c.id(l), Time: parseTime(c.at)}
	switch string(c.typ) {
	case "response_item":
		a.codexItem(l, &c, pos)
	case "event_msg":
		typ := member(c.payload, "type")
		if is(typ, "user_message") || is(typ, "item_completed") && is(at(c.payload, "item", "type"), "UserMessage") {
			a.tail.Prompts = append(a.tail.Prompts, pos)
		}
	case "compacted":
		a.codexBoundary(&c, pos)
	}
	return true
}

func (a *appended) codexItem(l line, c *codexLine, pos Position) {
	switch string(plain(member(c.payload, "type"))) {
	case "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call":
		a.tail.Work++
		a.sumLen = 0
	case "message":
		m := parseCodexMessage(c.payload)
		switch kind := m.kind(c); kind {
		case codexAnswer:
			a.tail.Answers = append(a.tail.Answers, pos)
			a.tail.Work++
			raw := plain(m.firstText())
			a.sum, a.sumLen = maphash.Bytes(idSeed, raw), len(raw)
		case codexUser:
			a.tail.Work++
			a.sumLen = 0
		case codexHook:
			a.tail.Contexts++
			a.trace(l, m.content, pos)
		case codexOther:
			if m.kinds == nil {
				a.trace(l, m.content, pos)
			}
		}
	}
}

// codexBoundary takes a boundary; the answer before it was the summary if its
// message ends with it.
func (a *appended) codexBoundary(c *codexLine, pos Position) {
	message := plain(member(c.payload, "message"))
	n := len(message) - a.sumLen
	if last := len(a.tail.Answers) - 1; last >= 0 && a.sumLen > 0 && n >= 0 && maphash.Bytes(idSeed, message[n:]) == a.sum {
		a.tail.Answers = a.tail.Answers[:last]
		a.tail.Work--
	}
	a.sumLen = 0
	a.tail.Boundaries = append(a.tail.Boundaries, Boundary{Position: pos})
}

// Holds reports whether the bytes [from, to) of a transcript hold words, as they
// stand or as JSON escapes them. It streams: memory is one block.
func Holds(path, words string, from, to int64) (bool, error) {
	src, err := open(path)
	if err != nil {
		return false, err
	}
	defer src.close()
	return src.holds(words, from, to)
}

func (s *source) holds(words string, from, to int64) (bool, error) {
	if words == "" {
		return false, nil
	}
	plain, escaped := []byte(words), escape(words)
	longest := max(len(plain), len(escaped))
	from, to = max(from, 0), min(to, s.size)
	buf := make([]byte, block+longest)
	kept := 0
	for off := from; off < to; {
		n, err := s.read(buf[kept:kept+int(min(block, to-off))], off)
		if err != nil || n == 0 {
			return false, err
		}
		have := buf[:kept+n]
		if bytes.Contains(have, plain) || len(escaped) != len(plain) && bytes.Contains(have, escaped) {
			return true, nil
		}
		off += int64(n)
		kept = copy(buf, have[max(0, len(have)-longest+1):])
	}
	return false, nil
}

// escape writes words as the clients do inside a JSON string: quotes,
// backslashes and control characters only.
func escape(words string) []byte {
	out := make([]byte, 0, len(words)+8)
	for _, c := range []byte(words) {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c == '\r':
			out = append(out, `\r`...)
		case c == '\b':
			out = append(out, `\b`...)
		case c == '\f':
			out = append(out, `\f`...)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			out = append(out, c)
		}
	}
	return out
}

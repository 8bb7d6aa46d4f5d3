package hooks

import (
	"strings"
	"unicode/utf8"
)

// Reply is what a hook prints: nothing, or one JSON document. Its zero value is
// silence, which every client accepts for every event.
type Reply struct{ doc []byte }

// Bytes is the document, nil for silence.
func (r Reply) Bytes() []byte { return r.doc }

// Silent reports whether the reply prints nothing.
func (r Reply) Silent() bool { return len(r.doc) == 0 }

// Door is an event through which context may enter a session. There is no way
// to make one for PreCompact or PostCompact, whose replies both clients reject
// when they carry context; get one from Event.Door.
type Door struct{ event string }

// Door returns the event's door; ok is false where the client accepts no
// context for this event.
func (e Event) Door() (d Door, ok bool) {
	switch e.Name {
	case SessionStart, UserPromptSubmit:
		return Door{e.Name}, true
	}
	return Door{}, false
}

// Inject is the reply that puts text into the session's context. Blank text is
// silence: Codex would inject an empty message.
func (d Door) Inject(text string) Reply {
	if d.event == "" || strings.TrimSpace(text) == "" {
		return Reply{}
	}
	doc := make([]byte, 0, len(text)+len(text)/8+128)
	doc = append(doc, `{"hookSpecificOutput":{"hookEventName":"`...)
	doc = append(doc, d.event...)
	doc = append(doc, `","additionalContext":`...)
	doc = AppendString(doc, text)
	doc = append(doc, '}', '}', '\n')
	return Reply{doc}
}

// Notice is the reply that shows the person one line; the model doesn't see it.
// Every event of both clients accepts it.
func Notice(text string) Reply {
	if strings.TrimSpace(text) == "" {
		return Reply{}
	}
	doc := append([]byte(nil), `{"systemMessage":`...)
	doc = AppendString(doc, text)
	return Reply{append(doc, '}', '\n')}
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. It is written out here because the
// hooks link no more than they need, without reflection, and so that "<", ">" and "&" stay readable
// in transcripts. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '"' || c == '\\':
				dst = append(dst, '\\', c)
			case c == '\n':
				dst = append(dst, '\\', 'n')
			case c == '\r':
				dst = append(dst, '\\', 'r')
			case c == '\t':
				dst = append(dst, '\\', 't')
			case c < 0x20 || c == 0x7f:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
			default:
				dst = append(dst, c)
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, "\ufffd"...)
		} else {
			dst = append(dst, s[i:i+size]...)
		}
		i += size
	}
	return append(dst, '"')
}

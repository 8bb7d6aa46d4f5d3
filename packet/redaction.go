package packet

import (
	"strings"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// outputBound is from which length on a command's output is taken to be cut at
// its front.
const outputBound = 2000

// redaction counts what a redactor replaced.
type redaction struct {
	by    Redactor
	count int
}

func (r *redaction) text(s string) string {
	s, n := r.by.Text(s)
	r.count += n
	return strings.ToValidUTF8(s, "\uFFFD")
}

// path redacts a path, also as the text that a reader of the packet takes it
// for.
func (r *redaction) path(s string) string {
	s, n := r.by.Path(s)
	r.count += n
	return r.text(s)
}

// cut is limit for a text without secrets: what a cut leaves of "password=…"
// may look like one again.
func (r *redaction) cut(s string, n int) (string, int64) {
	s, left := limit(s, n)
	if left > 0 {
		s = r.text(s)
	}
	return s, left
}

// lines redacts a page that was put together from redacted parts, line by line
// as it will be checked.
func (r *redaction) lines(page string) string {
	lines := strings.Split(page, "\n")
	for i, l := range lines {
		lines[i] = r.text(l)
	}
	return strings.Join(lines, "\n")
}

func (r *redaction) texts(l []string) []string {
	out := make([]string, 0, len(l))
	for _, s := range l {
		out = append(out, r.text(s))
	}
	return out
}

// message is a message's text without secrets.
func (m *maker) message(msg transcript.Message) string { return redactMessage(m.red, msg) }

// redactMessage redacts a message. Where the reader cut it, the torn words at
// the edges of the cut go first: half a secret no longer looks like one.
func redactMessage(red *redaction, msg transcript.Message) string {
	if msg.Cut > 0 {
		msg.Text = withoutTornWord(msg.Text)
	}
	return red.text(msg.Text)
}

// withoutTornFront takes the first word off an output that was cut at its
// front, see redactMessage.
func withoutTornFront(s string) string {
	if len(s) < outputBound {
		return s
	}
	if i := strings.IndexAny(s, " \t\n"); i >= 0 {
		return s[i+1:]
	}
	return ""
}

func (m *maker) redactionNote() Redaction {
	note := Redaction{Policy: redactionPolicy[0], Secrets: m.red.count}
	if e, ok := m.in.Redactor.(Explainer); ok {
		note.Additions, note.Exemptions = e.Additions(), e.Exemptions()
	}
	return note
}

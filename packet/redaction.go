package packet

import "strings"

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

// fit is a text without secrets of at most n bytes. A longer one is redacted
// before it is cut: half a secret no longer looks like one. For the same reason
// a reader keeps more of a text than fits here (Overlap): where it cut a text in
// its turn, that place is nowhere near. unread is how many bytes the reader left
// out; together with what is left out here it stands in the mark.
func (r *redaction) fit(s string, n int, unread int64) (string, int64) {
	if len(s) <= n {
		if unread > 0 {
			s = withoutTornWord(s)
		}
		return r.cut(r.text(s), n)
	}
	if unread > 0 {
		s = withoutMark(s)
	}
	kept, left, found := r.by.Cut(s, max(n-markRoom, 0))
	r.count += found
	return r.text(kept) + leftOut(int64(left)+unread), int64(left)
}

// fitEnd is fit for the end of an output.
func (r *redaction) fitEnd(s string, n int) string {
	if len(s) <= n {
		return r.text(s)
	}
	kept, _, found := r.by.CutFront(s, n)
	r.count += found
	return r.text(kept)
}

func (m *maker) redactionNote() Redaction {
	note := Redaction{Policy: redactionPolicy[0], Secrets: m.red.count}
	if e, ok := m.in.Redactor.(Explainer); ok {
		note.Additions, note.Exemptions = e.Additions(), e.Exemptions()
	}
	return note
}

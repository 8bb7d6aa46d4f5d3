package redact

import "strings"

// noise looks at a long run of base64 text, from a to b, for random parts: the
// fifth class of openrig-v0 without what that takes wrongly. Digests, public
// keys, ids, paths and names stay. A run that an escape begins or ends is only a
// piece of one: it is judged where the escapes are resolved.
func (c *scanner) noise(a, b int) int {
	if c.afterEscape(a) || b < len(c.s) && c.s[b] == '\\' && c.isEscape(b) || c.published(a, b) {
		return 0
	}
	n := weigh(c.s, a, b)
	if n.end == 0 || n.widest < 10 || 2*likeness(c.s[n.start:n.end]) > n.start-n.end {
		return 0
	}
	n.widen(c.s, a, b)
	end := n.end
	for end < len(c.s) && end-n.end < 2 && c.s[end] == '=' {
		end++
	}
	return c.add(n.start, end, "random-text")
}

// afterEscape reports whether the text at i begins with what an escape's sign
// has made a part of it ("\u003Aabc": u003A), or follows an escape.
func (c *scanner) afterEscape(i int) bool {
	return i > 0 && (c.s[i-1] == '\\' && c.isEscape(i-1) || i > 1 && c.s[i-2] == '\\' && c.isEscape(i-2))
}

func (c *scanner) isEscape(i int) bool {
	_, n := decodeEscape(c.s[i:])
	return n > 0
}

// stretch is the part of a run that is random.
type stretch struct {
	start, end int
	widest     int // the longest piece without a separator
}

// weigh splits a run at its separators and returns the longest stretch of
// pieces that are neither words nor hashes, if it is long enough. Base64 has a
// separator every 32 bytes, so that a piece may look like a word by chance: one
// such piece breaks nothing.
func weigh(s string, a, b int) stretch {
	var best, now, whole stretch
	size, longest, random, words := 0, 0, 0, 0
	for from := a; from < b; {
		to := span(s, from, alnum, b-from)
		switch n := to - from; {
		case ordinary(s[from:to]):
			words++
			now, size = stretch{}, 0
		case n >= 3:
			now.join(from, to)
			whole.join(from, to)
			size, random = size+n, random+n
		case n > 0 && size > 0:
			size += n
		}
		if size > longest {
			best, longest = now, size
		}
		from = to + 1
	}
	switch {
	case words <= 1 && random >= longRun-4:
		return whole
	case longest >= longRun-4:
		return best
	}
	return stretch{}
}

func (t *stretch) join(from, to int) {
	if t.end == 0 {
		t.start = from
	}
	t.end = to
	t.widest = max(t.widest, to-from)
}

// widen takes what lies beside the stretch up to the next piece that says
// something. No path and no name has a plus sign: with one, it is all base64.
func (t *stretch) widen(s string, a, b int) {
	if strings.IndexByte(s[a:b], '+') >= 0 {
		t.start, t.end = a, b
		return
	}
	for t.start > a {
		from := t.start - 1
		for from > a && is(s[from-1], alnum) {
			from--
		}
		if ordinary(s[from : t.start-1]) {
			break
		}
		t.start = from
	}
	for t.end < b {
		to := span(s, t.end+1, alnum, b-t.end-1)
		if ordinary(s[t.end+1 : to]) {
			break
		}
		t.end = to
	}
}

// ordinary reports whether a piece between separators is a word, a name, a
// number or a hash. What is shorter says nothing.
func ordinary(piece string) bool {
	if len(piece) < 4 {
		return false
	}
	if all(piece, hexa) {
		return len(piece) >= 7
	}
	return wordy(piece) || filler(piece) || isAlphabet(piece)
}

// idPrefixes begin the ids that the clients and their services give out.
var idPrefixes = [...]string{
	"toolu_", "srvtoolu_", "msg_", "req_", "call_", "resp_", "rs_", "fc_", "ctc_", "ws_", "item_", "thread_", "run_",
	"prompt_", "agent_", "agent-", "task_", "batch_", "file-", "file_", "chatcmpl-", "gen-", "exec-", "turn_",
}

// published reports whether the random text from a to b is of a kind that is
// no secret, by how it begins or by what stands before it.
func (c *scanner) published(a, b int) bool {
	v, before := c.s[a:b], c.s[max(c.floor, a-16, 0):a]
	for _, p := range idPrefixes {
		if strings.HasPrefix(v, p) {
			return true
		}
	}
	if strings.HasPrefix(v, "AAAAB3NzaC1") || strings.HasPrefix(v, "AAAAC3NzaC1") || strings.HasPrefix(v, "AAAAE2VjZHNh") || strings.HasPrefix(v, "AAAAGnNr") {
		return true // public keys of SSH
	}
	return isDigestLabel(v) || isDigestLabel(before) || strings.HasSuffix(before, "h1:") || strings.HasSuffix(before, ";base64,")
}

// isDigestLabel reports whether s begins with the name of a digest algorithm
// and a separator ("sha512-", "sha256/") or ends in one ("SHA256:").
func isDigestLabel(s string) bool {
	for _, name := range [...]string{"sha1", "sha256", "sha384", "sha512", "md5", "blake3", "blake2b"} {
		if len(s) <= len(name) {
			continue
		}
		last := len(s) - 1
		if beginsFold(s, name) && !is(s[len(name)], alnum) || strings.IndexByte(":-=", s[last]) >= 0 && endsFold(s[:last], name) {
			return true
		}
	}
	return false
}

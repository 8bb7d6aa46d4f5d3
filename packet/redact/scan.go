package redact

import "strings"

// scanner walks once over a text. Most bytes are letters and digits, which it
// passes over; the others end a run or announce something, and are looked at
// with what stands around them.
type scanner struct {
	s       string
	anchors *anchors
	found   []Match
	escaped bool // an escape was seen: the text has another level

	run    int // where the run of base64url text before the position began
	run64  int // the same for base64 of both alphabets
	floor  int // end of the last match: nothing before it is looked at again
	colour int // end of the last control sequence of a terminal

	framed int      // end of the last frame of a key block
	public int      // end of a public key or certificate: random, and no secret
	blocks nextText // where the next key block ends
	begins nextText // where the next key block begins
}

// Runs shorter than these hold no token without a separator, and are too short
// to be told from a hash, an id or a name by their randomness.
const (
	shortRun = 16
	longRun  = 40
)

// scan returns what looks like a secret in s, roughly in order, and whether s
// holds escapes, so that it has to be looked at with them resolved.
func scan(s string) ([]Match, bool) {
	c := scanner{s: s, anchors: anchored(), blocks: nextText{want: "-----END"}, begins: nextText{want: "-----BEGIN"}}
	for i := 0; i < len(s); {
		class := classes[s[i]]
		if class&alnum != 0 {
			i++
			continue
		}
		if class == 0 && i-c.run64 < shortRun {
			i++
			c.run, c.run64 = i, i
			continue
		}
		i = c.at(i)
	}
	c.close(len(s))
	return c.found, c.escaped
}

// add notes a match and moves behind it.
func (c *scanner) add(start, end int, class string) int {
	c.found = append(c.found, Match{Class: class, Start: start, End: end})
	c.floor, c.run, c.run64 = end, end, end
	return end
}

// at looks at the byte at i, which is no letter or digit, and returns where to
// go on: i+1, or the end of a match.
func (c *scanner) at(i int) int {
	b := c.s[i]
	switch b {
	case '_', '-':
		return c.joint(i, b)
	case '/', '+':
		if end := c.closeRun(i); end > i {
			return end
		}
		if b == '/' {
			if end := c.slash(i); end > i {
				return end
			}
		}
		c.run = i + 1
		return i + 1
	}
	if b == '.' {
		if end := c.point(i); end > i {
			return end
		}
	}
	if end := c.close(i); end > i {
		return end
	}
	end := 0
	switch b {
	case ' ', '\t':
		end = c.blank(i)
	case ':':
		end = c.colon(i)
	case '=':
		end = c.assign(i)
	case '>':
		end = c.element(i)
	case '|', ',':
		end = c.cell(i)
	case '~':
		end = c.prefixed(i)
	case '$':
		end = c.crypt(i)
	case '\\', '%', '&':
		c.noteEscape(i)
	case 0x1b:
		end = c.control(i)
	}
	if end > i {
		return end
	}
	c.run, c.run64 = i+1, i+1
	return i + 1
}

func (c *scanner) noteEscape(i int) {
	if !c.escaped {
		_, n := decodeEscape(c.s[i:])
		c.escaped = n > 0
	}
}

// joint looks at a _ or -, which doesn't end a run.
func (c *scanner) joint(i int, b byte) int {
	if end := c.prefixed(i); end > i {
		return end
	}
	if b == '_' || i+1 == len(c.s) {
		return i + 1
	}
	end := 0
	switch next := c.s[i+1]; {
	case i > 1 && c.s[i-1] == 'k' && c.s[i-2] == 's':
		end = c.skKey(i)
	case next == '-':
		end = c.block(i)
	case isLetter(next) && i > 0 && isBlank(c.s[i-1]):
		end = c.letterFlag(i)
	}
	if end > i {
		return end
	}
	return i + 1
}

// prefixed looks for a token whose prefix ends at the anchor byte at i.
func (c *scanner) prefixed(i int) int {
	if i == 0 {
		return 0
	}
	for _, t := range c.anchors[anchorSlot(c.s[i])][c.s[i-1]] {
		if end := c.token(t, i+1-len(t.prefix)); end > 0 {
			return end
		}
	}
	return 0
}

// token matches one kind of token at start.
func (c *scanner) token(t *token, start int) int {
	if start < 0 || !strings.HasPrefix(c.s[start:], t.prefix) || t.how&glued == 0 && !c.bare(start) {
		return 0
	}
	if start > 0 && c.s[start-1] == '\\' && c.isEscape(start-1) {
		return 0 // its first letter is an escape's
	}
	from := start + len(t.prefix)
	to := c.body(from, t.body, decided)
	if !t.holds(c.s[from:to], c.cutAt(to)) {
		return 0
	}
	if t.how&led != 0 {
		for n := 0; n < 40 && start > c.floor && is(c.s[start-1], word); n++ {
			start--
		}
	}
	return c.add(start, c.body(from, t.body, len(c.s)), t.class)
}

// bare reports whether no letter or digit of the same word stands before i.
func (c *scanner) bare(i int) bool { return i == 0 || i == c.colour || !is(c.s[i-1], alnum) }

// control skips a terminal's control sequence, such as a colour, whose last
// letter isn't the text's.
func (c *scanner) control(i int) int {
	end := i + 1
	if end == len(c.s) || c.s[end] != '[' {
		return 0
	}
	for end++; end < len(c.s) && end-i < 24 && (is(c.s[end], digit) || c.s[end] == ';' || c.s[end] == '?'); {
		end++
	}
	if end == len(c.s) || !isLetter(c.s[end]) {
		return 0
	}
	c.colour, c.run, c.run64 = end+1, end+1, end+1
	return end + 1
}

// body is the end of a token's body that begins at from. A full stop at its end
// is the sentence's.
func (c *scanner) body(from int, alphabet uint16, limit int) int {
	to := span(c.s, from, alphabet, limit)
	for to > from && c.s[to-1] == '.' {
		to--
	}
	return to
}

// cutAt reports whether the text stops at i or says that it was cut there.
func (c *scanner) cutAt(i int) bool {
	rest := c.s[i:]
	return rest == "" || strings.HasPrefix(rest, "…") || strings.HasPrefix(rest, "...")
}

func (c *scanner) skKey(i int) int {
	start := i - 2
	to := c.body(i+1, run, decided)
	class, ok := skKey(c.s[i+1:to], c.bare(start), c.cutAt(to))
	if !ok {
		return 0
	}
	return c.add(start, c.body(i+1, run, len(c.s)), class)
}

// close ends both runs at i and looks at what they were.
func (c *scanner) close(i int) int {
	if i-c.run64 < shortRun {
		return 0
	}
	if end := c.closeRun(i); end > i {
		return end
	}
	if i-c.run64 >= longRun && c.run64 >= c.public {
		return c.noise(c.run64, i)
	}
	return 0
}

// closeRun looks for tokens without a separator in the run of base64url text
// that ends at i.
func (c *scanner) closeRun(i int) int {
	for j := c.run; j+shortRun <= i; j++ {
		if j == c.run {
			if end := c.hexRun(j, i); end > 0 {
				return end
			}
		} else if b := c.s[j]; b != 'A' && b != 'G' && (b != 'e' || c.s[j+1] != 'y') {
			continue // the first bytes of the prefixes that may be glued to a word
		}
		if end := c.runToken(j); end > 0 {
			if end >= i {
				return end
			}
			j = end - 1
		}
	}
	return 0
}

// runToken matches the tokens without a separator at start.
func (c *scanner) runToken(start int) int {
	for k := range runTokens {
		if t := &runTokens[k]; t.prefix[0] == c.s[start] {
			if end := c.token(t, start); end > 0 {
				return end
			}
		}
	}
	return 0
}

// hexRun looks for the keys that are told by their groups of hexadecimal
// digits: Mailchimp's 32 and "-us1", Mailgun's 32-8-8.
func (c *scanner) hexRun(start, end int) int {
	v := c.s[start:end]
	if len(v) < 36 || v[32] != '-' || span(v, 0, hexa, 32) != 32 {
		return 0
	}
	switch rest := v[33:]; {
	case len(rest) <= 5 && rest[:2] == "us" && all(rest[2:], digit):
		return c.add(start, end, "mailchimp-key")
	case len(rest) == 17 && rest[8] == '-' && all(rest, hexa|dash):
		return c.add(start, end, "mailgun-key")
	}
	return 0
}

// point looks at a full stop with text right after it.
func (c *scanner) point(i int) int {
	if i+1 == len(c.s) || i == c.run || !is(c.s[i+1], run|dot) {
		return 0
	}
	if end := c.prefixed(i); end > i {
		return end
	}
	before := c.s[c.run:i]
	if len(before) < 8 {
		return 0
	}
	if at := strings.Index(before, "eyJ"); at >= 0 && len(before)-at >= 8 {
		if end := c.jwt(i); end > 0 {
			return c.add(c.run+at, end, "jwt")
		}
	}
	switch {
	case len(before) == 17 && before[:3] == "pat" && span(c.s, i+1, hexa, 40) == i+41:
		return c.add(c.run, c.body(i+1, alnum, len(c.s)), "airtable-token")
	case len(before) >= 23 && len(before) <= 28 && strings.IndexByte("MNO", before[0]) >= 0:
		return c.discordToken(i)
	}
	return 0
}

// jwt is the end of the JSON Web Token whose header ends at the full stop at i,
// 0 if none is there. Payload and signature may be short, the signature
// missing, and an encrypted one has five parts.
func (c *scanner) jwt(i int) int {
	end, parts := i, 0
	for end < len(c.s) && c.s[end] == '.' && parts < 4 {
		to := span(c.s, end+1, run, len(c.s))
		if to == end+1 && (to == len(c.s) || c.s[to] != '.') {
			break
		}
		end = to
		parts++
	}
	if parts == 0 || parts == 1 && end-i < 4 {
		return 0
	}
	return end
}

func (c *scanner) discordToken(i int) int {
	mid := span(c.s, i+1, run, 8)
	if n := mid - i - 1; n < 6 || n > 7 || mid == len(c.s) || c.s[mid] != '.' {
		return 0
	}
	if end := span(c.s, mid+1, run, 48); end-mid > 24 {
		return c.add(c.run, end, "discord-token")
	}
	return 0
}

// colon looks at a colon: an address, a token with one inside, or a name that
// announces a value.
func (c *scanner) colon(i int) int {
	if i == 0 {
		return 0
	}
	if strings.HasPrefix(c.s[i+1:], "//") {
		return c.address(i)
	}
	if is(c.s[i-1], digit) {
		if end := c.telegramToken(i); end > 0 {
			return end
		}
		if end := c.pgpass(i); end > 0 {
			return end
		}
	}
	if end := c.passArgument(i); end > 0 {
		return end
	}
	return c.assign(i)
}

// passArgument is what openssl takes a password as: -passin pass:...
func (c *scanner) passArgument(i int) int {
	if i < 10 || c.s[i-4:i] != "pass" || !isBlank(c.s[i-5]) || !containsFold(c.s[max(c.floor, i-16, 0):i-5], "-pass") {
		return 0
	}
	v := c.valueFrom(i + 1)
	if v.end-v.start < 3 || reference(c.s[v.start:v.end]) {
		return 0
	}
	return c.add(v.start, c.whole(v), "password")
}

// telegramToken is a bot's number, a colon and 35 bytes.
func (c *scanner) telegramToken(i int) int {
	start := i
	for start > c.floor && i-start < 12 && is(c.s[start-1], digit) {
		start--
	}
	if n := i - start; n < 6 || n > 11 {
		return 0
	}
	end := span(c.s, i+1, run, len(c.s))
	if n := end - i - 1; n < 30 || wordy(c.s[i+1:min(end, i+1+decided)]) || all(c.s[i+1:min(end, i+1+decided)], hexa|dash) {
		return 0
	}
	return c.add(start, end, "telegram-token")
}

// crypt looks for the hash of a password as crypt(3) writes it.
func (c *scanner) crypt(i int) int {
	for _, p := range [...]string{"$2a$", "$2b$", "$2y$", "$5$", "$6$", "$y$", "$7$", "$apr1$", "$argon2i$", "$argon2d$", "$argon2id$", "$scrypt$"} {
		if !strings.HasPrefix(c.s[i:], p) {
			continue
		}
		end := i + len(p)
		for end < len(c.s) && (is(c.s[end], any64|dot) || c.s[end] == '$' || c.s[end] == ',') {
			end++
		}
		if end-i >= 30 {
			return c.add(i, end, "password-hash")
		}
	}
	return 0
}

// nextText answers where a text stands next, for positions that only grow,
// without looking at a byte twice.
type nextText struct {
	want string
	at   int // 1 + the last answer; 0: none yet
}

// after is where the text stands at or behind i, len(s) if nowhere.
func (n *nextText) after(s string, i int) int {
	if n.at == 0 || n.at-1 < i {
		at := len(s)
		if k := strings.Index(s[min(i, len(s)):], n.want); k >= 0 {
			at = i + k
		}
		n.at = at + 1
	}
	return n.at - 1
}

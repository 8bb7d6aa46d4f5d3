package redact

import (
	"strings"
	"unicode/utf8"
)

// valueReach is how much of a value is read to decide about it. What lies
// beyond is taken with it.
const valueReach = 512

// value is what stands after a name.
type value struct {
	start, end int
	quoted     bool
	tight      bool // nothing between name, sign and value: NAME=value
	colon      bool // after a colon
	spoken     bool // after a blank, in prose
	said       bool // after "is"
	netrc      bool // in a line of ~/.netrc
	block      bool // on the line after the name, as YAML has it
	open       bool // longer than valueReach: end isn't its end yet
}

// valueAfter finds the value behind the sign at i, on the same line or, as
// YAML's block, on the next.
func (c *scanner) valueAfter(i int) value {
	p := i + 1
	for n := 0; n < 3 && p < len(c.s) && (c.s[p] == '=' || c.s[p] == '>' && c.s[i] == '=' || c.s[p] == '~'); n++ {
		p++
	}
	for n := 0; n < 32 && p < len(c.s) && (isBlank(c.s[p]) || c.s[p] == '*' && c.s[i] == ':'); n++ {
		p++
	}
	if q := p; q < len(c.s) && (c.s[q] == '|' || c.s[q] == '>') && c.s[i] == ':' {
		q++
		if q < len(c.s) && (c.s[q] == '-' || c.s[q] == '+') {
			q++
		}
		if q < len(c.s) && c.s[q] == '\n' {
			v := c.valueFrom(decoration(c.s[:min(len(c.s), q+64)], q+1))
			v.block = true
			return v
		}
	}
	return c.valueFrom(p)
}

// valueFrom reads the value that begins at p.
func (c *scanner) valueFrom(p int) value {
	if p < len(c.s)-1 && isLetter(c.s[p]) && strings.IndexByte("bBrRuUfF", c.s[p]) >= 0 && isQuote(c.s[p+1]) {
		p++
	}
	escaped := p < len(c.s)-1 && c.s[p] == '\\' && isQuote(c.s[p+1])
	if escaped {
		p++
	}
	if p < len(c.s) && isQuote(c.s[p]) {
		return c.quotedFrom(p, escaped)
	}
	return c.bareFrom(p)
}

// quotedFrom reads the value in the quotes that open at p, escaped themselves
// or not.
func (c *scanner) quotedFrom(p int, escaped bool) value {
	quote := c.s[p]
	start := p + 1
	if strings.HasPrefix(c.s[start:], c.s[p:start]+c.s[p:start]) {
		start += 2
	}
	v := value{start: start, quoted: true}
	i := start
	for ; i < len(c.s); i++ {
		b := c.s[i]
		if i-start >= valueReach {
			v.open = true
			break
		}
		if b == quote || b == '\n' {
			break
		}
		if b == '\\' && i+1 < len(c.s) {
			if escaped && c.s[i+1] == quote {
				break
			}
			i++
		}
	}
	v.end = min(i, len(c.s))
	for v.open && v.end > start && !utf8.RuneStart(c.s[v.end]) {
		v.end--
	}
	return v
}

// bareFrom reads the value without quotes at p. A sign that may end it or
// belong to a password ends it only where what follows says so.
func (c *scanner) bareFrom(p int) value {
	v := value{start: p}
	i := p
	for ; i < len(c.s); i++ {
		if i-p >= valueReach {
			v.open = true
			break
		}
		if c.hardStop(i) || c.softStop(i) {
			break
		}
	}
	for i > p && i < len(c.s) && !utf8.RuneStart(c.s[i]) {
		i--
	}
	for !v.open && i > p && (c.s[i-1] == '.' || c.s[i-1] == ',' || c.s[i-1] == ':') && i-p > 1 {
		i--
	}
	v.end = i
	return v
}

// hardStop reports whether a bare value ends at i whatever follows.
func (c *scanner) hardStop(i int) bool {
	b := c.s[i]
	if isSpace(b) || isQuote(b) {
		return true
	}
	if b != '\\' || i+1 == len(c.s) {
		return false
	}
	next := c.s[i+1]
	return next == 'n' || next == 'r' || next == 't' || isQuote(next) || next == '\\'
}

// softStop reports whether the sign at i ends a bare value.
func (c *scanner) softStop(i int) bool {
	switch b := c.s[i]; b {
	case ',', ';', '&', ')', ']', '}', '|', '<', '>':
		if i+1 == len(c.s) {
			return true
		}
		next := c.s[i+1]
		if isSpace(next) || isQuote(next) || next == b || strings.IndexByte(",;&)]}|<>/\\", next) >= 0 {
			return true
		}
		if b == '<' || b == '>' {
			return true
		}
		// "a=1&b=2", "Password=x;Server=y": another name follows.
		n := span(c.s, i+1, run|dot, 40)
		return n > i+2 && n < len(c.s) && c.s[n] == '='
	}
	return false
}

// whole is the end of a value that was judged by its beginning.
func (c *scanner) whole(v value) int {
	if !v.open {
		return v.end
	}
	i := v.end
	for i < len(c.s) {
		if v.quoted && (isQuote(c.s[i]) || c.s[i] == '\n') || !v.quoted && c.hardStop(i) {
			break
		}
		i++
	}
	return i
}

// judge decides about a value and notes it.
func (c *scanner) judge(k key, v value) int {
	text := resolved(c.s[v.start:v.end])
	switch k.means {
	case header:
		return c.authorization(v)
	case scheme:
		if v.spoken || v.colon {
			return c.credential(k, v)
		}
		return 0
	case cookies:
		return c.cookie(v)
	case phrase:
		if end := c.wordsEnd(v); end > 0 {
			return c.add(v.start, end, "password")
		}
		if v.spoken {
			return 0
		}
		k.means = password
	case signing:
		if !v.tight || len(text) < 24 || wordy(text) || reference(text) || isCode(text) {
			return 0
		}
		return c.add(v.start, c.whole(v), "signature")
	}
	if reference(text) || strings.EqualFold(text, c.s[k.start:k.end]) || !c.literal(k, v, text) {
		return 0
	}
	return c.add(v.start, c.whole(v), classOf(k.means))
}

// phraseWords is how many words a mnemonic has at least.
const phraseWords = 12

// wordsEnd is the end of the words in small letters that begin at a value, 0 if
// they are too few for a mnemonic.
func (c *scanner) wordsEnd(v value) int {
	end, n := v.start, 0
	for i := v.start; i < len(c.s) && n < 48; n++ {
		to := span(c.s, i, lower, 12)
		if to == i {
			break
		}
		end = to
		for i = to; i < len(c.s) && i-to < 3 && (isBlank(c.s[i]) || c.s[i] == ','); {
			i++
		}
		if i == to {
			n++
			break
		}
	}
	if n < phraseWords {
		return 0
	}
	return end
}

// resolved is a text with its escapes resolved, as it is judged. A password may
// look like percent encoding by chance.
func resolved(text string) string {
	if strings.IndexByte(text, '\\') < 0 && strings.IndexByte(text, '&') < 0 {
		return text
	}
	return (&view{text: text}).unescape().text
}

func classOf(m meaning) string {
	if m == password {
		return "password"
	}
	return "secret"
}

// literal tells a secret written out from a type, a variable, code or prose.
func (c *scanner) literal(k key, v value, text string) bool {
	if v.block && !c.endsLine(v.end) {
		return false
	}
	if isPath(text) || !v.quoted && !v.tight && !v.colon && !v.spoken && isStatement(text) {
		return false
	}
	switch k.means {
	case perhaps:
		return k.upper && v.tight && len(text) >= 20 && !wordy(text) && !isHash(text) && !isCode(text)
	case password:
		return c.isPassword(k, v, text)
	}
	return c.isSecret(k, v, text)
}

// isPassword judges what stands after "password": a person's choice, so a word
// will do where it can't be anything else.
func (c *scanner) isPassword(k key, v value, text string) bool {
	switch {
	case len(text) < 3 || isBetweenTexts(text):
		return false
	case k.weak && (len(text) < 6 || !holdsDigit(text) || isNumber(text) || strings.IndexByte(text, ' ') >= 0):
		return false
	case v.quoted:
		return !isLabel(text)
	case k.flag:
		return !isMetavar(text) && !isCode(text) && !isProse(text)
	case v.netrc:
		return true
	case v.spoken:
		return len(text) >= 6 && (holdsDigit(text) || holdsSign(text)) && !isCode(text) && (v.said || !wordy(text) && !isHash(text))
	case isCode(text):
		return false
	case v.tight && !v.colon:
		return !c.isArgument(v, text)
	case holdsDigit(text):
		return true
	}
	// "password: correcthorse" on a line of its own; elsewhere it is prose.
	return len(text) >= 8 && c.endsLine(v.end) && isPlainWord(text) || !wordy(text) && len(text) >= 8
}

// isBetweenTexts reports whether text is the code between two quoted texts, the
// first of which ends in the name and sign: "password=" + x + "&user=".
func isBetweenTexts(text string) bool {
	switch text[0] {
	case ' ', ')', ',', ';', '+', ']', '}':
		return strings.IndexByte(text, ' ') >= 0 || len(text) > 1 && text[0] == '+' && isLetter(text[1]) && wordy(text)
	}
	return false
}

// isSecret judges what stands after "token", "secret" and "api_key": a machine
// made it, so it doesn't read like words.
func (c *scanner) isSecret(k key, v value, text string) bool {
	if len(text) < 6 || isNumber(text) {
		return false
	}
	if strings.IndexByte(text, ' ') >= 0 && !holdsRandomWord(text) || isDigestLabel(text) || isAlphabet(text) {
		return false
	}
	if k.upper && v.tight && !v.colon || k.flag {
		return (len(text) >= 8 || holdsDigit(text)) && !isMetavar(text) && !isCode(text) && !isOption(text)
	}
	if strings.IndexByte(text, ' ') >= 0 {
		return !isCode(text)
	}
	if len(text) < 8 || isCode(text) || wordy(text) && (!v.quoted || !strings.ContainsAny(text, "#!^~")) {
		return false
	}
	if v.spoken && !k.flag {
		return (len(text) >= 12 && holdsDigit(text) || len(text) >= 20) && (v.said || k.upper || !isHash(text))
	}
	return len(text) >= 12 || holdsDigit(text)
}

// authorization takes the credential of an Authorization header, whatever its
// scheme.
func (c *scanner) authorization(v value) int {
	end := v.end
	start := v.start
	if !v.quoted {
		end = c.restOfLine(start)
	}
	for range 2 {
		n := start
		for n < end && (is(c.s[n], run) || c.s[n] == '4') {
			n++
		}
		if n == start || n == end || !isBlank(c.s[n]) || !isScheme(c.s[start:n]) {
			break
		}
		for n < end && isBlank(c.s[n]) {
			n++
		}
		start = n
	}
	if start >= end {
		return 0
	}
	text := c.s[start:min(end, start+valueReach)]
	if start == v.start { // without a scheme it may be prose
		n := strings.IndexAny(text, " \t")
		if n >= 0 && !v.quoted {
			text, end = text[:n], start+n
		}
		text = resolved(text)
		if n >= 0 && v.quoted || len(text) < 8 || wordy(text) || isCode(text) {
			return 0
		}
	}
	if text = resolved(text); reference(text) || len(text) < 4 {
		return 0
	}
	return c.add(start, end, "authorization")
}

// isScheme reports whether s is a word before the credential of an
// Authorization header.
func isScheme(s string) bool {
	for _, w := range [...]string{"bearer", "basic", "token", "digest", "apikey", "api-key", "key", "oauth", "ssws", "hawk", "bot", "negotiate", "ntlm", "dpop", "aws4-hmac-sha256", "pat", "jwt", "sharedkey", "sharedaccesssignature", "privatetoken", "splunk", "genie-key", "genieKey"} {
		if equalFold(s, w) {
			return true
		}
	}
	return false
}

// credential takes what follows the word Bearer or Basic anywhere in a text.
func (c *scanner) credential(k key, v value) int {
	text := resolved(c.s[v.start:v.end])
	if len(text) < 8 || reference(text) || strings.IndexByte(text, ' ') >= 0 || !all(text, any64|dot|tilde) && !v.quoted || isCode(text) {
		return 0
	}
	if endsFold(c.s[k.start:k.end], "basic") {
		if !isUserAndPassword(text) {
			return 0
		}
	} else if wordy(text) || !holdsDigit(text) && len(text) < 20 {
		return 0
	}
	return c.add(v.start, c.whole(v), "authorization")
}

// isUserAndPassword reports whether text is base64 of printable text with a
// colon in it.
func isUserAndPassword(text string) bool {
	buf, bits, n, colon := uint32(0), 0, 0, false
	for i := 0; i < len(text) && text[i] != '='; i++ {
		v := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", text[i])
		if v < 0 {
			return false
		}
		buf, bits = buf<<6|uint32(v), bits+6
		if bits >= 8 {
			bits -= 8
			b := byte(buf >> bits)
			if b < ' ' || b == 0x7f {
				return false
			}
			colon = colon || b == ':'
			n++
		}
	}
	return colon && n > 3
}

// cookie takes the names and values of a Cookie or Set-Cookie header.
func (c *scanner) cookie(v value) int {
	n := span(c.s, v.start, run|dot, 64)
	if n == v.start || n >= len(c.s) || c.s[n] != '=' {
		return 0
	}
	end := v.end
	if !v.quoted {
		end = c.restOfLine(v.start)
	}
	if n+1 >= end || reference(c.s[n+1:min(end, n+1+decided)]) || end-n < 6 {
		return 0
	}
	return c.add(n+1, end, "cookie")
}

// restOfLine is the end of the line or of the quotes around i.
func (c *scanner) restOfLine(i int) int {
	for i < len(c.s) && c.s[i] != '\n' && c.s[i] != '\r' && c.s[i] != '"' && c.s[i] != '\'' && c.s[i] != '`' {
		if c.s[i] == '\\' && c.hardStop(i) {
			return i
		}
		i++
	}
	return i
}

// isArgument reports whether text is a variable handed on by name:
// connect(password=pw, ...).
func (c *scanner) isArgument(v value, text string) bool {
	if !all(text, lower|upper|under) || len(text) >= 8 && !wordy(text) {
		return false
	}
	if v.end < len(c.s) && (c.s[v.end] == ',' || c.s[v.end] == ')') {
		return true
	}
	return strings.IndexByte(text, '_') >= 0 && wordy(text) && holdsSecretWord(text)
}

// endsLine reports whether nothing but a comment follows on the line.
func (c *scanner) endsLine(i int) bool {
	for i < len(c.s) && (isBlank(c.s[i]) || c.s[i] == '\r') {
		i++
	}
	return i == len(c.s) || c.s[i] == '\n' || c.s[i] == '#' || isQuote(c.s[i]) || strings.HasPrefix(c.s[i:], `\n`)
}

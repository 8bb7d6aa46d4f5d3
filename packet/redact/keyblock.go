package redact

import "strings"

// blockReach is how far behind its beginning a key block's end is looked for.
// The longest usual one, an RSA key of 16,384 bits, has 13 KB.
const blockReach = 64 << 10

// block looks at dashes: the frame of a PEM or PGP block. A private key goes
// whole, frame and all, whatever decorates its lines; without an end, as far as
// its lines go on; without a beginning, as far as they go back. A frame with
// nothing in it is only talk about keys.
func (c *scanner) block(i int) int {
	rest := c.s[i:]
	switch {
	case strings.HasPrefix(rest, "-----BEGIN ") || strings.HasPrefix(rest, "---- BEGIN "):
		return c.blockBegin(i)
	case strings.HasPrefix(rest, "-----END ") || strings.HasPrefix(rest, "---- END "):
		return c.blockEnd(i)
	}
	return 0
}

func (c *scanner) blockBegin(i int) int {
	label, from := frame(c.s, i)
	if from == 0 {
		return 0
	}
	c.framed = from
	end := c.blocks.after(c.s, from)
	if !strings.Contains(label, "PRIVATE KEY") {
		if to := c.lines(from); isPublic(label) && strings.HasPrefix(c.s[end:], "-----END "+strings.TrimPrefix(label, "BEGIN ")) && decoration(c.s[:end], to) == end {
			c.public = to
		}
		return 0
	}
	if next := c.begins.after(c.s, from); end < len(c.s) && end-from <= blockReach && end < next {
		if _, to := frame(c.s, end); to > 0 {
			return c.add(i, to, "private-key")
		}
	}
	if end := c.lines(from); end > from {
		return c.add(i, end, "private-key")
	}
	return 0
}

// isPublic reports whether a block with this label is random and no secret.
func isPublic(label string) bool {
	for _, kind := range [...]string{"CERTIFICATE", "PUBLIC KEY", "SIGNATURE", "PARAMETERS", "X509 CRL", "PKCS7", "CMS"} {
		if strings.Contains(label, kind) {
			return true
		}
	}
	return false
}

func (c *scanner) blockEnd(i int) int {
	label, to := frame(c.s, i)
	if to == 0 || !strings.Contains(label, "PRIVATE KEY") {
		return 0
	}
	from := c.linesBefore(i)
	c.framed = to
	if from == i {
		return 0
	}
	return c.add(from, to, "private-key")
}

// frame reads the line of dashes at i and returns its label and its end, 0 if it
// isn't one.
func frame(s string, i int) (label string, end int) {
	open := span(s, i, dash, 5)
	line := s[open:min(len(s), open+80)]
	n := strings.Index(line, s[i:open])
	if n < 0 || strings.IndexByte(line[:n], '\n') >= 0 {
		return "", 0
	}
	return line[:n], span(s, open+n, dash, open-i)
}

// headerLines is how many "Name: value" lines a block may begin with.
const headerLines = 6

// lines is the end of the base64 lines that begin at from, from if there are
// none. The lines may be decorated as tools show them (indented, numbered,
// quoted, commented) and stand on one line.
func (c *scanner) lines(from int) int {
	end, headers := from, 0
	for p := from; ; {
		p = decoration(c.s, p)
		to := span(c.s, p, std64, len(c.s))
		switch {
		case to-p >= 16 && endsPiece(c.s, to), to > p && alone(c.s, p, to):
			p, end = to, to
		case end == from && headers < headerLines && isHeaderLine(c.s, p):
			p = lineEnd(c.s, p)
			headers++
		default:
			return end
		}
	}
}

// decoration skips what may stand between the lines of a block.
func decoration(s string, p int) int {
	for p < len(s) {
		b := s[p]
		switch {
		case isSpace(b) || isQuote(b) || b == '|' || b == '>' || b == '#' || b == '*' || b == ',' || b == ';':
			p++
		case b == '\\' && p+1 < len(s):
			p += 2
		case (b == '+' || b == '-' || b == '/') && (p == 0 || s[p-1] == '\n' || s[p-1] == '/') && (p+1 == len(s) || s[p+1] != '-'):
			p++
		case strings.HasPrefix(s[p:], "→"):
			p += len("→")
		case is(b, digit):
			n := span(s, p, digit, 7)
			if n == len(s) || n-p > 6 || s[n] != ':' && s[n] != '|' && s[n] != '\t' && !strings.HasPrefix(s[n:], "→") {
				return p
			}
			p = n
			if s[p] == ':' {
				p++
			}
		default:
			return p
		}
	}
	return p
}

// endsPiece reports whether a piece of base64 may end at i.
func endsPiece(s string, i int) bool {
	return i == len(s) || isSpace(s[i]) || isQuote(s[i]) || strings.IndexByte(`\,;`, s[i]) >= 0 || s[i] >= 0x80 || strings.HasPrefix(s[i:], "----")
}

// alone reports whether nothing but closing signs follows on the line of the
// text from a to b, so that it may be a block's short last line.
func alone(s string, a, b int) bool {
	for b < len(s) && (isBlank(s[b]) || s[b] == '\r' || isQuote(s[b]) || s[b] == ',' || s[b] == ';') {
		b++
	}
	if b < len(s) && s[b] != '\n' && !strings.HasPrefix(s[b:], `\n`) && !strings.HasPrefix(s[b:], `\r`) {
		return false
	}
	return b == len(s) || !wordy(s[a:b]) || (b-a)%4 == 0
}

func isHeaderLine(s string, p int) bool {
	name := span(s, p, alnum|dash, 24)
	return name > p && is(s[p], upper) && strings.HasPrefix(s[name:], ": ")
}

func lineEnd(s string, p int) int {
	if n := strings.IndexByte(s[p:], '\n'); n >= 0 {
		return p + n
	}
	return len(s)
}

// linesBefore is where the base64 lines that end before i begin, i if there are
// none. It doesn't go back over another frame.
func (c *scanner) linesBefore(i int) int {
	start, line := i, i
	for line > c.framed && c.s[line-1] != '\n' {
		line--
	}
	if from := decoration(c.s[:i], line); from < i {
		// All on one line.
		if to := span(c.s, from, std64, i-from); alone(c.s[:i], from, to) {
			start = from
		}
		return start
	}
	for line > c.framed && i-line < blockReach {
		end := line - 1
		line = end
		for line > c.framed && c.s[line-1] != '\n' {
			line--
		}
		from := decoration(c.s[:end], line)
		to := span(c.s, from, std64, end-from)
		if n := to - from; n < 4 || n < 32 && start < i || !alone(c.s[:end], from, to) || wordy(c.s[from:min(to, from+decided)]) {
			return start
		}
		start = from
	}
	return start
}

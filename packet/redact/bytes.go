package redact

// A byte's classes, for the alphabets of tokens.
const (
	digit = 1 << iota
	lower
	upper
	hexa
	under // _
	dash
	dot
	plus  // + /
	equal // =
	tilde
	sign // announces something, see scanner.at
)

// The alphabets that tokens are written in.
const (
	alnum  = digit | lower | upper
	word   = alnum | under
	run    = alnum | under | dash // base64url
	dotted = run | dot
	std64  = alnum | plus | equal
	any64  = run | plus | equal
	upnum  = digit | upper
)

var classes = [256]uint16{
	'0': digit | hexa, '1': digit | hexa, '2': digit | hexa, '3': digit | hexa, '4': digit | hexa, '5': digit | hexa, '6': digit | hexa,
	'7': digit | hexa, '8': digit | hexa, '9': digit | hexa,
	'a': lower | hexa, 'b': lower | hexa, 'c': lower | hexa, 'd': lower | hexa, 'e': lower | hexa, 'f': lower | hexa,
	'g': lower, 'h': lower, 'i': lower, 'j': lower, 'k': lower, 'l': lower, 'm': lower,
	'n': lower, 'o': lower, 'p': lower, 'q': lower, 'r': lower, 's': lower, 't': lower,
	'u': lower, 'v': lower, 'w': lower, 'x': lower, 'y': lower, 'z': lower,
	'A': upper | hexa, 'B': upper | hexa, 'C': upper | hexa, 'D': upper | hexa, 'E': upper | hexa, 'F': upper | hexa,
	'G': upper, 'H': upper, 'I': upper, 'J': upper, 'K': upper, 'L': upper, 'M': upper,
	'N': upper, 'O': upper, 'P': upper, 'Q': upper, 'R': upper, 'S': upper, 'T': upper,
	'U': upper, 'V': upper, 'W': upper, 'X': upper, 'Y': upper, 'Z': upper,
	'_': under, '-': dash, '.': dot, '+': plus, '/': plus, '=': equal, '~': tilde,
	' ': sign, '\t': sign, ':': sign, '>': sign, '|': sign, ',': sign, '$': sign, '\\': sign, '%': sign, '&': sign, 0x1b: sign,
}

// is reports whether c belongs to one of the classes.
func is(c byte, classOf uint16) bool { return classes[c]&classOf != 0 }

// span is the end of the bytes of an alphabet that s has from i on, looking at
// no more than limit bytes.
func span(s string, i int, alphabet uint16, limit int) int {
	for end := min(len(s), i+limit); i < end && classes[s[i]]&alphabet != 0; {
		i++
	}
	return i
}

// all reports whether s is written in one alphabet.
func all(s string, alphabet uint16) bool { return span(s, 0, alphabet, len(s)) == len(s) }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isLetter(c byte) bool { return is(c, lower|upper) }

func toLower(c byte) byte {
	if is(c, upper) {
		return c | 0x20
	}
	return c
}

// endsFold reports whether s ends in the lower-case text suffix, in any letter
// case.
func endsFold(s, suffix string) bool {
	return len(s) >= len(suffix) && equalFold(s[len(s)-len(suffix):], suffix)
}

// beginsFold reports whether s begins with the lower-case text prefix, in any
// letter case.
func beginsFold(s, prefix string) bool {
	return len(s) >= len(prefix) && equalFold(s[:len(prefix)], prefix)
}

// equalFold compares ASCII; want is lower case.
func equalFold(s, want string) bool {
	if len(s) != len(want) {
		return false
	}
	for i := range len(s) {
		if toLower(s[i]) != want[i] {
			return false
		}
	}
	return true
}

// containsFold reports whether s holds the lower-case text want, in any letter
// case. s is short.
func containsFold(s, want string) bool {
	for i := 0; i+len(want) <= len(s); i++ {
		if equalFold(s[i:i+len(want)], want) {
			return true
		}
	}
	return false
}

package redact

import "strings"

// reference reports whether text stands for a secret without being one: a
// placeholder, a variable, a template, the name of a type, a marker.
func reference(text string) bool {
	if filler(text) || strings.HasPrefix(text, Marker) && len(text) == len(Marker) {
		return true
	}
	switch text[0] {
	case 0x1b:
		return true
	case '$':
		return isVariable(text)
	case '%':
		return len(text) < 4 || text[len(text)-1] == '%' || text[1] == '{' || text[1] == '('
	case '<':
		return strings.IndexByte(text, '>') > 0 || len(text) > 1 && isLetter(text[1]) && all(text[1:], run)
	case '{', '[', '(':
		return true
	case '-':
		return strings.HasPrefix(text, "-----BEGIN") // judged as a block
	case '!', '@', '&', '*':
		return len(text) > 1 && all(text[1:], word) && wordy(text[1:])
	}
	for _, p := range [...]string{"your", "my-secret", "op://", "vault:", "env:", "file:", "arn:", "ref+", "secret://", "secretref:", "keychain:", "http://", "https://", "process.env", "os.environ", "os.getenv", "env.", "env[", "secrets.", "vars."} {
		if beginsFold(text, p) {
			return true
		}
	}
	return isTypeName(text)
}

// isVariable reports whether text, which begins with a dollar sign, is one
// variable or substitution of a shell or template. A password may begin with a
// dollar sign too.
func isVariable(text string) bool {
	if len(text) < 2 {
		return true
	}
	if text[1] == '{' || text[1] == '(' {
		return true
	}
	name := span(text, 1, word, len(text))
	return name > 1 && !is(text[1], digit) && (name == len(text) || strings.IndexByte(":/@,.)]};'\"", text[name]) >= 0) && !hasInnerDigit(text[1:name])
}

// hasInnerDigit reports whether a digit stands before a letter in name, as in
// passwords and hardly ever in names of variables.
func hasInnerDigit(name string) bool {
	if all(name, upnum|under) {
		return false
	}
	for i := 1; i < len(name); i++ {
		if is(name[i-1], digit) && isLetter(name[i]) {
			return true
		}
	}
	return false
}

// filler reports whether text is empty or made of what people write in the
// place of a secret: one sign again and again, xxxx, ****, dots, "your-...".
func filler(text string) bool {
	if beginsFold(text, "your") {
		return true
	}
	for i := 1; i < len(text); i++ {
		if text[i] != text[0] && !strings.ContainsRune("xX*.-_", rune(text[i])) {
			return false
		}
	}
	return text == "" || len(text) < 3 || !is(text[0], alnum) || text[0] == 'x' || text[0] == 'X' || strings.Count(text, text[:1]) == len(text)
}

// isTypeName reports whether text is a word that declarations and documents
// have in the place of a value.
func isTypeName(text string) bool {
	text = strings.TrimRight(text, ",;)}]|?!.")
	if n := strings.IndexAny(text, "|<[(&"); n > 0 {
		text = text[:n]
	}
	switch len(text) {
	case 0:
		return true
	case 1, 2:
		return false
	}
	for _, w := range typeNames {
		if equalFold(text, w) {
			return true
		}
	}
	return false
}

var typeNames = [...]string{
	"string", "str", "text", "number", "int", "integer", "bool", "boolean", "any", "unknown", "object", "null", "nil", "none",
	"undefined", "true", "false", "bytes", "byte", "[]byte", "buffer", "char", "varchar", "void", "never", "option", "optional",
	"required", "secretstr", "secretstring", "password", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key", "hidden", "masked",
	"redacted", "placeholder", "value", "default", "empty", "missing", "invalid", "yes", "no", "off", "todo", "tbd", "n/a", "vec", "result", "list", "map",
	"record", "promise", "self", "this", "props", "await", "new", "async", "func", "function", "the", "and", "incorrect", "disabled", "enabled", "unset", "not",
	"must", "should", "please", "enter", "basic", "bearer", "type", "field", "input", "uuid", "credentials", "same-origin", "include", "omit", "set", "...",
}

// isCode reports whether text is an expression: a call, an index, a path of
// fields.
func isCode(text string) bool {
	n := 0
	for n < len(text) && (is(text[n], word) || text[n] == '.' || text[n] == ':' && n+1 < len(text) && text[n+1] == ':' || text[n] == ':' && n > 0 && text[n-1] == ':') {
		n++
	}
	if n == 0 {
		return text[0] == '(' || text[0] == '&' && len(text) > 1 && isLetter(text[1]) && wordy(text)
	}
	head := text[:n]
	if !isLetter(head[0]) && head[0] != '_' {
		return false
	}
	if n < len(text) && (text[n] == '(' || text[n] == '[' || text[n] == '{' || strings.HasPrefix(text[n:], "->") || strings.HasPrefix(text[n:], "?.") || strings.HasPrefix(text[n:], "!.")) {
		return wordy(head) || len(head) == 1 || strings.IndexByte(head, '.') > 0 && isFieldPath(head)
	}
	if strings.Contains(head, "::") {
		return true
	}
	ends := n == len(text) || strings.IndexByte(";,)=", text[n]) >= 0
	return ends && strings.Contains(head, ".") && isFieldPath(head)
}

// isStatement reports whether text, which stands behind " = ", is the right side
// of a program's assignment: a call, an index, a small number.
func isStatement(text string) bool {
	if isCode(text) || isNumber(text) && len(text) < 6 || strings.HasPrefix(text, "0x") && len(text) < 12 {
		return true
	}
	n := span(text, 0, word|dot, len(text))
	return n > 0 && n < len(text) && !is(text[0], digit) && (text[n] == '(' || text[n] == '[')
}

// isFieldPath reports whether every part between full stops is a name.
func isFieldPath(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if part == "" || !isLetter(part[0]) && part[0] != '_' || hasInnerDigit(part) || len(part) >= 8 && !wordy(part) {
			return false
		}
	}
	return true
}

// isPath reports whether text is the path of a file, which is where a secret is
// and not what it is.
func isPath(text string) bool {
	switch {
	case strings.HasPrefix(text, "~/"), strings.HasPrefix(text, "./"), strings.HasPrefix(text, "../"), strings.HasPrefix(text, "$HOME/"):
		return true
	case len(text) > 3 && isLetter(text[0]) && text[1] == ':' && (text[2] == '\\' || text[2] == '/'):
		return true
	case text[0] == '/':
		return strings.Count(text, "/") > 1 && (wordy(text) || strings.IndexByte(text, '.') > 0) || wordy(text)
	}
	for _, ext := range [...]string{".pem", ".key", ".json", ".txt", ".yaml", ".yml", ".toml", ".env", ".crt", ".p12", ".pfx", ".go", ".ts", ".js", ".py", ".rs", ".md", ".sh"} {
		if endsFold(text, ext) {
			return true
		}
	}
	return false
}

// isHash reports whether text is what a commit, a digest or a UUID looks like.
func isHash(text string) bool {
	switch len(text) {
	case 32, 40, 64, 96, 128:
		return all(text, hexa)
	case 36:
		return all(text, hexa|dash)
	}
	return len(text) < 20 && all(text, hexa)
}

// isLabel reports whether a quoted text is a sentence or a caption rather than
// a password.
func isLabel(text string) bool {
	if strings.IndexByte(text, ' ') < 0 {
		return text[0] >= 'A' && text[0] <= 'Z' && isPlainWord(text[1:]) && holdsSecretWord(text)
	}
	for w := range strings.FieldsSeq(text) {
		if !holdsDigit(w) && holdsSecretWord(w) {
			return true
		}
		for _, common := range [...]string{"the", "a", "an", "is", "are", "be", "must", "at", "to", "of", "for", "in", "and", "or", "not", "your", "should", "can", "with", "please", "enter", "required", "invalid", "this"} {
			if equalFold(strings.Trim(w, ".,:;!?"), common) {
				return true
			}
		}
	}
	return false
}

// isMetavar reports whether text is what a help text has for an argument: TOKEN,
// API_KEY, NAME].
func isMetavar(text string) bool {
	text = strings.TrimRight(text, "]),.|>")
	return text == "" || all(text, upper|under|dash) && wordy(text) && (len(text) < 20 || holdsSecretWord(text))
}

// isOption reports whether text is another option or a list of settings.
func isOption(text string) bool {
	return text[0] == '-' || strings.HasPrefix(text, "id=") || strings.HasPrefix(text, "type=") || strings.HasPrefix(text, "src=")
}

// holdsSecretWord reports whether a name or sentence speaks of a secret.
func holdsSecretWord(text string) bool {
	text = text[:min(len(text), valueReach)]
	for _, w := range [...]string{"password", "passwd", "passphrase", "secret", "token", "key", "credential", "pwd"} {
		if containsFold(text, w) {
			return true
		}
	}
	return false
}

// isAlphabet reports whether text is a list of signs rather than a choice of them.
func isAlphabet(text string) bool {
	return strings.Contains(text, "abcdefghijklmno") || strings.Contains(text, "ABCDEFGHIJKLMNO")
}

// isProse reports whether a word after an option goes on with the sentence that
// speaks about the option.
func isProse(text string) bool {
	for _, w := range [...]string{"option", "options", "flag", "flags", "argument", "arguments", "and", "or", "is", "are", "in", "for", "to", "from", "with", "via", "must", "should", "may", "can", "when", "if", "on", "instead", "parameter"} {
		if text == w {
			return true
		}
	}
	return false
}

// isPlainWord reports whether text is one word in small letters, or several
// joined by dashes.
func isPlainWord(text string) bool { return all(text, lower|dash) }

func isNumber(text string) bool {
	return len(text) < 20 && all(text, digit|dot|dash|under)
}

func holdsDigit(text string) bool {
	for i := range len(text) {
		if is(text[i], digit) {
			return true
		}
	}
	return false
}

// holdsRandomWord reports whether one of the words of a text is no word.
func holdsRandomWord(text string) bool {
	for w := range strings.FieldsSeq(text) {
		if len(w) >= 12 && holdsDigit(w) && !wordy(w) && !isHash(w) && !isCode(w) && !isPath(w) {
			return true
		}
	}
	return false
}

// holdsSign reports whether text has a sign that names and words don't have.
func holdsSign(text string) bool {
	for i := range len(text) {
		if !is(text[i], run|dot) && text[i] < 0x80 {
			return true
		}
	}
	return false
}

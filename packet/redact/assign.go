package redact

import "strings"

// meaning is what the name before a value says about it.
type meaning uint8

const (
	nothing  meaning = iota
	password         // chosen by a person: may be a word
	secret           // made by a machine: random
	perhaps          // "..._KEY": a secret only where it is long, random and no hash
	header           // Authorization: a scheme and a credential
	cookies          // Cookie, Set-Cookie: names and values
	signing          // the signature that makes an address work
	phrase           // a mnemonic: words, one after the other
	scheme           // Bearer, Basic
)

// key is a name that announces a value.
type key struct {
	means meaning
	start int // of the name
	end   int
	upper bool // written in capitals, as variables of the environment are
	flag  bool // an option of a command: --token
	weak  bool // "pass" on its own, which is also what a test does
}

// nameReach is how long the name before a value may be.
const nameReach = 48

// keyBefore reads the name that ends at end.
func (c *scanner) keyBefore(end int) key {
	name := c.s[max(c.floor, end-nameReach, 0):end]
	k := key{means: announced(name), end: end}
	if k.means == nothing {
		return k
	}
	k.start = end
	for k.start > end-len(name) && (is(c.s[k.start-1], run) || c.s[k.start-1] == '.') {
		k.start--
	}
	k.upper = true
	for i := k.start; i < end; i++ {
		if is(c.s[i], lower) {
			k.upper = false
			break
		}
	}
	k.flag = c.s[k.start] == '-' && (k.start == 0 || isSpace(c.s[k.start-1]))
	k.weak = end-k.start == len("pass")
	return k
}

// tail is the last three letters of name in small letters.
func tail(name string) (t [3]byte) {
	if n := len(name); n >= 3 {
		t = [3]byte{name[n-3] | 0x20, name[n-2] | 0x20, name[n-1] | 0x20}
	}
	return t
}

// announced says what a value after a name that ends so means. Only the name's
// last words count: getPasswordFromConfig and token_count announce nothing.
func announced(name string) meaning {
	for n := 0; n < 3 && len(name) > 3 && is(name[len(name)-1], digit); n++ {
		name = name[:len(name)-1]
	}
	if last := len(name) - 1; last > 3 && name[last] == '_' {
		name = name[:last]
	}
	switch t := tail(name); string(t[:]) {
	case "ord", "swd", "pwd", "ase", "ode", "ass", "nic":
		return announcedPassword(name)
	case "key":
		return announcedKey(name)
	case "ken":
		return announcedToken(name)
	case "ret":
		return when(endsFold(name, "secret"), secret)
	case "als", "ial", "eds":
		return when(endsFold(name, "credentials") || endsFold(name, "credential") || endsWord(name, "creds"), secret)
	case "jwt", "pat", "uth":
		return when(endsWord(name, "jwt") || endsWord(name, "pat") || endsWord(name, "auth"), secret)
	case "psk":
		return when(endsWord(name, "psk"), password)
	case "ion":
		return when(endsFold(name, "authorization"), header)
	case "kie":
		return when(endsFold(name, "cookie"), cookies)
	case "sig", "ure":
		return when(endsWord(name, "sig") || endsFold(name, "signature"), signing)
	case "rer":
		return when(endsWord(name, "bearer"), scheme)
	case "sic":
		return when(endsWord(name, "basic"), scheme)
	case "ata":
		return when(endsJoined(name, "key", "data"), secret)
	}
	return nothing
}

func when(ok bool, m meaning) meaning {
	if ok {
		return m
	}
	return nothing
}

func announcedPassword(name string) meaning {
	for _, w := range [...]string{"password", "passwd", "passphrase", "passcode", "pswd", "storepass", "keypass", "userpass"} {
		if endsFold(name, w) {
			return password
		}
	}
	switch {
	case endsFold(name, "mnemonic"), endsJoined(name, "seed", "phrase"), endsJoined(name, "recovery", "phrase"):
		return phrase
	case endsWord(name, "pwd") && !isWorkingFolder(name), endsWord(name, "passwrd"), endsWord(name, "pass"):
		return password
	case endsJoined(name, "key", "base"):
		return secret
	}
	return nothing
}

// isWorkingFolder reports whether name ends in the variable PWD or OLDPWD, which
// is no password. In a connection string ("UID=sa;PWD=...") it is one.
func isWorkingFolder(name string) bool {
	before, ok := strings.CutSuffix(name, "PWD")
	before = strings.TrimSuffix(before, "OLD")
	return ok && (before == "" || !is(before[len(before)-1], word) && before[len(before)-1] != ';')
}

func announcedToken(name string) meaning {
	if !endsFold(name, "token") {
		return nothing
	}
	for _, w := range [...]string{"page", "next", "prev", "previous", "continuation", "sync", "eos", "bos", "pad", "unk", "sep", "cls", "mask", "stop", "special", "cancellation", "cancel", "public", "last", "first", "end", "start"} {
		if endsJoined(name, w, "token") {
			return nothing // a place in a list, a sign of a vocabulary
		}
	}
	return secret
}

func announcedKey(name string) meaning {
	for _, w := range [...]string{
		"api", "secret", "access", "account", "private", "encryption", "signing", "master", "shared", "storage", "service",
		"role", "anon", "app", "application", "auth", "admin", "license", "webhook", "session", "subscription", "functions", "root",
		"hmac", "jwt", "deploy", "integration", "ingest", "write", "preshared", "secretaccess", "sharedaccess", "client", "bot", "token",
		"decryption", "recovery", "unseal", "consumer", "hash", "aes", "rsa", "ed25519", "stream", "personal",
	} {
		if endsJoined(name, w, "key") {
			return secret
		}
	}
	if len(name) > 4 && is(name[len(name)-4], under|dash) && !endsJoined(name, "public", "key") && !endsJoined(name, "publishable", "key") {
		return perhaps
	}
	return nothing
}

// endsWord reports whether name ends in w as a word of its own: after no
// letter, or as a hump.
func endsWord(name, w string) bool {
	if !endsFold(name, w) {
		return false
	}
	at := len(name) - len(w)
	return at == 0 || !isLetter(name[at-1]) || is(name[at], upper) && is(name[at-1], lower)
}

// endsJoined reports whether name ends in these words, joined by nothing or by
// one of _ - . and blank.
func endsJoined(name string, words ...string) bool {
	for i := len(words) - 1; i >= 0; i-- {
		if !endsFold(name, words[i]) {
			return false
		}
		name = name[:len(name)-len(words[i])]
		if n := len(name); i > 0 && n > 0 && (is(name[n-1], under|dash|dot) || name[n-1] == ' ') {
			name = name[:n-1]
		}
	}
	return true
}

// assign looks at a : or = for a name before it and a value after it.
func (c *scanner) assign(i int) int {
	end, loose := i, 0
	for end > c.floor && loose < 8 && looseBefore(c.s[end-1]) {
		end--
		loose++
	}
	if end-c.floor < 3 {
		return 0
	}
	k := c.keyBefore(end)
	switch {
	case k.means != nothing:
	case endsFold(c.s[c.floor:end], "value"):
		k = c.keyOfValue(end - len("value"))
	case c.s[i] == '=':
		k = c.keyBefore(c.beforeType(end))
	}
	if k.means == nothing || k.means == scheme && c.s[i] == '=' {
		return 0
	}
	v := c.valueAfter(i)
	v.tight = end == i && (v.start == i+1 || v.quoted && v.start == i+2)
	v.colon = c.s[i] == ':'
	if v.start >= v.end {
		return 0
	}
	return c.judge(k, v)
}

// keyOfValue reads the name of a pair that is written apart, before "value":
// <add key="Password" value=...>, {"name": "password", "value": ...}, and YAML's
// lines "- name: PASSWORD" and "value:".
func (c *scanner) keyOfValue(end int) key {
	end = c.skipBack(end, " \t\r\n\"'\\,;+-|>#*0123456789→", 48)
	if end-c.floor < 3 {
		return key{}
	}
	k := c.keyBefore(end)
	if k.means != password && k.means != secret {
		return key{}
	}
	before := c.skipBack(k.start, " \t\"'\\:=", 12)
	if name := c.s[c.floor:before]; before == k.start || !endsFold(name, "name") && !endsFold(name, "key") {
		return key{}
	}
	return k
}

// skipBack goes back from end over at most limit of these signs.
func (c *scanner) skipBack(end int, signs string, limit int) int {
	for n := 0; n < limit && end > c.floor && strings.IndexByte(signs, c.s[end-1]) >= 0; n++ {
		end--
	}
	return end
}

// looseBefore reports whether b may stand between a name and its : or =.
func looseBefore(b byte) bool {
	return isBlank(b) || isQuote(b) || b == '*' || b == '\\' || b == ']' || b == '?' || b == '!' || b == ':' || b == '+'
}

// beforeType is the end of the name that is declared with a type before end:
// "token: str", "password string".
func (c *scanner) beforeType(end int) int {
	for _, t := range [...]string{"str", "string", "text", "&str", "bytes"} {
		at := end - len(t)
		if at-c.floor < 4 || !equalFold(c.s[at:end], t) || is(c.s[at-1], alnum) {
			continue
		}
		for at > c.floor && end-at < 16 && (isBlank(c.s[at-1]) || c.s[at-1] == ':' || c.s[at-1] == '?') {
			at--
		}
		return at
	}
	return c.floor
}

// blank looks at a blank or tab after a word that announces something: a scheme
// ("Bearer ..."), an option ("--token ..."), a line of netrc, or plain prose
// ("the password is ...").
func (c *scanner) blank(i int) int {
	if i-c.floor < 3 {
		return 0
	}
	if i+1 < len(c.s) && (c.s[i+1] == '=' || c.s[i+1] == ':') {
		return 0 // assign's
	}
	end, said := i, false
	switch t := tail(c.s[i-3 : i]); string(t[:]) {
	case " is", "was":
		for end > c.floor && !isBlank(c.s[end-1]) {
			end--
		}
		end--
		said = true
		if end-c.floor < 3 {
			return 0
		}
	case "ord", "swd", "ase", "ken", "ret", "key", "sic", "rer", "uth", "kie", "ass", "pwd", "ser", "nic":
	default:
		return 0
	}
	if endsFold(c.s[c.floor:i], "-user") {
		if !containsFold(c.s[max(c.floor, i-160, 0):i], "curl") {
			return 0
		}
		return c.userAndPassword(i + 1)
	}
	k := c.keyBefore(end)
	if k.means == nothing || k.means == perhaps || k.means == signing || k.weak {
		return 0
	}
	v := c.valueAfter(i)
	if v.start >= v.end {
		return 0
	}
	v.said = said
	v.spoken = !k.flag
	if k.means == password && v.spoken && !said {
		v.netrc = c.inNetrc(k.start)
	}
	return c.judge(k, v)
}

// inNetrc reports whether a machine and a login stand before the word at i, as
// in ~/.netrc.
func (c *scanner) inNetrc(i int) bool {
	before := c.s[max(c.floor, i-160, 0):i]
	return containsFold(before, "login ") && (containsFold(before, "machine ") || containsFold(before, "default "))
}

// element looks at a > that closes an XML element's opening tag.
func (c *scanner) element(i int) int {
	k := c.keyBefore(i)
	if k.means != password && k.means != secret || k.start == 0 || c.s[k.start-1] != '<' {
		return 0
	}
	end := i + 1
	for end < len(c.s) && end-i < valueReach && c.s[end] != '<' && c.s[end] != '\n' {
		end++
	}
	if end+1 >= len(c.s) || c.s[end] != '<' || c.s[end+1] != '/' {
		return 0
	}
	return c.judge(k, value{start: i + 1, end: end, quoted: true})
}

// cell looks at a comma between two quoted texts and at a bar in a table: a name
// and its value.
func (c *scanner) cell(i int) int {
	end := i
	for end > c.floor && i-end < 24 && (isBlank(c.s[end-1]) || isQuote(c.s[end-1]) || c.s[end-1] == '*') {
		end--
	}
	if end == i || end-c.floor < 3 {
		return 0
	}
	k := c.keyBefore(end)
	if k.means != password && k.means != secret {
		return 0
	}
	v := c.valueAfter(i)
	if c.s[i] == ',' && (!v.quoted || !isQuote(c.s[i-1])) {
		return 0
	}
	if text := c.s[v.start:min(v.end, v.start+decided)]; len(text) < 8 || wordy(text) || reference(text) || !holdsDigit(text) {
		return 0
	}
	return c.judge(k, v)
}

// letterFlag looks at an option of one letter that takes a password, of the few
// commands that have one.
func (c *scanner) letterFlag(i int) int {
	letter := c.s[i+1]
	if letter != 'p' && letter != 'u' && letter != 'a' && letter != 'P' {
		return 0
	}
	before := c.s[max(c.floor, i-160, 0):i]
	for n := len(before); n > 0; n-- {
		if b := before[n-1]; b == '\n' || b == '|' || b == ';' {
			before = before[n:]
			break
		}
	}
	from := i + 2
	for from < len(c.s) && isBlank(c.s[from]) {
		from++
	}
	apart := from > i+2
	switch {
	case letter == 'p' && !apart && (containsFold(before, "mysql") || containsFold(before, "mariadb")):
	case letter == 'p' && (containsFold(before, "sshpass") || containsFold(before, " login ")):
	case letter == 'a' && containsFold(before, "redis-cli"):
	case letter == 'P' && apart && containsFold(before, "sqlcmd"):
	case letter == 'u' && containsFold(before, "curl"), letter == 'a' && containsFold(before, "http "):
		return c.userAndPassword(from)
	default:
		return 0
	}
	v := c.valueFrom(from)
	if n := v.end - v.start; n < 3 || reference(c.s[v.start:min(v.end, v.start+decided)]) {
		return 0
	}
	return c.add(v.start, v.end, "password")
}

// userAndPassword is the name:password of curl's -u.
func (c *scanner) userAndPassword(from int) int {
	v := c.valueFrom(from)
	for i := v.start; i < v.end && i-v.start < 128; i++ {
		if c.s[i] == ':' {
			if v.end-i < 4 || reference(c.s[i+1:min(v.end, i+1+decided)]) {
				return 0
			}
			return c.add(i+1, v.end, "password")
		}
	}
	return 0
}

package redact

import "strings"

// userinfoReach is how long the part of an address before the host may be.
const userinfoReach = 1 << 10

// address looks at "://": a password or token before the host, or an address
// that is a secret as a whole.
func (c *scanner) address(i int) int {
	from := i + len("://")
	scheme := i
	for scheme > c.floor && i-scheme < 24 && is(c.s[scheme-1], alnum|plus|dash|dot) {
		scheme--
	}
	for scheme < i && !isLetter(c.s[scheme]) {
		scheme++
	}
	if scheme == i {
		return 0
	}
	if end := c.webhook(from); end > 0 {
		return end
	}
	at := c.hostSign(from, holdsAnything(c.s[scheme:i]))
	if at <= from {
		return 0
	}
	user := c.s[from:at]
	n := strings.IndexByte(user, ':')
	if n < 0 || n == len(user)-1 {
		if name := strings.TrimSuffix(user, ":"); len(name) >= 20 && !reference(name) && !wordy(name) {
			return c.add(from, from+len(name), "address-token")
		}
		return 0
	}
	password := user[n+1:]
	if reference(password) && (len(password) > 2 || !all(password, alnum)) {
		return 0
	}
	if name := user[:n]; password == "x-oauth-basic" && !reference(name) {
		return c.add(from, from+n, "address-token")
	}
	return c.add(from+n+1, at, "address-password")
}

// hostSign is where the @ before the host stands, 0 if there is none. People
// write passwords into addresses without escaping them: in one of a database
// the password may hold any sign (anything), elsewhere what follows the user's
// name is a password if it can't be a port.
func (c *scanner) hostSign(from int, anything bool) int {
	at, port := 0, 0
	for i := from; i < len(c.s) && i-from < userinfoReach; i++ {
		switch b := c.s[i]; {
		case b == '@':
			at = i
		case isSpace(b) || isQuote(b) || b == '<' || b == '>' || b == '\\':
			return at
		case b == ':' && strings.HasPrefix(c.s[i:], "://"):
			return at
		case b == ':' && port == 0:
			port = i + 1
		case anything || b != '/' && b != '?' && b != '#':
		case at > 0 || port == 0 || c.s[from] == '[' || all(c.s[port:i], digit):
			return at
		}
	}
	return at
}

// holdsAnything reports whether a scheme is one of a database or a queue.
func holdsAnything(scheme string) bool {
	for _, p := range [...]string{"postgres", "mysql", "mariadb", "mongodb", "redis", "amqp", "mssql", "sqlserver", "clickhouse", "oracle", "cockroach", "nats", "kafka", "smtp", "imap", "ldap", "ftp", "sftp", "mqtt", "rediss", "valkey"} {
		if beginsFold(scheme, p) {
			return true
		}
	}
	return false
}

// webhooks are addresses that whoever knows them may post to. What follows the
// text is the secret.
var webhooks = [...]struct{ class, at string }{
	{"slack-webhook", "hooks.slack.com/services/"},
	{"slack-webhook", "hooks.slack.com/workflows/"},
	{"slack-webhook", "hooks.slack.com/triggers/"},
	{"discord-webhook", "discord.com/api/webhooks/"},
	{"discord-webhook", "discordapp.com/api/webhooks/"},
	{"discord-webhook", "ptb.discord.com/api/webhooks/"},
	{"discord-webhook", "canary.discord.com/api/webhooks/"},
	{"zapier-webhook", "hooks.zapier.com/hooks/catch/"},
	{"make-webhook", "hook.eu1.make.com/"},
	{"make-webhook", "hook.us1.make.com/"},
	{"chat-webhook", "chat.googleapis.com/v1/spaces/"},
	{"ifttt-webhook", "maker.ifttt.com/trigger/"},
}

// webhook looks for such an address whose host begins at from.
func (c *scanner) webhook(from int) int {
	rest := c.s[from:]
	for _, w := range webhooks {
		if strings.HasPrefix(rest, w.at) {
			start := from + len(w.at)
			return c.webhookEnd(start, w.class)
		}
	}
	// Microsoft's have the tenant before the host.
	host := rest[:span(rest, 0, dotted, 80)]
	if strings.HasSuffix(host, ".webhook.office.com") && strings.HasPrefix(rest[len(host):], "/webhookb2/") {
		return c.webhookEnd(from+len(host)+len("/webhookb2/"), "teams-webhook")
	}
	return 0
}

func (c *scanner) webhookEnd(start int, class string) int {
	end := start
	for end < len(c.s) && (is(c.s[end], any64|dot) || strings.IndexByte("@?&%", c.s[end]) >= 0) {
		end++
	}
	for end > start && c.s[end-1] == '.' {
		end--
	}
	if body := c.s[start:min(end, start+decided)]; len(body) < 8 || wordy(body) || filler(body) || placeholderPath(body) {
		return 0
	}
	return c.add(start, end, class)
}

// placeholderPath reports whether a webhook's path is one from documentation:
// T000/B000/XXXX.
func placeholderPath(p string) bool {
	return strings.Contains(p, "XXXXXXXX") || strings.Contains(p, "xxxxxxxx") || strings.Contains(p, "your")
}

// slash looks at the refresh tokens of Google, which begin with "1//0", and at
// webhooks that are written without a scheme.
func (c *scanner) slash(i int) int {
	if i < 2 || c.s[i-1] != '/' || c.s[i-2] != '1' || i+1 == len(c.s) || c.s[i+1] != '0' || !c.bare(i-2) {
		return 0
	}
	if end := span(c.s, i+1, run, len(c.s)); end-i > 30 && !wordy(c.s[i+1:min(end, i+1+decided)]) {
		return c.add(i-2, end, "google-refresh-token")
	}
	return 0
}

// pgpass looks at the colon before the port in a line of ~/.pgpass,
// host:port:database:user:password.
func (c *scanner) pgpass(i int) int {
	port := i - 4
	if port < 1 || port < c.floor || c.s[port:i] != "5432" && c.s[port:i] != "5433" && c.s[port:i] != "6432" || c.s[port-1] != ':' {
		return 0
	}
	from := i + 1
	for range 2 {
		n := from
		for n < len(c.s) && n-from < 64 && !isSpace(c.s[n]) && c.s[n] != ':' && c.s[n] != '/' {
			n++
		}
		if n == from || n == len(c.s) || c.s[n] != ':' {
			return 0
		}
		from = n + 1
	}
	end := from
	for end < len(c.s) && !isSpace(c.s[end]) {
		end++
	}
	if end-from < 3 || reference(c.s[from:min(end, from+decided)]) {
		return 0
	}
	return c.add(from, end, "pgpass-password")
}

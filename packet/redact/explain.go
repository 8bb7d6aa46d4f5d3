package redact

// Additions names the kinds of secret that go beyond the five of the policy
// openrig-v0 (sk- keys, GitHub's two token shapes, bearer tokens, long base64
// runs), for the record in a packet.
func (r *Redactor) Additions() []string {
	kinds := []string{
		"provider tokens by their published shape", "JSON web tokens", "private key blocks", "passwords in URLs",
		"values named password, secret, token, key", "authorization headers and cookies", "secrets inside escapes",
	}
	if len(r.patterns) > 0 {
		kinds = append(kinds, "the configuration's own patterns")
	}
	if len(r.leaveOut) > 0 {
		kinds = append(kinds, "the configuration's own paths")
	}
	return kinds
}

// Exemptions names what the policy's base64 rule would take and this package
// leaves, since a successor needs to read it.
func (r *Redactor) Exemptions() []string {
	kinds := []string{"commit ids", "digests", "UUIDs", "long paths", "the clients' own ids", "code"}
	if len(r.exempt) > 0 {
		kinds = append(kinds, "the configuration's own exemptions")
	}
	return kinds
}

package redact

import (
	"regexp"
	"strings"
	"testing"
)

// stdAll is what package regexp says that pattern.all should say.
func stdAll(re *regexp.Regexp, s string) []slots {
	var all []slots
	for _, at := range re.FindAllStringSubmatchIndex(s, -1) {
		if at[1] == at[0] {
			continue
		}
		m := slots{at[0], at[1], -1, -1}
		if len(at) > 2 {
			m[2], m[3] = at[2], at[3]
		}
		all = append(all, m)
	}
	return all
}

func same(a, b []slots) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

var patternTexts = []string{
	"", "a", "ACME-123456 and acme-1 ACME-", "ticket=abc; ticket=; x=y", "aaa bbb\nccc\n", "日本語 ab日c", "foo.bar(baz)[1]{2}",
	"aXbXc", "a_b-c d1e2", "\xffa\xfe", "[REDACTED] x", "ſKk ß", "a+b*c?", "ab\nab$", "tok_0aF9 TOK_zz",
}

var patterns = []string{
	`a`, `ACME-[0-9]{6}`, `ticket=(\w+);`, `x*`, `(a|ab)(c|bcd)?`, `(?i)acme-\d+`, `^a`, `a$`, `(?m)^c+$`, `\bab\b`, `\Ba`, `[^a-z\s]+`,
	`[[:alpha:]]+`, `[[:^digit:]]{2,3}`, `.`, `(?s).+`, `.*?b`, `a{2}`, `a{2,}`, `a{0,2}?b`, `(?:ab)+`, `(?P<x>b+)`, `(?<y>c)`, `\x61`, `\x{65E5}`,
	`\Qa+b*\E`, `\Qab\E+`, `a|b|`, `()`, `(a*)*`, `(a*)+`, `(a|b)*?c`, `[]a]`, `[a\]b]`, `[\w-]+`, `[+-]`, `[a-c-e]`, `a{`, `a{,2}`, `a{1`, `{`, `}`, `]`,
	`(?i)[k-s]+`, `(?i)[^k]`, `(?i:a)B?`, `(?U)a+b*`, `(?U)a+?`, `\t|\n|\v`, `\D\S\W`, `[\D]`, `(?i)ſ`, `\A[a-z]|c\z`, `(?s-i:.)x`, `tok_([0-9a-fA-F]{4})`, `日`, `[日-語]+`,
	`\.`, `\_`, `\-`, `(x|(y))`, `((a)b)`, `a**`, `a{2}{3}`, `*a`, `(`, `)`, `[`, `[b-a]`, `\`, `\8`, `a{1001}`, `a{3,2}`, `(?x)a`, `(?`, `(?i`, `\pL`, `\x{110000}`, `[[:foo:]]`, `\C`, `(?P<>a)`, `(?-)a`,
	`[^\n]`, `(?:)`, `(?i)(?-i)A`, `\Q`, `[a`, `a{00}`, `a{01}`,
}

func TestPatternsMeanWhatTheyMeanInRegexp(t *testing.T) {
	for _, text := range patterns {
		re, want := regexp.Compile(text)
		p, err := compilePattern(text)
		if text == `\pL` {
			if err == nil || !strings.Contains(err.Error(), "aren't supported") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if (err == nil) != (want == nil) {
			t.Errorf("%q: %v, package regexp says %v", text, err, want)
			continue
		}
		if err != nil {
			continue
		}
		for _, s := range patternTexts {
			if got, want := p.all(s), stdAll(re, s); !same(got, want) {
				t.Errorf("%q on %q: %v, package regexp says %v", text, s, got, want)
			}
		}
	}
}

// FuzzPattern holds patterns against package regexp.
func FuzzPattern(f *testing.F) {
	for i, p := range patterns {
		f.Add(p, patternTexts[i%len(patternTexts)])
	}
	f.Fuzz(func(t *testing.T, text, s string) {
		if len(text) > 60 || len(s) > 200 {
			return
		}
		p, err := compilePattern(text)
		re, want := regexp.Compile(text)
		if err == nil && want != nil && !strings.Contains(want.Error(), "expression nests too deeply") && !strings.Contains(want.Error(), "repeat count") && !strings.Contains(want.Error(), "group name") {
			t.Fatalf("%q: package regexp says %v", text, want)
		}
		if err != nil && want == nil && !strings.Contains(err.Error(), "supported") && !strings.Contains(err.Error(), "too ") {
			t.Fatalf("%q: %v, and package regexp takes it", text, err)
		}
		if err != nil || want != nil {
			return
		}
		if got, want := p.all(s), stdAll(re, s); !same(got, want) {
			t.Fatalf("%q on %q: %v, package regexp says %v", text, s, got, want)
		}
	})
}

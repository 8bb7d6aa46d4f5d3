package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func newRedactor(tb testing.TB) *Redactor {
	tb.Helper()
	r, err := New(Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// FuzzText: twice is once, nothing is left to find, valid UTF-8 stays valid,
// matches ascend without overlap.
func FuzzText(f *testing.F) {
	rng := rand.New(rand.NewPCG(corpusSeed, 3))
	for i, k := range secretKinds {
		whole, _ := plant(expand(rng, k.template))
		f.Add(carriers[i%len(carriers)].wrap(rng, whole))
	}
	for _, l := range lookalikes {
		f.Add(expand(rng, l.text))
	}
	f.Add("password=[REDACTED]x [REDACTED [REDACTED]] token: \xff\xfe\u65e5")
	r := newRedactor(f)
	f.Fuzz(func(t *testing.T, s string) {
		end := 0
		for _, m := range r.Find(s) {
			if m.Start < end || m.End <= m.Start || m.End > len(s) || m.Class == "" {
				t.Fatalf("match %+v after %d in %q", m, end, s)
			}
			end = m.End
		}
		once, n := r.Text(s)
		if twice, again := r.Text(once); twice != once || again != 0 {
			t.Fatalf("not idempotent:\n  in %q\nonce %q\ntwice %q", s, once, twice)
		}
		if n == 0 && once != s {
			t.Fatalf("changed without a match: %q", s)
		}
		if utf8.ValidString(s) && !utf8.ValidString(once) {
			t.Fatalf("invalid UTF-8 from %q: %q", s, once)
		}
	})
}

// FuzzPlanted: a secret on a line of its own doesn't survive, whatever stands
// before and after it.
func FuzzPlanted(f *testing.F) {
	for i := range secretKinds {
		f.Add("text before ", " and after", uint64(i), uint16(i), uint8(i))
	}
	f.Add("password: |\n", `"`, uint64(1), uint16(1), uint8(1))
	f.Add("-----BEGIN PRIVATE KEY-----\n", "-----END PRIVATE KEY-----", uint64(2), uint16(2), uint8(0))
	f.Add(`{"a":"\u00`, `\"}`, uint64(3), uint16(3), uint8(3))
	r := newRedactor(f)
	f.Fuzz(func(t *testing.T, before, after string, seed uint64, kind uint16, carrier uint8) {
		rng := rand.New(rand.NewPCG(seed, 4))
		k := secretKinds[int(kind)%len(secretKinds)]
		c := carriers[int(carrier)%len(carriers)]
		if c.shaped && !shaped(k.template) {
			c = carriers[0]
		}
		if strings.Contains(before, "BEGIN ") && strings.Contains(after, "END ") {
			return // it may be a certificate's, then
		}
		whole, hidden := plant(expand(rng, k.template))
		text := before + "\n" + c.wrap(rng, whole) + "\n" + after
		got, _ := r.Text(text)
		for i := 0; i+8 <= len(hidden); i++ {
			if piece := hidden[i : i+8]; strings.Contains(got, piece) && !strings.Contains(before+after, piece) && strings.Trim(piece, "-BEGINPRVATKYDOSHC \n") != "" {
				t.Fatalf("%s, %s: %q survives\n in %q\nout %q", k.name, c.name, piece, text, got)
			}
		}
	})
}

// FuzzCut: what is kept has no secret, is within its bound and splits nothing.
func FuzzCut(f *testing.F) {
	f.Add("a sk-ant-api03-EXAMPLEabcdEFGH1234 b", 20)
	f.Add("日本語 password=hunter2 日本語", 7)
	f.Add("", -1)
	r := newRedactor(f)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < -1 || n > 1<<16 {
			return
		}
		head, left, _ := r.Cut(s, n)
		tail, _, _ := r.CutFront(s, n)
		whole, _ := r.Text(s)
		for _, kept := range []string{head, tail} {
			if len(kept) > max(n, 0) || utf8.ValidString(s) && !utf8.ValidString(kept) {
				t.Fatalf("cut to %d: %q", n, kept)
			}
		}
		if !strings.HasSuffix(whole, tail) || left < 0 {
			t.Fatalf("%q is no end of %q", tail, whole)
		}
		if len(s) <= n+margin && !strings.HasPrefix(whole, head) {
			t.Fatalf("%q is no beginning of %q", head, whole)
		}
	})
}

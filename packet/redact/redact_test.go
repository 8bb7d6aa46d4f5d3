package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestTextRedacts(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ in, want string }{
		{"key sk-ant-api03-EXAMPLEabcdEFGH1234 end", "key [REDACTED] end"},
		{"sk-proj-Ab3dEf6hIj9lMn2pQr5tUv8x", "[REDACTED]"},
		{"AKIAEXAMPLE123456789", "[REDACTED]"},
		{"ghp_EXAMPLE1234567890abcdefABCDEF123456", "[REDACTED]"},
		{"postgres://app:hunter2@db.example/x", "postgres://app:[REDACTED]@db.example/x"},
		{"https://EXAMPLE:pa#s5word@host/", "https://EXAMPLE:[REDACTED]@host/"},
		{"export DB_PASSWORD=hunter2", "export DB_PASSWORD=[REDACTED]"},
		{`{"password":"hunter2","user":"bob"}`, `{"password":"[REDACTED]","user":"bob"}`},
		{`{\"password\":\"hunter2\",\"user\":\"bob\"}`, `{\"password\":\"[REDACTED]\",\"user\":\"bob\"}`},
		{"password: hunter2\nuser: bob", "password: [REDACTED]\nuser: bob"},
		{"Authorization: bearer abcDEF123456789", "Authorization: bearer [REDACTED]"},
		{"authorization: Basic dXNlcjpwYXNz", "authorization: Basic [REDACTED]"},
		{"curl -u bob:hunter2 https://x", "curl -u bob:[REDACTED] https://x"},
		{"Cookie: sid=abc123def456; theme=dark", "Cookie: sid=[REDACTED]"},
		{"eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2ln", "[REDACTED]"},
		{"sk\\u002dant\\u002dapi03\\u002dEXAMPLEabcd1234", "[REDACTED]"},
		{"-----BEGIN PRIVATE KEY-----\\nMIIEvEXAMPLEEXAMPLE12345678\\nAbCd==\\n-----END PRIVATE KEY-----\\n", "[REDACTED]\\n"},
		{"-----BEGIN PRIVATE KEY-----\nMIIEvEXAMPLEEXAMPLE12345678\nAbC", "[REDACTED]"},
		{"machine h login bob password swordfish", "machine h login bob password [REDACTED]"},
		{"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "AWS_SECRET_ACCESS_KEY=[REDACTED]"},
		{"123456789:AAEXAMPLEabcdefghijklmnopqrstuv1234", "[REDACTED]"},
		{"mysql -uroot -pS3cret9 db", "mysql -uroot -p[REDACTED] db"},
		{"const token: string = \"a8Fk2Lq9Zx7Bn3\"", "const token: string = \"[REDACTED]\""},
		{"the password is hunter2.", "the password is [REDACTED]."},
		{"<password>hunter2</password>", "<password>[REDACTED]</password>"},
		{"--password hunter2 --user bob", "--password [REDACTED] --user bob"},
		{"| password | hunter2xyz9Q |", "| password | [REDACTED] |"},
	} {
		got, n := r.Text(tt.in)
		if got != tt.want || n != 1 {
			t.Errorf("Text(%q) = %q, %d; want %q", tt.in, got, n, tt.want)
		}
	}
	for _, s := range []string{
		"password: string", "token?: string;", "getPasswordFromConfig()", "token count: 512", "password=$TOKEN", "password: <your-token>", "token = xxxx", "PASSWORD=***",
		"password = getPassword()", "const token = await fetchToken(x)", "token = tokens[i]", "connect(password=password, token=tok)",
		"commit 997f297a8f3e1b2c4d5e6f708192a3b4c5d6e7f8", "toolu_01A2b3C4d5E6f7G8h9J0kLmN", "msg_0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f607182",
		"sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
		"/home/user/projects/reseat/internal/config/testdata/very/long/path/to/file_test.go", "PWD=/root/x", "bearer authentication", "basic understanding", "password: must be at least 8 characters",
		"sk-estimator-html-doc-link-wrapper", "task-2024-11-29-something-long-name-here",
		"wait for the token to expire", "secret: my-db-secret", "kubectl get secret my-secret -o yaml", "https://host:8080/?q=a@b", "git@github.com:a/b.git",
		"docker run -u 1000:1000 x", "-----BEGIN PRIVATE KEY----- is the header", "pkg@v1.2.3:12:3", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/",
	} {
		if got, n := r.Text(s); got != s || n != 0 {
			t.Errorf("Text(%q) = %q, %v", s, got, r.Find(s))
		}
	}
}

func TestClassesAreShortNamesAndMany(t *testing.T) {
	r := newRedactor(t)
	rng := rand.New(rand.NewPCG(corpusSeed, 6))
	classes := map[string]bool{}
	for _, k := range secretKinds {
		whole, _ := plant(expand(rng, k.template))
		for _, m := range r.Find(whole) {
			classes[m.Class] = true
		}
	}
	for c := range classes {
		if c == "" || strings.Trim(c, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			t.Errorf("class %q", c)
		}
	}
	if len(classes) < 60 {
		t.Errorf("only %d classes", len(classes))
	}
}

func TestConfiguredPatternsReplaceTheirFirstGroup(t *testing.T) {
	r, err := New(Options{Patterns: []string{`ACME-[0-9]{6}`, `ticket=(\w+);`, `x*`}})
	if err != nil {
		t.Fatal(err)
	}
	got, n := r.Text(`an ACME-123456, ticket=abc; and {"t":"\u0041CME-654321"}`)
	if want := `an [REDACTED], ticket=[REDACTED]; and {"t":"[REDACTED]"}`; got != want || n != 3 {
		t.Errorf("got %q, %d", got, n)
	}
	if got, _ := r.Text("xx"); got != Marker {
		t.Errorf("a pattern that also matches nothing: %q", got)
	}
}

func TestPatternThatMatchesEverythingEnds(t *testing.T) {
	for _, p := range []string{`.`, `(?s).+`, `[\[\]A-Z]`, `REDACTED`, `\]`, `^`, `D\] \[R`} {
		r, err := New(Options{Patterns: []string{p}})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []string{"a b c", "[REDACTED] [REDACTED]", "x[REDACTED]y", "[REDACTED", "日本"} {
			once, _ := r.Text(s)
			if twice, n := r.Text(once); twice != once || n != 0 {
				t.Errorf("%s on %q: %q, then %q", p, s, once, twice)
			}
		}
	}
}

func TestNewNamesTheFaultyPatternOrGlob(t *testing.T) {
	r, err := New(Options{Patterns: []string{`(`, `hidden-[0-9]+`}, LeaveOut: []string{"a[", "*.pem"}})
	if err == nil || !strings.Contains(err.Error(), `redaction pattern "("`) || !strings.Contains(err.Error(), `leave out "a["`) {
		t.Errorf("got %v", err)
	}
	if got, n := r.Text("a hidden-77 thing"); n != 1 || strings.Contains(got, "77") {
		t.Errorf("one bad pattern took a good one with it: %q", got)
	}
	for _, g := range []string{"a[", "", "/", "x/[b"} {
		if _, err := New(Options{LeaveOut: []string{g}}); err == nil || !strings.Contains(err.Error(), "path to leave out") {
			t.Errorf("%q: got %v", g, err)
		}
	}
}

func TestExemptTextStays(t *testing.T) {
	r, err := New(Options{Exempt: []string{"sk-ant-EXAMPLEabcdEFGH1234"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, n := r.Text("sk-ant-EXAMPLEabcdEFGH1234 sk-ant-EXAMPLEabcdEFGH1235"); got != "sk-ant-EXAMPLEabcdEFGH1234 [REDACTED]" || n != 1 {
		t.Errorf("got %q, %d", got, n)
	}
}

func TestPathsToLeaveOut(t *testing.T) {
	r, err := New(Options{Home: "/home/bob", LeaveOut: []string{"*.pem", "secrets", "~/.ssh", "/srv/*/private/**", "**/vault/*.json", "docs/internal/"}})
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]bool{
		"/etc/ssl/server.pem":             true,
		"server.pem":                      true,
		"/a/server.pem.bak":               false,
		"/a/secrets/x":                    true,
		"secrets":                         true,
		"/a/mysecrets/x":                  false,
		"/home/bob/.ssh/id_ed25519":       true,
		"/home/bob/.ssh":                  true,
		"/home/bob/.sshx":                 false,
		"/home/eve/.ssh/id":               false,
		"/srv/app/private/a/b":            true,
		"/srv/app/x/private/a":            false,
		"/x/y/vault/k.json":               true,
		"vault/k.json":                    true,
		"/x/vault/y/k.json":               false,
		"docs/internal/a.md":              true,
		"/w/docs/internal/a.md":           false,
		`C:\work\secrets\x.txt`:           true,
		"/home/bob/work/app/main.go":      false,
		"":                                false,
		"/srv/app/private":                true,
		"/very/deep/a/b/c/d/vault/x.json": true,
	} {
		if got := r.LeavesOut(p); got != want {
			t.Errorf("LeavesOut(%q) = %v", p, got)
		}
		if s, n := r.Path(p); (s == LeftOut && n == 1) != want {
			t.Errorf("Path(%q) = %q, %d", p, s, n)
		}
	}
	if s, n := r.Path("/w/ghp_EXAMPLE1234567890abcdefABCDEF123456/a?token=EXAMPLE1a2B3c4D5e6F7"); s != "/w/[REDACTED]/a?token=[REDACTED]" || n != 2 {
		t.Errorf("got %q, %d", s, n)
	}
}

func TestCutNeverLeavesHalfASecret(t *testing.T) {
	r := newRedactor(t)
	rng := rand.New(rand.NewPCG(corpusSeed, 7))
	for _, k := range secretKinds {
		whole, hidden := plant(expand(rng, k.template))
		text := prose + "\n" + whole + "\n" + strings.Repeat(prose, 200)
		at := strings.Index(text, hidden)
		for n := max(0, at-3); n < at+len(hidden)+3; n += 1 + len(hidden)/12 {
			head, left, _ := r.Cut(text, n)
			if piece := survivor(head, hidden); piece != "" {
				t.Errorf("%s cut at %d of %d: %q survives in %.200q", k.name, n-at, len(hidden), piece, head)
			}
			if len(head) > n || left <= 0 {
				t.Errorf("%s cut to %d: %d bytes, %d left", k.name, n, len(head), left)
			}
			tail, _, _ := r.CutFront(text, len(text)-n)
			if piece := survivor(tail[:min(len(tail), 2*len(hidden))], hidden); piece != "" {
				t.Errorf("%s cut in front at %d of %d: %q survives", k.name, n-at, len(hidden), piece)
			}
		}
	}
}

// What is to be cut may end, or begin, with half a secret, and redaction may
// make so much of it short that this place comes within the bound.
func TestCutKeepsNothingOfATornEnd(t *testing.T) {
	r := newRedactor(t)
	rng := rand.New(rand.NewPCG(corpusSeed, 8))
	short := strings.Repeat("the key "+expand(rng, "ghp_{b62:36}")+" was there\n", 60)
	for _, k := range secretKinds {
		whole, hidden := plant(expand(rng, k.template))
		at := strings.Index(whole, hidden)
		for cut := at + 1; cut < at+len(hidden); cut += 1 + len(hidden)/12 {
			head, _, _ := r.Cut(short+whole[:cut], len(short)-10)
			tail, _, _ := r.CutFront(whole[cut:]+"\n"+short, len(short)-10)
			for _, kept := range []string{head, tail} {
				if piece := survivor(kept, hidden); piece != "" {
					t.Errorf("%s torn at %d of %d: %q survives in %.200q", k.name, cut-at, len(hidden), piece, kept)
				}
				if len(kept) < 500 {
					t.Errorf("%s: only %d bytes were kept", k.name, len(kept))
				}
			}
		}
	}
}

func TestCutKeepsWholeMarkersAndCountsWhatIsLeft(t *testing.T) {
	r := newRedactor(t)
	for _, tt := range []struct {
		in   string
		n    int
		head string
		left int
	}{
		{"password=hunter2 x", 9, "password=", 12},
		{"password=hunter2 x", 18, "password=", 12},
		{"password=hunter2 x", 19, "password=[REDACTED]", 2},
		{"password=hunter2 x", 100, "password=[REDACTED] x", 0},
		{"日本語", 4, "日", 6},
		{"日本語", 2, "", 9},
		{"abc", -1, "", 3},
		{"", 5, "", 0},
	} {
		head, left, _ := r.Cut(tt.in, tt.n)
		if head != tt.head || left != tt.left {
			t.Errorf("Cut(%q, %d) = %q, %d; want %q, %d", tt.in, tt.n, head, left, tt.head, tt.left)
		}
	}
	if tail, left, n := r.CutFront("a password=hunter2 b", 19); tail != "password=[REDACTED] b"[2:] || left != 4 || n != 1 {
		t.Errorf("got %q, %d, %d", tail, left, n)
	}
	if tail, left, n := r.CutFront("a password=hunter2 b", 12); tail != " b" || left != 21 || n != 1 {
		t.Errorf("got %q, %d, %d", tail, left, n)
	}
	if tail, _, _ := r.CutFront("a password=hunter2", 5); tail != "" {
		t.Errorf("got %q", tail)
	}
}

func TestInvalidBytesAreTolerated(t *testing.T) {
	r := newRedactor(t)
	for in, want := range map[string]string{
		"\xff\xfepassword=hunter2\xff":                    "\xff\xfepassword=[REDACTED]",
		"\xffghp_EXAMPLE1234567890abcdefABCDEF123456\xc3": "\xff[REDACTED]\xc3",
		"\x00\x01token=\x00":                              "\x00\x01token=\x00",
	} {
		if got, _ := r.Text(in); got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTextWithoutSecretsIsReturnedAsItIs(t *testing.T) {
	r := newRedactor(t)
	s := strings.Repeat(prose, 100)
	if n := testing.AllocsPerRun(10, func() { r.Text(s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestHostileTextsTakeLinearTime compares the best times for a text made to cost
// much and for one four times as long. Another program's load makes a time too
// long, never too short, so that it is tried again until they fit.
func TestHostileTextsTakeLinearTime(t *testing.T) {
	r := newRedactor(t)
	cost := func(unit string, size int) time.Duration {
		s := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		r.Text(s)
		return time.Since(start)
	}
	for name, unit := range hostile {
		small, large := time.Hour, time.Hour
		for try := 0; try < 20 && large > 9*small+time.Millisecond; try++ {
			small, large = min(small, cost(unit, 16<<10)), min(large, cost(unit, 64<<10))
		}
		if large > 9*small+time.Millisecond {
			t.Errorf("%s: %v for 16 KiB, %v for 64 KiB", name, small, large)
		}
	}
}

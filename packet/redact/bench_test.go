package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

const code = `// Prepare writes the packet of one attempt. It never fails for want of time.
func (b *Bridge) Prepare(ctx context.Context, e hooks.Event) (attempt int, err error) {
	if e.AgentID != "" {
		return 0, b.receipt(e, "subagent: nothing done")
	}
	dir := filepath.Join(b.home, "s", key(e.Client, e.SessionID), "c")
	for n := b.last(dir) + 1; ; n++ {
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprintf("%04d", n)), 0o700); err == nil {
			return n, nil
		} else if !errors.Is(err, fs.ErrExist) {
			return 0, fmt.Errorf("beginning attempt %d: %w", n, err)
		}
	}
}
`

func bench(b *testing.B, s string) {
	r := newRedactor(b)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		r.Text(s)
	}
}

func BenchmarkProse(b *testing.B) { bench(b, strings.Repeat(prose, 1<<20/len(prose))) }
func BenchmarkCode(b *testing.B)  { bench(b, strings.Repeat(code, 1<<20/len(code))) }
func BenchmarkJSON(b *testing.B) {
	bench(b, strings.Repeat(`{"type":"assistant","message":{"content":[{"type":"text","text":`+marshal(code)+`}]},"uuid":"8f14e45f-ceea-467f-a0e6-7b6f1b2c3d4e"}`+"\n", 1<<20/1200))
}

func BenchmarkChinese(b *testing.B) {
	bench(b, strings.Repeat("会话在压缩后继续，没有丢失任何东西。", 1<<20/54))
}

func BenchmarkSecrets(b *testing.B) {
	rng := rand.New(rand.NewPCG(corpusSeed, 5))
	var s strings.Builder
	for s.Len() < 1<<20 {
		whole, _ := plant(expand(rng, secretKinds[rng.IntN(len(secretKinds))].template))
		s.WriteString(prose + whole + "\n")
	}
	bench(b, s.String())
}

// hostile are texts made to cost as much as they can.
var hostile = map[string]string{
	"names":        "password=",
	"calls":        "password=x(",
	"quotes":       `password="`,
	"blanks":       "password ",
	"addresses":    "a://b:",
	"databases":    "mysql://",
	"frames":       "-----BEGIN PRIVATE KEY-----\n",
	"ends":         "-----END PRIVATE KEY-----\n",
	"lines":        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0123456789abcdefghijklmnopqr\n-----END PRIVATE KEY-----",
	"prefixes":     "hf_",
	"glued":        "AKIA",
	"tokens":       "eyJhbGciOiJ.",
	"dashes":       "-",
	"options":      "curl -u ",
	"escapes":      `\\`,
	"deep escapes": `\u005c`,
	"percents":     "%25",
	"markers":      "password=" + Marker,
	"markers only": Marker,
	"half markers": "[REDACTED",
	"controls":     "\x1b[0",
	"cookies":      "Cookie: a=",
	"headers":      "Authorization: Bearer ",
	"digits":       "12345678:",
	"base64":       "aB3/",
	"dots":         "eyJ.",
	"colons":       "a:5432:",
	"blocks":       "password: |\n",
	"amps":         "&amp;",
}

func BenchmarkHostile(b *testing.B) {
	for name, unit := range hostile {
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) { bench(b, strings.Repeat(unit, 1<<18/len(unit))) })
	}
}

package transcripts

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// snippets are insides of JSON strings, escapes and all: what tools print,
// what agents say, and code.
var snippets = []string{
	`func (r *reader) parse(l line) error {\n\tif err := f(\"x\"); err != nil {\n\t\treturn fmt.Errorf(\"reading %q: %w\", path, err)\n\t}\n\treturn nil\n}\n`,
	`ok  \tgithub.com/example/importer/reader\t0.412s\n`,
	`--- PASS: TestReaderKeepsEverySeventhRecord (0.03s)\n`,
	`\u001b[32m✓\u001b[0m 214 modules transformed.\n`,
	`Größe und 中文 bytes, straße, naïve, 🙂 and a \ud83d\ude80.\n`,
	`I looked at the reader first: it counts records before it drops the blank ones, so the seventh is off by one.\n`,
	`commit 3f2a9c81d0b4e6577a1c0d9e8f7a6b5c4d3e2f10\nAuthor: A Person <person@example.invalid>\n\n    Read the header once\n`,
	`drwxr-xr-x  4 u u  4096 Nov 29 10:00 internal\n-rw-r--r--  1 u u 18231 Nov 29 10:00 internal/importer/batch_reader_test.go\n`,
	`{\"level\":\"info\",\"msg\":\"batch written\",\"records\":512,\"took\":\"18.2ms\"}\n`,
	`     142\t\tfor i, rec := range batch {\n     143\t\t\tif rec == nil {\n     144\t\t\t\tcontinue\n     145\t\t\t}\n`,
	`@@ -88,7 +88,9 @@ func (b *Batch) Flush(ctx context.Context) error {\n-\tb.n = 0\n+\tb.n, b.dropped = 0, 0\n`,
	`The plan has three parts; the second depends on what the benchmark says about C:\\data\\in and /srv/data/in.\n`,
	`  \"dependencies\": {\n    \"left\": \"^1.4.2\",\n    \"right\": \"~2.0.0\"\n  },\n`,
	`warning: unused variable: ` + "`offset`" + `\n  --> src/read.rs:57:9\n   |\n57 |     let offset = 0;\n`,
	`SELECT batch, count(*) FROM records WHERE dropped > 0 GROUP BY batch ORDER BY 2 DESC;\n`,
	`Let me run the tests of that package once more and then look at who calls it.\n`,
}

// names make nonces that read as words and don't look like a secret.
var (
	firsts = strings.Fields("amber brisk cedar dusky early faint gentle hollow ivory jolly keen lunar mellow narrow olive plain quiet rapid silver tidy upper velvet wooden young")
	nouns  = strings.Fields("anchor basin canyon dune ember ferry glacier harbour inlet jetty kettle lagoon meadow notch orchard pebble quarry ridge summit thicket upland valley willow yard")
)

// words gives text of any length, and nonces.
type words struct {
	rnd    *rand.Rand
	pool   string // snippets in a random order
	starts []int  // where each begins
	series string // of this stretch's nonces
	count  int
	base64 string
}

func newWords(rnd *rand.Rand) *words {
	w := &words{rnd: rnd}
	var pool strings.Builder
	for pool.Len() < 256<<10 {
		w.starts = append(w.starts, pool.Len())
		pool.WriteString(snippets[rnd.IntN(len(snippets))])
	}
	w.pool = pool.String()
	w.series = firsts[rnd.IntN(len(firsts))] + "-" + nouns[rnd.IntN(len(nouns))]
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	raw := make([]byte, 64<<10)
	for i := range raw {
		raw[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	w.base64 = string(raw)
	return w
}

// nonce is unique in a transcript: the stretches have names of their own.
func (w *words) nonce() string {
	w.count++
	return fmt.Sprintf("%s-%s-%s-%06d", w.series, firsts[w.rnd.IntN(len(firsts))], nouns[w.rnd.IntN(len(nouns))], w.count)
}

// some is the inside of a JSON string of n bytes or a little more.
func (w *words) some(n int) string {
	var b strings.Builder
	b.Grow(n + 512)
	for {
		i := w.rnd.IntN(len(w.starts))
		j := i
		for j < len(w.starts)-1 && w.starts[j]-w.starts[i] < n-b.Len() {
			j++
		}
		b.WriteString(w.pool[w.starts[i]:w.starts[j]])
		if b.Len() >= n {
			return b.String()
		}
	}
}

// image is n bytes of base64, n rounded up to four.
func (w *words) image(n int) string {
	var b strings.Builder
	b.Grow(n + 4)
	for b.Len() < n {
		at := w.rnd.IntN(len(w.base64)/2) &^ 3
		b.WriteString(w.base64[at:min(len(w.base64), at+(n-b.Len()+3)&^3)])
	}
	return b.String()
}

package packet

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/packet/redact"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// The real redactor on packets of texts that are cut at any place: nothing of a
// secret stays, and what is written passes the check for left ones.
func TestRealRedactorLeavesNothingToFind(t *testing.T) {
	red, err := redact.New(redact.Options{})
	must(t, err)
	rng := rand.New(rand.NewPCG(3, 5))
	pieces := []string{
		"the basket ", "password=EXAMPLEhunter2x9 ", "Authorization: Bearer EXAMPLEabcdefghijklmnopqrstuvwx0123 ", "ghp_EXAMPLE0123456789abcdefghijklmnopqrst ",
		"postgres://shop:EXAMPLEpw77x@db.example.invalid/x ", "\n", "## 3. user x\n", "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2 ", "{\"api_key\": \"EXAMPLEq8w7e6r5t4y3\"} ",
		"AKIAEXAMPLE234567ABC ", "toolu_01EXAMPLEabcdefghijkl ", "sk-ant-api03-EXAMPLE0123456789abcdef0123456789 ", "漢字 ",
	}
	long := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return b.String()
	}
	for round := range 4 {
		in := anInput()
		in.Redactor = red
		in.Limits.MessageBytes = 200 + rng.IntN(3000)
		in.Story.Opening[0].Text, in.Story.Requests[3].Text = long(5000), long(9000)
		in.Story.Plan.Items[1].Text, in.Story.Open[0].Description = long(3000), long(3000)
		in.Story.Commands[0].Text, in.Story.Commands[0].Output = long(4000), long(1900)
		in.Instructions, in.Declared.Intent, in.Declared.Caveats = long(3000), long(2000), []string{long(1000)}
		in.Story.Files[0].Path = "/work/" + strings.ReplaceAll(long(100), "\n", "")
		for i := range 5 {
			in.Story.Messages = append(in.Story.Messages, said(100+i, "user", long(6000)))
		}
		in.Full = func(emit func(transcript.Message) error) error { return emit(said(1, "user", long(20_000))) }
		dir := written(t, in)
		if r := Validate(dir, red); !r.Valid {
			t.Errorf("round %d: %+v", round, r.Findings)
		}
		for _, file := range append(packetFiles, FullFile) {
			data, err := os.ReadFile(filepath.Join(dir, file))
			must(t, err)
			for _, secret := range []string{"hunter2x9", "defghijklmnop", "pw77x", "q8w7e6r5", "LE234567", "api03-EXAMPLE"} {
				if i := strings.Index(string(data), secret); i >= 0 && !strings.Contains(string(data[max(i-60, 0):i]), "toolu_") {
					t.Errorf("round %d: %s holds %s: %q", round, file, secret, data[max(i-80, 0):min(i+40, len(data))])
				}
			}
			if file == LatestFile && !strings.Contains(string(data), "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2") {
				t.Errorf("round %d: a commit's id went too", round)
			}
		}
	}
}

// continuity.json says what ours adds to the policy that the summary names, and
// what it exempts.
func TestRedactionSaysHowItDiffersFromThePolicy(t *testing.T) {
	red, err := redact.New(redact.Options{Patterns: []string{"EXAMPLE[0-9]+"}})
	must(t, err)
	in := anInput()
	in.Redactor = red
	p := mustMake(t, in)
	r := p.Continuity.Redaction
	if p.Summary.RedactionPolicy != "openrig-v0" || r.Policy != "openrig-v0" || len(r.Exemptions) == 0 ||
		!slices.Contains(r.Additions, "the configuration's own patterns") {
		t.Errorf("got %+v", r)
	}
}

func BenchmarkMake(b *testing.B) {
	red, err := redact.New(redact.Options{})
	if err != nil {
		b.Fatal(err)
	}
	in := anInput()
	in.Redactor = red
	for i := range 120 {
		in.Story.Messages = append(in.Story.Messages, said(i, "assistant", strings.Repeat(fmt.Sprintf("line %d of an answer about /work/shop/basket/store.go\n", i), 30)))
	}
	for b.Loop() {
		if _, err := Make(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadContinuity(b *testing.B) {
	dir := written(b, anInput())
	for b.Loop() {
		if _, err := ReadContinuity(dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	p := mustMake(b, anInput())
	parent := b.TempDir()
	for i := 0; b.Loop(); i++ {
		if err := p.Write(filepath.Join(parent, fmt.Sprint(i)), LeaveParentSync); err != nil {
			b.Fatal(err)
		}
	}
}

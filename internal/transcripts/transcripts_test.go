package transcripts

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

func write(t *testing.T, s Spec) ([]byte, *Planted) {
	t.Helper()
	var out bytes.Buffer
	planted, err := Write(&out, s)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), planted
}

// TestOneSpecOneTranscript: the same bytes again, others for another seed, the
// same last stretch at another size, and each line a JSON object.
func TestOneSpecOneTranscript(t *testing.T) {
	for _, c := range client.All() {
		t.Run(string(c), func(t *testing.T) {
			spec := Spec{Client: c, Size: 8 << 20, Seed: 7}
			data, planted := write(t, spec)
			if again, _ := write(t, spec); !bytes.Equal(data, again) {
				t.Error("written twice it differs")
			}
			if int64(len(data)) != planted.Bytes || planted.Bytes < spec.Size {
				t.Errorf("%d bytes, said to be %d, wanted %d", len(data), planted.Bytes, spec.Size)
			}
			last := data[planted.Bytes-planted.Last:]
			if n := len(last); n < lastStretch || n > 2<<20 {
				t.Errorf("the last stretch is %d bytes", n)
			}
			small, short := write(t, Spec{Client: c, Seed: 7})
			if !bytes.Equal(last, small[short.Bytes-short.Last:]) {
				t.Error("the last stretch depends on the size")
			}
			if other, p := write(t, Spec{Client: c, Seed: 8}); bytes.Equal(last, other[p.Bytes-p.Last:]) || p.Failed == planted.Failed {
				t.Error("another seed has the same last stretch")
			}
			for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) {
				if !json.Valid(line) || line[0] != '{' {
					t.Fatalf("line %d: %.200s", i+1, line)
				}
			}
			t.Logf("%d bytes, %d messages in the last %d", len(data), len(planted.Messages), len(last))
		})
	}
}

// TestNoncesStandOnlyInOnePart: each where Planted says, none in both.
func TestNoncesStandOnlyInOnePart(t *testing.T) {
	for _, c := range client.All() {
		t.Run(string(c), func(t *testing.T) {
			data, p := write(t, Spec{Client: c, Size: 8 << 20, Seed: 3})
			body, last := string(data[:p.Bytes-p.Last]), string(data[p.Bytes-p.Last:])
			in := append(append([]string{p.Edited, p.Failed, p.Output}, p.Messages...), append(p.Plan[:], p.Agents[:]...)...)
			seen := map[string]bool{}
			for _, nonce := range in {
				if seen[nonce] || nonce == "" || !strings.Contains(last, nonce) || strings.Contains(body, nonce) {
					t.Fatalf("nonce %q", nonce)
				}
				seen[nonce] = true
			}
			for _, nonce := range []string{p.Opening, p.Buried} {
				if nonce == "" || strings.Contains(last, nonce) || !strings.Contains(body, nonce) {
					t.Fatalf("nonce %q", nonce)
				}
			}
		})
	}
}

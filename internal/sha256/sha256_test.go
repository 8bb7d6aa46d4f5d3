package sha256

import (
	standard "crypto/sha256"
	"math/rand/v2"
	"testing"
)

func TestSumsAreTheStandardOnes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		if got, want := Sum256(data), standard.Sum256(data); got != want {
			t.Fatalf("%d bytes: %x, want %x", n, got, want)
		}
	}
}

func FuzzPieces(f *testing.F) {
	f.Add([]byte("abc"), 1)
	f.Add(make([]byte, 200), 63)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		if piece <= 0 {
			piece = 1
		}
		d := New()
		for rest := data; len(rest) > 0; {
			n := min(piece, len(rest))
			d.Write(rest[:n])
			d.Sum(nil) // asking changes nothing
			rest = rest[n:]
		}
		want := standard.Sum256(data)
		if got := d.Sum(nil); string(got) != string(want[:]) {
			t.Fatalf("%x, want %x", got, want)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	data := make([]byte, 64<<10)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Sum256(data)
	}
}

package transcript

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestFramesAcrossBlocks frames random files whose lines end around the edges of
// blocks and of the limit.
func TestFramesAcrossBlocks(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 12 {
		var data []byte
		for len(data) < 3*block {
			n := rnd.IntN(3000)
			switch rnd.IntN(8) {
			case 0:
				n = block - len(data)%block - 2 + rnd.IntN(4)
			case 1:
				n = 2*block + rnd.IntN(block)
			case 2:
				n = rnd.IntN(2)
			}
			data = append(data, bytes.Repeat([]byte{'a' + byte(rnd.IntN(26))}, max(n, 0))...)
			data = append(data, '\n')
		}
		if rnd.IntN(2) == 0 {
			data = data[:len(data)-1]
		}
		src, err := open(write(t, string(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{0, 100, block - 1, block, 1 << 20} {
			checkFrames(t, src, data, limit)
		}
		src.close()
	}
}

func TestAlignmentFindsTheNextLine(t *testing.T) {
	data := "one\ntwo\n\nthree"
	src, err := open(write(t, data))
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	for off, want := range []int64{0, 4, 4, 4, 4, 8, 8, 8, 8, 9, 14, 14, 14, 14, 14} {
		if off == 0 {
			want = 0
		}
		got, err := src.alignment(int64(off))
		if err != nil || got != want {
			t.Errorf("from %d: %d, %v, want %d", off, got, err, want)
		}
	}
}

// Package sha256 is SHA-256 (FIPS 180-4) for what hooks hash: names, packets of a
// few hundred kilobytes, a role file.
//
// The standard library's package links its whole validated module with it, with
// self-tests and a random generator: 160 KB and their start in each hook program.
// This one is held to it by a test and a fuzz target. It is not for secrets, and
// programs that aren't hooks use the standard one.
package sha256

import (
	"encoding/binary"
	"math/bits"
)

// Size is a sum's length in bytes.
const Size = 32

const block = 64

var roundConstants = [64]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// Digest is a sum in the making. Make one with New. It is an io.Writer that
// never fails.
type Digest struct {
	h    [8]uint32
	rest [block]byte
	n    int    // bytes in rest
	len  uint64 // bytes written
}

// New returns a Digest of nothing yet.
func New() *Digest {
	return &Digest{h: [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}}
}

// Sum256 is the sum of data.
func Sum256(data []byte) [Size]byte {
	d := New()
	d.Write(data)
	return d.sum()
}

// Write adds p. It never fails.
func (d *Digest) Write(p []byte) (int, error) {
	n := len(p)
	d.len += uint64(n)
	if d.n > 0 {
		filled := copy(d.rest[d.n:], p)
		d.n += filled
		p = p[filled:]
		if d.n < block {
			return n, nil
		}
		d.add(d.rest[:])
		d.n = 0
	}
	for len(p) >= block {
		d.add(p[:block])
		p = p[block:]
	}
	d.n = copy(d.rest[:], p)
	return n, nil
}

// Sum appends the sum of what was written to b. The Digest may be written on.
func (d *Digest) Sum(b []byte) []byte {
	sum := d.sum()
	return append(b, sum[:]...)
}

func (d *Digest) sum() (out [Size]byte) {
	end := *d
	var pad [block + 8]byte
	pad[0] = 0x80
	n := block - (int(d.len)+8)%block // at least one byte of padding
	binary.BigEndian.PutUint64(pad[n:], d.len*8)
	end.Write(pad[:n+8])
	for i, v := range end.h {
		binary.BigEndian.PutUint32(out[4*i:], v)
	}
	return out
}

// add takes one block in.
func (d *Digest) add(p []byte) {
	var w [64]uint32
	for i := range 16 {
		w[i] = binary.BigEndian.Uint32(p[4*i:])
	}
	for i := 16; i < 64; i++ {
		a, b := w[i-15], w[i-2]
		s0 := bits.RotateLeft32(a, -7) ^ bits.RotateLeft32(a, -18) ^ a>>3
		s1 := bits.RotateLeft32(b, -17) ^ bits.RotateLeft32(b, -19) ^ b>>10
		w[i] = w[i-16] + s0 + w[i-7] + s1
	}
	a, b, c, e := d.h[0], d.h[1], d.h[2], d.h[4]
	dd, f, g, h := d.h[3], d.h[5], d.h[6], d.h[7]
	for i := range 64 {
		s1 := bits.RotateLeft32(e, -6) ^ bits.RotateLeft32(e, -11) ^ bits.RotateLeft32(e, -25)
		t1 := h + s1 + (e&f ^ ^e&g) + roundConstants[i] + w[i]
		s0 := bits.RotateLeft32(a, -2) ^ bits.RotateLeft32(a, -13) ^ bits.RotateLeft32(a, -22)
		t2 := s0 + (a&b ^ a&c ^ b&c)
		h, g, f, e = g, f, e, dd+t1
		dd, c, b, a = c, b, a, t1+t2
	}
	for i, v := range [8]uint32{a, b, c, dd, e, f, g, h} {
		d.h[i] += v
	}
}

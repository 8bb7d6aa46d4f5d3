package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// What a caller of Read, After and Detect branches on. A missing file is
// fs.ErrNotExist and one that may not be read fs.ErrPermission, both wrapped.
var (
	// ErrEmpty says that the transcript holds no record.
	ErrEmpty = errors.New("empty transcript")
	// ErrNotRegular says that the path is a directory, a pipe or another special
	// file. It was not opened.
	ErrNotRegular = errors.New("not a regular file")
	// ErrOtherSession says that the transcript belongs to another session than
	// the one expected; nothing of its content was returned.
	ErrOtherSession = errors.New("transcript of another session")
	// ErrBeyondEnd says that the offset lies behind the file's end: the
	// transcript shrank or was replaced.
	ErrBeyondEnd = errors.New("offset beyond the end of the transcript")
	// ErrUnknownFormat says that the file's first lines are neither client's.
	ErrUnknownFormat = errors.New("neither client's transcript")
)

// block is how much is read at a time.
const block = 128 << 10

// source is an open transcript, bounded by its size when it was opened: what a
// client appends while it is read is for the next reading.
type source struct {
	r    io.ReaderAt
	f    *os.File // nil in a test on memory
	path string
	size int64
	info fs.FileInfo

	spare []byte // the buffer of a walk that is over, for the next one: each page touched counts
}

// open opens a regular file. Anything else is refused before it is opened, so
// that a pipe blocks nobody.
func open(path string) (*source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("reading transcript: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading transcript %q: %w", path, ErrNotRegular)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("reading transcript: %w", err)
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("reading transcript %q: %w", path, err)
	}
	return &source{r: f, f: f, path: path, size: info.Size(), info: info}, nil
}

func (s *source) close() { s.f.Close() }

// sizeNow is the file's size by now.
func (s *source) sizeNow() int64 {
	if s.f != nil {
		if info, err := s.f.Stat(); err == nil {
			return info.Size()
		}
	}
	return s.size
}

// read fills p from off and returns what there was: less where the file ends,
// or ended meanwhile.
func (s *source) read(p []byte, off int64) (int, error) {
	n, err := s.r.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, fmt.Errorf("reading transcript %q at byte %d: %w", s.path, off, err)
	}
	return n, nil
}

// line is one framed line.
type line struct {
	off  int64  // of its first byte
	n    int64  // its length without the newline
	b    []byte // nil where it is longer than the limit; valid until the next one
	open bool   // no newline behind it: the last line of a file that is being written
}

func (l line) end() int64 {
	if l.open {
		return l.off + l.n
	}
	return l.off + l.n + 1
}

// forward frames the lines between two offsets, in the file's order.
type forward struct {
	src   *source
	limit int   // longer lines are framed but not kept
	to    int64 // exclusive
	next  int64 // offset of the next line
	buf   []byte
	base  int64 // offset of buf[0]
	err   error
}

func (s *source) forward(from, to int64, limit int) *forward {
	f := &forward{src: s, limit: limit, to: min(to, s.size), next: from, base: from, buf: s.spare[:0]}
	s.spare = nil
	return f
}

// stop ends the walk; lines that it returned are no longer valid.
func (f *forward) stop() {
	if cap(f.buf) > cap(f.src.spare) {
		f.src.spare = f.buf
	}
	f.to, f.next, f.buf = 0, 0, nil
}

// scan returns the next line. It is over at the end, or on an error, which is
// then in f.err.
func (f *forward) scan() (line, bool) {
	searched := 0
	for f.next < f.to {
		have := f.buf[f.next-f.base:]
		if i := bytes.IndexByte(have[searched:], '\n'); i >= 0 {
			i += searched
			l := line{off: f.next, n: int64(i)}
			if i <= f.limit {
				l.b = have[:i:i]
			}
			f.next += int64(i) + 1
			return l, true
		}
		if len(have) > f.limit {
			return f.long()
		}
		searched = len(have)
		more, err := f.fill()
		if err != nil {
			f.err = err
			return line{}, false
		}
		if !more {
			return f.last()
		}
	}
	return line{}, false
}

// fill reads one block more behind what is held, dropping what was returned.
func (f *forward) fill() (bool, error) {
	have := f.buf[f.next-f.base:]
	want := min(block, f.to-f.next-int64(len(have)))
	if want <= 0 {
		return false, nil
	}
	if cap(f.buf) < len(have)+int(want) {
		size := max(2*cap(f.buf), len(have)+int(want))
		if len(have) >= block { // a long line: room for it at once, pages that aren't filled cost nothing
			size = max(size, int(min(int64(f.limit)+block, f.to-f.next)))
		}
		grown := make([]byte, len(have), size)
		copy(grown, have)
		f.buf = grown
	} else {
		f.buf = f.buf[:copy(f.buf[:cap(f.buf)], have)]
	}
	f.base = f.next
	n, err := f.src.read(f.buf[len(f.buf):len(f.buf)+int(want)], f.base+int64(len(f.buf)))
	f.buf = f.buf[:len(f.buf)+n]
	return n > 0, err
}

// last returns what stands behind the last newline.
func (f *forward) last() (line, bool) {
	have := f.buf[f.next-f.base:]
	if len(have) == 0 {
		f.next = f.to
		return line{}, false
	}
	l := line{off: f.next, n: int64(len(have)), b: have[:len(have):len(have)], open: true}
	f.next = f.to
	return l, true
}

// long finds the end of a line that is over the limit, keeping nothing of it.
func (f *forward) long() (line, bool) {
	start := f.next
	off := f.base + int64(len(f.buf))
	if cap(f.buf) < block {
		f.buf = make([]byte, block)
	}
	for off < f.to {
		chunk := f.buf[:min(block, f.to-off)]
		n, err := f.src.read(chunk, off)
		if err != nil {
			f.err = err
			return line{}, false
		}
		if n == 0 {
			break
		}
		f.buf, f.base = f.buf[:n], off
		if i := bytes.IndexByte(f.buf, '\n'); i >= 0 {
			f.next = off + int64(i) + 1
			return line{off: start, n: off + int64(i) - start}, true
		}
		off += int64(n)
	}
	f.next, f.buf, f.base = f.to, f.buf[:0], f.to
	return line{off: start, n: off - start, open: true}, true
}

// backward frames lines from an offset towards the start of the file. Newlines
// are searched forwards within a block, which is many times faster than
// backwards.
type backward struct {
	src   *source
	limit int
	end   int64 // end of the next line to return, its newline excluded
	open  bool  // the next line has no newline
	buf   []byte
	base  int64   // offset of buf[0]
	marks []int64 // offsets of the newlines in what is held before end, ascending
	done  bool
	err   error
}

// backward starts at to, the end of a line or of the file.
func (s *source) backward(to int64, limit int) *backward {
	b := &backward{src: s, limit: limit, end: min(to, s.size), base: min(to, s.size), buf: s.spare[:0]}
	s.spare = nil
	if b.end <= 0 || !b.fill() {
		b.done = true
		return b
	}
	if n := len(b.marks); n > 0 && b.marks[n-1] == b.end-1 {
		b.end--
		b.marks = b.marks[:n-1]
	} else {
		b.open = true
	}
	return b
}

// stop ends the walk; lines that it returned are no longer valid.
func (b *backward) stop() {
	if cap(b.buf) > cap(b.src.spare) {
		b.src.spare = b.buf
	}
	b.done, b.buf = true, nil
}

// scan returns the line before the one it returned last.
func (b *backward) scan() (line, bool) {
	for !b.done {
		if n := len(b.marks); n > 0 {
			at := b.marks[n-1]
			b.marks = b.marks[:n-1]
			return b.found(at+1, b.buf[at+1-b.base:b.end-b.base])
		}
		if b.base == 0 {
			b.done = true
			return b.found(0, b.buf[:b.end])
		}
		if b.end-b.base > int64(b.limit) {
			return b.long()
		}
		if !b.fill() {
			break
		}
	}
	return line{}, false
}

func (b *backward) found(off int64, held []byte) (line, bool) {
	l := line{off: off, n: int64(len(held)), open: b.open}
	if len(held) <= b.limit {
		l.b = held[:len(held):len(held)]
	}
	b.end, b.open = off-1, false
	return l, true
}

// fill reads the block before what is held.
func (b *backward) fill() bool {
	want := int(min(block, b.base))
	held := b.buf[:min(int64(len(b.buf)), b.end-b.base)]
	need := want + len(held)
	if cap(b.buf) < need {
		grown := make([]byte, need, max(need, 2*cap(b.buf)))
		copy(grown[want:], held)
		b.buf = grown
	} else {
		b.buf = b.buf[:need]
		copy(b.buf[want:], held)
	}
	b.base -= int64(want)
	n, err := b.src.read(b.buf[:want], b.base)
	if err == nil && n < want {
		err = fmt.Errorf("reading transcript %q at byte %d: %w", b.src.path, b.base, io.ErrUnexpectedEOF)
	}
	if err != nil {
		b.err, b.done = err, true
		return false
	}
	b.marks = b.marks[:0]
	for at := 0; ; at++ {
		i := bytes.IndexByte(b.buf[at:want], '\n')
		if i < 0 {
			return true
		}
		at += i
		b.marks = append(b.marks, b.base+int64(at))
	}
}

// long finds the start of a line that is over the limit.
func (b *backward) long() (line, bool) {
	l := line{n: b.end, open: b.open}
	for b.base > 0 {
		b.end = b.base // nothing held is kept
		if !b.fill() {
			return line{}, false
		}
		if n := len(b.marks); n > 0 {
			l.off = b.marks[n-1] + 1
			l.n -= l.off
			b.marks = b.marks[:n-1]
			b.end, b.open = l.off-1, false
			return l, true
		}
	}
	b.done = true
	return l, true
}

// alignment returns the start of the first line at or behind off.
func (s *source) alignment(off int64) (int64, error) {
	if off <= 0 {
		return 0, nil
	}
	var two [2]byte
	n, err := s.read(two[:], off-1)
	if err != nil {
		return 0, err
	}
	switch {
	case n > 0 && two[0] == '\n':
		return off, nil
	case n > 1 && two[1] == '\n':
		return off + 1, nil
	case n < 2:
		return off, nil
	}
	l, ok := s.forward(off, s.size, 0).scan()
	if !ok {
		return s.size, nil
	}
	return l.end(), nil
}

package hooks

import (
	"errors"
	"io"
	"time"
)

// MaxDocument is the largest payload that is read, in bytes. The largest real
// ones are PostCompact's (a whole summary) and UserPromptSubmit's (a pasted
// file).
const MaxDocument = 32 << 20

// What can be wrong with a payload before it is decoded.
var (
	ErrNoDocument = errors.New("no JSON document on standard input")
	ErrTooLong    = errors.New("the JSON document on standard input is longer than 32 MiB")
	ErrTimeOut    = errors.New("no whole JSON document on standard input in time")
	ErrNotObject  = errors.New("standard input isn't a JSON object")
)

// ReadDocument reads one JSON object from r and returns its bytes. It doesn't
// wait for the end of the file: the object's last brace is enough, because a
// client may hold the pipe open. It gives up after limit.
//
// The reading goroutine is left behind on a time-out: r can't be interrupted,
// and the program ends.
func ReadDocument(r io.Reader, limit time.Duration) ([]byte, error) {
	type result struct {
		doc []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		doc, err := readObject(r)
		done <- result{doc, err}
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case got := <-done:
		return got.doc, got.err
	case <-timer.C:
		return nil, ErrTimeOut
	}
}

func readObject(r io.Reader) ([]byte, error) {
	var f framer
	buf := make([]byte, 0, 16<<10)
	for {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), 2*cap(buf))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		start := len(buf)
		buf = buf[:start+n]
		end, bad := f.feed(buf[start:])
		switch {
		case bad:
			return nil, ErrNotObject
		case end >= 0:
			return buf[f.begin : start+end], nil
		case len(buf) > MaxDocument:
			return nil, ErrTooLong
		case err != nil && err != io.EOF:
			return nil, &unreadable{err}
		case err != nil && !f.open():
			return nil, ErrNoDocument
		case err != nil:
			return nil, io.ErrUnexpectedEOF
		}
	}
}

// unreadable is an ErrNoDocument with its cause.
type unreadable struct{ cause error }

func (e *unreadable) Error() string   { return ErrNoDocument.Error() + ": " + e.cause.Error() }
func (e *unreadable) Unwrap() []error { return []error{ErrNoDocument, e.cause} }

// framer finds the end of the first JSON object in a stream. It doesn't
// validate: Decode does that.
type framer struct {
	begin  int // where the object starts
	seen   int // bytes fed before this call
	depth  int
	inText bool
	escape bool
}

func (f *framer) open() bool { return f.depth > 0 }

// feed returns the index after the object's last brace in chunk, or -1; bad
// means that the stream doesn't start with an object.
func (f *framer) feed(chunk []byte) (end int, bad bool) {
	for i, c := range chunk {
		switch {
		case f.escape:
			f.escape = false
		case f.inText:
			switch c {
			case '\\':
				f.escape = true
			case '"':
				f.inText = false
			}
		case f.depth == 0:
			switch c {
			case ' ', '\t', '\r', '\n':
			case '{':
				f.begin = f.seen + i
				f.depth = 1
			default:
				return -1, true
			}
		case c == '"':
			f.inText = true
		case c == '{' || c == '[':
			f.depth++
		case c == '}' || c == ']':
			f.depth--
			if f.depth == 0 {
				return i + 1, false
			}
		}
	}
	f.seen += len(chunk)
	return -1, false
}

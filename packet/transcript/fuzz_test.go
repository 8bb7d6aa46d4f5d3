package transcript

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/internal/client"
)

// seed adds the vectors of a client.
func seed(f *testing.F, c client.Client) {
	for _, v := range vectors(f) {
		if v.client == c {
			data, err := os.ReadFile(v.path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
}

// memory is a source without a file.
func memory(data []byte) *source {
	return &source{r: bytes.NewReader(data), size: int64(len(data))}
}

// FuzzIdentify: what looks at a file's ends only, through a real file.
func FuzzIdentify(f *testing.F) {
	seed(f, client.Claude)
	seed(f, client.Codex)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, c := range client.All() {
			if _, err := Identify(c, path); err != nil && !errors.Is(err, ErrEmpty) {
				t.Fatal(err)
			}
		}
		if _, err := Detect(path); err != nil && !errors.Is(err, ErrEmpty) && !errors.Is(err, ErrUnknownFormat) {
			t.Fatal(err)
		}
		if _, err := SubagentsAtWork(context.Background(), path); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzReadClaude(f *testing.F) {
	seed(f, client.Claude)
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, client.Claude, data) })
}

func FuzzReadCodex(f *testing.F) {
	seed(f, client.Codex)
	f.Fuzz(func(t *testing.T, data []byte) { fuzzRead(t, client.Codex, data) })
}

// FuzzRecords reads whole records of the vectors in any order, any of them left
// out or there many times.
func FuzzRecords(f *testing.F) {
	pools := map[client.Client][][]byte{}
	for _, v := range vectors(f) {
		data, err := os.ReadFile(v.path)
		if err != nil {
			f.Fatal(err)
		}
		var all []uint16
		for l := range bytes.Lines(data) {
			all = append(all, uint16(len(pools[v.client])))
			pools[v.client] = append(pools[v.client], l)
		}
		seed := make([]byte, 0, 2*len(all))
		for _, n := range all {
			seed = binary.LittleEndian.AppendUint16(seed, n)
		}
		f.Add(v.client == client.Codex, seed)
		f.Add(v.client == client.Codex, append(seed, seed...))
	}
	f.Fuzz(func(t *testing.T, codex bool, order []byte) {
		c := client.Claude
		if codex {
			c = client.Codex
		}
		pool := pools[c]
		var data []byte
		for i := 0; i+1 < len(order) && i < 400; i += 2 {
			data = append(data, pool[int(binary.LittleEndian.Uint16(order[i:]))%len(pool)]...)
		}
		fuzzRead(t, c, data)
	})
}

// fuzzRead checks what must hold for any file: a story, within its bounds, valid
// UTF-8, positions inside the file, and the same one by skimming.
func fuzzRead(t *testing.T, c client.Client, data []byte) {
	opt := Options{Messages: 5, MessageBytes: 200, OutputBytes: 50}
	st, err := readSource(context.Background(), c, memory(data), opt)
	if err != nil && !errors.Is(err, ErrEmpty) {
		t.Fatal(err)
	}
	checkStory(t, st, opt, int64(len(data)))
	again, _ := readSource(context.Background(), c, memory(data), opt)
	if diff := cmp.Diff(st, again); diff != "" {
		t.Fatalf("read twice:\n%s", diff)
	}
	opt.LineBytes = 64
	skimmed, _ := readSource(context.Background(), c, memory(data), opt)
	checkStory(t, skimmed, opt, int64(len(data)))
	at := int64(-1)
	_, err = walkSource(context.Background(), c, memory(data), Options{}, func(m Message) error {
		if m.Offset <= at {
			t.Errorf("message at %d behind one at %d", m.Offset, at)
		}
		at = m.Offset
		return nil
	})
	if err != nil && !errors.Is(err, ErrEmpty) {
		t.Fatal(err)
	}
}

func checkStory(t *testing.T, st *Story, opt Options, n int64) {
	t.Helper()
	if len(st.Messages) > opt.Messages || len(st.Requests) > maxRequests || len(st.Opening) > maxOpening {
		t.Errorf("%d messages, %d requests, %d opening", len(st.Messages), len(st.Requests), len(st.Opening))
	}
	if st.Reach.Bytes > n || st.From > n || st.Size != n {
		t.Errorf("reach %d, from %d, size %d of %d", st.Reach.Bytes, st.From, st.Size, n)
	}
	for _, m := range append(append(append([]Message{}, st.Messages...), st.Requests...), st.Opening...) {
		if len(m.Text) > opt.MessageBytes || !utf8.ValidString(m.Text) || m.Offset >= n || m.Cut < 0 {
			t.Errorf("message at %d: %d bytes, %d cut, %q", m.Offset, len(m.Text), m.Cut, m.Text)
		}
	}
	for _, c := range st.Commands {
		if len(c.Output) > opt.OutputBytes || !utf8.ValidString(c.Output) || !utf8.ValidString(c.Text) {
			t.Errorf("command %q: %q", c.Text, c.Output)
		}
	}
	for _, f := range st.Files {
		if !utf8.ValidString(f.Path) {
			t.Errorf("path %q", f.Path)
		}
	}
}

func FuzzAfter(f *testing.F) {
	for _, v := range vectors(f) {
		data, err := os.ReadFile(v.path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, int64(0), "c-0001")
		f.Add(data, int64(len(data)/2), "c-0001")
	}
	f.Fuzz(func(t *testing.T, data []byte, from int64, want string) {
		for _, c := range client.All() {
			src := memory(data)
			tail, err := afterSource(context.Background(), c, src, from, []string{want})
			if from > int64(len(data)) {
				if !errors.Is(err, ErrBeyondEnd) {
					t.Fatal(err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if tail.Reach > int64(len(data)) || len(tail.Traces) != len(tail.TraceOf) || len(tail.Traces) > tail.Contexts+len(data) {
				t.Errorf("%+v", tail)
			}
			if _, err := src.holds(want, from, tail.Size); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// FuzzScanner holds the scanner to encoding/json: on every valid object the same
// members with the same values, on every string the same text.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1}`, `{"a":"b\\\"c","d":[1,{"e":null}],"f":{"g":"h"}}`, `{"a\u0041":"\ud83d\ude00\ud83d"}`, ` { "a" : [ ] , "b" : -1.5e3 } `,
		`{"a":"\u00e9\/\b\f\n\r\t"}`, `{"a":"ends in a backslash\\","b":"\\\\","c":"\\\""}`, `{"a":[`, `{"a":"b`, `[1,2,3]`, `"x"`, `{"a":{"b":{"c":{"d":"}"}}}}`, "{\"a\":\"\xff\xfe\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string][]byte{}
		keys := 0
		m := members(data)
		for m.next() {
			got[string(replaceInvalid(m.key))] = m.val
			keys++
			short(m.val, 10)
			textual(m.val, 7)
			integer(m.val)
			plain(m.val)
			tail(m.val, 9, 0)
		}
		if !json.Valid(data) {
			return
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(data, &want) != nil || want == nil {
			return
		}
		if !m.whole {
			t.Fatalf("%q isn't whole", data)
		}
		for k, v := range want {
			raw, ok := got[k]
			if !ok {
				t.Fatalf("%q: no member %q", data, k)
			}
			var s, s2 string
			if json.Unmarshal(v, &s) == nil && isString(raw) {
				s2 = str(raw)
				if s2 != s {
					t.Fatalf("%q: member %q is %q, want %q", data, k, s2, s)
				}
				if whole := textual(raw, 1<<20); whole != s {
					t.Fatalf("%q: member %q as a text is %q, want %q", data, k, whole, s)
				}
				if end := tail(raw, 1<<20, 0); end != s {
					t.Fatalf("%q: member %q's end is %q, want %q", data, k, end, s)
				}
			}
		}
	})
}

func textual(raw []byte, limit int) string {
	t := textOf(limit)
	t.add(raw, 0)
	return t.String()
}

// FuzzShrink: a small copy of a valid line is valid JSON within its bounds, with
// the line's own members, and a line that needs no cutting is copied whole.
func FuzzShrink(f *testing.F) {
	f.Add([]byte(`{"type":"user","message":{"content":[{"type":"text","text":"a long \u00e9 text \ud83d\ude00 here"},{"x":[1,2,3]}]},"uuid":"u"}`), 4, 64)
	f.Add([]byte(`{"a":"\\\\\\\"","b":"\"","c":[[[[["deep"]]]]],"d":12345678901234567890}`), 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, keep, limit int) {
		keep, limit = keep&0xff, limit&0xfff
		src := memory(data)
		small, ok, err := src.shrink(0, int64(len(data)), keep, limit)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if json.Unmarshal(data, &want) != nil || want == nil || !utf8.Valid(data) {
			return
		}
		if !ok {
			t.Fatalf("%q is taken for malformed", data)
		}
		if !json.Valid(small.b) {
			t.Fatalf("%q became %q", data, small.b)
		}
		if len(small.b) > 2*limit+8*keep+1024 {
			t.Fatalf("%d bytes of at most %d", len(small.b), 2*limit)
		}
		whole, ok, err := src.shrink(0, int64(len(data)), 1<<20, 1<<20)
		if err != nil || !ok || len(whole.cuts) > 0 {
			t.Fatalf("%q: %v, %v, %v", data, ok, err, whole.cuts)
		}
		var got map[string]any
		if err := json.Unmarshal(whole.b, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q changed:\n%s", data, diff)
		}
	})
}

// FuzzFrames: both ways of framing agree with splitting at newlines.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), 2)
	f.Add([]byte("\n\n"), 0)
	f.Add(bytes.Repeat([]byte("xyz\n"), 100), 3)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit &= 0xff
		checkFrames(t, memory(data), data, limit)
	})
}

func checkFrames(t *testing.T, src *source, data []byte, limit int) {
	t.Helper()
	var want []line
	for off := 0; off < len(data); {
		l := line{off: int64(off), open: true}
		rest, n := data[off:], len(data)-off
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			n, l.open = i, false
		}
		l.n = int64(n)
		if n <= limit {
			l.b = rest[:n:n]
		}
		want = append(want, l)
		off = int(l.end())
	}
	same := func(how string, i int, got line) {
		t.Helper()
		if i < 0 || i >= len(want) {
			t.Fatalf("%s: a line too many: %+v", how, got)
		}
		w := want[i]
		if got.off != w.off || got.n != w.n || got.open != w.open || (got.b == nil) != (w.b == nil) || !bytes.Equal(got.b, w.b) {
			t.Fatalf("%s: line %d is %+v, want %+v", how, i, got, w)
		}
	}
	f := src.forward(0, int64(len(data)), limit)
	n := 0
	for ; ; n++ {
		l, ok := f.scan()
		if !ok {
			break
		}
		same("forward", n, l)
	}
	f.stop()
	if n != len(want) {
		t.Fatalf("forward: %d lines, want %d", n, len(want))
	}
	b := src.backward(int64(len(data)), limit)
	i := len(want) - 1
	for ; ; i-- {
		l, ok := b.scan()
		if !ok {
			break
		}
		same("backward", i, l)
	}
	b.stop()
	if i != -1 {
		t.Fatalf("backward: %d lines are missing", i+1)
	}
}

package transcript

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/transcripts"
)

func write(t testing.TB, data string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, c client.Client, path string, opt Options) *Story {
	t.Helper()
	st, err := Read(context.Background(), c, path, opt)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// said is a small record of Claude Code's.
func said(n int, role, content string) string {
	parent := "null"
	if n > 1 {
		parent = fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, n-1)
	}
	if role == "user" {
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":"user","message":{"role":"user","content":%s},"uuid":"00000000-0000-4000-8000-%012d","timestamp":"2026-11-29T10:00:00.000Z","sessionId":"11111111-1111-4111-8111-111111111111","version":"2.1.332"}`, parent, content, n)
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"message":{"id":"m%d","role":"assistant","model":"claude-example-1","content":%s},"type":"assistant","uuid":"00000000-0000-4000-8000-%012d","timestamp":"2026-11-29T10:00:00.000Z","sessionId":"11111111-1111-4111-8111-111111111111","version":"2.1.332"}`, parent, n, content, n)
}

func texts(ms []Message) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Text)
	}
	return out
}

func TestWhatCannotBeReadIsAStoryWithACaveatAndAnError(t *testing.T) {
	dir := t.TempDir()
	for _, c := range client.All() {
		for _, tt := range []struct {
			name, path, caveat string
			want               error
		}{
			{"missing", filepath.Join(dir, "none"), "missing", fs.ErrNotExist},
			{"folder", dir, "no regular file", ErrNotRegular},
			{"empty", write(t, ""), "empty", ErrEmpty},
			{"blank lines", write(t, "\n \n\n"), "empty", ErrEmpty},
		} {
			t.Run(string(c)+"/"+tt.name, func(t *testing.T) {
				st, err := Read(context.Background(), c, tt.path, Options{})
				if !errors.Is(err, tt.want) {
					t.Errorf("error is %v, want %v", err, tt.want)
				}
				if len(st.Caveats) != 1 || !strings.Contains(st.Caveats[0], tt.caveat) {
					t.Errorf("caveats are %q, want one with %q", st.Caveats, tt.caveat)
				}
				if _, err := Identify(c, tt.path); !errors.Is(err, tt.want) {
					t.Errorf("Identify's error is %v, want %v", err, tt.want)
				}
			})
		}
	}
}

func TestAnUnreadableTranscriptSaysSo(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	path := write(t, said(1, "user", `"x"`)+"\n")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	st, err := Read(context.Background(), client.Claude, path, Options{})
	if !errors.Is(err, fs.ErrPermission) || len(st.Caveats) != 1 {
		t.Errorf("error %v, caveats %q", err, st.Caveats)
	}
}

func TestAnotherSessionsTranscriptGivesNoContent(t *testing.T) {
	for _, v := range []vector{{client.Claude, "testdata/claude/conversation.jsonl"}, {client.Codex, "testdata/codex/conversation-paginated.jsonl"}} {
		st, err := Read(context.Background(), v.client, v.path, Options{Session: "another"})
		if !errors.Is(err, ErrOtherSession) {
			t.Errorf("%s: error is %v", v.client, err)
		}
		want := &Story{Client: v.client, Path: v.path, Size: st.Size, Identity: Identity{SessionID: st.Identity.SessionID}, Caveats: st.Caveats}
		if diff := cmp.Diff(want, st); diff != "" {
			t.Errorf("%s: more than who it is (-want +got):\n%s", v.client, diff)
		}
		if st.Identity.SessionID == "" || len(st.Caveats) != 1 {
			t.Errorf("%s: session %q, caveats %q", v.client, st.Identity.SessionID, st.Caveats)
		}
	}
}

func TestDetectGoesByContentOnly(t *testing.T) {
	for _, v := range vectors(t) {
		data, err := os.ReadFile(v.path)
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, string(data))
		if c, err := Detect(path); c != v.client || err != nil {
			t.Errorf("%s: %q, %v", v.name(), c, err)
		}
	}
	for _, data := range []string{"{}\n", "not a transcript\n", `{"type":"user"}` + "\n", `{"type":"response_item"}` + "\n", strings.Repeat("{}\n", 100) + said(1, "user", `"x"`)} {
		if c, err := Detect(write(t, data)); c != "" || !errors.Is(err, ErrUnknownFormat) {
			t.Errorf("%.40q: %q, %v", data, c, err)
		}
	}
}

func TestTheBoundIsFilledAcrossBoundaries(t *testing.T) {
	var b strings.Builder
	n := 0
	add := func(role, content string) {
		n++
		b.WriteString(said(n, role, content) + "\n")
	}
	for i := range 200 {
		add("user", fmt.Sprintf(`"request %d"`, i))
		add("assistant", fmt.Sprintf(`[{"type":"text","text":"answer %d"}]`, i))
		if i%20 == 10 {
			n++
			fmt.Fprintf(&b, `{"parentUuid":null,"logicalParentUuid":"00000000-0000-4000-8000-%012d","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"00000000-0000-4000-8000-%012d","timestamp":"2026-11-29T10:00:00.000Z","compactMetadata":{"trigger":"auto"},"sessionId":"11111111-1111-4111-8111-111111111111"}`+"\n", n-1, n)
			n++
			b.WriteString(strings.Replace(said(n, "user", `"the summary"`), `"uuid"`, `"isCompactSummary":true,"uuid"`, 1) + "\n")
		}
	}
	path := write(t, b.String())
	st := read(t, client.Claude, path, Options{})
	if len(st.Messages) != 120 || st.Messages[0].Text != "request 140" || st.Messages[119].Text != "answer 199" {
		t.Fatalf("%d messages, %q to %q", len(st.Messages), st.Messages[0].Text, st.Messages[len(st.Messages)-1].Text)
	}
	if len(st.Boundaries) != 10 || st.Omitted.Messages != 0 {
		t.Errorf("%d boundaries, %d messages omitted", len(st.Boundaries), st.Omitted.Messages)
	}
	if got := texts(st.Opening); !cmp.Equal(got, []string{"request 0", "request 1", "request 2"}) {
		t.Errorf("opening: %q", got)
	}
	lines := strings.Split(b.String(), "\n")
	for _, m := range append(st.Messages, st.Opening...) {
		if !strings.Contains(lines[m.Line-1], m.ID) || !strings.HasPrefix(b.String()[m.Offset:], lines[m.Line-1]) {
			t.Fatalf("%q isn't at line %d, byte %d", m.Text, m.Line, m.Offset)
		}
	}
	if st.From == 0 || st.Omitted.BytesBefore != st.From || st.Reach.Bytes != st.Size {
		t.Errorf("from %d, %d before, reach %d of %d", st.From, st.Omitted.BytesBefore, st.Reach.Bytes, st.Size)
	}
	few := read(t, client.Claude, path, Options{Messages: 3})
	if got := texts(few.Messages); !cmp.Equal(got, []string{"answer 198", "request 199", "answer 199"}) {
		t.Errorf("three: %q", got)
	}
}

// TestLinesOfAnyLength reads what others' readers broke at.
func TestLinesOfAnyLength(t *testing.T) {
	for _, n := range []int{1, 65_535, 65_536, 70_000, block - 1, block, block + 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 11 << 20} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			long := said(2, "assistant", `[{"type":"text","text":"`+strings.Repeat("x", n)+`"}]`)
			path := write(t, said(1, "user", `"before"`)+"\n"+long+"\n"+said(3, "user", `"behind"`)+"\n")
			st := read(t, client.Claude, path, Options{})
			if len(st.Messages) != 3 || st.Messages[0].Text != "before" || st.Messages[2].Text != "behind" {
				t.Fatalf("messages: %.100q", texts(st.Messages))
			}
			m := st.Messages[1]
			if n <= defaultMessageBytes {
				return
			}
			if int64(len(m.Text)-strings.Index(m.Text, " […")) > 60 || len(m.Text) > defaultMessageBytes || m.Cut+int64(strings.Index(m.Text, " […")) != int64(n) {
				t.Errorf("%d bytes kept and %d cut of %d: ...%q", len(m.Text), m.Cut, n, m.Text[len(m.Text)-60:])
			}
			if want := int64(0); len(long) > 1<<20 {
				want = 1
				if st.Omitted.Oversize != want {
					t.Errorf("oversize %d, want %d", st.Omitted.Oversize, want)
				}
			}
		})
	}
}

// hugeFile writes a transcript with a line of n bytes between small ones.
func hugeFile(t *testing.T, c client.Client, n int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const mark = "MARK"
	parts := []string{said(1, "user", `"the opening request"`), said(2, "user", `[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"MARK"}},{"type":"text","text":"see"}]`), said(3, "assistant", `[{"type":"text","text":"the end"}]`)}
	if c == client.Codex {
		head, err := os.ReadFile("testdata/codex/no-events.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		parts = []string{
			strings.TrimSpace(string(head)),
			`{"timestamp":"2026-11-29T11:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,MARK"},{"type":"input_text","text":"see"}]}}`,
			`{"timestamp":"2026-11-29T11:00:00.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"the end"}]}}`,
		}
	}
	for _, p := range parts {
		before, behind, big := strings.Cut(p, mark)
		io.WriteString(f, before)
		if big {
			if _, err := io.CopyN(f, endless{}, n); err != nil {
				t.Fatal(err)
			}
		}
		io.WriteString(f, behind+"\n")
	}
	return path
}

// endless is base64 without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	return copy(p, bytes.Repeat([]byte("QUJD"), len(p)/4+1)), nil
}

// TestAnImageNeverLeavesTheFile and costs no memory: 8 MB, and a line of 100 MB.
func TestAnImageNeverLeavesTheFile(t *testing.T) {
	for _, c := range client.All() {
		for _, n := range []int64{8 << 20, 100 << 20} {
			t.Run(fmt.Sprintf("%s/%d", c, n), func(t *testing.T) {
				path := hugeFile(t, c, n)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				st := read(t, c, path, Options{})
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > 10<<20 {
					t.Errorf("reading took %d MB", got>>20)
				}
				m := st.Messages[len(st.Messages)-2]
				if want := fmt.Sprintf("see\n[image, %s, image/png]", size(n*3/4)); m.Text != want || m.Images != 1 {
					t.Errorf("%.200q, want %q", m.Text, want)
				}
				if last := st.Messages[len(st.Messages)-1]; last.Text != "the end" {
					t.Errorf("last message %.100q", last.Text)
				}
				if st.Omitted.Oversize != 1 || len(st.Opening) == 0 {
					t.Errorf("oversize %d, opening %q", st.Omitted.Oversize, texts(st.Opening))
				}
				walked, all := 0, len(st.Messages)
				if n > defaultTailBytes { // then what stands before the line is beyond the bound
					all = map[client.Client]int{client.Claude: 3, client.Codex: 4}[c]
				}
				runtime.ReadMemStats(&before)
				if _, err := Walk(context.Background(), c, path, Options{}, func(Message) error { walked++; return nil }); err != nil || walked != all {
					t.Errorf("Walk: %d messages, want %d, %v", walked, all, err)
				}
				runtime.ReadMemStats(&after)
				if got := after.TotalAlloc - before.TotalAlloc; got > 12<<20 {
					t.Errorf("walking took %d MB", got>>20)
				}
			})
		}
	}
}

// TestMemoryFollowsNeitherFileNorMessages bounds what a reading allocates in all,
// which is more than it ever holds.
func TestMemoryFollowsNeitherFileNorMessages(t *testing.T) {
	for _, c := range client.All() {
		path := generate(t, c, 24<<20)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		st := read(t, c, path, Options{})
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 10<<20 || len(st.Messages) != 120 {
			t.Errorf("%s: %d messages took %d kB", c, len(st.Messages), got>>10)
		}
		if st.From == 0 || st.Lines == 0 || st.Messages[0].Line != 0 {
			t.Errorf("%s: from %d, %d lines, first at line %d", c, st.From, st.Lines, st.Messages[0].Line)
		}
		if len(st.Opening) != maxOpening || !strings.HasPrefix(st.Opening[0].Text, "request ") || st.Opening[0].Line == 0 {
			t.Errorf("%s: opening %.50q", c, texts(st.Opening))
		}
	}
}

// TestTheTailIsTheSameAtEverySize: the cost and the result follow the last
// stretch of work.
func TestTheTailIsTheSameAtEverySize(t *testing.T) {
	for _, c := range client.All() {
		var want []string
		for _, n := range []int64{8 << 20, 16 << 20} {
			st := read(t, c, generate(t, c, n), Options{Messages: 40})
			var got []string
			for _, m := range st.Messages {
				_, words, _ := strings.Cut(m.Text, ":")
				got = append(got, words)
			}
			if want == nil {
				want = got
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s at %d MB: %s", c, n>>20, diff)
			}
		}
	}
}

// TestWhatLastsIsFoundBeforeTheTail: the plan and the open work stand between the
// opening request and the messages that fill the bound, in a file that is read to
// its start and in one that isn't.
func TestWhatLastsIsFoundBeforeTheTail(t *testing.T) {
	for _, c := range client.All() {
		for _, n := range []int64{0, 8 << 20} {
			path := filepath.Join(t.TempDir(), "t.jsonl")
			planted, err := transcripts.Create(path, transcripts.Spec{Client: c, Size: n, Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			st := read(t, c, path, Options{Messages: 10})
			var plan, open []string
			if st.Plan != nil {
				for _, item := range st.Plan.Items {
					plan = append(plan, item.Text)
				}
			}
			for _, w := range st.Open {
				open = append(open, w.Description)
			}
			if !cmp.Equal(plan, planted.Plan[:]) || !cmp.Equal(open, planted.Agents[:]) {
				t.Errorf("%s, %d MB: plan %q, open work %q", c, n>>20, plan, open)
			}
			if len(st.Opening) == 0 || !strings.Contains(st.Opening[0].Text, planted.Opening) {
				t.Errorf("%s, %d MB: opening %.60q", c, n>>20, texts(st.Opening))
			}
		}
	}
}

func TestAGrowingFileIsReadUpToItsSizeAtTheStart(t *testing.T) {
	path := write(t, said(1, "user", `"one"`)+"\n"+said(2, "assistant", `[{"type":"text","text":"two"}]`)+"\n")
	src, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer src.close()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintln(f, said(3, "user", `"appended"`))
	st, err := readSource(context.Background(), client.Claude, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(st.Messages); !cmp.Equal(got, []string{"one", "two"}) {
		t.Errorf("messages: %q", got)
	}
	if st.Reach.Bytes != src.size || len(st.Caveats) != 1 || !strings.Contains(st.Caveats[0], "grew") {
		t.Errorf("reach %d of %d, caveats %q", st.Reach.Bytes, src.size, st.Caveats)
	}
	tail, err := After(context.Background(), client.Claude, path, st.Reach.Bytes, nil)
	if err != nil || len(tail.Prompts) != 1 {
		t.Errorf("what was appended: %+v, %v", tail, err)
	}
}

// TestWithoutTimeTheNewestIsRead: a context that is over before it begins.
func TestWithoutTimeTheNewestIsRead(t *testing.T) {
	done, cancel := context.WithCancel(context.Background())
	cancel()
	past, cancel2 := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel2()
	for _, c := range client.All() {
		path := generate(t, c, 12<<20)
		want := read(t, c, path, Options{})
		want.Reach.Boundary = Position{} // it stands before what is read without time
		for _, ctx := range []context.Context{done, past} {
			st, err := Read(ctx, c, path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if len(st.Messages) == 0 || st.Messages[len(st.Messages)-1].Text != want.Messages[119].Text {
				t.Errorf("%s: the newest message is missing", c)
			}
			if st.From < st.Size-3<<20 || st.Omitted.BytesBefore != st.From || st.Reach != want.Reach {
				t.Errorf("%s: from %d of %d, %d before", c, st.From, st.Size, st.Omitted.BytesBefore)
			}
			if len(st.Caveats) == 0 || !strings.Contains(strings.Join(st.Caveats, " "), "time was up") {
				t.Errorf("%s: caveats %q", c, st.Caveats)
			}
		}
	}
}

func TestAfterBeyondTheEndSaysSo(t *testing.T) {
	path := write(t, said(1, "user", `"x"`)+"\n")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	tail, err := After(context.Background(), client.Claude, path, info.Size()+1, nil)
	if !errors.Is(err, ErrBeyondEnd) || tail.Size != info.Size() {
		t.Errorf("%+v, %v", tail, err)
	}
	tail, err = After(context.Background(), client.Claude, path, info.Size(), nil)
	if err != nil || tail.Reach != info.Size() || tail.Work != 0 {
		t.Errorf("at the end: %+v, %v", tail, err)
	}
}

// TestATraceIsFoundInALongContext, where the line's copy may have lost it.
func TestATraceIsFoundInALongContext(t *testing.T) {
	injected := func(id, words string) string {
		return `{"parentUuid":null,"isSidechain":false,"attachment":{"type":"hook_additional_context","content":["` + words + `"],"hookEvent":"SessionStart"},"type":"attachment","uuid":"` + id + `","timestamp":"2026-11-29T10:00:00.000Z","sessionId":"s"}` + "\n"
	}
	path := write(t, injected("a", strings.Repeat("x", 2<<20)+" c-0007 "+strings.Repeat("y", 100))+injected("b", "c-0008 \\\"quoted\\\""))
	tail, err := After(context.Background(), client.Claude, path, 0, []string{"c-0007", `c-0008 "quoted"`, "c-0009"})
	if err != nil {
		t.Fatal(err)
	}
	if !cmp.Equal(tail.TraceOf, []string{"c-0007", `c-0008 "quoted"`}) || tail.Contexts != 2 {
		t.Errorf("%+v", tail)
	}
}

func TestHoldsFindsWordsAcrossBlocks(t *testing.T) {
	for _, at := range []int{0, 1, block - 10, block - 1, block, 3*block - 4} {
		data := bytes.Repeat([]byte{'.'}, 3*block+20)
		copy(data[at:], "needle")
		path := write(t, string(data))
		for _, tt := range []struct {
			from, to int64
			want     bool
		}{
			{0, int64(len(data)), true},
			{int64(at), int64(at) + 6, true},
			{int64(at) + 1, int64(len(data)), false},
			{0, int64(at) + 5, false},
			{-5, 1 << 40, true},
		} {
			got, err := Holds(path, "needle", tt.from, tt.to)
			if err != nil || got != tt.want {
				t.Errorf("at %d in [%d,%d): %v, %v", at, tt.from, tt.to, got, err)
			}
		}
	}
	path := write(t, `{"text":"she said \"yes\"\n\tand left"}`)
	for words, want := range map[string]bool{"she said \"yes\"\n\tand": true, "she said \\": true, "": false, "yes\nand": false} {
		if got, err := Holds(path, words, 0, 1<<20); err != nil || got != want {
			t.Errorf("%q: %v, %v", words, got, err)
		}
	}
}

func TestSubagentsAtWork(t *testing.T) {
	for _, tt := range []struct {
		vector string
		want   bool
	}{
		{"open-subagents", true}, {"background-agents", true}, {"conversation", false}, {"two-boundaries", false},
	} {
		data, err := os.ReadFile("testdata/claude/" + tt.vector + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, string(data))
		if got, err := SubagentsAtWork(context.Background(), path); err != nil || got != tt.want {
			t.Errorf("%s: %v, %v", tt.vector, got, err)
		}
		if tt.want {
			continue
		}
		dir := filepath.Join(strings.TrimSuffix(path, ".jsonl"), "subagents")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "agent-a1.jsonl")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		last := time.Date(2026, 11, 29, 10, 0, 30, 0, time.UTC)
		for _, at := range []time.Time{last.Add(-time.Hour), last.Add(time.Hour)} {
			if err := os.Chtimes(file, at, at); err != nil {
				t.Fatal(err)
			}
			if got, err := SubagentsAtWork(context.Background(), path); err != nil || got != at.After(last) {
				t.Errorf("%s with a subagent's file of %v: %v, %v", tt.vector, at, got, err)
			}
		}
	}
	left := write(t, said(1, "user", `"go"`)+"\n"+said(2, "assistant", `[{"type":"tool_use","id":"t1","name":"Agent","input":{"description":"d"}}]`)+"\n"+said(3, "user", `"never mind"`)+"\n")
	if got, err := SubagentsAtWork(context.Background(), left); err != nil || got {
		t.Errorf("a call that the next prompt left behind: %v, %v", got, err)
	}
}

func TestAForkFollowsItsParentsHistory(t *testing.T) {
	sessions := filepath.Join(t.TempDir(), "sessions")
	file := "" // the rollout's own id, where it isn't its thread's first
	const grand, parent, fork = "019a0000-0000-7000-8000-00000000000a", "019a0000-0000-7000-8000-00000000000b", "019a0000-0000-7000-8000-00000000000c"
	rollout := func(day, id, meta string, lines ...string) (string, int64) {
		t.Helper()
		dir := filepath.Join(sessions, filepath.FromSlash(day))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		fmt.Fprintf(&b, `{"timestamp":"2026-11-29T11:00:00.000Z","ordinal":0,"type":"session_meta","payload":{"session_id":"%s","id":"%s","cwd":"/home/u/%s","cli_version":"0.171.0"%s}}`+"\n", id, id, id[len(id)-1:], meta)
		for i, l := range lines {
			role, part := "user", "input_text"
			if i%2 == 1 {
				role, part = "assistant", "output_text"
			}
			fmt.Fprintf(&b, `{"timestamp":"2026-11-29T11:00:0%d.000Z","ordinal":%d,"type":"response_item","payload":{"type":"message","role":"%s","content":[{"type":"%s","text":"%s"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["%s"]}}}`+"\n", i, i+1, role, part, l, map[string]string{"user": "user.text", "assistant": "unknown"}[role])
		}
		name := "rollout-2026-11-29T11-00-00-" + id + ".jsonl"
		if file != "" {
			name = "rollout-2026-11-29T11-00-01-" + id + "_" + file + ".jsonl"
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return path, int64(b.Len())
	}
	base := func(id string, end int64) string {
		return fmt.Sprintf(`,"forked_from_id":"%s","history_base":{"thread_id":"%s","end_ordinal_exclusive":3,"end_byte_offset":%d}`, id, id, end)
	}
	_, end := rollout("2026/01/02", grand, "", "first of all", "its answer")
	grandPath, _ := rollout("2026/01/02", grand, "", "first of all", "its answer", "after the fork was taken", "not the fork's")
	parentPath, parentEnd := rollout("2026/11/28", parent, base(grand, end), "in the parent", "its answer too")
	path, _ := rollout("2026/11/29", fork, base(parent, parentEnd), "in the fork", "the last answer")

	st := read(t, client.Codex, path, Options{Session: fork})
	want := []string{"first of all", "its answer", "in the parent", "its answer too", "in the fork", "the last answer"}
	if diff := cmp.Diff(want, texts(st.Messages)); diff != "" {
		t.Fatalf("messages (-want +got):\n%s", diff)
	}
	if st.Messages[0].Path != grandPath || st.Messages[2].Path != parentPath || st.Messages[4].Path != "" {
		t.Errorf("paths: %q, %q, %q", st.Messages[0].Path, st.Messages[2].Path, st.Messages[4].Path)
	}
	if st.Identity.SessionID != fork || st.Identity.ForkedFrom != parent || st.Identity.CWD != "/home/u/c" {
		t.Errorf("identity: %+v", st.Identity)
	}
	if got := texts(st.Opening); len(got) != 3 || got[0] != "first of all" {
		t.Errorf("opening: %q", got)
	}
	if st.Reach.Bytes != st.Size || st.From != 0 || len(st.Caveats) != 0 {
		t.Errorf("reach %d of %d, from %d, caveats %q", st.Reach.Bytes, st.Size, st.From, st.Caveats)
	}
	few := read(t, client.Codex, path, Options{Messages: 3})
	if diff := cmp.Diff(want[3:], texts(few.Messages)); diff != "" {
		t.Errorf("three (-want +got):\n%s", diff)
	}
	if got := texts(few.Opening); len(got) == 0 || got[0] != "first of all" {
		t.Errorf("opening of the three: %q", got)
	}
	if err := os.Remove(grandPath); err != nil {
		t.Fatal(err)
	}
	lost := read(t, client.Codex, path, Options{})
	if diff := cmp.Diff(want[2:], texts(lost.Messages)); diff != "" || len(lost.Caveats) != 1 {
		t.Errorf("with the oldest file gone: %s%q", diff, lost.Caveats)
	}
	file = "019a0000-0000-7000-8000-0000000000f1"
	back, _ := rollout("2026/11/29", parent, base(parent, parentEnd), "gone back once", "answered", "gone too")
	info, err := os.Stat(back)
	if err != nil {
		t.Fatal(err)
	}
	file = "019a0000-0000-7000-8000-0000000000f2"
	again, _ := rollout("2026/11/29", parent, base("019a0000-0000-7000-8000-0000000000f1", info.Size()), "gone back twice")
	reverted := read(t, client.Codex, again, Options{Session: parent})
	want = []string{"in the parent", "its answer too", "gone back once", "answered", "gone too", "gone back twice"}
	if diff := cmp.Diff(want, texts(reverted.Messages)); diff != "" || reverted.Messages[0].Path != parentPath || reverted.Messages[2].Path != back {
		t.Errorf("a thread gone back in (-want +got):\n%s", diff)
	}
	file = ""
	loop, _ := rollout("2026/11/29", fork, base(fork, 1<<30), "in the fork")
	if st := read(t, client.Codex, loop, Options{}); len(st.Messages) != 1 || len(st.Caveats) != 1 {
		t.Errorf("a fork of itself: %q, %q", texts(st.Messages), st.Caveats)
	}
}

func TestFarRewindIsRecognised(t *testing.T) {
	var b strings.Builder
	n := 0
	add := func(role, text string) {
		n++
		content := `"` + text + `"`
		if role == "assistant" {
			content = `[{"type":"text","text":"` + text + `"}]`
		}
		b.WriteString(said(n, role, content) + "\n")
	}
	for i := range 5 {
		add("user", fmt.Sprintf("kept %d", i))
		add("assistant", fmt.Sprintf("kept answer %d", i))
	}
	fork := n
	for i := range 300 {
		add("user", fmt.Sprintf("abandoned %d", i))
		add("assistant", fmt.Sprintf("abandoned answer %d", i))
	}
	n++
	b.WriteString(strings.Replace(said(n, "user", `"instead"`), fmt.Sprintf("%012d", n-1), fmt.Sprintf("%012d", fork), 1) + "\n")
	add("assistant", "answer instead")
	st := read(t, client.Claude, write(t, b.String()), Options{})
	want := []string{"kept 0", "kept answer 0", "kept 1", "kept answer 1", "kept 2", "kept answer 2", "kept 3", "kept answer 3", "kept 4", "kept answer 4", "instead", "answer instead"}
	if diff := cmp.Diff(want, texts(st.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if st.Omitted.OffChain != 600 {
		t.Errorf("%d records off the chain, want 600", st.Omitted.OffChain)
	}
}

// TestTailOnlyTellsTheSameOfTheTail: a reading that wants the usage and the last
// messages spares itself the rest.
func TestTailOnlyTellsTheSameOfTheTail(t *testing.T) {
	for _, c := range client.All() {
		t.Run(string(c), func(t *testing.T) {
			path := generate(t, c, 8<<20)
			opt := Options{Messages: 8}
			whole, err := Read(t.Context(), c, path, opt)
			if err != nil {
				t.Fatal(err)
			}
			opt.TailOnly = true
			tail, err := Read(t.Context(), c, path, opt)
			if err != nil {
				t.Fatal(err)
			}
			whole.Identity.Started, tail.Identity.Started = time.Time{}, time.Time{} // the head's
			if tail.Usage == nil || tail.Usage.Tokens != whole.Usage.Tokens || tail.Usage.Offset != whole.Usage.Offset {
				t.Errorf("usage %+v, with the rest %+v", tail.Usage, whole.Usage)
			}
			if len(tail.Messages) == 0 || len(tail.Messages) != len(whole.Messages) || tail.Identity != whole.Identity || tail.Reach.Bytes != whole.Reach.Bytes {
				t.Errorf("%d messages of %+v up to %d, with the rest %d of %+v up to %d",
					len(tail.Messages), tail.Identity, tail.Reach.Bytes, len(whole.Messages), whole.Identity, whole.Reach.Bytes)
			}
			if len(tail.Opening) > 0 || len(whole.Opening) == 0 {
				t.Errorf("%d opening requests, with the rest %d", len(tail.Opening), len(whole.Opening))
			}
		})
	}
}

package packet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// A vector is one scenario in testdata/tampered: a head with the class of
// failure that it must end in, an empty line, and what is done to a good packet,
// one step a line:
//
//	expect: error, warning or valid
//	field: the finding's field
//	rule: a part of the finding's rule
//	base: ours or peer
//	seal: yes makes the checksums right again, so that no other layer can object
//
//	replace FILE
//	- old, a JSON string
//	+ new, a JSON string
//	append FILE JSON-string
//	delete FILE
//	write FILE JSON-string
//	link FILE TARGET
//	folder FILE
//	grow FILE BYTES
type vector struct {
	head  map[string]string
	steps []string
}

func readVector(t *testing.T, file string) vector {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, body, ok := strings.Cut(string(data), "\n\n")
	if !ok {
		t.Fatalf("%s: no empty line behind the head", file)
	}
	v := vector{head: map[string]string{"base": "ours", "seal": "no", "severity": "error"}}
	for l := range strings.SplitSeq(head, "\n") {
		key, value, ok := strings.Cut(l, ": ")
		if !ok {
			t.Fatalf("%s: head %q", file, l)
		}
		v.head[key] = value
	}
	v.steps = strings.Split(strings.TrimSpace(body), "\n")
	return v
}

// apply does a vector's steps to the packet in dir.
func (v vector) apply(t *testing.T, dir string) {
	t.Helper()
	for i := 0; i < len(v.steps); i++ {
		verb, rest, _ := strings.Cut(v.steps[i], " ")
		name, arg, _ := strings.Cut(rest, " ")
		path := filepath.Join(dir, name)
		switch verb {
		case "replace":
			old, new := literal(t, v.steps[i+1], "- "), literal(t, v.steps[i+2], "+ ")
			i += 2
			data := mustRead(t, path)
			if strings.Count(string(data), old) == 0 {
				t.Fatalf("%s doesn't hold %q", name, old)
			}
			mustWrite(t, path, []byte(strings.Replace(string(data), old, new, 1)))
		case "append":
			mustWrite(t, path, append(mustRead(t, path), literal(t, arg, "")...))
		case "delete":
			must(t, os.Remove(path))
		case "write":
			mustWrite(t, path, []byte(literal(t, arg, "")))
		case "link":
			must(t, os.Rename(path, filepath.Join(filepath.Dir(dir), "outside")))
			must(t, os.Symlink(arg, path))
		case "folder":
			must(t, os.Remove(path))
			must(t, os.Mkdir(path, 0o700))
		case "grow":
			var n int64
			if _, err := fmt.Sscan(arg, &n); err != nil {
				t.Fatal(err)
			}
			must(t, os.Truncate(path, n))
		default:
			t.Fatalf("step %q", v.steps[i])
		}
	}
	if v.head["seal"] == "yes" {
		reseal(t, dir)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return data
}

func mustWrite(t *testing.T, path string, data []byte) {
	t.Helper()
	must(t, os.WriteFile(path, data, 0o600))
}

func literal(t *testing.T, s, mark string) string {
	t.Helper()
	s, ok := strings.CutPrefix(s, mark)
	var text string
	if err := json.Unmarshal([]byte(s), &text); err != nil || !ok {
		t.Fatalf("%q isn't %sa JSON string: %v", s, mark, err)
	}
	return text
}

// reseal makes the checksums fit the files as they are now.
func reseal(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, ContinuityFile)
	c, err := DecodeContinuity(mustRead(t, path))
	must(t, err)
	c.Checksums = nil
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if e.Name() != ContinuityFile {
			c.Checksums = append(c.Checksums, sumOf(file{e.Name(), mustRead(t, filepath.Join(dir, e.Name()))}))
		}
	}
	data, err := c.Encode()
	must(t, err)
	mustWrite(t, path, data)
}

// peer makes a packet into one of another generator.
func peer(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Remove(filepath.Join(dir, ContinuityFile)))
	path := filepath.Join(dir, SummaryFile)
	mustWrite(t, path, bytes.Replace(mustRead(t, path), []byte("reseat@0.1.0"), []byte("rig-restore-packet@0.1.0"), 1))
}

// base is the packet that a vector tampers with: a whole one with transcript.md.
func base(t *testing.T, kind string) string {
	t.Helper()
	in := anInput()
	in.Full = func(emit func(transcript.Message) error) error {
		return errors.Join(emit(said(1, "user", "hello")), emit(said(2, "assistant", "I begin")))
	}
	dir := written(t, in)
	if kind == "peer" {
		peer(t, dir)
	}
	if r := Validate(dir, secrets{}); !r.Valid || len(r.Findings) > 0 || r.Peer != (kind == "peer") {
		t.Fatalf("the base isn't clean: %+v", r)
	}
	return dir
}

func TestTamperedPacketsAreRefusedForTheRightReason(t *testing.T) {
	files, err := filepath.Glob("testdata/tampered/*")
	must(t, err)
	refused := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			v := readVector(t, file)
			dir := base(t, v.head["base"])
			v.apply(t, dir)
			r := Validate(dir, secrets{})
			want := v.head["expect"]
			if r.Valid == (want == Error) {
				t.Errorf("valid %v: %+v", r.Valid, r.Findings)
			}
			if want == "valid" {
				if len(r.Findings) > 0 {
					t.Errorf("found %+v", r.Findings)
				}
				return
			}
			if want == Error {
				refused++
			}
			for _, f := range r.Findings {
				if f.Field != v.head["field"] || f.Severity != want || !strings.Contains(f.Rule, v.head["rule"]) {
					t.Errorf("another finding: %+v", f)
				}
			}
			if len(r.Findings) != 1 {
				t.Errorf("%d findings: %+v", len(r.Findings), r.Findings)
			}
		})
	}
	t.Logf("%d tampered packets refused", refused)
	if refused < 30 {
		t.Errorf("only %d tampered packets refused", refused)
	}
}

// Each message says what its own fault is.
func TestTamperedPacketsHaveTheirOwnMessages(t *testing.T) {
	files, err := filepath.Glob("testdata/tampered/*")
	must(t, err)
	seen := map[string]string{}
	for _, file := range files {
		v := readVector(t, file)
		message := v.head["field"] + ": " + v.head["rule"]
		if other, twice := seen[message]; twice && v.head["expect"] == Error {
			t.Errorf("%s and %s: %s", filepath.Base(file), other, message)
		}
		if v.head["expect"] == Error {
			seen[message] = filepath.Base(file)
		}
	}
}

func TestAPeersPacketIsValidAsWhatItIs(t *testing.T) {
	dir := base(t, "peer")
	o, err := Open(dir)
	must(t, err)
	if o.Continuity != nil || o.Summary.Ours() {
		t.Errorf("got %+v", o)
	}
	if _, err := ReadContinuity(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestValidateWithoutARedactorSaysSo(t *testing.T) {
	r := Validate(base(t, "ours"), nil)
	if !r.Valid || len(r.Findings) != 1 || r.Findings[0].Severity != Warning {
		t.Errorf("got %+v", r)
	}
}

func TestValidateOfNoPacket(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	mustWrite(t, file, nil)
	for _, path := range []string{filepath.Join(dir, "gone"), file, "", dir} {
		r := Validate(path, secrets{})
		if r.Valid {
			t.Errorf("%q is valid", path)
		}
		if path == dir && len(r.Findings) != 4 { // four required files
			t.Errorf("empty folder: %+v", r.Findings)
		}
	}
}

// The report's JSON is the peer's: valid, and errors with four keys.
func TestReportEncodesAsThePeers(t *testing.T) {
	got := string(mustEncode(t, Validate(filepath.Join(t.TempDir(), "gone"), secrets{})))
	for _, want := range []string{"{\n  \"valid\": false,\n  \"errors\": [\n    {\n      \"field\": \"\",\n      \"value\": \"\\\"", "\"rule\": \"must be a readable folder\",\n      \"severity\": \"error\"\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if got := string(mustEncode(t, Validate(base(t, "ours"), secrets{}))); got != "{\n  \"valid\": true,\n  \"errors\": []\n}\n" {
		t.Errorf("got %s", got)
	}
}

// A finding about a secret doesn't repeat it.
func TestFindingsHoldNoSecret(t *testing.T) {
	dir := base(t, "ours")
	path := filepath.Join(dir, SummaryFile)
	mustWrite(t, path, bytes.Replace(mustRead(t, path), []byte("the staging base"), []byte("sk-ant-EXAMPLE4711"), 1))
	if got := string(mustEncode(t, Validate(dir, secrets{}))); strings.Contains(got, "4711") || !strings.Contains(got, leftSecret) {
		t.Errorf("got %s", got)
	}
}

// Memory must not grow with what a packet claims to be.
func TestSplitMessagesTakesAnyLength(t *testing.T) {
	long := strings.Repeat("x", 3<<20)
	text := "# Title\n\n## 1. user t\n\n" + long + "\n\n## 3. user not the next\n## 2. assistant t\n\n" + strings.Repeat("line\n", 1<<18) + "## 4. x\n## 3. user"
	var most int
	var order []int
	n, err := splitMessages(strings.NewReader(text), func(message int, text string) {
		most = max(most, len(text))
		if !slices.Contains(order, message) {
			order = append(order, message)
		}
	})
	if err != nil || n != 3 || most > 1<<20 || !slices.Equal(order, []int{0, 1, 2, 3}) {
		t.Errorf("%d messages %v, most %d, %v", n, order, most, err)
	}
	if n, _ := splitMessages(strings.NewReader("## 31. user t\n## 32. user t\n"), func(int, string) {}); n != 2 {
		t.Errorf("numbered from 31: %d", n)
	}
}

func FuzzContinuity(f *testing.F) {
	for _, in := range kinds() {
		data, err := mustMake(f, in).Continuity.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"format":"reseat-continuity 1"}`))
	f.Add([]byte(`{"format":"reseat-continuity 1","plan":{"items":null},"git":{"changed":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := DecodeContinuity(data)
		if err != nil {
			return
		}
		once, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeContinuity(once)
		if err != nil {
			t.Fatalf("what was written isn't read: %v", err)
		}
		twice, err := again.Encode()
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("not stable: %v\n%s", err, firstDifference(once, twice))
		}
		if d := c.Directive(DirectiveOptions{Dir: "/p"}); len(d) > DirectiveBytes && len(line(c.ID))+len(line(c.Session.Transcript)) < 1000 {
			t.Errorf("a directive of %d bytes", len(d))
		}
		c.Since(World{Time: day, Branch: "x", Head: "y", CWD: "z", PermissionMode: "m", Memory: c.Memory})
		in := next(c, 1)
		if _, err := Make(in); err != nil && len(data) < 10_000 {
			t.Errorf("nothing can follow it: %v", err)
		}
	})
}

func FuzzSummary(f *testing.F) {
	for _, in := range kinds() {
		data, err := mustMake(f, in).Summary.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSummary(data)
		if err != nil {
			return
		}
		once, err := s.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeSummary(once)
		if err != nil {
			t.Fatalf("what was written isn't read: %v", err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("not stable: %v", err)
		}
	})
}

package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/internal/client"
)

var update = flag.Bool("update", false, "write the golden files")

// vector is one hand-written transcript, made after a real one: a scenario.
type vector struct {
	client client.Client
	path   string
}

func vectors(t testing.TB) []vector {
	t.Helper()
	var out []vector
	for _, c := range client.All() {
		paths, err := filepath.Glob(filepath.Join("testdata", string(c), "*.jsonl"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no vectors for %s: %v", c, err)
		}
		for _, p := range paths {
			out = append(out, vector{client: c, path: p})
		}
	}
	return out
}

func (v vector) name() string {
	return string(v.client) + "/" + strings.TrimSuffix(filepath.Base(v.path), ".jsonl")
}

// tidy makes a golden file out of a value: JSON without what is zero.
func tidy(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(prune(tree), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(out, '\n')
}

func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x = prune(x); x == nil {
				delete(v, k)
			} else {
				v[k] = x
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
		if len(v) == 0 {
			return nil
		}
	case string:
		if v == "" || v == "0001-01-01T00:00:00Z" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	case json.Number:
		if v == "0" {
			return nil
		}
	}
	return v
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestReadTellsWhatAVectorHolds(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name(), func(t *testing.T) {
			st, err := Read(context.Background(), v.client, v.path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			st.Path = ""
			golden(t, strings.TrimSuffix(v.path, ".jsonl")+".golden.json", tidy(t, st))
		})
	}
}

func TestAfterTellsWhatAVectorHolds(t *testing.T) {
	want := []string{"c-0001", "c-0002", "c-0003", "never there"}
	all := map[string]Tail{}
	for _, v := range vectors(t) {
		tail, err := After(context.Background(), v.client, v.path, 0, want)
		if err != nil {
			t.Fatal(err)
		}
		all[v.name()] = tail
	}
	golden(t, filepath.Join("testdata", "after.golden.json"), tidy(t, all))
}

// TestWalkAgreesWithRead holds the two ways to a transcript's messages together.
func TestWalkAgreesWithRead(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name(), func(t *testing.T) {
			st, err := Read(context.Background(), v.client, v.path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var walked []Message
			omitted, err := Walk(context.Background(), v.client, v.path, Options{}, func(m Message) error {
				walked = append(walked, m)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if v.name() == "codex/no-events" { // Walk passes a message on before it can know
				walked[0].Typed = true
			}
			if diff := cmp.Diff(st.Messages, walked); diff != "" {
				t.Errorf("messages (-read +walk):\n%s", diff)
			}
			read := st.Omitted
			read.OffChain, omitted.OffChain = 0, 0 // Walk may pass a silent record of a branch without looking where it is
			read.FunctionCalls, omitted.FunctionCalls, read.ToolOutputs, omitted.ToolOutputs, read.Duplicates, omitted.Duplicates = 0, 0, 0, 0, 0, 0
			read.Meta, omitted.Meta = 0, 0
			if diff := cmp.Diff(read, omitted); diff != "" {
				t.Errorf("omitted (-read +walk):\n%s", diff)
			}
		})
	}
}

// TestASkimmedLineTellsTheSame reads every vector with a limit that makes most
// lines too long to be kept.
func TestASkimmedLineTellsTheSame(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name(), func(t *testing.T) {
			want, err := Read(context.Background(), v.client, v.path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := Read(context.Background(), v.client, v.path, Options{LineBytes: 200})
			if err != nil {
				t.Fatal(err)
			}
			if got.Omitted.Oversize == 0 && want.Size > 1000 {
				t.Error("no line was skimmed: the test shows nothing")
			}
			got.Omitted.Oversize, got.Caveats, want.Caveats = 0, nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-whole +skimmed):\n%s", diff)
			}
		})
	}
}

func TestEveryTextIsValidUTF8(t *testing.T) {
	for _, v := range vectors(t) {
		st, err := Read(context.Background(), v.client, v.path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range st.Messages {
			if !utf8.ValidString(m.Text) {
				t.Errorf("%s: message at %d: %q", v.name(), m.Offset, m.Text)
			}
		}
	}
}

// TestReachContinuesARead checks that what follows a reading's reach, and only
// that, is new to After, at every record of every vector.
func TestReachContinuesARead(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name(), func(t *testing.T) {
			data, err := os.ReadFile(v.path)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := After(context.Background(), v.client, v.path, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "t.jsonl")
			for cut := 1; cut < len(data); cut++ {
				if data[cut-1] != '\n' && data[cut-1] != 'x' { // at the end of a record, and within some
					continue
				}
				if err := os.WriteFile(path, data[:cut], 0o600); err != nil {
					t.Fatal(err)
				}
				first, err := After(context.Background(), v.client, path, 0, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, data, 0o600); err != nil {
					t.Fatal(err)
				}
				rest, err := After(context.Background(), v.client, path, first.Reach, nil)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(first.Prompts) + len(rest.Prompts); n != len(whole.Prompts) && !strings.Contains(v.name(), "duplicates") {
					t.Fatalf("cut at %d: %d prompts before and %d behind, %d in all", cut, len(first.Prompts), len(rest.Prompts), len(whole.Prompts))
				}
				if n := len(first.Boundaries) + len(rest.Boundaries); n < len(whole.Boundaries) {
					t.Fatalf("cut at %d: %d boundaries before and %d behind, %d in all", cut, len(first.Boundaries), len(rest.Boundaries), len(whole.Boundaries))
				}
			}
		})
	}
}

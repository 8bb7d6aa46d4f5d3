//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// TestMain is also the measuring process, which the benchmark starts as itself.
func TestMain(m *testing.M) {
	if os.Getenv(runnerVar) != "" {
		os.Exit(serve(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// TestBenchMeasuresEveryRow runs all of it once, in small. It holds what was
// written against what there is to measure, and no time against anything.
func TestBenchMeasuresEveryRow(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	temp := t.TempDir()
	var stdout, stderr bytes.Buffer
	args := []string{"-sizes", "0,2", "-runs", "1", "-seats", "4", "-burst", "2", "-temp", temp, "-out", out}
	if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, func(string) string { return "" }); code != 0 {
		t.Fatalf("exit %d\n%s", code, stderr.String())
	}
	var got results
	data, err := os.ReadFile(filepath.Join(out, "results.json"))
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]row{}
	for _, r := range got.Rows {
		rows[r.What+"/"+r.Client+"/"+string(rune('0'+r.SizeMB))] = r
		if r.N == 0 || r.Median <= 0 || r.Min > r.Q1 || r.Q1 > r.Median || r.Median > r.Q3 || r.Q3 > r.Max {
			t.Errorf("%+v", r)
		}
	}
	want := []string{empty + "//0", small + "//0", status + "//0", plan + "//0"}
	for _, b := range bursts {
		want = append(want, b.inTurn+"//0", b.atOnce+"//0")
	}
	for _, what := range []string{countNL, idle, settled, deliver, first, later, rescue, refresh, whole} {
		for _, c := range client.All() {
			want = append(want, what+"/"+string(c)+"/0", what+"/"+string(c)+"/2")
		}
	}
	for _, name := range want {
		r, ok := rows[name]
		if !ok {
			t.Errorf("%s wasn't measured", name)
		}
		if !strings.Contains(stdout.String(), r.What) {
			t.Errorf("the table lacks %s", r.What)
		}
		if aimed := r.Client != "" && r.What != countNL || r.What == plan; aimed && len(r.Aims) == 0 {
			t.Errorf("%s has no aim", name)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows, expected were %d", len(rows), len(want))
	}
	wellFormed(t, filepath.Join(out, "cost.svg"))
	if table, err := os.ReadFile(filepath.Join(out, "results.txt")); err != nil || !strings.Contains(stdout.String(), string(table)) {
		t.Errorf("results.txt isn't what was printed: %v", err)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func wellFormed(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := 0
	for d := xml.NewDecoder(f); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "polyline" {
			lines++
		}
	}
	if lines != 17 { // eight things of two clients, and the empty program
		t.Errorf("%d lines in the plot", lines)
	}
}

// TestBenchFailsWhereAPacketLacksANonce: a number about a packet that isn't what
// it claims is worth nothing.
func TestBenchFailsWhereAPacketLacksANonce(t *testing.T) {
	w, err := newWorld(t.Context(), options{sizes: []int64{0}, temp: t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	sessions, err := w.transcripts(t.Context(), client.Claude)
	if err != nil {
		t.Fatal(err)
	}
	s := sessions[0]
	messages := s.planted.Messages
	for name, spoil := range map[string]func(){
		"an old message": func() {
			s.planted.Messages = append(messages[:len(messages)-119:len(messages)-119], append([]string{"never-said"}, messages[len(messages)-118:]...)...)
		},
		"the open item":   func() { s.planted.Plan[1] = "never-planned" },
		"the edited file": func() { s.planted.Edited = "never-edited" },
	} {
		kept := *s.planted
		spoil()
		if err := w.ordinaryLife(t.Context(), s); err == nil || !strings.Contains(err.Error(), "never-") {
			t.Errorf("without %s: %v", name, err)
		}
		*s.planted = kept
		if err := s.reset(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.ordinaryLife(t.Context(), s); err != nil {
		t.Error(err)
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-sizes", "50,1"}, {"-sizes", ""}, {"-sizes", "x"}, {"-runs", "0"}, {"-seats", "1"}, {"more"}} {
		if code := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" }); code != 64 {
			t.Errorf("%q: exit %d", args, code)
		}
	}
}

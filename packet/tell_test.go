package packet

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// told is what a person reads, with the test's folder taken out.
func told(t *testing.T, dir string) string {
	t.Helper()
	o, err := Open(dir)
	must(t, err)
	var b bytes.Buffer
	must(t, o.Tell(&b))
	return strings.ReplaceAll(b.String(), dir, "/packet")
}

func TestTellFitsOnAScreen(t *testing.T) {
	for name, in := range kinds() {
		got := told(t, written(t, in))
		golden(t, filepath.Join("testdata", "golden", name, "read.txt"), []byte(got))
		if n := strings.Count(got, "\n"); n > 24 {
			t.Errorf("%s: %d lines", name, n)
		}
	}
	got := told(t, base(t, "peer"))
	golden(t, filepath.Join("testdata", "golden", "peer", "read.txt"), []byte(got))
}

// A packet may come from anyone: reading it must not act on the terminal.
func TestTellActsOnNoTerminal(t *testing.T) {
	in := anInput()
	const evil = "a\x1b]0;title\x07\u202eb\nforged     row"
	in.Seat, in.Trigger, in.Mechanism, in.ID, in.Version = evil, evil, evil, evil, evil
	in.Story.Plan.Source, in.Story.Plan.Items[1].Text = evil, evil
	in.Declared = Declared{Intent: evil, NextOwner: evil, AuthorityBoundaries: evil, Caveats: []string{evil}, RolePointer: evil}
	in.Story.Open[0].Kind, in.Story.Open[0].CallID = evil, evil
	in.Git.Branch, in.Git.Head, in.Git.Operation, in.Git.Note = evil, evil, evil, evil
	in.Memory[0].Purpose = evil
	in.Story.Messages = append(in.Story.Messages, said(61, "user", evil))
	in.Story.Identity.CWD = "/x" + evil
	dir := written(t, in)
	o, err := Open(dir)
	must(t, err)
	var all bytes.Buffer
	must(t, o.Tell(&all))
	must(t, o.TellAll(&all))
	for i, r := range all.String() {
		if r != '\n' && r != '\t' && hidden(r) {
			t.Errorf("%U at %d: %q", r, i, all.String()[max(i-40, 0):i+4])
		}
	}
	if strings.Contains(told(t, dir), "\nforged") {
		t.Errorf("a forged row in\n%s", told(t, dir))
	}
}

func TestTellSaysThatKeyAndFileDisagree(t *testing.T) {
	in := anInput()
	in.Full = func(emit func(transcript.Message) error) error { return emit(said(1, "user", "x")) }
	dir := written(t, in)
	if got := told(t, dir); !strings.Contains(got, "transcript  1 message, ") {
		t.Errorf("got\n%s", got)
	}
	must(t, removeFile(dir, FullFile))
	if got := told(t, dir); !strings.Contains(got, "warning     the summary and the folder disagree") {
		t.Errorf("got\n%s", got)
	}
}

package installer

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDiffOfCreatedAndRemovedFiles(t *testing.T) {
	if got := unified("/x", nil, []byte("a\nb"), false, true); got != "--- /dev/null\n+++ /x\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n" {
		t.Errorf("%q", got)
	}
	if got := unified("/x", []byte("a\n"), nil, true, false); got != "--- /x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n" {
		t.Errorf("%q", got)
	}
	if got := unified("/x", []byte("a\n"), []byte("a\n"), true, true); got != "" {
		t.Errorf("%q", got)
	}
}

// TestDiffIsOneThatPatchApplies has the patch program turn the old text into the
// new one.
func TestDiffIsOneThatPatchApplies(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Skip("no patch program here")
	}
	g := newGenerator(11)
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for range 40 {
		before := strings.ReplaceAll(string(g.toml()), "\r", "")
		lines := splitLines(before)
		var after []string
		for _, line := range lines {
			switch g.IntN(8) {
			case 0:
			case 1:
				after = append(after, "new "+g.name()+"\n", line)
			default:
				after = append(after, line)
			}
		}
		text := strings.Join(after, "")
		must(t, os.WriteFile(path, []byte(before), 0o600))
		diff := unified(path, []byte(before), []byte(text), true, true)
		cmd := exec.Command(patch, "-s", path)
		cmd.Stdin = strings.NewReader(diff)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, diff)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Fatalf("got %q, want %q\n%s", got, text, diff)
		}
	}
}

func TestDiffOfVeryDifferentTextsIsStillOne(t *testing.T) {
	var a, b strings.Builder
	for i := range 3000 {
		a.WriteString(strings.Repeat("a", i%7) + "\n")
		b.WriteString(strings.Repeat("b", i%5) + "\n")
	}
	diff := unified("/x", []byte(a.String()), []byte(b.String()), true, true)
	if !strings.HasPrefix(diff, "--- /x\n+++ /x\n@@ -") {
		t.Errorf("%.100s", diff)
	}
}

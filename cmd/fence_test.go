// Package cmd_test holds the fences around the programs: what they must not
// link, and how large they may be.
package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hookPrograms run in the middle of someone's thought, at every prompt.
var hookPrograms = []string{"reseat-precompact", "reseat-directive"}

// banned says what a hook program must not link, and why.
var banned = map[string]string{
	"net":                             "a hook talks to nobody, and the package doubles the start",
	"net/http":                        "a hook talks to nobody",
	"crypto/tls":                      "a hook talks to nobody",
	"github.com/hashicorp/go-plugin":  "only what triggers a compaction starts adapters",
	"google.golang.org/grpc":          "only what triggers a compaction starts adapters",
	"google.golang.org/protobuf":      "only what triggers a compaction starts adapters",
	"github.com/spf13/pflag":          "it links net and costs 1.7 times the start; three flags need no library",
	"text/template":                   "reflection, and a megabyte",
	"github.com/tidwall/gjson":        "120 KB of paths, modifiers and pretty printing, of which a hook needs nothing",
	"github.com/tailscale/hujson":     "hooks edit no settings",
	"github.com/pelletier/go-toml/v2": "hooks edit no configuration",
	"github.com/gofrs/flock":          "a hook never waits for a lock",
	"testing":                         "not in a program",
}

// sizeLimit is what a stripped hook program may weigh, in bytes. The aim is
// 3,800,000, which reseat-precompact misses by a page and reseat-directive by
// 160 KB; this keeps them from growing. Half a megabyte is the code that reads two
// clients' transcripts, makes and redacts a packet; the rest is the Go runtime, os
// and encoding/json.
const sizeLimit = 3_984_588

func TestHookProgramsLinkOnlyWhatTheyNeed(t *testing.T) {
	for _, p := range hookPrograms {
		out, err := exec.Command("go", "list", "-deps", "./"+p).Output()
		if err != nil {
			t.Fatalf("%s: %v", p, err)
		}
		for _, dep := range strings.Fields(string(out)) {
			for path, reason := range banned {
				if dep == path || strings.HasPrefix(dep, path+"/") && path != "net" && path != "testing" {
					t.Errorf("%s links %s: %s", p, dep, reason)
				}
			}
		}
	}
}

func TestHookProgramsStaySmall(t *testing.T) {
	dir := t.TempDir()
	for _, p := range hookPrograms {
		file := filepath.Join(dir, p)
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, "./"+p)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, out)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", p, info.Size())
		if info.Size() > sizeLimit {
			t.Errorf("%s weighs %d bytes, at most %d are allowed", p, info.Size(), sizeLimit)
		}
	}
}

// TestRoomsKnowOnlyTheRoomsTheyMay holds the dependencies between rooms.
func TestRoomsKnowOnlyTheRoomsTheyMay(t *testing.T) {
	const module = "github.com/reseat-dev/reseat/"
	may := map[string][]string{
		"hooks":          {},
		"packet":         {"packet"},
		"bridge":         {"hooks", "packet", "bridge"},
		"bridge/compact": {"hooks", "packet", "bridge", "plugins"},
		"installer":      {"hooks", "installer"},
		"plugins":        {"packet/transcript", "plugins"},
		"internal":       {},
	}
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		room := strings.TrimPrefix(fields[0], module)
		if strings.HasPrefix(room, "cmd") || strings.HasPrefix(room, "examples") || strings.HasPrefix(room, "internal/e2e") {
			continue
		}
		allowed, ok := allowedFor(may, room)
		if !ok {
			t.Errorf("%s is in no room", room)
			continue
		}
		for _, dep := range fields[1:] {
			dep, ours := strings.CutPrefix(dep, module)
			if ours && !strings.HasPrefix(dep, "internal/") && !within(dep, allowed) {
				t.Errorf("%s imports %s", room, dep)
			}
		}
	}
}

// allowedFor finds the longest room that path lies in.
func allowedFor(may map[string][]string, path string) ([]string, bool) {
	for room := path; room != "." && room != ""; room = filepath.Dir(room) {
		if allowed, ok := may[room]; ok {
			return allowed, true
		}
	}
	return nil, false
}

func within(path string, rooms []string) bool {
	for _, r := range rooms {
		if path == r || strings.HasPrefix(path, r+"/") {
			return true
		}
	}
	return false
}

// TestNothingCompilesARegexpAtStart: a pattern compiled in a package variable
// is paid for at every prompt.
func TestNothingCompilesARegexpAtStart(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}{{"\n"}}{{end}}{{end}}`, "./reseat-precompact", "./reseat-directive").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range strings.Fields(string(out)) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(src), "\n") {
			indented := strings.HasPrefix(line, "\t\t") || strings.HasPrefix(line, "\treturn") || strings.HasPrefix(line, "\tre, ")
			if strings.Contains(line, "regexp.MustCompile(") && !indented {
				t.Errorf("%s:%d compiles a regexp at start: %s", file, i+1, strings.TrimSpace(line))
			}
		}
	}
}

package gitstate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// repository is a real git repository with one commit, in a home of its own.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git isn't installed")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repository{t, dir}
	r.git("init", "-q", "--template=", "-b", "main")
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		t.Setenv("GIT_"+who+"_NAME", "Someone")
		t.Setenv("GIT_"+who+"_EMAIL", "someone@example.invalid")
	}
	r.write("kept.txt", "one\n")
	r.git("add", ".")
	r.git("commit", "-q", "-m", "first")
	return r
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repository) write(name, text string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// script writes a program that leaves a file behind when it runs.
func (r repository) script(name string) (program, trace string) {
	r.t.Helper()
	if runtime.GOOS == "windows" {
		r.t.Skip("needs a shell script")
	}
	dir := r.t.TempDir()
	program, trace = filepath.Join(dir, name), filepath.Join(dir, name+".ran")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+trace+"\ncat\n"), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return program, trace
}

// stale makes git doubt every file that it knows.
func (r repository) stale() {
	r.t.Helper()
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(r.dir, "kept.txt"), later, later); err != nil {
		r.t.Fatal(err)
	}
}

func (r repository) read() State {
	return Read(context.Background(), r.dir, Limits{Time: 20 * time.Second})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// fingerprint is the names, sizes, times and contents below a folder.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	hash := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(hash, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		if !info.Mode().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		hash.Write(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

func TestReadTellsBranchHeadAndChanges(t *testing.T) {
	r := newRepository(t)
	r.write("kept.txt", "two\n")
	r.write("new ünd spaced.txt", "x")
	r.write("staged.txt", "x")
	r.git("add", "staged.txt")

	got := r.read()
	if got.Root != r.dir || got.Branch != "main" || got.Head != r.git("rev-parse", "HEAD") || got.Detached || !got.Listed || got.Note != "" {
		t.Errorf("got %+v", got)
	}
	want := []Change{{"kept.txt", ".M"}, {"staged.txt", "A."}, {"new ünd spaced.txt", "??"}}
	if !slices.Equal(got.Changed, want) {
		t.Errorf("changed %v, want %v", got.Changed, want)
	}
	if got.Abs(got.Changed[0]) != filepath.Join(r.dir, "kept.txt") {
		t.Errorf("absolute path %q", got.Abs(got.Changed[0]))
	}
}

func TestReadWorksFromASubfolder(t *testing.T) {
	r := newRepository(t)
	r.write("a/b/c.txt", "x")
	got := Read(context.Background(), filepath.Join(r.dir, "a", "b"), Limits{Time: 20 * time.Second})
	if got.Root != r.dir || !slices.Equal(got.Changed, []Change{{"a/", "??"}}) {
		t.Errorf("got %+v", got)
	}
}

// A hook must leave a repository byte for byte as it is, and run none of the
// programs that the repository names: it may be anybody's clone.
func TestReadRunsNothingAndWritesNothing(t *testing.T) {
	r := newRepository(t)
	monitor, monitorRan := r.script("monitor")
	clean, cleanRan := r.script("clean")
	process, processRan := r.script("process")
	hook, hookRan := r.script("post-index-change")
	diff, diffRan := r.script("diff")

	r.git("config", "filter.one.clean", clean)
	r.git("config", "filter.one.required", "true")
	r.git("config", "filter.two.process", process)
	r.git("config", "filter.Mixed.Case.clean", clean)
	r.git("config", "diff.external", diff)
	r.git("config", "diff.x.textconv", diff)
	r.git("config", "core.hooksPath", filepath.Dir(hook))
	r.git("config", "core.fsmonitor", monitor)
	r.write(".gitattributes", "*.txt filter=one diff=x\n*.md filter=two\n*.c filter=Mixed.Case\n")
	r.write("kept.txt", "two\n") // as long as before: only its content can tell
	r.write("a.md", "x")
	r.write("a.c", "x")
	r.stale()

	before := fingerprint(t, r.dir)
	got := r.read()
	if !got.Listed || got.Branch != "main" {
		t.Fatalf("nothing was read: %+v", got)
	}
	if fingerprint(t, r.dir) != before {
		t.Error("the repository was changed")
	}
	for _, trace := range []string{monitorRan, cleanRan, processRan, hookRan, diffRan} {
		if exists(trace) {
			t.Errorf("%s was made: a program of the repository ran", filepath.Base(trace))
		}
	}
	if !strings.Contains(got.Note, "filters weren't run") {
		t.Errorf("the note doesn't say that filters were off: %q", got.Note)
	}

	// That the traps are live at all: the plain command springs them.
	r.git("status")
	for _, trace := range []string{monitorRan, cleanRan} {
		if !exists(trace) {
			t.Errorf("%s wasn't made by a plain git status: this test proves nothing", filepath.Base(trace))
		}
	}
}

// A filter whose name can't be given on the command line must not run either.
func TestReadDoesWithoutChangesUnderAnUnnameableFilter(t *testing.T) {
	r := newRepository(t)
	clean, ran := r.script("clean")
	config := filepath.Join(r.dir, ".git", "config")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	section := "[filter \"a=b\"]\n\tclean = " + clean + "\n"
	if err := os.WriteFile(config, append(text, section...), 0o644); err != nil {
		t.Fatal(err)
	}
	r.write(".gitattributes", "*.txt filter=a=b\n")
	r.stale()
	got := r.read()
	if got.Listed || got.Branch != "main" || got.Head == "" || !strings.Contains(got.Note, "switched off") {
		t.Errorf("got %+v", got)
	}
	if exists(ran) {
		t.Error("the filter ran")
	}
}

func TestReadLeavesASplitIndexAlone(t *testing.T) {
	r := newRepository(t)
	r.git("update-index", "--split-index")
	got := r.read()
	if got.Listed || got.Head == "" || !strings.Contains(got.Note, "split index") {
		t.Errorf("got %+v", got)
	}
}

// Variables of a hook's caller point git elsewhere, or make it write.
func TestReadIgnoresGitVariables(t *testing.T) {
	r := newRepository(t)
	other := newRepository(t)
	traced := filepath.Join(t.TempDir(), "trace")
	for name, value := range map[string]string{
		"GIT_DIR": filepath.Join(other.dir, ".git"), "GIT_WORK_TREE": other.dir,
		"GIT_INDEX_FILE": filepath.Join(other.dir, ".git", "index"), "GIT_TRACE": traced, "GIT_TRACE2": traced,
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true",
		"GIT_NAMESPACE": "x", "GIT_OBJECT_DIRECTORY": t.TempDir(),
	} {
		t.Setenv(name, value)
	}
	got := r.read()
	if got.Root != r.dir || !got.Listed || got.Head == "" || len(got.Changed) != 0 {
		t.Errorf("got %+v", got)
	}
	if exists(traced) {
		t.Error("git wrote a trace")
	}
}

func TestReadIsBounded(t *testing.T) {
	r := newRepository(t)
	for i := range 30 {
		r.write(fmt.Sprintf("new-%02d.txt", i), "x")
	}
	got := Read(context.Background(), r.dir, Limits{Time: 20 * time.Second, Changes: 10})
	if len(got.Changed) != 10 || got.More != 20 || got.Cut {
		t.Errorf("kept %d, more %d, cut %v", len(got.Changed), got.More, got.Cut)
	}
	got = Read(context.Background(), r.dir, Limits{Time: 20 * time.Second, Output: 150})
	if !got.Cut || len(got.Changed) == 0 || len(got.Changed) > 10 || !strings.Contains(got.Note, "more files") {
		t.Errorf("with little output: %+v", got)
	}
	for _, c := range got.Changed {
		if !strings.HasPrefix(c.Path, "new-") || !strings.HasSuffix(c.Path, ".txt") {
			t.Errorf("half a path: %q", c.Path)
		}
	}
}

func TestReadDoesNotWait(t *testing.T) {
	r := newRepository(t)
	slow := t.TempDir()
	if err := os.WriteFile(filepath.Join(slow, "git"), []byte("#!/bin/sh\nexec sleep 600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	head := r.git("rev-parse", "HEAD")
	t.Setenv("PATH", slow+string(os.PathListSeparator)+os.Getenv("PATH"))
	began := time.Now()
	got := Read(context.Background(), r.dir, Limits{Time: 50 * time.Millisecond})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if got.Listed || got.Head != head || !strings.Contains(got.Note, "too long") {
		t.Errorf("got %+v", got)
	}
}

func TestReadWithoutGitTellsTheHead(t *testing.T) {
	r := newRepository(t)
	head := r.git("rev-parse", "HEAD")
	t.Setenv("PATH", t.TempDir())
	got := r.read()
	if got.Head != head || got.Branch != "main" || got.Listed || !strings.Contains(got.Note, "isn't installed") {
		t.Errorf("got %+v", got)
	}
}

func TestReadOutsideARepository(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Join(dir, "gone"), "relative", ""} {
		got := Read(context.Background(), d, Limits{})
		if got.Root != "" || got.Listed || got.Note == "" {
			t.Errorf("%q: %+v", d, got)
		}
	}
}

func TestReadSaysWhatGitRefused(t *testing.T) {
	r := newRepository(t)
	if err := os.WriteFile(filepath.Join(r.dir, ".git", "index"), []byte("no index"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := r.read()
	if got.Listed || got.Head == "" || !strings.Contains(got.Note, "index") || strings.Contains(got.Note, "\n") {
		t.Errorf("got %+v", got)
	}
}

func TestHeadAgreesWithGit(t *testing.T) {
	tests := []struct {
		name      string
		do        func(r repository) string // returns the folder to look from, "" for the root
		branch    string
		detached  bool
		operation string
		unborn    bool
	}{
		{name: "a branch", do: func(repository) string { return "" }, branch: "main"},
		{name: "a branch with a slash", do: func(r repository) string { r.git("checkout", "-q", "-b", "feature/x"); return "" }, branch: "feature/x"},
		{name: "packed refs", do: func(r repository) string { r.git("pack-refs", "--all", "--prune"); return "" }, branch: "main"},
		{name: "detached", do: func(r repository) string { r.git("checkout", "-q", "--detach"); return "" }, detached: true},
		{name: "no commit yet", do: func(r repository) string { r.git("checkout", "-q", "--orphan", "new"); return "" }, branch: "new", unborn: true},
		{name: "a linked worktree", do: func(r repository) string {
			dir := filepath.Join(r.dir, "wt")
			r.git("worktree", "add", "-q", "-b", "side", dir)
			return dir
		}, branch: "side"},
		{name: "a linked worktree, packed", do: func(r repository) string {
			dir := filepath.Join(r.dir, "wt")
			r.git("worktree", "add", "-q", "-b", "side", dir)
			r.git("pack-refs", "--all", "--prune")
			return dir
		}, branch: "side"},
		{name: "a subfolder", do: func(r repository) string { return filepath.Dir(r.write("deep/er/x", "")) }, branch: "main"},
		{name: "a merge under way", do: func(r repository) string {
			r.git("checkout", "-q", "-b", "other")
			r.git("commit", "-q", "--allow-empty", "-m", "other")
			r.git("checkout", "-q", "main")
			r.git("merge", "-q", "--no-ff", "--no-commit", "other")
			return ""
		}, branch: "main", operation: "merge"},
		{name: "SHA-256", do: func(r repository) string {
			dir := r.t.TempDir()
			dir, _ = filepath.EvalSymlinks(dir)
			r.git("init", "-q", "-b", "main", "--object-format=sha256", dir)
			repository{r.t, dir}.git("commit", "-q", "--allow-empty", "-m", "x")
			return dir
		}, branch: "main"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRepository(t)
			dir := test.do(r)
			if dir == "" {
				dir = r.dir
			}
			head := ""
			if !test.unborn {
				head = repository{t, dir}.git("rev-parse", "HEAD")
			}
			got := Head(dir)
			root := repository{t, dir}.git("rev-parse", "--show-toplevel")
			if got.Root != root || got.Head != head || got.Branch != test.branch || got.Detached != test.detached || got.Operation != test.operation || got.Note != "" {
				t.Errorf("got %+v\nwant head %q", got, head)
			}
			if full := Read(context.Background(), dir, Limits{Time: 20 * time.Second}); full.Head != got.Head || full.Branch != got.Branch || !full.Listed {
				t.Errorf("git says otherwise: %+v", full)
			}
		})
	}
}

// The files below .git are data of whoever made the repository.
func TestHeadFollowsNothingOutOfTheRepository(t *testing.T) {
	r := newRepository(t)
	outside := filepath.Join(filepath.Dir(r.dir), "outside")
	if err := os.WriteFile(outside, []byte(strings.Repeat("a", 40)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, head := range []string{
		"ref: ../../outside", "ref: refs/../../../outside", "ref: " + outside, "ref: refs/heads/..", "ref:",
		"not a ref", strings.Repeat("x", 100000), "", "ref: refs/heads/.invalid",
	} {
		if err := os.WriteFile(filepath.Join(r.dir, ".git", "HEAD"), []byte(head), 0o644); err != nil {
			t.Fatal(err)
		}
		got := Head(r.dir)
		if got.Head != "" || got.Branch != "" || got.Note == "" {
			t.Errorf("%.40q: %+v", head, got)
		}
	}
}

func TestHeadGivesUpOnALoopOfRefs(t *testing.T) {
	r := newRepository(t)
	loop := filepath.Join(r.dir, ".git", "refs", "heads", "main")
	if err := os.WriteFile(loop, []byte("ref: refs/heads/main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Head(r.dir); got.Head != "" || got.Branch != "main" || !strings.Contains(got.Note, "symbolic") {
		t.Errorf("got %+v", got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("# branch.oid "+strings.Repeat("a", 40)+"\x00# branch.head main\x001 .M N... 100644 100644 100644 1 2 a b\x00? c\x00"), false)
	f.Add([]byte("2 R. N... 1 2 3 4 5 R100 new\x00old\x00u UU N... 1 2 3 4 5 6 7 both\x00"), false)
	f.Add([]byte("1 .M N... 100644 1006"), true)
	f.Add([]byte("2 R. \x00"), false)
	f.Fuzz(func(t *testing.T, out []byte, cut bool) {
		got := parse(out, cut, 3)
		if len(got.list) > 3 || got.more < 0 || (got.more > 0 && len(got.list) < 3) {
			t.Errorf("kept %d, more %d", len(got.list), got.more)
		}
		for _, c := range got.list {
			if c.Path == "" || strings.ContainsRune(c.Path, 0) {
				t.Errorf("path %q", c.Path)
			}
		}
	})
}

func TestParseKnowsEveryKindOfRecord(t *testing.T) {
	out := "# branch.oid (initial)\x00# branch.head (detached)\x00# stash 1\x00" +
		"1 A. N... 0 1 2 3 4 a b\x00" +
		"2 R. N... 1 2 3 4 5 R100 new\x00old\x00" +
		"u UU N... 1 2 3 4 5 6 7 both\x00" +
		"? un\x00! ignored\x00"
	got := parse([]byte(out), false, 10)
	want := []Change{{"a b", "A."}, {"new", "R."}, {"both", "UU"}, {"un", "??"}}
	if !slices.Equal(got.list, want) || got.head != "" || !got.detached || got.branch != "" {
		t.Errorf("got %+v", got)
	}
}

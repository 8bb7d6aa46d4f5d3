package proctable

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestTableShowsAChildAndItsEnd(t *testing.T) {
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	table, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	child, ok := table[cmd.Process.Pid]
	if !ok || child.Parent != os.Getpid() || !table.Alive(child.PID, child.Started) {
		t.Errorf("child %+v, found %v", child, ok)
	}
	if table.Alive(child.PID, "1") {
		t.Error("a process that started at another time passes for this one")
	}
	if !table.Descends(child.PID, os.Getpid()) || table.Descends(os.Getpid(), child.PID) {
		t.Error("lineage is wrong")
	}
	if !slices.ContainsFunc(table.Children(os.Getpid()), func(p Process) bool { return p.PID == child.PID }) {
		t.Error("not among the children")
	}
	stdin.Close()
	_ = cmd.Wait()
	if table, err = Read(); err != nil || table.Alive(child.PID, child.Started) {
		t.Errorf("still alive after its end (%v)", err)
	}
}

func TestLineageOfALoopEnds(t *testing.T) {
	table := Table{1: {PID: 1, Parent: 2}, 2: {PID: 2, Parent: 1}}
	if got := len(table.Lineage(1)); got != 2 {
		t.Errorf("%d steps", got)
	}
}

func TestListeningSocketsAndFilesAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := Listening(os.Getpid())
	if err != nil || !slices.Contains(got, path) {
		t.Errorf("listening on %v, %v", got, err)
	}
	file := filepath.Join(t.TempDir(), "f")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files, err := Files(os.Getpid())
	if err != nil || !slices.Contains(files, file) {
		t.Errorf("files %v, %v", files, err)
	}
}

func TestNamesWithParenthesesAreRead(t *testing.T) {
	stat := "7 (a) b (c)) S 3 4 5 34816 9 4194304 1 0 0 0 1 2 0 0 20 0 1 0 4242 1 1"
	p, ok := parseStat(7, []byte(stat))
	want := Process{PID: 7, Parent: 3, Group: 4, Front: 9, Started: "4242", Name: "a) b (c)"}
	if !ok || p != want {
		t.Errorf("got %+v", p)
	}
	for _, bad := range []string{"", "7", "7 (x", "7 (x) S", "7 )x( S 1 2"} {
		if _, ok := parseStat(7, []byte(bad)); ok {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b (c)) S 3 4 5 34816 9 4194304 1 0 0 0 1 2 0 0 20 0 1 0 4242 1 1"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		parseStat(1, data)
		parseUnixSockets(string(data), map[string]bool{"1": true})
	})
}

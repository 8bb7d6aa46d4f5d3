//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// repository is the root of this checkout: tests run in their package's folder.
func repository() string {
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err) // only without a working directory
	}
	return dir
}

// programs builds all our programs, as `make install` does, and returns the
// folder they are in. Once a run.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reseat-e2e-programs-")
	if err != nil {
		return "", err
	}
	builtPrograms = dir
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir+string(filepath.Separator), "./cmd/...")
	build.Dir = repository()
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building our programs: %w\n%s", err, out)
	}
	return dir, nil
})

var builtPrograms string

func removePrograms() {
	if builtPrograms != "" {
		_ = os.RemoveAll(builtPrograms)
	}
}

// putPrograms puts our programs into bin.
func putPrograms(t *testing.T, bin string) {
	t.Helper()
	built, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(built)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.Link(filepath.Join(built, entry.Name()), filepath.Join(bin, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
}

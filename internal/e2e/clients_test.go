//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// The pinned clients, newest first. Why these: the newest; the last Claude Code
// without agent fields that was tried; what npm gives on Node 20. For Codex the
// newest, one of the old rollout form, and the oldest with SessionStart(compact).
var (
	claudeVersions = []string{"2.1.332", "2.1.322", "2.1.197"}
	codexVersions  = []string{"0.171.0", "0.139.0", "0.133.0"}
)

// npmTimeout is for one package of about 240 MB on a slow line.
const npmTimeout = 15 * time.Minute

// clientProgram is the program of a pinned client, "claude" or "codex". The
// first call for a version installs it; parallel calls, also of other
// processes, wait for that.
func clientProgram(t *testing.T, name, version string) string {
	t.Helper()
	cache := os.Getenv("RESEAT_CLIENT_CACHE")
	if cache == "" {
		cache = filepath.Join(repository(), ".cache", "clients")
	}
	program, err := installClient(cache, name, version)
	if err != nil {
		t.Fatalf("the real client %s %s can't be had, so nothing is proved: %v", name, version, err)
	}
	return program
}

func installClient(cache, name, version string) (string, error) {
	dir := filepath.Join(cache, name+"-"+version)
	if _, err := os.Stat(dir); err == nil {
		return findProgram(dir, name)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), npmTimeout)
	defer cancel()
	lock := flock.New(filepath.Join(cache, "."+name+"-"+version+".lock"))
	if _, err := lock.TryLockContext(ctx, 200*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for %s: %w", lock.Path(), err)
	}
	defer lock.Unlock()
	if _, err := os.Stat(dir); err == nil {
		return findProgram(dir, name)
	}
	if err := installInto(ctx, cache, dir, name, version); err != nil {
		return "", err
	}
	return findProgram(dir, name)
}

// installInto installs into a temporary folder and renames it, so that dir is
// there whole or not at all.
func installInto(ctx context.Context, cache, dir, name, version string) error {
	prefix := "." + name + "-" + version + "-"
	leftovers, _ := filepath.Glob(filepath.Join(cache, prefix+"*"))
	for _, leftover := range leftovers {
		_ = os.RemoveAll(leftover) // of an install that was cut short: the lock is ours
	}
	unfinished, err := os.MkdirTemp(cache, prefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	npm := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
		"--prefix", unfinished, npmPackage(name)+"@"+version)
	npm.Dir = unfinished
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s@%s: %w\n%s", npmPackage(name), version, err, out)
	}
	if _, err := findProgram(unfinished, name); err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

func npmPackage(name string) string {
	if name == "codex" {
		return "@openai/codex"
	}
	return "@anthropic-ai/claude-code-" + npmPlatform()
}

// npmPlatform is node's words for this machine: linux-x64, darwin-arm64, ...
func npmPlatform() string {
	arch := runtime.GOARCH
	if arch == "amd64" {
		arch = "x64"
	}
	return runtime.GOOS + "-" + arch
}

func findProgram(dir, name string) (string, error) {
	pattern := filepath.Join(dir, "node_modules", "@anthropic-ai", "claude-code-"+npmPlatform(), "claude")
	if name == "codex" {
		pattern = filepath.Join(dir, "node_modules", "@openai", "codex-*", "vendor", "*", "bin", "codex")
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%d programs at %s, want 1: remove %s and try again", len(found), strings.TrimPrefix(pattern, dir), dir)
	}
	return found[0], nil
}

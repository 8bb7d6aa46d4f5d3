//go:build linux

package cmd_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// changing are the system calls that change a file system.
const changing = "open,openat,openat2,creat,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat," +
	"mkdir,mkdirat,rmdir,mknod,mknodat,chmod,fchmod,fchmodat,chown,fchown,lchown,fchownat,truncate,ftruncate,utimensat,setxattr,lsetxattr"

// TestHooksWriteOnlyTheirState traces both programs and all their children
// through a compaction, in a repository that would run a program and rewrite its
// index if it were asked carelessly.
func TestHooksWriteOnlyTheirState(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace isn't installed (apt-get install strace)")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace can't trace here: %v: %s", err, out)
	}
	for _, runtime := range runtimes {
		t.Run(runtime, func(t *testing.T) {
			s := newSeat(t, runtime)
			touched := s.trap()
			s.plantSecrets()
			before := fingerprint(t, filepath.Join(s.work, ".git"))
			for _, event := range []string{"PreCompact", "SessionStart", "PostCompact", "SessionStart", "UserPromptSubmit"} {
				if event == "PostCompact" {
					s.boundary()
				}
				s.traced(strace, event)
			}
			if after := fingerprint(t, filepath.Join(s.work, ".git")); after != before {
				t.Errorf(".git changed:\n%s\n%s", before, after)
			}
			if _, err := os.Lstat(touched); err == nil {
				t.Error("the repository's fsmonitor program was run")
			}
		})
	}
}

// trap makes the working directory a repository with a stale index and an
// fsmonitor program that leaves a file.
func (s *seat) trap() (touched string) {
	s.t.Helper()
	touched = filepath.Join(s.home, "touched")
	script := filepath.Join(s.home, "monitor.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch '"+touched+"'\n"), 0o755); err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.work, "a.txt")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			s.t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", s.work, "-c", "user.name=n", "-c", "user.email=e@example.invalid"}, args...)...)
		cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			s.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	write("one\n")
	git("init", "-q")
	git("add", ".")
	git("commit", "-qm", "one")
	write("two\n")
	write("one\n") // the same text, another time: git status would refresh the index
	git("config", "core.fsmonitor", script)
	os.Remove(touched)
	return touched
}

// plantSecrets puts files that must never be opened where the clients have them.
func (s *seat) plantSecrets() {
	for _, name := range []string{".claude/.credentials.json", ".claude/sessions/1.key", ".codex/auth.json"} {
		path := filepath.Join(s.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("sk-ant-EXAMPLE"), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

var quotedPath = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

// traced runs one hook under strace and checks every call.
func (s *seat) traced(strace, event string) {
	s.t.Helper()
	log := filepath.Join(s.home, "trace")
	program := "reseat-directive"
	if event == "PreCompact" {
		program = "reseat-precompact"
	}
	hook := s.command(s.t.Context(), program)
	hook.Args = append([]string{strace, "-f", "-qq", "-y", "-s", "4096", "-e", "trace=" + changing, "-o", log}, hook.Args...)
	hook.Path = strace
	hook.Stdin = bytes.NewReader(s.payload(event))
	if out, err := hook.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", event, err, out)
	}
	trace, err := os.ReadFile(log)
	if err != nil {
		s.t.Fatal(err)
	}
	calls := 0
	for _, line := range strings.Split(string(trace), "\n") {
		if !strings.Contains(line, "(") || strings.Contains(line, "resumed>") {
			continue
		}
		calls++
		s.check(event, line)
	}
	if calls == 0 {
		s.t.Errorf("%s: nothing was traced", event)
	}
}

func (s *seat) check(event, line string) {
	for _, secret := range []string{".credentials.json", "auth.json", ".key\""} {
		if strings.Contains(line, secret) {
			s.t.Errorf("%s: a secret is touched: %s", event, line)
		}
	}
	opened := strings.Contains(line, "open")
	if opened && !strings.Contains(line, "O_WRONLY") && !strings.Contains(line, "O_RDWR") && !strings.Contains(line, "O_CREAT") && !strings.Contains(line, "O_TRUNC") {
		return
	}
	for _, found := range quotedPath.FindAllStringSubmatch(line, -1) {
		path := found[1]
		if path == "" || path == "/dev/null" || strings.HasPrefix(path, filepath.Join(s.home, "state")) {
			continue
		}
		if dir := heldDir(line); !filepath.IsAbs(path) && strings.HasPrefix(dir, filepath.Join(s.home, "state")) {
			continue
		}
		s.t.Errorf("%s writes outside the state: %s", event, line)
	}
}

// heldDir is the folder of a relative path, which strace -y shows beside the
// descriptor.
func heldDir(line string) string {
	_, rest, ok := strings.Cut(line, "<")
	if !ok {
		return ""
	}
	dir, _, _ := strings.Cut(rest, ">")
	return dir
}

// fingerprint lists all files below dir with their contents' hashes and times.
func fingerprint(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		lines = append(lines, fmt.Sprintf("%s %x %v", path, sha256.Sum256(data), info.ModTime()))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

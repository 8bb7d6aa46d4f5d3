//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// traced runs `reseat compact SEAT` under strace and returns the trace.
func traced(t *testing.T, h *home, name, program string, env []string, seat string) string {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatalf("strace is needed: %v", err)
	}
	log := filepath.Join(t.TempDir(), "trace")
	out := h.must(t, h.command("strace", clientOnPath(t, h, name, program, env),
		"-f", "-qq", "-s", "4096", "-o", log, "-e", "trace=%file,%process,ftruncate,fchmod",
		filepath.Join(h.Bin, "reseat"), "compact", seat, "--timeout", "90s"))
	if !strings.Contains(out.stdout, "compacted in") {
		t.Fatalf("not compacted: %s", out.stdout)
	}
	return readFile(t, log)
}

var (
	traceLine  = regexp.MustCompile(`^(\d+) +(.*)$`)
	traceChild = regexp.MustCompile(`(?:clone3?|v?fork)(?:\(| resumed).* = (\d+)$`)
	traceExec  = regexp.MustCompile(`^execve\("([^"]+)"`)
	tracePath  = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// ourCalls picks the calls of our own processes from a trace. A client that we
// started, and whatever it started, isn't ours.
func ourCalls(trace, program string) []string {
	parent, client := map[string]string{}, map[string]bool{}
	var lines [][2]string
	for line := range strings.Lines(trace) {
		m := traceLine.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil {
			continue
		}
		lines = append(lines, [2]string{m[1], m[2]})
		if c := traceChild.FindStringSubmatch(m[2]); c != nil {
			parent[c[1]] = m[1]
		}
		if e := traceExec.FindStringSubmatch(m[2]); e != nil && (e[1] == program || filepath.Base(e[1]) == filepath.Base(program)) {
			client[m[1]] = true
		}
	}
	isClients := func(pid string) bool {
		for steps := 0; pid != "" && steps < 1000; steps++ {
			if client[pid] {
				return true
			}
			pid = parent[pid]
		}
		return false
	}
	var ours []string
	for _, l := range lines {
		if !isClients(l[0]) {
			ours = append(ours, l[1])
		}
	}
	return ours
}

// checkCalls finds what our processes must never do in a client's folder: change
// anything, or open a credential. It returns how many calls looked there.
func checkCalls(t *testing.T, calls []string, folder string) {
	t.Helper()
	looked := 0
	for _, call := range calls {
		for _, m := range tracePath.FindAllStringSubmatch(call, -1) {
			path := m[1]
			base := filepath.Base(path)
			if strings.HasPrefix(call, "open") && (base == ".credentials.json" || base == "auth.json" || strings.HasSuffix(base, ".key")) {
				t.Errorf("a credential was opened: %s", call)
			}
			if path != folder && !strings.HasPrefix(path, folder+"/") {
				continue
			}
			looked++
			name, _, _ := strings.Cut(call, "(")
			switch {
			case strings.HasPrefix(name, "open"):
				if strings.Contains(call, "O_WRONLY") || strings.Contains(call, "O_RDWR") || strings.Contains(call, "O_CREAT") {
					t.Errorf("opened for writing: %s", call)
				}
			case strings.Contains(name, "stat"), strings.HasPrefix(name, "readlink"), strings.HasPrefix(name, "access"),
				strings.HasPrefix(name, "faccess"), name == "execve", name == "getxattr", name == "chdir":
			default:
				t.Errorf("changed: %s", call)
			}
		}
	}
	if looked == 0 {
		t.Error("nothing in the client's folder was looked at: the trace can't be right")
	}
}

func TestClaudeFilesAreOnlyReadWhileItIsCompacted(t *testing.T) {
	t.Parallel()
	c := newClaude(t, claudeVersions[0])
	putPrograms(t, c.Bin)
	folder := filepath.Join(c.Dir, ".claude")
	closed := c.say(t, "first words").SessionID
	c.resume(t, closed, "second words")
	c.write(t, ".claude/.credentials.json", `{"made":"up"}`)
	checkCalls(t, ourCalls(traced(t, c.home, "claude", c.program, c.claudeEnv(), "claude:"+closed), filepath.Join(c.Dir, "clients", "claude")), folder)
	if err := os.Remove(filepath.Join(folder, ".credentials.json")); err != nil {
		t.Fatal(err)
	}

	term := c.startTerminal(t)
	live := c.exchange(t, term, "third words")
	c.exchange(t, term, "fourth words")
	checkCalls(t, ourCalls(traced(t, c.home, "claude", c.program, c.claudeEnv(), "claude:"+live), filepath.Join(c.Dir, "clients", "claude")), folder)
}

func TestCodexFilesAreOnlyReadWhileItIsCompacted(t *testing.T) {
	t.Parallel()
	c := newCodex(t, withDaemon)
	putPrograms(t, c.Bin)
	c.scenes.On("first words", stubmodel.Text("answer"))
	server := startAppServer(t, c)
	closed := server.start(c)
	server.prompt(closed, "first words")
	server.close()
	program := filepath.Join(c.Dir, "clients", "codex")
	checkCalls(t, ourCalls(traced(t, c.home, "codex", c.program, c.codexEnv(), "codex:"+closed), program), c.configDir())
	term := c.startTerminal(t)
	live := c.exchange(t, term, "second words")
	checkCalls(t, ourCalls(traced(t, c.home, "codex", c.program, c.codexEnv(), "codex:"+live), program), c.configDir())
}

//go:build linux

package torture

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// ordinary is the user whom the hooks run as here: nothing is forbidden to root.
const ordinary = 65534

// failing is a way in which a machine refuses a call.
type failing struct {
	name  string
	words string   // what a message has to say
	calls []string // those it is tried on
}

var failings = []failing{
	{"ENOSPC", "no space left", []string{"openat", "write", "pwrite64", "mkdirat", "mkdir", "renameat", "rename", "renameat2", "linkat", "fsync", "fdatasync", "ftruncate", "utimensat"}},
	{"EIO", "input/output error", []string{"openat", "read", "pread64", "write", "pwrite64", "getdents64", "newfstatat", "fstat", "fsync", "fdatasync", "renameat"}},
	{"EROFS", "read-only file system", []string{"openat", "mkdirat", "mkdir", "renameat", "renameat2", "linkat", "unlinkat", "fchmodat", "fchmod", "utimensat", "ftruncate"}},
	{"EACCES", "permission denied", []string{"openat", "mkdirat", "mkdir", "renameat", "renameat2", "linkat", "unlinkat", "newfstatat", "fchmodat", "readlinkat", "faccessat", "faccessat2", "getdents64"}},
	{"EMFILE", "too many open files", []string{"openat", "dup", "dup3", "pipe2"}},
}

// fault is one call that fails, or that fails from then on.
type fault struct {
	failing
	point
	on bool
}

func (f fault) String() string {
	return fmt.Sprintf("%s at %s %d%s", f.name, f.call, f.n, f.when())
}

func (f fault) when() string {
	if f.on {
		return "+"
	}
	return ""
}

// faultsAt lists what can fail of the calls that a hook makes. A full or a
// read-only disk stays so: there each call is also tried with all later ones of
// its name.
func faultsAt(all []point) []fault {
	var found []fault
	for _, way := range failings {
		for _, p := range all {
			if !slices.Contains(way.calls, p.call) {
				continue
			}
			found = append(found, fault{way, p, false})
			if (way.name == "ENOSPC" || way.name == "EROFS") && p.call != "write" { // that would silence standard error too
				found = append(found, fault{way, p, true})
			}
		}
	}
	return found
}

// ended is a hook's run that met a fault.
type ended struct {
	code      int
	out       []byte
	complaint string
}

// fail runs the hook until the fault happened to it.
func (c *crash) fail(s *seat, strace, kept string, f fault) (on *seat, run ended, hit bool) {
	const tries = 20
	log := filepath.Join(filepath.Dir(s.dir), "trace")
	for range tries {
		on = s.back(kept)
		out, complaint, err := on.tracedWith(strace, c.event, "-f", "-qq", "-o", log, "-e", "trace="+f.call,
			"-e", fmt.Sprintf("inject=%s:error=%s:when=%d%s", f.call, f.name, f.n, f.when()))
		data, readErr := os.ReadFile(log)
		if readErr != nil {
			s.t.Fatal(readErr)
		}
		if strings.Contains(complaint, "netpollBreak") {
			continue // it met the runtime's eventfd, which is no file and never fails like this
		}
		if bytes.Contains(data, []byte("(INJECTED)")) {
			return on, ended{exitCode(err), out, complaint}, true
		}
	}
	return nil, ended{}, false
}

func exitCode(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return -1
}

// said is where a person finds what failed: "systemMessage", "receipt" or
// "stderr". named: it says so in the system's words. before is how many receipts
// there were.
func (s *seat) said(run ended, before int, words string) (where string, named bool) {
	var doc struct {
		Message string `json:"systemMessage"`
	}
	if json.Unmarshal(run.out, &doc) == nil && doc.Message != "" {
		return "systemMessage", strings.Contains(doc.Message, words)
	}
	if text := s.lastReceipt(); s.receipts() > before && text != "" {
		var r struct{ Event, Reason, Error string }
		if json.Unmarshal([]byte(text), &r) == nil && r.Event != "" && (r.Error != "" || r.Reason != "") {
			return "receipt", strings.Contains(r.Error+r.Reason, words)
		}
	}
	if run.complaint != "" {
		return "stderr", strings.Contains(run.complaint, words)
	}
	return "", false
}

// lastReceipt is the last line of the newest receipts.
func (s *seat) lastReceipt() string {
	files, _ := filepath.Glob(filepath.Join(s.state(), "receipts", "*.jsonl"))
	if len(files) == 0 {
		return ""
	}
	data, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)-1]
}

// receipts counts the lines.
func (s *seat) receipts() int {
	files, _ := filepath.Glob(filepath.Join(s.state(), "receipts", "*.jsonl"))
	n := 0
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			s.t.Fatal(err)
		}
		n += bytes.Count(data, []byte("\n"))
	}
	return n
}

// belongsTo gives the whole seat to the user whom the hooks run as.
func (s *seat) belongsTo(user int) {
	s.t.Helper()
	if os.Geteuid() != 0 {
		return // an ordinary user's already
	}
	s.user = &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}
	if err := s.own(filepath.Dir(s.dir)); err != nil {
		s.t.Fatal(err)
	}
}

// contents is what an attempt's folder holds.
func (s *seat) contents(attempt string) string {
	s.t.Helper()
	var all strings.Builder
	dirs, _ := filepath.Glob(filepath.Join(s.state(), "s", "*", "c", attempt))
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			fmt.Fprintf(&all, "%s %x\n", strings.TrimPrefix(path, dir), sha256.Sum256(data))
			return err
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	return all.String()
}

// didItsWork reports whether the fault didn't keep the hook from what it is for.
func (c *crash) didItsWork(s *seat, run ended, text string) bool {
	newest := s.attempts()[len(s.attempts())-1]
	stands := func(state string) bool {
		_, err := os.Stat(filepath.Join(newest, "state."+state))
		return err == nil
	}
	switch c.event {
	case "PreCompact":
		return stands("prepared") && len(run.out) == 0
	case "PostCompact":
		return stands("armed")
	}
	return text != ""
}

// afterFault is how the client goes on behind a hook that said text.
func (c *crash) afterFault(s *seat, text string) {
	switch c.event {
	case "PreCompact":
		happens(s)
		reaches(s, s.hook("SessionStart"))
	case "SessionStart":
		reaches(s, text)
	case "PostCompact":
		if !codex(s) {
			s.boundary()
		}
		s.starts()
	default:
		s.prompt()
		s.inject(text)
		s.answer()
	}
}

// outcomes counts what came of the faults of one kind.
type outcomes struct{ points, done, systemMessage, receipt, stderr, silent int }

func (o *outcomes) add(where string) {
	o.points++
	switch where {
	case "done":
		o.done++
	case "systemMessage":
		o.systemMessage++
	case "receipt":
		o.receipt++
	case "stderr":
		o.stderr++
	default:
		o.silent++
	}
}

// TestCallsThatFail lets each call that touches a file fail, as an ordinary user
// meets it. The hook ends with exit code 0; what was kept before stays whole;
// where it couldn't do its work somebody says what failed; and the directive
// comes by the next chance, once.
func TestCallsThatFail(t *testing.T) {
	strace := haveStrace(t)
	table := map[string]*outcomes{}
	for _, runtime := range runtimes {
		for i := range crashes {
			c := &crashes[i]
			t.Run(strings.ReplaceAll(runtime+"/"+c.name, " ", "-"), func(t *testing.T) {
				c.failsAll(t, strace, runtime, table)
			})
		}
	}
	var report strings.Builder
	fmt.Fprintf(&report, "%-34s %7s %9s | %13s %8s %7s %7s\n", "", "points", "work done", "systemMessage", "receipt", "stderr", "silent")
	for _, name := range slices.Sorted(maps.Keys(table)) {
		o := table[name]
		fmt.Fprintf(&report, "%-34s %7d %9d | %13d %8d %7d %7d\n", name, o.points, o.done, o.systemMessage, o.receipt, o.stderr, o.silent)
	}
	t.Logf("faults, and what came of them\n%s", report.String())
}

func (c *crash) failsAll(t *testing.T, strace, runtime string, table map[string]*outcomes) {
	root := memory(t)
	s := newSeat(t, runtime, filepath.Join(root, "seat"))
	s.compact()
	if err := s.settle(1); err != nil {
		t.Fatal(err)
	}
	earlier := filepath.Base(s.attempts()[0])
	c.before(s)
	s.belongsTo(ordinary)
	kept := filepath.Join(root, "kept")
	s.keep(kept)
	before := s.receipts()
	intact := s.contents(earlier)
	all := faultsAt(c.points(s, strace, kept))
	if !*full {
		all = some(all, 2*sample)
	}
	wrong := 0
	for _, f := range all {
		on, run, hit := c.fail(s, strace, kept, f)
		if !hit {
			t.Logf("%s never happened", f)
			continue
		}
		complain := func(format string, args ...any) {
			wrong++
			t.Errorf("%s: %s\n  exit %d, %s, stdout %.300q, stderr %q, receipt %s", f, fmt.Sprintf(format, args...), run.code, on.states(), run.out, run.complaint, on.lastReceipt())
		}
		if run.code != 0 {
			complain("exit code %d", run.code)
		}
		if err := on.torn(); err != nil {
			complain("%v", err)
		}
		if now := on.contents(earlier); now != intact {
			complain("the earlier attempt was touched:\n%s\n%s", intact, now)
		}
		where := "done"
		text := on.accepted(run.out, false)
		if !c.didItsWork(on, run, text) {
			var named bool
			where, named = on.said(run, before, f.words)
			if where == "" || !named {
				complain("it is said %q, and not what failed", where)
			}
		}
		key := f.name + " " + c.name
		if table[key] == nil {
			table[key] = &outcomes{}
		}
		table[key].add(where)
		c.afterFault(on, text)
		if err := on.settle(1); err != nil {
			complain("%v", err)
		}
		if wrong > 5 {
			t.Fatal("enough")
		}
	}
	t.Logf("%d faults", len(all))
}

//go:build linux

package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var full = flag.Bool("full", false, "run everything, not a sample")

// programs are built once for all tests, as they are installed: stripped.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reseat-torture-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o755); err != nil { // another user runs them too
		return "", err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", dir,
		"./cmd/reseat", "./cmd/reseat-precompact", "./cmd/reseat-directive")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// memory is a folder in memory where the system has one: these tests write a
// lot.
func memory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "reseat-torture-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// seat is one made-up session of a client that behaves like the real ones, with
// real hook processes. Everything of it lies below dir.
type seat struct {
	t          testing.TB
	bin        string
	dir        string
	home       string // the state folder, "": below dir
	runtime    string
	version    string
	session    string
	env        []string
	user       *syscall.Credential // whom the hooks run as, nil: us
	turns      int
	compaction int
	last       time.Time // of the newest record
	got        []string  // what came into the context since the last compaction
}

func newSeat(t testing.TB, runtime, dir string) *seat {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	s := &seat{t: t, bin: bin, dir: dir, runtime: runtime, version: "2.1.332", session: "0f9d2f7c-1111-4222-8333-444455556666"}
	if runtime == "codex" {
		s.version = "0.171.0"
	}
	for _, dir := range []string{dir, s.work()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if runtime == "codex" {
		s.write(m{"timestamp": s.stamp(), "type": "session_meta", "payload": m{"id": s.session, "cwd": s.work(), "cli_version": s.version}})
	}
	s.prompt()
	s.answer()
	return s
}

func (s *seat) work() string { return filepath.Join(s.dir, "work") }

func (s *seat) state() string {
	if s.home != "" {
		return s.home
	}
	return filepath.Join(s.dir, "state")
}

func (s *seat) transcript() string { return filepath.Join(s.dir, s.session+".jsonl") }

type m = map[string]any

// stamp is the time of the next record: each is later than the one before, and
// than the hooks that ran before it.
func (s *seat) stamp() string {
	now := time.Now().Add(time.Millisecond)
	if !now.After(s.last.Add(time.Millisecond)) {
		now = s.last.Add(time.Millisecond)
	}
	s.last = now
	return now.UTC().Format("2006-01-02T15:04:05.000Z")
}

func (s *seat) write(records ...any) {
	s.t.Helper()
	var all []byte
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(append(all, line...), '\n')
	}
	f, err := os.OpenFile(s.transcript(), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(all); err != nil {
		s.t.Fatal(err)
	}
}

func (s *seat) claude(kind string, more m) m {
	r := m{
		"type": kind, "uuid": fmt.Sprintf("%s-%d", s.session, time.Now().UnixNano()), "sessionId": s.session, "cwd": s.work(),
		"timestamp": s.stamp(), "version": s.version, "isSidechain": false, "userType": "external",
	}
	for k, v := range more {
		r[k] = v
	}
	return r
}

func (s *seat) codex(kind string, payload m) m {
	return m{"timestamp": s.stamp(), "type": kind, "payload": payload}
}

func (s *seat) prompt() {
	s.turns++
	text := fmt.Sprintf("Find out why the importer drops every seventh record, part %d.", s.turns)
	if s.runtime == "codex" {
		s.write(
			s.codex("response_item", m{"type": "message", "role": "user", "content": []any{m{"type": "input_text", "text": text}}}),
			s.codex("event_msg", m{"type": "user_message", "message": text}),
		)
		return
	}
	s.write(s.claude("user", m{"message": m{"role": "user", "content": text}}))
}

func (s *seat) answer() {
	text := fmt.Sprintf("I have suspect %d in the reader.", s.turns)
	if s.runtime == "codex" {
		s.write(
			s.codex("event_msg", m{"type": "agent_message", "message": text}),
			s.codex("response_item", m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": text}}}),
		)
		return
	}
	s.write(s.claude("assistant", m{"message": m{
		"role": "assistant", "id": fmt.Sprintf("msg_%d", s.turns), "model": "made-up", "content": []any{m{"type": "text", "text": text}},
	}}))
}

func (s *seat) boundary() {
	if s.runtime == "codex" {
		s.write(s.codex("compacted", m{"message": "a summary", "replacement_history": []any{}}))
		return
	}
	s.write(s.claude("system", m{"subtype": "compact_boundary", "compactMetadata": m{"trigger": "manual"}}))
}

// inject is what a client does with accepted output: the text is in the context,
// and its trace in the transcript.
func (s *seat) inject(text string) {
	if text == "" {
		return
	}
	s.got = append(s.got, text)
	if s.runtime == "codex" {
		s.write(s.codex("response_item", m{"type": "message", "role": "developer", "content": []any{m{"type": "input_text", "text": text}}}))
		return
	}
	s.write(s.claude("attachment", m{"attachment": m{
		"type": "hook_additional_context", "hookEvent": "SessionStart", "hookName": "SessionStart", "content": []any{text},
	}}))
}

// compacts is the moment from which on the context is a new one.
func (s *seat) compacts() {
	s.got = nil
	s.compaction++
}

func (s *seat) payload(event string) []byte {
	turn := fmt.Sprintf("turn-%d", s.turns)
	if event != "UserPromptSubmit" {
		turn = fmt.Sprintf("compaction-%d", s.compaction)
		if event == "PreCompact" {
			turn = fmt.Sprintf("compaction-%d", s.compaction+1)
		}
	}
	p := m{"session_id": s.session, "transcript_path": s.transcript(), "cwd": s.work(), "hook_event_name": event}
	switch event {
	case "SessionStart":
		p["source"] = "compact"
	case "UserPromptSubmit":
		p["prompt"] = "go on"
	default:
		p["trigger"] = "manual"
	}
	if s.runtime == "claude" {
		p["prompt_id"] = turn
	} else if event != "SessionStart" {
		p["turn_id"] = turn
	}
	doc, err := json.Marshal(p)
	if err != nil {
		s.t.Fatal(err)
	}
	return doc
}

// command is a hook as the client starts it.
func (s *seat) command(ctx context.Context, event string) *exec.Cmd {
	program := "reseat-directive"
	if event == "PreCompact" {
		program = "reseat-precompact"
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), "--runtime", s.runtime, "--home", s.state())
	cmd.Env = append([]string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}, s.env...)
	if s.runtime == "claude" {
		cmd.Env = append(cmd.Env, "AI_AGENT=claude-code_"+strings.ReplaceAll(s.version, ".", "-")+"_harness")
	}
	cmd.Dir = s.work()
	cmd.Stdin = bytes.NewReader(s.payload(event))
	if s.user != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.user}
	}
	return cmd
}

// hook runs an undisturbed hook and returns what comes into the context.
func (s *seat) hook(event string) string {
	s.t.Helper()
	var out, complaint bytes.Buffer
	cmd := s.command(s.t.Context(), event)
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		s.t.Errorf("%s: %v\n%s", event, err, complaint.String())
	}
	return s.accepted(out.Bytes(), false)
}

// accepted is what the client makes of a hook's output. Claude Code injects a
// whole document even of a hook that was killed; Codex discards that.
func (s *seat) accepted(out []byte, killed bool) string {
	if len(out) == 0 || killed && s.runtime == "codex" {
		return ""
	}
	var doc struct {
		Out struct {
			Context string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		if !killed {
			s.t.Errorf("no JSON document was printed: %q", out)
		}
		return ""
	}
	return doc.Out.Context
}

// talk is a whole undisturbed turn.
func (s *seat) talk() {
	s.t.Helper()
	text := s.hook("UserPromptSubmit")
	s.prompt()
	s.inject(text)
	s.answer()
}

// starts runs SessionStart(compact) and injects what comes of it.
func (s *seat) starts() { s.inject(s.hook("SessionStart")) }

// compact is one whole undisturbed compaction up to the next turn.
func (s *seat) compact() {
	s.t.Helper()
	s.hook("PreCompact")
	s.compacts()
	if s.runtime == "codex" {
		s.boundary()
		s.hook("PostCompact")
		s.starts()
		return
	}
	text := s.hook("SessionStart")
	s.hook("PostCompact")
	s.boundary()
	s.inject(text)
}

// settle is a calm end: three turns, and the context holds so many directives.
func (s *seat) settle(want int) error {
	for range 3 {
		s.talk()
	}
	if len(s.got) != want {
		return fmt.Errorf("%d directives in the context, want %d: %.300q; %s", len(s.got), want, s.got, s.states())
	}
	return nil
}

// attempts lists the folders of the attempts, oldest first.
func (s *seat) attempts() []string {
	found, err := filepath.Glob(filepath.Join(s.state(), "s", "*", "c", "[0-9]*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

// states says where the attempts stand.
func (s *seat) states() string {
	var all []string
	for _, dir := range s.attempts() {
		found, _ := filepath.Glob(filepath.Join(dir, "state.*"))
		for i := range found {
			found[i] = strings.TrimPrefix(filepath.Base(found[i]), "state.")
		}
		all = append(all, filepath.Base(dir)+" "+strings.Join(found, "+"))
	}
	return strings.Join(all, ", ")
}

// torn looks at all packets that have their final name: each must be whole.
func (s *seat) torn() error {
	for _, dir := range s.attempts() {
		states, _ := filepath.Glob(filepath.Join(dir, "state.*"))
		if len(states) != 1 {
			return fmt.Errorf("attempt %s has %d state files", dir, len(states))
		}
		packets, _ := filepath.Glob(filepath.Join(dir, "packet*"))
		for _, p := range packets {
			if strings.HasSuffix(p, "tmp") {
				continue
			}
			check := exec.Command(filepath.Join(s.bin, "reseat"), "packet", "validate", p)
			check.Env = []string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}
			if out, err := check.CombinedOutput(); err != nil {
				return fmt.Errorf("packet %s: %w\n%s", p, err, out)
			}
		}
		if s := filepath.Base(states[0]); s != "state.begun" && s != "state.superseded" {
			data, err := os.ReadFile(filepath.Join(dir, "record.json"))
			if err != nil || !json.Valid(data) {
				return fmt.Errorf("attempt %s is %s and its record can't be read: %v", dir, s, err)
			}
		}
	}
	return nil
}

// keep copies the whole seat aside, with all times.
func (s *seat) keep(to string) {
	s.t.Helper()
	if err := copyTree(s.dir, to); err != nil {
		s.t.Fatal(err)
	}
}

// back puts a kept copy in the place of what is there, so that all paths in it
// stay true, and returns a seat as it was then.
func (s *seat) back(from string) *seat {
	s.t.Helper()
	if err := os.RemoveAll(s.dir); err != nil {
		s.t.Fatal(err)
	}
	if err := copyTree(from, s.dir); err != nil {
		s.t.Fatal(err)
	}
	if err := s.own(s.dir); err != nil {
		s.t.Fatal(err)
	}
	again := *s
	again.got = append([]string(nil), s.got...)
	return &again
}

// own gives all below dir to the user whom the hooks run as.
func (s *seat) own(dir string) error {
	if s.user == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(s.user.Uid), int(s.user.Gid))
	})
}

func copyTree(from, to string) error {
	type folder struct {
		path string
		time time.Time
	}
	var folders []folder
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		if d.IsDir() {
			folders = append(folders, folder{dst, info.ModTime()})
			return os.Mkdir(dst, info.Mode().Perm())
		}
		if err := copyFile(path, dst, info.Mode().Perm()); err != nil {
			return err
		}
		return os.Chtimes(dst, info.ModTime(), info.ModTime())
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		err = os.Chtimes(folders[i].path, folders[i].time, folders[i].time)
	}
	return err
}

func copyFile(from, to string, perm fs.FileMode) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	_, err = io.Copy(dst, src)
	return err
}

// haveStrace finds strace and sees that it may trace here.
func haveStrace(t testing.TB) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace isn't installed (apt-get install strace)")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace can't trace here: %v: %s", err, out)
	}
	return strace
}

var runtimes = []string{"claude", "codex"}

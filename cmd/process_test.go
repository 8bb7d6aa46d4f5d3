package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// programs are built once for all tests of this package.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reseat-programs-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "./reseat", "./reseat-precompact", "./reseat-directive").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// measureVariable makes the test program a wrapper that runs its arguments and
// prints what they held.
const measureVariable = "RESEAT_TEST_MEASURE"

func TestMain(m *testing.M) {
	if os.Getenv(measureVariable) != "" {
		os.Exit(measure(os.Args[1:]))
	}
	code := m.Run()
	if dir, err := programs(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// seat is one made-up session with a home of its own, for real processes.
type seat struct {
	t          *testing.T
	bin        string
	home       string
	work       string
	transcript string
	runtime    string
	session    string
}

func newSeat(t *testing.T, runtime string) *seat {
	t.Helper()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s := &seat{t: t, bin: bin, home: home, work: filepath.Join(home, "work"), runtime: runtime, session: "0f9d2f7c-1111-4222-8333-444455556666"}
	s.transcript = filepath.Join(home, "transcript.jsonl")
	if err := os.Mkdir(s.work, 0o755); err != nil {
		t.Fatal(err)
	}
	s.turn("Find out why the importer drops every seventh record.", "I have a first suspect in the reader.")
	return s
}

type m = map[string]any

func (s *seat) write(records ...any) {
	s.t.Helper()
	f, err := os.OpenFile(s.transcript, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for _, r := range records {
		line, err := json.Marshal(r)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			s.t.Fatal(err)
		}
	}
}

func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

func (s *seat) record(kind string, more m) m {
	r := m{
		"type": kind, "uuid": fmt.Sprintf("%016x", rand.Uint64()), "sessionId": s.session, "cwd": s.work,
		"timestamp": stamp(), "version": "2.1.332", "isSidechain": false, "userType": "external",
	}
	for k, v := range more {
		r[k] = v
	}
	return r
}

// turn writes one turn in the client's form.
func (s *seat) turn(request, answer string) {
	if s.runtime == "codex" {
		if _, err := os.Stat(s.transcript); err != nil {
			s.write(m{"timestamp": stamp(), "type": "session_meta", "payload": m{"id": s.session, "cwd": s.work, "cli_version": "0.171.0"}})
		}
		s.write(
			m{"timestamp": stamp(), "type": "response_item", "payload": m{"type": "message", "role": "user", "content": []any{m{"type": "input_text", "text": request}}}},
			m{"timestamp": stamp(), "type": "event_msg", "payload": m{"type": "user_message", "message": request}},
			m{"timestamp": stamp(), "type": "event_msg", "payload": m{"type": "agent_message", "message": answer}},
			m{"timestamp": stamp(), "type": "response_item", "payload": m{"type": "message", "role": "assistant", "content": []any{m{"type": "output_text", "text": answer}}}},
		)
		return
	}
	s.write(
		s.record("user", m{"message": m{"role": "user", "content": request}}),
		s.record("assistant", m{"message": m{"role": "assistant", "id": "msg_made_up", "model": "made-up", "content": []any{m{"type": "text", "text": answer}}}}),
	)
}

func (s *seat) boundary() {
	if s.runtime == "codex" {
		s.write(m{"timestamp": stamp(), "type": "compacted", "payload": m{"message": "summary", "replacement_history": []any{}}})
		return
	}
	s.write(s.record("system", m{"subtype": "compact_boundary", "compactMetadata": m{"trigger": "manual"}}))
}

func (s *seat) payload(event string) []byte {
	doc, err := json.Marshal(m{
		"session_id": s.session, "transcript_path": s.transcript, "cwd": s.work, "hook_event_name": event,
		"source": "compact", "trigger": "manual", "prompt_id": "p1", "turn_id": "p1", "prompt": "go on",
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return doc
}

// command is a hook program as a client starts it.
func (s *seat) command(ctx context.Context, program string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), "--runtime", s.runtime, "--home", filepath.Join(s.home, "state"))
	cmd.Env = []string{"HOME=" + s.home, "PATH=" + os.Getenv("PATH")}
	cmd.Dir = s.work
	return cmd
}

// run runs a hook on an event and returns what it printed.
func (s *seat) run(event string) (stdout, stderr string, code int) {
	s.t.Helper()
	program := "reseat-directive"
	if event == "PreCompact" {
		program = "reseat-precompact"
	}
	var out, complaint bytes.Buffer
	cmd := s.command(s.t.Context(), program)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(s.payload(event)), &out, &complaint
	code = exitCode(s.t, cmd.Run())
	return out.String(), complaint.String(), code
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	t.Fatal(err)
	return -1
}

var runtimes = []string{"claude", "codex"}

// TestFiftyProcessesAtOnceDeliverOne: one prints, 49 are silent, all exit 0.
func TestFiftyProcessesAtOnceDeliverOne(t *testing.T) {
	for _, runtime := range runtimes {
		for _, prepared := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/prepared=%v", runtime, prepared), func(t *testing.T) {
				s := newSeat(t, runtime)
				if prepared {
					if out, complaint, code := s.run("PreCompact"); out != "" || code != 0 || complaint != "" {
						t.Fatalf("PreCompact: printed %q, complained %q, exit %d", out, complaint, code)
					}
				}
				if runtime == "codex" {
					s.boundary()
					if prepared {
						s.run("PostCompact")
					}
				}
				printed := s.race(50, "SessionStart")
				if len(printed) != 1 {
					t.Fatalf("%d of 50 processes printed, want 1: %.300q", len(printed), printed)
				}
				if !strings.Contains(printed[0], "every seventh record") {
					t.Errorf("the directive doesn't name the task: %s", printed[0])
				}
			})
		}
	}
}

// race starts n processes at random moments within 20 ms and returns what those
// that printed something printed.
func (s *seat) race(n int, event string) []string {
	s.t.Helper()
	outs := make([]bytes.Buffer, n)
	var wait sync.WaitGroup
	for i := range n {
		cmd := s.command(s.t.Context(), "reseat-directive")
		cmd.Stdin, cmd.Stdout = bytes.NewReader(s.payload(event)), &outs[i]
		wait.Go(func() {
			time.Sleep(time.Duration(rand.IntN(20_000)) * time.Microsecond) // the race itself, not a wait
			if err := cmd.Run(); err != nil {
				s.t.Errorf("process %d: %v", i, err)
			}
		})
	}
	wait.Wait()
	var printed []string
	for i := range outs {
		if outs[i].Len() == 0 {
			continue
		}
		if !json.Valid(outs[i].Bytes()) {
			s.t.Errorf("process %d printed no valid JSON: %q", i, outs[i].String())
		}
		printed = append(printed, outs[i].String())
	}
	return printed
}

// TestAnythingOnStandardInputHarmsNobody: exit 0, nothing or valid JSON.
func TestAnythingOnStandardInputHarmsNobody(t *testing.T) {
	inputs := map[string]func() io.Reader{
		"empty":     func() io.Reader { return strings.NewReader("") },
		"null":      func() io.Reader { return strings.NewReader("null") },
		"array":     func() io.Reader { return strings.NewReader("[]") },
		"truncated": func() io.Reader { return strings.NewReader(`{"session_id":"s","hook_event_name":"PreCompact`) },
		"40 MB": func() io.Reader {
			return io.MultiReader(strings.NewReader(`{"prompt":"`), bytes.NewReader(make40MB()), strings.NewReader(`"}`))
		},
		"wrong types": func() io.Reader {
			return strings.NewReader(`{"session_id":1,"hook_event_name":{},"cwd":[],"transcript_path":false}`)
		},
		"odd types": func() io.Reader {
			return strings.NewReader(`{"session_id":"s","hook_event_name":"SessionStart","source":"compact","cwd":[],"transcript_path":7}`)
		},
		"binary": func() io.Reader { return bytes.NewReader([]byte{0, 0xff, 0xfe, '{', 0}) },
		"odd ids": func() io.Reader {
			return strings.NewReader(`{"session_id":"../../x\u0000/..","hook_event_name":"PreCompact","transcript_path":"/dev/zero","cwd":"/nowhere"}`)
		},
		"a fifo": nil, // held open and never closed: see below
	}
	for _, program := range []string{"reseat-precompact", "reseat-directive"} {
		for _, runtime := range append(runtimes, "other") {
			for name, input := range inputs {
				t.Run(program+"/"+runtime+"/"+name, func(t *testing.T) {
					t.Parallel()
					s := newSeat(t, "claude")
					s.runtime = runtime
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					defer cancel()
					cmd := s.command(ctx, program)
					var out bytes.Buffer
					cmd.Stdout = &out
					if input != nil {
						cmd.Stdin = input()
					} else {
						held, err := cmd.StdinPipe()
						if err != nil {
							t.Fatal(err)
						}
						defer held.Close()
					}
					start := time.Now()
					err := cmd.Run()
					if code := exitCode(t, err); code != 0 {
						t.Errorf("exit %d", code)
					}
					if out.Len() > 0 && !json.Valid(out.Bytes()) {
						t.Errorf("printed %q", out.String())
					}
					if took := time.Since(start); ctx.Err() != nil {
						t.Errorf("still running after %v", took)
					}
				})
			}
		}
	}
}

func make40MB() []byte { return bytes.Repeat([]byte("x"), 40<<20) }

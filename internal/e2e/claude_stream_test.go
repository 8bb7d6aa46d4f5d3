//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
)

// stream is a Claude Code that goes on running and takes prompts as JSON
// lines: many turns in one process, as in a terminal or under an SDK.
type stream struct {
	t      *testing.T
	run    *exec.Cmd
	stdin  io.WriteCloser
	said   stubmodel.Log[gjson.Result] // every line of its stdout
	stderr bytes.Buffer
	closed chan struct{} // stdout is at its end
}

// startStream starts one in the home; it ends with the test at the latest.
func (c *claude) startStream(t *testing.T, flags ...string) *stream {
	t.Helper()
	args := append([]string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"}, flags...)
	s := &stream{t: t, run: exec.Command(c.program, args...), closed: make(chan struct{})}
	s.run.Env, s.run.Dir, s.run.Stderr = c.claudeEnv(), c.Project, &s.stderr
	s.run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := s.run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := s.run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdin = stdin
	if err := s.run.Start(); err != nil {
		t.Fatal(err)
	}
	go s.read(stdout)
	t.Cleanup(s.kill)
	return s
}

func (s *stream) read(stdout io.Reader) {
	defer close(s.closed)
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			s.said.Add(gjson.ParseBytes(line))
		}
		if err != nil {
			return
		}
	}
}

// all says prompts one after the other, ends the client, and returns the
// session.
func (s *stream) all(prompts ...string) (session string) {
	s.t.Helper()
	for _, prompt := range prompts {
		session = s.say(prompt).SessionID
	}
	s.end()
	return session
}

// say sends a prompt and waits for its turn's result.
func (s *stream) say(prompt string) turn {
	s.t.Helper()
	from := s.said.Len()
	message, err := json.Marshal(map[string]any{
		"type": "user", "message": map[string]any{"role": "user", "content": prompt},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.stdin.Write(append(message, '\n')); err != nil {
		s.t.Fatalf("%q: %v\nstderr: %s", prompt, err, tail(s.stderr.String()))
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), commandTimeout)
	defer cancel()
	seen := 0
	result, err := s.said.Wait(ctx, func(line gjson.Result) bool {
		seen++
		return seen > from && line.Get("type").String() == "result"
	})
	if err != nil {
		s.t.Fatalf("%q: %v\nstderr: %s", prompt, err, tail(s.stderr.String()))
	}
	var said turn
	if err := json.Unmarshal([]byte(result.Raw), &said); err != nil {
		s.t.Fatal(err)
	}
	return said
}

// end closes the client's stdin and waits until it is gone.
func (s *stream) end() {
	s.t.Helper()
	_ = s.stdin.Close()
	<-s.closed
	if err := s.run.Wait(); err != nil {
		s.t.Errorf("ending the client: %v\nstderr: %s", err, tail(s.stderr.String()))
	}
}

// kill ends the client and what it started, if it is still there.
func (s *stream) kill() {
	if s.run.ProcessState == nil {
		_ = syscall.Kill(-s.run.Process.Pid, syscall.SIGKILL)
		<-s.closed
		_ = s.run.Wait()
	}
}

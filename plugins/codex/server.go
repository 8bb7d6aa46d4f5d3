package codex

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is a Codex app-server of our own: JSON lines on its stdin and stdout.
type server struct {
	*conn
	cmd    *exec.Cmd
	stderr tail
	once   sync.Once
}

// startServer starts an app-server in dir. It ends with the context.
func (a *Adapter) startServer(ctx context.Context, dir string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, a.program, "app-server")}
	s.cmd.Dir = dir
	s.cmd.Env = clientEnviron(os.Environ(), dir)
	s.cmd.Stderr = &s.stderr
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	s.cmd.WaitDelay = 5 * time.Second
	stdin, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting an app-server: %w", err)
	}
	greeting, cancel := context.WithTimeout(ctx, 4*dialTimeout)
	defer cancel()
	w := &lines{in: stdin, out: bufio.NewReaderSize(stdout, 64<<10)}
	if s.conn, err = connect(greeting, w, a.version); err != nil {
		_ = s.cmd.Cancel()
		_ = s.cmd.Wait()
		return nil, fmt.Errorf("%w%s", err, s.said())
	}
	return s, nil
}

// said is the last line that the server wrote to stderr, for an error.
func (s *server) said() string {
	text := strings.TrimSpace(s.stderr.String())
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if text == "" {
		return ""
	}
	return fmt.Sprintf(" (it said: %q)", text)
}

// end closes the server's stdin, at which it goes, and waits for it. A server
// that stays is asked, and then made, to go.
func (s *server) end() {
	s.once.Do(func() {
		_ = s.wire.close()
		stop := time.AfterFunc(5*time.Second, func() { _ = s.cmd.Cancel() })
		defer stop.Stop()
		kill := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
		defer kill.Stop()
		<-s.done
		_ = s.cmd.Wait()
	})
}

// clientEnviron is the adapter's environment without what concerns adapters.
func clientEnviron(environ []string, dir string) []string {
	var out []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "RESEAT_ADAPTER_") || name == "RESEAT_RUNTIME_ADAPTER" || name == "PWD" {
			continue
		}
		out = append(out, entry)
	}
	return append(out, "PWD="+dir)
}

// lines is a wire of one JSON message a line.
type lines struct {
	mu  sync.Mutex
	in  io.WriteCloser
	out *bufio.Reader
}

func (l *lines) send(_ context.Context, message []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.in.Write(append(bytes.Clone(message), '\n'))
	return err
}

// receive returns the next line; one longer than maxFrame is passed over.
func (l *lines) receive(context.Context) ([]byte, error) {
	for {
		var line []byte
		long := false
		for {
			part, err := l.out.ReadSlice('\n')
			if !long {
				line = append(line, part...)
			}
			if long = long || len(line) > maxFrame; long {
				line = nil
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return nil, err
			}
		}
		if !long {
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

func (l *lines) close() error { return l.in.Close() }

// tail keeps the last bytes written to it.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const keepTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p)
	if over := t.b.Len() - keepTail; over > 0 {
		t.b.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// process runs an adapter for go-plugin. go-plugin's own runner hands our stdin
// on, kills the adapter alone and then waits for every process that holds its
// stderr. This one gives it a lifeline for stdin, and ends the adapter's whole
// group and the pipes with it.
type process struct {
	cmd      *exec.Cmd
	stdout   *os.File
	stderr   *os.File
	lifeline *os.File // our end of the adapter's stdin
	theirs   []*os.File
	killed   sync.Once
}

var _ runner.Runner = (*process)(nil)

// newProcess prepares an adapter's process; nothing is started. The pin, if
// any, is checked by Start, as late as can be.
func newProcess(path string, env []string) (*process, error) {
	p := &process{cmd: exec.Command(path)}
	p.cmd.Env = env
	p.cmd.Dir = "/"
	ownGroup(p.cmd)
	pipe := func(ours **os.File, reading bool) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			return nil
		}
		if reading {
			*ours = r
			p.theirs = append(p.theirs, w)
			return w
		}
		*ours = w
		p.theirs = append(p.theirs, r)
		return r
	}
	stdin, stdout, stderr := pipe(&p.lifeline, false), pipe(&p.stdout, true), pipe(&p.stderr, true)
	if stdin == nil || stdout == nil || stderr == nil {
		p.close()
		return nil, errors.New("no pipe for the adapter")
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = stdin, stdout, stderr
	return p, nil
}

// checkPin compares a program with what was allowed. The SecureConfig is made
// anew each time: its hash keeps what it has summed.
func checkPin(path string, pin *Pin, remedy string) error {
	sum, err := hex.DecodeString(pin.SHA256)
	if err != nil {
		return fmt.Errorf("adapter %q: its pin: %w", path, err)
	}
	same, err := (&goplugin.SecureConfig{Checksum: sum, Hash: sha256.New()}).Check(path)
	if err != nil {
		return fmt.Errorf("adapter %q: checking its pin: %w", path, err)
	}
	if !same {
		return &RefusedError{Path: path, Reason: "it has changed since it was allowed", Remedy: "if that was you, " + remedy}
	}
	return nil
}

func (p *process) Start(context.Context) error {
	err := p.cmd.Start()
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
	if err != nil {
		p.close()
	}
	return err
}

// Wait ends what the adapter left behind in its group before the adapter itself
// is reaped: until then no other process can have the group's number.
func (p *process) Wait(context.Context) error {
	if exited(p.cmd.Process) {
		killGroup(p.cmd.Process)
	}
	return p.cmd.Wait()
}

func (p *process) Kill(context.Context) error {
	p.killed.Do(func() {
		if p.cmd.Process != nil {
			killGroup(p.cmd.Process)
		}
		p.close()
	})
	return nil
}

// close gives up all pipes: the readers of stdout and stderr end, whoever holds
// the other ends.
func (p *process) close() {
	for _, f := range append(p.theirs, p.lifeline, p.stdout, p.stderr) {
		if f != nil {
			f.Close()
		}
	}
}

func (p *process) Stdout() io.ReadCloser { return p.stdout }
func (p *process) Stderr() io.ReadCloser { return p.stderr }
func (p *process) Name() string          { return p.cmd.Path }

func (p *process) ID() string {
	if p.cmd.Process == nil {
		return ""
	}
	return strconv.Itoa(p.cmd.Process.Pid)
}

func (p *process) Diagnose(context.Context) string { return "" }

func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

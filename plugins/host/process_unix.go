//go:build unix

package host

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the adapter and what it starts into a group of its own: a
// Ctrl-C at our terminal then reaches us alone, and we end the call in order.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

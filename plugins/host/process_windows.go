package host

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup keeps a Ctrl-C at our console from the adapter.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func killGroup(p *os.Process) { _ = p.Kill() }

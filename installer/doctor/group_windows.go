package doctor

import "os/exec"

func ownGroup(*exec.Cmd) {}

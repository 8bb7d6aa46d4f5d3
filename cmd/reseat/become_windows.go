package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// become runs the client and returns its exit code.
func (c *call) become(program string, argv, environ []string) int {
	cmd := exec.Command(program, argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environ, os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &ended):
		return ended.ExitCode()
	}
	return c.fail(exitNo, fmt.Errorf("starting %q: %w", program, err), "")
}

//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// become replaces this process by the client: signals, job control and exit code
// are then the client's own. It returns only when that failed.
func (c *call) become(program string, argv, environ []string) int {
	err := syscall.Exec(program, argv, environ)
	return c.fail(exitNo, fmt.Errorf("starting %q: %w", program, err), "")
}

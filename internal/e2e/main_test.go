//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"testing"
)

// TestMain also is the recording hook: a client that runs this test binary
// with recordArg gets that, and no tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == recordArg {
		if err := record(os.Args[2], os.Stdin, os.Environ()); err != nil {
			fmt.Fprintln(os.Stderr, "recording hook:", err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	removePrograms()
	os.Exit(code)
}

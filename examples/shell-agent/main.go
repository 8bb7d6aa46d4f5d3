// Reseat-runtime-shellagent is a complete runtime adapter for a client that
// reseat has never heard of: shellagent, the script beside this file. Copy it,
// put your client in its place, and let adapter_test.go tell you when you are
// done.
package main

import (
	"os"

	"github.com/reseat-dev/reseat/plugins"
)

const version = "1.0.0"

func main() {
	os.Exit(plugins.Program{
		Name:    "reseat-runtime-shellagent",
		Does:    "reseat-runtime-shellagent knows shellagent, an agent made of a shell script.",
		Version: version,
		Runtime: func() (plugins.Runtime, error) { return newAdapter(os.Getenv) },
	}.Run(os.Args[1:], os.Stdout, os.Stderr, os.Getenv))
}

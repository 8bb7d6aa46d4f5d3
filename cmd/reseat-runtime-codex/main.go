// Reseat-runtime-codex is the runtime adapter for Codex: reseat starts it to ask
// about live sessions and to compact one.
package main

import (
	"context"
	"io"
	"os"

	"github.com/reseat-dev/reseat/internal/version"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/codex"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

func run(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return plugins.Program{
		Name: "reseat-runtime-codex", Does: "reseat-runtime-codex knows Codex: its live sessions, how full they are, and how to compact one.",
		Version: version.Number,
		Runtime: func() (plugins.Runtime, error) {
			return codex.New(codex.Options{Version: version.Number, Getenv: getenv}), nil
		},
	}.Run(args, stdout, stderr, getenv)
}

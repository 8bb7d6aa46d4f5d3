// Reseat-runtime-claude is the runtime adapter for Claude Code: reseat starts it to ask
// about live sessions and to compact one.
package main

import (
	"context"
	"io"
	"os"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/internal/version"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/claude"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

func run(_ context.Context, args []string, _ io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return plugins.Program{
		Name: "reseat-runtime-claude", Does: "reseat-runtime-claude knows Claude Code: its live sessions, how full they are, and how to compact one.",
		Version: version.Number,
		Runtime: func() (plugins.Runtime, error) {
			home, err := state.Locate("", getenv)
			if err != nil {
				return nil, err
			}
			return claude.New(claude.Options{Version: version.Number, Getenv: getenv, Home: home}), nil
		},
	}.Run(args, stdout, stderr, getenv)
}

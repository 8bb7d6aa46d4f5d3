// Reseat-directive is the hook that brings the restore directive into a session
// that was compacted, and confirms that it arrived.
package main

import (
	"context"
	"io"
	"os"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/cmd/internal/hookmain"
	"github.com/reseat-dev/reseat/hooks"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return hookmain.Run(ctx, hookmain.Program{
		Name:   "reseat-directive",
		Does:   "reseat-directive delivers a session's restore directive after a compaction, once.",
		Events: []string{hooks.SessionStart, hooks.UserPromptSubmit, hooks.PostCompact},
		Handle: func(ctx context.Context, b *bridge.Bridge, e hooks.Event, out bridge.Sink) bridge.Outcome {
			return b.Deliver(ctx, e, out)
		},
	}, hookmain.Env{Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv})
}

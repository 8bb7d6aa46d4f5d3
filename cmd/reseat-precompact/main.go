// Reseat-precompact is the hook that writes a restore packet before a client
// compacts a session.
package main

import (
	"context"
	"io"
	"os"
	"runtime/debug"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/cmd/internal/hookmain"
	"github.com/reseat-dev/reseat/hooks"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	// A run is over before a second collection would be due: what it allocates in
	// all is a few MB. Where it isn't, the limit keeps the peak under 32 MB.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(20 << 20)
	return hookmain.Run(ctx, hookmain.Program{
		Name:   "reseat-precompact",
		Does:   "reseat-precompact writes a session's restore packet before a compaction.",
		Events: []string{hooks.PreCompact},
		Handle: func(ctx context.Context, b *bridge.Bridge, e hooks.Event, _ bridge.Sink) bridge.Outcome {
			return b.Prepare(ctx, e)
		},
	}, hookmain.Env{Args: args, Stdin: stdin, Stdout: stdout, Stderr: stderr, Getenv: getenv})
}

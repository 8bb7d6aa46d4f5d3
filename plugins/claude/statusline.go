package claude

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
)

// maxStatusInput bounds what the client gives a status line; a real one has
// about 2 KB.
const maxStatusInput = 1 << 20

// StatusLine is what stands in the settings in place of a person's own status
// line: it keeps a sample and then is that status line. The person's command gets
// the same input, and its output and exit code go on as they are; without one
// nothing is printed. A sample that can't be kept is told on stderr and harms
// nothing.
func StatusLine(ctx context.Context, in io.Reader, out, errs io.Writer, home state.Home, own string, now time.Time) (exit int) {
	input, err := io.ReadAll(io.LimitReader(in, maxStatusInput))
	if err == nil {
		err = keepSample(input, home, now)
	}
	if err != nil {
		_, _ = io.WriteString(errs, "reseat: keeping a status-line sample: "+err.Error()+"\n")
	}
	if own == "" {
		return 0
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", own)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), out, errs
	err = cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended) && ended.ExitCode() >= 0:
		return ended.ExitCode()
	}
	return 1
}

func keepSample(input []byte, home state.Home, now time.Time) error {
	sample, err := ParseSample(input, now)
	if err != nil {
		return err
	}
	_, had := readSample(home, sample.Session)
	if err := sample.Keep(home); err != nil {
		return err
	}
	if !had {
		return SweepSamples(home, now)
	}
	return nil
}

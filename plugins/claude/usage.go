package claude

import (
	"context"
	"errors"
	"io/fs"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
	"github.com/reseat-dev/reseat/plugins"
)

// The sources of a usage.
const (
	sourceStatusLine = "claude_statusline_json"
	sourceTranscript = "claude_transcript"
)

// Usage says how full each session's context is: from the status line's sample
// where there is one that nothing has overtaken, else from the transcript's last
// usage record. The model's window only the status line tells.
func (a *Adapter) Usage(ctx context.Context, of []plugins.SessionRef) ([]plugins.Usage, error) {
	out := make([]plugins.Usage, 0, len(of))
	for _, ref := range of {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out = append(out, a.usage(ctx, ref))
	}
	return out, nil
}

func (a *Adapter) usage(ctx context.Context, ref plugins.SessionRef) plugins.Usage {
	unknown := func(why plugins.UsageUnknown, detail string) plugins.Usage {
		return plugins.Usage{Session: ref.ID, Unknown: why, Detail: detail}
	}
	path := a.transcriptOf(ref.ID, ref.CWD)
	if path == "" {
		return unknown(plugins.UsageNotFound, "no transcript with this id")
	}
	sample, sampled := readSample(a.home, ref.ID)
	if sampled && sample.Transcript == path && sample.Tokens > 0 {
		if newer, err := overtaken(ctx, path, sample.Bytes); err == nil && !newer {
			return full(plugins.Usage{
				Session: ref.ID, Tokens: sample.Tokens, Window: sample.Window, SampledAt: sample.At, Source: sourceStatusLine,
			})
		}
	}
	story, err := lastUsage(ctx, path, ref.ID)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return unknown(plugins.UsageNotFound, err.Error())
	case err != nil:
		return unknown(plugins.UsageUnreadable, err.Error())
	case story.Identity.SessionID != "" && story.Identity.SessionID != ref.ID:
		return unknown(plugins.UsageMismatch, "the transcript is session "+story.Identity.SessionID+"'s")
	case story.Usage == nil:
		return unknown(plugins.UsageNoData, "no answer of the model in what was read")
	}
	u := plugins.Usage{Session: ref.ID, Tokens: story.Usage.Tokens, SampledAt: story.Usage.Time, Source: sourceTranscript}
	if sampled {
		u.Window = sample.Window
	}
	u.Newer, err = newerThan(ctx, path, story.Usage.Position)
	if err != nil {
		return unknown(plugins.UsageUnreadable, err.Error())
	}
	return full(u)
}

func full(u plugins.Usage) plugins.Usage {
	if u.Window > 0 {
		u.Percent = 100 * float64(u.Tokens) / float64(u.Window)
	}
	return u
}

// newerThan says whether the main chain goes on behind the record that tells the
// usage: an answer, which is work itself, or a boundary with what it left.
func newerThan(ctx context.Context, path string, at transcript.Position) (bool, error) {
	tail, err := transcript.After(ctx, client.Claude, path, at.Offset, nil)
	if err != nil {
		return false, err
	}
	known := 1
	for _, b := range tail.Boundaries {
		if b.Offset != at.Offset {
			return true, nil
		}
		known = 0
	}
	return tail.Work > known, nil
}

// overtaken says whether the main chain goes on beyond offset.
func overtaken(ctx context.Context, path string, offset int64) (bool, error) {
	tail, err := transcript.After(ctx, client.Claude, path, offset, nil)
	return err == nil && (tail.Work > 0 || len(tail.Boundaries) > 0), err
}

// lastUsage reads as much of the tail as it takes to find the last usage.
func lastUsage(ctx context.Context, path, id string) (*transcript.Story, error) {
	opt := transcript.Options{Session: id, Messages: 8, MessageBytes: 1, OutputBytes: 1, TailOnly: true}
	story, err := transcript.Read(ctx, client.Claude, path, opt)
	if err == nil && story.Usage == nil && story.From > 0 {
		opt.Messages = 1000
		return transcript.Read(ctx, client.Claude, path, opt)
	}
	return story, err
}

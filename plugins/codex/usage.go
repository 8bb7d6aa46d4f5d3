package codex

import (
	"context"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
	"github.com/reseat-dev/reseat/plugins"
)

const sourceRollout = "codex_token_count_jsonl"

// Usage says how full each thread's context is: the rollout's last token_count.
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
	path := a.rolloutOf(ref.ID)
	if path == "" {
		return unknown(plugins.UsageNotFound, "no rollout with this id")
	}
	story, err := lastUsage(ctx, path, ref.ID)
	switch {
	case err != nil:
		return unknown(plugins.UsageUnreadable, err.Error())
	case story.Identity.SessionID != "" && story.Identity.SessionID != ref.ID:
		return unknown(plugins.UsageMismatch, "the rollout is thread "+story.Identity.SessionID+"'s")
	case story.Usage == nil:
		return unknown(plugins.UsageNoData, "no answer of the model in what was read")
	}
	u := plugins.Usage{
		Session: ref.ID, Tokens: story.Usage.Tokens, Window: story.Usage.Window, SampledAt: story.Usage.Time, Source: sourceRollout,
	}
	from := story.Usage.Offset
	if story.Usage.Path != "" { // a fork that has no usage of its own yet
		from = 0
	}
	tail, err := transcript.After(ctx, client.Codex, path, from, nil)
	if err != nil {
		return unknown(plugins.UsageUnreadable, err.Error())
	}
	u.Newer = tail.Work > 0 || len(tail.Boundaries) > 0
	if u.Window > 0 {
		u.Percent = 100 * float64(u.Tokens) / float64(u.Window)
	}
	return u
}

// lastUsage reads as much of the tail as it takes to find the last usage.
func lastUsage(ctx context.Context, path, id string) (*transcript.Story, error) {
	opt := transcript.Options{Session: id, Messages: 8, MessageBytes: 1, OutputBytes: 1, TailOnly: true}
	story, err := transcript.Read(ctx, client.Codex, path, opt)
	if err == nil && story.Usage == nil && story.From > 0 {
		opt.Messages = 1000
		return transcript.Read(ctx, client.Codex, path, opt)
	}
	return story, err
}

package claude

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
	"github.com/reseat-dev/reseat/plugins"
)

// defaultTimeout is the patience with the client's work where a request says
// none.
const defaultTimeout = 180 * time.Second

// poll is how often a session is looked at while something is awaited.
const poll = 150 * time.Millisecond

// Compact compacts a session: through its pane if somebody has it open, through
// a headless client if nobody has.
func (a *Adapter) Compact(ctx context.Context, r plugins.CompactRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	began := a.now()
	line := "/compact"
	if words := oneLine(r.Instructions); words != "" {
		line += " " + words
	}
	w := work{Adapter: a, ref: r.Session, patience: r.Patience, line: line, compaction: true, dry: r.DryRun, stage: a.stamp(stage)}
	result, err := w.do(ctx)
	result.Mechanism = plugins.ClaudeCompact
	result.Took = a.now().Sub(began)
	return result, err
}

// Turn gives a session one ordinary message.
func (a *Adapter) Turn(ctx context.Context, r plugins.TurnRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	began := a.now()
	text := strings.TrimSpace(r.Text)
	if text == "" || strings.ContainsAny(text[:1], "/!#") {
		return refused(plugins.Failed, plugins.ReasonAdapterRefused, "a message can't be empty or begin with /, ! or #: those are commands"), nil
	}
	w := work{Adapter: a, ref: r.Session, patience: r.Patience, line: text, stage: a.stamp(stage)}
	result, err := w.do(ctx)
	result.Took = a.now().Sub(began)
	return result, err
}

// stamp makes a stage function that needs no clock at the call.
func (a *Adapter) stamp(stage func(plugins.Progress)) func(plugins.Stage, string) {
	return func(s plugins.Stage, detail string) {
		stage(plugins.Progress{Stage: s, At: a.now(), Detail: detail})
	}
}

// oneLine makes instructions fit behind a slash command.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// work is one message or compaction on its way to one session.
type work struct {
	*Adapter
	ref        plugins.SessionRef
	patience   plugins.Patience
	line       string // what is typed or sent
	compaction bool
	dry        bool
	stage      func(plugins.Stage, string)
}

// refused is a result for something that wasn't begun.
func refused(o plugins.Outcome, reason plugins.Reason, detail string) plugins.Result {
	return plugins.Result{Outcome: o, Reason: reason, Detail: detail, State: plugins.StateUnknown, Evidence: plugins.EvidenceNone}
}

func (w *work) do(ctx context.Context) (plugins.Result, error) {
	w.stage(plugins.StageChecking, "")
	if !validID(w.ref.ID) {
		return refused(plugins.NotFound, "", fmt.Sprintf("%q is no session id of Claude Code", w.ref.ID)), nil
	}
	opened, table, err := w.opened(w.ref.ID)
	if err != nil {
		return plugins.Result{}, err
	}
	if len(opened) == 0 {
		return w.closed(ctx)
	}
	if len(opened) > 1 {
		pids := make([]int, 0, len(opened))
		for _, s := range opened {
			pids = append(pids, s.pid)
		}
		return refused(plugins.Busy, plugins.ReasonOpenElsewhere, fmt.Sprintf("several clients have it open at once: processes %v", pids)), nil
	}
	return w.live(ctx, opened[0], table)
}

func (w *work) timeout() time.Duration {
	if w.patience.Timeout <= 0 {
		return defaultTimeout
	}
	return w.patience.Timeout
}

// boundaryAfter is the last boundary of the main chain beyond offset.
func boundaryAfter(ctx context.Context, path string, offset int64) *plugins.Boundary {
	if path == "" {
		return nil
	}
	tail, err := transcript.After(ctx, client.Claude, path, offset, nil)
	if err != nil || len(tail.Boundaries) == 0 {
		return nil
	}
	b := tail.Boundaries[len(tail.Boundaries)-1]
	return &plugins.Boundary{Offset: b.Offset, ID: b.ID, Time: b.Time, Trigger: b.Trigger, PreTokens: b.PreTokens, PostTokens: postTokens(path, b.Offset)}
}

// compacted is a result that claims no more than what was seen.
func compacted(b *plugins.Boundary, channel plugins.Channel, state plugins.State) plugins.Result {
	result := plugins.Result{
		Outcome: plugins.Compacted, Channel: channel, Sent: true, Boundary: b, State: state, Evidence: plugins.EvidenceBoundary,
	}
	if b == nil {
		result.Evidence = plugins.EvidenceCompletion
		result.Detail = "the client says so; its boundary isn't in the transcript yet"
	}
	return result
}

// judge says what the client's own words about a compaction mean. ok is false
// for words that aren't about its end.
func judge(said string) (outcome plugins.Outcome, reason plugins.Reason, ok bool) {
	text := strings.TrimSpace(said)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch {
	case text == "":
		return "", "", false
	case strings.HasPrefix(text, "Compacted"):
		return plugins.Compacted, "", true
	case has("Not enough messages to compact", "No messages to compact"):
		return plugins.NotEnough, "", true
	case has("blocked by PreCompact hook"):
		return plugins.Blocked, plugins.ReasonHookBlocked, true
	case has("canceled", "cancelled", "Interrupted", "interrupted"):
		return plugins.Failed, plugins.ReasonInterrupted, true
	case has("Error", "error", "failed", "API "):
		return plugins.Failed, plugins.ReasonClientError, true
	}
	return "", "", false
}

// firstLine bounds what a client said for a person's eyes.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

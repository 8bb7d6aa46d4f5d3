package codex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// defaultTimeout is the patience with the client's work where a request says
// none.
const defaultTimeout = 180 * time.Second

// poll is how often a thread is looked at while something is awaited.
const poll = 150 * time.Millisecond

// settle is how long the client gets to show, or to write down, what it did.
const settle = 3 * time.Second

// quiet is how long a person at an attached terminal must not have typed.
const quiet = 30 * time.Second

// Compact compacts a thread by the way that fits who has it open. Codex takes no
// instructions for the summary; given ones are reported as left out.
func (a *Adapter) Compact(ctx context.Context, r plugins.CompactRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	began := a.now()
	w := work{Adapter: a, ref: r.Session, patience: r.Patience, compaction: true, dry: r.DryRun, stage: a.stamp(stage)}
	result, err := w.do(ctx)
	result.Mechanism = plugins.CodexCompact
	result.Took = a.now().Sub(began)
	if strings.TrimSpace(r.Instructions) != "" && result.Sent {
		note := "Codex takes no instructions for the summary: they were left out"
		result.Detail = strings.TrimPrefix(result.Detail+"; "+note, "; ")
	}
	return result, err
}

// Turn gives a thread one ordinary message.
func (a *Adapter) Turn(ctx context.Context, r plugins.TurnRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	began := a.now()
	text := strings.TrimSpace(r.Text)
	if text == "" || strings.ContainsAny(text[:1], "/!$@") {
		return refused(plugins.Failed, plugins.ReasonAdapterRefused, "a message can't be empty or begin with /, !, $ or @: those are commands"), nil
	}
	w := work{Adapter: a, ref: r.Session, patience: r.Patience, text: text, stage: a.stamp(stage)}
	result, err := w.do(ctx)
	result.Took = a.now().Sub(began)
	return result, err
}

func (a *Adapter) stamp(stage func(plugins.Progress)) func(plugins.Stage, string) {
	return func(s plugins.Stage, detail string) {
		stage(plugins.Progress{Stage: s, At: a.now(), Detail: detail})
	}
}

// work is one message or compaction on its way to one thread.
type work struct {
	*Adapter
	ref        plugins.SessionRef
	patience   plugins.Patience
	text       string // of a message
	compaction bool
	dry        bool
	stage      func(plugins.Stage, string)
	rollout    string
	from       int64 // the rollout's size before anything was sent
}

// refused is a result for something that wasn't begun.
func refused(o plugins.Outcome, reason plugins.Reason, detail string) plugins.Result {
	return plugins.Result{Outcome: o, Reason: reason, Detail: detail, State: plugins.StateUnknown, Evidence: plugins.EvidenceNone}
}

func (w *work) timeout() time.Duration {
	if w.patience.Timeout <= 0 {
		return defaultTimeout
	}
	return w.patience.Timeout
}

func (w *work) do(ctx context.Context) (plugins.Result, error) {
	w.stage(plugins.StageChecking, "")
	if !validID(w.ref.ID) {
		return refused(plugins.NotFound, "", fmt.Sprintf("%q is no thread id of Codex", w.ref.ID)), nil
	}
	threads, table, err := w.threads()
	if err != nil && !errors.Is(err, proctable.ErrUnsupported) {
		return plugins.Result{}, err
	}
	var mine []thread
	for _, t := range threads {
		if t.id == w.ref.ID {
			mine = append(mine, t)
		}
	}
	switch {
	case len(mine) > 1:
		return refused(plugins.Busy, plugins.ReasonOpenElsewhere, "several clients have it open at once"), nil
	case len(mine) == 1:
		w.rollout = mine[0].rollout
		return w.live(ctx, mine[0], table), nil
	}
	if w.rollout = w.rolloutOf(w.ref.ID); w.rollout == "" {
		if w.ref.Transcript != "" {
			return refused(plugins.NoHistory, "", "its rollout isn't there any more"), nil
		}
		return refused(plugins.NotFound, "", "no rollout and no live thread with this id in "+w.home), nil
	}
	// A daemon may hold a thread whose rollout it hasn't opened yet.
	if loaded := w.loadedInDaemon(ctx); loaded {
		return w.throughDaemon(ctx, nil), nil
	}
	return w.closed(ctx)
}

func (w *work) live(ctx context.Context, t thread, table proctable.Table) plugins.Result {
	switch t.by.kind {
	case inDaemon:
		return w.throughDaemon(ctx, table)
	case inTerminal:
		return w.throughPane(ctx, t, table)
	case inServer:
		return refused(plugins.Unsupported, plugins.ReasonNoChannel, fmt.Sprintf("another program's app-server (process %d) has it open, and can't be reached", t.by.PID))
	}
	return refused(plugins.Busy, plugins.ReasonTurnRunning, fmt.Sprintf("codex exec (process %d) is at it", t.by.PID))
}

// boundaryAfter is the last boundary beyond what the rollout was.
func (w *work) boundaryAfter(ctx context.Context) *plugins.Boundary {
	tail, err := transcript.After(ctx, client.Codex, w.rollout, w.from, nil)
	if err != nil || len(tail.Boundaries) == 0 {
		return nil
	}
	b := tail.Boundaries[len(tail.Boundaries)-1]
	return &plugins.Boundary{Offset: b.Offset, ID: b.ID, Time: b.Time, Trigger: b.Trigger, PreTokens: b.PreTokens}
}

// answered says whether the rollout holds an answer of the model beyond what it
// was.
func (w *work) answered(ctx context.Context) bool {
	tail, err := transcript.After(ctx, client.Codex, w.rollout, w.from, nil)
	return err == nil && len(tail.Answers) > 0
}

// lastEnd tells how the last task beyond what the rollout was ended: "" while
// it hasn't, else "complete", or the reason of its abortion.
func (w *work) lastEnd() string {
	f, err := os.Open(w.rollout)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.Seek(w.from, 0); err != nil {
		return ""
	}
	end := ""
	eachRecord(f, func(record gjson.Result) {
		switch record.Get("payload.type").Str {
		case "task_started":
			end = ""
		case "task_complete":
			end = "complete"
		case "turn_aborted":
			end = record.Get("payload.reason").String()
		}
	})
	return end
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// pause waits d or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// late is the result once the patience is over: nothing is said about the client
// having stopped.
func late(ctx context.Context, state plugins.State) plugins.Result {
	result := plugins.Result{
		Outcome: plugins.TimedOut, Sent: true, State: state, Evidence: plugins.EvidenceNone,
		Detail: "no end was seen in time; the client may still be at it",
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		result.Outcome, result.Reason = plugins.Unknown, plugins.ReasonInterrupted
		result.Detail = "interrupted; the client may still be at it"
	}
	return result
}

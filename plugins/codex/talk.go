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
	"github.com/reseat-dev/reseat/plugins/pane"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// loadedInDaemon asks a daemon that is there whether it has the thread loaded.
func (w *work) loadedInDaemon(ctx context.Context) bool {
	c, err := w.dialDaemon(ctx)
	if err != nil {
		return false
	}
	defer c.close()
	state, _, err := readState(ctx, c, w.ref.ID)
	return err == nil && state != plugins.StateClosed && state != plugins.StateUnknown
}

// throughDaemon does the work on a thread that the daemon holds.
func (w *work) throughDaemon(ctx context.Context, table proctable.Table) plugins.Result {
	c, err := w.dialDaemon(ctx)
	if err != nil {
		result := refused(plugins.Failed, plugins.ReasonNoChannel, fmt.Sprintf("the daemon's control socket: %v", err))
		result.Channel = plugins.ChannelDaemon
		return result
	}
	defer c.close()
	if table == nil {
		table, _ = w.table()
	}
	result := w.throughServer(ctx, c, func(ctx context.Context) *obstacle { return w.personAt(ctx, table) })
	result.Channel = plugins.ChannelDaemon
	return result
}

// closed does the work on a thread that nobody has open, in an app-server of
// ours.
func (w *work) closed(ctx context.Context) (plugins.Result, error) {
	if w.program == "" {
		return refused(plugins.Unsupported, plugins.ReasonNoClient, "no codex was found on the PATH"), nil
	}
	who, err := transcript.Identify(client.Codex, w.rollout)
	if err != nil {
		return refused(plugins.NoHistory, "", fmt.Sprintf("its rollout can't be read: %v", err)), nil
	}
	dir := who.CWD
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		dir = w.home // the thread keeps its own working directory
	}
	if w.dry {
		return plugins.Result{Channel: plugins.ChannelAppServer, State: plugins.StateClosed, Evidence: plugins.EvidenceNone, Detail: "nobody has it open"}, nil
	}
	life, cancel := context.WithTimeout(ctx, w.timeout()+30*time.Second)
	defer cancel()
	s, err := w.startServer(life, dir)
	if err != nil {
		result := refused(plugins.Failed, plugins.ReasonNoClient, err.Error())
		result.Channel = plugins.ChannelAppServer
		return result, nil
	}
	defer s.end()
	if stop := w.resume(ctx, s.conn); stop != nil {
		stop.Channel = plugins.ChannelAppServer
		return *stop, nil
	}
	result := w.throughServer(ctx, s.conn, func(context.Context) *obstacle { return nil })
	result.Channel = plugins.ChannelAppServer
	s.end()
	if result.Outcome != plugins.TimedOut {
		result.State = plugins.StateClosed
		return result, nil
	}
	result.State = plugins.StateClosed
	result.Detail = "no end was seen in time; our app-server was ended"
	if b := w.boundaryAfter(context.WithoutCancel(ctx)); b != nil && w.compaction {
		result.Outcome, result.Boundary, result.Evidence, result.Detail = plugins.Compacted, b, plugins.EvidenceBoundary, ""
	}
	return result, nil
}

// resume loads the thread into an app-server and subscribes to it.
func (w *work) resume(ctx context.Context, c *conn) *plugins.Result {
	_, err := c.call(ctx, "thread/resume", map[string]any{"threadId": w.ref.ID, "excludeTurns": true})
	if err == nil {
		return nil
	}
	var refusal *rpcError
	result := refused(plugins.Failed, plugins.ReasonClientError, err.Error())
	switch {
	case !errors.As(err, &refusal):
		result.Reason = plugins.ReasonClientExited
	case strings.Contains(refusal.Message, "active writer"):
		result = refused(plugins.Busy, plugins.ReasonOpenElsewhere, "somebody has just opened it")
	case strings.Contains(refusal.Message, "no rollout found"):
		result = refused(plugins.NoHistory, "", refusal.Message)
	}
	return &result
}

// obstacle is why a thread isn't touched now.
type obstacle struct {
	reason plugins.Reason
	detail string
	state  plugins.State
}

// personAt says whether a person types at a terminal that may show this thread.
// The client doesn't tell which terminal shows which thread, so every one of
// this CODEX_HOME in the thread's folder counts.
func (w *work) personAt(ctx context.Context, table proctable.Table) *obstacle {
	who, err := transcript.Identify(client.Codex, w.rollout)
	if err != nil {
		return nil
	}
	for _, p := range table {
		if !strings.HasPrefix(p.Name, "codex") || p.Front <= 0 || proctable.Folder(p.PID) != who.CWD {
			continue
		}
		at, err := pane.Find(ctx, table, p.PID, w.getenv)
		if err != nil || at == nil {
			continue
		}
		view, err := at.Look(ctx)
		if err != nil {
			continue
		}
		if age := w.now().Sub(view.LastKey); !view.LastKey.IsZero() && age < quiet {
			return &obstacle{plugins.ReasonPersonTyping, fmt.Sprintf("somebody at a terminal of it pressed a key %d s ago", int(age.Seconds())), plugins.StateIdle}
		}
	}
	return nil
}

// throughServer does the work over an app-server that has the thread loaded.
func (w *work) throughServer(ctx context.Context, c *conn, more func(context.Context) *obstacle) plugins.Result {
	if stop := w.waitIdle(ctx, c, more); stop != nil {
		return *stop
	}
	if w.dry {
		return plugins.Result{State: plugins.StateIdle, Evidence: plugins.EvidenceNone, Detail: "idle"}
	}
	w.from = sizeOf(w.rollout)
	ctx, cancel := context.WithTimeout(ctx, w.timeout())
	defer cancel()
	seen := len(allNotes(c))
	w.stage(plugins.StageSending, "")
	if err := w.start(ctx, c); err != nil {
		return w.unstarted(ctx, err)
	}
	w.stage(plugins.StageSent, "")
	return w.await(ctx, c, seen)
}

func allNotes(c *conn) []gjson.Result {
	notes, _ := c.notesFrom(0)
	return notes
}

func (w *work) start(ctx context.Context, c *conn) error {
	if w.compaction {
		_, err := c.call(ctx, "thread/compact/start", map[string]any{"threadId": w.ref.ID})
		return err
	}
	_, err := c.call(ctx, "turn/start", map[string]any{
		"threadId": w.ref.ID, "input": []any{map[string]any{"type": "text", "text": w.text}},
	})
	return err
}

func (w *work) unstarted(ctx context.Context, err error) plugins.Result {
	var refusal *rpcError
	switch {
	case errors.As(err, &refusal) && strings.Contains(refusal.Message, "thread not found"):
		return refused(plugins.NoHistory, "", refusal.Message)
	case errors.As(err, &refusal) && strings.Contains(refusal.Message, "NotSteerable"):
		result := refused(plugins.Busy, plugins.ReasonCompacting, "a compaction is running")
		result.State = plugins.StateBusy
		return result
	case errors.As(err, &refusal):
		return refused(plugins.Failed, plugins.ReasonClientError, refusal.Message)
	case ctx.Err() != nil:
		return late(ctx, plugins.StateUnknown)
	}
	result := refused(plugins.Unknown, plugins.ReasonClientExited, err.Error())
	result.Sent = true
	return result
}

// waitIdle waits, as long as the request's patience goes, until the thread is
// idle and nobody is at it.
func (w *work) waitIdle(ctx context.Context, c *conn, more func(context.Context) *obstacle) *plugins.Result {
	deadline := w.now().Add(w.patience.WaitIdle)
	told := plugins.Reason("")
	for {
		o, err := w.obstacle(ctx, c, more)
		if err != nil {
			result := refused(plugins.Failed, plugins.ReasonClientError, err.Error())
			return &result
		}
		if o == nil {
			return nil
		}
		if !w.now().Before(deadline) || ctx.Err() != nil {
			result := refused(plugins.Busy, o.reason, o.detail)
			result.State = o.state
			return &result
		}
		if o.reason != told {
			w.stage(plugins.StageWaitingIdle, o.detail)
			told = o.reason
		}
		pause(ctx, poll)
	}
}

func (w *work) obstacle(ctx context.Context, c *conn, more func(context.Context) *obstacle) (*obstacle, error) {
	state, reason, err := readState(ctx, c, w.ref.ID)
	if err != nil {
		return nil, err
	}
	switch state {
	case plugins.StateBusy:
		return &obstacle{plugins.ReasonTurnRunning, "a turn is running", state}, nil
	case plugins.StateWaiting:
		return &obstacle{plugins.ReasonDialogOpen, "it waits for a person: " + reason, state}, nil
	case plugins.StateIdle:
		return more(ctx), nil
	}
	return &obstacle{plugins.ReasonStateUnknown, "the client doesn't say what it is doing", state}, nil
}

// heard is what an app-server told about a task.
type heard struct {
	began   bool
	item    bool // the compaction's item is complete
	blocked string
	failure string
	end     string // status of the completed turn, "" while it runs
	status  plugins.State
}

// take reads a notification about the thread (0.133.0 to 0.171.0).
func (h *heard) take(note gjson.Result, id string) {
	p := note.Get("params")
	if p.Get("threadId").Str != id {
		return
	}
	switch note.Get("method").Str {
	case "thread/status/changed":
		h.status, _ = stateOf(p.Get("status"))
		h.began = h.began || h.status == plugins.StateBusy
	case "turn/started", "item/started":
		h.began = true
	case "item/completed":
		h.item = h.item || p.Get("item.type").Str == "contextCompaction"
	case "thread/compacted":
		h.item = true
	case "hook/completed":
		run := p.Get("run")
		if status := run.Get("status").Str; run.Get("eventName").Str == "preCompact" && (status == "stopped" || status == "blocked") {
			h.blocked = "a PreCompact hook stopped it"
			if text := run.Get("entries.0.text").String(); text != "" {
				h.blocked += ": " + text
			}
		}
	case "error":
		if !p.Get("willRetry").Bool() {
			h.failure = p.Get("error.message").String()
		}
	case "turn/completed":
		h.end = p.Get("turn.status").Str
		if m := p.Get("turn.error.message").String(); m != "" {
			h.failure = m
		}
	}
}

// await waits for the task's end. A server that we are subscribed to tells it;
// from the daemon only the thread's status comes, and the rollout tells the rest.
func (w *work) await(ctx context.Context, c *conn, seen int) plugins.Result {
	var h heard
	told := false
	var idleSince time.Time
	for {
		notes, more := c.notesFrom(seen)
		seen += len(notes)
		for _, note := range notes {
			h.take(note, w.ref.ID)
		}
		if h.began && !told {
			told = true
			w.stage(plugins.StageRunning, "")
		}
		if result, ok := w.judge(ctx, h); ok {
			return result
		}
		if end := w.lastEnd(); end != "" && (h.status == plugins.StateIdle || h.end != "") {
			if idleSince.IsZero() {
				idleSince = w.now()
				w.stage(plugins.StageConfirming, "")
			}
			if w.now().Sub(idleSince) > settle {
				return w.ended(end)
			}
		}
		select {
		case <-ctx.Done():
			return w.lastLook(ctx, h)
		case <-c.done:
			return w.lastLook(ctx, h)
		case <-more:
		case <-time.After(poll):
		}
	}
}

// judge says whether what was heard, with the rollout, is an end.
func (w *work) judge(ctx context.Context, h heard) (plugins.Result, bool) {
	result := plugins.Result{Sent: true, State: plugins.StateIdle, Evidence: plugins.EvidenceNone}
	over := h.end != "" || h.status == plugins.StateIdle && w.lastEnd() != ""
	switch {
	case !over:
		return result, false
	case w.compaction && h.blocked != "" && h.end != "completed":
		result.Outcome, result.Reason, result.Detail = plugins.Blocked, plugins.ReasonHookBlocked, h.blocked
	case h.end == "failed":
		result.Outcome, result.Reason, result.Detail = plugins.Failed, plugins.ReasonClientError, h.failure
	case w.compaction:
		if b := w.boundaryAfter(ctx); b != nil {
			result.Outcome, result.Boundary, result.Evidence = plugins.Compacted, b, plugins.EvidenceBoundary
			return result, true
		}
		if h.end == "completed" && h.item {
			result.Outcome, result.Evidence = plugins.Compacted, plugins.EvidenceCompletion
			return result, true
		}
		return result, false
	case h.end == "completed" || h.status == plugins.StateIdle && w.answered(ctx):
		result.Outcome, result.Evidence = plugins.Answered, plugins.EvidenceCompletion
	default:
		return result, false
	}
	return result, true
}

// ended is the result of a task that is over and brought nothing.
func (w *work) ended(end string) plugins.Result {
	result := plugins.Result{Outcome: plugins.Failed, Sent: true, State: plugins.StateIdle, Evidence: plugins.EvidenceNone, Reason: plugins.ReasonClientError}
	switch end {
	case "complete":
		result.Detail = "the task ended and left no boundary"
		if !w.compaction {
			result.Detail = "the turn ended without an answer"
		}
	default:
		result.Reason, result.Detail = plugins.ReasonInterrupted, "the task was aborted ("+end+"): by a hook or by a person"
	}
	return result
}

// lastLook is the result where the patience is over or the server went away.
func (w *work) lastLook(ctx context.Context, h heard) plugins.Result {
	fresh := context.WithoutCancel(ctx)
	if w.compaction {
		if b := w.boundaryAfter(fresh); b != nil {
			return plugins.Result{Outcome: plugins.Compacted, Sent: true, Boundary: b, State: plugins.StateUnknown, Evidence: plugins.EvidenceBoundary}
		}
	}
	if ctx.Err() != nil {
		state := h.status
		if state == "" {
			state = plugins.StateUnknown
		}
		return late(ctx, state)
	}
	result := refused(plugins.Unknown, plugins.ReasonClientExited, "the app-server went away in the middle")
	result.Sent = true
	return result
}

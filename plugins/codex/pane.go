package codex

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/pane"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// throughPane does the work on a thread that a client has open in a terminal of
// its own, through the terminal's pane.
func (w *work) throughPane(ctx context.Context, t thread, table proctable.Table) plugins.Result {
	p, err := pane.Find(ctx, table, t.by.PID, w.getenv)
	if err != nil {
		return refused(plugins.Failed, plugins.ReasonPaneGone, fmt.Sprintf("looking for its pane: %v", err))
	}
	if p == nil {
		return refused(plugins.Unsupported, plugins.ReasonNoPane, fmt.Sprintf("process %d has the thread open, without a daemon and not in a tmux pane", t.by.PID))
	}
	result := w.inPane(ctx, t, p)
	result.Channel = plugins.ChannelPane
	return result
}

func (w *work) inPane(ctx context.Context, t thread, p *pane.Pane) plugins.Result {
	if stop := w.waitFree(ctx, t, p); stop != nil {
		return *stop
	}
	if w.dry {
		return plugins.Result{State: plugins.StateIdle, Evidence: plugins.EvidenceNone, Detail: "at a free prompt in pane " + p.Info().ID}
	}
	w.from = sizeOf(w.rollout)
	w.stage(plugins.StageSending, "pane "+p.Info().ID)
	line := w.text
	if w.compaction {
		line = "/compact"
	}
	if stop := w.enter(ctx, p, line); stop != nil {
		return *stop
	}
	w.stage(plugins.StageSent, "")
	ctx, cancel := context.WithTimeout(ctx, w.timeout())
	defer cancel()
	return w.awaitPane(ctx, t)
}

// waitFree waits, as long as the request's patience goes, until the pane may be
// typed into.
func (w *work) waitFree(ctx context.Context, t thread, p *pane.Pane) *plugins.Result {
	deadline := w.now().Add(w.patience.WaitIdle)
	told := plugins.Reason("")
	for {
		o, stop := w.lookPane(ctx, t, p)
		if stop != nil || o == nil {
			return stop
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

func (w *work) lookPane(ctx context.Context, t thread, p *pane.Pane) (*obstacle, *plugins.Result) {
	table, err := w.table()
	if err != nil || !table.Alive(t.by.PID, t.by.Started) {
		result := refused(plugins.Failed, plugins.ReasonClientExited, fmt.Sprintf("process %d isn't there any more", t.by.PID))
		return nil, &result
	}
	view, err := p.Steady(ctx)
	if err != nil {
		reason := plugins.ReasonPaneGone
		if !errors.Is(err, pane.ErrGone) {
			reason = plugins.ReasonClientError
		}
		result := refused(plugins.Failed, reason, fmt.Sprintf("nothing was typed: %v", err))
		return nil, &result
	}
	line := readPrompt(view)
	state, _ := lastTask(w.rollout)
	switch age := w.now().Sub(view.LastKey); {
	case view.Dead:
		return &obstacle{plugins.ReasonPaneGone, "the pane's process has ended", plugins.StateUnknown}, nil
	case view.InMode:
		return &obstacle{plugins.ReasonCopyMode, "the pane is in copy mode", plugins.StateUnknown}, nil
	case !table[t.by.PID].InFront():
		return &obstacle{plugins.ReasonNotAtPrompt, "another program is in front in the pane", plugins.StateUnknown}, nil
	case state == plugins.StateBusy && !line.busy && !line.found:
		return &obstacle{plugins.ReasonDialogOpen, "a turn is running and waits for a person", plugins.StateWaiting}, nil
	case state == plugins.StateBusy || line.busy:
		return &obstacle{plugins.ReasonTurnRunning, "a turn is running", plugins.StateBusy}, nil
	case state == plugins.StateUnknown:
		return &obstacle{plugins.ReasonStateUnknown, "the rollout doesn't say what it is doing", state}, nil
	case !line.found:
		return &obstacle{plugins.ReasonDialogOpen, "no input line on the screen: a menu or a dialog is open", plugins.StateWaiting}, nil
	case line.text != "":
		return &obstacle{plugins.ReasonTextTyped, "something stands in the input line", plugins.StateIdle}, nil
	case !view.LastKey.IsZero() && age < quiet:
		return &obstacle{plugins.ReasonPersonTyping, fmt.Sprintf("somebody at the terminal pressed a key %d s ago", int(age.Seconds())), plugins.StateIdle}, nil
	}
	return nil, nil
}

// enter types the line, looks whether it stands there, alone, and only then
// presses Enter. What was begun is brought to its end: a host that goes away must
// not leave half a line in a person's input line.
func (w *work) enter(ctx context.Context, p *pane.Pane, line string) *plugins.Result {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*settle)
	defer cancel()
	typed := func(o plugins.Outcome, reason plugins.Reason, detail string) *plugins.Result {
		result := refused(o, reason, detail)
		result.Sent = true
		return &result
	}
	if err := p.Type(ctx, line); err != nil {
		return typed(plugins.Failed, plugins.ReasonPaneGone, fmt.Sprintf("typing: %v", err))
	}
	deadline := w.now().Add(settle)
	for {
		view, err := p.Look(ctx)
		if err != nil {
			return typed(plugins.Failed, plugins.ReasonPaneGone, fmt.Sprintf("typed, Enter not pressed: %v", err))
		}
		if shown := readPrompt(view); !view.InMode && shown.found && showsTyped(shown.text, line) {
			break
		}
		if !w.now().Before(deadline) || ctx.Err() != nil {
			return typed(plugins.Failed, plugins.ReasonNotAtPrompt,
				"typed, Enter not pressed: the input line doesn't show that alone; what was typed may stand there")
		}
		pause(ctx, poll/3)
	}
	if err := p.Enter(ctx); err != nil {
		return typed(plugins.Unknown, plugins.ReasonPaneGone, fmt.Sprintf("pressing Enter: %v", err))
	}
	return nil
}

// showsTyped compares what the input line shows, wrapped at the pane's width and
// followed by a menu of commands, with what was typed.
func showsTyped(shown, typed string) bool {
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
	want := squeeze(pane.Printable(typed))
	first, _, _ := strings.Cut(shown, "\n")
	return squeeze(shown) == want || squeeze(first) == want ||
		strings.HasPrefix(shown, "[Pasted Content ") && strings.Count(shown, "[Pasted Content ") == 1
}

// awaitPane waits for what the rollout tells.
func (w *work) awaitPane(ctx context.Context, t thread) plugins.Result {
	running := false
	var idle int
	for {
		state, _ := lastTask(w.rollout)
		end := w.lastEnd()
		if !running && state == plugins.StateBusy {
			running = true
			w.stage(plugins.StageRunning, "")
		}
		if w.compaction {
			if b := w.boundaryAfter(ctx); b != nil {
				return plugins.Result{Outcome: plugins.Compacted, Sent: true, Boundary: b, State: state, Evidence: plugins.EvidenceBoundary}
			}
		} else if end == "complete" && w.answered(ctx) {
			return plugins.Result{Outcome: plugins.Answered, Sent: true, State: plugins.StateIdle, Evidence: plugins.EvidenceCompletion}
		}
		if end != "" {
			if idle++; idle > int(settle/poll) {
				return w.ended(end)
			}
		}
		if table, err := w.table(); err == nil && !table.Alive(t.by.PID, t.by.Started) {
			result := refused(plugins.Unknown, plugins.ReasonClientExited, fmt.Sprintf("process %d went away in the middle", t.by.PID))
			result.Sent = true
			return result
		}
		if ctx.Err() != nil {
			return w.lastLook(ctx, heard{status: state})
		}
		pause(ctx, poll)
	}
}

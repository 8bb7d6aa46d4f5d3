package claude

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/pane"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// quiet is how long a person at an attached terminal must not have typed.
const quiet = 30 * time.Second

// settle is how long the client gets to show what was typed.
const settle = 3 * time.Second

// obstacle is why a pane isn't typed into now.
type obstacle struct {
	reason plugins.Reason
	detail string
	state  plugins.State
}

// live does the work through the session's pane.
func (w *work) live(ctx context.Context, s live, table proctable.Table) (plugins.Result, error) {
	if s.foreign {
		return refused(plugins.Unsupported, plugins.ReasonNoChannel, "the client runs in another process namespace"), nil
	}
	p, err := pane.Find(ctx, table, s.pid, w.getenv)
	if err != nil {
		return refused(plugins.Failed, plugins.ReasonPaneGone, fmt.Sprintf("looking for its pane: %v", err)), nil
	}
	if p == nil {
		return refused(plugins.Unsupported, plugins.ReasonNoPane, fmt.Sprintf("process %d has the session open, and not in a tmux pane", s.pid)), nil
	}
	result, err := w.throughPane(ctx, s, p)
	result.Channel = plugins.ChannelPane
	return result, err
}

func (w *work) throughPane(ctx context.Context, s live, p *pane.Pane) (plugins.Result, error) {
	if stop := w.waitReady(ctx, s, p); stop != nil {
		return *stop, nil
	}
	if w.dry {
		return plugins.Result{State: plugins.StateIdle, Evidence: plugins.EvidenceNone, Detail: "at a free prompt in pane " + p.Info().ID}, nil
	}
	path := w.transcriptOf(s.id, s.cwd)
	from := sizeOf(path)
	w.stage(plugins.StageSending, "pane "+p.Info().ID)
	sent, stop := w.enter(ctx, p)
	if stop != nil {
		return *stop, nil
	}
	w.stage(plugins.StageSent, "")
	if path == "" {
		path, from = w.transcriptOf(s.id, s.cwd), 0
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout())
	defer cancel()
	follow := follower{work: w, session: s, pane: p, path: path, from: from, sent: sent}
	if w.compaction {
		return follow.compaction(ctx), nil
	}
	return follow.turn(ctx), nil
}

// waitReady waits, as long as the request's patience goes, until the pane may
// be typed into. It returns a result where it may not.
func (w *work) waitReady(ctx context.Context, s live, p *pane.Pane) *plugins.Result {
	deadline := w.now().Add(w.patience.WaitIdle)
	told := plugins.Reason("")
	for {
		o, stop := w.look(ctx, s, p)
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

// look judges the session as it is now: nil, nil if its pane may be typed into.
func (w *work) look(ctx context.Context, s live, p *pane.Pane) (*obstacle, *plugins.Result) {
	now, table, err := w.again(s)
	if err != nil {
		result := refused(plugins.Failed, plugins.ReasonClientExited, err.Error())
		return nil, &result
	}
	switch now.state {
	case plugins.StateBusy:
		return &obstacle{plugins.ReasonTurnRunning, "a turn is running", now.state}, nil
	case plugins.StateWaiting:
		return &obstacle{plugins.ReasonDialogOpen, "it waits for a person: " + now.waitingFor, now.state}, nil
	case plugins.StateUnknown:
		return &obstacle{plugins.ReasonStateUnknown, "the client doesn't say what it is doing", now.state}, nil
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
	return w.judgeView(view, table, s), nil
}

// judgeView says what about a screen forbids typing, nil if nothing does.
func (w *work) judgeView(view pane.View, table proctable.Table, s live) *obstacle {
	box := readPrompt(view)
	switch age := w.now().Sub(view.LastKey); {
	case view.Dead:
		return &obstacle{plugins.ReasonPaneGone, "the pane's process has ended", plugins.StateUnknown}
	case view.InMode:
		return &obstacle{plugins.ReasonCopyMode, "the pane is in copy mode", plugins.StateIdle}
	case !table[s.pid].InFront() || editorOpen(table, s.pid):
		return &obstacle{plugins.ReasonNotAtPrompt, "another program is in front in the pane", plugins.StateIdle}
	case !box.found:
		return &obstacle{plugins.ReasonNotAtPrompt, "no input box on the screen", plugins.StateIdle}
	case !box.empty():
		return &obstacle{plugins.ReasonTextTyped, "something stands in the input box", plugins.StateIdle}
	case !view.LastKey.IsZero() && age < quiet:
		return &obstacle{plugins.ReasonPersonTyping, fmt.Sprintf("somebody at the terminal pressed a key %d s ago", int(age.Seconds())), plugins.StateIdle}
	}
	return nil
}

// editorOpen says whether a child of the client reads from the client's own
// terminal, as an editor opened from the input box does.
func editorOpen(table proctable.Table, pid int) bool {
	terminal := proctable.Stdin(pid)
	if !strings.HasPrefix(terminal, "/dev/") || terminal == os.DevNull {
		return false
	}
	for _, child := range table.Children(pid) {
		if proctable.Stdin(child.PID) == terminal {
			return true
		}
	}
	return false
}

// again reads the session's file anew; an error means that this process hasn't
// got this session open any more.
func (w *work) again(s live) (live, proctable.Table, error) {
	opened, table, err := w.opened(s.id)
	if err != nil {
		return live{}, nil, err
	}
	for _, now := range opened {
		if now.pid == s.pid && now.started == s.started {
			return now, table, nil
		}
	}
	return live{}, nil, fmt.Errorf("process %d hasn't got the session open any more", s.pid)
}

// enter types the line, looks whether it stands in the input box, alone, and
// only then presses Enter. What was begun is brought to its end: a host that
// goes away must not leave half a line in a person's input box.
func (w *work) enter(ctx context.Context, p *pane.Pane) (sent, *plugins.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*settle)
	defer cancel()
	if err := p.Type(ctx, w.line); err != nil {
		result := refused(plugins.Failed, plugins.ReasonPaneGone, fmt.Sprintf("typing: %v", err))
		result.Sent = true
		return sent{}, &result
	}
	deadline := w.now().Add(settle)
	var echo string
	for {
		view, err := p.Steady(ctx)
		if err != nil {
			result := refused(plugins.Failed, plugins.ReasonPaneGone, fmt.Sprintf("typed, Enter not pressed: %v", err))
			result.Sent = true
			return sent{}, &result
		}
		if box := readPrompt(view); !view.InMode && box.found && showsTyped(box.text, w.line) {
			echo = echoPlace(view)
			break
		}
		if !w.now().Before(deadline) || ctx.Err() != nil {
			result := refused(plugins.Failed, plugins.ReasonNotAtPrompt,
				"typed, Enter not pressed: the input box doesn't show that line alone; what was typed may stand there")
			result.Sent = true
			return sent{}, &result
		}
		pause(ctx, poll/3)
	}
	entered := sent{at: w.now(), echo: echo}
	if err := p.Enter(ctx); err != nil {
		result := refused(plugins.Unknown, plugins.ReasonPaneGone, fmt.Sprintf("pressing Enter: %v", err))
		result.Sent = true
		return sent{}, &result
	}
	return entered, nil
}

// sent is how things stood when Enter was pressed.
type sent struct {
	at   time.Time
	echo string // see echoPlace
}

// showsTyped compares what the input box shows with what was typed: wrapped at
// the pane's width, or folded into a placeholder where it was long.
func showsTyped(shown, typed string) bool {
	squeeze := func(s string) string { return strings.Join(strings.FieldsFunc(s, isSpace), "") }
	if squeeze(shown) == squeeze(pane.Printable(typed)) {
		return true
	}
	return strings.HasPrefix(shown, "[Pasted text #") && strings.HasSuffix(shown, "]") && strings.Count(shown, "[Pasted text #") == 1
}

func isSpace(r rune) bool { return r == ' ' || r == '\n' || r == '\u00a0' || r == '\t' }

// follower watches what became of a line that was entered.
type follower struct {
	*work
	session live
	pane    *pane.Pane
	path    string // of the transcript, "" while there is none
	from    int64  // its size before
	sent    sent
	running bool
}

// compaction waits for the boundary, or for the client's own words.
func (f *follower) compaction(ctx context.Context) plugins.Result {
	var said string // the client's own word, without a boundary so far
	var saidAt time.Time
	for {
		if b := boundaryAfter(ctx, f.path, f.from); b != nil {
			return compacted(b, plugins.ChannelPane, f.stateNow())
		}
		now, _, gone := f.again(f.session)
		if gone == nil && now.state == plugins.StateBusy && !f.running {
			f.running = true
			f.stage(plugins.StageRunning, "the client is busy")
		}
		if said == "" {
			if said = f.words(ctx); said != "" {
				saidAt = f.now()
				f.stage(plugins.StageConfirming, firstLine(said))
			}
		}
		if outcome, reason, ok := judge(said); ok {
			if outcome != plugins.Compacted {
				return f.ended(outcome, reason, firstLine(said))
			}
			// The boundary may reach the disk only later (seen on 2.1.197).
			if f.now().Sub(saidAt) > settle {
				return compacted(nil, plugins.ChannelPane, f.stateNow())
			}
		}
		if gone != nil {
			if b := boundaryAfter(ctx, f.path, f.from); b != nil {
				return compacted(b, plugins.ChannelPane, plugins.StateClosed)
			}
			return f.ended(plugins.Unknown, plugins.ReasonClientExited, gone.Error())
		}
		if ctx.Err() != nil {
			return f.late(ctx, now)
		}
		pause(ctx, poll)
	}
}

// words is what the client said about the compaction: in the transcript, or on
// the screen of a client that did something since and is idle again.
func (f *follower) words(ctx context.Context) string {
	if f.path == "" {
		f.path = f.transcriptOf(f.session.id, f.session.cwd)
	}
	if f.path != "" {
		if ended := compactEnded(f.path, f.from); ended.found {
			return ended.text
		}
	}
	now, _, err := f.again(f.session)
	if err != nil || now.state != plugins.StateIdle || !now.changed.After(f.sent.at) {
		return ""
	}
	view, err := f.pane.Steady(ctx)
	if err != nil {
		return ""
	}
	return freshEcho(view, f.sent.echo)
}

// freshEcho is what stands below the last /compact of a screen whose input box
// took the line: while the line stands there, or the last /compact stands where
// it stood before, the words are an older one's.
func freshEcho(view pane.View, before string) string {
	text := echoed(view)
	if _, _, ok := judge(text); !ok || !readPrompt(view).empty() || echoPlace(view) == before {
		return ""
	}
	return text
}

// turn waits for the answer, and for the client to be idle again.
func (f *follower) turn(ctx context.Context) plugins.Result {
	for {
		now, _, gone := f.again(f.session)
		if gone == nil && now.state == plugins.StateBusy && !f.running {
			f.running = true
			f.stage(plugins.StageRunning, "the client is busy")
		}
		if f.path == "" {
			f.path = f.transcriptOf(f.session.id, f.session.cwd)
		}
		if f.answered(ctx) && gone == nil && now.state == plugins.StateIdle && !now.changed.Before(f.sent.at.Truncate(time.Millisecond)) {
			return plugins.Result{Outcome: plugins.Answered, Sent: true, State: plugins.StateIdle, Evidence: plugins.EvidenceCompletion}
		}
		if gone != nil {
			return f.ended(plugins.Unknown, plugins.ReasonClientExited, gone.Error())
		}
		if ctx.Err() != nil {
			return f.late(ctx, now)
		}
		pause(ctx, poll)
	}
}

// answered says whether the transcript holds an answer of the model to what was
// sent.
func (f *follower) answered(ctx context.Context) bool {
	if f.path == "" {
		return false
	}
	tail, err := transcript.After(ctx, client.Claude, f.path, f.from, nil)
	return err == nil && len(tail.Prompts) > 0 && len(tail.Answers) > 0 &&
		tail.Answers[len(tail.Answers)-1].Offset > tail.Prompts[0].Offset
}

func (f *follower) ended(o plugins.Outcome, reason plugins.Reason, detail string) plugins.Result {
	return plugins.Result{Outcome: o, Reason: reason, Detail: detail, Sent: true, State: f.stateNow(), Evidence: plugins.EvidenceNone}
}

func (f *follower) stateNow() plugins.State {
	now, _, err := f.again(f.session)
	if err != nil {
		return plugins.StateUnknown
	}
	return now.state
}

// late is the result once the patience is over: nothing is said about the
// client having stopped.
func (f *follower) late(ctx context.Context, now live) plugins.Result {
	if b := boundaryAfter(context.WithoutCancel(ctx), f.path, f.from); b != nil && f.work.compaction {
		return compacted(b, plugins.ChannelPane, now.state)
	}
	result := plugins.Result{
		Outcome: plugins.TimedOut, Sent: true, State: now.state, Evidence: plugins.EvidenceNone,
		Detail: "no end was seen in time; the client may still be at it",
	}
	if now.state == plugins.StateWaiting {
		result.Reason, result.Detail = plugins.ReasonDialogOpen, "it waits for a person: "+now.waitingFor
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		result.Outcome, result.Reason = plugins.Unknown, plugins.ReasonInterrupted
		result.Detail = "interrupted; the client may still be at it"
	}
	return result
}

// pause waits d or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if path == "" || err != nil {
		return 0
	}
	return info.Size()
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reseat-dev/reseat/plugins"
)

// adapter knows shellagent. It reads the agent's files and never writes them:
// what a session is told goes through the agent itself.
type adapter struct {
	home    string // SHELLAGENT_HOME
	program string // "" if it isn't installed
}

func newAdapter(getenv func(string) string) (*adapter, error) {
	home := getenv("SHELLAGENT_HOME")
	if home == "" {
		home = filepath.Join(getenv("HOME"), ".shellagent")
	}
	program, err := exec.LookPath("shellagent")
	if err != nil {
		program = ""
	}
	return &adapter{home: home, program: program}, nil
}

// Describe says what the adapter is. Environment asks the host for the one
// variable that isn't on everybody's list; a person allows it with the adapter.
func (a *adapter) Describe(context.Context) (plugins.Description, error) {
	return plugins.Description{
		Client: "shellagent", Title: "Shell agent", AdapterVersion: version,
		ClientVersions: []string{"1"}, ClientProgram: a.program,
		Capabilities: []plugins.Capability{
			plugins.CanSessions, plugins.CanUsage, plugins.CanTurnLive, plugins.CanTurnClosed,
			plugins.CanCompactLive, plugins.CanCompactClosed, plugins.CanLaunch, plugins.CanInstructions,
		},
		Environment: []string{"SHELLAGENT_"},
	}, nil
}

// session is where the agent keeps one. ok is false for what can't be a
// session's name: it is about to become a path.
func (a *adapter) session(id string) (dir string, ok bool) {
	if id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || id[0] == '-' || len(id) > 100 {
		return "", false
	}
	return filepath.Join(a.home, id), true
}

// opener reads who has a session open; ok is false if nobody has. A file left by
// a process that is gone doesn't count.
func opener(dir string) (pid int, state plugins.State, ok bool) {
	data, err := os.ReadFile(filepath.Join(dir, "open"))
	if err != nil {
		return 0, "", false
	}
	number, word, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
	pid, err = strconv.Atoi(number)
	if err != nil || pid <= 1 || syscall.Kill(pid, 0) != nil {
		return 0, "", false
	}
	switch word {
	case "idle":
		return pid, plugins.StateIdle, true
	case "busy":
		return pid, plugins.StateBusy, true
	}
	return pid, plugins.StateUnknown, true
}

// Sessions lists the sessions that somebody has open.
func (a *adapter) Sessions(context.Context) (plugins.Sessions, error) {
	entries, err := os.ReadDir(a.home)
	if errors.Is(err, fs.ErrNotExist) {
		return plugins.Sessions{}, nil
	}
	if err != nil {
		return plugins.Sessions{}, err
	}
	var out plugins.Sessions
	for _, e := range entries {
		dir, ok := a.session(e.Name())
		if !ok {
			continue
		}
		if pid, state, ok := opener(dir); ok {
			out.Sessions = append(out.Sessions, plugins.Session{
				ID: e.Name(), PID: pid, State: state, Kind: "interactive", Version: "1",
				Transcript: filepath.Join(dir, "history"), Channel: "fifo", IdleCompaction: plugins.SwitchUnknown,
			})
		}
	}
	return out, nil
}

// history is what a session's file tells.
type history struct {
	size     int64
	changed  time.Time
	words    int64 // since the last boundary
	answers  int
	boundary *plugins.Boundary // the last one
}

func readHistory(path string) (history, error) {
	f, err := os.Open(path)
	if err != nil {
		return history{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return history{}, err
	}
	h := history{changed: info.ModTime()}
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return h, nil // a line without its end is still being written
		}
		if err != nil {
			return h, err
		}
		switch words := int64(len(strings.Fields(line))); {
		case strings.HasPrefix(line, "--- compacted"):
			h.boundary = &plugins.Boundary{Offset: h.size, PreTokens: h.words, Trigger: "manual"}
			h.words = 0
		default:
			h.words += words
			if strings.HasPrefix(line, "me ") {
				h.answers++
			}
		}
		h.size += int64(len(line))
	}
}

// window is how many words this agent can keep in mind.
const window = 1000

// Usage counts words: this agent has no tokens. What isn't known is said to be
// unknown.
func (a *adapter) Usage(_ context.Context, of []plugins.SessionRef) ([]plugins.Usage, error) {
	out := make([]plugins.Usage, 0, len(of))
	for _, ref := range of {
		u := plugins.Usage{Session: ref.ID, Unknown: plugins.UsageNotFound}
		if dir, ok := a.session(ref.ID); ok {
			h, err := readHistory(filepath.Join(dir, "history"))
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				u.Unknown, u.Detail = plugins.UsageUnreadable, err.Error()
			case h.words == 0:
				u.Unknown = plugins.UsageNoData
			default:
				u.Unknown, u.Tokens, u.Window, u.SampledAt, u.Source = plugins.UsageKnown, h.words, window, h.changed, "shellagent_history"
				u.Percent = 100 * float64(h.words) / window
			}
		}
		out = append(out, u)
	}
	return out, nil
}

// Launch says how to start the agent.
func (a *adapter) Launch(_ context.Context, r plugins.LaunchRequest) (plugins.Launch, error) {
	program := a.program
	l := plugins.Launch{Environment: r.Environment}
	if program == "" {
		program = "shellagent"
		l.Caveats = []string{"no shellagent was found on the PATH"}
	}
	l.Command = append([]string{program}, r.Arguments...)
	return l, nil
}

// Turn gives a session one message.
func (a *adapter) Turn(ctx context.Context, r plugins.TurnRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	if strings.HasPrefix(r.Text, "/") || strings.Contains(r.Text, "\n") {
		return ended(plugins.Failed, "", "a message is one line and doesn't begin with /"), nil
	}
	return a.work(ctx, r.Session, r.Patience, r.Text, stage, func(before, now history) bool { return now.answers > before.answers },
		func(history) plugins.Result {
			return plugins.Result{Outcome: plugins.Answered, Evidence: plugins.EvidenceCompletion}
		})
}

// Compact compacts a session. Only a new boundary in the history counts: that
// the agent took the line proves nothing.
func (a *adapter) Compact(ctx context.Context, r plugins.CompactRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	line := strings.TrimSpace("/compact " + strings.Join(strings.Fields(r.Instructions), " "))
	if r.DryRun {
		return a.dry(ctx, r.Session, r.Patience, stage), nil
	}
	result, err := a.work(ctx, r.Session, r.Patience, line, stage,
		func(before, now history) bool {
			return now.boundary != nil && (before.boundary == nil || now.boundary.Offset > before.boundary.Offset)
		},
		func(now history) plugins.Result {
			return plugins.Result{Outcome: plugins.Compacted, Evidence: plugins.EvidenceBoundary, Boundary: now.boundary}
		})
	result.Mechanism = "shellagent-compact"
	return result, err
}

func ended(o plugins.Outcome, reason plugins.Reason, detail string) plugins.Result {
	return plugins.Result{Outcome: o, Reason: reason, Detail: detail, State: plugins.StateUnknown, Evidence: plugins.EvidenceNone}
}

// dry makes every check that Compact makes, with the same patience, and sends
// nothing.
func (a *adapter) dry(ctx context.Context, ref plugins.SessionRef, p plugins.Patience, stage func(plugins.Progress)) plugins.Result {
	tell := func(s plugins.Stage) { stage(plugins.Progress{Stage: s, At: time.Now()}) }
	tell(plugins.StageChecking)
	dir, ok := a.session(ref.ID)
	if !ok || !exists(dir) {
		return ended(plugins.NotFound, "", "no such session")
	}
	if _, _, busy := a.waitIdle(ctx, dir, p.WaitIdle, tell); busy {
		return ended(plugins.Busy, plugins.ReasonTurnRunning, "it is at work")
	}
	return ended("", "", "it would be compacted")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// poll is how often a session is looked at while something is awaited.
const poll = 50 * time.Millisecond

// work says a line to a session, through whoever has it open or through an agent
// of our own, and waits until the history shows what was wanted.
func (a *adapter) work(ctx context.Context, ref plugins.SessionRef, p plugins.Patience, line string,
	stage func(plugins.Progress), done func(before, now history) bool, result func(history) plugins.Result,
) (plugins.Result, error) {
	began := time.Now()
	tell := func(s plugins.Stage) { stage(plugins.Progress{Stage: s, At: time.Now()}) }
	tell(plugins.StageChecking)
	dir, ok := a.session(ref.ID)
	if !ok || !exists(dir) {
		return ended(plugins.NotFound, "", "no such session"), nil
	}
	path := filepath.Join(dir, "history")
	before, err := readHistory(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ended(plugins.NoHistory, "", "the session has no history"), nil
	}
	if err != nil {
		return plugins.Result{}, err
	}
	pid, open, busy := a.waitIdle(ctx, dir, p.WaitIdle, tell)
	if busy {
		r := ended(plugins.Busy, plugins.ReasonTurnRunning, "it is at work")
		r.State = plugins.StateBusy
		return r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout(p))
	defer cancel()
	tell(plugins.StageSending)
	channel, said := plugins.Channel("fifo"), ""
	if open {
		err = write(filepath.Join(dir, "in"), line)
	} else {
		channel = "headless"
		said, err = a.once(ctx, ref.ID, line)
	}
	if err != nil {
		r := ended(plugins.Failed, plugins.ReasonClientError, err.Error())
		r.Sent, r.Channel = !open, channel
		return r, nil
	}
	tell(plugins.StageSent)
	r := a.await(ctx, path, dir, pid, open, said, before, done, result)
	r.Sent, r.Channel, r.Took = true, channel, time.Since(began)
	return r, nil
}

func timeout(p plugins.Patience) time.Duration {
	if p.Timeout > 0 {
		return p.Timeout
	}
	return time.Minute
}

// waitIdle waits until an open session is idle, at most as long as asked.
func (a *adapter) waitIdle(ctx context.Context, dir string, patience time.Duration, tell func(plugins.Stage)) (pid int, open, busy bool) {
	deadline := time.Now().Add(patience)
	for waited := false; ; waited = true {
		pid, state, open := opener(dir)
		if !open || state == plugins.StateIdle {
			return pid, open, false
		}
		if !time.Now().Before(deadline) || ctx.Err() != nil {
			return pid, open, true
		}
		if !waited {
			tell(plugins.StageWaitingIdle)
		}
		pause(ctx)
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(poll):
	}
}

// write gives an open session a line. A FIFO that nobody reads doesn't block: it
// is an error.
func write(fifo, line string) error {
	f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// once lets an agent of our own say the line to a session that nobody has open.
func (a *adapter) once(ctx context.Context, id, line string) (said string, err error) {
	if a.program == "" {
		return "", errors.New("no shellagent was found on the PATH")
	}
	cmd := exec.CommandContext(ctx, a.program, id, "--once", line)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("shellagent: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// await looks at the history until it shows what was wanted.
func (a *adapter) await(ctx context.Context, path, dir string, pid int, open bool, said string, before history,
	done func(before, now history) bool, result func(history) plugins.Result,
) plugins.Result {
	for idle := 0; ; idle++ {
		now, err := readHistory(path)
		if err == nil && done(before, now) {
			r := result(now)
			r.State = stateOf(dir)
			return r
		}
		switch {
		case said == "not enough to compact":
			return ended(plugins.NotEnough, "", said)
		case !open:
			return ended(plugins.Unknown, plugins.ReasonClientError, "it said: "+said)
		case ctx.Err() != nil:
			return ended(plugins.TimedOut, "", "no end was seen in time; it may still be at it")
		case syscall.Kill(pid, 0) != nil:
			return ended(plugins.Unknown, plugins.ReasonClientExited, "the agent went away in the middle")
		case stateOf(dir) == plugins.StateIdle && idle > 40:
			return ended(plugins.NotEnough, "", "it is idle again and left no boundary")
		}
		pause(ctx)
	}
}

func stateOf(dir string) plugins.State {
	if _, state, open := opener(dir); open {
		return state
	}
	return plugins.StateClosed
}

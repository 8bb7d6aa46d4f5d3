package codex

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/pane"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// holder is a process that has threads open.
type holder struct {
	proctable.Process
	kind     holderKind
	rollouts []string // absolute paths
}

type holderKind int

const (
	inTerminal holderKind = iota // a terminal of its own
	inDaemon                     // the shared daemon
	inServer                     // an app-server of some other program
	inExec                       // codex exec: one turn, then it ends
)

// thread is a thread that a running client has open.
type thread struct {
	id      string
	rollout string
	by      holder
	who     transcript.Identity
}

// holders lists the processes that have rollouts of this CODEX_HOME open: seen
// on 0.133.0 to 0.171.0, a client keeps the rollout of each loaded thread open
// from its first turn on. Locks aren't touched: opening one could be taken for a
// writer.
func (a *Adapter) holders() ([]holder, proctable.Table, error) {
	table, err := a.table()
	if err != nil {
		return nil, nil, err
	}
	sessions := filepath.Join(a.home, "sessions") + string(filepath.Separator)
	var out []holder
	for _, p := range table {
		if !strings.HasPrefix(p.Name, "codex") || p.Zombie {
			continue
		}
		files, err := proctable.Files(p.PID)
		if errors.Is(err, proctable.ErrUnsupported) {
			return nil, table, err
		}
		h := holder{Process: p, kind: kindOf(p)}
		for _, f := range files {
			if strings.HasPrefix(f, sessions) && threadOf(f) != "" && !slices.Contains(h.rollouts, f) {
				h.rollouts = append(h.rollouts, f)
			}
		}
		if len(h.rollouts) > 0 {
			out = append(out, h)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].PID < out[j].PID })
	return out, table, nil
}

func kindOf(p proctable.Process) holderKind {
	args, _ := proctable.Args(p.PID)
	switch {
	case slices.Contains(args, "app-server") && slices.Contains(args, "--listen"):
		return inDaemon
	case slices.Contains(args, "app-server"):
		return inServer
	case len(args) > 1 && (args[1] == "exec" || args[1] == "e"), p.Front <= 0:
		return inExec
	}
	return inTerminal
}

// threadOf takes the thread's id from a rollout's file name:
// rollout-<time>-<uuid>.jsonl.
func threadOf(rollout string) string {
	name, ok := strings.CutSuffix(filepath.Base(rollout), ".jsonl")
	if !ok || !strings.HasPrefix(name, "rollout-") || len(name) < 36 {
		return ""
	}
	if id := name[len(name)-36:]; validID(id) {
		return id
	}
	return ""
}

// validID accepts a thread's id: a UUID.
func validID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, r := range id {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := r >= '0' && r <= '9' || r >= 'a' && r <= 'f'
		if dash != (r == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

// threads lists the threads that people's clients have open; subagents' threads
// are their parents' business.
func (a *Adapter) threads() ([]thread, proctable.Table, error) {
	holders, table, err := a.holders()
	if err != nil {
		return nil, table, err
	}
	var out []thread
	for _, h := range holders {
		for _, rollout := range h.rollouts {
			who, err := transcript.Identify(client.Codex, rollout)
			if err != nil || who.Subagent {
				continue
			}
			out = append(out, thread{id: threadOf(rollout), rollout: rollout, by: h, who: who})
		}
	}
	return out, table, nil
}

// Sessions lists the threads that running clients of this CODEX_HOME have open.
// A thread before its first turn has no rollout and isn't shown.
func (a *Adapter) Sessions(ctx context.Context) (plugins.Sessions, error) {
	threads, table, err := a.threads()
	if errors.Is(err, proctable.ErrUnsupported) {
		return plugins.Sessions{Caveats: []string{"live threads can't be seen on this system: it doesn't show which files a process has open"}}, nil
	}
	if err != nil {
		return plugins.Sessions{}, err
	}
	var out plugins.Sessions
	daemon := lazyDaemon{adapter: a}
	defer daemon.close()
	for _, t := range threads {
		session, caveat := a.describe(ctx, t, table, &daemon)
		if caveat != "" {
			out.Caveats = append(out.Caveats, caveat)
		}
		out.Sessions = append(out.Sessions, session)
	}
	return out, nil
}

func (a *Adapter) describe(ctx context.Context, t thread, table proctable.Table, daemon *lazyDaemon) (plugins.Session, string) {
	session := plugins.Session{
		ID: t.id, CWD: t.who.CWD, PID: t.by.PID, Version: t.who.Version, Transcript: t.rollout,
		State: plugins.StateUnknown, IdleCompaction: plugins.SwitchUnknown,
	}
	switch t.by.kind {
	case inDaemon:
		session.Kind = "daemon"
		c, err := daemon.get(ctx)
		if err != nil {
			session.StateReason = err.Error()
			return session, fmt.Sprintf("thread %s: %v", t.id, err)
		}
		session.Channel = plugins.ChannelDaemon
		session.State, session.StateReason, err = readState(ctx, c, t.id)
		if err != nil {
			return session, fmt.Sprintf("thread %s: %v", t.id, err)
		}
	case inTerminal:
		session.Kind = "terminal"
		session.State, session.StateSince = lastTask(t.rollout)
		session.StateReason = "the rollout's last task record"
		p, err := pane.Find(ctx, table, t.by.PID, a.getenv)
		if err != nil {
			return session, fmt.Sprintf("thread %s: looking for its pane: %v", t.id, err)
		}
		if p != nil {
			session.Pane, session.Channel = p.Info(), plugins.ChannelPane
		}
	case inServer:
		session.Kind, session.StateReason = "app-server", "another program's app-server has it"
		session.State, session.StateSince = lastTask(t.rollout)
	case inExec:
		session.Kind, session.State, session.StateReason = "exec", plugins.StateBusy, "codex exec runs one turn"
	}
	return session, ""
}

// lazyDaemon connects to the daemon once, when first needed.
type lazyDaemon struct {
	adapter *Adapter
	tried   bool
	conn    *conn
	err     error
}

func (l *lazyDaemon) get(ctx context.Context) (*conn, error) {
	if !l.tried {
		l.tried = true
		l.conn, l.err = l.adapter.dialDaemon(ctx)
	}
	return l.conn, l.err
}

func (l *lazyDaemon) close() {
	if l.conn != nil {
		l.conn.close()
	}
}

// readState asks an app-server what a thread is doing; that loads nothing.
func readState(ctx context.Context, c *conn, id string) (plugins.State, string, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	result, err := c.call(ctx, "thread/read", map[string]any{"threadId": id})
	if err != nil {
		return plugins.StateUnknown, "", fmt.Errorf("asking what it is doing: %w", err)
	}
	state, reason := stateOf(result.Get("thread.status"))
	return state, reason, nil
}

// stateOf reads a thread's status (0.171.0: idle, active with flags, notLoaded,
// systemError). After a system error the thread takes the next turn.
func stateOf(status gjson.Result) (plugins.State, string) {
	switch status.Get("type").Str {
	case "idle":
		return plugins.StateIdle, ""
	case "systemError":
		return plugins.StateIdle, "its last turn ended in an error"
	case "notLoaded":
		return plugins.StateClosed, ""
	case "active":
		for _, flag := range status.Get("activeFlags").Array() {
			switch flag.Str {
			case "waitingOnApproval":
				return plugins.StateWaiting, "an approval"
			case "waitingOnUserInput":
				return plugins.StateWaiting, "an answer"
			}
		}
		return plugins.StateBusy, ""
	}
	return plugins.StateUnknown, "status " + strconv.Quote(status.Get("type").Str)
}

// lookBack is how far from a rollout's end its last task record is looked for.
const lookBack = 8 << 20

// lastTask tells from a rollout whether a turn runs: its last task_started has
// no end yet.
func lastTask(rollout string) (plugins.State, time.Time) {
	f, err := os.Open(rollout)
	if err != nil {
		return plugins.StateUnknown, time.Time{}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return plugins.StateUnknown, time.Time{}
	}
	for back := int64(256 << 10); ; back *= 8 {
		from := max(0, info.Size()-back)
		if _, err := f.Seek(from, io.SeekStart); err != nil {
			return plugins.StateUnknown, time.Time{}
		}
		state, at := scanTasks(f)
		if state != plugins.StateUnknown || from == 0 || back >= lookBack {
			return state, at
		}
	}
}

// scanTasks reads records to the end and returns what the last task record
// means. The reader may begin within a record.
func scanTasks(in io.Reader) (plugins.State, time.Time) {
	state, at := plugins.StateUnknown, time.Time{}
	eachRecord(in, func(record gjson.Result) {
		if record.Get("type").Str != "event_msg" {
			return
		}
		switch record.Get("payload.type").Str {
		case "task_started":
			state = plugins.StateBusy
		case "task_complete", "turn_aborted":
			state = plugins.StateIdle
		default:
			return
		}
		at = record.Get("timestamp").Time()
	})
	return state, at
}

// maxRecord is the longest record looked into here; the ones of interest are
// short.
const maxRecord = 64 << 10

// eachRecord hands on every whole, short record of a rollout.
func eachRecord(in io.Reader, take func(gjson.Result)) {
	r := bufio.NewReaderSize(in, maxRecord)
	for {
		line, err := r.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if err != nil {
			return // the last record may still be being written
		}
		if !long && gjson.ValidBytes(line) {
			take(gjson.ParseBytes(line))
		}
	}
}

// rolloutIn finds a thread's rollout in the folder of a day, "" if it isn't there.
func rolloutIn(dir, id string) string {
	f, err := os.Open(dir)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, _ := f.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, "rollout-") && strings.HasSuffix(name, "-"+id+".jsonl") {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// rolloutOf finds a thread's rollout, "" if there is none. The folders are days;
// a thread's id, a UUID of version 7, tells the day to try first.
func (a *Adapter) rolloutOf(id string) string {
	if !validID(id) {
		return ""
	}
	name := "rollout-*-" + id + ".jsonl"
	if ms, err := strconv.ParseInt(id[:8]+id[9:13], 16, 64); err == nil && id[14] == '7' {
		for _, days := range []int{0, -1, 1} {
			day := time.UnixMilli(ms).AddDate(0, 0, days)
			dir := filepath.Join(a.home, "sessions", day.Format("2006"), day.Format("01"), day.Format("02"))
			if rollout := rolloutIn(dir, id); rollout != "" {
				return rollout
			}
		}
	}
	found, _ := filepath.Glob(filepath.Join(a.home, "sessions", "*", "*", "*", name))
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

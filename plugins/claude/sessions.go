package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/pane"
	"github.com/reseat-dev/reseat/plugins/proctable"
)

// maxSessionFile bounds sessions/<pid>.json; a real one has about 600 bytes.
const maxSessionFile = 64 << 10

// idleCompactionSince is the first version that knows idleCompaction.
var idleCompactionSince = [3]int{2, 1, 290}

// live is a session that a running client has open.
type live struct {
	id, cwd, version, kind string
	pid                    int
	started                string // as the process table has it
	state                  plugins.State
	waitingFor             string
	changed                time.Time // when the client last changed its state
	transcript             string
	foreign                bool // of another process namespace: nothing can be said about its process
}

// Sessions lists the sessions that running clients of this configuration folder
// have open.
func (a *Adapter) Sessions(ctx context.Context) (plugins.Sessions, error) {
	sessions, table, caveats, err := a.live()
	if err != nil {
		return plugins.Sessions{}, err
	}
	out := plugins.Sessions{Caveats: caveats}
	for _, s := range sessions {
		session, caveat := a.describe(ctx, s, table)
		if caveat != "" {
			out.Caveats = append(out.Caveats, caveat)
		}
		out.Sessions = append(out.Sessions, session)
	}
	return out, nil
}

// describe adds to a live session what its process and terminal tell.
func (a *Adapter) describe(ctx context.Context, s live, table proctable.Table) (session plugins.Session, caveat string) {
	session = plugins.Session{
		ID: s.id, CWD: s.cwd, PID: s.pid, Version: s.version, Transcript: s.transcript,
		State: s.state, StateReason: "sessions/" + strconv.Itoa(s.pid) + ".json", StateSince: s.changed,
		Kind: s.kind, IdleCompaction: plugins.SwitchUnknown,
	}
	switch {
	case s.waitingFor != "":
		session.StateReason = s.waitingFor
	case s.foreign:
		session.State, session.StateReason = plugins.StateUnknown, "it runs in another process namespace"
		return session, ""
	}
	session.IdleCompaction = a.launchedWith(s)
	p, err := pane.Find(ctx, table, s.pid, a.getenv)
	if err != nil {
		caveat = fmt.Sprintf("session %s: looking for its pane: %v", s.id, err)
	}
	if p != nil {
		session.Pane, session.Channel = p.Info(), plugins.ChannelPane
	}
	return session, caveat
}

// live reads sessions/<pid>.json of every process that is still the one that
// wrote it.
func (a *Adapter) live() (sessions []live, table proctable.Table, caveats []string, err error) {
	if table, err = a.table(); err != nil {
		return nil, nil, nil, err
	}
	dir := filepath.Join(a.config, "sessions")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, table, nil, nil
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("looking for live sessions: %w", err)
	}
	for _, e := range entries {
		pid, ok := sessionFile(e.Name())
		if !ok {
			continue // the *.key files beside them are secrets
		}
		data, err := readSmall(filepath.Join(dir, e.Name()))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				caveats = append(caveats, err.Error())
			}
			continue
		}
		s, err := parseSession(pid, data)
		if err != nil {
			caveats = append(caveats, fmt.Sprintf("%s: %v", e.Name(), err))
			continue
		}
		if !s.foreign && !table.Alive(pid, s.started) {
			continue // left behind by a process that ended
		}
		s.transcript = a.transcriptOf(s.id, s.cwd)
		sessions = append(sessions, s)
	}
	return sessions, table, caveats, nil
}

// sessionFile takes 123.json and nothing else.
func sessionFile(name string) (pid int, ok bool) {
	digits, ok := strings.CutSuffix(name, ".json")
	if !ok {
		return 0, false
	}
	pid, err := strconv.Atoi(digits)
	return pid, err == nil && pid > 0 && strconv.Itoa(pid) == digits
}

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q isn't a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSessionFile+1))
	if err == nil && len(data) > maxSessionFile {
		err = fmt.Errorf("%q is larger than %d bytes", path, maxSessionFile)
	}
	return data, err
}

// parseSession reads a session file as 2.1.197 to 2.1.332 write it.
func parseSession(pid int, data []byte) (live, error) {
	if !gjson.ValidBytes(data) {
		return live{}, errors.New("not JSON")
	}
	r := gjson.ParseBytes(data)
	text := func(key string) string {
		if v := r.Get(key); v.Type == gjson.String {
			return v.Str
		}
		return ""
	}
	s := live{
		id: text("sessionId"), cwd: text("cwd"), version: text("version"), kind: text("kind"),
		pid: pid, started: text("procStart"), waitingFor: text("waitingFor"), state: plugins.StateUnknown,
	}
	if s.id == "" || r.Get("pid").Int() != int64(pid) {
		return live{}, errors.New("no session of this process")
	}
	switch text("status") {
	case "idle":
		s.state = plugins.StateIdle
	case "busy":
		s.state = plugins.StateBusy
	case "waiting":
		s.state = plugins.StateWaiting
	}
	if s.state != plugins.StateWaiting {
		s.waitingFor = ""
	}
	for _, key := range []string{"statusUpdatedAt", "updatedAt"} {
		if ms := r.Get(key).Int(); ms > 0 && s.changed.IsZero() {
			s.changed = time.UnixMilli(ms)
		}
	}
	if domain := text("pidDomain"); domain != "" {
		own, _ := os.Readlink("/proc/self/ns/pid")
		s.foreign = own != "" && !strings.HasSuffix(domain, own)
	}
	return s, nil
}

// opened lists the live processes that have a session open.
func (a *Adapter) opened(id string) (mine []live, table proctable.Table, err error) {
	all, table, _, err := a.live()
	if err != nil {
		return nil, nil, err
	}
	return slices.DeleteFunc(all, func(s live) bool { return s.id != id }), table, nil
}

// transcriptOf finds a session's transcript: projects/<folder>/<id>.jsonl, in
// the folder of cwd if it is there, else in whichever it is. "" if none.
func (a *Adapter) transcriptOf(id, cwd string) string {
	if !validID(id) {
		return ""
	}
	projects := filepath.Join(a.config, "projects")
	if cwd != "" {
		if path := filepath.Join(projects, projectFolder(cwd), id+".jsonl"); isFile(path) {
			return path
		}
	}
	folders, err := os.ReadDir(projects)
	if err != nil {
		return ""
	}
	for _, f := range folders {
		if path := filepath.Join(projects, f.Name(), id+".jsonl"); isFile(path) {
			return path
		}
	}
	return ""
}

// projectFolder is the client's folder name for a working directory: every
// character but letters and digits becomes a dash (seen: / . _ and blanks).
func projectFolder(cwd string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, cwd)
}

// validID accepts what the client uses for a session's id, and so for a file's
// name: a UUID.
func validID(id string) bool {
	if len(id) != 36 {
		return false
	}
	for i, r := range id {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		hex := r >= '0' && r <= '9' || r >= 'a' && r <= 'f' || r >= 'A' && r <= 'F'
		if dash != (r == '-') || !dash && !hex {
			return false
		}
	}
	return true
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// launchedWith says whether a running client's command line switches its own
// compaction of idle sessions off.
func (a *Adapter) launchedWith(s live) plugins.Switch {
	if before(s.version, idleCompactionSince) {
		return plugins.SwitchUnknown
	}
	args, err := proctable.Args(s.pid)
	if err != nil || len(args) == 0 {
		return plugins.SwitchUnknown
	}
	given := findSettings(args[1:])
	if len(given) == 0 {
		return plugins.SwitchOn
	}
	value, _, err := readSettings(given[len(given)-1].value, s.cwd)
	if err != nil {
		return plugins.SwitchUnknown
	}
	if v := gjson.Get(value, "idleCompaction"); v.Type == gjson.False {
		return plugins.SwitchOff
	}
	return plugins.SwitchOn
}

package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/client"
)

// liveTimeout bounds the whole trial of one client.
const liveTimeout = 3 * time.Minute

// LiveOptions says what to try.
type LiveOptions struct {
	// Install is what an install on this machine is given. Without clients,
	// those found are tried.
	Install installer.Options
	// Progress is told what happens now; nil if nobody wants to know.
	Progress func(c client.Client, what string)
	// Program is the client's program, where it isn't the one in PATH.
	Program map[client.Client]string
	// Between stands between the client and the stub: it is given the stub's URL
	// and returns the one that the client is told. For tests.
	Between func(stub string) (url string, err error)
}

// Live has each installed client compact a made-up session, in a throw-away home
// with a copy of our own hooks only, against a stub model on loopback, and looks
// whether the directive reached the model. There is no account, no token is used,
// and no network but loopback.
func Live(ctx context.Context, o LiveOptions) Report {
	if o.Progress == nil {
		o.Progress = func(client.Client, string) {}
	}
	e := &examiner{Options: Options{Install: o.Install, Now: time.Now}, ctx: ctx}
	clients := o.Install.Clients
	if len(clients) == 0 {
		clients = e.clients()
	}
	for _, c := range clients {
		started := time.Now()
		f := o.try(ctx, c)
		f.ID, f.Client = "live", c
		f.Evidence = append(f.Evidence, fmt.Sprintf("took %.1f s", time.Since(started).Seconds()))
		e.add(f)
	}
	return e.report
}

// runner knows how one client is made to compact against its stub.
type runner interface {
	// configure writes the client's configuration into the throw-away home.
	configure(t *trial) error
	// compact takes a session through a compaction and a turn more, or two if the
	// first didn't bring the directive.
	compact(t *trial) error
	// reached tells how many requests after the compaction the model got, and
	// how many of them hold text.
	reached(text string) (requests, holding int)
	close()
}

// trial is one client's throw-away home.
type trial struct {
	LiveOptions
	ctx     context.Context
	c       client.Client
	program string
	home    string // the throw-away one
	state   string // below it
	hooks   []installer.WantedHook
}

func (o LiveOptions) try(ctx context.Context, c client.Client) Finding {
	p := &patient{examiner: &examiner{Options: Options{Install: o.Install}, ctx: ctx}, c: c}
	t := &trial{LiveOptions: o, c: c, program: o.Program[c]}
	if t.program == "" {
		t.program = p.program()
	}
	if t.program == "" {
		return Finding{Colour: Yellow, Unknown: true, Says: "the client isn't in PATH, so it can't be tried", Evidence: []string{"PATH=" + o.Install.Getenv("PATH")}, Remedy: "put " + string(c) + " into PATH"}
	}
	home, err := os.MkdirTemp("", "reseat-live-")
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	if err != nil {
		return unclear("a throw-away home can't be made", err)
	}
	defer os.RemoveAll(home)
	t.home, t.state = home, filepath.Join(home, "state")
	if t.hooks, err = t.copyHooks(); err != nil {
		return Finding{Colour: Red, Stops: true, Says: "our hooks aren't installed, so there is nothing to try", Evidence: []string{err.Error()}, Remedy: "run: reseat install --client " + string(c)}
	}
	var cancel context.CancelFunc
	t.ctx, cancel = context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	return t.run()
}

func unclear(says string, err error) Finding {
	return Finding{Colour: Yellow, Unknown: true, Says: says, Evidence: []string{err.Error()}, Remedy: "see whether the client works at all; reseat doctor without --live tells more"}
}

// copyHooks copies the entries that are in force, on another state folder and
// with the home written out: the client gets another home.
func (t *trial) copyHooks() ([]installer.WantedHook, error) {
	p := &patient{examiner: &examiner{Options: Options{Install: t.Install}}}
	var list []installer.WantedHook
	for _, want := range installer.Entries() {
		found := false
		for _, file := range installer.Inspect(t.Install, t.c) {
			for _, hook := range file.Hooks {
				if found || !hook.Own || hook.Event != want.Event || file.Scope == installer.Plugin {
					continue
				}
				use, _ := installer.ReadUse(hook.Command, p.lookup)
				command, err := installer.Programs{Dir: filepath.Dir(use.Path), State: t.state}.Command(t.c, want)
				if !strings.ContainsRune(use.Path, filepath.Separator) {
					command, err = installer.Programs{State: t.state}.Command(t.c, want)
				}
				if err != nil {
					return nil, err
				}
				entry := want
				if hook.Timeout != nil {
					entry.Timeout = int(*hook.Timeout)
				}
				list, found = append(list, installer.WantedHook{Entry: entry, Command: command}), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no hook of ours at %s", want.Event)
		}
	}
	return list, nil
}

func (t *trial) run() Finding {
	version := ""
	if out, err := t.output("", "--version"); err == nil {
		version = " " + versionNumber.FindString(out)
	}
	t.Progress(t.c, "trying "+t.c.Title()+version+" in a throw-away home")
	r, err := t.runner()
	if err != nil {
		return unclear("the stub model can't be started", err)
	}
	defer r.close()
	if err := r.configure(t); err != nil {
		return unclear("the throw-away home can't be set up", err)
	}
	if err := r.compact(t); err != nil {
		f := unclear(t.c.Title()+version+" didn't get through a made-up session", err)
		f.Evidence = append(f.Evidence, t.told()...)
		return f
	}
	requests, holding := r.reached(t.mark())
	switch {
	case requests == 0:
		return unclear("no request reached the model after the compaction", errors.New("did the client compact at all?"))
	case holding == 0:
		return Finding{
			Colour: Red, Stops: true, Says: fmt.Sprintf("%s%s compacted a made-up session, and the directive did not reach the model", t.c.Title(), version),
			Evidence: append([]string{fmt.Sprintf("none of %d requests after the compaction names %s", requests, t.packet())}, t.told()...),
			Remedy:   "this version may not pass on what hooks print: use another one (reseat doctor names those tried), and please report it",
		}
	}
	return Finding{Colour: Green, Says: fmt.Sprintf("%s%s compacted a made-up session, and the directive reached the model", t.c.Title(), version), Evidence: []string{fmt.Sprintf("%d of %d requests after the compaction hold it", holding, requests)}}
}

// mark stands in a directive, which names its packet, and in nothing else.
func (t *trial) mark() string { return filepath.Join(t.state, "s") + string(filepath.Separator) }

// packet is the folder that the missing directive would have named, as far as one
// was written.
func (t *trial) packet() string {
	found, _ := filepath.Glob(filepath.Join(t.state, "s", "*", "c", "*", "packet"))
	if len(found) == 0 {
		return "a packet (none was written)"
	}
	return found[len(found)-1]
}

func (t *trial) runner() (runner, error) {
	if t.c == client.Codex {
		return startCodex()
	}
	return startClaude()
}

// url is where the client shall look for its model.
func (t *trial) url(stub string) (string, error) {
	if t.Between == nil {
		return stub, nil
	}
	return t.Between(stub)
}

// told is what the hooks said in their receipts: which ran, and what they did.
func (t *trial) told() []string {
	var seen []string
	days, _ := filepath.Glob(filepath.Join(t.state, "receipts", "*.jsonl"))
	for _, day := range days {
		data, _ := os.ReadFile(day)
		for line := range bytes.Lines(data) {
			r := gjson.ParseBytes(line)
			words := []string{r.Get("event").Str, r.Get("source").Str, r.Get("decision").Str, r.Get("reason").Str, r.Get("error").Str}
			words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
			seen = append(seen, "hook: "+strings.Join(words, ", "))
		}
	}
	if len(seen) == 0 {
		return []string{"none of our hooks ran"}
	}
	return seen
}

// output runs the client in the throw-away home and returns what it prints.
func (t *trial) output(stdin string, args ...string) (string, error) {
	return t.outputIn(nil, stdin, args...)
}

// outputIn is output with more environment. The client's whole environment is
// made here: no way out but loopback, and nothing of the person's.
func (t *trial) outputIn(env []string, stdin string, args ...string) (string, error) {
	ctx := t.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	work := filepath.Join(t.home, "work")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, t.program, args...)
	cmd.Dir = work
	cmd.Env = append([]string{
		"HOME=" + t.home, "PATH=" + t.Install.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8", "TMPDIR=" + os.TempDir(),
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost",
	}, env...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.WaitDelay = 2 * time.Second
	ownGroup(cmd)
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %.300s %.300s", filepath.Base(t.program), strings.Join(args, " "), err, strings.TrimSpace(complaint.String()), strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// write puts a file into the throw-away home.
func (t *trial) write(rel string, content []byte) error {
	path := filepath.Join(t.home, rel)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// wanted is our entries for the throw-away configuration.
func (t *trial) wanted(file string) installer.Wanted {
	return installer.Wanted{Client: t.c, Hooks: t.hooks, File: file, Getenv: func(name string) string {
		return map[string]string{"HOME": t.home}[name]
	}}
}

// The made-up session.
const (
	firstPrompt  = "Count the apples in the store."
	secondPrompt = "And the pears, please."
	thirdPrompt  = "Go on, please."
	fourthPrompt = "And on."
)

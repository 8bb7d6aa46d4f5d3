package doctor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/client"
)

// askTimeout bounds a question to a program.
const askTimeout = 10 * time.Second

// patient is one client under examination.
type patient struct {
	*examiner
	c     client.Client
	files []installer.Configuration
	// entries are the own entries in force, by event; plugins those of plugins,
	// of which isn't known whether they are.
	entries, plugins map[string][]entry
}

// entry is one hook of ours, and the file it stands in.
type entry struct {
	installer.Hook
	file installer.Configuration
}

func (e entry) where() string { return fmt.Sprintf("%s, line %d", e.file.Path, e.Line) }

func (e *examiner) client(c client.Client) {
	p := &patient{examiner: e, c: c, files: installer.Inspect(e.Install, c), entries: map[string][]entry{}, plugins: map[string][]entry{}}
	for _, file := range p.files {
		for _, hook := range file.Hooks {
			switch {
			case !hook.Own || file.Scope == installer.Profile:
			case file.Scope == installer.Plugin:
				p.plugins[hook.Event] = append(p.plugins[hook.Event], entry{hook, file})
			default:
				p.entries[hook.Event] = append(p.entries[hook.Event], entry{hook, file})
			}
		}
	}
	p.version()
	p.unreadable()
	p.switches()
	p.present()
	p.doubles()
	p.shapes()
	p.commands()
	p.approvals()
	p.project()
	p.permission()
	p.others()
	p.receipts()
	p.run()
}

func (p *patient) add(f Finding) {
	f.Client = p.c
	p.examiner.add(f)
}

// program finds the client's program in PATH; empty if it isn't there.
func (p *patient) program() string {
	for _, dir := range filepath.SplitList(p.Install.Getenv("PATH")) {
		path := filepath.Join(dir, string(p.c))
		if info, err := os.Stat(path); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+`)

// version asks the client for its version and says what that version fires.
func (p *patient) version() {
	program := p.program()
	if program == "" {
		p.add(Finding{ID: "client-program", Colour: Yellow, Says: p.c.Title() + "'s program isn't in PATH", Evidence: []string{"PATH=" + p.Install.Getenv("PATH")}, Remedy: "nothing, if it is started in another way"})
		return
	}
	out, err := p.ask(program, "--version")
	number := versionNumber.FindString(out)
	if err != nil || number == "" {
		p.add(Finding{ID: "client-version", Colour: Yellow, Unknown: true, Says: "the client's version can't be told", Evidence: []string{fmt.Sprintf("%s --version: %v: %.100q", program, err, out)}, Remedy: "see whether the client starts at all"})
		return
	}
	seen := []string{fmt.Sprintf("%s --version: %s", program, number)}
	switch {
	case !hooks.Can(p.c, number).RunsHooks:
		p.add(Finding{ID: "client-version", Colour: Red, Stops: true, Says: "this version doesn't fire the hooks that a directive needs", Evidence: seen, Remedy: fmt.Sprintf("update %s to %s or later", p.c.Title(), hooks.OldestSupported(p.c))})
	case hooks.CompareVersions(number, hooks.NewestTried(p.c)) > 0:
		p.add(Finding{ID: "client-version", Colour: Green, Says: "this version is newer than the newest one tried, " + hooks.NewestTried(p.c), Evidence: append(seen, "reseat doctor --live tries it")})
	default:
		p.add(Finding{ID: "client-version", Colour: Green, Says: "this version fires the hooks", Evidence: append(seen, p.abilities(number))})
	}
}

// abilities says in words what a version proves.
func (p *patient) abilities(number string) string {
	can := hooks.Can(p.c, number)
	words := []string{"PreCompact, SessionStart(compact), PostCompact, UserPromptSubmit"}
	if !can.MarksSubagents {
		words = append(words, "a subagent's compaction looks like the session's own")
	}
	return strings.Join(words, "; ")
}

// ask runs a program with the environment of the person.
func (e *examiner) ask(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(e.ctx, askTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

// unreadable reports files that the client can't read: it drops them, in part
// or as a whole, or doesn't start.
func (p *patient) unreadable() {
	for _, file := range p.files {
		if file.Problem == nil || file.Scope == installer.Plugin {
			continue
		}
		f := Finding{ID: "file-unreadable", Colour: Red, Stops: true, Says: "a configuration file can't be used by the client", Evidence: []string{file.Problem.Error()}, Remedy: file.Problem.Hint}
		if file.Scope == installer.Profile {
			f.Colour, f.Stops = Yellow, false
		}
		p.add(f)
	}
}

// switches reports what turns hooks off, reseat's own switch included.
func (p *patient) switches() {
	list, err := installer.Switches(p.Install, p.c)
	if err != nil {
		p.add(Finding{ID: "hooks-off", Colour: Yellow, Unknown: true, Says: "it can't be told whether hooks are switched off", Evidence: []string{err.Error()}, Remedy: "make the file readable"})
	}
	for _, s := range list {
		id := "hooks-off"
		if strings.Contains(strings.ToLower(s.Name), "managed") {
			id = "managed-only"
		}
		where := s.Path
		if s.Line > 0 {
			where += fmt.Sprintf(", line %d", s.Line)
		}
		p.add(Finding{ID: id, Colour: Red, Stops: true, Says: "hooks are switched off by " + s.Name, Evidence: []string{where}, Remedy: s.Hint})
	}
}

// present reports which events have an entry of ours, and in which files.
func (p *patient) present() {
	if p.stopped("file-unreadable") {
		return // it may be in there
	}
	var missing, seen []string
	for _, want := range installer.Entries() {
		if len(p.entries[want.Event]) == 0 {
			missing = append(missing, want.Event)
		}
	}
	for _, file := range p.files {
		if n := own(file); n > 0 && file.Scope != installer.Plugin {
			seen = append(seen, fmt.Sprintf("%s (%s): %d entries", file.Path, file.Scope, n))
		}
	}
	install := "run: reseat install --client " + string(p.c)
	switch {
	case len(missing) == len(installer.Entries()):
		p.add(Finding{ID: "not-installed", Colour: Red, Stops: true, Says: "none of our hooks is installed", Evidence: p.lookedAt(), Remedy: install})
	case len(missing) > 0:
		p.add(Finding{ID: "hooks-missing", Colour: Red, Stops: true, Says: "no hook of ours at " + strings.Join(missing, ", "), Evidence: seen, Remedy: install})
	default:
		p.add(Finding{ID: "installed", Colour: Green, Says: "all hooks are installed", Evidence: seen})
	}
}

// own counts the entries of ours in a file.
func own(file installer.Configuration) (n int) {
	for _, hook := range file.Hooks {
		if hook.Own {
			n++
		}
	}
	return n
}

func (p *patient) lookedAt() (files []string) {
	for _, file := range p.files {
		if file.Exists {
			files = append(files, fmt.Sprintf("%s (%s): none", file.Path, file.Scope))
		}
	}
	if len(files) == 0 {
		files = []string{"no configuration file is there"}
	}
	return files
}

// doubles reports events at which more than one entry runs our program: each
// compaction is still delivered once, but each prompt costs twice.
func (p *patient) doubles() {
	var events, seen []string
	for _, want := range installer.Entries() {
		list := slices.Concat(p.entries[want.Event], p.plugins[want.Event])
		if len(list) < 2 || p.c == client.Claude && sameCommand(list) {
			continue // Claude Code runs one command string once
		}
		events = append(events, want.Event)
		for _, entry := range list {
			seen = append(seen, fmt.Sprintf("%s: %s (%s)", want.Event, entry.where(), entry.file.Scope))
		}
	}
	if len(events) > 0 {
		p.add(Finding{ID: "double", Colour: Yellow, Says: "more than one hook of ours runs at " + strings.Join(events, ", "), Evidence: seen, Remedy: "keep one: reseat uninstall --scope SCOPE for the others, or turn off the plugin"})
	}
}

func sameCommand(list []entry) bool {
	return !slices.ContainsFunc(list, func(e entry) bool { return e.Command != list[0].Command })
}

// shapes reports entries that are ours but not as they should be: another
// matcher, time-out or option.
func (p *patient) shapes() {
	for _, file := range p.files {
		for _, hook := range file.Hooks {
			where := fmt.Sprintf("%s, line %d: %s", file.Path, hook.Line, hook.Command)
			if !hook.Own {
				if hook.Names && p.readable(entry{hook, file}) {
					p.foreignUse(hook, where)
				}
				continue
			}
			want := wanted(hook.Event)
			if hook.Timeout != nil && *hook.Timeout < int64(want.Timeout) {
				p.add(Finding{ID: "time-out", Colour: Yellow, Says: fmt.Sprintf("the time-out at %s is %d s, shorter than %d s", hook.Event, *hook.Timeout, want.Timeout), Evidence: []string{where}, Remedy: "run: reseat install --client " + string(p.c)})
			}
			if hook.Async {
				p.add(Finding{ID: "async", Colour: Red, Stops: true, Says: "the hook at " + hook.Event + " runs in the background, and what it prints comes too late", Evidence: []string{where}, Remedy: "remove async"})
			}
		}
	}
}

func wanted(event string) installer.Entry {
	list := installer.Entries()
	return list[slices.IndexFunc(list, func(e installer.Entry) bool { return e.Event == event })]
}

// foreignUse reports a hook that runs our program but isn't an entry of ours. Is
// there none of ours beside it, it is meant to be one.
func (p *patient) foreignUse(hook installer.Hook, where string) {
	alone := len(p.entries[hook.Event]) == 0
	f := Finding{ID: "own-use", Colour: Green, Says: "a hook of your own at " + hook.Event + " runs our program", Evidence: []string{where}}
	switch {
	case alone && hook.Matcher != nil && *hook.Matcher != "" && *hook.Matcher != "*":
		f = Finding{ID: "matcher", Colour: Red, Stops: true, Says: fmt.Sprintf("the only hook of ours at %s runs for %q only", hook.Event, *hook.Matcher), Evidence: []string{where}, Remedy: "remove the matcher, or run: reseat install --client " + string(p.c)}
	case hook.Args:
		f.Colour, f.Says = Yellow, "a hook at "+hook.Event+" runs our program with args, not as install writes it"
		f.Remedy = "remove args, or the whole hook, and run: reseat install --client " + string(p.c)
	case alone:
		f.Colour, f.Says = Yellow, "a hook at "+hook.Event+" runs our program, but not as install writes it"
		f.Remedy = "run: reseat install --client " + string(p.c)
	}
	p.add(f)
}

// others tells which other tools' hooks run at the same events.
func (p *patient) others() {
	var seen []string
	for _, file := range p.files {
		for _, hook := range file.Hooks {
			if !hook.Own && !hook.Names && slices.ContainsFunc(installer.Entries(), func(e installer.Entry) bool { return e.Event == hook.Event }) {
				seen = append(seen, fmt.Sprintf("%s: %.80s (%s)", hook.Event, hook.Command, file.Path))
			}
		}
	}
	if len(seen) > 0 {
		p.add(Finding{ID: "other-hooks", Colour: Green, Says: fmt.Sprintf("%d hooks of other tools run at the same events", len(seen)), Evidence: seen})
	}
}

// permission reports whether Claude Code may read our packets.
func (p *patient) permission() {
	if p.c != client.Claude || len(p.entries) == 0 {
		return
	}
	rule := installer.ReadRule(p.Install.Home, string(p.Install.State))
	var allowed []string
	for _, file := range p.files {
		if slices.Contains(file.Deny, rule) {
			p.add(Finding{ID: "read-permission", Colour: Yellow, Says: "reading our packets is denied", Evidence: []string{file.Path + ": permissions.deny " + rule}, Remedy: "remove the rule, if the agent shall read its packets"})
			return
		}
		if slices.Contains(file.Allow, rule) {
			allowed = append(allowed, file.Path+": "+rule)
		}
	}
	if len(allowed) > 0 {
		p.add(Finding{ID: "read-permission", Colour: Green, Says: "the agent may read its packets", Evidence: allowed})
		return
	}
	p.add(Finding{ID: "read-permission", Colour: Yellow, Says: "reading a packet will open a dialog, or be refused without a terminal", Evidence: []string{"no settings allow " + rule}, Remedy: "run: reseat install --client claude (unless --no-allow-read is what you want)"})
}

// project reports a project whose hooks Codex doesn't run.
func (p *patient) project() {
	if p.c != client.Codex || installer.ProjectTrusted(p.Install) {
		return
	}
	for _, list := range p.entries {
		for _, entry := range list {
			if entry.file.Scope == installer.Project {
				p.add(Finding{ID: "project-untrusted", Colour: Yellow, Stops: true, Says: "Codex doesn't trust this project, so its hooks don't run", Evidence: []string{entry.file.Path}, Remedy: "start codex in " + p.Install.Project + " and trust it"})
				return
			}
		}
	}
}

// approvals reports what Codex holds of our hooks' approvals.
func (p *patient) approvals() {
	if p.c != client.Codex {
		return
	}
	kinds := map[string][]string{}
	for _, want := range installer.Entries() {
		for _, entry := range p.entries[want.Event] {
			if entry.file.Scope == installer.Managed {
				continue // run without
			}
			kind := "approved"
			switch {
			case entry.Approval.Off:
				kind = "disabled"
			case entry.Approval.Hash == "":
				kind = "untrusted"
			case entry.Approval.Hash != entry.Hash():
				kind = "modified"
			}
			kinds[kind] = append(kinds[kind], entry.Event+": "+entry.Key)
		}
	}
	const approve = "start codex and approve them when it asks (or type /hooks), or run: reseat install --client codex --trust-hooks"
	for _, f := range []Finding{
		{ID: "untrusted", Colour: Yellow, Stops: true, Says: "Codex skips our hooks in silence until you approve them", Remedy: approve},
		{ID: "modified", Colour: Yellow, Stops: true, Says: "our hooks changed since you approved them, and Codex skips them in silence", Remedy: approve},
		{ID: "disabled", Colour: Yellow, Stops: true, Says: "our hooks are turned off in Codex", Remedy: "turn them on in Codex (/hooks)"},
		{ID: "approved", Colour: Green, Says: "Codex has your approval for our hooks"},
	} {
		if f.Evidence = kinds[f.ID]; len(f.Evidence) > 0 {
			p.add(f)
		}
	}
}

package installer

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/tailscale/hujson"
)

// Further scopes of configuration files, which are looked at and never edited.
const (
	Managed Scope = "managed" // an administrator's
	Plugin  Scope = "plugin"  // of a client's plugin
	Profile Scope = "profile" // of Codex, in force with -p NAME only
)

// Configuration is what one file of a client holds of hooks.
type Configuration struct {
	Client client.Client
	Scope  Scope
	Path   string
	Exists bool
	// Problem is why the client can't read the file, or not all of it; nil if it
	// can.
	Problem *Refusal
	// Hooks are all hooks in it, of whatever tool, in order.
	Hooks []Hook
	// Allow and Deny are Claude Code's permission rules.
	Allow, Deny []string
}

// Hook is one hook in a configuration.
type Hook struct {
	Configured
	Line int
	// Own: an entry of ours, as install writes it or wrote it.
	Own bool
	// Names: it runs a program of ours, in whatever way.
	Names bool
	// Args: it has arguments beside the command, so that no shell reads it.
	Args bool
	// Key names Codex's approval of it, and Approval is what that says.
	Key      string
	Approval ApprovalState
}

// Inspect reads every file in which client c would look for hooks when it works
// in o.Project, by rising precedence. It changes nothing and never fails: a file
// that can't be read has a Problem.
func Inspect(o Options, c client.Client) []Configuration {
	if c == client.Codex {
		return inspectCodex(o)
	}
	var list []Configuration
	for _, path := range ClaudeManaged(o.Root) {
		list = append(list, inspectClaude(o, Managed, path))
	}
	for _, scope := range []Scope{User, Project, Local} {
		files, err := o.files(client.Claude, scope)
		if err == nil && !slices.ContainsFunc(list, func(k Configuration) bool { return k.Path == files[0] }) {
			list = append(list, inspectClaude(o, scope, files[0]))
		}
	}
	for _, path := range claudePlugins(o) {
		list = append(list, inspectClaude(o, Plugin, path))
	}
	return list
}

// claudePlugins lists the hooks files of plugins that Claude Code has fetched.
// Whether a plugin is in use isn't told by them.
func claudePlugins(o Options) []string {
	dir := filepath.Join(client.Claude.ConfigDir(o.Getenv, o.Home, o.Project), "plugins")
	var files []string
	for _, depth := range []string{"*", "*/*", "*/*/*", "*/*/*/*"} {
		found, _ := filepath.Glob(filepath.Join(globEscape(dir), filepath.FromSlash(depth), "hooks", "hooks.json"))
		files = append(files, found...)
	}
	return files[:min(len(files), 200)]
}

func inspectClaude(o Options, scope Scope, path string) Configuration {
	k := Configuration{Client: client.Claude, Scope: scope, Path: path}
	body := k.read()
	if isBlank(body) {
		return k
	}
	w := Wanted{Client: client.Claude, Getenv: o.lookup}
	e, err := editJSON(body, w)
	if err != nil {
		return k.with(err)
	}
	k.Hooks = e.list()
	k.Allow, k.Deny = e.rules("allow"), e.rules("deny")
	if _, err := e.hasOwn(); err != nil {
		return k.with(err)
	}
	if _, _, err := e.allow(); err != nil {
		return k.with(err)
	}
	if err := e.checkSwitch(); err != nil && !isSwitch(err) {
		return k.with(err)
	}
	return k
}

// isSwitch tells the refusal of a switched-off configuration, which the client
// reads very well, from those it can't read.
func isSwitch(err error) bool {
	r, ok := err.(*Refusal)
	return ok && strings.Contains(r.Reason, "switched off")
}

// read gives the text of the file without byte order mark.
func (k *Configuration) read() []byte {
	data, err := readConfiguration(k.Path)
	k.Exists = data != nil
	if err != nil {
		k.Exists = true
		k.Problem = &Refusal{Client: k.Client, Path: k.Path, Reason: err.Error(), Hint: "make it readable"}
	}
	_, body := cutBOM(data)
	return body
}

func (k Configuration) with(err error) Configuration {
	if r, ok := refused(err, k.Client, k.Path).(*Refusal); ok {
		k.Problem = r
	}
	return k
}

// list gives all hooks of a JSON configuration, as far as they have the right
// shape.
func (e *jsonEdit) list() (list []Hook) {
	hooks, err := e.member(&e.root, "", "hooks")
	if err != nil || hooks == nil {
		return nil
	}
	for _, event := range children(hooks) {
		if event.name == "" {
			continue
		}
		for g, group := range children(event.value) {
			matcher := e.textOf(group.value, "matcher")
			handlers, err := e.member(group.value, "", "hooks")
			if err != nil || handlers == nil {
				continue
			}
			for i, h := range children(handlers) {
				hook := e.hook(h.value, event.name, matcher)
				hook.Group, hook.Index = g, i
				list = append(list, hook)
			}
		}
	}
	return list
}

func (e *jsonEdit) hook(v *hujson.Value, event string, matcher *string) Hook {
	hook := Hook{Configured: Configured{Event: event, Matcher: matcher}}
	if kind := e.textOf(v, "type"); kind != nil {
		hook.Kind = *kind
	}
	if command := e.textOf(v, "command"); command != nil {
		hook.Command = *command
	}
	hook.StatusMessage = e.textOf(v, "statusMessage")
	if timeout, err := e.member(v, "", "timeout"); err == nil && timeout != nil && timeout.Value.Kind() == '0' {
		seconds := int64(timeout.Value.(hujson.Literal).Float())
		hook.Timeout = &seconds
	}
	if async, err := e.member(v, "", "async"); err == nil && async != nil {
		hook.Async = async.Value.Kind() == 't'
	}
	if args, err := e.member(v, "", "args"); err == nil && args != nil {
		hook.Args = true
	}
	hook.Line, _ = position(e.src, v.StartOffset)
	hook.Own = !hook.Args && e.w.owns(event, matcher, hook.Kind, hook.Command)
	hook.Names = Mentions(hook.Command)
	return hook
}

// textOf is the string under a name, nil if there is none.
func (t *jsonText) textOf(object *hujson.Value, name string) *string {
	v, err := t.member(object, "", name)
	if err != nil || v == nil || v.Value.Kind() != '"' {
		return nil
	}
	s := literal(v)
	return &s
}

// rules lists the permission rules of a kind.
func (t *jsonText) rules(kind string) (list []string) {
	permissions, err := t.member(&t.root, "", "permissions")
	if err != nil || permissions == nil {
		return nil
	}
	rules, err := t.member(permissions, "", kind)
	if err != nil || rules == nil {
		return nil
	}
	for _, rule := range children(rules) {
		list = append(list, literal(rule.value))
	}
	return list
}

func inspectCodex(o Options) []Configuration {
	managed := CodexManaged(o.Root)
	user, err := o.files(client.Codex, User)
	if err != nil {
		return nil
	}
	var list []Configuration
	add := func(scope Scope, paths ...string) {
		for _, path := range paths {
			if !slices.ContainsFunc(list, func(k Configuration) bool { return k.Path == path }) {
				list = append(list, inspectCodexFile(o, scope, path))
			}
		}
	}
	add(Managed, managed[0], managed[1])
	add(User, user...)
	profiles, _ := filepath.Glob(filepath.Join(globEscape(filepath.Dir(user[0])), "*.config.toml"))
	add(Profile, profiles...)
	if project, err := o.files(client.Codex, Project); err == nil {
		add(Project, project...)
	}
	add(Managed, managed[2])
	states := codexStates(user[0])
	for i := range list {
		for h := range list[i].Hooks {
			hook := &list[i].Hooks[h]
			hook.Approval = states[hook.Key]
		}
	}
	return list
}

func inspectCodexFile(o Options, scope Scope, path string) Configuration {
	k := Configuration{Client: client.Codex, Scope: scope, Path: path}
	body := k.read()
	if isBlank(body) {
		return k
	}
	w := Wanted{Client: client.Codex, Getenv: o.lookup, File: keyFile(path)}
	if filepath.Ext(path) == ".json" {
		e, err := editJSON(body, w)
		if err != nil {
			return k.with(err)
		}
		k.Hooks = e.list()
		if _, err := e.hasOwn(); err != nil {
			k = k.with(err)
		}
	} else {
		t, err := readConfig(body)
		if err != nil {
			return k.with(err)
		}
		k.Hooks = t.inspect(w)
	}
	for i := range k.Hooks {
		h := &k.Hooks[i]
		h.Key = place{h.Event, h.Group, h.Index}.key(w.File)
	}
	return k
}

// inspect lists all hooks of a config.toml, with their lines.
func (t *configText) inspect(w Wanted) (list []Hook) {
	at := map[place]tomlHandler{}
	for _, h := range t.handlers {
		at[place{h.event, h.group, h.index}] = h
	}
	for _, c := range configuredTOML(t.tree) {
		hook := Hook{Configured: c, Own: w.owns(c.Event, c.Matcher, c.Kind, c.Command), Names: Mentions(c.Command)}
		h := at[place{c.Event, c.Group, c.Index}]
		switch {
		case len(h.lines) > 0:
			hook.Line, _ = position(t.src, t.list[h.lines[0]].whole.start)
		case h.command != nil:
			hook.Line, _ = position(t.src, h.command.at.start)
		}
		list = append(list, hook)
	}
	return list
}

// codexStates reads the approvals from the user's config.toml; a project can't
// approve its own hooks.
func codexStates(path string) map[string]ApprovalState {
	data, _ := readConfiguration(path)
	_, body := cutBOM(data)
	t, err := readConfig(body)
	if err != nil {
		return nil
	}
	states := map[string]ApprovalState{}
	all, _ := lookup(t.tree, "hooks", "state").(map[string]any)
	for key := range all {
		states[key], _ = t.approval(key)
	}
	return states
}

// ProjectTrusted tells whether Codex trusts the folder o.Project or one above
// it, as far as the user's config.toml says: an untrusted project's hooks don't
// run, approved or not.
func ProjectTrusted(o Options) bool {
	user, err := o.files(client.Codex, User)
	if err != nil {
		return false
	}
	data, _ := readConfiguration(user[0])
	_, body := cutBOM(data)
	tree, err := decodeTOML(body)
	if err != nil {
		return false
	}
	for dir := filepath.Clean(o.Project); ; dir = filepath.Dir(dir) {
		if level, _ := lookup(tree, "projects", dir, "trust_level").(string); level != "" {
			return level == "trusted"
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// WithState is a command string that does the same on another state folder: the
// program as it is written, --runtime, and --home with the folder given. It is
// not ok for a command that isn't our own way of running.
func WithState(command, stateDir string, getenv func(string) string) (string, bool) {
	use, ok := ReadUse(command, getenv)
	if !ok || speakable(stateDir) != nil {
		return "", false
	}
	// The first word as it is written is the shortest start that reads as it.
	trimmed := strings.TrimLeft(command, " \t")
	for i := 1; i <= len(trimmed); i++ {
		if i < len(trimmed) && trimmed[i] != ' ' && trimmed[i] != '\t' {
			continue
		}
		if words, ok := splitWords(trimmed[:i], getenv); ok && len(words) == 1 && words[0] == use.Path {
			return trimmed[:i] + " --runtime " + string(use.Runtime) + " --home " + quote(stateDir), true
		}
	}
	return "", false
}

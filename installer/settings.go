package installer

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/tailscale/hujson"
)

// jsonEdit is one edit of a JSON configuration in the making.
type jsonEdit struct {
	*jsonText
	w       Wanted
	splices splices
	undo    Undo
	moves   map[string]Move
}

func editJSON(body []byte, w Wanted) (*jsonEdit, error) {
	t, err := parseJSON(body)
	if err != nil {
		return nil, err
	}
	return &jsonEdit{jsonText: t, w: w, undo: Undo{Inside: map[string]string{}}, moves: map[string]Move{}}, nil
}

func (e *jsonEdit) result(mark string) Edit {
	return Edit{Data: append([]byte(mark), e.splices.apply(e.src)...), Undo: e.undo, Moves: e.moves}
}

// InstallJSON edits a settings.json of Claude Code, or a hooks.json of Codex: it
// adds what is missing of w, mends own entries in place, and removes surplus
// copies. Everything else stays. An error is a *Refusal without client and path.
func InstallJSON(src []byte, w Wanted) (Edit, error) {
	mark, body := cutBOM(src)
	if isBlank(body) {
		return fillBlank(mark, body, w)
	}
	e, err := editJSON(body, w)
	if err != nil {
		return Edit{}, err
	}
	if err := e.checkSwitch(); err != nil {
		return Edit{}, err
	}
	hooks, err := e.installHooks()
	if err != nil {
		return Edit{}, err
	}
	rule, err := e.installRule()
	if err != nil {
		return Edit{}, err
	}
	line, err := e.installStatusLine()
	if err != nil {
		return Edit{}, err
	}
	e.addUnder("", &e.root, slices.Concat(hooks, rule, line))
	if w.NoStatusLine && e.uninstallStatusLine(w.OldStatusLine) {
		e.removeTop(func(c child) bool { return c.name == "statusLine" }, nil)
	}
	return e.result(mark), nil
}

// checkSwitch refuses a switch that keeps hooks from running, and one of another
// type, for which Claude Code drops the whole file (seen on 2.1.332).
func (e *jsonEdit) checkSwitch() error {
	if e.w.Client != client.Claude || e.root.Value.Kind() != '{' {
		return nil
	}
	v, err := e.member(&e.root, "", "disableAllHooks")
	if err != nil || v == nil {
		return err
	}
	switch v.Value.Kind() {
	case 'f':
		return nil
	case 't':
		return refuseAt(e.src, v.StartOffset, "set it to false or remove it, if you want hooks", "hooks are switched off here (disableAllHooks)")
	}
	return refuseAt(e.src, v.StartOffset, "make it true or false, or remove it: the client drops a file with anything else there", `"disableAllHooks" is %s`, kindName(v))
}

// fillBlank makes the whole text for a file that isn't there or holds nothing.
func fillBlank(mark string, body []byte, w Wanted) (Edit, error) {
	t := &jsonText{nl: newline(body), unit: "  ", colon: ": ", comma: " "}
	top := []item{hooksMember(w)}
	blank := string(body)
	undo := Undo{Blank: &blank, Made: []string{"hooks"}}
	if w.Rule != "" {
		top = append(top, ruleMember(w.Rule))
		undo.Made = append(undo.Made, "permissions")
		undo.Rule = w.Rule
	}
	if w.StatusLine != "" {
		top = append(top, statusLineMember(w.StatusLine))
		undo.Made = append(undo.Made, "statusLine")
	}
	var b strings.Builder
	b.WriteString(mark)
	t.render(&b, item{open: '{', items: top}, "", true)
	b.WriteString(t.nl)
	return Edit{Data: []byte(b.String()), Undo: undo}, nil
}

func hooksMember(w Wanted) item {
	events := object("hooks")
	for _, hook := range w.Hooks {
		events.items = append(events.items, array(hook.Event, groupItem(hook)))
	}
	return events
}

func groupItem(hook WantedHook) item {
	return object("", array("hooks", object("",
		text("type", "command"),
		text("command", hook.Command),
		number("timeout", hook.Timeout),
	)))
}

func ruleMember(rule string) item {
	return object("permissions", array("allow", text("", rule)))
}

// addUnder adds items to the container at path and notes how it was.
func (e *jsonEdit) addUnder(path string, v *hujson.Value, items []item) {
	if len(items) == 0 {
		return
	}
	empty := len(children(v)) == 0
	inside := e.addTo(&e.splices, v, items)
	if empty {
		e.undo.Inside[path] = inside
	}
}

// made notes a container that is added, and returns it.
func (e *jsonEdit) made(path string, it item) item {
	e.undo.Made = append(e.undo.Made, path)
	return it
}

// installHooks sees to the hooks; what has to be added at the top is returned.
func (e *jsonEdit) installHooks() (top []item, err error) {
	hooks, err := e.hooks(e.w.Client)
	if err != nil {
		return nil, err
	}
	if hooks == nil {
		return []item{e.made("hooks", hooksMember(e.w))}, nil
	}
	var events []item
	for _, hook := range e.w.Hooks {
		groups, err := e.event(hooks, hook.Event)
		if err != nil {
			return nil, err
		}
		if groups == nil {
			events = append(events, e.made("hooks/"+hook.Event, array(hook.Event, groupItem(hook))))
			continue
		}
		handlers, err := e.handlers(groups, hook.Event, e.w)
		if err != nil {
			return nil, err
		}
		e.installOne(groups, handlers, hook)
	}
	e.addUnder("hooks", hooks, events)
	return nil, nil
}

// hasOwn tells whether an entry of ours is among the hooks.
func (e *jsonEdit) hasOwn() (bool, error) {
	hooks, err := e.hooks(e.w.Client)
	if err != nil || hooks == nil {
		return false, err
	}
	for _, entry := range Entries() {
		groups, err := e.event(hooks, entry.Event)
		if err != nil {
			return false, err
		}
		if groups == nil {
			continue
		}
		handlers, err := e.handlers(groups, entry.Event, e.w)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(handlers, func(h handler) bool { return h.own }) {
			return true, nil
		}
	}
	return false, nil
}

// installOne sees to it that one own handler is in the groups of an event: the
// first is mended, further ones go.
func (e *jsonEdit) installOne(groups *hujson.Value, handlers []handler, hook WantedHook) {
	first := slices.IndexFunc(handlers, func(h handler) bool { return h.own })
	if first < 0 {
		e.addUnder("hooks/"+hook.Event, groups, []item{groupItem(hook)})
		return
	}
	e.mend(handlers[first], hook)
	gone := map[int]bool{}
	for i, h := range handlers {
		if h.own && i != first {
			gone[i] = true
		}
	}
	e.removeHandlers(&e.splices, hook.Event, groups, handlers, gone, "")
}

// mend corrects an own handler in place: the command, and a time-out that is too
// short. A longer one is the user's choice.
func (e *jsonEdit) mend(own handler, hook WantedHook) {
	if literal(own.command) != hook.Command {
		e.replace(own.command, string(hujson.String(hook.Command)))
	}
	if own.timeout != nil {
		seconds, ok := own.timeout.Value.(hujson.Literal)
		if !ok || seconds.Kind() != '0' || seconds.Float() < float64(hook.Timeout) {
			e.replace(own.timeout, strconv.Itoa(hook.Timeout))
		}
	}
}

func (e *jsonEdit) replace(v *hujson.Value, by string) {
	e.splices = append(e.splices, splice{at: v.StartOffset, del: v.EndOffset - v.StartOffset, ins: by})
}

// hooks finds the object with all hooks; nil if there is none.
func (t *jsonText) hooks(c client.Client) (*hujson.Value, error) {
	if t.root.Value.Kind() != '{' {
		return nil, refuseAt(t.src, t.root.StartOffset, "make it an object: {}", "%s, not an object", kindName(&t.root))
	}
	if c == client.Codex {
		for _, m := range children(&t.root) {
			if m.name != "hooks" && m.name != "description" {
				return nil, refuseAt(t.src, m.start, "remove it: Codex drops a hooks.json that has more than hooks and description", "unknown key %q", m.name)
			}
		}
	}
	hooks, err := t.member(&t.root, "", "hooks")
	if err != nil || hooks == nil {
		return nil, err
	}
	return hooks, t.mustBe(hooks, '{', `"hooks"`, "remove it or make it an object: {}")
}

func (t *jsonText) mustBe(v *hujson.Value, kind hujson.Kind, what, hint string) error {
	if v.Value.Kind() == kind {
		return nil
	}
	return refuseAt(t.src, v.StartOffset, hint, "%s is %s", what, kindName(v))
}

// event finds the groups of one event; nil if there are none.
func (t *jsonText) event(hooks *hujson.Value, event string) (*hujson.Value, error) {
	groups, err := t.member(hooks, `"hooks"`, event)
	if err != nil || groups == nil {
		return nil, err
	}
	return groups, t.mustBe(groups, '[', join(`"hooks"`, event), "remove it or make it an array: []")
}

// handler is one hook in a group, by its place.
type handler struct {
	group, index     int           // of the group in the event, of the hook in the group
	list             *hujson.Value // the group's "hooks"
	value            *hujson.Value
	command, timeout *hujson.Value // nil if not there
	own              bool
	bare             bool // the group holds nothing but hooks and a matcher for all
}

// handlers lists the hooks of an event. A shape that the client wouldn't take is
// refused: it may have dropped the file already.
func (t *jsonText) handlers(groups *hujson.Value, event string, w Wanted) ([]handler, error) {
	var all []handler
	for g, group := range children(groups) {
		what := fmt.Sprintf("%s[%d]", join(`"hooks"`, event), g)
		if err := t.mustBe(group.value, '{', what, "correct or remove it"); err != nil {
			return nil, err
		}
		matcher, bare, err := t.matcher(group.value, what)
		if err != nil {
			return nil, err
		}
		list, err := t.member(group.value, what, "hooks")
		if err != nil {
			return nil, err
		}
		if list == nil {
			return nil, refuseAt(t.src, group.start, "correct or remove it", "%s has no \"hooks\"", what)
		}
		if err := t.mustBe(list, '[', join(what, "hooks"), "correct or remove it"); err != nil {
			return nil, err
		}
		for i, c := range children(list) {
			h := handler{group: g, index: i, list: list, value: c.value, bare: bare}
			if err := t.readHandler(&h, event, matcher, fmt.Sprintf("%s[%d]", join(what, "hooks"), i), w); err != nil {
				return nil, err
			}
			all = append(all, h)
		}
	}
	return all, nil
}

// matcher reads a group's matcher, and whether the group holds nothing but what
// an own group may hold.
func (t *jsonText) matcher(group *hujson.Value, what string) (matcher *string, bare bool, err error) {
	v, err := t.member(group, what, "matcher")
	if err != nil {
		return nil, false, err
	}
	if v != nil {
		if err := t.mustBe(v, '"', join(what, "matcher"), "correct or remove it"); err != nil {
			return nil, false, err
		}
		s := v.Value.(hujson.Literal).String()
		matcher = &s
	}
	bare = matchesAll(matcher)
	for _, c := range children(group) {
		bare = bare && (c.name == "hooks" || c.name == "matcher")
	}
	return matcher, bare, nil
}

func (t *jsonText) readHandler(h *handler, event string, matcher *string, what string, w Wanted) error {
	if err := t.mustBe(h.value, '{', what, "correct or remove it"); err != nil {
		return err
	}
	kind, err := t.member(h.value, what, "type")
	if err != nil {
		return err
	}
	if h.command, err = t.member(h.value, what, "command"); err != nil {
		return err
	}
	if h.timeout, err = t.member(h.value, what, "timeout"); err != nil {
		return err
	}
	args, err := t.member(h.value, what, "args")
	if err != nil {
		return err
	}
	h.own = args == nil && w.owns(event, matcher, literal(kind), literal(h.command))
	return nil
}

// literal is the string that v holds, empty if v isn't one.
func literal(v *hujson.Value) string {
	if v == nil || v.Value.Kind() != '"' {
		return ""
	}
	return v.Value.(hujson.Literal).String()
}

// installRule sees to the read permission; what has to be added at the top is
// returned.
func (e *jsonEdit) installRule() (top []item, err error) {
	if e.w.Rule == "" {
		return nil, nil
	}
	permissions, allow, err := e.allow()
	if err != nil {
		return nil, err
	}
	if allow != nil {
		return nil, e.addRule(allow)
	}
	e.undo.Rule = e.w.Rule
	if permissions == nil {
		return []item{e.made("permissions", ruleMember(e.w.Rule))}, nil
	}
	e.addUnder("permissions", permissions, []item{e.made("permissions/allow", array("allow", text("", e.w.Rule)))})
	return nil, nil
}

func (e *jsonEdit) addRule(allow *hujson.Value) error {
	var old *hujson.Value
	for i, c := range children(allow) {
		if err := e.mustBe(c.value, '"', fmt.Sprintf(`"permissions"."allow"[%d]`, i), "correct or remove it"); err != nil {
			return err
		}
		switch literal(c.value) {
		case e.w.Rule:
			return nil
		case e.w.OldRule:
			old = c.value
		}
	}
	e.undo.Rule = e.w.Rule
	if old != nil {
		e.replace(old, string(hujson.String(e.w.Rule)))
		return nil
	}
	e.addUnder("permissions/allow", allow, []item{text("", e.w.Rule)})
	return nil
}

// allow finds permissions and permissions.allow; nil for what isn't there.
func (t *jsonText) allow() (permissions, allow *hujson.Value, err error) {
	permissions, err = t.member(&t.root, "", "permissions")
	if err != nil || permissions == nil {
		return nil, nil, err
	}
	if err := t.mustBe(permissions, '{', `"permissions"`, "remove it or make it an object: {}"); err != nil {
		return nil, nil, err
	}
	allow, err = t.member(permissions, `"permissions"`, "allow")
	if err != nil || allow == nil {
		return permissions, nil, err
	}
	return permissions, allow, t.mustBe(allow, '[', `"permissions"."allow"`, "remove it or make it an array: []")
}

// UninstallJSON takes our entries out again: undo is what the installs noted,
// nil if that is lost, and w.Rule the read permission to take out then. What
// others changed in between stays.
func UninstallJSON(src []byte, w Wanted, undo *Undo) (Edit, error) {
	mark, body := cutBOM(src)
	if isBlank(body) {
		return Edit{Data: src}, nil
	}
	e, err := editJSON(body, w)
	if err != nil {
		return Edit{}, err
	}
	noHooks, err := e.uninstallHooks(undo)
	if err != nil {
		return Edit{}, err
	}
	noPermissions, err := e.uninstallRule(undo)
	if err != nil {
		return Edit{}, err
	}
	noLine := e.uninstallStatusLine(undo.statusLine())
	gone := func(c child) bool {
		return c.name == "hooks" && noHooks || c.name == "permissions" && noPermissions || c.name == "statusLine" && noLine
	}
	e.removeTop(gone, undo)
	result := e.result(mark)
	if undo != nil && undo.Blank != nil && !slices.ContainsFunc(children(&e.root), func(c child) bool { return !gone(c) }) {
		result.Data = []byte(mark + *undo.Blank)
	}
	return result, nil
}

// removeTop takes members out of the root.
func (e *jsonEdit) removeTop(gone func(child) bool, undo *Undo) {
	top := children(&e.root)
	e.removeSome(&e.splices, &e.root, func(i int) bool { return gone(top[i]) }, undo.inside(""))
}

// removeSome is remove, unless nothing is to be removed. It tells whether
// nothing is left.
func (t *jsonText) removeSome(edit *splices, v *hujson.Value, gone func(i int) bool, inside string) (emptied bool) {
	some, all := false, true
	for i := range children(v) {
		if gone(i) {
			some = true
		} else {
			all = false
		}
	}
	if some {
		t.remove(edit, v, gone, inside)
	}
	return some && all
}

// uninstallHooks takes our hooks out, or tells that "hooks" shall go as a whole.
func (e *jsonEdit) uninstallHooks(undo *Undo) (all bool, err error) {
	hooks, err := e.hooks(e.w.Client)
	if err != nil || hooks == nil {
		return false, err
	}
	var within, around splices
	emptied := map[string]bool{}
	events := children(hooks)
	for _, event := range events {
		if !ours(event.name) {
			continue
		}
		groups, err := e.event(hooks, event.name)
		if err != nil {
			return false, err
		}
		handlers, err := e.handlers(groups, event.name, e.w)
		if err != nil {
			return false, err
		}
		gone := map[int]bool{}
		for i, h := range handlers {
			if h.own {
				gone[i] = true
			}
		}
		var here splices
		path := "hooks/" + event.name
		if e.removeHandlers(&here, event.name, groups, handlers, gone, undo.inside(path)) && (undo.made(path) || undo.made("hooks")) {
			emptied[event.name] = true
		} else {
			within = append(within, here...)
		}
	}
	if e.removeSome(&around, hooks, func(i int) bool { return emptied[events[i].name] }, undo.inside("hooks")) && undo.made("hooks") {
		return true, nil
	}
	e.splices = append(append(e.splices, within...), around...)
	return false, nil
}

// removeHandlers takes hooks out of the groups of an event; a group that held
// nothing else goes with them. It tells whether no group is left, and notes what
// that does to Codex's approvals.
func (e *jsonEdit) removeHandlers(edit *splices, event string, groups *hujson.Value, handlers []handler, gone map[int]bool, inside string) (emptied bool) {
	if len(gone) == 0 {
		return false
	}
	places := make([]place, len(handlers))
	stays, touched := map[int]bool{}, map[int]bool{} // by group
	for i, h := range handlers {
		places[i] = place{event, h.group, h.index}
		stays[h.group] = stays[h.group] || !gone[i] || !h.bare
		touched[h.group] = touched[h.group] || gone[i]
	}
	emptied = e.removeSome(edit, groups, func(g int) bool { return touched[g] && !stays[g] }, inside)
	for start := 0; start < len(handlers); {
		group := handlers[start:]
		if n := slices.IndexFunc(group, func(h handler) bool { return h.group != group[0].group }); n > 0 {
			group = group[:n]
		}
		if stays[group[0].group] {
			e.removeSome(edit, group[0].list, func(i int) bool { return gone[start+i] }, "")
		}
		start += len(group)
	}
	if e.w.Client == client.Codex {
		groupStays := func(i int) bool { return !handlers[i].bare }
		maps.Copy(e.moves, keyMoves(places, gone, groupStays, e.hashes(), nil, e.w.File))
	}
	return emptied
}

// hashes are those of all hooks as the other parser reads them.
func (e *jsonEdit) hashes() map[place]string {
	root, err := readTree(e.src)
	if err != nil {
		return nil // the verification fails for the same reason
	}
	return hashesOf(root.configured())
}

// uninstallRule takes our read permission out, or tells that "permissions" shall
// go as a whole.
func (e *jsonEdit) uninstallRule(undo *Undo) (all bool, err error) {
	rule := e.w.Rule
	if undo != nil {
		rule = undo.Rule
	}
	if rule == "" || e.w.Client != client.Claude {
		return false, nil
	}
	permissions, allow, err := e.allow()
	if err != nil || allow == nil {
		return false, err
	}
	var within, around splices
	rules := children(allow)
	emptied := e.removeSome(&within, allow, func(i int) bool { return literal(rules[i].value) == rule }, undo.inside("permissions/allow"))
	if !emptied || !undo.made("permissions/allow") && !undo.made("permissions") {
		e.splices = append(e.splices, within...)
		return false, nil
	}
	members := children(permissions)
	if e.removeSome(&around, permissions, func(i int) bool { return members[i].name == "allow" }, undo.inside("permissions")) && undo.made("permissions") {
		return true, nil
	}
	e.splices = append(e.splices, around...)
	return false, nil
}

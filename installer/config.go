package installer

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// InstallTOML edits a config.toml of Codex: it appends what is missing of w at
// the end of the file, where it shifts nobody's position, mends own entries in
// place, and removes surplus copies. Everything else stays; approvals of hooks
// that a removal moves up move with them. An error is a *Refusal without client
// and path.
func InstallTOML(src []byte, w Wanted) (Edit, error) {
	mark, body := cutBOM(src)
	t, err := readConfig(body)
	if err != nil {
		return Edit{}, err
	}
	if err := t.switchedOff(); err != nil {
		return Edit{}, err
	}
	var edit splices
	var missing []WantedHook
	gone := map[int]bool{} // by place in t.handlers
	for _, hook := range w.Hooks {
		own := t.own(hook.Event, w)
		if len(own) == 0 {
			missing = append(missing, hook)
			continue
		}
		t.mend(&edit, t.handlers[own[0]], hook)
		for _, i := range own[1:] {
			gone[i] = true
		}
	}
	if err := t.appendable(missing); err != nil {
		return Edit{}, err
	}
	if err := t.removeHandlers(&edit, gone); err != nil {
		return Edit{}, err
	}
	moves := t.keyMoves(gone, nil, w.File)
	t.rewriteApprovals(&edit, moves)
	var undo Undo
	if len(missing) > 0 {
		edit = append(edit, splice{at: len(body), ins: t.lead() + hookBlock(missing, t.nl)})
		undo.Unended = t.unended()
	}
	return Edit{Data: append([]byte(mark), edit.apply(body)...), Undo: undo, Moves: moves}, nil
}

// lead is what parts an appended block from what is there: a blank line.
func (t *tomlText) lead() string {
	switch {
	case len(t.src) == 0:
		return ""
	case t.unended():
		return t.nl + t.nl
	}
	return t.nl
}

// unended tells whether the last line has no line end.
func (t *tomlText) unended() bool { return len(t.src) > 0 && t.src[len(t.src)-1] != '\n' }

// hookBlock is the text of entries, as a person would write it.
func hookBlock(hooks []WantedHook, nl string) string {
	var b strings.Builder
	for i, hook := range hooks {
		if i > 0 {
			b.WriteString(nl)
		}
		for _, line := range []string{
			"[[hooks." + hook.Event + "]]",
			"[[hooks." + hook.Event + ".hooks]]",
			`type = "command"`,
			"command = " + tomlString(hook.Command),
			"timeout = " + strconv.Itoa(hook.Timeout),
		} {
			b.WriteString(line + nl)
		}
	}
	return b.String()
}

// configText is a config.toml with what concerns hooks found in it.
type configText struct {
	*tomlText
	tree     map[string]any // as the independent parser reads it
	handlers []tomlHandler
	// fixed are the events whose groups stand in an array value, and "" where
	// all hooks stand in an inline table: nothing can be appended to those.
	fixed map[string]span
}

// tomlHandler is one hook of a config.toml, by its place.
type tomlHandler struct {
	event        string
	group, index int // of the group in the event, of the hook in the group
	matcher      *string
	kind         string
	command      *value
	timeout      *value
	// own expressions of the hook, by index; none if it stands in an array value.
	lines []int
	// those of its group, header first; none if the group stands in an array.
	groupLines []int
	// odd: its group or itself holds something that no own entry holds.
	odd bool
}

// readConfig parses a config.toml twice, checks that Codex would start with it,
// and finds the hooks.
func readConfig(body []byte) (*configText, error) {
	text, err := parseTOML(body)
	if err != nil {
		return nil, err
	}
	tree, err := decodeTOML(body)
	if err != nil {
		return nil, refuseDecoded(err)
	}
	t := &configText{tomlText: text, tree: tree, fixed: map[string]span{}}
	if path, err := codexAccepts(tree); err != nil {
		return nil, refuseAt(body, t.placeOf(path), tomlHint, "%v", err)
	}
	t.find()
	return t, nil
}

// placeOf finds the expression of a key, or of the nearest one around it.
func (t *tomlText) placeOf(path []string) int {
	for ; len(path) > 0; path = path[:len(path)-1] {
		for _, e := range t.list {
			if slices.Equal(e.key, path) {
				return e.whole.start
			}
			if at, ok := inside(e, path); ok {
				return at
			}
		}
	}
	return 0
}

// inside finds a key in the inline tables of an expression's value.
func inside(e expression, path []string) (at int, ok bool) {
	v, key := &e.value, e.key
	for {
		rest, ok := cutPath(path, key)
		if !ok || e.kind != unstable.KeyValue {
			return 0, false
		}
		next := -1
		for i, k := range v.keys {
			if _, ok := cutPath(rest, k); ok {
				next = i
			}
		}
		if next < 0 {
			return 0, false
		}
		if len(rest) == len(v.keys[next]) {
			return v.places[next].start, true
		}
		key = slices.Concat(key, v.keys[next])
		v = &v.items[next]
	}
}

// cutPath removes the elements of head from the start of path.
func cutPath(path, head []string) (rest []string, ok bool) {
	if len(head) > len(path) || !slices.Equal(path[:len(head)], head) {
		return nil, false
	}
	return path[len(head):], true
}

// find lists the hooks in the order in which Codex counts them.
func (t *configText) find() {
	groups := map[string][]int{} // lines of the newest group of an event
	count := map[string]int{}
	var matcher *string
	current := -1 // in t.handlers
	for i, e := range t.list {
		rest, ok := cutPath(e.key, []string{"hooks"})
		if !ok || len(rest) > 0 && rest[0] == "state" {
			continue
		}
		switch {
		case e.kind == unstable.KeyValue && len(rest) == 0: // hooks = { ... }
			t.fixed[""] = e.whole
			t.findInTable(&e.value)
		case e.kind == unstable.KeyValue && len(rest) == 1 && e.value.kind == unstable.Array: // PreCompact = [ ... ]
			t.fixed[rest[0]] = e.whole
			t.findInArray(rest[0], &e.value)
		case e.kind == unstable.ArrayTable && len(rest) == 1: // [[hooks.PreCompact]]
			count[rest[0]]++
			groups[rest[0]], matcher, current = []int{i}, nil, -1
		case e.kind == unstable.ArrayTable && len(rest) == 2 && rest[1] == "hooks": // [[hooks.PreCompact.hooks]]
			t.handlers = append(t.handlers, tomlHandler{
				event: rest[0], group: count[rest[0]] - 1, matcher: matcher,
				lines: []int{i}, groupLines: groups[rest[0]],
			})
			current = len(t.handlers) - 1
			t.number(current)
		case e.kind == unstable.KeyValue && len(rest) == 2 && current < 0 && groups[rest[0]] != nil:
			if rest[1] == "hooks" {
				t.findInGroup(rest[0], count[rest[0]]-1, matcher, groups[rest[0]], &t.list[i].value)
				break
			}
			groups[rest[0]] = append(groups[rest[0]], i)
			if rest[1] == "matcher" {
				matcher = &t.list[i].value.text
			}
		case e.kind == unstable.KeyValue && len(rest) == 3 && current >= 0:
			t.handlers[current].take(rest[2], &t.list[i].value)
			t.handlers[current].lines = append(t.handlers[current].lines, i)
		case current >= 0:
			t.handlers[current].odd = true
		}
	}
	for i := range t.handlers {
		h := &t.handlers[i]
		for _, line := range h.groupLines[min(1, len(h.groupLines)):] {
			h.odd = h.odd || t.list[line].key[len(t.list[line].key)-1] != "matcher"
		}
	}
}

// number gives the hook at i its place among those of its group.
func (t *configText) number(i int) {
	h := &t.handlers[i]
	for _, other := range t.handlers[:i] {
		if other.event == h.event && other.group == h.group {
			h.index++
		}
	}
}

func (h *tomlHandler) take(key string, v *value) {
	switch key {
	case "type":
		h.kind = v.text
	case "command":
		h.command = v
	case "timeout":
		h.timeout = v
	}
}

func (t *configText) findInTable(v *value) {
	for i, key := range v.keys {
		if len(key) == 1 && v.items[i].kind == unstable.Array {
			t.findInArray(key[0], &v.items[i])
		}
	}
}

func (t *configText) findInArray(event string, groups *value) {
	for g := range groups.items {
		var matcher *string
		if m := groups.items[g].get("matcher"); m != nil {
			matcher = &m.text
		}
		if list := groups.items[g].get("hooks"); list != nil {
			t.findInGroup(event, g, matcher, nil, list)
		}
	}
}

func (t *configText) findInGroup(event string, group int, matcher *string, lines []int, list *value) {
	for i := range list.items {
		h := tomlHandler{event: event, group: group, index: i, matcher: matcher, groupLines: lines}
		for k, key := range list.items[i].keys {
			if len(key) == 1 {
				h.take(key[0], &list.items[i].items[k])
			}
		}
		t.handlers = append(t.handlers, h)
	}
}

// own lists our entries at an event, by their place in t.handlers.
func (t *configText) own(event string, w Wanted) (list []int) {
	for i, h := range t.handlers {
		if h.event == event && h.command != nil && w.owns(event, h.matcher, h.kind, h.command.text) {
			list = append(list, i)
		}
	}
	return list
}

func (t *configText) mend(edit *splices, h tomlHandler, hook WantedHook) {
	if h.command.text != hook.Command {
		*edit = append(*edit, splice{h.command.at.start, h.command.at.end - h.command.at.start, tomlString(hook.Command)})
	}
	if h.timeout == nil {
		return
	}
	if seconds, err := strconv.ParseInt(strings.ReplaceAll(h.timeout.raw, "_", ""), 0, 64); err != nil || seconds < int64(hook.Timeout) {
		*edit = append(*edit, splice{h.timeout.at.start, h.timeout.at.end - h.timeout.at.start, strconv.Itoa(hook.Timeout)})
	}
}

// switchedOff refuses a configuration in which the user turned hooks off.
func (t *configText) switchedOff() error {
	features, _ := t.tree["features"].(map[string]any)
	for _, name := range codexFeatures {
		if on, ok := features[name].(bool); ok && !on {
			return refuseAt(t.src, t.placeOf([]string{"features", name}),
				fmt.Sprintf("set it to true or remove it, if you want hooks (features.%s)", name), "hooks are switched off here")
		}
	}
	return nil
}

// appendable refuses to add to what can't be added to from outside: the arrays
// and tables that TOML closes with their bracket.
func (t *configText) appendable(missing []WantedHook) error {
	for _, hook := range missing {
		at, fixed := t.fixed[""]
		if !fixed {
			at, fixed = t.fixed[hook.Event]
		}
		if fixed {
			return refuseAt(t.src, at.start, t.paste(missing), "the hooks stand in a value that can't be added to from outside its brackets")
		}
	}
	return nil
}

// paste is the text for a person to put in by hand.
func (t *configText) paste(missing []WantedHook) string {
	var b strings.Builder
	b.WriteString("write them as [[hooks.EVENT]] tables, or add by hand:")
	for _, hook := range missing {
		group := fmt.Sprintf(`{ hooks = [{ type = "command", command = %s, timeout = %d }] }`, tomlString(hook.Command), hook.Timeout)
		if _, inEvent := t.fixed[hook.Event]; inEvent || t.listed(hook.Event) {
			fmt.Fprintf(&b, "\nto the array %s:  %s", hook.Event, group)
		} else {
			fmt.Fprintf(&b, "\nto the table hooks:  %s = [%s]", hook.Event, group)
		}
	}
	return b.String()
}

func (t *configText) listed(event string) bool {
	return slices.ContainsFunc(t.handlers, func(h tomlHandler) bool { return h.event == event })
}

// UninstallTOML takes our entries and their approvals out again: undo is what the
// installs noted, nil if that is lost. What others changed in between stays, and so does Codex's
// approval of their hooks: it goes by position, so where a removal moves a hook
// up, the approval's key moves with it.
func UninstallTOML(src []byte, w Wanted, undo *Undo) (Edit, error) {
	mark, body := cutBOM(src)
	t, err := readConfig(body)
	if err != nil {
		return Edit{}, err
	}
	gone := map[int]bool{}
	for _, entry := range Entries() {
		for _, i := range t.own(entry.Event, w) {
			gone[i] = true
		}
	}
	var edit splices
	if err := t.removeHandlers(&edit, gone); err != nil {
		return Edit{}, err
	}
	moves := t.keyMoves(gone, undo, w.File)
	t.rewriteApprovals(&edit, moves)
	return Edit{Data: append([]byte(mark), t.unend(edit, undo)...), Moves: moves}, nil
}

// unend applies an edit that takes out what installs appended, and the line end
// that they gave to the last line before, if that one is the last again.
func (t *configText) unend(edit splices, undo *Undo) []byte {
	out := edit.apply(t.src)
	if undo == nil || !undo.Unended || len(edit) == 0 {
		return out
	}
	tail := slices.MaxFunc(edit, func(a, b splice) int { return cmp.Compare(a.at+a.del, b.at+b.del) })
	if tail.ins == "" && tail.at+tail.del == len(t.src) {
		return bytes.TrimSuffix(out, []byte(t.nl))
	}
	return out
}

// removeHandlers takes out the lines of hooks, and those of groups that are left
// without any.
func (t *configText) removeHandlers(edit *splices, gone map[int]bool) error {
	left := map[string]int{} // hooks that stay, by event and group
	name := func(h tomlHandler) string { return h.event + "/" + strconv.Itoa(h.group) }
	for i, h := range t.handlers {
		if !gone[i] {
			left[name(h)]++
		}
	}
	done := map[int]bool{} // lines
	for i, h := range t.handlers {
		if !gone[i] {
			continue
		}
		lines := h.lines
		if left[name(h)] == 0 && !t.oddGroup(h) {
			lines = slices.Concat(h.groupLines, h.lines)
		}
		if len(h.lines) == 0 {
			return refuseAt(t.src, h.command.at.start, "take it out of the array by hand and run this again", "an entry of ours stands in an array value")
		}
		for _, line := range lines {
			if !done[line] {
				t.removeLine(edit, line)
			}
			done[line] = true
		}
	}
	return nil
}

// oddGroup tells whether a hook's group holds something no own group holds.
func (t *configText) oddGroup(h tomlHandler) bool {
	return slices.ContainsFunc(t.handlers, func(o tomlHandler) bool { return o.event == h.event && o.group == h.group && o.odd })
}

// removeLine takes out the line of an expression; with a group's header goes the
// blank line before it.
func (t *tomlText) removeLine(edit *splices, i int) {
	e := t.list[i]
	at := t.lines(e.whole)
	if e.kind == unstable.ArrayTable && len(e.key) == 2 || e.kind == unstable.Table {
		at.start = t.blankLineBefore(at.start)
	}
	*edit = append(*edit, splice{at: at.start, del: at.end - at.start})
}

// keyMoves tells what becomes of the approvals when the hooks in gone are taken
// out.
func (t *configText) keyMoves(gone map[int]bool, undo *Undo, file string) map[string]Move {
	places := make([]place, len(t.handlers))
	for i, h := range t.handlers {
		places[i] = place{h.event, h.group, h.index}
	}
	groupStays := func(i int) bool { return t.oddGroup(t.handlers[i]) }
	return keyMoves(places, gone, groupStays, hashesOf(configuredTOML(t.tree)), undo, file)
}

// rewriteApprovals takes out and renames approvals as moves says. An approval in
// an inline table of all of them stays: it approves nothing any more.
func (t *configText) rewriteApprovals(edit *splices, moves map[string]Move) {
	states, _ := lookup(t.tree, "hooks", "state").(map[string]any)
	settled := settle(states, moves)
	for i, e := range t.list {
		rest, ok := cutPath(e.key, []string{"hooks", "state"})
		if !ok || len(rest) == 0 {
			continue
		}
		to, moved := settled[rest[0]]
		written := len(e.parts) - len(rest) // which part of this key, as written, is the hook's
		switch {
		case !moved:
		case to == "":
			t.removeLine(edit, i)
		case written >= 0:
			at := e.parts[written]
			*edit = append(*edit, splice{at.start, at.end - at.start, tomlBasic(to)})
		}
	}
}

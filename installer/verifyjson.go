package installer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// tree is a JSON value as encoding/json reads it, with the order of members and
// their doubles kept: the judge of an edit that another parser planned.
type tree struct {
	kind  byte // '{', '[', or 0 for a scalar
	value any  // of a scalar
	names []string
	kids  []*tree
}

func readTree(src []byte) (*tree, error) {
	_, body := cutBOM(src)
	if isBlank(body) {
		return &tree{kind: '{'}, nil
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	root, err := readValue(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one value")
	}
	return root, nil
}

func readValue(d *json.Decoder, depth int) (*tree, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return &tree{value: token}, nil
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nested more than %d levels deep", maxDepth)
	}
	t := &tree{kind: byte(open)}
	for d.More() {
		if t.kind == '{' {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			t.names = append(t.names, name.(string))
		}
		kid, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		t.kids = append(t.kids, kid)
	}
	_, err = d.Token() // the closing one
	return t, err
}

// get is the member with a name, nil if there is none (or t isn't an object).
func (t *tree) get(name string) *tree {
	if t == nil || t.kind != '{' {
		return nil
	}
	if i := slices.Index(t.names, name); i >= 0 {
		return t.kids[i]
	}
	return nil
}

func (t *tree) text() string {
	if t == nil {
		return ""
	}
	s, _ := t.value.(string)
	return s
}

func (t *tree) drop(name string) {
	if i := slices.Index(t.names, name); i >= 0 {
		t.names = slices.Delete(t.names, i, i+1)
		t.kids = slices.Delete(t.kids, i, i+1)
	}
}

func (t *tree) equal(u *tree) bool {
	return t.kind == u.kind && t.value == u.value && slices.Equal(t.names, u.names) &&
		slices.EqualFunc(t.kids, u.kids, (*tree).equal)
}

// verifyJSON judges an edit: after holds our entries exactly once each (or none
// of them), and is equal to before in everything else.
func verifyJSON(before, after []byte, w Wanted, installed bool) error {
	old, err := readTree(before)
	if err != nil {
		return fmt.Errorf("the file before: %w", err)
	}
	now, err := readTree(after)
	if err != nil {
		return fmt.Errorf("the result: %w", err)
	}
	if installed && w.Rule != "" && !hasRule(now, w.Rule) {
		return fmt.Errorf("the result lacks the permission %s", w.Rule)
	}
	old.takeOutStatusLine(w)
	if err := judgeStatusLine(now.takeOutStatusLine(w), w, installed); err != nil {
		return err
	}
	old.takeOut(w)
	found := now.takeOut(w)
	if err := judgeHooks(found, w, installed); err != nil {
		return err
	}
	prune(old, now)
	prune(now, old)
	if !old.equal(now) {
		return errors.New("the result differs in something that isn't ours")
	}
	return nil
}

// judgeStatusLine compares the status line of ours that was found with the one
// wanted. What stands behind it is compared as the user's.
func judgeStatusLine(found string, w Wanted, installed bool) error {
	if !installed || w.NoStatusLine {
		if found != "" {
			return errors.New("the result still has our status line")
		}
		return nil
	}
	if rest, ok := strings.CutPrefix(found, w.StatusLine); !ok || w.StatusLine != "" && rest != "" && !strings.HasPrefix(rest, " --own ") {
		return fmt.Errorf("the result's status line is %q", found)
	}
	return nil
}

// judgeHooks compares the own hooks that were found with those wanted.
func judgeHooks(found []WantedHook, w Wanted, installed bool) error {
	if !installed {
		if len(found) > 0 {
			return fmt.Errorf("the result still has a hook of ours at %s", found[0].Event)
		}
		return nil
	}
	for _, want := range w.Hooks {
		n := 0
		for _, hook := range found {
			if hook.Event != want.Event {
				continue
			}
			n++
			if hook.Command != want.Command || hook.Timeout < want.Timeout {
				return fmt.Errorf("the result's hook at %s is %q with %d s", want.Event, hook.Command, hook.Timeout)
			}
		}
		if n != 1 {
			return fmt.Errorf("the result has %d hooks of ours at %s", n, want.Event)
		}
	}
	if len(found) != len(w.Hooks) {
		return fmt.Errorf("the result has %d hooks of ours, not %d", len(found), len(w.Hooks))
	}
	return nil
}

func hasRule(root *tree, rule string) bool {
	allow := root.get("permissions").get("allow")
	return allow != nil && slices.ContainsFunc(allow.kids, func(k *tree) bool { return k.text() == rule })
}

// takeOut removes our hooks, the groups that held only them, and our rules, and
// returns the hooks.
func (t *tree) takeOut(w Wanted) (found []WantedHook) {
	hooks := t.get("hooks")
	for _, entry := range Entries() {
		groups := hooks.get(entry.Event)
		if groups == nil || groups.kind != '[' {
			continue
		}
		groups.kids = slices.DeleteFunc(groups.kids, func(group *tree) bool {
			own := group.takeOutOfGroup(entry.Event, w)
			found = append(found, own...)
			list := group.get("hooks")
			return len(own) > 0 && len(list.kids) == 0 && group.bare()
		})
	}
	if allow := t.get("permissions").get("allow"); allow != nil {
		allow.kids = slices.DeleteFunc(allow.kids, func(k *tree) bool {
			s := k.text()
			return s != "" && (s == w.Rule || s == w.OldRule)
		})
	}
	return found
}

func (t *tree) takeOutOfGroup(event string, w Wanted) (own []WantedHook) {
	list := t.get("hooks")
	if list == nil || list.kind != '[' {
		return nil
	}
	var matcher *string
	if m := t.get("matcher"); m != nil {
		s := m.text()
		matcher = &s
	}
	list.kids = slices.DeleteFunc(list.kids, func(h *tree) bool {
		command := h.get("command").text()
		if h.get("args") != nil || !w.owns(event, matcher, h.get("type").text(), command) {
			return false
		}
		own = append(own, WantedHook{Entry{Event: event, Timeout: h.get("timeout").seconds()}, command})
		return true
	})
	return own
}

// seconds reads a time-out; none at all is the client's default, which is longer
// than any of ours.
func (t *tree) seconds() int {
	if t == nil {
		return 60
	}
	n, _ := t.value.(json.Number)
	seconds, err := n.Float64()
	if err != nil {
		return 0
	}
	return int(seconds)
}

func (t *tree) bare() bool {
	for _, name := range t.names {
		if name != "hooks" && name != "matcher" {
			return false
		}
	}
	return true
}

// prune drops from t the containers on our path that are empty and that u hasn't
// got: an edit may make them and take them away.
func prune(t, u *tree) {
	for _, entry := range Entries() {
		pruneIn(t.get("hooks"), u.get("hooks"), entry.Event)
	}
	pruneIn(t.get("permissions"), u.get("permissions"), "allow")
	pruneIn(t, u, "hooks")
	pruneIn(t, u, "permissions")
}

func pruneIn(t, u *tree, name string) {
	if kid := t.get(name); kid != nil && kid.kind != 0 && len(kid.kids) == 0 && u.get(name) == nil {
		t.drop(name)
	}
}

// configured lists the hooks of a hooks.json in Codex's order.
func (t *tree) configured() (list []Configured) {
	hooks := t.get("hooks")
	for _, event := range codexEvents {
		groups := hooks.get(event)
		if groups == nil {
			continue
		}
		for g, group := range groups.kids {
			handlers := group.get("hooks")
			if handlers == nil {
				continue
			}
			for i, h := range handlers.kids {
				c := Configured{Event: event, Group: g, Index: i, Kind: h.get("type").text(), Command: h.get("command").text()}
				c.Matcher = optionalText(group.get("matcher"))
				c.StatusMessage = optionalText(h.get("statusMessage"))
				c.Timeout = h.optionalNumber("timeout")
				c.ContextLimit = h.optionalNumber("additionalContextLimit")
				if async := h.get("async"); async != nil {
					c.Async, _ = async.value.(bool)
				}
				list = append(list, c)
			}
		}
	}
	return list
}

func optionalText(v *tree) *string {
	if v == nil {
		return nil
	}
	return optional[string](v.value)
}

func (t *tree) optionalNumber(name string) *int64 {
	v := t.get(name)
	if v == nil {
		return nil
	}
	number, _ := v.value.(json.Number)
	if n, err := number.Int64(); err == nil {
		return &n
	}
	return nil
}

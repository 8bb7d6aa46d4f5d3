package installer

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

// decodeTOML reads a text with the parser that judges what the other one
// planned.
func decodeTOML(body []byte) (map[string]any, error) {
	tree := map[string]any{}
	_, err := toml.Decode(string(body), &tree)
	return tree, err
}

func refuseDecoded(err error) *Refusal {
	if perr := (toml.ParseError{}); errors.As(err, &perr) {
		return &Refusal{Line: perr.Position.Line, Column: max(1, perr.Position.Col), Reason: "not TOML: " + perr.Message, Hint: tomlHint}
	}
	return &Refusal{Reason: "not TOML: " + strings.TrimPrefix(err.Error(), "toml: "), Hint: tomlHint}
}

// codexEvents are the events that Codex 0.171 knows; it ignores others.
var codexEvents = []string{
	"PreModelRequest", "PostModelRequest", "PreToolUse", "PermissionRequest", "PostToolUse", "PreCompact", "PostCompact",
	"SessionStart", "SessionEnd", "UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "Interrupt",
}

// codexAccepts tells whether Codex would start with a configuration, as far as
// hooks go: what it refuses there it refuses as a whole ("Error loading
// config.toml"; each case was tried on 0.171). path leads to what is wrong.
func codexAccepts(tree map[string]any) (path []string, err error) {
	if path, err := codexAcceptsState(tree); err != nil {
		return path, err
	}
	hooks, ok := tree["hooks"]
	if !ok {
		return nil, nil
	}
	table, ok := hooks.(map[string]any)
	if !ok {
		return []string{"hooks"}, errors.New("hooks is not a table")
	}
	for _, event := range codexEvents {
		groups, ok := table[event]
		if !ok {
			continue
		}
		list, ok := tables(groups)
		if !ok {
			return []string{"hooks", event}, fmt.Errorf("hooks.%s is not an array of tables", event)
		}
		for _, group := range list {
			if path, err := codexAcceptsGroup(event, group); err != nil {
				return path, err
			}
		}
	}
	return nil, nil
}

func codexAcceptsGroup(event string, group map[string]any) (path []string, err error) {
	if matcher, ok := group["matcher"]; ok {
		if _, ok := matcher.(string); !ok {
			return []string{"hooks", event, "matcher"}, fmt.Errorf("a matcher of hooks.%s is not a string", event)
		}
	}
	if _, ok := group["hooks"]; !ok {
		return nil, nil
	}
	path = []string{"hooks", event, "hooks"}
	handlers, ok := tables(group["hooks"])
	if !ok {
		return path, fmt.Errorf("the hooks of a group of hooks.%s are not an array of tables", event)
	}
	for _, h := range handlers {
		kind, ok := h["type"].(string)
		if !ok || !slices.Contains([]string{"command", "mcp_tool", "prompt", "agent"}, kind) {
			return append(path, "type"), fmt.Errorf("a hook of hooks.%s has no type that Codex knows", event)
		}
		if kind == "command" {
			if _, ok := h["command"].(string); !ok {
				return append(path, "command"), fmt.Errorf("a hook of hooks.%s has no command", event)
			}
		}
		if name := oddOption(h); name != "" {
			return append(path, name), fmt.Errorf("the %s of a hook of hooks.%s is of the wrong type", name, event)
		}
	}
	return nil, nil
}

// oddOption is the option of a hook that has a type which Codex doesn't start
// with; empty if there is none.
func oddOption(h map[string]any) string {
	for _, name := range []string{"timeout", "additionalContextLimit"} {
		if v, ok := h[name]; ok {
			if n, ok := v.(int64); !ok || n < 0 {
				return name
			}
		}
	}
	if v, ok := h["async"]; ok {
		if _, ok := v.(bool); !ok {
			return "async"
		}
	}
	if v, ok := h["statusMessage"]; ok {
		if _, ok := v.(string); !ok {
			return "statusMessage"
		}
	}
	return ""
}

// codexAcceptsState checks the approvals and the switch for hooks.
func codexAcceptsState(tree map[string]any) (path []string, err error) {
	for _, name := range codexFeatures {
		if v := lookup(tree, "features", name); v != nil {
			if _, ok := v.(bool); !ok {
				return []string{"features", name}, fmt.Errorf("features.%s is neither true nor false", name)
			}
		}
	}
	states, _ := lookup(tree, "hooks", "state").(map[string]any)
	for key, v := range states {
		path := []string{"hooks", "state", key}
		state, ok := v.(map[string]any)
		if !ok {
			return path, errors.New("an approval of a hook is not a table")
		}
		if hash, ok := state["trusted_hash"]; ok {
			if _, ok := hash.(string); !ok {
				return append(path, "trusted_hash"), errors.New("the trusted_hash of an approval is not a string")
			}
		}
		if on, ok := state["enabled"]; ok {
			if _, ok := on.(bool); !ok {
				return append(path, "enabled"), errors.New("the enabled of an approval is neither true nor false")
			}
		}
	}
	return nil, nil
}

// tables reads an array of tables in either of its spellings.
func tables(v any) ([]map[string]any, bool) {
	switch list := v.(type) {
	case []map[string]any:
		return list, true
	case []any:
		out := make([]map[string]any, 0, len(list))
		for _, x := range list {
			table, ok := x.(map[string]any)
			if !ok {
				return nil, false
			}
			out = append(out, table)
		}
		return out, true
	}
	return nil, false
}

// configuredTOML lists the hooks of a configuration in Codex's order.
func configuredTOML(tree map[string]any) (list []Configured) {
	hooks, _ := tree["hooks"].(map[string]any)
	for _, event := range codexEvents {
		groups, _ := tables(hooks[event])
		for g, group := range groups {
			handlers, _ := tables(group["hooks"])
			for i, h := range handlers {
				c := Configured{Event: event, Group: g, Index: i, Matcher: optional[string](group["matcher"]), Timeout: optional[int64](h["timeout"])}
				c.Kind, _ = h["type"].(string)
				c.Command, _ = h["command"].(string)
				c.Async, _ = h["async"].(bool)
				c.StatusMessage = optional[string](h["statusMessage"])
				c.ContextLimit = optional[int64](h["additionalContextLimit"])
				list = append(list, c)
			}
		}
	}
	return list
}

func optional[T any](v any) *T {
	if x, ok := v.(T); ok {
		return &x
	}
	return nil
}

// verifyTOML judges an edit of a config.toml: after holds our entries exactly
// once each (or none of them), Codex would start with it, and everything else is
// equal to before. Approvals may differ only as moves says and for the keys in
// approvals.
func verifyTOML(before, after []byte, w Wanted, installed bool, moves map[string]Move, approvals []Approval) error {
	old, err := judged(before)
	if err != nil {
		return fmt.Errorf("the file before: %w", err)
	}
	now, err := judged(after)
	if err != nil {
		return fmt.Errorf("the result: %w", err)
	}
	takeOutTOML(old, w)
	if err := judgeHooks(takeOutTOML(now, w), w, installed); err != nil {
		return err
	}
	oldStates, nowStates := takeStates(old), takeStates(now)
	if !sameTOML(old, now) {
		return errors.New("the result differs in something that isn't ours")
	}
	return judgeStates(oldStates, nowStates, moves, approvals)
}

func judged(src []byte) (map[string]any, error) {
	_, body := cutBOM(src)
	tree, err := decodeTOML(body)
	if err == nil {
		_, err = codexAccepts(tree)
	}
	return tree, err
}

// takeOutTOML removes our hooks and what they alone kept alive, and returns
// them.
func takeOutTOML(tree map[string]any, w Wanted) (found []WantedHook) {
	hooks, _ := tree["hooks"].(map[string]any)
	for _, entry := range Entries() {
		groups, ok := tables(hooks[entry.Event])
		if !ok {
			continue
		}
		kept := []any{}
		for _, group := range groups {
			own, empty := takeOutOfGroupTOML(entry.Event, group, w)
			found = append(found, own...)
			if len(own) == 0 || !empty {
				kept = append(kept, group)
			}
		}
		hooks[entry.Event] = kept
		if len(kept) == 0 {
			delete(hooks, entry.Event)
		}
	}
	if hooks != nil && len(hooks) == 0 {
		delete(tree, "hooks")
	}
	return found
}

func takeOutOfGroupTOML(event string, group map[string]any, w Wanted) (own []WantedHook, empty bool) {
	handlers, _ := tables(group["hooks"])
	kept := []any{}
	for _, h := range handlers {
		kind, _ := h["type"].(string)
		command, _ := h["command"].(string)
		if !w.owns(event, optional[string](group["matcher"]), kind, command) {
			kept = append(kept, h)
			continue
		}
		seconds := 600
		if n, ok := h["timeout"].(int64); ok {
			seconds = int(n)
		}
		own = append(own, WantedHook{Entry{Event: event, Timeout: seconds}, command})
	}
	if len(own) > 0 {
		group["hooks"] = kept
	}
	for name := range group {
		if name != "hooks" && name != "matcher" {
			return own, false
		}
	}
	return own, len(kept) == 0
}

// takeStates removes the approvals from a tree and returns them.
func takeStates(tree map[string]any) map[string]any {
	hooks, _ := tree["hooks"].(map[string]any)
	states, _ := hooks["state"].(map[string]any)
	delete(hooks, "state")
	if hooks != nil && len(hooks) == 0 {
		delete(tree, "hooks")
	}
	return states
}

// judgeStates compares the approvals: every one of before is there as it was,
// under its new key if it moved, and nothing is new but ours.
func judgeStates(old, now map[string]any, moves map[string]Move, approvals []Approval) error {
	want := map[string]any{}
	settled := settle(old, moves)
	for key, state := range old {
		to, moved := settled[key]
		switch {
		case !moved:
			want[key] = state
		case to != "":
			want[to] = state
		}
	}
	for _, a := range approvals {
		state, _ := want[a.Key].(map[string]any)
		renewed := map[string]any{"trusted_hash": a.Hash}
		for name, v := range state {
			if name != "trusted_hash" {
				renewed[name] = v
			}
		}
		want[a.Key] = renewed
	}
	if !sameTOML(want, now) {
		return errors.New("the result differs in an approval that isn't ours")
	}
	return nil
}

// sameTOML compares decoded values; NaN is equal to itself, and an array of
// tables to an array value of the same.
func sameTOML(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for name, v := range x {
			w, ok := y[name]
			if !ok || !sameTOML(v, w) {
				return false
			}
		}
		return true
	case []map[string]any:
		return sameTOML(untyped(x), b)
	case []any:
		if y, ok := b.([]map[string]any); ok {
			b = untyped(y)
		}
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameTOML)
	case float64:
		y, ok := b.(float64)
		return ok && (x == y && math.Signbit(x) == math.Signbit(y) || math.IsNaN(x) && math.IsNaN(y))
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Equal(y) && x.Location().String() == y.Location().String()
	}
	return a == b
}

func untyped(list []map[string]any) []any {
	out := make([]any, len(list))
	for i, x := range list {
		out[i] = x
	}
	return out
}

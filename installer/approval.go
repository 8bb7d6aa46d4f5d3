package installer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Approval is what makes Codex run a hook: the user's "yes" to one hook, kept in
// config.toml below hooks.state by the hook's position and the hash of what it
// runs (observed on 0.129 to 0.171).
type Approval struct {
	Event string `json:"event"`
	Key   string `json:"key"`
	Hash  string `json:"hash"`
}

// place is where Codex counts a hook.
type place struct {
	event        string
	group, index int
}

// key is the name of a hook's approval. file is the path under which Codex knows
// the configuration: its folder without links, the file itself as it is named.
func (p place) key(file string) string {
	return fmt.Sprintf("%s:%s:%d:%d", file, snake(p.event), p.group, p.index)
}

// snake writes PreCompact as pre_compact.
func snake(event string) string {
	var b strings.Builder
	for i, r := range event {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Move is what becomes of the approval of one hook when hooks are taken out.
type Move struct {
	// To is its new key; empty: it goes, if it approves what we installed.
	To string
	// Hashes are those of our entries under this key, now and earlier.
	Hashes []string
}

// keyMoves tells what becomes of the approvals when the hooks in gone (by their
// index in places) are taken out. A group that is left without hooks goes too,
// unless groupStays says otherwise for one of its hooks.
func keyMoves(places []place, gone map[int]bool, groupStays func(i int) bool, hashes map[place]string, undo *Undo, file string) map[string]Move {
	moves := map[string]Move{}
	type group struct {
		event string
		n     int
	}
	left := map[group]int{}
	for i, p := range places {
		if !gone[i] || groupStays(i) {
			left[group{p.event, p.group}]++
		}
	}
	up := map[string]int{} // groups taken out so far, by event
	var last group
	var upInGroup int
	for i, p := range places {
		g := group{p.event, p.group}
		if g != last {
			last, upInGroup = g, 0
		}
		to := place{p.event, p.group - up[p.event], p.index - upInGroup}
		switch {
		case gone[i]:
			moves[p.key(file)] = Move{Hashes: []string{hashes[p]}}
			upInGroup++
			if left[g] == 0 && (i+1 == len(places) || places[i+1].event != p.event || places[i+1].group != p.group) {
				up[p.event]++
			}
		case to != p:
			moves[p.key(file)] = Move{To: to.key(file)}
		}
	}
	if undo != nil {
		for key, hash := range undo.Keys {
			if move := moves[key]; move.To == "" {
				moves[key] = Move{Hashes: append(move.Hashes, hash)}
			}
		}
	}
	return moves
}

// settle looks at the approvals that there are and tells which go (an empty
// value) and which get another key. One that stands where another moves to
// approves nothing any more and goes.
func settle(states map[string]any, moves map[string]Move) map[string]string {
	settled := map[string]string{}
	for key, move := range moves {
		state, there := states[key].(map[string]any)
		hash, _ := state["trusted_hash"].(string)
		switch {
		case !there:
		case move.To != "":
			settled[key] = move.To
			if _, moved := settled[move.To]; !moved && states[move.To] != nil {
				settled[move.To] = ""
			}
		case hash != "" && slices.Contains(move.Hashes, hash):
			settled[key] = ""
		}
	}
	return settled
}

// hashesOf is the hash of each hook, by its place.
func hashesOf(all []Configured) map[place]string {
	hashes := map[place]string{}
	for _, c := range all {
		hashes[place{c.Event, c.Group, c.Index}] = c.Hash()
	}
	return hashes
}

// Configured is one hook as a configuration holds it: what the approval covers.
type Configured struct {
	Event         string
	Group, Index  int
	Kind          string
	Command       string
	Matcher       *string
	Timeout       *int64 // seconds
	Async         bool
	StatusMessage *string
	ContextLimit  *int64 // additionalContextLimit, in tokens
}

// Hash is the hash that Codex compares: of a compact JSON with sorted keys, as
// Codex encodes it (absent options left out, async and timeout always there).
func (c Configured) Hash() string {
	handler := map[string]any{"type": c.Kind, "command": c.Command, "async": c.Async, "timeout": c.timeout()}
	if c.StatusMessage != nil {
		handler["statusMessage"] = *c.StatusMessage
	}
	if c.ContextLimit != nil {
		handler["additionalContextLimit"] = *c.ContextLimit
	}
	entry := map[string]any{"event_name": snake(c.Event), "hooks": []any{handler}}
	if c.Matcher != nil && c.Event != "UserPromptSubmit" && c.Event != "Stop" {
		entry["matcher"] = *c.Matcher
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false) // serde doesn't either
	if err := encoder.Encode(entry); err != nil {
		panic(err) // strings, booleans and numbers always encode
	}
	sum := sha256.Sum256(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// timeout is the one in force: the configured one, at least 1, else Codex's own.
func (c Configured) timeout() int64 {
	if c.Timeout != nil {
		return max(1, *c.Timeout)
	}
	if c.Event == "SessionEnd" || c.Event == "Interrupt" {
		return 1
	}
	return 600
}

// Approve edits a config.toml so that it holds these approvals: those of another
// hash are renewed, missing ones appended. An approval that the user turned off
// is refused.
func Approve(src []byte, approvals []Approval) (Edit, error) {
	mark, body := cutBOM(src)
	t, err := readConfig(body)
	if err != nil {
		return Edit{}, err
	}
	var edit splices
	var block strings.Builder
	undo := Undo{Keys: map[string]string{}}
	for _, a := range approvals {
		state, there := t.approval(a.Key)
		if state.Hash == a.Hash && !state.Off {
			continue
		}
		if state.Off {
			return Edit{}, refuseAt(body, t.placeOf([]string{"hooks", "state", a.Key}), "turn it on in Codex (/hooks)", "our hook at %s is turned off here", a.Event)
		}
		undo.Keys[a.Key] = a.Hash
		if there {
			if err := t.renew(&edit, a); err != nil {
				return Edit{}, err
			}
			continue
		}
		if at, ok := t.inlineState(); ok {
			return Edit{}, refuseAt(body, at, fmt.Sprintf("approve the hooks in Codex (/hooks), or add there: %s = { trusted_hash = %q }", tomlBasic(a.Key), a.Hash),
				"the approvals stand in an inline table")
		}
		if block.Len() > 0 {
			block.WriteString(t.nl)
		}
		block.WriteString("[hooks.state." + tomlBasic(a.Key) + "]" + t.nl + `trusted_hash = "` + a.Hash + `"` + t.nl)
	}
	if block.Len() > 0 {
		edit = append(edit, splice{at: len(body), ins: t.lead() + block.String()})
		undo.Unended = t.unended()
	}
	return Edit{Data: append([]byte(mark), edit.apply(body)...), Undo: undo}, nil
}

// ApprovalState is what a configuration says about one hook.
type ApprovalState struct {
	Hash string // empty: never approved
	Off  bool   // enabled = false
}

// approval reads the state of a key.
func (t *configText) approval(key string) (state ApprovalState, there bool) {
	entry, there := lookup(t.tree, "hooks", "state", key).(map[string]any)
	state.Hash, _ = entry["trusted_hash"].(string)
	on, set := entry["enabled"].(bool)
	state.Off = set && !on
	return state, there
}

// lookup walks down tables.
func lookup(tree map[string]any, path ...string) any {
	var v any = tree
	for _, name := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[name]
	}
	return v
}

// renew writes a new hash over the old one, or into a state that has none.
func (t *configText) renew(edit *splices, a Approval) error {
	want := []string{"hooks", "state", a.Key, "trusted_hash"}
	quoted := `"` + a.Hash + `"`
	for _, e := range t.list {
		switch {
		case e.kind == unstable.KeyValue && slices.Equal(e.key, want):
			*edit = append(*edit, splice{e.value.at.start, e.value.at.end - e.value.at.start, quoted})
			return nil
		case e.kind == unstable.KeyValue && slices.Equal(e.key, want[:3]):
			if hash := e.value.get("trusted_hash"); hash != nil {
				*edit = append(*edit, splice{hash.at.start, hash.at.end - hash.at.start, quoted})
				return nil
			}
		}
	}
	for _, e := range t.list {
		if e.kind == unstable.Table && slices.Equal(e.key, want[:3]) {
			*edit = append(*edit, splice{at: e.whole.end, ins: t.nl + "trusted_hash = " + quoted})
			return nil
		}
	}
	return refuseAt(t.src, t.placeOf(want[:3]), "approve the hooks in Codex (/hooks)", "the approval stands in a form that can't be edited")
}

// inlineState finds a hooks.state, or hooks, that is an inline table.
func (t *configText) inlineState() (at int, ok bool) {
	for _, e := range t.list {
		if e.kind == unstable.KeyValue && e.value.kind == unstable.InlineTable &&
			(slices.Equal(e.key, []string{"hooks"}) || slices.Equal(e.key, []string{"hooks", "state"})) {
			return e.whole.start, true
		}
	}
	return 0, false
}

// MoveApprovals edits a config.toml as a removal in the hooks.json beside it
// wants it; undo is what Approve noted, if that is to be undone.
func MoveApprovals(src []byte, moves map[string]Move, undo *Undo) (Edit, error) {
	mark, body := cutBOM(src)
	t, err := readConfig(body)
	if err != nil {
		return Edit{}, err
	}
	var edit splices
	t.rewriteApprovals(&edit, moves)
	return Edit{Data: append([]byte(mark), t.unend(edit, undo)...)}, nil
}

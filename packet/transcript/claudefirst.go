package transcript

import "bytes"

// headBytes is how much of a line the decision by its first bytes looks at: all
// that it asks for stands in the first 400 bytes of every real line seen.
const headBytes = 512

// claudeFirst is what the first bytes of a record in the chain tell. The members'
// order is that of 2.1.197 to 2.1.332; a line in another order isn't known, and is
// scanned.
type claudeFirst struct {
	known     bool
	sidechain bool
	typ       claudeType
	part      string // of a message: "string", or its first part's type
	name      string // of a tool call: the tool; of an attachment or a system record: its own type
	tail      []byte // what follows in the first bytes
}

type claudeType uint8

const (
	claudeUser claudeType = iota + 1
	claudeAssistant
	claudeAttachment
	claudeSystem
)

// firstOf reads the first bytes of a line.
func firstOf(b []byte) (q claudeFirst) {
	rest, ok := cutKeyedID(b[:min(len(b), headBytes)], `{"parentUuid":`)
	if !ok {
		return q
	}
	if logical, ok := cutKeyedID(rest, `,"logicalParentUuid":`); ok {
		rest = logical
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"isSidechain":`)); !ok {
		return q
	}
	if rest, ok = bytes.CutPrefix(rest, []byte("false")); !ok {
		q.sidechain = true
		if rest, ok = bytes.CutPrefix(rest, []byte("true")); !ok {
			return claudeFirst{}
		}
	}
	return q.typed(rest)
}

// cutKeyedID cuts a key and the id, or null, behind it.
func cutKeyedID(b []byte, key string) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(b, []byte(key))
	if !ok {
		return nil, false
	}
	if after, ok := bytes.CutPrefix(rest, []byte("null")); ok {
		return after, true
	}
	if len(rest) == 0 || rest[0] != '"' {
		return nil, false
	}
	end := bytes.IndexByte(rest[1:], '"')
	if end < 0 {
		return nil, false
	}
	return rest[end+2:], true
}

// typed goes on behind isSidechain.
func (q claudeFirst) typed(rest []byte) claudeFirst {
	if a, ok := bytes.CutPrefix(rest, []byte(`,"attachment":{"type":"`)); ok {
		return q.named(claudeAttachment, a)
	}
	if s, ok := bytes.CutPrefix(rest, []byte(`,"type":"system","subtype":"`)); ok {
		return q.named(claudeSystem, s)
	}
	const user = `,"type":"user","message":{"role":"user","content":`
	if i := bytes.Index(rest, []byte(user)); i >= 0 {
		q.typ = claudeUser
		return q.message(rest[i+len(user):])
	}
	if m, ok := bytes.CutPrefix(rest, []byte(`,"message":{`)); ok {
		i := bytes.Index(m, []byte(`"content":`))
		if i < 0 || !bytes.Contains(m[:i], []byte(`"role":"assistant"`)) {
			return claudeFirst{}
		}
		q.typ = claudeAssistant
		return q.message(m[i+len(`"content":`):])
	}
	return claudeFirst{}
}

// named takes the word at the start of rest.
func (q claudeFirst) named(typ claudeType, rest []byte) claudeFirst {
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return claudeFirst{}
	}
	q.known, q.typ, q.name, q.tail = true, typ, word(rest[:end]), rest[end:]
	return q
}

// message takes the start of a message's content.
func (q claudeFirst) message(rest []byte) claudeFirst {
	switch {
	case bytes.HasPrefix(rest, []byte(`"`)):
		q.part = "string"
	case bytes.HasPrefix(rest, []byte(`[{"tool_use_id":"`)):
		q.part = "tool_result"
	case bytes.HasPrefix(rest, []byte(`[{"type":"`)):
		rest = rest[len(`[{"type":"`):]
		end := bytes.IndexByte(rest, '"')
		if end < 0 {
			return claudeFirst{}
		}
		q.part = word(rest[:end])
	default:
		return claudeFirst{}
	}
	q.known, q.tail = true, rest
	if q.part == "tool_use" {
		q.name = word(after(rest, `"name":"`))
	}
	return q
}

// after returns what stands behind the words up to the next quote, nil if they
// don't stand there or no quote follows.
func after(b []byte, words string) []byte {
	i := bytes.Index(b, []byte(words))
	if i < 0 {
		return nil
	}
	b = b[i+len(words):]
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		return nil
	}
	return b[:end]
}

// word makes a string of one of the words that lines are decided by, without a
// copy for each record; of another word a copy.
func word(b []byte) string {
	switch string(b) {
	case "":
		return ""
	case "text":
		return "text"
	case "tool_use":
		return "tool_use"
	case "tool_result":
		return "tool_result"
	case "thinking":
		return "thinking"
	case "Bash":
		return "Bash"
	case "Read":
		return "Read"
	case "Edit":
		return "Edit"
	case "prompt_snapshot":
		return "prompt_snapshot"
	case "response_item":
		return "response_item"
	case "event_msg":
		return "event_msg"
	case "message":
		return "message"
	case "user":
		return "user"
	case "assistant":
		return "assistant"
	case "developer":
		return "developer"
	case "function_call":
		return "function_call"
	case "function_call_output":
		return "function_call_output"
	case "token_count":
		return "token_count"
	case "reasoning":
		return "reasoning"
	case "item_completed":
		return "item_completed"
	case "exec_command":
		return "exec_command"
	}
	return string(b)
}

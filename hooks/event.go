package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// The events that our programs are installed for, as both clients spell them.
const (
	PreCompact       = "PreCompact"
	PostCompact      = "PostCompact"
	SessionStart     = "SessionStart"
	UserPromptSubmit = "UserPromptSubmit"
)

// Where a SessionStart comes from (its source field).
const (
	SourceStartup = "startup"
	SourceResume  = "resume"
	SourceClear   = "clear"
	SourceCompact = "compact"
	SourceFork    = "fork"
)

// Event is a hook's payload. A field that is missing, or of another type than
// the clients give it, is empty: no client sends all of them.
type Event struct {
	Client         client.Client
	Name           string // hook_event_name
	SessionID      string // session_id: the main session's, also inside a subagent
	TranscriptPath string // transcript_path; null for a Codex session that isn't kept
	CWD            string // cwd
	Source         string // source, SessionStart only
	Trigger        string // trigger: manual or auto, PreCompact and PostCompact only
	AgentID        string // agent_id, inside a subagent, from the versions that send it
	AgentType      string // agent_type
	TurnID         string // turn_id (Codex), prompt_id (Claude): the same in one turn
	Model          string // model
	PermissionMode string // permission_mode
	Instructions   string // custom_instructions, PreCompact of Claude only
	HasPrompt      bool   // prompt was there; its text is never kept
	ClientPrompt   bool   // the prompt was written by the client in the user's name
}

// ErrNoSession is what Decode returns where the payload names no session: what
// belongs to nobody is delivered to nobody.
var ErrNoSession = errors.New("the payload names no session_id")

// Decode reads a payload of client c. Unknown fields are ignored.
func Decode(c client.Client, doc []byte) (Event, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil {
		return Event{}, fmt.Errorf("the payload can't be read: %w", err)
	}
	e := Event{Client: c}
	text := func(name string) (value string) {
		if raw := fields[name]; len(raw) > 0 && raw[0] == '"' {
			_ = json.Unmarshal(raw, &value) // valid: the whole document was
		}
		return value
	}
	for name := range fields {
		if dst := e.text(name); dst != nil {
			*dst = text(name)
		}
	}
	if e.TurnID = text("turn_id"); e.TurnID == "" {
		e.TurnID = text("prompt_id")
	}
	prompt := text("prompt")
	e.HasPrompt = bytes.HasPrefix(fields["prompt"], []byte(`"`))
	e.ClientPrompt = writtenByClient(prompt)
	if strings.TrimSpace(e.SessionID) == "" {
		return e, ErrNoSession
	}
	return e, nil
}

// text is where a payload's field goes, nil for one that isn't known.
func (e *Event) text(key string) *string {
	switch key {
	case "hook_event_name":
		return &e.Name
	case "session_id":
		return &e.SessionID
	case "transcript_path":
		return &e.TranscriptPath
	case "cwd":
		return &e.CWD
	case "source":
		return &e.Source
	case "trigger":
		return &e.Trigger
	case "agent_id":
		return &e.AgentID
	case "agent_type":
		return &e.AgentType
	case "model":
		return &e.Model
	case "permission_mode":
		return &e.PermissionMode
	case "custom_instructions":
		return &e.Instructions
	}
	return nil
}

// writtenByClient tells a prompt that Claude Code submits in the user's name:
// the end of a background agent (seen on 2.1.332).
func writtenByClient(prompt string) bool {
	return strings.HasPrefix(strings.TrimLeft(prompt, " \t\r\n"), "<task-notification>")
}

// InSubagent reports whether the event belongs to a subagent: it says so, or,
// as on Codex 0.133.0, which sends the main session's id and no agent_id, its
// transcript is another thread's. False proves nothing on the versions of
// Claude Code that don't say so: see Ability.
func (e Event) InSubagent() bool {
	return e.AgentID != "" || e.Client == client.Codex && e.ofAnotherThread()
}

// ofAnotherThread compares the session with the thread whose rollout it is:
// rollout-2026-11-29T15-26-34-<thread id>.jsonl. What isn't named like that
// tells nothing.
func (e Event) ofAnotherThread() bool {
	const length = len("01a227ea-449e-7f32-b337-c740edbe89df")
	name, ok := strings.CutSuffix(filepath.Base(e.TranscriptPath), ".jsonl")
	if !ok || !strings.HasPrefix(name, "rollout-") || len(name) < length || len(e.SessionID) != length {
		return false
	}
	return name[len(name)-length:] != e.SessionID
}

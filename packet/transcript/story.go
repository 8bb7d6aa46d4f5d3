// Package transcript reads the clients' transcripts: Claude Code's
// projects/*/<session>.jsonl and Codex's rollout-*.jsonl, both generations.
//
// It is read-only and bounded in memory at any size of file and of line. It
// reads from the tail until its bounds are full, plus the head for the request
// that opened the work, so its cost follows the last stretch of work and not
// the file. It doesn't redact, doesn't judge and doesn't write: it says what
// stands in the file, where, and what it left out (promises 1 and 5).
package transcript

import (
	"time"

	"github.com/reseat-dev/reseat/internal/client"
)

// Position says where in a transcript something stands.
type Position struct {
	Offset int64     `json:"offset"`         // bytes from the start of the file to the start of the record
	Line   int64     `json:"line,omitempty"` // 1-based; 0 where lines before it weren't counted
	ID     string    `json:"id,omitempty"`   // the record's own id: Claude's uuid, Codex's "ordinal:N"; where a client gives none (Codex's legacy rollouts) "offset:N"
	Time   time.Time `json:"time,omitzero"`  // the record's own time
	Path   string    `json:"path,omitempty"` // the file, where it isn't the transcript itself: a fork's parent (Codex, history_base)
}

// Message is something said in the session's own chain by a person or the
// agent. Compaction summaries, sidechains, meta records, local command output,
// injected contexts and the summariser's prompt aren't messages.
type Message struct {
	Position
	Role   string // "user", "assistant" or (Codex) "developer"
	Text   string // at most Options.MessageBytes, cut on a rune boundary with a visible mark
	Cut    int64  // bytes of the text that were left out
	Typed  bool   // a user message in a person's own words, not one that a client wrote in the user's name
	Images int
}

// Plan is the plan or to-do list as it stood at the end.
type Plan struct {
	Position        // of the record that last changed it
	Source   string // the tool: "TodoWrite", "Task tools", "update_plan"
	Note     string // the explanation given with it, if any
	Items    []PlanItem
}

// PlanItem is one line of a plan.
type PlanItem struct {
	Position        // of the record that last changed this item
	ID       string // the tool's own id of the item, if any
	Text     string
	Status   string // "pending", "in_progress", "completed", "deleted" (only of one made before what was read) or the client's own word
}

// Proposal is the plan that an agent in plan mode put forward as prose: Claude's
// ExitPlanMode, Codex's item Plan (0.133.0 to 0.171.0), which has no result: it
// is taken for approved once the person has left plan mode.
type Proposal struct {
	Position
	Text     string // at most 16 KiB, cut with a visible mark; "" where the client kept it in a file only
	File     string // where the client keeps it, if it says so
	Answered bool   // the call has a result
	Approved bool   // the result was no refusal
}

// OpenWork is something started and not finished: a subagent's call without a
// result, a background command, an open background task.
type OpenWork struct {
	Position
	Kind        string // "subagent", "background"
	CallID      string // the tool call's id
	TaskID      string // the client's id of the background task or agent, if known
	Description string
}

// Command is a shell command that the agent ran.
type Command struct {
	Position // of the call
	CallID   string
	Text     string
	Test     bool     // it runs tests, judged by the command's words
	Done     bool     // a result was seen
	ExitCode *int     // nil where the transcript doesn't tell
	Failed   bool     // the client marked it as an error or the exit code isn't 0
	Output   string   // the result's last bytes, bounded
	Result   Position // of the result
}

// File is a path that the session touched.
type File struct {
	Path     string
	Edits    int // written, edited, created, deleted by a tool
	Reads    int
	Mentions int
	Deleted  bool     // the last edit removed it
	Last     Position // of the last edit, else of the last read or mention
	First    Position
}

// Boundary is the record of one compaction.
type Boundary struct {
	Position
	Trigger   string // "manual", "auto" or "" where the record doesn't tell
	PreTokens int64  // tokens before it, 0 if unknown
}

// Usage is how full the context was.
type Usage struct {
	Position
	Tokens int64
	Window int64 // 0 if the transcript doesn't tell
}

// Identity is who the transcript says it belongs to.
type Identity struct {
	SessionID      string    // Claude's sessionId; Codex's first session_meta id
	RootID         string    // Codex: session_meta.session_id (the root of a subagent's thread); else SessionID
	Subagent       bool      // the transcript is a subagent's
	ForkedFrom     string    // the native id it was forked from, where the client says so
	CWD            string    // the last one recorded, else the first
	Version        string    // of the client, from the last record that names one
	Model          string    // last seen
	GitBranch      string    // as recorded by the client, last seen
	PermissionMode string    // last seen: Claude's permissionMode, Codex's approval policy, "plan" in plan mode
	Started        time.Time // the first record's time
}

// Reach says up to where a reading goes.
type Reach struct {
	Bytes      int64    `json:"bytes"`       // the end of the last whole record read
	Last       Position `json:"last"`        // the last record with an id
	LastAnswer Position `json:"last_answer"` // the model's last answer, zero if none was seen
	Boundary   Position `json:"boundary"`    // the last boundary, zero if none was seen
}

// Omitted counts what a reading left out, by kind.
type Omitted struct {
	BytesBefore   int64 // bytes between head and tail that weren't read
	Messages      int64 // messages read but beyond the bound
	MessageBytes  int64 // bytes cut from messages
	Reasoning     int64 // thinking and reasoning records
	ToolOutputs   int64 // raw tool results
	FunctionCalls int64 // tool calls
	Images        int64
	Sidechain     int64
	Meta          int64 // meta records, local commands, injected contexts
	Summaries     int64 // written by a compaction
	Malformed     int64 // lines that aren't JSON objects
	Oversize      int64 // lines over Options.LineBytes: skimmed, not decoded
	Duplicates    int64 // records whose id was seen before
	Unknown       int64 // record types this reader doesn't know
	OffChain      int64 // records on an abandoned branch of the conversation
}

// Story is what a transcript tells: everything a packet takes from it.
type Story struct {
	Client     client.Client
	Path       string
	Size       int64 // of the file when reading began
	Unread     bool  // a fault ended the reading; a caveat says which
	Identity   Identity
	Opening    []Message  // the person's own first requests, from the head of the file (for a fork: of its own history)
	Messages   []Message  // the latest, oldest first, at most Options.Messages
	Requests   []Message  // the person's own latest requests, oldest first
	Boundaries []Boundary // in what was read, oldest first
	Plan       *Plan      // nil if none was seen; without items if its list was cleared
	Proposal   *Proposal  // the plan that plan mode last put forward, nil if none was seen
	Open       []OpenWork
	Answered   []string // ids of calls from before what was read, whose result was seen; the latest ones
	Ended      []string // ids of background tasks and calls from before it that were said to be over; the latest ones
	Files      []File   // most edited first, then most read, then by path
	Commands   []Command
	Usage      *Usage
	Reach      Reach
	From       int64 // where the tail reading began; 0 if the whole file was read
	Lines      int64 // lines processed
	Omitted    Omitted
	Caveats    []string // in words: missing, empty, another session's, grew while read, cut by time
}

// Options bound a reading. The zero value takes the defaults.
type Options struct {
	Session      string // expected native id; a transcript of another session gives a caveat, never its content
	Messages     int    // default 120
	MessageBytes int    // default 24 KiB
	LineBytes    int    // a longer line is skimmed by a streaming scanner; default 1 MiB
	TailBytes    int64  // how far back the reading may go for messages; default 64 MiB
	LookBack     int64  // how much further back for a plan, edits and open work; default 4 MiB
	OutputBytes  int    // kept of a command's output; default 4 KiB
	TailOnly     bool   // neither the opening requests nor what lasts is looked for before the messages, and no lines are counted there
}

// Tail is what was appended to a transcript beyond an offset: what delivery
// needs to decide, and no texts.
type Tail struct {
	Size       int64      // of the file
	Reach      int64      // end of the last whole record read
	SessionID  string     // as the records say, "" if none does
	Version    string     // of the client, last seen, "" if none
	Boundaries []Boundary // main chain
	Answers    []Position // the model's answers, main chain
	Prompts    []Position // a person's own prompts, main chain
	Traces     []Position // injected-context records that hold one of the wanted texts (see After)
	TraceOf    []string   // parallel to Traces: the text found
	Contexts   int        // injected-context records recognised as such, whatever they hold
	Work       int        // messages or tool records, main chain
}

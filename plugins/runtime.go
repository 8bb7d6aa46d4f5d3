// Package plugins is the contract between reseat and a runtime adapter: a
// program that knows one client and can say which sessions are live, how full
// they are, compact one, give one a message, and start one.
//
// It is the contract only. [Serve] turns a [Runtime] into an adapter program;
// package host finds, starts and asks such programs; packages claude and codex
// are ours. A client's own forms never leave its adapter.
//
// It keeps promises 1 and 5 of the design as far as a type can: there is no way
// to hand over a credential, and no outcome that says more than was seen.
package plugins

import (
	"context"
	"time"
)

// Runtime is what an adapter implements.
//
// Calls may come in parallel. A call ends soon after its context does: an
// adapter that ignores it is ended by the host. An error means that the adapter
// itself could not do its work; what happened to a session is a [Result].
type Runtime interface {
	// Describe says what the adapter is. It starts no client.
	Describe(ctx context.Context) (Description, error)
	// Sessions lists the live sessions. It starts no client and types nothing.
	Sessions(ctx context.Context) (Sessions, error)
	// Usage says how full each session's context is, in the order asked.
	Usage(ctx context.Context, of []SessionRef) ([]Usage, error)
	// Turn gives a session one ordinary user message and waits for the turn's end.
	Turn(ctx context.Context, r TurnRequest, stage func(Progress)) (Result, error)
	// Compact compacts one session.
	Compact(ctx context.Context, r CompactRequest, stage func(Progress)) (Result, error)
	// Launch says how to start the client. It starts nothing.
	Launch(ctx context.Context, r LaunchRequest) (Launch, error)
}

// Capability is something that an adapter can do.
type Capability string

// The capabilities. Resume and Fork are announced for later.
const (
	CanSessions      Capability = "sessions"
	CanUsage         Capability = "usage"
	CanTurnLive      Capability = "turn-live"      // a message to a session that a client has open
	CanTurnClosed    Capability = "turn-closed"    // to one that nobody has open
	CanCompactLive   Capability = "compact-live"   // of a session that a client has open
	CanCompactClosed Capability = "compact-closed" // of one that nobody has open
	CanLaunch        Capability = "launch"
	CanInstructions  Capability = "instructions" // a compaction takes instructions for the summary
	CanResume        Capability = "resume"
	CanFork          Capability = "fork"
)

// HookTrust says what a hook event of the client proves.
type HookTrust struct {
	Event             string `json:"event"`                  // the client's own name
	Since             string `json:"since,omitempty"`        // first version that fires it; "" if every known one does
	UnmarkedSubagents bool   `json:"unmarked_subagents"`     // it also fires for a subagent's compaction, looking the same
	MarkedSince       string `json:"marked_since,omitempty"` // first version that marks a subagent's
	Note              string `json:"note,omitempty"`         // one line, in words
}

// Description is what an adapter is.
type Description struct {
	Client           string       `json:"client"` // one word, lower case: the --runtime value
	Title            string       `json:"title"`  // for a person
	AdapterVersion   string       `json:"adapter_version"`
	ClientVersions   []string     `json:"client_versions"`             // that it was tried with
	ClientProgram    string       `json:"client_program,omitempty"`    // absolute path of the client found, "" if none
	InstalledVersion string       `json:"installed_version,omitempty"` // "" if not known without starting the client
	Capabilities     []Capability `json:"capabilities"`
	Hooks            []HookTrust  `json:"hooks,omitempty"`
	Environment      []string     `json:"environment,omitempty"` // variables wanted from the host besides its base list; a name that ends in _ is a prefix
}

// Can says whether the adapter announces c.
func (d Description) Can(c Capability) bool {
	for _, have := range d.Capabilities {
		if have == c {
			return true
		}
	}
	return false
}

// State is what a session is doing.
type State string

// The states of a session.
const (
	StateUnknown State = "unknown"
	StateIdle    State = "idle"
	StateBusy    State = "busy"    // a turn or a compaction runs
	StateWaiting State = "waiting" // for a person: a dialog, an approval, a question
	StateClosed  State = "closed"  // the native session exists and nobody has it open
)

// Pane is a terminal pane of tmux.
type Pane struct {
	Socket  string `json:"socket"`            // absolute path of the tmux server's socket
	ID      string `json:"id"`                // %N
	Session string `json:"session,omitempty"` // the tmux session's name
}

// Switch is the known state of a client's setting.
type Switch string

// The states of a setting as a session was launched with it.
const (
	SwitchUnknown Switch = "unknown"
	SwitchOn      Switch = "on"
	SwitchOff     Switch = "off"
)

// Session is one live session of the client.
type Session struct {
	ID             string    `json:"id"` // native id
	CWD            string    `json:"cwd,omitempty"`
	PID            int       `json:"pid,omitempty"`        // of the process that has it open, 0 if unknown
	Version        string    `json:"version,omitempty"`    // of the client
	Transcript     string    `json:"transcript,omitempty"` // absolute path
	Pane           *Pane     `json:"pane,omitempty"`       // nil: not in tmux, or not known
	State          State     `json:"state"`
	StateReason    string    `json:"state_reason,omitempty"` // in words: where the state is from, or what it waits for
	StateSince     time.Time `json:"state_since,omitzero"`
	Kind           string    `json:"kind,omitempty"`    // the client's own word
	Channel        Channel   `json:"channel,omitempty"` // how a compaction would go; "" if it can't
	IdleCompaction Switch    `json:"idle_compaction"`   // as it was launched
}

// Sessions is what an adapter knows about live sessions.
type Sessions struct {
	Sessions []Session `json:"sessions"`
	Caveats  []string  `json:"caveats,omitempty"` // what could not be looked at, in words
}

// SessionRef names one session. Only ID is needed; Transcript and CWD are hints
// from the host's own records.
type SessionRef struct {
	ID         string `json:"id"`
	Transcript string `json:"transcript,omitempty"`
	CWD        string `json:"cwd,omitempty"`
}

// UsageUnknown says why a session's usage isn't known.
type UsageUnknown string

// The reasons. The empty one means that it is known.
const (
	UsageKnown       UsageUnknown = ""
	UsageNotFound    UsageUnknown = "not_found"   // no such session or transcript
	UsageNoData      UsageUnknown = "no_data"     // no answer of the model yet
	UsageUnreadable  UsageUnknown = "unreadable"  // the file can't be read or parsed
	UsageMismatch    UsageUnknown = "mismatch"    // the data is another session's
	UsageUnsupported UsageUnknown = "unsupported" // the adapter can't tell
)

// Usage is how full a session's context is.
type Usage struct {
	Session   string       `json:"session"`
	Unknown   UsageUnknown `json:"unknown,omitempty"`
	Tokens    int64        `json:"tokens"`            // in the context
	Window    int64        `json:"window,omitempty"`  // 0 if unknown
	Percent   float64      `json:"percent,omitempty"` // used of the window; means nothing where Window is 0
	SampledAt time.Time    `json:"sampled_at,omitzero"`
	Source    string       `json:"source,omitempty"`
	Newer     bool         `json:"newer"` // something in the session's main chain is newer than the sample
	Detail    string       `json:"detail,omitempty"`
}

// Fresh says whether nothing in the session's main chain is newer than the
// sample. Only a fresh sample triggers anything.
func (u Usage) Fresh() bool { return u.Unknown == UsageKnown && !u.Newer && !u.SampledAt.IsZero() }

// Patience limits a call that touches a client.
type Patience struct {
	WaitIdle time.Duration // for the session to become idle; 0: don't wait
	Timeout  time.Duration // for the work itself, from the moment it was sent; 0: the adapter's own
}

// TurnRequest is one ordinary user message to a session.
type TurnRequest struct {
	Session  SessionRef
	Text     string
	Patience Patience
}

// CompactRequest is one compaction of a session.
type CompactRequest struct {
	Session      SessionRef
	Instructions string // for the summary; "" for none
	Patience     Patience
	DryRun       bool // do all checks and send nothing; Result.Outcome is "" where it would have gone on
}

// Stage is a step of a turn or a compaction.
type Stage string

// The stages, in order; any may be left out. From StageSending on the client
// may have seen it.
const (
	StageChecking    Stage = "checking"
	StageWaitingIdle Stage = "waiting-idle"
	StageSending     Stage = "sending"
	StageSent        Stage = "sent"
	StageRunning     Stage = "running"    // the client says, or shows, that it began
	StageConfirming  Stage = "confirming" // the client finished; looking for the boundary
)

// Progress is a stage reached.
type Progress struct {
	Stage  Stage     `json:"stage"`
	At     time.Time `json:"at"`
	Detail string    `json:"detail,omitempty"`
}

// Outcome is how a compaction or a turn ended. The set is closed.
type Outcome string

// The outcomes. Answered is a turn's alone.
const (
	Compacted   Outcome = "compacted"   // a new boundary, or the client's own word that it finished
	Busy        Outcome = "busy"        // not at a moment to be touched
	NoHistory   Outcome = "no_history"  // the native session isn't there
	NotEnough   Outcome = "not_enough"  // the client says that there is too little to compact
	Blocked     Outcome = "blocked"     // a hook of the client forbade it
	Unsupported Outcome = "unsupported" // this session can't be managed
	NotFound    Outcome = "not_found"   // nobody knows this id
	TimedOut    Outcome = "timed_out"   // the client may still be at it
	Failed      Outcome = "failed"      // it is known not to have happened
	Unknown     Outcome = "unknown"     // it may or may not have happened
	Answered    Outcome = "answered"    // the turn ended with an answer
)

// Outcomes lists a compaction's outcomes.
func Outcomes() []Outcome {
	return []Outcome{Compacted, Busy, NoHistory, NotEnough, Blocked, Unsupported, NotFound, TimedOut, Failed, Unknown}
}

// Reason says in one word why an outcome is what it is. Adapters may have
// further ones of their own.
type Reason string

// The reasons of our own adapters and of the host.
const (
	ReasonTurnRunning    Reason = "turn_running"
	ReasonCompacting     Reason = "compaction_running"
	ReasonDialogOpen     Reason = "dialog_open"
	ReasonCopyMode       Reason = "copy_mode"
	ReasonTextTyped      Reason = "text_typed"
	ReasonPersonTyping   Reason = "person_typing"
	ReasonNotAtPrompt    Reason = "not_at_prompt" // another program, or a screen that isn't recognised
	ReasonStateUnknown   Reason = "state_unknown"
	ReasonNoPane         Reason = "no_pane"
	ReasonNoChannel      Reason = "no_channel"
	ReasonOldVersion     Reason = "old_version"
	ReasonPaneGone       Reason = "pane_gone"
	ReasonOpenElsewhere  Reason = "open_elsewhere" // somebody opened the session in between
	ReasonHookBlocked    Reason = "hook_blocked"
	ReasonClientError    Reason = "client_error"
	ReasonClientExited   Reason = "client_exited"
	ReasonNoClient       Reason = "client_not_installed"
	ReasonInterrupted    Reason = "interrupted"
	ReasonAdapterExited  Reason = "adapter_exited"
	ReasonAdapterHung    Reason = "adapter_hung"
	ReasonAdapterRefused Reason = "adapter_refused" // not pinned, changed, not startable
	ReasonAdapterBroke   Reason = "adapter_broke_contract"
)

// Mechanism says whose compaction it was. They are never mixed up: our hooks
// around a compaction are the delivery's business and have receipts of their own.
type Mechanism string

// The mechanisms of our own adapters.
const (
	ClaudeCompact Mechanism = "claude-compact" // Claude Code's own /compact
	CodexCompact  Mechanism = "codex-compact"  // Codex's own compaction
)

// Channel is the way by which a client was reached.
type Channel string

// The channels.
const (
	ChannelPane      Channel = "pane"       // keys to a terminal pane
	ChannelStream    Channel = "stream"     // Claude's headless stream
	ChannelDaemon    Channel = "daemon"     // the control socket of Codex's daemon
	ChannelAppServer Channel = "app-server" // a Codex app-server of our own
)

// Evidence says what a Compacted rests on.
type Evidence string

// The kinds of evidence.
const (
	EvidenceNone       Evidence = "none"
	EvidenceBoundary   Evidence = "boundary"   // a new boundary in the transcript
	EvidenceCompletion Evidence = "completion" // the client's own word
)

// Boundary is the record of one compaction.
type Boundary struct {
	Offset     int64     `json:"offset"` // bytes from the transcript's start to the record
	ID         string    `json:"id,omitempty"`
	Time       time.Time `json:"time,omitzero"`
	Trigger    string    `json:"trigger,omitempty"`
	PreTokens  int64     `json:"pre_tokens,omitempty"`
	PostTokens int64     `json:"post_tokens,omitempty"`
}

// Result is how a turn or a compaction ended.
type Result struct {
	Outcome   Outcome       `json:"outcome"`
	Reason    Reason        `json:"reason,omitempty"`
	Detail    string        `json:"detail,omitempty"` // one line, in words
	Mechanism Mechanism     `json:"mechanism,omitempty"`
	Channel   Channel       `json:"channel,omitempty"`
	Sent      bool          `json:"sent"` // the client may have seen it
	Boundary  *Boundary     `json:"boundary,omitempty"`
	State     State         `json:"state"` // of the session at the end
	Evidence  Evidence      `json:"evidence"`
	Took      time.Duration `json:"took"`
}

// LaunchRequest asks how to start the client.
type LaunchRequest struct {
	Arguments         []string // the client's own, as the person gave them
	IdleCompactionOff bool     // switch the client's own compaction of idle sessions off
	Environment       map[string]string
	CWD               string // where the client will be started
}

// Launch is how to start the client.
type Launch struct {
	Command           []string          `json:"command"` // the first is the program
	Environment       map[string]string `json:"environment,omitempty"`
	Caveats           []string          `json:"caveats,omitempty"`
	IdleCompactionOff bool              `json:"idle_compaction_off"` // the line switches it off
}

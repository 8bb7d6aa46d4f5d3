package packet

import (
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/gitstate"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Input is everything that a packet is made from. Make reads no file and asks
// nobody: what isn't in here isn't known.
type Input struct {
	ID         string // of the compaction the packet is for, "" for one made by hand
	Client     client.Client
	Session    string // the session's native id, as the client says
	Seat       string // the seat's address (member@rig), "" for an unnamed seat
	Transcript string // the transcript's path as the client says; "" takes the story's
	CWD        string // as the client says; "" takes the story's
	Version    string // of the client, where it is known otherwise; "" takes the story's

	Story    *transcript.Story // nil: no transcript could be read
	Previous *Continuity       // of the session's packet before, nil for none
	Declared Declared
	Git      *gitstate.State // nil: not looked at
	Memory   []Surface

	Mechanism      string // what made the packet happen, see Mechanism
	Trigger        string // "manual", "auto" or "" where it isn't known
	Instructions   string // the person's own words to the compaction
	PermissionMode string // as the client says; "" takes the story's
	Time           time.Time
	Generator      string // name@version, see Generator
	Limits         Limits
	Redactor       Redactor // required

	// Full calls emit for every message of the transcript, oldest first, and
	// stops at emit's first error. With it the packet has a transcript.md. nil:
	// it has none; hooks never set it.
	Full func(emit func(transcript.Message) error) error

	Origin Origin
}

// Declared is what a person laid down for a seat or project beforehand. The zero
// value is: nothing.
type Declared struct {
	Intent              string   `json:"intent"`
	RolePointer         string   `json:"role_pointer"` // path or URI
	DefaultRepo         string   `json:"default_repo"` // path
	NextOwner           string   `json:"next_owner"`   // an address; "self" and "" mean the seat goes on
	AuthorityBoundaries string   `json:"authority_boundaries"`
	Caveats             []string `json:"caveats"`
	Pointers            Pointers `json:"pointers"`
	Ack                 bool     `json:"ack"`    // the next answer is to open with a sentence that names the packet
	Digest              string   `json:"digest"` // of the configuration that held, to see later that it changed
}

// Pointers are durable places outside the packet, by kind, as in the v0 summary.
type Pointers struct {
	Queue      []string `json:"queue_pointers"`
	Progress   []string `json:"progress_pointers"`
	FieldNotes []string `json:"field_note_pointers"`
	Artifacts  []string `json:"artifact_pointers"`
}

// Origin overrides what a packet says of where it comes from and goes to. The
// zero value takes what is known: source and target are then the same seat.
type Origin struct {
	SourceSession       string // the native id, where neither client nor transcript tells it; the transcript's own doesn't count then
	SourceRig           string // source_rig, "" takes the seat's
	TargetRig           string // target_rig, "" takes the seat's
	TargetRuntime       string // target_runtime, "" takes the client's
	TargetWorkspaceRoot string // target_workspace_root, absolute, "" takes the working directory
	CurrentWork         string // current_work_summary
	TrustRanking        []string
}

// Surface is a place where a seat's memory is kept outside the transcript. It
// says what is there, nothing of what might be in it.
type Surface struct {
	Kind     string    `json:"kind"` // "recap", "notes", "role", "project-context"
	Path     string    `json:"path"`
	Purpose  string    `json:"purpose"`           // in words
	Missing  bool      `json:"missing"`           // named by someone, but not there
	Modified time.Time `json:"modified,omitzero"` // zero where missing
	Bytes    int64     `json:"bytes"`
	SHA256   string    `json:"sha256"` // of the first MiB, "" where missing
}

// The kinds of memory surface, in the order in which they are read.
const (
	Recap          = "recap"           // what the occupant wrote for its successor
	Role           = "role"            // what the seat is for
	Notes          = "notes"           // what was learned on the way
	ProjectContext = "project-context" // what the client reads by itself (CLAUDE.md, AGENTS.md)
)

// Redactor takes secrets out of texts and paths. The last result counts what it
// replaced.
type Redactor interface {
	Text(string) (string, int)
	Path(string) (string, int)

	// Cut and CutFront redact s and keep at most n bytes of its beginning, or of
	// its end, and say how many went. Of an s longer than n nothing beyond its
	// first, or last, n bytes is kept.
	Cut(s string, n int) (kept string, left, found int)
	CutFront(s string, n int) (kept string, left, found int)
}

// Overlap is how much more of a message than Limits.MessageBytes a reader is to
// keep, so that no secret is torn where the packet cuts: see redaction.fit.
const Overlap = 8 << 10

// Explainer is a Redactor that says how it differs from the policy openrig-v0.
type Explainer interface {
	// Additions and Exemptions are short names of classes, in a stable order.
	Additions() []string
	Exemptions() []string
}

// Limits bound a packet. The zero value takes the defaults.
type Limits struct {
	MessageBytes int   // a message's text; default 16 KiB
	FileBytes    int64 // a file, transcript.md apart; default 1 MiB, at least 64 KiB
	PacketBytes  int64 // all files, transcript.md apart; default 8 MiB, at least 320 KiB
}

// Messages is how many messages transcript-latest.md holds at most: the v0
// contract's bound.
const Messages = 120

// MustRead is how many bytes a successor has to read at most: the whole of
// restore-instructions.md.
const MustRead = 16_000

func (l Limits) withDefaults() Limits {
	if l.MessageBytes <= 0 {
		l.MessageBytes = 16 << 10
	}
	if l.FileBytes <= 0 {
		l.FileBytes = 1 << 20
	}
	if l.PacketBytes <= 0 {
		l.PacketBytes = 8 << 20
	}
	l.FileBytes = max(l.FileBytes, 64<<10)
	l.PacketBytes = max(l.PacketBytes, 5*(64<<10))
	l.FileBytes = min(l.FileBytes, l.PacketBytes/5) // five files
	return l
}

// The ways in which a packet comes to be.
const (
	WayPreCompact = "precompact-hook" // before the compaction
	WayRescue     = "rescue"          // after it, where no packet was made before
	WayRefresh    = "refresh"         // a newer copy of one made before
	WayWrite      = "packet-write"    // by a person's command
)

// Mechanism names what made a packet happen: "claude-precompact-hook".
func Mechanism(c client.Client, way string) string { return string(c) + "-" + way }

// generatorPrefix tells our packets from a peer's.
const generatorPrefix = "reseat@"

// Generator is the generator_version of a version of this program.
func Generator(version string) string { return generatorPrefix + version }

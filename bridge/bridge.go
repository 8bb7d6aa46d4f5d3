package bridge

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Bridge carries compactions across on one state folder. Its methods are safe
// to run in any number of processes at once.
type Bridge struct {
	Home    state.Home
	Packer  Packer
	Now     func() time.Time
	Version func(e hooks.Event) string // the client's version, "" if the environment doesn't tell
	PID     int
	Told    Told
	disk    disk
}

// New returns the bridge of a hook program.
func New(home state.Home, packer Packer, version func(hooks.Event) string, pid int) *Bridge {
	return &Bridge{Home: home, Packer: packer, Now: time.Now, Version: version, PID: pid, disk: osDisk{}}
}

// Packer makes packets: it is what bridge has to read and write around a
// compaction, apart from its own state.
type Packer interface {
	// Read reads the session's transcript, bounded by ctx. A transcript that is
	// missing or another session's is a Story with a caveat, not an error.
	Read(ctx context.Context, j Job) (*transcript.Story, error)
	// Pack writes the packet of story to the folder dir, which must not exist,
	// whole or not at all, and returns what a record needs of it.
	Pack(ctx context.Context, j Job, story *transcript.Story, dir string) (Packed, error)
	// Renew renders the packet in j.PacketDir again where the world isn't what w
	// says, or where note has something to add; else ok is false.
	Renew(ctx context.Context, j Job, w World, note string) (text string, ok bool)
	// Degraded is the one honest line where no packet could be made.
	Degraded(j Job, reason string) string
	// Off says why the configuration switches the session off, "" if it
	// doesn't.
	Off(j Job) string
	// Limits bound the state folder.
	Limits() Limits
}

// Job is what a packet is made for.
type Job struct {
	Event      hooks.Event
	Version    string // of the client
	Session    string // the session's folder
	Seat       string // its address, "" where no seat is bound
	ID         string // the compaction's id
	Number     int
	Mechanism  string
	Prepared   time.Time
	Now        time.Time
	PacketDir  string // where the packet will be found afterwards
	Previous   string // the packet before, "" if there is none
	Transcript string
}

// Packed is what came of making a packet.
type Packed struct {
	Directive string // ready to print while the world stays as it is
	World     World
	Seat      string
	Caveat    string // what couldn't be had, in words
}

// World is the state of things that a ready directive rests on.
type World struct {
	CWD            string    `json:"cwd,omitempty"`
	Repo           string    `json:"repo,omitempty"`
	Branch         string    `json:"branch,omitempty"`
	Head           string    `json:"head,omitempty"`
	Config         string    `json:"config,omitempty"` // a digest of the declared values
	PermissionMode string    `json:"permission_mode,omitempty"`
	Kept           time.Time `json:"kept"`
	Memory         []Glance  `json:"memory,omitempty"`
}

// Glance is a file as it was seen; a zero time: it wasn't there.
type Glance struct {
	Path     string    `json:"path"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified,omitzero"`
}

// Outcome is what a hook's run came to. It goes into the receipt.
type Outcome struct {
	Decision Decision
	Reason   string // in words, never a prompt's or transcript's text
	ID       string // the compaction's id
	Err      error  // a fault of ours or of the machine
	Reply    hooks.Reply
	Partial  bool // half a document was printed: the exit code must say so
}

// Decision is what a hook did, in one word.
type Decision string

// The decisions.
const (
	DidNothing  Decision = "nothing"   // nothing was pending
	DidIgnore   Decision = "ignored"   // the event proves or asks nothing: a subagent's, another source
	DidPrepare  Decision = "prepared"  // a packet was written
	DidArm      Decision = "armed"     // a compaction was reported
	DidNote     Decision = "noted"     // a compaction was reported that nothing had been prepared for
	DidDeliver  Decision = "delivered" // a directive was printed
	DidConfirm  Decision = "confirmed" // a directive was seen in the context
	DidLose     Decision = "lost"      // a race: somebody else delivers
	DidWait     Decision = "waiting"   // printed, not confirmed yet
	DidFail     Decision = "failed"    // a fault of ours or of the machine
	DidSwitch   Decision = "off"       // switched off
	DidTooLate  Decision = "too-late"  // the session moved on without it
	DidGiveBack Decision = "given-back"
	DidGiveUp   Decision = "unverifiable"
)

func (b *Bridge) random(n int) string {
	buf := make([]byte, n)
	for i := range buf {
		buf[i] = byte(rand.Uint32())
	}
	return hex.EncodeToString(buf)
}

func (b *Bridge) job(e hooks.Event, dir string) Job {
	return Job{
		Event: e, Version: b.Version(e), Session: dir, Seat: SeatOf(dir),
		Now: b.Now(), Transcript: e.TranscriptPath,
	}
}

// off says why nothing is to be done for the session, "" if nothing says so.
func (b *Bridge) off(e hooks.Event, dir string) string {
	j := b.job(e, dir)
	if why := switchedOff(b.Home, e.Client, e.SessionID, j.Seat, e.CWD); why != "" {
		return why
	}
	return b.Packer.Off(j)
}

// ability is what the event's client version proves; a version that only the
// record knows is better than none.
func (b *Bridge) ability(e hooks.Event, known string) hooks.Ability {
	v := b.Version(e)
	if v == "" {
		v = known
	}
	return hooks.Can(e.Client, v)
}

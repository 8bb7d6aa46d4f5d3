package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Prepare handles PreCompact: it takes the next attempt of the session and
// writes its packet. Every PreCompact is an attempt of its own, also a second
// one for the same compaction: the transcript may have grown in between.
//
// On success it prints nothing; where no packet could be written, one line that
// the person sees.
func (b *Bridge) Prepare(ctx context.Context, e hooks.Event) Outcome {
	o := b.prepare(ctx, e)
	if o.Decision == DidFail {
		o.Reply = hooks.Notice(fmt.Sprintf("reseat: no restore packet for this compaction: %s: %v", o.Reason, o.Err))
	}
	return o
}

func (b *Bridge) prepare(ctx context.Context, e hooks.Event) Outcome {
	if e.InSubagent() {
		return Outcome{Decision: DidIgnore, Reason: "a subagent's compaction"}
	}
	if e.Name != hooks.PreCompact {
		return Outcome{Decision: DidIgnore, Reason: "not a PreCompact"}
	}
	dir := b.Home.Session(e.Client, e.SessionID)
	if why := b.off(e, dir); why != "" {
		return Outcome{Decision: DidSwitch, Reason: why}
	}
	dir, err := b.session(aboutOf(e))
	if err != nil {
		return failed("the session's folder couldn't be made", err)
	}
	before, err := Attempts(dir)
	if err != nil {
		return failed("the session's state couldn't be read", err)
	}
	a, err := b.takeNext(dir, b.begin(e, ByPreCompact), newestClaimed(before))
	if err != nil {
		return failed("no attempt could be begun", err)
	}
	j := b.job(e, dir)
	story, err := b.Packer.Read(ctx, j.of(a))
	if err == nil {
		err = b.commit(ctx, j, a, story)
	}
	if errors.Is(err, errOvertaken) {
		return Outcome{Decision: DidLose, Reason: "a newer attempt was claimed meanwhile", ID: a.ID()}
	}
	if err != nil {
		return Outcome{Decision: DidFail, Reason: "no packet could be written", ID: a.ID(), Err: err}
	}
	b.prune(ctx, dir)
	return Outcome{Decision: DidPrepare, ID: a.ID(), Reason: a.Record.Caveat}
}

// errOvertaken: the attempt isn't begun any more; a newer one was claimed.
var errOvertaken = errors.New("overtaken by a newer attempt")

func failed(reason string, err error) Outcome {
	return Outcome{Decision: DidFail, Reason: reason, Err: err}
}

func aboutOf(e hooks.Event) About {
	return About{Client: e.Client, Session: e.SessionID, Transcript: e.TranscriptPath, CWD: e.CWD}
}

func (b *Bridge) begin(e hooks.Event, mechanism string) Begin {
	return Begin{
		Mechanism: mechanism, Trigger: e.Trigger, Turn: e.TurnID, Version: b.Version(e),
		PID: b.PID, Time: b.Now(), Bytes: sizeOf(e.TranscriptPath),
	}
}

func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// takeNext takes the first free number. after is the newest attempt that was
// claimed by now.
func (b *Bridge) takeNext(dir string, begin Begin, after int) (*Attempt, error) {
	begin.After = after
	for {
		nums, err := numbers(dir)
		if err != nil {
			return nil, err
		}
		next := 1
		if len(nums) > 0 {
			next = nums[0] + 1
		}
		a, err := b.take(dir, next, begin)
		if !errors.Is(err, fs.ErrExist) {
			return a, err
		}
	}
}

func (j Job) of(a *Attempt) Job {
	j.ID, j.Number, j.Mechanism = a.ID(), a.Number, a.Begin.Mechanism
	j.Event.Trigger = firstOf(j.Event.Trigger, a.Begin.Trigger) // a SessionStart that refreshes has none
	j.PacketDir = filepath.Join(a.Dir, "packet")
	j.Previous = previousPacket(j.Session, a.Number)
	return j
}

// previousPacket is the newest packet of an attempt before number.
func previousPacket(dir string, number int) string {
	nums, err := numbers(dir)
	if err != nil {
		return ""
	}
	for _, n := range nums {
		if n >= number {
			continue
		}
		a := Attempt{Dir: filepath.Join(dir, "c", attemptName(n))}
		if p := a.PacketDir(); p != "" {
			return p
		}
	}
	return ""
}

// commit writes the packet and the record of attempt a and makes it prepared,
// durably: after it returned nil, a power loss takes nothing of it away.
func (b *Bridge) commit(ctx context.Context, j Job, a *Attempt, story *transcript.Story) error {
	start := b.Now()
	j = j.of(a)
	packed, err := b.Packer.Pack(ctx, j, story, j.PacketDir)
	if err != nil {
		return err
	}
	r := b.record(j, a, story.Reach)
	r.Packet, r.Directive, r.World, r.Caveat = true, packed.Directive, packed.World, packed.Caveat
	if r.Seat == "" {
		r.Seat = packed.Seat
	}
	r.Millis = b.Now().Sub(start).Milliseconds()
	return b.finish(a, r)
}

func (b *Bridge) record(j Job, a *Attempt, reach transcript.Reach) Record {
	return Record{
		ID: a.ID(), Client: j.Event.Client, Session: j.Event.SessionID, Seat: j.Seat,
		Version: j.Version, Transcript: j.Transcript, CWD: j.Event.CWD,
		Mechanism: a.Begin.Mechanism, Trigger: j.Event.Trigger, Turn: j.Event.TurnID,
		PID: b.PID, Prepared: b.Now(), Reach: reach,
	}
}

// finish writes the record and renames begun to prepared.
func (b *Bridge) finish(a *Attempt, r Record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(a.Dir, "record.json")
	if err := b.disk.create(path, append(data, '\n')); err != nil {
		return fmt.Errorf("writing the record: %w", err)
	}
	if err := b.disk.sync(path); err != nil {
		return fmt.Errorf("writing the record: %w", err)
	}
	a.Record = &r
	won, err := b.move(a, Begun, Prepared)
	if err != nil {
		return err
	}
	if !won {
		return errOvertaken
	}
	c := filepath.Dir(a.Dir)
	if err := b.disk.sync(a.Dir, c, filepath.Dir(c)); err != nil {
		return fmt.Errorf("writing the attempt: %w", err)
	}
	return nil
}

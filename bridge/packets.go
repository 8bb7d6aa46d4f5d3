package bridge

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/reseat-dev/reseat/bridge/seat"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/internal/gitstate"
	"github.com/reseat-dev/reseat/internal/sha256"
	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/internal/version"
	"github.com/reseat-dev/reseat/packet"
	"github.com/reseat-dev/reseat/packet/redact"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Packets is the Packer of the real programs: transcripts, the configuration,
// the repository and the seat's memory in, packets out.
type Packets struct {
	home   state.Home
	getenv func(string) string
	config func() (*config.Config, []config.Problem)
	ahead  *ahead // what Read began for Pack, nil for nothing
}

// NewPackets returns a Packer. The configuration is read when something needs
// it, and only once.
func NewPackets(home state.Home, getenv func(string) string) *Packets {
	return &Packets{
		home: home, getenv: getenv,
		config: sync.OnceValues(func() (*config.Config, []config.Problem) {
			return config.LoadTolerant(config.Path(getenv, getenv("HOME"), string(home)))
		}),
	}
}

// Config is the configuration, with the defaults where it can't be used, and
// what is wrong with it.
func (p *Packets) Config() (*config.Config, []config.Problem) { return p.config() }

// Off implements Packer.
func (p *Packets) Off(j Job) string {
	cfg, _ := p.config()
	if cfg.For(j.Seat, j.Event.CWD).Off {
		return "switched off by the configuration"
	}
	return ""
}

// Limits implements Packer.
func (p *Packets) Limits() Limits {
	cfg, _ := p.config()
	l := cfg.Limits
	return Limits{
		PacketsPerSession: int(l.PacketsPerSession), MaxAge: time.Duration(l.MaxAge),
		StateBytes: int64(l.StateBytes), ReceiptsBytes: int64(l.ReceiptsBytes),
	}
}

// Read implements Packer.
func (p *Packets) Read(ctx context.Context, j Job) (*transcript.Story, error) {
	none := &transcript.Story{Client: j.Event.Client, Path: j.Transcript}
	p.ahead = p.lookAhead(ctx, j)
	if j.Transcript == "" {
		none.Caveats = []string{"the client names no transcript"}
		return none, nil
	}
	story, err := transcript.Read(ctx, j.Event.Client, j.Transcript, p.Options(j.Event.SessionID))
	if story == nil {
		story = none
	}
	if err != nil && len(story.Caveats) == 0 {
		story.Caveats = []string{err.Error()}
	}
	return story, nil
}

// Pack implements Packer.
func (p *Packets) Pack(ctx context.Context, j Job, story *transcript.Story, dir string) (Packed, error) {
	in, caveats, err := p.input(ctx, j, story)
	if err != nil {
		return Packed{}, err
	}
	made, err := packet.Make(in)
	if err != nil {
		return Packed{}, err
	}
	if err := made.Write(dir, packet.LeaveParentSync); err != nil {
		return Packed{}, err
	}
	c, at := made.Continuity, compactedAt(j, story)
	return Packed{
		Directive: c.Directive(packet.DirectiveOptions{ID: j.ID, Dir: dir, CompactedAt: at, Age: j.Now.Sub(at)}),
		World:     worldOf(c),
		Caveat:    strings.Join(caveats, "; "),
	}, nil
}

// compactedAt is when the compaction was, as well as it is known. A packet made
// before it goes by its own time. One made afterwards goes by the boundary, if
// that is on disk for sure: the last one, with no answer after it.
func compactedAt(j Job, story *transcript.Story) time.Time {
	if way(j.Mechanism) == packet.WayPreCompact {
		return j.Now
	}
	if n := len(story.Boundaries); n > 0 {
		last := story.Boundaries[n-1]
		if !last.Time.IsZero() && last.Offset > story.Reach.LastAnswer.Offset {
			return last.Time
		}
	}
	if !j.Prepared.IsZero() {
		return j.Prepared
	}
	return j.Now
}

func (p *Packets) input(ctx context.Context, j Job, story *transcript.Story) (packet.Input, []string, error) {
	cfg, problems := p.config()
	var caveats []string
	for _, problem := range problems {
		caveats = append(caveats, problem.String())
	}
	red, err := redact.New(redact.Options{Patterns: cfg.Redact.Patterns, LeaveOut: cfg.Redact.LeaveOutPaths, Exempt: cfg.Redact.Exempt, Home: p.getenv("HOME")})
	if err != nil {
		// A pattern that can't be used must not let a secret through unsaid.
		caveats = append(caveats, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	cwd := firstOf(j.Event.CWD, story.Identity.CWD)
	declared := Declared(cfg, j.Seat, cwd)
	git := p.gitOf(ctx, firstOf(declared.DefaultRepo, cwd))
	previous, err := p.previousOf(j)
	if err != nil {
		caveats = append(caveats, fmt.Sprintf("nothing could be carried over from the packet before: %v", err))
	}
	return packet.Input{
		ID: j.ID, Client: j.Event.Client, Session: j.Event.SessionID, Seat: j.Seat, Transcript: j.Transcript, CWD: cwd,
		Version: j.Version, Story: story, Previous: previous, Declared: declared, Git: &git,
		Memory: p.surfaces(j, declared, cwd), Mechanism: packet.Mechanism(j.Event.Client, way(j.Mechanism)),
		Trigger: j.Event.Trigger, Instructions: j.Event.Instructions, PermissionMode: j.Event.PermissionMode,
		Time: j.Now, Generator: version.Generator, Redactor: red,
		Limits: packet.Limits{
			MessageBytes: int(cfg.Limits.MessageBytes), FileBytes: int64(cfg.Limits.FileBytes), PacketBytes: int64(cfg.Limits.PacketBytes),
		},
	}, caveats, nil
}

func way(mechanism string) string {
	switch mechanism {
	case ByRescue, ByPostCompact:
		return packet.WayRescue
	case byRefresh:
		return packet.WayRefresh
	}
	return packet.WayPreCompact
}

// Declared is what the configuration says of a seat or a folder, as a packet
// takes it.
func Declared(cfg *config.Config, seat, cwd string) packet.Declared {
	d := cfg.For(seat, cwd)
	out := packet.Declared{
		Intent: d.Intent, RolePointer: d.RolePointer, DefaultRepo: d.DefaultRepo, NextOwner: d.NextOwner,
		AuthorityBoundaries: d.AuthorityBoundaries, Caveats: d.Caveats, Ack: d.Ack,
		Pointers: packet.Pointers{
			Queue: d.Pointers.Queue, Progress: d.Pointers.Progress, FieldNotes: d.Pointers.FieldNotes, Artifacts: d.Pointers.Artifacts,
		},
	}
	text, err := json.Marshal(out)
	if err == nil {
		sum := sha256.Sum256(text)
		out.Digest = hex.EncodeToString(sum[:8])
	}
	return out
}

// surfaces looks at the places where the seat's memory is kept. It says what
// is there and guesses nothing of what is in it.
func (p *Packets) surfaces(j Job, d packet.Declared, cwd string) []packet.Surface {
	var all []packet.Surface
	recap := seat.RecapFile(p.home, SeatKey(j.Session))
	if s := look(packet.Recap, recap, "what the occupant wrote down for its successor"); !s.Missing {
		all = append(all, s)
	}
	if path := d.RolePointer; path != "" && !strings.Contains(path, "://") {
		if !filepath.IsAbs(path) {
			path = filepath.Join(firstOf(d.DefaultRepo, cwd), path)
		}
		all = append(all, look(packet.Role, path, "what the seat is for"))
	}
	name := "AGENTS.md"
	if j.Event.Client == client.Claude {
		name = "CLAUDE.md"
	}
	if s := look(packet.ProjectContext, filepath.Join(cwd, name), "what the client reads by itself"); cwd != "" && !s.Missing {
		all = append(all, s)
	}
	return all
}

// hashedBytes is how much of a surface its hash covers.
const hashedBytes = 1 << 20

func look(kind, path, purpose string) packet.Surface {
	s := packet.Surface{Kind: kind, Path: path, Purpose: purpose, Missing: true}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return s
	}
	f, err := os.Open(path)
	if err != nil {
		return s
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, hashedBytes)); err != nil {
		return s
	}
	s.Missing, s.Modified, s.Bytes, s.SHA256 = false, info.ModTime(), info.Size(), hex.EncodeToString(sum.Sum(nil))
	return s
}

// worldOf is what a ready directive rests on, to see with few looks whether it
// still holds.
func worldOf(c *packet.Continuity) World {
	w := World{
		CWD: c.Session.CWD, Repo: firstOf(c.Declared.DefaultRepo, c.Session.CWD),
		Config: c.Declared.Digest, Kept: c.GeneratedAt,
	}
	if c.Session.ModeCompares() {
		w.PermissionMode = c.Session.PermissionMode
	}
	if c.Git != nil {
		w.Branch, w.Head = c.Git.Branch, c.Git.Head
	}
	for _, s := range c.Memory {
		w.Memory = append(w.Memory, Glance{Path: s.Path, Bytes: s.Bytes, Modified: s.Modified})
	}
	return w
}

// Renew implements Packer.
func (p *Packets) Renew(ctx context.Context, j Job, w World, note string) (text string, ok bool) {
	cfg, _ := p.config()
	cwd := firstOf(j.Event.CWD, w.CWD)
	now := packet.World{
		Time: j.Now, ConfigDigest: Declared(cfg, j.Seat, cwd).Digest, PermissionMode: j.Event.PermissionMode, CWD: cwd,
	}
	if w.Head != "" {
		head := gitstate.Head(w.Repo)
		now.Branch, now.Head, now.Detached = head.Branch, head.Head, head.Detached
	}
	if note == "" && filepath.Base(j.PacketDir) == "packet" && w.same(now) {
		return "", false
	}
	c, err := packet.ReadContinuity(j.PacketDir)
	if err != nil {
		return "", false
	}
	for _, s := range c.Memory {
		now.Memory = append(now.Memory, look(s.Kind, s.Path, s.Purpose))
	}
	o := packet.DirectiveOptions{ID: j.ID, Dir: j.PacketDir, CompactedAt: j.Prepared, Age: j.Now.Sub(j.Prepared), Differences: c.Since(now)}
	if note != "" {
		o.Differences = append(o.Differences, packet.Difference{What: "the transcript", Now: note})
	}
	return c.Directive(o), true
}

// same reports whether a directive that rests on w may be printed as it is.
func (w World) same(now packet.World) bool {
	differs := func(was, is string) bool { return was != "" && is != "" && was != is }
	if differs(w.Branch, now.Branch) || differs(w.Head, now.Head) || differs(w.CWD, now.CWD) ||
		differs(w.Config, now.ConfigDigest) || differs(w.PermissionMode, now.PermissionMode) ||
		now.Time.Sub(w.Kept) >= ageWorthSaying {
		return false
	}
	for _, g := range w.Memory {
		info, err := os.Stat(g.Path)
		gone := g.Modified.IsZero()
		if (err != nil) != gone || err == nil && (info.Size() != g.Bytes || !info.ModTime().Equal(g.Modified)) {
			return false
		}
	}
	return true
}

// ageWorthSaying is from when on a directive says how old its facts are.
const ageWorthSaying = time.Hour

// Degraded implements Packer.
func (p *Packets) Degraded(j Job, reason string) string {
	return packet.DegradedDirective(packet.DirectiveOptions{ID: j.ID, CompactedAt: j.Now, Transcript: j.Transcript, Reason: reason})
}

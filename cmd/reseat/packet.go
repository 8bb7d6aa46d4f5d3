package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/bridge/seat"
	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet"
	"github.com/reseat-dev/reseat/packet/redact"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// packetFlags are those of packet write.
type packetFlags struct {
	session, seat, jsonl, runtime        string
	target, targetRig, targetRuntime     string
	workspaceRoot, repo, role, work      string
	nextOwner, boundaries                string
	caveats, ranking                     []string
	generator, sessionOverride, rigGiven string
	full, json                           bool

	client client.Client // of runtime, "" for none
}

func packetWriteCommand() command {
	return command{
		name: "packet write", short: "write a restore packet of a session",
		long: `The session is one of --session, --seat and --source-jsonl. Who it is comes from
the transcript itself, never from a file's name; where that can't be told the
command refuses. --target must not exist, its parent must. What isn't given is
taken from the configuration, and what nobody declared is said to be undeclared.
Printed is what the packet holds, never what was said in the session.`,
		example: "reseat packet write --seat dev-impl@my-rig --target /tmp/packet\n" +
			"reseat packet write --source-jsonl a.jsonl --target p --full-transcript --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			p := &packetFlags{}
			p.register(f)
			return func(ctx context.Context, c *call) int { return c.packetWrite(ctx, p) }
		},
	}
}

func (p *packetFlags) register(f *pflag.FlagSet) {
	f.StringVar(&p.session, "session", "", "the session: claude:ID, codex:ID, an id, or a prefix of 8 letters")
	f.StringVar(&p.session, "source-session", "", "the same as --session")
	f.StringVar(&p.seat, "seat", "", "the seat whose session it is: an address")
	f.StringVar(&p.jsonl, "source-jsonl", "", "a transcript's file")
	f.StringVar(&p.runtime, "source-runtime", "", "claude-code or codex (default: as the transcript shows)")
	f.StringVar(&p.target, "target", "", "the folder to make (required)")
	f.StringVar(&p.targetRig, "target-rig", "", "the rig it is for (default: the seat's, else \"unassigned\")")
	f.StringVar(&p.targetRuntime, "target-runtime", "", "claude-code, codex, terminal or external (default: the source's)")
	f.StringVar(&p.workspaceRoot, "target-workspace-root", "", "an absolute path (default: the session's folder)")
	f.StringVar(&p.repo, "default-target-repo", "", "a path")
	f.StringVar(&p.role, "role-pointer", "", "a path or URI of the role's guidance")
	f.StringVar(&p.work, "current-work-summary", "", "what is being done (default: the plan's open item or the latest request)")
	f.StringVar(&p.nextOwner, "next-owner", "", "who goes on (default: self)")
	f.StringArrayVar(&p.caveats, "caveat", nil, "something to beware of; may be given several times")
	f.StringVar(&p.boundaries, "authority-boundaries", "", "what may not be done")
	f.StringSliceVar(&p.ranking, "source-trust-ranking", nil, "sources, highest first, with commas")
	f.StringVar(&p.generator, "generator-version", "", "name@version (default: this program's)")
	f.StringVar(&p.sessionOverride, "source-session-id-override", "", "the native id, where the transcript doesn't tell it")
	f.StringVar(&p.rigGiven, "source-rig-override", "", "the source's rig, where no seat tells it")
	f.BoolVar(&p.full, "full-transcript", false, "also write transcript.md with every message")
	f.BoolVar(&p.json, "json", false, "print JSON")
}

// check finds wrong usage before anything is read.
func (p *packetFlags) check() error {
	given := 0
	for _, s := range []string{p.session, p.seat, p.jsonl} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("give one of --session, --seat and --source-jsonl")
	case p.target == "":
		return errors.New("packet write needs --target DIR")
	case p.targetRuntime != "" && !slices.Contains(packet.Runtimes(), p.targetRuntime):
		return fmt.Errorf("--target-runtime %q: use one of %s", p.targetRuntime, strings.Join(packet.Runtimes(), ", "))
	case p.workspaceRoot != "" && !filepath.IsAbs(p.workspaceRoot):
		return fmt.Errorf("--target-workspace-root %q isn't an absolute path", p.workspaceRoot)
	}
	if p.runtime != "" {
		of, err := client.Parse(p.runtime)
		if err != nil {
			return fmt.Errorf("--source-runtime: %w", err)
		}
		p.client = of
	}
	for _, source := range p.ranking {
		if !slices.Contains(packet.TrustRanking(), source) {
			return fmt.Errorf("--source-trust-ranking %q: use some of %s", source, strings.Join(packet.TrustRanking(), ", "))
		}
	}
	for flag, rig := range map[string]string{"--target-rig": p.targetRig, "--source-rig-override": p.rigGiven} {
		if rig != "" {
			if err := packet.CheckRig(rig); err != nil {
				return fmt.Errorf("%s: %w", flag, err)
			}
		}
	}
	return nil
}

// source is the session that a packet is written of.
type source struct {
	client  client.Client
	session string // "" where only the transcript tells
	path    string
	seat    string
	folder  string // of our state, "" where no hook has seen the session
	before  string // its newest packet, "" for none
}

func (c *call) packetWrite(ctx context.Context, p *packetFlags) int {
	if len(c.args) > 0 {
		return c.usage("packet write takes no arguments")
	}
	if err := p.check(); err != nil {
		return c.usage("%w", err)
	}
	from, hint, err := c.packetSource(ctx, p)
	if err != nil {
		return c.fail(exitUnknown, err, hint)
	}
	home, err := c.state()
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	packets := bridge.NewPackets(home, c.getenv)
	story, err := transcript.Read(ctx, from.client, from.path, packets.Options(from.session))
	if err != nil {
		return c.fail(exitUnknown, fmt.Errorf("reading %q: %w", from.path, err), "")
	}
	if from.session = cmp.Or(p.sessionOverride, from.session, story.Identity.SessionID); from.session == "" {
		return c.fail(exitUnknown, fmt.Errorf("%q doesn't tell its session's id", from.path), "give it with --source-session-id-override")
	}
	in, caveats, err := c.packetInput(ctx, p, packets, from, story)
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	for _, caveat := range caveats {
		fmt.Fprintf(c.stderr, "reseat: warning: %s\n", caveat)
	}
	made, err := packet.Make(in)
	if err == nil {
		err = made.Write(absolute(p.target))
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return c.fail(exitUnknown, err, "--target must not exist yet")
	case errors.Is(err, fs.ErrNotExist):
		return c.fail(exitUnknown, err, "the folder that --target lies in must exist")
	case err != nil:
		return c.fail(exitUnknown, err, "")
	}
	return c.packetWritten(made, absolute(p.target), p.json)
}

// packetInput is what bridge would make a packet from, with the flags laid over
// it.
func (c *call) packetInput(ctx context.Context, p *packetFlags, packets *bridge.Packets, from source, story *transcript.Story) (packet.Input, []string, error) {
	home, err := c.state()
	if err != nil {
		return packet.Input{}, nil, err
	}
	job := bridge.Job{
		Event:   hooks.Event{Client: from.client, SessionID: from.session, CWD: story.Identity.CWD},
		Session: cmp.Or(from.folder, home.Session(from.client, from.session)), Seat: from.seat, Now: time.Now(),
		Previous: from.before, Transcript: from.path,
	}
	in, caveats, err := packets.Input(ctx, job, story)
	if err != nil {
		return in, nil, err
	}
	in.Mechanism = packet.Mechanism(from.client, packet.WayWrite)
	in.Generator = cmp.Or(p.generator, in.Generator)
	in.Origin = packet.Origin{
		SourceSession: p.sessionOverride, SourceRig: p.rigGiven, TargetRig: p.targetRig, TargetRuntime: p.targetRuntime,
		TargetWorkspaceRoot: p.workspaceRoot, CurrentWork: p.work, TrustRanking: p.ranking,
	}
	d := &in.Declared
	d.DefaultRepo = cmp.Or(p.repo, d.DefaultRepo)
	d.RolePointer = cmp.Or(p.role, d.RolePointer)
	d.NextOwner = cmp.Or(p.nextOwner, d.NextOwner)
	d.AuthorityBoundaries = cmp.Or(p.boundaries, d.AuthorityBoundaries)
	d.Caveats = append(d.Caveats, p.caveats...)
	if p.full {
		// A transcript of any size goes through in 32 MB. Half of that is the
		// program itself; the rest is held also where the collector gets little time.
		debug.SetMemoryLimit(14 << 20)
		in.Full = func(emit func(transcript.Message) error) error {
			_, err := transcript.Walk(ctx, from.client, from.path, packets.Options(from.session), emit)
			return err
		}
	}
	return in, caveats, nil
}

// packetSource finds the session that the flags mean.
func (c *call) packetSource(ctx context.Context, p *packetFlags) (from source, hint string, err error) {
	if p.jsonl != "" {
		from.path, from.client = absolute(p.jsonl), p.client
		if from.client == "" {
			if from.client, err = transcript.Detect(from.path); err != nil {
				return from, "say which client wrote it with --source-runtime", err
			}
		}
		return from, "", nil
	}
	b, err := c.bridge()
	if err != nil {
		return from, "", err
	}
	all, err := b.Sessions(ctx)
	if err != nil {
		return from, "", err
	}
	found, err := bridge.Find(all, cmp.Or(p.seat, p.session))
	switch {
	case err == nil:
		return seenSource(found), "", nil
	case errors.Is(err, bridge.ErrNoSeat) && p.session != "":
		return c.unseenSource(p.session, p.client)
	case errors.Is(err, bridge.ErrNoSeat):
		return from, "see: reseat seat list", err
	}
	return from, "see: reseat status", err
}

// seenSource is a session that a hook has seen.
func seenSource(s bridge.Session) source {
	from := source{client: s.Client, session: s.ID, path: s.Transcript, seat: s.Seat, folder: s.Folder}
	for _, done := range s.Compactions {
		if done.Packet != "" {
			from.before = done.Packet
			break
		}
	}
	return from
}

// unseenSource looks for the transcript of a session that no hook has seen
// where the clients keep theirs. The file's name only finds it: the reader
// checks that the transcript says the same.
func (c *call) unseenSource(name string, runtime client.Client) (from source, hint string, err error) {
	id := name
	if prefix, rest, ok := strings.Cut(name, ":"); ok {
		if runtime, err = client.Parse(prefix); err != nil {
			return from, "", err
		}
		id = rest
	}
	if strings.Trim(strings.ToLower(id), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" || id == "" {
		return from, "", fmt.Errorf("%.60q is no session's id", id)
	}
	var found []source
	for _, of := range client.All() {
		if runtime != "" && of != runtime {
			continue
		}
		pattern := filepath.Join("projects", "*", id+".jsonl")
		if of == client.Codex {
			pattern = filepath.Join("sessions", "*", "*", "*", "rollout-*-"+id+".jsonl")
		}
		paths, _ := filepath.Glob(filepath.Join(of.ConfigDir(c.getenv, c.getenv("HOME"), absolute(".")), pattern))
		for _, path := range paths {
			found = append(found, source{client: of, session: id, path: path})
		}
	}
	switch len(found) {
	case 0:
		return from, "see: reseat status", fmt.Errorf("no session %.60q: no hook has seen it, and neither client has its transcript", id)
	case 1:
		return found[0], "", nil
	}
	return from, "say which with --source-jsonl", fmt.Errorf("%d transcripts of session %.60q were found", len(found), id)
}

// packetReport is what packet write --json prints.
type packetReport struct {
	Packet   string         `json:"packet"`
	Session  string         `json:"session"`
	Client   string         `json:"client"`
	Files    []packet.Sum   `json:"files"`
	Messages int            `json:"messages"`
	Omitted  packet.Omitted `json:"omitted"`
	Classes  []omitted      `json:"omitted_classes"`
	Caveats  []string       `json:"caveats"`
}

type omitted struct {
	Class string `json:"class"`
	Count int64  `json:"count"`
}

func (c *call) packetWritten(made *packet.Packet, dir string, asJSON bool) int {
	k, s := made.Continuity, made.Summary
	r := packetReport{
		Packet: dir, Session: s.SourceSession, Client: s.SourceRuntime, Files: made.Files(), Messages: int(s.Latest.Messages),
		Omitted: k.Omitted, Classes: []omitted{}, Caveats: s.Caveats,
	}
	counts := map[string]int64{
		"reasoning_records": k.Omitted.Reasoning, "raw_tool_outputs": k.Omitted.ToolOutputs,
		"function_call_output": k.Omitted.FunctionCalls, "redacted_secrets": int64(k.Redaction.Secrets),
	}
	var words []string
	for _, class := range s.OmittedClasses {
		r.Classes = append(r.Classes, omitted{class, counts[class]})
		words = append(words, fmt.Sprintf("%s=%d", class, counts[class]))
	}
	if asJSON {
		return c.json(r)
	}
	c.printf("packet: %s\nfiles: %d\n", dir, len(r.Files))
	for _, file := range r.Files {
		c.printf("  - %s\n", file.File)
	}
	c.printf("messages: %d\nomitted-classes: %s\n", r.Messages, cmp.Or(strings.Join(words, ","), "(none)"))
	return exitOK
}

func packetReadCommand() command {
	return command{
		name: "packet read", args: "DIR|SEAT", short: "a packet's story on one screen",
		long: `DIR is a packet's folder. With SEAT (an address, claude:ID, codex:ID or a prefix
of 8 letters) it is the newest packet of that session. --json prints the summary
(contract v0); with --full its continuity stands beside it.`,
		example: "reseat packet read dev-impl@my-rig\nreseat packet read --full /tmp/packet",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			full := f.Bool("full", false, "the instructions, touched files and latest transcript")
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int { return c.packetRead(ctx, *full, *asJSON) }
		},
	}
}

func (c *call) packetRead(ctx context.Context, full, asJSON bool) int {
	if len(c.args) != 1 {
		return c.usage("packet read needs one DIR or SEAT")
	}
	dir, err := c.packetDir(ctx, c.args[0])
	if err != nil {
		return c.fail(exitUnknown, err, "see: reseat status")
	}
	o, err := packet.Open(dir)
	switch {
	case err != nil:
		return c.fail(exitUnknown, err, "see: reseat packet validate "+dir)
	case asJSON && full:
		return c.json(struct {
			Summary    *packet.Summary    `json:"summary"`
			Continuity *packet.Continuity `json:"continuity"`
		}{o.Summary, o.Continuity})
	case asJSON:
		return c.json(o.Summary)
	case full:
		err = o.TellAll(c.stdout)
	default:
		err = o.Tell(c.stdout)
	}
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	return exitOK
}

// packetDir is the folder that a person means by a path or a seat.
func (c *call) packetDir(ctx context.Context, name string) (string, error) {
	if _, err := seat.ParseAddress(name); err != nil && !strings.HasPrefix(name, "claude:") && !strings.HasPrefix(name, "codex:") {
		if isThere(name) || strings.ContainsAny(name, `/\.`) {
			return absolute(name), nil
		}
	} else if isThere(name) {
		return absolute(name), nil
	}
	b, err := c.bridge()
	if err != nil {
		return "", err
	}
	all, err := b.Sessions(ctx)
	if err != nil {
		return "", err
	}
	s, err := bridge.Find(all, name)
	if err != nil {
		return "", err
	}
	if dir := seenSource(s).before; dir != "" {
		return dir, nil
	}
	return "", fmt.Errorf("%s has no packet", s.Label())
}

func packetValidateCommand() command {
	return command{
		name: "packet validate", args: "DIR|SEAT", short: "hold a packet against contract v0",
		long: `Checked are the summary, the files, paths, counts, checksums and secrets that were
left. A packet of another generator is valid as what it is. Warnings leave it
valid.`,
		example: "reseat packet validate /tmp/packet\nreseat packet validate dev-impl@my-rig --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int { return c.packetValidate(ctx, *asJSON) }
		},
	}
}

func (c *call) packetValidate(ctx context.Context, asJSON bool) int {
	if len(c.args) != 1 {
		return c.usage("packet validate needs one DIR or SEAT")
	}
	dir, err := c.packetDir(ctx, c.args[0])
	if err != nil {
		return c.fail(exitUnknown, err, "see: reseat status")
	}
	home, err := c.state()
	if err != nil {
		return c.fail(exitUnknown, err, "")
	}
	cfg, _ := bridge.NewPackets(home, c.getenv).Config()
	red, err := redact.New(redact.Options{Patterns: cfg.Redact.Patterns, LeaveOut: cfg.Redact.LeaveOutPaths, Exempt: cfg.Redact.Exempt, Home: c.getenv("HOME")})
	if err != nil {
		return c.fail(exitUnknown, err, "see: reseat config")
	}
	r := packet.Validate(dir, red)
	code := exitOK
	if !r.Valid {
		code = exitUnknown
	}
	if asJSON {
		if failed := c.json(r); failed != exitOK {
			return failed
		}
		return code
	}
	switch n := len(r.Findings); {
	case n == 0 && r.Peer:
		c.printf("valid: a packet of another generator\n")
	case n == 0:
		c.printf("valid\n")
	case r.Valid:
		c.printf("valid (with warnings): %d issue(s)\n", n)
	default:
		c.printf("invalid: %d issue(s)\n", n)
	}
	for _, f := range r.Findings {
		c.printf("  [%s] %s: %s", strings.ToUpper(f.Severity), cmp.Or(f.Field, "packet"), f.Rule)
		if f.Value != "" {
			c.printf(" (value: %s)", f.Value)
		}
		c.printf("\n")
	}
	return code
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

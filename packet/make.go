package packet

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// The files of a packet.
const (
	InstructionsFile = "restore-instructions.md"
	LatestFile       = "transcript-latest.md"
	TouchedFile      = "touched-files.md"
	SummaryFile      = "restore-summary.json"
	FullFile         = "transcript.md"
	ContinuityFile   = "continuity.json"
)

// How much of each kind continuity.json holds.
const (
	maxOpening  = 3
	maxRequests = 10
	maxPlan     = 200
	maxOpen     = 100
	maxEdited   = 200
	maxRead     = 100
	maxCommands = 40
	maxTests    = 20 // beyond those
	maxTop      = 30 // paths in the summary
	maxTouched  = 200

	maxItem        = 1 << 10 // bytes of a plan's item, a description
	maxCommand     = 2 << 10
	maxInstruction = 16 << 10
)

// outputBound is from which length on a command's output is taken to be cut at
// its front.
const outputBound = 2000

// Packet is a restore packet in memory: whole, redacted, not yet on disk.
type Packet struct {
	Continuity *Continuity
	Summary    *Summary

	parts  []file // the files that speak only of the session
	files  []file // those and the two above, once sealed; transcript.md is never in memory
	full   func(emit func(transcript.Message) error) error
	redact *redaction
	limits Limits
}

// file is one file's name and content.
type file struct {
	name string
	data []byte
}

// Make makes a packet. It is a pure function of its input but for Input.Full,
// which Write calls. It fails only where a packet would lie or leak: without a
// session's id, without a redactor.
func Make(in Input) (*Packet, error) {
	if in.Redactor == nil {
		return nil, errors.New("making a packet: no redactor")
	}
	in, notes := in.settle()
	if in.Session == "" {
		return nil, errors.New("making a packet: the session's native id isn't known")
	}
	m := &maker{in: in, red: &redaction{by: in.Redactor}}
	c := m.continuity()
	c.Caveats = append(c.Caveats, notes...)

	latest, held, dropped := m.latest()
	c.Omitted.FileLimit = int64(dropped)
	summary := m.summary(c, held)

	p := &Packet{Continuity: c, Summary: summary, full: in.Full, redact: m.red, limits: in.Limits}
	p.parts = []file{
		{LatestFile, latest},
		{TouchedFile, []byte(m.red.lines(touchedFiles(c)))},
		{InstructionsFile, []byte(m.red.lines(instructions(c, summary, in.Full != nil)))},
	}
	c.Redaction = m.redactionNote()
	if m.red.count > 0 {
		summary.OmittedClasses = append(summary.OmittedClasses, "redacted_secrets")
	}
	if in.Full == nil {
		if err := p.seal(nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// settle fills in what follows from the rest, and says in words what had to be
// put right.
func (in Input) settle() (Input, []string) {
	var notes []string
	in.Limits = in.Limits.withDefaults()
	in.Time = in.Time.UTC().Truncate(time.Millisecond)
	if in.Origin.SourceSession != "" {
		in.Session = in.Origin.SourceSession
	} else if in.Story != nil && in.Session != "" && in.Story.Identity.SessionID != "" && in.Story.Identity.SessionID != in.Session {
		notes = append(notes, fmt.Sprintf("the transcript is of session %s, not of %s: nothing was taken from it", in.Story.Identity.SessionID, in.Session))
		in.Story = nil
		in.Full = nil
	}
	if in.Story == nil {
		if len(notes) == 0 {
			notes = append(notes, "no transcript could be read: the packet holds what is known without one")
		}
		in.Story = &transcript.Story{Client: in.Client}
	}
	id := in.Story.Identity
	first(&in.Session, id.SessionID)
	first(&in.Transcript, in.Story.Path)
	first(&in.CWD, id.CWD)
	first(&in.Version, id.Version)
	first(&in.PermissionMode, id.PermissionMode)
	first(&in.Generator, Generator("devel"))
	return in, notes
}

// first sets *s where it is empty.
func first(s *string, other string) {
	if *s == "" {
		*s = other
	}
}

// redaction counts what a redactor replaced.
type redaction struct {
	by    Redactor
	count int
}

func (r *redaction) text(s string) string {
	s, n := r.by.Text(s)
	r.count += n
	return strings.ToValidUTF8(s, "\uFFFD")
}

// path redacts a path, also as the text that a reader of the packet takes it
// for.
func (r *redaction) path(s string) string {
	s, n := r.by.Path(s)
	r.count += n
	return r.text(s)
}

// cut is limit for a text without secrets: what a cut leaves of "password=…"
// may look like one again.
func (r *redaction) cut(s string, n int) (string, int64) {
	s, left := limit(s, n)
	if left > 0 {
		s = r.text(s)
	}
	return s, left
}

// lines redacts a page that was put together from redacted parts, line by line
// as it will be checked.
func (r *redaction) lines(page string) string {
	lines := strings.Split(page, "\n")
	for i, l := range lines {
		lines[i] = r.text(l)
	}
	return strings.Join(lines, "\n")
}

func (r *redaction) texts(l []string) []string {
	out := make([]string, 0, len(l))
	for _, s := range l {
		out = append(out, r.text(s))
	}
	return out
}

// maker turns an input into the parts of a packet.
type maker struct {
	in  Input
	red *redaction
}

func (m *maker) continuity() *Continuity {
	in, id := m.in, m.in.Story.Identity
	c := &Continuity{
		Format: Format, ID: in.ID, GeneratedAt: in.Time, Generator: in.Generator,
		Mechanism: in.Mechanism, Trigger: in.Trigger,
		Session: Session{
			Client: in.Client.PacketName(), ID: in.Session, Seat: in.Seat,
			Transcript: m.red.path(in.Transcript), CWD: m.red.path(in.CWD),
			RootID: id.RootID, ForkedFrom: id.ForkedFrom, Subagent: id.Subagent,
			Version: in.Version, Model: id.Model, PermissionMode: in.PermissionMode, Started: id.Started,
		},
		Caveats:    m.red.texts(in.Story.Caveats),
		Omitted:    omitted(in.Story.Omitted),
		Declared:   m.declared(),
		Git:        m.git(),
		Memory:     m.memory(),
		Acceptance: acceptance(),
	}
	c.Instruction.Text, c.Instruction.Cut = m.red.cut(m.red.text(in.Instructions), min(maxInstruction, in.Limits.MessageBytes))
	m.reach(c)
	m.words(c)
	m.plan(c)
	m.proposal(c)
	m.openWork(c)
	m.filesTouched(c)
	m.commands(c)
	if in.Declared.Intent != "" {
		c.Intent = &Intent{Text: c.Declared.Intent}
	}
	carry(c, in.Previous, in.Story)
	c.Work = m.work(c)
	return c
}

func omitted(o transcript.Omitted) Omitted {
	return Omitted{
		BytesBefore: o.BytesBefore, Messages: o.Messages, MessageBytes: o.MessageBytes, Reasoning: o.Reasoning,
		ToolOutputs: o.ToolOutputs, FunctionCalls: o.FunctionCalls, Images: o.Images, Sidechain: o.Sidechain, Meta: o.Meta,
		Summaries: o.Summaries, Malformed: o.Malformed, Oversize: o.Oversize, Duplicates: o.Duplicates, Unknown: o.Unknown,
		OffChain: o.OffChain,
	}
}

func (m *maker) reach(c *Continuity) {
	story := m.in.Story
	c.Reach = Reach{Reach: story.Reach, From: story.From, Lines: story.Lines}
	for _, p := range []*transcript.Position{&c.Reach.Last, &c.Reach.LastAnswer, &c.Reach.Boundary} {
		*p = m.source(*p).Position
	}
	if story.Usage != nil {
		c.Reach.Tokens, c.Reach.Window = story.Usage.Tokens, story.Usage.Window
	}
	c.Boundaries = len(story.Boundaries)
	if n := len(story.Boundaries); n > 0 {
		last := story.Boundaries[n-1]
		c.Boundary = &Boundary{Trigger: last.Trigger, PreTokens: last.PreTokens, Source: m.source(last.Position)}
	}
}

func (m *maker) source(p transcript.Position) Source {
	p.Time = p.Time.UTC()
	if p.Path != "" {
		p.Path = m.red.path(p.Path)
	}
	return Source{Position: p}
}

func (m *maker) words(c *Continuity) {
	for _, msg := range m.in.Story.Opening {
		if msg.Typed && len(c.Opening) < maxOpening {
			c.Opening = append(c.Opening, m.say(c, msg))
		}
	}
	typed := slices.DeleteFunc(slices.Clone(m.in.Story.Requests), func(msg transcript.Message) bool { return !msg.Typed })
	if extra := len(typed) - maxRequests; extra > 0 {
		c.Omitted.Requests += int64(extra)
		typed = typed[extra:]
	}
	for _, msg := range typed {
		c.Requests = append(c.Requests, m.say(c, msg))
	}
}

func (m *maker) say(c *Continuity, msg transcript.Message) Words {
	text, cut := m.red.cut(m.message(msg), m.in.Limits.MessageBytes)
	c.Omitted.ItemBytes += cut
	return Words{Text: text, Cut: msg.Cut + cut, Images: msg.Images, Source: m.source(msg.Position)}
}

// message is a message's text without secrets.
func (m *maker) message(msg transcript.Message) string { return redactMessage(m.red, msg) }

// redactMessage redacts a message. Where the reader cut it, the torn words at
// the edges of the cut go first: half a secret no longer looks like one.
func redactMessage(red *redaction, msg transcript.Message) string {
	if msg.Cut > 0 {
		msg.Text = withoutTornWord(msg.Text)
	}
	return red.text(msg.Text)
}

// item is a short text of continuity.json.
func (m *maker) item(c *Continuity, s string, n int) string {
	s, cut := m.red.cut(m.red.text(s), n)
	c.Omitted.ItemBytes += cut
	return s
}

func (m *maker) plan(c *Continuity) {
	plan := m.in.Story.Plan
	if plan == nil {
		return
	}
	c.Plan = &Plan{Tool: plan.Source, Note: m.item(c, plan.Note, 2*maxItem), Source: m.source(plan.Position), Items: []PlanItem{}}
	for i, item := range plan.Items {
		if i == maxPlan {
			c.Omitted.PlanItems += int64(len(plan.Items) - i)
			break
		}
		c.Plan.Items = append(c.Plan.Items, PlanItem{
			ID: item.ID, Text: m.item(c, item.Text, maxItem), Status: item.Status, Source: m.source(item.Position),
		})
	}
}

func (m *maker) proposal(c *Continuity) {
	proposal := m.in.Story.Proposal
	if proposal == nil {
		return
	}
	said := proposal.Text
	if strings.Contains(said, cutMark) {
		said = withoutTornWord(said)
	}
	text, cut := m.red.cut(m.red.text(said), m.in.Limits.MessageBytes)
	c.Omitted.ItemBytes += cut
	c.Proposal = &Proposal{
		Text: text, Cut: cut, Answered: proposal.Answered, Approved: proposal.Approved, Source: m.source(proposal.Position),
	}
	if proposal.File != "" {
		c.Proposal.File = shown(m.red.path(proposal.File))
	}
}

func (m *maker) openWork(c *Continuity) {
	for _, o := range m.in.Story.Open {
		c.OpenWork = append(c.OpenWork, OpenWork{
			Kind: o.Kind, CallID: o.CallID, TaskID: o.TaskID,
			Description: m.item(c, o.Description, maxItem), Source: m.source(o.Position),
		})
	}
}

func (m *maker) filesTouched(c *Continuity) {
	for _, f := range m.in.Story.Files {
		file := File{
			Path: shown(m.red.path(f.Path)), Edits: f.Edits, Reads: f.Reads, Mentions: f.Mentions, Deleted: f.Deleted,
			First: m.source(f.First), Last: m.source(f.Last),
		}
		switch {
		case file.Path == "":
		case f.Edits > 0:
			c.Files.Edited = append(c.Files.Edited, file)
		default:
			c.Files.Read = append(c.Files.Read, file)
		}
	}
	if extra := len(c.Files.Read) - maxRead; extra > 0 {
		c.Omitted.Files += int64(extra)
		c.Files.Read = c.Files.Read[:maxRead]
	}
}

// commands keeps the latest ones, and of those before them the latest tests.
func (m *maker) commands(c *Continuity) {
	all := m.in.Story.Commands
	recent := max(len(all)-maxCommands, 0)
	tests := 0
	keep := make([]bool, len(all))
	for i := len(all) - 1; i >= 0; i-- {
		switch {
		case i >= recent:
			keep[i] = true
		case all[i].Test && tests < maxTests:
			keep[i] = true
			tests++
		default:
			c.Omitted.Commands++
		}
	}
	for i, cmd := range all {
		if !keep[i] {
			continue
		}
		c.Commands = append(c.Commands, Command{
			Text: m.item(c, cmd.Text, maxCommand), CallID: cmd.CallID, Test: cmd.Test, Done: cmd.Done, ExitCode: cmd.ExitCode,
			Failed: cmd.Failed, Output: m.red.text(withoutTornFront(cmd.Output)), Source: m.source(cmd.Position), Result: m.source(cmd.Result),
		})
	}
}

// withoutTornFront takes the first word off an output that was cut at its
// front, see redactMessage.
func withoutTornFront(s string) string {
	if len(s) < outputBound {
		return s
	}
	if i := strings.IndexAny(s, " \t\n"); i >= 0 {
		return s[i+1:]
	}
	return ""
}

func (m *maker) git() *Git {
	state := m.in.Git
	if state == nil {
		return nil
	}
	git := &Git{
		Root: m.red.path(state.Root), Branch: m.red.text(state.Branch), Head: state.Head, Detached: state.Detached,
		Operation: state.Operation, Listed: state.Listed, More: state.More, Note: m.red.text(state.Note), Changed: []Change{},
	}
	for _, change := range state.Changed {
		git.Changed = append(git.Changed, Change{Path: shown(m.red.path(change.Path)), Status: change.Status})
	}
	return git
}

func (m *maker) memory() []Surface {
	memory := make([]Surface, 0, len(m.in.Memory))
	for _, s := range m.in.Memory {
		s.Path, s.Purpose, s.Modified = shown(m.red.path(s.Path)), m.red.text(s.Purpose), s.Modified.UTC()
		memory = append(memory, s)
	}
	return memory
}

func (m *maker) declared() Declared {
	d := m.in.Declared
	d.Intent = m.red.text(d.Intent)
	d.RolePointer = m.red.path(d.RolePointer)
	d.DefaultRepo = m.red.path(d.DefaultRepo)
	d.NextOwner = m.red.text(d.NextOwner)
	d.AuthorityBoundaries = m.red.text(d.AuthorityBoundaries)
	d.Caveats = m.red.texts(d.Caveats)
	for _, l := range []*[]string{&d.Pointers.Queue, &d.Pointers.Progress, &d.Pointers.FieldNotes, &d.Pointers.Artifacts} {
		*l = m.red.texts(*l)
	}
	return d
}

// work is the one line for what is being done: as told, else the plan's open
// item, else the latest request, else unknown.
func (m *maker) work(c *Continuity) Work {
	if w := m.red.text(m.in.Origin.CurrentWork); strings.TrimSpace(w) != "" {
		return Work{Text: w, Origin: "declared"}
	}
	if item := c.openItem(); item != nil {
		return Work{Text: item.Text, Origin: "plan", Source: item.Source}
	}
	for i := len(c.Requests) - 1; i >= 0; i-- {
		if r := c.Requests[i]; line(r.Text) != "" {
			text, _ := m.red.cut(r.Text, maxCommand)
			return Work{Text: text, Origin: "request", Source: r.Source}
		}
	}
	return Work{Text: UnknownWork, Origin: "unknown"}
}

// openItem is what the plan says is being done, else what comes next in it.
func (c *Continuity) openItem() *PlanItem {
	if c.Plan == nil {
		return nil
	}
	for _, status := range []string{"in_progress", "pending"} {
		for i := range c.Plan.Items {
			if item := &c.Plan.Items[i]; item.Status == status && line(item.Text) != "" {
				return item
			}
		}
	}
	return nil
}

func (m *maker) redactionNote() Redaction {
	note := Redaction{Policy: redactionPolicy[0], Secrets: m.red.count}
	if e, ok := m.in.Redactor.(Explainer); ok {
		note.Additions, note.Exemptions = e.Additions(), e.Exemptions()
	}
	return note
}

func (m *maker) summary(c *Continuity, messages int) *Summary {
	in, d := m.in, c.Declared
	s := &Summary{
		SourceSession: in.Session, SourceRig: rigOf(c.Session.Seat), SourceRuntime: c.Session.Client, SourceCWD: c.Session.CWD,
		TargetRig: in.Origin.TargetRig, TargetRuntime: in.Origin.TargetRuntime, TargetWorkspaceRoot: m.red.path(in.Origin.TargetWorkspaceRoot),
		RolePointer: d.RolePointer,
		Latest:      LatestTranscript{Path: LatestFile, Messages: Count(messages), Bound: Messages},
		Touched:     TouchedFiles{Path: TouchedFile, Top: topPaths(c)},
		Pointers:    d.Pointers, NextOwner: d.NextOwner, AuthorityBoundaries: d.AuthorityBoundaries,
		RedactionPolicy: redactionPolicy[0], TrustRanking: in.Origin.TrustRanking,
		Generator: in.Generator, GeneratedAt: in.Time.Format(timeFormat),
	}
	if in.Origin.SourceRig != "" {
		s.SourceRig = in.Origin.SourceRig
	}
	first(&s.TargetRig, rigOf(c.Session.Seat))
	first(&s.TargetRuntime, s.SourceRuntime)
	if d.DefaultRepo != "" {
		repo := d.DefaultRepo
		s.DefaultTargetRepo = &repo
	}
	if len(s.TrustRanking) == 0 {
		s.TrustRanking = ranking(in.Full != nil)
	}
	s.CurrentWork = m.red.text(c.Work.sentence(c))
	c.Undeclared = s.fillRequired()
	s.Caveats = slices.Concat(d.Caveats, c.Caveats, c.Undeclared)
	s.OmittedClasses = classes(c.Omitted)
	return s
}

// fillRequired puts the words for "not declared" where the contract requires
// something, and says so.
func (s *Summary) fillRequired() (caveats []string) {
	require := func(field *string, value, caveat string) {
		if strings.TrimSpace(*field) == "" {
			*field = value
			caveats = append(caveats, caveat)
		}
	}
	rigless := s.SourceRig == "" && s.TargetRig == ""
	if rigless {
		s.SourceRig, s.TargetRig = Unassigned, Unassigned
		caveats = append(caveats, "no rig was declared: source_rig and target_rig are \""+Unassigned+"\"")
	}
	require(&s.SourceRig, Unassigned, "the source's rig isn't known: source_rig is \""+Unassigned+"\"")
	require(&s.TargetRig, Unassigned, "no target rig was declared: target_rig is \""+Unassigned+"\"")
	require(&s.SourceCWD, "/", "the working directory isn't known: source_cwd is \"/\"")
	require(&s.RolePointer, NoRole, "no role was declared: role_pointer is \""+NoRole+"\"")
	require(&s.AuthorityBoundaries, NoBoundaries, "no limits were declared: authority_boundaries is \""+NoBoundaries+"\"")
	require(&s.NextOwner, Self, "no next owner was declared: next_owner is \""+Self+"\"")
	s.SourceCWD = rooted(s.SourceCWD)
	if s.TargetWorkspaceRoot == "" {
		s.TargetWorkspaceRoot = s.SourceCWD
	}
	s.TargetWorkspaceRoot = rooted(s.TargetWorkspaceRoot)
	return caveats
}

// rooted makes a path begin with "/", as the contract wants of every path
// whatever the system.
func rooted(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return path
}

func ranking(full bool) []string {
	if full {
		return trustRanking
	}
	return slices.DeleteFunc(slices.Clone(trustRanking), func(s string) bool { return s == "full_transcript" })
}

func classes(o Omitted) []string {
	var l []string
	for i, n := range []int64{o.Reasoning, o.ToolOutputs, o.FunctionCalls} {
		if n > 0 {
			l = append(l, omittedClasses[i])
		}
	}
	return l
}

// topPaths are the paths that touched-files.md begins with.
func topPaths(c *Continuity) []TopPath {
	var top []TopPath
	for _, f := range c.touched() {
		if len(top) == maxTop {
			break
		}
		top = append(top, TopPath{f.Path, Count(f.touches())})
	}
	return top
}

// touched is every path of touched-files.md in its order: edited ones first,
// those edited most before the others.
func (c *Continuity) touched() []File {
	edited := slices.Clone(c.Files.Edited)
	slices.SortStableFunc(edited, func(a, b File) int { return b.Edits - a.Edits })
	all := append(edited, c.Files.Read...)
	return all[:min(len(all), maxTouched)]
}

// sentence says what is being done and who says so.
func (w Work) sentence(c *Continuity) string {
	switch w.Origin {
	case "plan":
		return "the plan's open item (" + line(c.Plan.Tool) + "): " + quote(w.Text, maxItem)
	case "request":
		return "the latest request: " + quote(w.Text, maxCommand)
	}
	return line(w.Text)
}

// seal makes the two files that speak of the others. full is what is known of
// transcript.md, nil for none.
func (p *Packet) seal(full *sealed) error {
	files := slices.Clone(p.parts)
	sums := make([]Sum, 0, len(files)+2)
	if full != nil {
		p.Summary.Full = &FullTranscript{Path: FullFile, Messages: Count(full.messages)}
		if p.redact.count > 0 && !slices.Contains(p.Summary.OmittedClasses, "redacted_secrets") {
			p.Summary.OmittedClasses = append(p.Summary.OmittedClasses, "redacted_secrets")
		}
		p.Continuity.Redaction.Secrets = p.redact.count
		sums = append(sums, full.sum)
	}
	summary, err := p.Summary.Encode()
	if err != nil {
		return fmt.Errorf("writing %s: %w", SummaryFile, err)
	}
	files = append(files, file{SummaryFile, summary})
	for _, f := range files {
		if int64(len(f.data)) > p.limits.FileBytes {
			return fmt.Errorf("%s would have %d bytes, more than the limit of %d", f.name, len(f.data), p.limits.FileBytes)
		}
		sums = append(sums, sumOf(f))
	}
	slices.SortFunc(sums, func(a, b Sum) int { return strings.Compare(a.File, b.File) })
	p.Continuity.Checksums = sums
	data, err := p.Continuity.shrunk(p.limits.FileBytes)
	if err != nil {
		return fmt.Errorf("writing %s: %w", ContinuityFile, err)
	}
	p.files = append(files, file{ContinuityFile, data})
	return nil
}

func sumOf(f file) Sum {
	hash := sha256.Sum256(f.data)
	return Sum{File: f.name, Bytes: int64(len(f.data)), SHA256: hex.EncodeToString(hash[:])}
}

// shrunk encodes within the limit, giving up what matters least first.
func (c *Continuity) shrunk(limit int64) ([]byte, error) {
	steps := []func(){
		func() { c.Omitted.Files += dropMiddle(&c.Files.Read, 0) },
		func() { c.shorten(2<<10, 0) },
		func() { c.keep(50, 20) },
		func() { c.shorten(1<<10, 0) },
		func() { c.keep(20, 10) },
		func() { c.shorten(400, 0) },
		func() { c.keep(4, 4) },
		func() { c.shorten(150, 0) },
	}
	for {
		data, err := c.Encode()
		if err != nil || int64(len(data)) <= limit {
			return data, err
		}
		if len(steps) == 0 {
			return nil, fmt.Errorf("%d bytes, more than the limit of %d", len(data), limit)
		}
		steps[0]()
		steps = steps[1:]
	}
}

// keep bounds the lists: edited files and the plan to most items, the others to
// few.
func (c *Continuity) keep(most, few int) {
	c.Omitted.Files += dropMiddle(&c.Files.Edited, most)
	if c.Plan != nil {
		c.Omitted.PlanItems += dropMiddle(&c.Plan.Items, most)
	}
	if c.Git != nil {
		c.Git.More += int(dropMiddle(&c.Git.Changed, few))
	}
	c.Omitted.Commands += dropMiddle(&c.Commands, few)
	c.Omitted.OpenWork += dropMiddle(&c.OpenWork, few)
	if extra := len(c.Requests) - few; extra > 0 {
		c.Omitted.Requests += int64(extra)
		c.Requests = c.Requests[extra:]
	}
}

// shorten cuts every text that a transcript brought in to n bytes, and outputs
// to out.
func (c *Continuity) shorten(n, out int) {
	cut := func(s *string, n int) int64 {
		was := len(*s)
		*s = clip(*s, n)
		c.Omitted.ItemBytes += int64(was - len(*s))
		return int64(was - len(*s))
	}
	for _, l := range []*[]Words{&c.Opening, &c.Requests} {
		*l = slices.Clone(*l)
		for i := range *l {
			(*l)[i].Cut += cut(&(*l)[i].Text, n)
		}
	}
	if c.Plan != nil {
		cut(&c.Plan.Note, n)
		for i := range c.Plan.Items {
			cut(&c.Plan.Items[i].Text, n)
		}
	}
	for i := range c.OpenWork {
		cut(&c.OpenWork[i].Description, n)
	}
	for i := range c.Commands {
		cut(&c.Commands[i].Text, n)
		cut(&c.Commands[i].Output, out)
	}
	if c.Proposal != nil {
		c.Proposal.Cut += cut(&c.Proposal.Text, n)
	}
	c.Instruction.Cut += cut(&c.Instruction.Text, n)
	cut(&c.Work.Text, n)
}

// dropMiddle keeps the first half and the last half of n items and says how
// many went.
func dropMiddle[T any](l *[]T, n int) int64 {
	extra := len(*l) - n
	if extra <= 0 {
		return 0
	}
	head := n / 2
	*l = slices.Concat((*l)[:head], (*l)[head+extra:])
	return int64(extra)
}

// Size is the bytes of all files in memory: transcript.md isn't among them.
func (p *Packet) Size() int64 {
	var n int64
	for _, f := range p.files {
		n += int64(len(f.data))
	}
	return n
}

// Files is what the packet consists of, by name: all that is known once it was
// written, without transcript.md before.
func (p *Packet) Files() []Sum {
	files := slices.Clone(p.Continuity.Checksums)
	for _, f := range p.files {
		if f.name == ContinuityFile {
			files = append(files, sumOf(f))
		}
	}
	slices.SortFunc(files, func(a, b Sum) int { return strings.Compare(a.File, b.File) })
	return files
}

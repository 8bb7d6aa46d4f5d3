package packet

import (
	"slices"
	"strings"

	"github.com/reseat-dev/reseat/packet/transcript"
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
	maxOutput      = 2 << 10 // of the end of what a command printed
	maxInstruction = 16 << 10
)

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
	c.Instruction.Text, c.Instruction.Cut = m.red.fit(in.Instructions, min(maxInstruction, in.Limits.MessageBytes), 0)
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
	text, cut := m.red.fit(msg.Text, m.in.Limits.MessageBytes, msg.Cut)
	c.Omitted.ItemBytes += cut
	return Words{Text: text, Cut: msg.Cut + cut, Images: msg.Images, Source: m.source(msg.Position)}
}

// item is a short text of continuity.json.
func (m *maker) item(c *Continuity, s string, n int) string {
	s, cut := m.red.fit(s, n, 0)
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
	text, cut := m.red.fit(proposal.Text, m.in.Limits.MessageBytes, 0)
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
			Failed: cmd.Failed, Output: m.red.fitEnd(cmd.Output, maxOutput), Source: m.source(cmd.Position), Result: m.source(cmd.Result),
		})
	}
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

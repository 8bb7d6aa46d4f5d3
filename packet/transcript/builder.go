package transcript

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Bounds of what a story keeps besides its messages. They bound memory, not what
// is looked at: of each kind the newest stay.
const (
	maxRequests   = 8
	maxOpening    = 3
	maxCommands   = 256
	maxFiles      = 2048
	maxOpen       = 256
	maxCalls      = 4096
	maxStray      = 256 // ends of what began before the reading
	maxBoundaries = 64
	maxItems      = 256
	commandBytes  = 4 << 10
	itemBytes     = 3 << 10
	pathBytes     = 4 << 10
	nameBytes     = 256
	noteBytes     = 4 << 10
	proposalBytes = 24 << 10
)

// Each of these is more than a packet takes of such a text (packet.Overlap says
// why), and so are the defaults of Options.

// builder puts a story together from records in file order. It knows no client's
// JSON: the readers translate.
type builder struct {
	opt  Options
	st   *Story
	emit func(Message) error // Walk: messages go here and aren't kept

	line    int64  // number of the current line, 0 if lines weren't counted
	in      string // the file the current record stands in, where it isn't the transcript
	dim     bool   // before the tail: no messages, commands or counts, only what lasts
	opening bool   // still looking for the requests that opened the work

	commands []*Command
	files    map[string]*File
	calls    map[string]*call
	open     []*work
	todo     *planState
	tasks    *planState
	cwd      string
	err      error // from emit
}

// call is a tool call whose result wasn't seen yet.
type call struct {
	name    string
	pos     Position
	command *Command
	work    *work
	paths   []touch // applied when the result is no error
	plan    *Plan   // becomes the plan when the result is no error
	task    *taskChange
	stops   string // the background task that this call ends
	seq     int
}

// touch is one path of a call.
type touch struct {
	path string
	edit bool
	gone bool
}

// work is an open work with what ends it.
type work struct {
	OpenWork
	command *Command
	over    bool
	waits   bool // it goes on behind its call's result, until it is said to be over
}

func newBuilder(opt Options, st *Story) *builder {
	return &builder{opt: opt, st: st, files: map[string]*File{}, calls: map[string]*call{}}
}

// pos makes the position of a record of the line l.
func (b *builder) pos(l line, id string, at time.Time) Position {
	return Position{Offset: l.off, Line: b.line, ID: id, Time: at, Path: b.in}
}

// message takes one message.
func (b *builder) message(m Message) {
	if m.Typed {
		b.request(m)
	}
	if b.dim {
		return
	}
	b.st.Omitted.MessageBytes += m.Cut
	b.st.Omitted.Images += int64(m.Images)
	if b.emit != nil {
		if b.err == nil {
			b.err = b.emit(m)
		}
		return
	}
	b.st.Messages = append(b.st.Messages, m)
	if over := len(b.st.Messages) - b.opt.Messages; over > 0 {
		b.st.Omitted.Messages += int64(over)
		b.st.Messages = slices.Delete(b.st.Messages, 0, over)
	}
}

// request takes a message in a person's own words.
func (b *builder) request(m Message) {
	if b.opening && len(b.st.Opening) < maxOpening {
		b.st.Opening = append(b.st.Opening, m)
	}
	if b.emit == nil {
		b.st.Requests = keepLast(append(b.st.Requests, m), maxRequests)
	}
}

func keepLast[T any](s []T, n int) []T {
	if len(s) > n {
		return slices.Delete(s, 0, len(s)-n)
	}
	return s
}

func (b *builder) boundary(x Boundary) {
	b.st.Boundaries = keepLast(append(b.st.Boundaries, x), maxBoundaries)
	if b.in == "" {
		b.st.Reach.Boundary = x.Position
	}
}

// started notes a tool call until its result.
func (b *builder) started(id string, c *call) {
	if id == "" || len(b.calls) >= maxCalls {
		return
	}
	c.seq = len(b.calls)
	b.calls[id] = c
}

// result takes a call's result off the list; nil if the call wasn't seen.
func (b *builder) result(id string) *call {
	c := b.calls[id]
	delete(b.calls, id)
	if c == nil && b.emit == nil && id != "" {
		b.st.Answered = keepLast(append(b.st.Answered, id), maxStray)
	}
	return c
}

// succeeded applies what a call was to do.
func (b *builder) succeeded(c *call, pos Position) {
	for _, t := range c.paths {
		b.touch(t, pos)
	}
	if c.plan != nil {
		b.setPlan(c.plan)
	}
	if c.stops != "" {
		b.over(c.stops, "")
	}
}

// runs notes a command. In the dim part only its call is kept: a background one
// may still be running.
func (b *builder) runs(c *Command) {
	c.Test = runsTests(c.Text)
	if b.dim {
		return
	}
	b.commands = keepLast(append(b.commands, c), maxCommands)
	b.mention(c.Text, c.Position)
}

// ended notes a command's result.
func (c *Command) ended(pos Position, failed bool, code *int, output string) {
	c.Done, c.Result, c.Failed, c.ExitCode, c.Output = true, pos, failed, code, output
	if code != nil && *code != 0 {
		c.Failed = true
	}
}

// opened notes that something was started that isn't over.
func (b *builder) opened(w *work) {
	w.Description = oneLine(w.Description)
	b.open = append(b.open, w)
	if len(b.open) > maxOpen {
		b.open = slices.DeleteFunc(b.open, func(w *work) bool { return w.over })
		b.open = keepLast(b.open, maxOpen)
	}
}

// over marks work as finished, by its task's or its call's id.
func (b *builder) over(task, callID string) *work {
	for i := len(b.open) - 1; i >= 0; i-- {
		w := b.open[i]
		if task != "" && w.TaskID == task || callID != "" && w.CallID == callID {
			w.over = true
			return w
		}
	}
	for _, id := range []string{task, callID} {
		if id != "" && b.emit == nil {
			b.st.Ended = keepLast(append(b.st.Ended, id), maxStray)
		}
	}
	return nil
}

// touch counts a path that a tool edited or read.
func (b *builder) touch(t touch, pos Position) {
	if t.path == "" {
		return
	}
	f := b.file(t.path, pos)
	if f == nil {
		return
	}
	switch {
	case t.edit:
		f.Edits++
		f.Deleted = t.gone
		f.Last = pos
	default:
		f.Reads++
		if f.Edits == 0 {
			f.Last = pos
		}
	}
}

// mention counts the paths that stand in words.
func (b *builder) mention(words string, pos Position) {
	eachPath(untorn(words), func(path string) {
		f := b.file(path, pos)
		if f == nil {
			return
		}
		f.Mentions++
		if f.Edits == 0 && f.Reads == 0 {
			f.Last = pos
		}
	})
}

func (b *builder) file(path string, pos Position) *File {
	f := b.files[path]
	if f == nil {
		if len(b.files) >= maxFiles {
			return nil
		}
		f = &File{Path: path, First: pos}
		b.files[path] = f
	}
	return f
}

// finish writes into the story what was collected.
func (b *builder) finish() {
	b.pending()
	for _, c := range b.commands {
		b.st.Commands = append(b.st.Commands, *c)
	}
	files := make([]*File, 0, len(b.files)) // pointers: a sort of structs is 12 kB of code for each type
	for _, f := range b.files {
		files = append(files, f)
	}
	sort.SliceStable(files, func(i, j int) bool {
		x, y := files[i], files[j]
		return cmp.Or(y.Edits-x.Edits, y.Reads-x.Reads, strings.Compare(x.Path, y.Path)) < 0
	})
	for _, f := range files {
		b.st.Files = append(b.st.Files, *f)
	}
	for _, w := range b.open {
		if !w.over {
			b.st.Open = append(b.st.Open, w.OpenWork)
		}
	}
	b.st.Plan = b.plan()
}

// pending decides on calls without a result: what they state as intent counts,
// what they were to do doesn't.
func (b *builder) pending() {
	var last *call
	for _, c := range b.calls {
		if c.plan != nil && (last == nil || c.pos.Offset > last.pos.Offset) {
			last = c
		}
	}
	if last != nil {
		b.setPlan(last.plan)
	}
}

func (b *builder) caveat(words string) {
	if !slices.Contains(b.st.Caveats, words) {
		b.st.Caveats = append(b.st.Caveats, words)
	}
}

// oneLine makes a description fit a line.
func oneLine(s string) string {
	for i, r := range s {
		if r == '\n' || r == '\r' {
			return s[:i] + " …"
		}
	}
	return s
}

// size is a number of bytes for a person.
func size(n int64) string {
	switch {
	case n >= 1e6:
		return strconv.FormatInt((n+5e5)/1e6, 10) + " MB"
	case n >= 1e3:
		return strconv.FormatInt((n+500)/1e3, 10) + " kB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}

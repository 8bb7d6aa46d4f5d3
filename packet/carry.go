package packet

import (
	"slices"
	"sort"
	"strings"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// carry takes over from the packet before what this reading didn't see: the
// opening request, the intent, the plan, open work and edited files. Each keeps
// the place where it was found, marked with the packet that first held it, over
// any number of compactions.
//
// Nothing is carried from another session's packet, but for the session that
// this one was forked from: its open work stays behind, since it runs there.
//
// A story that was read whole has all there is: what isn't in it isn't there.
func carry(c *Continuity, before *Continuity, story *transcript.Story) {
	defer c.boundEdited()
	defer c.dropDeleted()
	if before == nil {
		return
	}
	k := keeper{c: c, before: before, story: story, whole: story.From == 0}
	switch {
	case before.Session.Client != c.Session.Client:
	case before.Session.ID == c.Session.ID:
		c.Carried = k.mark(nil)
		k.opening()
		k.intent()
		k.plan()
		k.proposal()
		k.openWork()
		k.edited()
		k.boundary()
	case c.Session.ForkedFrom != "" && before.Session.ID == c.Session.ForkedFrom:
		k.fork = true
		c.Carried = k.mark(nil)
		k.opening()
		k.intent()
		k.plan()
		k.proposal()
		k.edited()
	}
}

// dropDeleted takes out the items that were only kept to be known as gone.
func (c *Continuity) dropDeleted() {
	if c.Plan != nil {
		c.Plan.Items = slices.DeleteFunc(c.Plan.Items, func(item PlanItem) bool { return item.Status == "deleted" })
	}
}

// keeper carries from one packet to the next.
type keeper struct {
	c, before *Continuity
	story     *transcript.Story
	whole     bool
	fork      bool
}

// mark is the mark of an item that is carried once more.
func (k keeper) mark(was *Carried) *Carried {
	if was != nil {
		again := *was
		again.Times++
		again.Fork = again.Fork || k.fork
		return &again
	}
	return &Carried{
		From: k.before.ID, Session: k.before.Session.ID, GeneratedAt: k.before.GeneratedAt, Times: 1, Fork: k.fork,
	}
}

func (k keeper) source(s Source) Source {
	s.Carried = k.mark(s.Carried)
	return s
}

// same reports whether two sources are one place of one transcript.
func (k keeper) same(old, now Source) bool {
	if old.ID != "" || now.ID != "" {
		return old.ID == now.ID
	}
	return !k.fork && old.Carried == nil && old.Path == now.Path && old.Offset == now.Offset
}

// opening keeps the first words that were ever known first. Seen again, an item
// counts as seen.
func (k keeper) opening() {
	var all []Words
	for _, old := range k.before.Opening {
		i := slices.IndexFunc(k.c.Opening, func(w Words) bool { return k.same(old.Source, w.Source) })
		if i >= 0 {
			all = append(all, k.c.Opening[i])
			k.c.Opening = slices.Delete(k.c.Opening, i, i+1)
			continue
		}
		old.Source = k.source(old.Source)
		all = append(all, old)
	}
	all = append(all, k.c.Opening...)
	k.c.Opening = all[:min(len(all), maxOpening)]
}

// intent keeps what was declared once, until something else is declared.
func (k keeper) intent() {
	if k.c.Intent == nil && k.before.Intent != nil {
		k.c.Intent = &Intent{Text: k.before.Intent.Text, Carried: k.mark(k.before.Intent.Carried)}
	}
}

// plan keeps the plan, unless a newer one was seen. A plan that is written item
// by item is newer only in the items seen.
func (k keeper) plan() {
	old := k.before.Plan
	if old == nil {
		return
	}
	if k.c.Plan == nil {
		kept := k.carriedPlan()
		k.c.Plan = &kept
		return
	}
	if k.c.Plan.Tool == taskTools && old.Tool == taskTools && !k.whole && !k.fork {
		k.mergeTasks()
	}
}

// proposal keeps what plan mode put forward, until it puts something else
// forward.
func (k keeper) proposal() {
	if k.c.Proposal == nil && k.before.Proposal != nil {
		kept := *k.before.Proposal
		kept.Source = k.source(kept.Source)
		k.c.Proposal = &kept
	}
}

// taskTools is the plan that is kept with one call an item.
const taskTools = "Task tools"

func (k keeper) carriedPlan() Plan {
	kept := *k.before.Plan
	kept.Source = k.source(kept.Source)
	kept.Items = slices.Clone(kept.Items)
	for i := range kept.Items {
		kept.Items[i].Source = k.source(kept.Items[i].Source)
	}
	return kept
}

func (k keeper) mergeTasks() {
	seen := k.c.Plan.Items
	merged := k.carriedPlan().Items
	for _, item := range seen {
		i := slices.IndexFunc(merged, func(old PlanItem) bool { return item.ID != "" && old.ID == item.ID })
		if i < 0 {
			merged = append(merged, item)
			continue
		}
		if strings.TrimSpace(item.Text) == "" {
			item.Text = merged[i].Text
		}
		merged[i] = item
	}
	if extra := len(merged) - maxPlan; extra > 0 {
		k.c.Omitted.PlanItems += int64(extra)
		merged = merged[:maxPlan]
	}
	k.c.Plan.Items = merged
}

// openWork keeps what was open and lies before the stretch that was read now:
// what lies in it and isn't open any more was seen to end.
func (k keeper) openWork() {
	var kept []OpenWork
	for _, old := range k.before.OpenWork {
		read := k.whole || old.Source.Offset >= k.c.Reach.From
		open := slices.ContainsFunc(k.c.OpenWork, func(o OpenWork) bool { return o.CallID == old.CallID && old.CallID != "" })
		if read || open || k.ended(old) {
			continue
		}
		old.Source = k.source(old.Source)
		kept = append(kept, old)
	}
	k.c.OpenWork = append(kept, k.c.OpenWork...)
	if extra := len(k.c.OpenWork) - maxOpen; extra > 0 {
		k.c.Omitted.OpenWork += int64(extra)
		k.c.OpenWork = k.c.OpenWork[extra:]
	}
}

// ended reports whether the end of an old call was read now: its result, or, for
// what goes on behind its call's result, the word that it is over.
func (k keeper) ended(old OpenWork) bool {
	for _, id := range []string{old.CallID, old.TaskID} {
		if id != "" && slices.Contains(k.story.Ended, id) {
			return true
		}
	}
	return old.TaskID == "" && old.CallID != "" && slices.Contains(k.story.Answered, old.CallID)
}

// edited keeps every edited file. Where not all of the transcript was read, the
// two counts overlap by an unknown part, and the larger one is certain.
func (k keeper) edited() {
	var all []File
	now := slices.Clone(k.c.Files.Edited)
	for _, old := range k.before.Files.Edited {
		old.First, old.Last = k.source(old.First), k.source(old.Last)
		if i := slices.IndexFunc(now, func(f File) bool { return f.Path == old.Path }); i >= 0 {
			f := now[i]
			now = slices.Delete(now, i, i+1)
			if !k.whole {
				f.Edits, f.Reads, f.Mentions = max(f.Edits, old.Edits), max(f.Reads, old.Reads), max(f.Mentions, old.Mentions)
				f.First = old.First
			}
			all = append(all, f)
			continue
		}
		if i := slices.IndexFunc(k.c.Files.Read, func(f File) bool { return f.Path == old.Path }); i >= 0 {
			f := k.c.Files.Read[i]
			k.c.Files.Read = slices.Delete(k.c.Files.Read, i, i+1)
			old.Reads, old.Mentions = max(f.Reads, old.Reads), max(f.Mentions, old.Mentions)
		}
		all = append(all, old)
	}
	k.c.Files.Edited = append(all, now...)
}

// boundary keeps the compaction before, where it lies before what was read.
func (k keeper) boundary() {
	if k.c.Boundary == nil && !k.whole && k.before.Boundary != nil {
		kept := *k.before.Boundary
		kept.Source = k.source(kept.Source)
		k.c.Boundary = &kept
	}
}

// boundEdited orders edited files by when they were first edited, and keeps the
// first ones and the latest ones.
func (c *Continuity) boundEdited() {
	sortFiles(c.Files.Edited, func(f *File) *Source { return &f.First })
	extra := len(c.Files.Edited) - maxEdited
	if extra <= 0 {
		return
	}
	// The first tenth tells what the work began with; of the rest, those left
	// alone for longest go.
	const head = maxEdited / 10
	rest := slices.Clone(c.Files.Edited[head:])
	sortFiles(rest, func(f *File) *Source { return &f.Last })
	rest = rest[extra:]
	sortFiles(rest, func(f *File) *Source { return &f.First })
	c.Files.Edited = slices.Concat(c.Files.Edited[:head:head], rest)
	c.Omitted.Files += int64(extra)
}

// sortFiles orders files by one of their sources. Package sort serves for it:
// a generic sort of a struct is 12 kB of code in each hook program.
func sortFiles(files []File, by func(*File) *Source) {
	sort.SliceStable(files, func(i, j int) bool { return compareSource(*by(&files[i]), *by(&files[j])) < 0 })
}

// compareSource orders by time, and by place where a time isn't known. What was
// carried came before what was read.
func compareSource(a, b Source) int {
	if !a.Time.IsZero() && !b.Time.IsZero() {
		if n := a.Time.Compare(b.Time); n != 0 {
			return n
		}
	}
	if (a.Carried != nil) != (b.Carried != nil) {
		if a.Carried != nil {
			return -1
		}
		return 1
	}
	switch {
	case a.Offset < b.Offset:
		return -1
	case a.Offset > b.Offset:
		return 1
	}
	return 0
}

// byLast is files in the order of their last touch.
func byLast(files []File) []File {
	sorted := slices.Clone(files)
	sortFiles(sorted, func(f *File) *Source { return &f.Last })
	return sorted
}

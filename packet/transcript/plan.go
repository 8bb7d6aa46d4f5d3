package transcript

import "slices"

// planState is a plan that one tool keeps.
type planState struct {
	Plan
	changed int64 // offset of the record that last changed it
}

// taskChange is what a call to one of Claude Code's Task tools asks for.
type taskChange struct {
	id     string
	text   string
	status string
}

// setPlan replaces the plan by a list written whole (TodoWrite, update_plan). An
// item that stayed as it was keeps its position.
func (b *builder) setPlan(p *Plan) {
	if b.todo != nil {
		for i := range p.Items {
			it := &p.Items[i]
			for _, old := range b.todo.Items {
				if old.Text == it.Text && old.Status == it.Status {
					it.Position = old.Position
					break
				}
			}
		}
	}
	b.todo = &planState{Plan: *p, changed: p.Offset}
}

// setTask notes one task's state; empty words leave what was known. Of a task
// that was made before what is read, its deletion is kept as an item without
// words.
func (b *builder) setTask(t taskChange, pos Position) {
	if t.id == "" {
		return
	}
	if b.tasks == nil {
		b.tasks = &planState{Plan: Plan{Source: "Task tools"}}
	}
	items := b.tasks.Items
	i := slices.IndexFunc(items, func(it PlanItem) bool { return it.ID == t.id })
	if i < 0 {
		if len(items) >= maxItems {
			return
		}
		items = append(items, PlanItem{Position: pos, ID: t.id})
		i = len(items) - 1
		b.tasks.Items = items
	}
	it := &items[i]
	if (t.text == "" || t.text == it.Text) && (t.status == "" || t.status == it.Status) {
		return
	}
	if t.text != "" {
		it.Text = t.text
	}
	if t.status != "" {
		it.Status = t.status
	}
	it.Position = pos
	if t.status == "deleted" && it.Text != "" {
		b.tasks.Items = slices.Delete(items, i, i+1)
	}
	b.tasks.Position, b.tasks.changed = pos, pos.Offset
}

// plan is the one that changed last. One whose list was cleared has no items:
// that is news for whoever knows an older one.
func (b *builder) plan() *Plan {
	best := b.todo
	if best == nil || b.tasks != nil && b.tasks.changed > best.changed {
		best = b.tasks
	}
	if best == nil {
		return nil
	}
	return &best.Plan
}

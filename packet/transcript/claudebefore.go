package transcript

import "bytes"

// claudeBefore reads what stands before the tail: the head for the requests that
// opened the work, and a stretch right before the tail for what lasts. A cheap
// look at each line's first bytes decides whether it is scanned at all.
func (r *reader) claudeBefore(cr *claudeReader, t *claudeTail) error {
	if t.from == 0 {
		return nil
	}
	r.b.dim = true
	back := max(0, t.from-r.opt.LookBack)
	if back > 0 {
		end, err := r.claudeHead(cr, back)
		if err != nil {
			return err
		}
		back = max(back, end)
		r.b.opening = false
		r.forget()
	}
	return r.claudeDim(cr, t, back)
}

// forget drops what the head told about lasting things: much may have happened
// between it and the tail that wasn't read. Only its requests count.
func (r *reader) forget() {
	fresh := newBuilder(r.opt, r.st)
	r.b.files, r.b.calls, r.b.open, r.b.todo, r.b.tasks, r.b.commands = fresh.files, fresh.calls, nil, nil, nil, nil
	r.st.Requests, r.st.Boundaries, r.st.Proposal, r.st.Reach.Boundary = nil, nil, nil, Position{}
}

// claudeHead looks for the opening requests in [0, to).
func (r *reader) claudeHead(cr *claudeReader, to int64) (int64, error) {
	to = min(to, headLimit)
	f := r.src.forward(0, to, r.opt.LineBytes)
	defer f.stop()
	var line int64
	firstAt := int64(-1)
	for n := 0; ; n++ {
		l, ok := f.scan()
		if !ok {
			break
		}
		line++
		if n%64 == 63 && r.out(r.backTime()) {
			return l.end(), nil
		}
		if l.open {
			break
		}
		r.b.line = line
		r.headLine(cr, l)
		if firstAt < 0 && len(r.st.Opening) > 0 {
			firstAt = l.off
		}
		if len(r.st.Opening) == maxOpening || firstAt >= 0 && l.off-firstAt > headAfter {
			return l.end(), f.err
		}
	}
	if len(r.st.Opening) == 0 {
		r.b.caveat("no opening request was found at the head of the transcript")
	}
	return f.next, f.err
}

func (r *reader) headLine(cr *claudeReader, l line) {
	started := !r.st.Identity.Started.IsZero()
	head := l.b
	if head == nil {
		head = r.src.firstBytes(l)
	}
	if started && !cr.lasting(head) {
		return
	}
	if c, class := r.parse(l); class == classScan {
		cr.record(l, &c)
	}
}

// claudeDim reads the stretch before the tail.
func (r *reader) claudeDim(cr *claudeReader, t *claudeTail, from int64) error {
	from, err := r.src.alignment(from)
	if err != nil {
		return err
	}
	lines, err := r.linesBefore(from)
	if err != nil {
		return err
	}
	counting := lines >= 0
	r.b.line = max(lines, 0)
	at := len(t.chain.nodes) - 1
	f := r.src.forward(from, t.from, r.opt.LineBytes)
	defer f.stop()
	for n := 0; ; n++ {
		l, ok := f.scan()
		if !ok {
			return f.err
		}
		if counting {
			r.b.line++
		}
		if n%64 == 63 && r.out(r.backTime()) {
			return nil
		}
		if l.b == nil || !cr.lasting(l.b) {
			continue
		}
		for at >= 0 && t.chain.nodes[at].off < l.off {
			at--
		}
		if at >= 0 && t.chain.nodes[at].off == l.off && !t.chain.nodes[at].on {
			continue
		}
		if c, class := r.parse(l); class == classScan {
			cr.record(l, &c)
		}
	}
}

// lasting judges by a line's first bytes whether it can tell something that
// lasts: a prompt, a plan, an edit, a subagent, a background task, a boundary. If
// they don't tell, it can.
func (r *claudeReader) lasting(b []byte) bool {
	head := b[:min(len(b), headBytes)]
	if class, _ := classifyClaude(head); class != classScan {
		return false
	}
	switch {
	case bytes.HasPrefix(head, []byte(`{"type":"queue-operation"`)):
		return bytes.Contains(head, []byte(`<task-notification>`))
	case bytes.HasPrefix(head, []byte(`{"type":"last-prompt"`)), bytes.HasPrefix(head, []byte(`{"type":"permission-mode"`)):
		return false
	}
	q := firstOf(head)
	if !q.known {
		return true
	}
	switch q.typ {
	case claudeAssistant:
		return q.lastingAnswer(len(b) > len(head))
	case claudeAttachment:
		switch q.name {
		case "queued_command", "task_reminder", "todo_reminder", "todo", "plan_mode":
			return true
		}
		return false
	case claudeSystem:
		return q.name == "compact_boundary"
	}
	if q.part != "tool_result" {
		return true
	}
	id := after(q.tail, `tool_use_id":"`)
	return id == nil && len(r.b.calls) > 0 || r.b.calls[string(id)] != nil
}

// lastingAnswer looks at an answer's first part; more says that the line goes on
// behind the first bytes.
func (q *claudeFirst) lastingAnswer(more bool) bool {
	if q.part != "tool_use" {
		return q.part != "text" && q.part != "thinking"
	}
	switch q.name {
	case "Edit", "Write", "MultiEdit", "NotebookEdit", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList",
		"Agent", "Task", "ExitPlanMode", "TaskStop", "KillShell", "KillBash", "":
		return true
	case "Bash":
		return more && !bytes.Contains(q.tail, []byte(`"usage":`)) || bytes.Contains(q.tail, []byte(`"run_in_background":true`))
	}
	return false
}

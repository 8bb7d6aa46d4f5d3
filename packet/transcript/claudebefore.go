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
	case bytes.Contains(head, []byte(`"role":"assistant"`)) || bytes.Contains(head, []byte(`"type":"assistant"`)):
		return lastingAnswer(head)
	case bytes.Contains(head, []byte(`"attachment":{"type":"`)):
		return lastingAttachment(head)
	case bytes.Contains(head, []byte(`"type":"system"`)):
		return bytes.Contains(head, []byte(`"compact_boundary"`)) || !bytes.Contains(head, []byte(`"subtype"`))
	case bytes.Contains(head, []byte(`"type":"user"`)):
		return r.lastingUser(head)
	}
	return true
}

func lastingAnswer(head []byte) bool {
	i := bytes.Index(head, []byte(`"type":"tool_use"`))
	if i < 0 {
		return !bytes.Contains(head, []byte(`"type":"text"`)) && !bytes.Contains(head, []byte(`"type":"thinking"`))
	}
	name := after(head[i:], `"name":"`)
	switch string(name) {
	case "Edit", "Write", "MultiEdit", "NotebookEdit", "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList",
		"Agent", "Task", "ExitPlanMode", "TaskStop", "KillShell", "KillBash", "":
		return true
	case "Bash":
		return bytes.Contains(head, []byte(`"run_in_background":true`)) || len(head) == headBytes
	}
	return false
}

func lastingAttachment(head []byte) bool {
	switch string(after(head, `"attachment":{"type":"`)) {
	case "queued_command", "task_reminder", "todo_reminder", "todo", "plan_mode", "":
		return true
	}
	return false
}

// lastingUser: a prompt, or the result of a call that is waited for.
func (r *claudeReader) lastingUser(head []byte) bool {
	if !bytes.Contains(head, []byte(`"tool_result"`)) {
		return true
	}
	id := after(head, `"tool_use_id":"`)
	return id == nil && len(r.b.calls) > 0 || r.b.calls[string(id)] != nil
}

// after returns what stands behind the words up to the next quote, nil if they
// don't stand there or no quote follows.
func after(b []byte, words string) []byte {
	i := bytes.Index(b, []byte(words))
	if i < 0 {
		return nil
	}
	b = b[i+len(words):]
	end := bytes.IndexByte(b, '"')
	if end < 0 {
		return nil
	}
	return b[:end]
}

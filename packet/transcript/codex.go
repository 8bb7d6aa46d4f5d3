package transcript

import (
	"bytes"
	"hash/maphash"
	"strconv"
	"strings"
)

// codexLine is one record of a Codex rollout, raw.
type codexLine struct {
	typ      []byte
	at       []byte
	ordinal  []byte
	payload  []byte
	metadata []byte
	small    *shrunk
}

// parseCodex scans a record's members; false if it isn't one whole JSON object.
func parseCodex(b []byte, small *shrunk) (l codexLine, ok bool) {
	l.small = small
	f := members(b)
	for f.next() {
		switch string(f.key) {
		case "type":
			l.typ = plain(f.val)
		case "timestamp":
			l.at = f.val
		case "ordinal":
			l.ordinal = f.val
		case "payload":
			l.payload = f.val
		case "metadata":
			l.metadata = f.val
		}
	}
	return l, f.whole && skipSpace(b, f.i) == len(b)
}

// id is the record's own id: its ordinal where the client numbers records
// (paginated rollouts, 0.171.0), else its place in the file.
func (c *codexLine) id(l line) string {
	if len(c.ordinal) > 0 && c.ordinal[0] >= '0' && c.ordinal[0] <= '9' {
		return "ordinal:" + string(c.ordinal[:min(len(c.ordinal), 20)])
	}
	return "offset:" + strconv.FormatInt(l.off, 10)
}

// codexReader translates Codex's records for a builder. Both generations write a
// message twice: as the item that the model sees (response_item) and as an event
// for the user interface. The item makes the message; the event says that a
// person typed it.
type codexReader struct {
	b      *builder
	asked  *Message // the last user item, until its event confirms it or it is passed
	said   *Message // the last answer, until it is sure that it is no summary
	sum    uint64   // hash of the last answer's raw text
	sumLen int
	before int64 // tokens in use before the last answer or summary
	marked bool  // a summary marked as such (0.171.0) came, its boundary is to come
	events bool  // this rollout has events for typed messages
	used   int64
	first  bool // the first session_meta was seen
	main   bool // its session_meta is the transcript's own
}

func (r *codexReader) pos(l line, c *codexLine) Position {
	return r.b.pos(l, c.id(l), parseTime(c.at))
}

func (r *codexReader) count(add func(*Omitted)) {
	if !r.b.dim {
		add(&r.b.st.Omitted)
	}
}

// record takes one record.
func (r *codexReader) record(l line, c *codexLine) {
	if !r.b.dim && r.b.in == "" {
		r.b.st.Reach.Last = r.pos(l, c)
	}
	switch string(c.typ) {
	case "response_item":
		r.item(l, c)
	case "event_msg":
		r.event(l, c)
	case "compacted":
		r.compacted(l, c)
	case "session_meta":
		r.meta(c)
	case "turn_context":
		r.context(c)
	case "world_state", "token_usage_record", "inter_agent_communication_metadata", "ghost_snapshot":
	default:
		r.count(func(o *Omitted) { o.Unknown++ })
	}
}

// meta takes a session_meta. The first one is the transcript's identity; one
// that follows is a fork's parent's, copied with its history (0.139.0).
func (r *codexReader) meta(c *codexLine) {
	if r.first || !r.main {
		return
	}
	r.first = true
	codexIdentity(&r.b.st.Identity, c)
	r.b.cwd = r.b.st.Identity.CWD
}

func codexIdentity(id *Identity, c *codexLine) {
	var session, parent string
	for f := members(c.payload); f.next(); {
		switch string(f.key) {
		case "id":
			id.SessionID = short(f.val, nameBytes)
		case "session_id":
			session = short(f.val, nameBytes)
		case "parent_thread_id":
			parent = short(f.val, nameBytes)
		case "forked_from_id":
			id.ForkedFrom = short(f.val, nameBytes)
		case "cwd":
			id.CWD = short(f.val, pathBytes)
		case "cli_version":
			id.Version = short(f.val, nameBytes)
		case "source":
			id.Subagent = id.Subagent || member(f.val, "subagent") != nil
		case "thread_source":
			id.Subagent = id.Subagent || is(f.val, "subagent")
		case "git":
			id.GitBranch = short(member(f.val, "branch"), nameBytes)
		case "timestamp":
			id.Started = parseTime(f.val)
		}
	}
	id.RootID = cmpOr(session, parent, id.SessionID)
	if id.Started.IsZero() {
		id.Started = parseTime(c.at)
	}
}

// context takes a turn_context: what holds for the turn.
func (r *codexReader) context(c *codexLine) {
	id := &r.b.st.Identity
	mode := ""
	for f := members(c.payload); f.next(); {
		if string(f.key) == "collaboration_mode" {
			mode = short(member(f.val, "mode"), nameBytes)
		}
		if !isString(f.val) || len(f.val) == 2 {
			continue
		}
		switch string(f.key) {
		case "cwd":
			id.CWD = same(id.CWD, f.val, pathBytes)
			r.b.cwd = id.CWD
		case "model":
			id.Model = same(id.Model, f.val, nameBytes)
		case "approval_policy":
			id.PermissionMode = same(id.PermissionMode, f.val, nameBytes)
		}
	}
	switch p := r.b.st.Proposal; {
	case mode == planMode:
		id.PermissionMode = planMode
	case mode != "" && p != nil: // only a person leaves plan mode
		p.Answered, p.Approved = true, true
	}
}

// planMode is the collaboration mode in which the agent may only plan.
const planMode = "plan"

// item takes what the model sees.
func (r *codexReader) item(l line, c *codexLine) {
	switch string(plain(member(c.payload, "type"))) {
	case "message":
		r.message(l, c)
	case "reasoning":
		r.count(func(o *Omitted) { o.Reasoning++ })
	case "function_call", "custom_tool_call", "local_shell_call":
		r.count(func(o *Omitted) { o.FunctionCalls++ })
		r.called(l, c)
	case "web_search_call", "tool_search_call", "image_generation_call":
		r.count(func(o *Omitted) { o.FunctionCalls++ })
	case "function_call_output", "custom_tool_call_output":
		r.count(func(o *Omitted) { o.ToolOutputs++ })
		r.answered(l, c)
	case "tool_search_output":
		r.count(func(o *Omitted) { o.ToolOutputs++ })
	case "agent_message":
		r.count(func(o *Omitted) { o.Meta++ })
	case "compaction", "compaction_summary", "context_compaction":
		r.count(func(o *Omitted) { o.Summaries++ })
	case "ghost_snapshot", "other":
	default:
		r.count(func(o *Omitted) { o.Unknown++ })
	}
}

// codexKind is what a message item is.
type codexKind int

const (
	codexAnswer  codexKind = iota
	codexUser              // in the user's role, not known to be written by the client
	codexClient            // written by the client: environment, instructions, notices
	codexSummary           // a compaction's
	codexHook              // a hook's additional context
	codexOther             // another developer message
)

// What texts of Codex in the user's or developer's role begin with, as seen on
// the real client.
var (
	codexClientStarts = []string{
		"<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<INSTRUCTIONS>", "<skill>", "<skills_instructions>",
		"<permissions instructions>", "<turn_aborted>", "<subagent_notification>", "<hook_prompt", "<user_shell_command>",
		"<collaboration_mode>", "<personality_spec>", "<model_switch>", "<multi_agent_mode>", "<tools>", "<apps_instructions>",
		"<plugins_instructions>", "<ENVIRONMENT_CONTEXT>", "<realtime_", "<goal_context>", "<codex_",
	}
	codexSummaryStarts = []string{
		"Another language model started to solve this problem and produced a summary",
		"You are performing a CONTEXT CHECKPOINT COMPACTION",
	}
)

// codexMessage is a message item, raw.
type codexMessage struct {
	role, content, kinds, passthrough []byte
}

func parseCodexMessage(payload []byte) (m codexMessage) {
	for f := members(payload); f.next(); {
		switch string(f.key) {
		case "role":
			m.role = f.val
		case "content":
			m.content = f.val
		case "content_item_kinds":
			m.kinds = f.val
		case "internal_chat_message_metadata_passthrough":
			m.passthrough = f.val
			if k := member(f.val, "content_item_kinds"); k != nil {
				m.kinds = k
			}
		}
	}
	return m
}

// kind judges a message item. From 0.171.0 on each part is marked with what it
// is; before, words tell.
func (m *codexMessage) kind(c *codexLine) codexKind {
	if isTrue(member(c.metadata, "compaction_output")) {
		return codexSummary
	}
	if is(m.role, "assistant") {
		return codexAnswer
	}
	marked, hook, user := false, false, false
	for f := elements(m.kinds); f.next(); {
		k := plain(f.val)
		marked = true
		hook = hook || string(k) == "hooks.additional_context"
		user = user || bytes.HasPrefix(k, []byte("user."))
	}
	text := m.firstText()
	switch {
	case hook:
		return codexHook
	case is(m.role, "user") && user:
		return codexUser
	case starts(text, codexSummaryStarts):
		return codexSummary
	case starts(text, codexClientStarts):
		return codexClient
	case is(m.role, "user"):
		if marked && fromHarness(m.passthrough) {
			return codexClient
		}
		return codexUser
	case !marked && !starts(text, []string{"<"}):
		return codexHook // 0.133.0 and 0.139.0 don't mark it, and write nothing else so
	}
	return codexOther
}

// fromHarness reports whether a marked message says that no user wrote it.
func fromHarness(passthrough []byte) bool {
	for f := elements(member(passthrough, "content_item_metadata")); f.next(); {
		if t := at(f.val, "provenance", "type"); t != nil && !is(t, "user") {
			return true
		}
	}
	return false
}

// firstText is the first part that holds words.
func (m *codexMessage) firstText() []byte {
	if isString(m.content) {
		return m.content
	}
	for f := elements(m.content); f.next(); {
		if t := member(f.val, "text"); isString(t) && !starts(t, []string{"<image"}) {
			return t
		}
	}
	return nil
}

func (r *codexReader) message(l line, c *codexLine) {
	m := parseCodexMessage(c.payload)
	switch m.kind(c) {
	case codexAnswer:
		r.answer(l, c, &m)
	case codexUser:
		r.user(l, c, &m)
	case codexSummary:
		r.settle()
		r.marked, r.before = true, r.used
		r.count(func(o *Omitted) { o.Summaries++ })
	case codexClient:
		r.notified(m.content)
		r.count(func(o *Omitted) { o.Meta++ })
	case codexHook, codexOther:
		r.count(func(o *Omitted) { o.Meta++ })
	}
}

// user takes a message in the user's role. It is held until the event that
// follows it says that it was typed.
func (r *codexReader) user(l line, c *codexLine, m *codexMessage) {
	r.settle()
	t, images := r.words(c, m.content)
	if t.empty() {
		return
	}
	typed := false
	for f := elements(m.kinds); f.next(); {
		typed = typed || bytes.HasPrefix(plain(f.val), []byte("user."))
	}
	msg := Message{Position: r.pos(l, c), Role: "user", Text: t.String(), Typed: typed && !fromHarness(m.passthrough), Images: images}
	msg.Cut = t.cut
	r.asked = &msg
}

// answer takes the model's words. They are held until what follows tells that
// they are no compaction's summary.
func (r *codexReader) answer(l line, c *codexLine, m *codexMessage) {
	r.settle()
	t, images := r.words(c, m.content)
	pos := r.pos(l, c)
	raw := plain(m.firstText())
	r.sum, r.sumLen, r.before = maphash.Bytes(idSeed, raw), len(raw), r.used
	if t.empty() {
		return
	}
	msg := Message{Position: pos, Role: "assistant", Text: t.String(), Images: images}
	msg.Cut = t.cut
	r.said = &msg
}

// words joins the texts of an item's parts.
func (r *codexReader) words(c *codexLine, content []byte) (text, int) {
	t := textOf(r.b.opt.MessageBytes)
	if isString(content) {
		t.add(content, c.small.missing(content))
		return t, 0
	}
	var pictures []string
	for f := elements(content); f.next(); {
		if url := member(f.val, "image_url"); url != nil {
			pictures = append(pictures, c.picture(url))
			continue
		}
		words := member(f.val, "text")
		if !isString(words) || starts(words, []string{"<image name=", "</image>"}) {
			continue
		}
		t.part()
		t.add(words, c.small.missing(words))
	}
	t.pictures(pictures)
	return t, len(pictures)
}

// picture says what an image was.
func (c *codexLine) picture(url []byte) string {
	in := plain(url)
	media, ok := bytes.CutPrefix(in[:min(len(in), 128)], []byte("data:"))
	if !ok {
		return "[image]"
	}
	media, _, ok = bytes.Cut(media, []byte(";"))
	if !ok {
		return "[image]"
	}
	n := int64(len(in)-len("data:;base64,")-len(media)) + c.small.missing(url)
	return "[image, " + size(max(n, 0)*3/4) + ", " + string(bytes.ToValidUTF8(media, []byte("\uFFFD"))) + "]"
}

// settle passes on what was held.
func (r *codexReader) settle() {
	if m := r.asked; m != nil {
		r.asked = nil
		r.pass(*m)
	}
	if m := r.said; m != nil {
		r.said = nil
		if !r.b.dim && m.Path == "" {
			r.b.st.Reach.LastAnswer = m.Position
		}
		r.pass(*m)
	}
}

func (r *codexReader) pass(m Message) {
	if m.Role == "assistant" && r.b.dim {
		return
	}
	r.b.message(m)
	if r.b.emit == nil && !r.b.dim && (m.Typed || m.Role == "assistant") {
		r.b.mention(m.Text, m.Position)
	}
}

// typed takes the event of a message that a person typed: its text is the clean
// one.
func (r *codexReader) typed(words text) {
	r.events = true
	if r.asked == nil {
		return
	}
	r.asked.Typed = true
	if !words.empty() && r.asked.Images == 0 {
		r.asked.Text = words.String()
		r.asked.Cut = words.cut
	}
	r.settle()
}

// compacted takes a boundary. The answer before it was the summary if the
// boundary's message ends with it.
func (r *codexReader) compacted(l line, c *codexLine) {
	message := plain(member(c.payload, "message"))
	tokens := r.used
	if n := len(message) - r.sumLen; r.said != nil && r.sumLen > 0 && n >= 0 && maphash.Bytes(idSeed, message[n:]) == r.sum {
		r.said = nil
		tokens = r.before
		r.count(func(o *Omitted) { o.Summaries++ })
	}
	if r.marked {
		r.marked, tokens = false, r.before
	}
	r.settle()
	r.b.boundary(Boundary{Position: r.pos(l, c), PreTokens: tokens})
}

// event takes an event_msg.
func (r *codexReader) event(l line, c *codexLine) {
	p := c.payload
	switch string(plain(member(p, "type"))) {
	case "user_message":
		t := textOf(r.b.opt.MessageBytes)
		words := member(p, "message")
		t.add(words, c.small.missing(words))
		r.typed(t)
	case "item_completed":
		r.completed(l, c, member(p, "item"))
	case "token_count":
		r.tokens(l, c)
	case "patch_apply_end":
		r.patched(l, c, member(p, "call_id"), member(p, "changes"), !isFalse(member(p, "success")))
	case "exec_command_end":
		r.executed(l, c, p, "call_id")
	case "turn_aborted":
		r.settle()
	default:
		if !codexEventKnown(string(plain(member(p, "type")))) {
			r.count(func(o *Omitted) { o.Unknown++ })
		}
	}
}

// codexEventKnown lists the events that tell nothing a story needs: those seen,
// and those named in the program.
func codexEventKnown(typ string) bool {
	switch typ {
	case "task_started", "task_complete", "turn_started", "turn_complete", "agent_message", "agent_reasoning", "agent_reasoning_raw_content",
		"context_compacted", "thread_settings_applied", "thread_rolled_back", "thread_name_updated", "thread_goal_updated", "session_configured",
		"web_search_end", "mcp_tool_call_end", "view_image_tool_call", "image_generation_end", "entered_review_mode", "exited_review_mode",
		"undo_completed", "error", "warning", "background_event", "stream_error", "plan_update", "turn_diff",
		"dynamic_tool_call_request", "dynamic_tool_call_response", "sub_agent_activity", "collab_agent_spawn_end",
		"collab_agent_interaction_end", "collab_waiting_end", "collab_close_end", "collab_resume_end",
		"token_count", "item_completed", "patch_apply_end", "exec_command_end":
		return true
	}
	return false
}

func isFalse(raw []byte) bool { return string(raw) == "false" }

// completed takes a finished item of a paginated rollout (0.171.0).
func (r *codexReader) completed(l line, c *codexLine, item []byte) {
	switch string(plain(member(item, "type"))) {
	case "UserMessage":
		t := textOf(r.b.opt.MessageBytes)
		for f := elements(member(item, "content")); f.next(); {
			words := member(f.val, "text")
			if !isString(words) {
				continue
			}
			t.part()
			t.add(words, c.small.missing(words))
		}
		r.typed(t)
	case "CommandExecution":
		r.executed(l, c, item, "id")
	case "FileChange":
		r.patched(l, c, member(item, "id"), member(item, "changes"), is(member(item, "status"), "completed"))
	case "CollabAgentToolCall":
		r.collaborated(item)
	case "SubAgentActivity":
		r.activity(l, c, item)
	case "Plan":
		t := textOf(proposalBytes)
		words := member(item, "text")
		t.add(words, c.small.missing(words))
		r.b.st.Proposal = &Proposal{Position: r.pos(l, c), Text: t.String()}
	}
}

// tokens takes a token_count: the last one with numbers is the context in use.
func (r *codexReader) tokens(l line, c *codexLine) {
	info := member(c.payload, "info")
	n := integer(at(info, "last_token_usage", "total_tokens"))
	if n <= 0 {
		return
	}
	r.used = n
	if !r.b.dim {
		r.b.st.Usage = &Usage{Position: r.pos(l, c), Tokens: n, Window: integer(member(info, "model_context_window"))}
	}
}

// called takes a tool call. Its arguments are JSON inside a string.
func (r *codexReader) called(l line, c *codexLine) {
	r.settle()
	var id, name, arguments, input, action []byte
	for f := members(c.payload); f.next(); {
		switch string(f.key) {
		case "call_id":
			id = f.val
		case "name":
			name = f.val
		case "arguments":
			arguments = f.val
		case "input":
			input = f.val
		case "action":
			action = f.val
		}
	}
	pos := r.pos(l, c)
	args := unquote(arguments)
	k := &call{name: short(name, nameBytes), pos: pos}
	callID := short(id, nameBytes)
	switch k.name {
	case "exec_command", "shell", "shell_command", "container.exec", "local_shell", "unified_exec":
		r.shell(k, callID, args)
	case "apply_patch":
		patch := input
		if patch == nil {
			patch = member(args, "input")
		}
		k.paths = patchPaths(str(patch), r.b.cwd)
	case "update_plan":
		k.plan = codexPlan(args, pos)
	case "spawn_agent":
		k.work = &work{OpenWork: OpenWork{Position: pos, Kind: "subagent", CallID: callID, Description: cmpOr(short(member(args, "message"), itemBytes), short(member(args, "task_name"), nameBytes))}}
		r.b.opened(k.work)
	case "close_agent", "interrupt_agent":
		k.stops = cmpOr(short(member(args, "target"), nameBytes), short(member(args, "id"), nameBytes), short(member(args, "agent_id"), nameBytes))
	case "write_stdin":
		k.stops = numberOr(member(args, "session_id"))
	case "view_image", "read_file":
		k.paths = []touch{{path: below(r.b.cwd, cmpOr(short(member(args, "path"), pathBytes), short(member(args, "file_path"), pathBytes)))}}
	case "":
		if action != nil { // local_shell_call
			k.name = "local_shell"
			r.shell(k, callID, action)
		}
	}
	r.b.started(callID, k)
}

// shell notes a command. A patch may come in a here-document.
func (r *codexReader) shell(k *call, callID string, args []byte) {
	words := commandOf(args)
	t := textOf(commandBytes)
	t.write(words)
	k.command = &Command{Position: k.pos, CallID: callID, Text: t.String()}
	k.work = &work{OpenWork: OpenWork{Position: k.pos, Kind: "background", CallID: callID, Description: k.command.Text}, command: k.command}
	if strings.Contains(words, "*** Begin Patch") {
		cwd := cmpOr(short(member(args, "workdir"), pathBytes), r.b.cwd)
		k.paths = patchPaths(words, cwd)
	}
	r.b.runs(k.command)
}

// commandOf is a command's words: a string, or an argv whose shell wrapper is
// dropped.
func commandOf(args []byte) string {
	raw := member(args, "cmd")
	if raw == nil {
		raw = member(args, "command")
	}
	if isString(raw) {
		return str(raw)
	}
	var argv []string
	for f := elements(raw); f.next(); {
		argv = append(argv, str(f.val))
	}
	if len(argv) == 3 && (argv[1] == "-lc" || argv[1] == "-c") {
		return argv[2]
	}
	return strings.Join(argv, " ")
}

func codexPlan(args []byte, pos Position) *Plan {
	p := &Plan{Position: pos, Source: "update_plan", Note: short(member(args, "explanation"), noteBytes)}
	for f := elements(member(args, "plan")); f.next() && len(p.Items) < maxItems; {
		p.Items = append(p.Items, PlanItem{Position: pos, Text: short(member(f.val, "step"), itemBytes), Status: short(member(f.val, "status"), nameBytes)})
	}
	return p
}

func numberOr(raw []byte) string {
	if isString(raw) {
		return short(raw, nameBytes)
	}
	return number(raw)
}

// answered takes a tool's output.
func (r *codexReader) answered(l line, c *codexLine) {
	r.settle()
	var id, output []byte
	for f := members(c.payload); f.next(); {
		switch string(f.key) {
		case "call_id":
			id = f.val
		case "output":
			output = f.val
		}
	}
	k := r.b.result(short(id, nameBytes))
	if k == nil {
		return
	}
	pos := r.pos(l, c)
	words, code := codexOutput(output)
	failed := starts(words, []string{"unsupported call:", "failed to parse", "execution error", "aborted by user"}) || bytes.HasSuffix(plain(words), []byte(`seconds\naborted by user`)) || code != nil && *code != 0
	switch {
	case k.name == "write_stdin":
		r.polled(k, words, code, c.small)
	case k.command != nil:
		r.ran(k, pos, words, code, failed, c.small)
	case k.work != nil:
		r.spawned(k, words, failed)
	case k.name == "wait_agent" || k.name == "wait":
		r.waited(words)
	case !failed:
		r.b.succeeded(k, pos)
	}
}

// codexOutput finds an output's words, a raw string, and its exit code. Seen: a
// string that begins with "Exit code: 0" or holds "Process exited with code 0";
// JSON in a string, {"output":..., "metadata":{"exit_code":0}}; parts.
func codexOutput(output []byte) (words []byte, code *int) {
	words = output
	if !isString(output) {
		if t := member(output, "content"); t != nil {
			words = t
		}
		for f := elements(output); f.next(); {
			if t := member(f.val, "text"); isString(t) {
				words = t
			}
		}
	}
	in := plain(words)
	if len(in) > 0 && in[0] == '{' && bytes.Contains(in[max(0, len(in)-200):], []byte(`exit_code`)) {
		inner := unquote(words)
		if n := at(inner, "metadata", "exit_code"); n != nil {
			c := int(integer(n))
			return member(inner, "output"), &c
		}
	}
	if code = exitCode(in, "Exit code: "); code != nil {
		return words, code
	}
	if i := bytes.Index(in[:min(len(in), 400)], []byte("Process exited with code ")); i >= 0 {
		code = exitCode(in[i:], "Process exited with code ")
	}
	return words, code
}

// runningSession reads the id of a process that goes on behind its call.
func runningSession(words []byte) string {
	in := plain(words)
	const said = "Process running with session ID "
	i := bytes.Index(in[:min(len(in), 400)], []byte(said))
	if i < 0 {
		return ""
	}
	in = in[i+len(said):]
	end := 0
	for end < len(in) && in[end] >= '0' && in[end] <= '9' {
		end++
	}
	return string(in[:end])
}

func (r *codexReader) ran(k *call, pos Position, words []byte, code *int, failed bool, small *shrunk) {
	if session := runningSession(words); session != "" && code == nil {
		k.work.TaskID, k.work.waits = session, true
		r.b.opened(k.work)
		return
	}
	if !failed {
		r.b.succeeded(k, pos)
	}
	if r.b.dim || k.command.Done && code == nil {
		return
	}
	k.command.ended(pos, failed, code, outputOf(tail(words, r.b.opt.OutputBytes, small.missing(words))))
}

// outputOf drops the head that Codex puts before an output.
func outputOf(s string) string {
	if _, rest, ok := strings.Cut(s, "\nOutput:\n"); ok {
		return rest
	}
	return s
}

// polled takes the output of write_stdin: it tells when a process is over.
func (r *codexReader) polled(k *call, words []byte, code *int, small *shrunk) {
	if code == nil || k.stops == "" {
		return
	}
	if w := r.b.over(k.stops, ""); w != nil && w.command != nil {
		w.command.ended(k.pos, *code != 0, code, outputOf(tail(words, r.b.opt.OutputBytes, small.missing(words))))
	}
}

// executed takes the event of a command's end; it carries the real exit code.
func (r *codexReader) executed(l line, c *codexLine, item []byte, idName string) {
	callID := short(member(item, idName), nameBytes)
	pos := r.pos(l, c)
	for f := elements(member(item, "parsed_cmd")); f.next(); {
		if is(member(f.val, "type"), "read") {
			r.b.touch(touch{path: below(r.b.cwd, short(member(f.val, "path"), pathBytes))}, pos)
		}
	}
	raw := member(item, "exit_code")
	if raw == nil || isNull(raw) {
		return
	}
	code := int(integer(raw))
	var command *Command
	if k := r.b.calls[callID]; k != nil { // its output is to come
		command = k.command
	} else if w := r.b.over(numberOr(member(item, "process_id")), callID); w != nil {
		command = w.command
	}
	if command == nil || r.b.dim {
		return
	}
	output := member(item, "aggregated_output")
	command.ended(pos, code != 0, &code, tail(output, r.b.opt.OutputBytes, c.small.missing(output)))
}

// patched takes the event of a patch's end: absolute paths, and whether it
// worked. The call's own headers then no longer count.
func (r *codexReader) patched(l line, c *codexLine, id, changes []byte, ok bool) {
	if k := r.b.calls[short(id, nameBytes)]; k != nil {
		k.paths = nil
	}
	if !ok {
		return
	}
	pos := r.pos(l, c)
	n := 0
	for f := members(changes); f.next() && n < maxItems; n++ {
		path := string(bytes.ToValidUTF8(f.key, []byte("\uFFFD")))
		if len(path) > pathBytes {
			continue
		}
		gone := is(member(f.val, "type"), "delete")
		if to := member(f.val, "move_path"); isString(to) {
			gone = true
			r.b.touch(touch{path: short(to, pathBytes), edit: true}, pos)
		}
		r.b.touch(touch{path: path, edit: true, gone: gone}, pos)
	}
}

// spawned takes the result of spawn_agent: an agent that works on.
func (r *codexReader) spawned(k *call, words []byte, failed bool) {
	inner := unquote(words)
	id := cmpOr(short(member(inner, "agent_id"), nameBytes), short(member(inner, "task_name"), nameBytes))
	if failed || id == "" {
		k.work.over = true
		return
	}
	k.work.TaskID, k.work.waits = id, true
}

// waited takes the result of a wait: {"status":{"<agent>":{"completed":"..."}}}.
func (r *codexReader) waited(words []byte) {
	for f := members(member(unquote(words), "status")); f.next(); {
		if finished(f.val) {
			r.b.over(string(f.key), "")
		}
	}
}

// finished reports whether an agent's status is an end.
func finished(status []byte) bool {
	if isString(status) {
		return is(status, "completed") || is(status, "shutdown") || is(status, "not_found") || is(status, "interrupted")
	}
	for f := members(status); f.next(); {
		switch string(f.key) {
		case "completed", "errored", "failed", "shutdown", "interrupted":
			return true
		}
	}
	return false
}

// notified takes the notice of a subagent's end.
func (r *codexReader) notified(content []byte) {
	words := content
	if !isString(content) {
		for f := elements(content); f.next(); {
			words = member(f.val, "text")
		}
	}
	if !starts(words, []string{"<subagent_notification>"}) {
		return
	}
	notice := tag(str(words), "subagent_notification")
	if id := short(member([]byte(notice), "agent_path"), nameBytes); id != "" && finished(member([]byte(notice), "status")) {
		r.b.over(id, "")
	}
}

// collaborated takes the event of a call to an agent: closing one ends it.
func (r *codexReader) collaborated(item []byte) {
	if !is(member(item, "tool"), "close_agent") || !is(member(item, "status"), "completed") {
		return
	}
	for f := elements(member(item, "receiver_thread_ids")); f.next(); {
		r.b.over(short(f.val, nameBytes), "")
	}
}

// activity takes the event of an agent's start or end (multi_agent_v2).
func (r *codexReader) activity(l line, c *codexLine, item []byte) {
	switch kind := string(plain(member(item, "kind"))); kind {
	case "completed", "failed", "errored", "interrupted", "closed":
		thread, path := short(member(item, "agent_thread_id"), nameBytes), short(member(item, "agent_path"), nameBytes)
		if r.b.over(path, "") == nil {
			r.b.over(thread, "")
		}
	}
}

// finish passes on what is still held. Where no event was ever seen, an exotic
// rollout, what isn't known to be the client's was typed.
func (r *codexReader) finish() {
	r.settle()
	if r.events || r.b.emit != nil {
		return
	}
	r.b.st.Requests = nil // those that were taken for typed, in order with the others
	for i := range r.b.st.Messages {
		if m := &r.b.st.Messages[i]; m.Role == "user" {
			m.Typed = true
			r.b.request(*m)
		}
	}
}

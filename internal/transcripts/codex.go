package transcripts

import (
	"fmt"
	"strings"
)

func (g *generator) codexMeta() {
	g.line(`{"timestamp":"%s","ordinal":0,"type":"session_meta","payload":{"session_id":"%s","id":"%s","timestamp":"2026-01-02T08:00:00.000Z","cwd":"%s","originator":"codex_exec","cli_version":"0.171.0","source":"exec","thread_source":"user","model_provider":"stub","base_instructions":{"text":"%s"},"history_mode":"paginated"}}`,
		g.stamp(), g.Session, g.Session, g.CWD, g.text.some(20_000))
}

// ordinal grows with each record; the last stretch's are its own, so that its
// bytes don't depend on what stands before it.
func (g *generator) ordinal() int64 {
	if g.planted != nil {
		return 1<<40 + g.size
	}
	return g.size
}

func (g *generator) codexItem(payload string) {
	g.line(`{"timestamp":"%s","ordinal":%d,"type":"response_item","payload":{%s},"metadata":{"history_sequence":%d,"client_authored":false}}`, g.stamp(), g.ordinal(), payload, g.n)
}

func (g *generator) codexEvent(payload string) {
	g.line(`{"timestamp":"%s","ordinal":%d,"type":"event_msg","payload":{%s}}`, g.stamp(), g.ordinal(), payload)
}

func (g *generator) codexDone(item string) {
	g.codexEvent(fmt.Sprintf(`"type":"item_completed","thread_id":"%s","turn_id":"t%d","item":{%s}`, g.Session, g.n, item))
}

func (g *generator) codexTurn(ofLast int) {
	body := g.planted == nil
	if body && g.n%compactionEvery == 0 {
		g.codexCompaction()
	}
	g.codexEvent(fmt.Sprintf(`"type":"task_started","turn_id":"t%d","model_context_window":95000`, g.n))
	g.line(`{"timestamp":"%s","ordinal":%d,"type":"turn_context","payload":{"turn_id":"t%d","cwd":"%s","approval_policy":"never","model":"example-1","summary":"auto"}}`, g.stamp(), g.ordinal(), g.n, g.CWD)
	g.codexUser(g.message(true, 100), "")
	if body && g.rnd.IntN(imageEvery) == 0 {
		g.codexUser(g.message(true, 60), fmt.Sprintf(`,{"type":"input_image","image_url":"data:image/png;base64,%s"}`, g.text.image(300_000+g.rnd.IntN(1_700_000))))
	}
	for range 3 + g.rnd.IntN(6) {
		g.codexStep()
	}
	switch ofLast {
	case planTurn:
		g.codexPlan()
	case editTurn:
		g.codexEdit(g.edited())
	case agentsTurn:
		for _, what := range g.agents() {
			g.codexAgent(what)
		}
	}
	g.codexText(400)
	g.codexEvent(fmt.Sprintf(`"type":"task_complete","turn_id":"t%d","last_agent_message":"x"`, g.n))
}

func (g *generator) codexUser(text, image string) {
	g.codexItem(fmt.Sprintf(`"type":"message","id":"msg_%d","role":"user","content":[{"type":"input_text","text":"%s"}%s],"internal_chat_message_metadata_passthrough":{"turn_id":"t%d","content_item_kinds":["user.text"],"content_item_metadata":[{"provenance":{"type":"user"}}]}`, g.n, text, image, g.n))
	g.codexDone(fmt.Sprintf(`"type":"UserMessage","id":"u%d","content":[{"type":"text","text":"%s","text_elements":[]}]`, g.n, text))
}

func (g *generator) codexText(n int) {
	text := g.message(false, n)
	g.codexDone(fmt.Sprintf(`"type":"AgentMessage","id":"a%d","content":[{"type":"Text","text":"%s"}]`, g.n, text))
	g.codexItem(fmt.Sprintf(`"type":"message","id":"msg_a%d","role":"assistant","content":[{"type":"output_text","text":"%s","annotations":[]}]`, g.n, text))
}

func (g *generator) codexStep() {
	call := g.id()[:8]
	g.codexItem(fmt.Sprintf(`"type":"reasoning","id":"rs_%s","summary":[],"content":null,"encrypted_content":"%s"`, call, strings.Repeat("QUJD", 400)))
	switch g.rnd.IntN(5) {
	case 0:
		g.codexText(200)
	case 1:
		g.codexEdit(fmt.Sprintf("%s/file%d.go", g.CWD, g.rnd.IntN(40)))
	default:
		g.codexCommand(call, fmt.Sprintf("go test ./pkg%d/...", g.rnd.IntN(40)), g.text.some(g.output()), 0)
	}
	g.codexEvent(fmt.Sprintf(`"type":"token_count","info":{"total_token_usage":{"total_tokens":8300},"last_token_usage":{"input_tokens":1000,"total_tokens":%d},"model_context_window":95000},"rate_limits":{}`, 1000+g.n%90_000))
}

func (g *generator) codexCommand(call, cmd, out string, code int) {
	status := "completed"
	if code != 0 {
		status = "failed"
	}
	g.codexItem(fmt.Sprintf(`"type":"function_call","id":"fc_%s","name":"exec_command","arguments":"{\"cmd\": \"%s\"}","call_id":"call_%s"`, call, cmd, call))
	g.codexDone(fmt.Sprintf(`"type":"CommandExecution","id":"call_%s","process_id":"1","command":["/bin/bash","-lc","%s"],"parsed_cmd":[{"type":"unknown","cmd":"%s"}],"status":"%s","aggregated_output":"%s","exit_code":%d`, call, cmd, cmd, status, out, code))
	g.codexItem(fmt.Sprintf(`"type":"function_call_output","id":"fco_%s","call_id":"call_%s","output":"Chunk ID: x\nWall time: 0.0 seconds\nProcess exited with code %d\nOutput:\n%s"`, call, call, code, out))
}

func (g *generator) codexEdit(path string) {
	call := g.id()[:8]
	g.codexItem(fmt.Sprintf(`"type":"custom_tool_call","status":"completed","call_id":"call_%s","name":"apply_patch","input":"*** Begin Patch\n*** Update File: %s\n@@\n-%s\n+%s\n*** End Patch"`, call, path, g.text.some(100), g.text.some(100)))
	g.codexDone(fmt.Sprintf(`"type":"FileChange","id":"call_%s","changes":{"%s":{"type":"update","unified_diff":"%s","move_path":null}},"status":"completed","stdout":"Success."`, call, path, g.text.some(300)))
	g.codexItem(fmt.Sprintf(`"type":"custom_tool_call_output","call_id":"call_%s","output":"Success."`, call))
}

func (g *generator) codexPlan() {
	p, call := g.plan(), g.id()[:8]
	g.codexItem(fmt.Sprintf(`"type":"function_call","id":"fc_%s","name":"update_plan","arguments":"{\"explanation\": \"the way\", \"plan\": [{\"step\": \"%s\", \"status\": \"completed\"}, {\"step\": \"%s\", \"status\": \"in_progress\"}, {\"step\": \"%s\", \"status\": \"pending\"}]}","call_id":"call_%s"`, call, p[0], p[1], p[2], call))
	g.codexItem(fmt.Sprintf(`"type":"function_call_output","id":"fco_%s","call_id":"call_%s","output":"Plan updated"`, call, call))
}

// codexAgent starts a subagent.
func (g *generator) codexAgent(what string) {
	call := g.id()[:8]
	g.codexItem(fmt.Sprintf(`"type":"function_call","id":"fc_%s","name":"spawn_agent","arguments":"{\"message\": \"%s\", \"task_name\": \"t%s\"}","call_id":"call_%s","namespace":"collaboration"`, call, what, call, call))
	g.codexDone(fmt.Sprintf(`"type":"SubAgentActivity","id":"call_%s","kind":"started","agent_thread_id":"th%s","agent_path":"/root/t%s"`, call, call, call))
	g.codexItem(fmt.Sprintf(`"type":"function_call_output","id":"fco_%s","call_id":"call_%s","output":"{\"task_name\":\"/root/t%s\"}"`, call, call, call))
}

func (g *generator) codexFailedTest() {
	g.codexCommand(g.id()[:8], "go test ./"+g.planted.Failed+"/...", g.text.some(300)+`--- FAIL: `+g.planted.Output+` (0.00s)\nFAIL\n`, 1)
}

func (g *generator) codexCompaction() {
	g.codexEvent(fmt.Sprintf(`"type":"task_started","turn_id":"c%d","model_context_window":95000`, g.n))
	summary := g.text.some(6000)
	g.line(`{"timestamp":"%s","ordinal":%d,"type":"response_item","payload":{"type":"message","id":"msg_c%d","role":"assistant","content":[{"type":"output_text","text":"%s"}]},"metadata":{"client_authored":false,"compaction_output":true}}`, g.stamp(), g.ordinal(), g.n, summary)
	var kept []string
	for range 20 {
		kept = append(kept, fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"%s"}]}`, g.text.some(400)))
	}
	g.line(`{"timestamp":"%s","ordinal":%d,"type":"compacted","payload":{"message":"Another language model started to solve this problem and produced a summary of its thinking process.\n%s","replacement_history":[%s]}}`, g.stamp(), g.ordinal(), summary, strings.Join(kept, ","))
	g.codexDone(fmt.Sprintf(`"type":"ContextCompaction","id":"cc%d"`, g.n))
	g.codexEvent(fmt.Sprintf(`"type":"task_complete","turn_id":"c%d","last_agent_message":null`, g.n))
}

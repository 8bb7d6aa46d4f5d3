package transcripts

import "fmt"

// bridge is the uuid of the record before the last stretch.
const bridge = "0b51d9e0-0000-4000-8000-00000000b51d"

// Compactions, images and subagents' records come in one of so many turns.
const (
	compactionEvery = 40
	imageEvery      = 60
	sidechainEvery  = 10
)

// rest is what a record of Claude Code 2.1.332 ends with.
func (g *generator) rest() string {
	return fmt.Sprintf(`"userType":"external","entrypoint":"cli","cwd":"%s","sessionId":"%s","version":"2.1.332","gitBranch":"main"}`, g.CWD, g.Session)
}

func orNull(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

func (g *generator) claudeTurn(ofLast int) {
	body := g.planted == nil
	if body && g.n%compactionEvery == 0 {
		g.claudeCompaction()
	}
	g.claudeUser(`"` + g.message(true, 100) + `"`)
	if body && g.rnd.IntN(imageEvery) == 0 {
		g.claudeImage(300_000 + g.rnd.IntN(1_700_000))
	}
	for range 3 + g.rnd.IntN(6) {
		g.claudeStep()
	}
	switch ofLast {
	case planTurn:
		g.claudePlan()
	case editTurn:
		g.claudeEdit(g.edited())
	case agentsTurn:
		for _, what := range g.agents() {
			g.claudeAgent(what)
		}
	}
	if body && g.rnd.IntN(sidechainEvery) == 0 {
		g.claudeSidechain()
	}
	snapshot, shape := 20_000+g.rnd.IntN(60_000), 30_000
	if !body {
		snapshot, shape = 2_000, 500
	}
	id := g.id()
	g.line(`{"parentUuid":"%s","isSidechain":false,"attachment":{"type":"prompt_snapshot","systemPrompt":["%s"]},"type":"attachment","uuid":"%s","timestamp":"%s",%s`, g.last, g.text.some(snapshot), id, g.stamp(), g.rest())
	g.last = id
	g.line(`{"type":"last-prompt","lastPrompt":"request %d","leafUuid":"%s","sessionId":"%s"}`, g.n, g.last, g.Session)
	g.line(`{"type":"api-request-shape","sessionId":"%s","shapeHash":"x","timestamp":"%s","version":"2.1.332","shape":{"system":[{"type":"text","text":"%s"}]}}`, g.Session, g.stamp(), g.text.some(shape))
	g.claudeText(400)
}

// claudeUser writes what a person typed.
func (g *generator) claudeUser(content string) {
	id := g.id()
	g.line(`{"parentUuid":%s,"isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":%s},"uuid":"%s","timestamp":"%s","permissionMode":"default","origin":{"kind":"human"},"promptSource":"typed",%s`,
		orNull(g.last), g.id(), content, id, g.stamp(), g.rest())
	g.last = id
}

func (g *generator) claudeText(n int) {
	g.claudeAnswer(fmt.Sprintf(`{"type":"text","text":"%s"}`, g.message(false, n)))
}

func (g *generator) claudeAnswer(part string) { g.claudeAnswerAs(g.id(), part) }

func (g *generator) claudeAnswerAs(id, part string) {
	g.line(`{"parentUuid":"%s","isSidechain":false,"message":{"id":"msg_%s","type":"message","role":"assistant","model":"claude-example-1","content":[%s],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard"},"stop_details":null},"requestId":"req_%s","type":"assistant","uuid":"%s","timestamp":"%s",%s`,
		g.last, id[:8], part, 1000+g.n%100_000, id[:8], id, g.stamp(), g.rest())
	g.last = id
}

// claudeResult writes a tool's result; extra is the inside of toolUseResult.
func (g *generator) claudeResult(call, content, extra string, failed bool) {
	id := g.id()
	g.line(`{"parentUuid":"%s","isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%s","type":"tool_result","content":%s,"is_error":%v}]},"uuid":"%s","timestamp":"%s","toolUseResult":{%s},"sourceToolAssistantUUID":"%s",%s`,
		g.last, g.id(), call, content, failed, id, g.stamp(), extra, g.last, g.rest())
	g.last = id
}

func (g *generator) claudeBashResult(call, out string, failed bool) {
	g.claudeResult(call, `"`+out+`"`, `"stdout":"`+out+`","stderr":"","interrupted":false,"isImage":false`, failed)
}

func (g *generator) claudeStep() {
	call := g.id()[:8]
	switch g.rnd.IntN(5) {
	case 0:
		g.claudeText(200)
		return
	case 1:
		g.claudeEdit(fmt.Sprintf("%s/file%d.go", g.CWD, g.rnd.IntN(40)))
		return
	case 2:
		g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Read","input":{"file_path":"%s/file%d.go"}}`, call, g.CWD, g.rnd.IntN(40)))
	default:
		g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Bash","input":{"command":"go test ./pkg%d/...","description":"run tests"}}`, call, g.rnd.IntN(40)))
	}
	g.claudeBashResult(call, g.text.some(g.output()), false)
}

func (g *generator) claudeEdit(path string) {
	call := g.id()[:8]
	before, after := g.text.some(300), g.text.some(300)
	g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Edit","input":{"replace_all":false,"file_path":"%s","old_string":"%s","new_string":"%s"}}`, call, path, before, after))
	g.claudeResult(call, fmt.Sprintf(`"The file %s has been updated."`, path), fmt.Sprintf(`"filePath":"%s","oldString":"%s","newString":"%s","structuredPatch":[]`, path, before, after), false)
}

func (g *generator) claudePlan() {
	p, call := g.plan(), g.id()[:8]
	g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"TodoWrite","input":{"todos":[{"content":"%s","status":"completed","activeForm":"x"},{"content":"%s","status":"in_progress","activeForm":"x"},{"content":"%s","status":"pending","activeForm":"x"}]}}`, call, p[0], p[1], p[2]))
	g.claudeResult(call, `"Todos have been modified"`, `"oldTodos":[]`, false)
}

// claudeAgent starts a subagent in the background.
func (g *generator) claudeAgent(what string) {
	call := g.id()[:8]
	g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Agent","input":{"description":"%s","prompt":"look","subagent_type":"general-purpose","run_in_background":true}}`, call, what))
	g.claudeResult(call, `[{"type":"text","text":"Async agent launched successfully."}]`, fmt.Sprintf(`"isAsync":true,"status":"async_launched","agentId":"a%s"`, call), false)
}

func (g *generator) claudeFailedTest() {
	call := g.id()[:8]
	g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Bash","input":{"command":"go test ./%s/...","description":"run tests"}}`, call, g.planted.Failed))
	g.claudeBashResult(call, `Exit code 1\n`+g.text.some(300)+`--- FAIL: `+g.planted.Output+` (0.00s)\nFAIL\n`, true)
}

func (g *generator) claudeImage(n int) {
	g.claudeUser(fmt.Sprintf(`[{"type":"text","text":"%s"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"%s"}}]`, g.message(true, 60), g.text.image(n)))
}

// claudeSidechain writes records of an older client's subagent, which stand in
// the same file.
func (g *generator) claudeSidechain() {
	id := g.id()
	g.line(`{"parentUuid":null,"isSidechain":true,"promptId":"%s","type":"user","message":{"role":"user","content":"%s"},"uuid":"%s","timestamp":"%s",%s`, g.id(), g.text.some(2000), id, g.stamp(), g.rest())
	g.line(`{"parentUuid":"%s","isSidechain":true,"message":{"id":"msg_%s","type":"message","role":"assistant","model":"claude-example-1","content":[{"type":"text","text":"%s"}],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":5}},"requestId":"req_%s","type":"assistant","uuid":"%s","timestamp":"%s",%s`,
		id, id[:8], g.text.some(2000), id[:8], g.id(), g.stamp(), g.rest())
}

func (g *generator) claudeCompaction() {
	id := g.id()
	g.line(`{"parentUuid":null,"logicalParentUuid":%s,"isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","isMeta":false,"timestamp":"%s","uuid":"%s","level":"info","compactMetadata":{"trigger":"auto","preTokens":160000,"postTokens":9000,"durationMs":21000},%s`, orNull(g.last), g.stamp(), id, g.rest())
	g.last = g.id()
	g.line(`{"parentUuid":"%s","isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":"This session is being continued from a previous conversation that ran out of context. The summary below covers it.\n\nSummary:\n%s"},"isVisibleInTranscriptOnly":true,"isCompactSummary":true,"uuid":"%s","timestamp":"%s",%s`,
		id, g.id(), g.text.some(6000), g.last, g.stamp(), g.rest())
}

func (g *generator) claudeBridge() {
	g.claudeAnswerAs(bridge, `{"type":"text","text":"That part is finished."}`)
}

package transcript

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
)

// generator writes transcripts of any size out of lines made after real ones:
// the same seed, the same bytes.
type generator struct {
	w    *bufio.Writer
	rnd  *rand.Rand
	n    int
	at   time.Time
	last string // uuid of the last record
	size int64
	talk bool // short turns: a reading's messages fit into a megabyte
}

func (g *generator) line(format string, args ...any) {
	n, _ := fmt.Fprintf(g.w, format+"\n", args...)
	g.size += int64(n)
}

func (g *generator) id() string {
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", g.rnd.Uint32(), g.rnd.IntN(1<<16), g.rnd.IntN(1<<12), g.rnd.IntN(1<<12), g.rnd.Int64N(1<<48))
}

func (g *generator) stamp() string {
	g.at = g.at.Add(time.Second)
	return g.at.Format("2006-01-02T15:04:05.000Z")
}

// words is the inside of a JSON string of about n bytes, escapes and all.
func (g *generator) words(n int) string {
	const stuff = `func (r *reader) parse(l line) error {\n\tif err := f(\"x\"); err != nil {\n\t\treturn fmt.Errorf(\"reading %q: %w\", path, err)\n\t}\n\treturn nil\n}\n\n// Größe und 中文 bytes\n`
	var b strings.Builder
	for b.Len() < n {
		start := 0
		if g.rnd.IntN(4) == 0 {
			start = strings.Index(stuff, "//")
		}
		b.WriteString(stuff[start:])
	}
	return b.String()
}

// output is how long a tool's result is: 6 kB in the mean, one in a hundred up to
// 400 kB.
func (g *generator) output() int {
	if g.talk {
		return int(g.rnd.ExpFloat64() * 500)
	}
	if g.rnd.IntN(100) == 0 {
		return 50_000 + g.rnd.IntN(350_000)
	}
	return int(g.rnd.ExpFloat64() * 3500)
}

const claudeTail1 = `"userType":"external","entrypoint":"cli","cwd":"/home/u/project","sessionId":"11111111-1111-4111-8111-111111111111","version":"2.1.332","gitBranch":"main"}`

func (g *generator) claudeTurn() {
	g.n++
	id := g.id()
	g.line(`{"parentUuid":%s,"isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":"request %d: %s"},"uuid":"%s","timestamp":"%s","permissionMode":"default","origin":{"kind":"human"},"promptSource":"typed",%s`,
		orNull(g.last), g.id(), g.n, g.words(100), id, g.stamp(), claudeTail1)
	g.last = id
	for range 3 + g.rnd.IntN(6) {
		g.claudeStep()
	}
	snapshot, shape := 20_000+g.rnd.IntN(60_000), 30_000
	if g.talk {
		snapshot, shape = 2_000, 500
	}
	id = g.id()
	g.line(`{"parentUuid":"%s","isSidechain":false,"attachment":{"type":"prompt_snapshot","systemPrompt":["%s"]},"type":"attachment","uuid":"%s","timestamp":"%s",%s`, g.last, g.words(snapshot), id, g.stamp(), claudeTail1)
	g.last = id
	g.line(`{"type":"last-prompt","lastPrompt":"request %d","leafUuid":"%s","sessionId":"11111111-1111-4111-8111-111111111111"}`, g.n, g.last)
	g.line(`{"type":"api-request-shape","sessionId":"11111111-1111-4111-8111-111111111111","shapeHash":"x","timestamp":"%s","version":"2.1.332","shape":{"system":[{"type":"text","text":"%s"}]}}`, g.stamp(), g.words(shape))
	g.claudeAnswer(fmt.Sprintf(`{"type":"text","text":"answer %d: %s"}`, g.n, g.words(400)))
}

func orNull(id string) string {
	if id == "" {
		return "null"
	}
	return `"` + id + `"`
}

func (g *generator) claudeAnswer(part string) {
	id := g.id()
	g.line(`{"parentUuid":"%s","isSidechain":false,"message":{"id":"msg_%s","type":"message","role":"assistant","model":"claude-example-1","content":[%s],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard"},"stop_details":null},"requestId":"req_%s","type":"assistant","uuid":"%s","timestamp":"%s",%s`,
		g.last, id[:8], part, 1000+g.n, id[:8], id, g.stamp(), claudeTail1)
	g.last = id
}

func (g *generator) claudeStep() {
	call := g.id()[:8]
	switch g.rnd.IntN(5) {
	case 0:
		g.claudeAnswer(fmt.Sprintf(`{"type":"text","text":"%s"}`, g.words(200)))
		return
	case 1:
		g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Edit","input":{"replace_all":false,"file_path":"/home/u/project/file%d.go","old_string":"%s","new_string":"%s"}}`, call, g.rnd.IntN(40), g.words(300), g.words(300)))
	case 2:
		g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Read","input":{"file_path":"/home/u/project/file%d.go"}}`, call, g.rnd.IntN(40)))
	default:
		g.claudeAnswer(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%s","name":"Bash","input":{"command":"go test ./pkg%d/...","description":"run tests"}}`, call, g.rnd.IntN(40)))
	}
	id, out := g.id(), g.words(g.output())
	g.line(`{"parentUuid":"%s","isSidechain":false,"promptId":"%s","type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%s","type":"tool_result","content":"%s","is_error":false}]},"uuid":"%s","timestamp":"%s","toolUseResult":{"stdout":"%s","stderr":"","interrupted":false,"isImage":false},"sourceToolAssistantUUID":"%s",%s`,
		g.last, g.id(), call, out, id, g.stamp(), out, g.last, claudeTail1)
	g.last = id
}

func (g *generator) codexTurn() {
	g.n++
	item := func(payload string, args ...any) {
		g.line(`{"timestamp":"%s","ordinal":%d,"type":"response_item","payload":{%s},"metadata":{"history_sequence":%d,"client_authored":false}}`, g.stamp(), g.size, fmt.Sprintf(payload, args...), g.n)
	}
	event := func(payload string, args ...any) {
		g.line(`{"timestamp":"%s","ordinal":%d,"type":"event_msg","payload":{%s}}`, g.stamp(), g.size, fmt.Sprintf(payload, args...))
	}
	event(`"type":"task_started","turn_id":"t%d","model_context_window":95000`, g.n)
	text := fmt.Sprintf("request %d: %s", g.n, g.words(100))
	item(`"type":"message","id":"msg_%d","role":"user","content":[{"type":"input_text","text":"%s"}],"internal_chat_message_metadata_passthrough":{"turn_id":"t","content_item_kinds":["user.text"],"content_item_metadata":[{"provenance":{"type":"user"}}]}`, g.n, text)
	event(`"type":"item_completed","thread_id":"x","turn_id":"t","item":{"type":"UserMessage","id":"u%d","content":[{"type":"text","text":"%s","text_elements":[]}]}`, g.n, text)
	for range 3 + g.rnd.IntN(6) {
		call, out := g.id()[:8], g.words(g.output())
		item(`"type":"reasoning","id":"rs_%s","summary":[],"content":null,"encrypted_content":"%s"`, call, strings.Repeat("QUJD", 400))
		item(`"type":"function_call","id":"fc_%s","name":"exec_command","arguments":"{\"cmd\": \"go test ./pkg%d/...\"}","call_id":"call_%s"`, call, g.rnd.IntN(40), call)
		event(`"type":"item_completed","thread_id":"x","turn_id":"t","item":{"type":"CommandExecution","id":"call_%s","process_id":"1","command":["/bin/bash","-lc","go test"],"parsed_cmd":[{"type":"unknown","cmd":"go test"}],"status":"completed","aggregated_output":"%s","exit_code":0}`, call, out)
		item(`"type":"function_call_output","id":"fco_%s","call_id":"call_%s","output":"Chunk ID: x\nWall time: 0.0 seconds\nProcess exited with code 0\nOutput:\n%s"`, call, call, out)
		event(`"type":"token_count","info":{"total_token_usage":{"total_tokens":8300},"last_token_usage":{"input_tokens":1000,"total_tokens":%d},"model_context_window":95000},"rate_limits":{}`, 1000+g.n)
	}
	event(`"type":"item_completed","thread_id":"x","turn_id":"t","item":{"type":"AgentMessage","id":"a%d","content":[{"type":"Text","text":"answer"}]}`, g.n)
	item(`"type":"message","id":"msg_a%d","role":"assistant","content":[{"type":"output_text","text":"answer %d: %s","annotations":[]}]`, g.n, g.n, g.words(400))
	event(`"type":"task_complete","turn_id":"t%d","last_agent_message":"x"`, g.n)
}

// generate writes a transcript of at least size bytes whose last megabyte or so
// is the same at every size.
func generate(t testing.TB, c client.Client, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g := &generator{w: bufio.NewWriterSize(f, 1<<20), rnd: rand.New(rand.NewPCG(1, 2)), at: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)}
	if c == client.Codex {
		g.line(`{"timestamp":"%s","ordinal":0,"type":"session_meta","payload":{"session_id":"019a0000-0000-7000-8000-000000000001","id":"019a0000-0000-7000-8000-000000000001","timestamp":"2026-11-29T00:00:00.000Z","cwd":"/home/u/project","cli_version":"0.171.0","source":"exec","base_instructions":{"text":"%s"},"history_mode":"paginated"}}`, g.stamp(), g.words(20_000))
	}
	turn := g.claudeTurn
	if c == client.Codex {
		turn = g.codexTurn
	}
	for g.size < size-(1<<20) {
		turn()
	}
	g.rnd, g.talk = rand.New(rand.NewPCG(3, 4)), true
	for end := g.size + 1<<20; g.size < end; {
		turn()
	}
	if err := g.w.Flush(); err != nil {
		t.Fatal(err)
	}
	return path
}

package doctor

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/openai"
)

// codexLimit is the number of tokens at which the throw-away Codex compacts by
// itself, before its next turn.
const codexLimit = 20_000

// codexRunner makes Codex compact: the first turn claims to have used the whole
// window, so the second begins with a compaction.
type codexRunner struct {
	stub   *openai.Server
	scenes openai.Scenes
	before int // requests until the first turn was over
}

func startCodex() (*codexRunner, error) {
	r := &codexRunner{}
	r.scenes.On(firstPrompt, stubmodel.Text("There are 41 of them.").Using(codexLimit+1))
	stub, err := openai.Serve(r.scenes.Reply)
	r.stub = stub
	return r, err
}

func (r *codexRunner) close() { _ = r.stub.Close() }

// configure writes a configuration that knows the stub only, with our entries
// and their approvals: the flag that goes without does nothing in old versions.
func (r *codexRunner) configure(t *trial) error {
	url, err := t.url(r.stub.BaseURL())
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`model = "gpt-5.5"
model_provider = "stub"
model_auto_compact_token_limit = %d
approval_policy = "never"
sandbox_mode = "read-only"
check_for_update_on_startup = false

[model_providers.stub]
name = "stub"
base_url = %q
wire_api = "responses"
env_key = "STUB_KEY"
request_max_retries = 0
stream_max_retries = 0
`, codexLimit, url)
	w := t.wanted(filepath.Join(t.home, ".codex", "config.toml"))
	edit, err := installer.InstallTOML([]byte(config), w)
	if err != nil {
		return err
	}
	approvals, err := installer.Approvals(edit.Data, w)
	if err != nil {
		return err
	}
	if edit, err = installer.Approve(edit.Data, approvals); err != nil {
		return err
	}
	return t.write(".codex/config.toml", edit.Data)
}

func (r *codexRunner) compact(t *trial) error {
	t.Progress(t.c, "a turn of a made-up session")
	out, err := r.exec(t, firstPrompt)
	if err != nil {
		return err
	}
	thread := ""
	for line := range strings.Lines(out) {
		if e := gjson.Parse(line); e.Get("type").Str == "thread.started" {
			thread = e.Get("thread_id").Str
		}
	}
	if thread == "" {
		return fmt.Errorf("the client names no session: %.300s", out)
	}
	r.before = r.stub.Log.Len()
	for _, step := range []struct{ tells, prompt string }{{"the compaction, and a turn after it", thirdPrompt}, {"and another", fourthPrompt}} {
		if _, holding := r.reached(t.mark()); holding > 0 {
			break
		}
		t.Progress(t.c, step.tells)
		if _, err := r.exec(t, "resume", thread, step.prompt); err != nil {
			return err
		}
	}
	return nil
}

func (r *codexRunner) exec(t *trial, args ...string) (string, error) {
	last := args[len(args)-1]
	args = append(append([]string{"exec"}, args[:len(args)-1]...), "--json", "--skip-git-repo-check", last)
	return t.outputIn([]string{"CODEX_HOME=" + filepath.Join(t.home, ".codex"), "STUB_KEY=sk-EXAMPLE"}, "", args...)
}

// reached counts the turns' requests behind the first request for a compaction.
func (r *codexRunner) reached(text string) (requests, holding int) {
	compacted := false
	for _, req := range r.stub.Log.Since(r.before) {
		switch {
		case req.Kind == openai.Compaction:
			compacted = true
		case compacted && req.Kind == openai.Turn:
			requests++
			if req.Count(text) > 0 {
				holding++
			}
		}
	}
	return requests, holding
}

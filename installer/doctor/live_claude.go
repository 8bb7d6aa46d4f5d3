package doctor

import (
	"encoding/json"
	"fmt"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
)

// claudeRunner makes Claude Code compact: two turns, /compact, and up to two
// turns more, each headless.
type claudeRunner struct {
	stub   *anthropic.Stub
	url    string
	before int // requests until the compaction was over
}

func startClaude() (*claudeRunner, error) {
	book := anthropic.NewBook().Otherwise(stubmodel.Text("There are 41 of them."))
	stub, err := anthropic.Start(book.Script)
	if err != nil {
		return nil, err
	}
	return &claudeRunner{stub: stub}, nil
}

func (r *claudeRunner) close() { _ = r.stub.Close() }

func (r *claudeRunner) configure(t *trial) (err error) {
	if r.url, err = t.url(r.stub.URL()); err != nil {
		return err
	}
	edit, err := installer.InstallJSON(nil, t.wanted(""))
	if err != nil {
		return err
	}
	return t.write(".claude/settings.json", edit.Data)
}

func (r *claudeRunner) compact(t *trial) error {
	t.Progress(t.c, "a turn of a made-up session")
	session, err := r.say(t, "", firstPrompt)
	if err != nil {
		return err
	}
	for _, step := range []struct{ tells, prompt string }{
		{"another turn", secondPrompt}, {"the compaction", "/compact"}, {"a turn after it", thirdPrompt}, {"and another", fourthPrompt},
	} {
		if step.prompt == thirdPrompt {
			r.before = r.stub.Len()
		}
		if _, holding := r.reached(t.mark()); step.prompt == fourthPrompt && holding > 0 {
			break
		}
		t.Progress(t.c, step.tells)
		if _, err := r.say(t, session, step.prompt); err != nil {
			return err
		}
	}
	return nil
}

func (r *claudeRunner) say(t *trial, session, prompt string) (string, error) {
	args := []string{"-p", prompt, "--output-format", "json"}
	if session != "" {
		args = append(args, "--resume", session)
	}
	out, err := t.outputIn([]string{
		"ANTHROPIC_BASE_URL=" + r.url, "ANTHROPIC_API_KEY=sk-ant-EXAMPLE-000000000000000000000000",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "IS_SANDBOX=1",
	}, "", args...)
	if err != nil {
		return "", err
	}
	var said struct {
		SessionID string `json:"session_id"`
		IsError   bool   `json:"is_error"`
		Result    string `json:"result"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil {
		return "", fmt.Errorf("the client's answer isn't the expected JSON: %w: %.200q", err, out)
	}
	if said.IsError {
		return "", fmt.Errorf("the client reports an error: %.300s", said.Result)
	}
	return said.SessionID, nil
}

func (r *claudeRunner) reached(text string) (requests, holding int) {
	for _, req := range r.stub.Since(r.before) {
		if req.Kind != anthropic.Main {
			continue
		}
		requests++
		if anthropic.Occurrences(req, text) > 0 {
			holding++
		}
	}
	return requests, holding
}

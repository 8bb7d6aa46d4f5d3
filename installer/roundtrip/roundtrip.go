// Package roundtrip shows that the installed hook programs work: it takes one
// made-up session through a compaction in a throw-away home, as a client would,
// and says what came out.
//
// It proves the programs, not that a client fires them: that is the doctor's
// business.
package roundtrip

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/client"
)

// Programs are the two hook programs to run, as absolute paths.
type Programs struct {
	Precompact, Directive string
}

// Result is what one round trip came to.
type Result struct {
	Client    client.Client
	Directive string   // the text that a session would have got
	Packet    string   // the packet's folder, gone once Run has returned
	Files     []string // name and bytes of each of its files
	Steps     []Step
}

// Step is one run of a program.
type Step struct {
	Event   string
	Program string
	Took    time.Duration
}

// session is the made-up session's id.
const session = "00000000-0000-4000-8000-00000000beef"

// Run takes the made-up session of client c from PreCompact to the delivered
// directive, and makes sure that a second delivery doesn't happen.
func Run(ctx context.Context, p Programs, c client.Client) (Result, error) {
	return RunWith(ctx, c, func(ctx context.Context, event, state string) (*exec.Cmd, error) {
		program := p.Directive
		if event == "PreCompact" {
			program = p.Precompact
		}
		cmd := exec.CommandContext(ctx, program, "--runtime", string(c), "--home", state)
		cmd.Env = []string{"HOME=" + filepath.Dir(state), "PATH=" + os.Getenv("PATH")}
		return cmd, nil
	})
}

// Hook makes the command that runs the hook of an event on a state folder. Its
// streams and folder are set by the round trip.
type Hook func(ctx context.Context, event, state string) (*exec.Cmd, error)

// RunWith is Run with hooks of any kind, such as the command strings of a
// configuration.
func RunWith(ctx context.Context, c client.Client, hook Hook) (Result, error) {
	home, err := os.MkdirTemp("", "reseat-round-trip-")
	if err != nil {
		return Result{}, fmt.Errorf("making a throw-away home: %w", err)
	}
	defer os.RemoveAll(home)
	t := trip{ctx: ctx, home: home, client: c, start: hook, result: Result{Client: c}}
	err = t.run()
	return t.result, err
}

type trip struct {
	ctx        context.Context
	home       string
	client     client.Client
	start      Hook
	transcript string
	result     Result
}

func (t *trip) run() error {
	work := filepath.Join(t.home, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		return err
	}
	t.transcript = filepath.Join(t.home, "transcript.jsonl")
	if err := os.WriteFile(t.transcript, []byte(t.made(work)), 0o600); err != nil {
		return err
	}
	for _, event := range []string{"UserPromptSubmit", "PreCompact"} { // nothing is pending yet
		if out, err := t.hook(event, work); err != nil {
			return err
		} else if len(out) > 0 {
			return fmt.Errorf("the hook of %s printed %.200q instead of nothing", event, out)
		}
	}
	if len(t.packets()) == 0 { // the delivery would make one now, and hide it
		return errors.New("the hook of PreCompact kept no packet")
	}
	if t.client == client.Codex {
		if err := t.compacted(); err != nil {
			return err
		}
		if _, err := t.hook("PostCompact", work); err != nil {
			return err
		}
	}
	out, err := t.hook("SessionStart", work)
	if err != nil {
		return err
	}
	text := gjson.GetBytes(out, "hookSpecificOutput.additionalContext").Str
	if !gjson.ValidBytes(out) || text == "" {
		return fmt.Errorf("the hook of SessionStart printed no directive: %.200q", out)
	}
	t.result.Directive = text
	again, err := t.hook("SessionStart", work)
	if err != nil {
		return err
	}
	if len(again) > 0 {
		return errors.New("the directive was delivered twice")
	}
	if t.client == client.Claude { // which says last that it has compacted
		if _, err := t.hook("PostCompact", work); err != nil {
			return err
		}
	}
	return t.packet()
}

// compacted adds the record of a compaction, which Codex writes before it says
// that it has compacted.
func (t *trip) compacted() error {
	f, err := os.OpenFile(t.transcript, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, `{"timestamp":%q,"type":"compacted","payload":{"message":"Apples were counted.","replacement_history":[]}}`+"\n",
		time.Now().UTC().Format(time.RFC3339Nano))
	return errors.Join(err, f.Close())
}

// packet finds and lists the packet that the directive speaks of.
func (t *trip) packet() error {
	found := t.packets()
	if len(found) != 1 {
		return fmt.Errorf("%d packets were written instead of one", len(found))
	}
	t.result.Packet = found[0]
	if !strings.Contains(t.result.Directive, found[0]) {
		return errors.New("the directive doesn't name its packet")
	}
	entries, err := os.ReadDir(found[0])
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		t.result.Files = append(t.result.Files, fmt.Sprintf("%-24s %7d bytes", e.Name(), info.Size()))
	}
	return nil
}

// packets lists the packets that were kept.
func (t *trip) packets() []string {
	found, err := filepath.Glob(filepath.Join(t.home, "state", "s", "*", "c", "*", "packet"))
	if err != nil {
		panic(err) // the pattern is ours
	}
	return found
}

// hook runs one hook as the client would and returns what it printed.
func (t *trip) hook(event, work string) ([]byte, error) {
	payload, err := json.Marshal(map[string]string{
		"session_id": session, "transcript_path": t.transcript, "cwd": work, "hook_event_name": event,
		"trigger": "manual", "source": "compact", "turn_id": "turn-2", "prompt": "Go on.",
	})
	if err != nil {
		return nil, err
	}
	var out, complaint bytes.Buffer
	cmd, err := t.start(t.ctx, event, filepath.Join(t.home, "state"))
	if err != nil {
		return nil, err
	}
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = work, bytes.NewReader(payload), &out, &complaint
	start := time.Now()
	err = cmd.Run()
	t.result.Steps = append(t.result.Steps, Step{Event: event, Program: filepath.Base(cmd.Path), Took: time.Since(start)})
	if err != nil {
		return nil, fmt.Errorf("running %q for %s: %w: %s", cmd.Args, event, err, strings.TrimSpace(complaint.String()))
	}
	if complaint.Len() > 0 {
		return nil, fmt.Errorf("running %q for %s: %s", cmd.Args, event, strings.TrimSpace(complaint.String()))
	}
	return out.Bytes(), nil
}

// made is a made-up transcript in the client's form.
func (t *trip) made(work string) string {
	const request, answer = "Count the apples in the store and write the number down.", "I have counted 41 apples so far; the cellar is left."
	now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
	var lines []any
	type m = map[string]any
	if t.client == client.Codex {
		text := func(kind, s string) []any { return []any{m{"type": kind, "text": s}} }
		lines = []any{
			m{"timestamp": now, "type": "session_meta", "payload": m{"id": session, "timestamp": now, "cwd": work, "cli_version": "0.171.0"}},
			m{"timestamp": now, "type": "response_item", "payload": m{"type": "message", "role": "user", "content": text("input_text", request)}},
			m{"timestamp": now, "type": "event_msg", "payload": m{"type": "user_message", "message": request}},
			m{"timestamp": now, "type": "event_msg", "payload": m{"type": "agent_message", "message": answer}},
			m{"timestamp": now, "type": "response_item", "payload": m{"type": "message", "role": "assistant", "content": text("output_text", answer)}},
		}
	} else {
		record := func(kind, uuid string, parent any, message m) m {
			return m{
				"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": session, "cwd": work, "timestamp": now,
				"version": "2.1.332", "isSidechain": false, "userType": "external", "message": message,
			}
		}
		const first, second = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
		lines = []any{
			record("user", first, nil, m{"role": "user", "content": request}),
			record("assistant", second, first, m{
				"role": "assistant", "id": "msg_made_up", "model": "made-up",
				"content": []any{m{"type": "text", "text": answer}}, "usage": m{"input_tokens": 100, "output_tokens": 20},
			}),
		}
	}
	var b strings.Builder
	for _, l := range lines {
		data, err := json.Marshal(l)
		if err != nil {
			panic(err) // strings and maps of strings always encode
		}
		b.Write(data)
		b.WriteByte('\n')
	}
	return b.String()
}

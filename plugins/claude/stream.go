package claude

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/plugins"
)

// maxEvent is the longest event of the headless stream that is read; longer
// ones are skipped, none that matter here are.
const maxEvent = 1 << 20

// closed does the work on a session that nobody has open, with a headless
// client of ours.
func (w *work) closed(ctx context.Context) (plugins.Result, error) {
	path := w.transcriptOf(w.ref.ID, w.ref.CWD)
	if path == "" {
		if w.ref.Transcript != "" {
			return refused(plugins.NoHistory, "", "its transcript isn't there any more"), nil
		}
		return refused(plugins.NotFound, "", "no transcript and no live session with this id in "+w.config), nil
	}
	if w.program == "" {
		return refused(plugins.Unsupported, plugins.ReasonNoClient, "no claude was found on the PATH"), nil
	}
	dir, ok := workingDir(path, w.ref.CWD)
	if !ok {
		return refused(plugins.Unsupported, plugins.ReasonNoChannel, "the folder that it worked in isn't there, and the client finds a session only from there"), nil
	}
	if w.dry {
		return plugins.Result{
			Channel: plugins.ChannelStream, State: plugins.StateClosed, Evidence: plugins.EvidenceNone, Detail: "nobody has it open",
		}, nil
	}
	result, err := w.headless(ctx, path, dir)
	result.Channel = plugins.ChannelStream
	return result, err
}

// workingDir finds the folder in which a session was started: of the working
// directories that its first records and the host's hint name, the one after
// which the client named the transcript's folder.
func workingDir(transcript, hint string) (dir string, ok bool) {
	want := filepath.Base(filepath.Dir(transcript))
	for _, dir := range append([]string{hint}, recordedDirs(transcript)...) {
		if dir != "" && projectFolder(dir) == want {
			info, err := os.Stat(dir)
			return dir, err == nil && info.IsDir()
		}
	}
	return "", false
}

// recordedDirs lists the working directories that a transcript's head names.
func recordedDirs(transcript string) []string {
	f, err := os.Open(transcript)
	if err != nil {
		return nil
	}
	defer f.Close()
	var dirs []string
	r := bufio.NewReaderSize(io.LimitReader(f, 4<<20), maxRecord)
	for {
		line, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = r.ReadSlice('\n')
		}
		if err != nil || len(dirs) == 16 {
			return dirs
		}
		if gjson.ValidBytes(line) {
			if cwd := gjson.GetBytes(line, "cwd"); cwd.Type == gjson.String && filepath.IsAbs(cwd.Str) {
				dirs = append(dirs, cwd.Str)
			}
		}
	}
}

// headless resumes the session in a client of ours, says the line and reads what
// comes.
func (w *work) headless(ctx context.Context, path, dir string) (plugins.Result, error) {
	from := sizeOf(path)
	ctx, cancel := context.WithTimeout(ctx, w.timeout())
	defer cancel()
	run, err := startHeadless(ctx, w.program, w.ref.ID, dir)
	if err != nil {
		return refused(plugins.Failed, plugins.ReasonNoClient, err.Error()), nil
	}
	defer run.end()
	// Somebody may have opened it while ours started.
	if opened, _, err := w.opened(w.ref.ID); err != nil {
		return plugins.Result{}, err
	} else if others := run.others(opened); len(others) > 0 {
		return refused(plugins.Busy, plugins.ReasonOpenElsewhere, fmt.Sprintf("process %d has just opened it", others[0].pid)), nil
	}
	w.stage(plugins.StageSending, fmt.Sprintf("headless client, process %d", run.cmd.Process.Pid))
	if err := run.say(w.line); err != nil {
		return w.unsaid(run, err), nil
	}
	w.stage(plugins.StageSent, "")
	said := run.read(w.stage)
	exit := run.end()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !said.done {
		said.late = true
	}
	return w.judgeStream(context.WithoutCancel(ctx), said, exit, path, from), nil
}

// unsaid is the result where the client went away before it took the line.
func (w *work) unsaid(run *headlessRun, err error) plugins.Result {
	_ = run.end()
	if strings.Contains(run.stderr.String(), "No conversation found") {
		return refused(plugins.NoHistory, "", firstLine(run.stderr.String()))
	}
	result := refused(plugins.Failed, plugins.ReasonClientExited, fmt.Sprintf("%v; it said: %s", err, firstLine(run.stderr.String())))
	result.Sent = true
	return result
}

// judgeStream turns what the stream and the transcript tell into a result.
func (w *work) judgeStream(ctx context.Context, said streamed, exit error, path string, from int64) plugins.Result {
	result := plugins.Result{Sent: true, State: plugins.StateClosed, Evidence: plugins.EvidenceNone}
	if w.compaction {
		if b := boundaryAfter(ctx, path, from); b != nil {
			b.PostTokens = max(b.PostTokens, said.postTokens)
			return compacted(b, plugins.ChannelStream, plugins.StateClosed)
		}
		if said.boundary {
			return compacted(nil, plugins.ChannelStream, plugins.StateClosed)
		}
	}
	switch outcome, reason, ok := judge(said.refusal()); {
	case strings.Contains(said.stderr, "No conversation found"):
		result.Outcome, result.Sent, result.Detail = plugins.NoHistory, false, firstLine(said.stderr)
	case w.compaction && ok && outcome != plugins.Compacted:
		result.Outcome, result.Reason, result.Detail = outcome, reason, firstLine(said.refusal())
	case said.late:
		result.Outcome, result.Detail = plugins.TimedOut, "no end was seen in time; our headless client was ended, and the transcript shows no boundary"
	case !w.compaction && said.done && !said.failed && said.answered:
		result.Outcome, result.Evidence = plugins.Answered, plugins.EvidenceCompletion
	case said.done && said.failed:
		result.Outcome, result.Reason, result.Detail = plugins.Failed, plugins.ReasonClientError, firstLine(said.text)
	case !said.done:
		result.Outcome, result.Reason = plugins.Failed, plugins.ReasonClientExited
		result.Detail = fmt.Sprintf("the headless client ended early (%v): %s", exit, firstLine(said.stderr))
	default:
		result.Outcome, result.Detail = plugins.Unknown, firstLine(said.text)
	}
	return result
}

// streamed is what a headless client told.
type streamed struct {
	boundary   bool
	postTokens int64
	done       bool // the result event came
	failed     bool // it is marked as an error
	answered   bool // the model answered
	late       bool
	result     string // compact_result
	reason     string // compact_error
	text       string // of the result event
	stderr     string
}

// refusal is why the client didn't compact, in its own words.
func (s streamed) refusal() string {
	if s.reason != "" {
		return s.reason
	}
	if s.result == "failed" {
		return "Error: " + s.text
	}
	return s.text
}

// headlessRun is a running headless client.
type headlessRun struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr tail
	ended  bool
	exit   error
}

func startHeadless(ctx context.Context, program, id, dir string) (*headlessRun, error) {
	run := &headlessRun{cmd: exec.CommandContext(ctx, program, "-p", "--resume", id,
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose")}
	run.cmd.Dir = dir
	run.cmd.Env = clientEnviron(os.Environ(), dir)
	run.cmd.Stderr = &run.stderr
	run.cmd.Cancel = func() error { return run.cmd.Process.Signal(syscall.SIGTERM) }
	run.cmd.WaitDelay = 5 * time.Second
	var err error
	if run.stdin, err = run.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if run.stdout, err = run.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := run.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a headless client: %w", err)
	}
	return run, nil
}

// clientEnviron is the adapter's environment without what concerns adapters.
func clientEnviron(environ []string, dir string) []string {
	var out []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PLUGIN_") || strings.HasPrefix(name, "RESEAT_ADAPTER_") || name == "RESEAT_RUNTIME_ADAPTER" || name == "PWD" {
			continue
		}
		out = append(out, entry)
	}
	return append(out, "PWD="+dir)
}

// others are the live sessions that aren't this run's own.
func (r *headlessRun) others(opened []live) []live {
	var out []live
	for _, s := range opened {
		if s.pid != r.cmd.Process.Pid {
			out = append(out, s)
		}
	}
	return out
}

// say gives the client one user message and closes its stdin: it ends after the
// answer.
func (r *headlessRun) say(text string) error {
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	line, err := json.Marshal(struct {
		Type    string  `json:"type"`
		Message message `json:"message"`
	}{"user", message{"user", text}})
	if err != nil {
		return err
	}
	if _, err := r.stdin.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("the headless client doesn't listen: %w", err)
	}
	return r.stdin.Close()
}

// read reads the stream to its end.
func (r *headlessRun) read(stage func(plugins.Stage, string)) streamed {
	var s streamed
	in := bufio.NewReaderSize(r.stdout, maxEvent)
	for {
		line, err := in.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			line = nil
			_, err = in.ReadSlice('\n')
		}
		if len(line) > 0 && gjson.ValidBytes(line) {
			s.take(gjson.ParseBytes(line), stage)
		}
		if err != nil {
			break
		}
	}
	_ = r.end()
	s.stderr = r.stderr.String()
	return s
}

// take reads one event of the stream, as 2.1.197 to 2.1.332 write them.
func (s *streamed) take(event gjson.Result, stage func(plugins.Stage, string)) {
	switch event.Get("type").Str + "/" + event.Get("subtype").Str {
	case "system/status":
		if event.Get("status").Str == "compacting" {
			stage(plugins.StageRunning, "the client says that it compacts")
		}
		if result := event.Get("compact_result"); result.Exists() {
			s.result, s.reason = result.String(), event.Get("compact_error").String()
		}
	case "system/compact_boundary":
		s.boundary = true
		s.postTokens = event.Get("compact_metadata.post_tokens").Int()
		stage(plugins.StageConfirming, "")
	case "assistant/":
		s.answered = s.answered || event.Get("message.model").Str != "<synthetic>"
	default:
		if event.Get("type").Str == "result" {
			s.done = true
			s.failed = event.Get("is_error").Bool() || event.Get("subtype").Str != "success"
			s.text = event.Get("result").String()
		}
	}
}

// end waits for the client to go.
func (r *headlessRun) end() error {
	if !r.ended {
		r.ended = true
		r.stdin.Close()
		// Read what is left: a client that can't write doesn't end.
		_, _ = io.Copy(io.Discard, r.stdout)
		r.exit = r.cmd.Wait()
	}
	return r.exit
}

// tail keeps the last bytes written to it.
type tail struct{ b bytes.Buffer }

const keepTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b.Write(p)
	if over := t.b.Len() - keepTail; over > 0 {
		t.b.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string { return t.b.String() }

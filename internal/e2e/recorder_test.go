//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// recordArg makes the test binary a hook that only writes down what it got.
const recordArg = "record-hook"

// recorded is one run of the recording hook.
type recorded struct {
	Time       time.Time
	Payload    json.RawMessage
	Env        map[string]string
	Transcript string // a copy of the transcript as it was then; "" where there was none
}

// get reads a field of the payload; "" if it isn't there.
func (r recorded) get(field string) string { return gjson.GetBytes(r.Payload, field).String() }

// has says whether the payload has a field.
func (r recorded) has(field string) bool { return gjson.GetBytes(r.Payload, field).Exists() }

// name is the event with what tells it apart: SessionStart(compact),
// PreCompact(auto), UserPromptSubmit.
func (r recorded) name() string {
	event := r.get("hook_event_name")
	if detail := r.get("source") + r.get("trigger"); detail != "" {
		return event + "(" + detail + ")"
	}
	return event
}

// recorder is a folder of what the recording hook got.
type recorder struct{ dir string }

func newRecorder(t *testing.T, h *home) recorder {
	t.Helper()
	dir := filepath.Join(h.Dir, "recorded")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return recorder{dir}
}

// command is the hook command line that records.
func (r recorder) command(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("'%s' %s '%s'", self, recordArg, r.dir)
}

// events is what was recorded so far, oldest first.
func (r recorder) events(t *testing.T) []recorded {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	var events []recorded
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var event recorded
		if err := json.Unmarshal(raw, &event); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		events = append(events, event)
	}
	slices.SortFunc(events, func(a, b recorded) int { return a.Time.Compare(b.Time) })
	return events
}

// names is the events' names, oldest first.
func (r recorder) names(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, event := range r.events(t) {
		names = append(names, event.name())
	}
	return names
}

// record is the hook: it prints nothing, and leaves one whole file.
func record(dir string, stdin io.Reader, environ []string) error {
	event := recorded{Time: time.Now(), Env: map[string]string{}}
	payload, err := io.ReadAll(stdin)
	if err != nil {
		return err
	}
	if !json.Valid(payload) {
		return fmt.Errorf("payload isn't JSON: %q", payload)
	}
	event.Payload = payload
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && !strings.Contains(name, "KEY") {
			event.Env[name] = value
		}
	}
	if transcript, err := os.ReadFile(event.get("transcript_path")); err == nil {
		event.Transcript = string(transcript)
	}
	encoded, err := json.Marshal(event)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, fmt.Sprintf("%d-%d", event.Time.UnixNano(), os.Getpid()))
	if err := os.WriteFile(name+".tmp", encoded, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".tmp", name+".json")
}

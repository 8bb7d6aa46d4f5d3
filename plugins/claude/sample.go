package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
)

// Sample is how full a session's context was, as the client told its status
// line.
type Sample struct {
	Session    string    `json:"session_id"`
	Version    string    `json:"version,omitempty"`
	Model      string    `json:"model,omitempty"`
	Tokens     int64     `json:"tokens"`           // in the context; 0 where the client didn't tell
	Window     int64     `json:"window"`           // of the model, in tokens; 0 if unknown
	Transcript string    `json:"transcript"`       // absolute path
	Bytes      int64     `json:"transcript_bytes"` // of the transcript when the sample was taken
	At         time.Time `json:"sampled_at"`
}

// keepSamples is how long a sample is kept after the session's last one.
const keepSamples = 14 * 24 * time.Hour

// ParseSample reads the JSON that Claude Code gives a status line (seen on
// 2.1.332). It touches no file but for the size of the transcript.
func ParseSample(data []byte, now time.Time) (Sample, error) {
	if !gjson.ValidBytes(data) {
		return Sample{}, errors.New("the status line's input isn't JSON")
	}
	r := gjson.ParseBytes(data)
	s := Sample{
		Session: r.Get("session_id").String(), Version: r.Get("version").String(), Model: r.Get("model.id").String(),
		Window: r.Get("context_window.context_window_size").Int(), Transcript: r.Get("transcript_path").String(), At: now.UTC(),
	}
	if !validID(s.Session) {
		return Sample{}, errors.New("the status line's input names no session")
	}
	usage := r.Get("context_window.current_usage")
	for _, kind := range []string{"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"} {
		s.Tokens += max(0, usage.Get(kind).Int())
	}
	s.Bytes = sizeOf(s.Transcript)
	return s, nil
}

func samplesDir(home state.Home) string { return home.Join("plugins", "claude", "samples") }

func samplePath(home state.Home, session string) string {
	return filepath.Join(samplesDir(home), state.SessionName(client.Claude, session)+".json")
}

// Keep writes the sample into the state folder, in place of the session's last
// one. The first sample of a session sweeps out those long unused.
func (s Sample) Keep(home state.Home) error {
	path := samplePath(home, s.Session)
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	err = durable.WriteCache(path, data, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := durable.MakeDirs(samplesDir(home), 0o700); err != nil {
			return err
		}
		err = durable.WriteCache(path, data, 0o600)
	}
	return err
}

// SweepSamples removes samples that are older than a fortnight.
func SweepSamples(home state.Home, now time.Time) error {
	entries, err := os.ReadDir(samplesDir(home))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("sweeping status-line samples: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasSuffix(e.Name(), ".json") && now.Sub(info.ModTime()) > keepSamples {
			_ = os.Remove(filepath.Join(samplesDir(home), e.Name()))
		}
	}
	return nil
}

// readSample reads a session's last sample; ok is false if there is none that
// can be read or if it is another session's.
func readSample(home state.Home, session string) (s Sample, ok bool) {
	if home == "" {
		return Sample{}, false
	}
	data, err := readSmall(samplePath(home, session))
	if err != nil || json.Unmarshal(data, &s) != nil || s.Session != session {
		return Sample{}, false
	}
	return s, true
}

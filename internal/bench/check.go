package main

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
)

// checkPacket fails unless the packet in dir is valid and holds the nonces that
// it claims to cover.
func (w *world) checkPacket(ctx context.Context, s *session, dir string, whole bool) error {
	if out, err := w.reseat(ctx, "packet", "validate", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("packet %s isn't valid: %w\n%s", dir, err, out)
	}
	var summary struct {
		Latest struct {
			Count int `json:"message_count"`
		} `json:"bounded_latest_transcript"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "restore-summary.json"))
	if err == nil {
		err = json.Unmarshal(data, &summary)
	}
	if err != nil {
		return err
	}
	p := s.planted
	want := map[string][]string{
		"continuity.json":      append([]string{p.Opening, p.Edited, p.Failed}, append(p.Plan[:], p.Agents[:]...)...),
		"touched-files.md":     {p.Edited},
		"transcript-latest.md": last(p.Messages, summary.Latest.Count-2*s.turns),
	}
	if summary.Latest.Count < 120 {
		return fmt.Errorf("packet %s holds %d messages", dir, summary.Latest.Count)
	}
	if whole {
		want["transcript.md"] = append([]string{p.Opening}, p.Messages...)
		if p.Buried != "" {
			want["transcript.md"] = append(want["transcript.md"], p.Buried)
		}
	}
	var missing []error
	for name, nonces := range want {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		for _, nonce := range nonces {
			if nonce == "" || !bytes.Contains(text, []byte(nonce)) {
				missing = append(missing, fmt.Errorf("%s lacks %q", name, nonce))
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("packet %s of %s (%d MB): %w", dir, s.client, s.size>>20, errors.Join(missing[:min(len(missing), 5)]...))
	}
	return nil
}

func last(list []string, n int) []string {
	return list[max(0, len(list)-max(0, n)):]
}

// checkDirective fails unless a hook printed one directive that names the
// plan's open item, and returns its text.
func checkDirective(s *session, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var doc struct {
		Out struct {
			Text string `json:"additionalContext"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return "", fmt.Errorf("a directive was expected, printed was %.200q: %w", data, err)
	}
	if !strings.Contains(doc.Out.Text, s.planted.Plan[1]) {
		return "", fmt.Errorf("the directive doesn't name the open item %q:\n%s", s.planted.Plan[1], doc.Out.Text)
	}
	return doc.Out.Text, nil
}

// reseat is the operator's command, unmeasured.
func (w *world) reseat(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(w.bin, "reseat"), args...)
	cmd.Env = w.env()
	cmd.Dir = w.cwd
	return cmd
}

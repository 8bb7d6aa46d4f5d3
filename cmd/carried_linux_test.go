package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet"
)

// TestFiveCompactionsKeepWhatTheFirstKept compacts a session five times, with more
// said and done between two of them than a reading goes back: what the fifth
// packet has of the work's beginning it has from the packets before.
func TestFiveCompactionsKeepWhatTheFirstKept(t *testing.T) {
	for _, c := range client.All() {
		t.Run(string(c), func(t *testing.T) {
			s := newSeat(t, string(c))
			config := filepath.Join(s.home, ".config", "reseat", "config.toml")
			if err := os.MkdirAll(filepath.Dir(config), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(config, []byte(fmt.Sprintf("[project.%q]\nintent = \"Silver ferry 77.\"\n", s.work)), 0o644); err != nil {
				t.Fatal(err)
			}
			planted := s.generated(0)
			for n := range 5 {
				if n > 0 {
					s.muchMore(n)
				}
				for _, event := range []string{"PreCompact", "SessionStart", "PostCompact", "SessionStart", "UserPromptSubmit"} {
					if event == "PostCompact" {
						s.boundary()
					}
					if _, complaint, code := s.run(event); code != 0 || complaint != "" {
						t.Fatalf("%s: exit %d, %s", event, code, complaint)
					}
				}
				if err := os.RemoveAll(config); err != nil {
					t.Fatal(err)
				}
			}
			dirs := s.allPackets()
			if len(dirs) != 5 {
				t.Fatalf("packets: %q", dirs)
			}
			s.valid(dirs[4])
			cont, err := packet.DecodeContinuity([]byte(s.file(dirs[4], "continuity.json")))
			if err != nil {
				t.Fatal(err)
			}
			if cont.Reach.From < planted.Bytes {
				t.Fatalf("the reading began at byte %d, the beginning is %d bytes", cont.Reach.From, planted.Bytes)
			}
			if cont.Intent == nil || cont.Intent.Text != "Silver ferry 77." || cont.Intent.Carried == nil {
				t.Errorf("intent %+v", cont.Intent)
			}
			if len(cont.Opening) == 0 || !strings.Contains(cont.Opening[0].Text, planted.Opening) {
				t.Errorf("opening %+v", cont.Opening)
			}
			s.planned(cont, planted)
			if len(cont.OpenWork) != 2 {
				t.Fatalf("open work %+v, want %q", cont.OpenWork, planted.Agents)
			}
			for i, w := range cont.OpenWork {
				if w.Description != planted.Agents[i] {
					t.Errorf("open work %+v, want %q", w, planted.Agents[i])
				}
				s.stands(w.Description, w.Source)
			}
			if cont.Plan == nil || cont.Plan.Source.Carried == nil || cont.OpenWork[0].Source.Carried == nil {
				t.Errorf("plan %+v and open work %+v aren't carried", cont.Plan, cont.OpenWork)
			}
		})
	}
}

// muchMore appends 130 turns and, behind each, as much of a tool's output as makes
// 10 MB in all.
func (s *seat) muchMore(round int) {
	s.t.Helper()
	output := strings.Repeat("ok   github.com/example/importer/reader 0.4s\\n", 80<<10/46)
	for n := range 130 {
		s.turn(fmt.Sprintf("Step %d of round %d.", n, round), "Done.")
		if s.runtime == "codex" {
			s.raw(`{"timestamp":"2026-11-29T10:00:00.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"none","output":"`, output, `"}}`)
			continue
		}
		s.raw(`{"type":"user","uuid":"`, fmt.Sprintf("more-%d-%d", round, n), `","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"none","content":"`, output,
			`"}]},"sessionId":"`, s.session, `","timestamp":"2026-11-29T10:00:00.000Z","version":"2.1.332","isSidechain":false}`)
	}
}

// allPackets are the folders of the seat's packets, oldest first.
func (s *seat) allPackets() []string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.home, "state", "s", "*", "c", "*", "packet"))
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}

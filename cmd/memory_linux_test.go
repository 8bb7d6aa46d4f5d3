package cmd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/transcripts"
	"github.com/reseat-dev/reseat/packet"
)

// memoryLimit is what reseat-precompact and its children may hold at any time,
// whatever the transcript's size.
const memoryLimit = 32 << 20

// TestPeakMemoryFollowsNoTranscript runs the real program on transcripts of 1 and
// 50 MB; with RESEAT_TEST_LARGE=1 (make test-large) on 500 MB and 4 GB as well,
// which needs that much room in $TMPDIR.
//
// The program and each of its children, which run one at a time, are measured
// with wait4 from a fresh process: at exec the kernel counts what the parent held.
func TestPeakMemoryFollowsNoTranscript(t *testing.T) {
	sizes := []int64{1 << 20, 50 << 20}
	if os.Getenv("RESEAT_TEST_LARGE") != "" {
		sizes = append(sizes, 500<<20, 4<<30)
	}
	for _, c := range client.All() {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%dMB", c, size>>20), func(t *testing.T) {
				s := newSeat(t, string(c))
				s.trap()
				planted := s.generated(size)
				peak, git := s.measured()
				t.Logf("transcript %d bytes: at most %.1f MB, of it git %.1f MB", planted.Bytes, mb(peak+git), mb(git))
				if peak+git >= memoryLimit {
					t.Errorf("%d bytes", peak+git)
				}
				dir := s.onlyPacket()
				s.valid(dir)
				s.covers(dir, planted)
			})
		}
	}
}

// TestPeakMemoryFollowsNoLine: an answer of 100 MB, one of many long strings, and
// an image of 8 MB, and behind them what the packet has to hold.
func TestPeakMemoryFollowsNoLine(t *testing.T) {
	for _, c := range client.All() {
		t.Run(string(c), func(t *testing.T) {
			s := newSeat(t, string(c))
			s.trap()
			long := strings.Repeat("a long line of words, ", 100<<20/22)
			parts := strings.Repeat(`{"type":"text","text":"`+long[:400<<10]+`"},`, 50)
			image := strings.Repeat("QUJD", 2<<20)
			if c == client.Codex {
				s.raw(`{"timestamp":"2026-11-29T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"LONG-HERON `, long, `"}]}}`)
				s.raw(`{"timestamp":"2026-11-29T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[`, strings.TrimSuffix(parts, ","), `]}}`)
				s.raw(`{"timestamp":"2026-11-29T10:00:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"IMAGE-HERON"},{"type":"input_image","image_url":"data:image/png;base64,`, image, `"}]}}`)
			} else {
				record := `,"sessionId":"` + s.session + `","timestamp":"2026-11-29T10:00:00.000Z","version":"2.1.332","isSidechain":false}`
				s.raw(`{"type":"assistant","uuid":"l1","parentUuid":"nowhere","message":{"role":"assistant","id":"m1","content":[{"type":"text","text":"LONG-HERON `, long, `"}]}`, record)
				s.raw(`{"type":"assistant","uuid":"l2","parentUuid":"l1","message":{"role":"assistant","id":"m2","content":[`, strings.TrimSuffix(parts, ","), `]}`, record)
				s.raw(`{"type":"user","uuid":"l3","parentUuid":"l2","message":{"role":"user","content":[{"type":"text","text":"IMAGE-HERON"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"`, image, `"}}]}`, record)
			}
			s.turn("LAST-HERON", "The end.")
			peak, git := s.measured()
			t.Logf("at most %.1f MB, of it git %.1f MB", mb(peak+git), mb(git))
			if peak+git >= memoryLimit {
				t.Errorf("%d bytes", peak+git)
			}
			dir := s.onlyPacket()
			s.valid(dir)
			latest := s.file(dir, "transcript-latest.md")
			for _, words := range []string{"LONG-HERON a long line", "bytes left out]", "IMAGE-HERON", "[1 image left out]", "LAST-HERON", "The end."} {
				if !strings.Contains(latest, words) {
					t.Errorf("transcript-latest.md doesn't hold %q", words)
				}
			}
			if !strings.Contains(s.file(dir, "continuity.json"), "every seventh record") {
				t.Error("the opening request isn't there")
			}
		})
	}
}

// raw appends one line, given in pieces.
func (s *seat) raw(pieces ...string) {
	s.t.Helper()
	f, err := os.OpenFile(s.transcript, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	for _, piece := range append(pieces, "\n") {
		if _, err := f.WriteString(piece); err != nil {
			s.t.Fatal(err)
		}
	}
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }

// generated puts a transcript of a size in the place of the seat's own.
func (s *seat) generated(size int64) *transcripts.Planted {
	s.t.Helper()
	if err := os.Remove(s.transcript); err != nil {
		s.t.Fatal(err)
	}
	planted, err := transcripts.Create(s.transcript, transcripts.Spec{
		Client: client.Client(s.runtime), Size: size, Seed: 1, Session: s.session, CWD: s.work,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return planted
}

// measured runs PreCompact and returns the most that the program or one of its
// children held, in bytes, and what git holds at most in this repository.
func (s *seat) measured() (peak, git int64) {
	s.t.Helper()
	hook := s.command(s.t.Context(), "reseat-precompact")
	hook.Stdin = bytes.NewReader(s.payload("PreCompact"))
	status := exec.Command("git", "-C", s.work, "--no-optional-locks", "-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch")
	status.Env, status.Dir = hook.Env, s.work
	return s.maxrss(hook), s.maxrss(status)
}

func (s *seat) maxrss(cmd *exec.Cmd) int64 {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	var out bytes.Buffer
	wrapped := exec.Command(self, cmd.Args...)
	wrapped.Env, wrapped.Dir, wrapped.Stdin = append(cmd.Env, measureVariable+"=1"), cmd.Dir, cmd.Stdin
	wrapped.Stdout, wrapped.Stderr = &out, os.Stderr
	if err := wrapped.Run(); err != nil {
		s.t.Fatalf("%v: %v", cmd.Args, err)
	}
	var n int64
	if err := json.Unmarshal(out.Bytes(), &n); err != nil {
		s.t.Fatalf("%q: %v", out.String(), err)
	}
	return n
}

// measure is the wrapper: it runs args and prints the most that they or one of
// their children held.
func measure(args []string) int {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stderr = os.Stdin, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss * 1024)
	return 0
}

// onlyPacket finds the packet that the seat's one PreCompact wrote.
func (s *seat) onlyPacket() string {
	s.t.Helper()
	found := s.allPackets()
	if len(found) != 1 {
		s.t.Fatalf("packets: %q", found)
	}
	return found[0]
}

func (s *seat) valid(dir string) {
	s.t.Helper()
	cmd := exec.Command(filepath.Join(s.bin, "reseat"), "packet", "validate", dir)
	cmd.Env = []string{"HOME=" + s.home}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Errorf("validate: %v\n%s", err, out)
	}
}

// covers checks that a packet holds the nonces of what it claims to cover, and no
// message that it doesn't.
func (s *seat) covers(dir string, p *transcripts.Planted) {
	s.t.Helper()
	latest := s.file(dir, "transcript-latest.md")
	from := len(p.Messages) - 120
	for i, nonce := range p.Messages {
		if has := strings.Contains(latest, nonce); has != (i >= from) {
			s.t.Errorf("message %d of %d, %q: %v", i+1, len(p.Messages), nonce, has)
		}
	}
	if p.Buried != "" && strings.Contains(latest, p.Buried) {
		s.t.Errorf("%q stands in the latest messages", p.Buried)
	}
	c, err := packet.DecodeContinuity([]byte(s.file(dir, "continuity.json")))
	if err != nil {
		s.t.Fatal(err)
	}
	var requests []string
	for _, w := range c.Requests {
		requests = append(requests, w.Text)
		s.stands(nonceOf(w.Text), w.Source)
	}
	if len(requests) == 0 || !strings.Contains(requests[len(requests)-1], p.Requests[len(p.Requests)-1]) {
		s.t.Errorf("requests: %q", requests)
	}
	if len(c.Opening) == 0 || !strings.Contains(c.Opening[0].Text, p.Opening) {
		s.t.Errorf("opening: %+v", c.Opening)
	} else {
		s.stands(p.Opening, c.Opening[0].Source)
	}
	var open []string
	for _, w := range c.OpenWork {
		open = append(open, w.Description)
		s.stands(w.Description, w.Source)
	}
	if fmt.Sprint(open) != fmt.Sprint(p.Agents) {
		s.t.Errorf("open work: %q, want %q", open, p.Agents)
	}
	s.planned(c, p)
	s.failed(c, p)
}

func (s *seat) planned(c *packet.Continuity, p *transcripts.Planted) {
	s.t.Helper()
	if c.Plan == nil || len(c.Plan.Items) != len(p.Plan) {
		s.t.Errorf("plan: %+v", c.Plan)
		return
	}
	for i, item := range c.Plan.Items {
		if item.Text != p.Plan[i] || item.Status != []string{"completed", "in_progress", "pending"}[i] {
			s.t.Errorf("plan: %+v", item)
		}
		s.stands(item.Text, item.Source)
	}
	if c.Work.Text == "" || !strings.Contains(c.Work.Text, p.Plan[1]) {
		s.t.Errorf("current work: %q", c.Work.Text)
	}
	for _, f := range c.Files.Edited {
		if strings.Contains(f.Path, p.Edited) {
			s.stands(p.Edited, f.Last)
			return
		}
	}
	s.t.Errorf("%q isn't among the edited files", p.Edited)
}

func (s *seat) failed(c *packet.Continuity, p *transcripts.Planted) {
	s.t.Helper()
	for _, cmd := range c.Commands {
		if !strings.Contains(cmd.Text, p.Failed) {
			continue
		}
		if !cmd.Test || !cmd.Failed || !strings.Contains(cmd.Output, p.Output) {
			s.t.Errorf("the failed test: %+v", cmd)
		}
		s.stands(p.Failed, cmd.Source)
		s.stands(p.Output, cmd.Result)
		return
	}
	s.t.Errorf("no command %q", p.Failed)
}

// stands checks that a nonce stands in the line that a source points at.
func (s *seat) stands(nonce string, at packet.Source) {
	s.t.Helper()
	f, err := os.Open(s.transcript)
	if err != nil {
		s.t.Fatal(err)
	}
	defer f.Close()
	buf := make([]byte, 256<<10)
	n, _ := f.ReadAt(buf, at.Offset)
	line, _, _ := bytes.Cut(buf[:n], []byte("\n"))
	if nonce == "" || !bytes.Contains(line, []byte(nonce)) {
		s.t.Errorf("%q doesn't stand at byte %d: %.200s", nonce, at.Offset, line)
	}
}

// nonceOf is the nonce of a message's text.
func nonceOf(text string) string {
	_, rest, _ := strings.Cut(text, " ")
	nonce, _, _ := strings.Cut(rest, ":")
	return nonce
}

func (s *seat) file(dir, name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

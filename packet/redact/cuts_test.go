package redact_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet"
	"github.com/reseat-dev/reseat/packet/redact"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// group is how many kinds of secret one packet is made of.
const group = 20

// TestNoKindOfSecretIsTornByACut plants a secret of each kind across every place
// where a reader or a packet cuts a text: in messages, commands, outputs, plans
// and descriptions. No 8 bytes of one may stand in any file of the packet.
func TestNoKindOfSecretIsTornByACut(t *testing.T) {
	red, err := redact.New(redact.Options{})
	if err != nil {
		t.Fatal(err)
	}
	planted, torn := 0, 0
	for kinds := range slices.Chunk(redact.Secrets(20261130), group) {
		s := &session{rng: rand.New(rand.NewPCG(5, 13))}
		for i, k := range kinds {
			planted += s.plant(i, k)
		}
		path := filepath.Join(t.TempDir(), "t.jsonl")
		if err := os.WriteFile(path, s.close(), 0o600); err != nil {
			t.Fatal(err)
		}
		files := packetOf(t, path, red)
		pieces := piecesOf(kinds)
		for name, text := range files {
			for i := 0; i+8 <= len(text); i++ {
				if k, found := pieces[text[i:i+8]]; found {
					t.Errorf("%s: %s holds %q of %q: %q", k.Kind, name, text[i:i+8], k.Hidden, text[max(i-80, 0):min(i+40, len(text))])
					torn++
					break
				}
			}
		}
	}
	fmt.Printf("secrets across cuts: %d planted, %d pieces left\n", planted, torn)
}

// piecesOf is every 8 bytes of the secrets, but for the frames of key blocks.
func piecesOf(kinds []redact.Secret) map[string]redact.Secret {
	const frames = "-----BEGIN PRIVATE KEY----- -----BEGIN RSA PRIVATE KEY----- -----BEGIN PGP PRIVATE KEY BLOCK----- -----BEGIN EC PRIVATE KEY----- " +
		"-----BEGIN OPENSSH PRIVATE KEY----- -----END PRIVATE KEY----- -----END RSA PRIVATE KEY----- -----END OPENSSH PRIVATE KEY-----"
	pieces := map[string]redact.Secret{}
	for _, k := range kinds {
		for i := 0; i+8 <= len(k.Hidden); i++ {
			if piece := k.Hidden[i : i+8]; !strings.Contains(frames, piece) {
				pieces[piece] = k
			}
		}
	}
	return pieces
}

// packetOf makes the packet of a transcript and returns its files by name.
func packetOf(t *testing.T, path string, red *redact.Redactor) map[string]string {
	t.Helper()
	story, err := transcript.Read(t.Context(), client.Claude, path, transcript.Options{MessageBytes: 16<<10 + packet.Overlap})
	if err != nil {
		t.Fatal(err)
	}
	if len(story.Messages) < 3*group/2 || len(story.Commands) == 0 || story.Plan == nil || len(story.Open) == 0 {
		t.Fatalf("%d messages, %d commands, plan %v, %d open", len(story.Messages), len(story.Commands), story.Plan != nil, len(story.Open))
	}
	made, err := packet.Make(packet.Input{
		Client: client.Claude, Session: "s", Transcript: path, Story: story, Time: time.Date(2026, 11, 29, 15, 0, 0, 0, time.UTC), Redactor: red,
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "packet")
	if err := made.Write(dir); err != nil {
		t.Fatal(err)
	}
	if r := packet.Validate(dir, red); !r.Valid {
		t.Errorf("%+v", r.Findings)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\\`, `\`).Replace(string(data))
	}
	return files
}

// session is a transcript of Claude Code in the making.
type session struct {
	rng   *rand.Rand
	b     bytes.Buffer
	n     int
	todos []any
}

type object = map[string]any

func (s *session) record(role string, content any) {
	s.n++
	r := object{
		"type": role, "uuid": fmt.Sprint("u", s.n), "parentUuid": nil, "isSidechain": false, "sessionId": "s", "version": "2.1.332",
		"timestamp": "2026-11-29T10:00:00.000Z", "message": object{"role": role, "id": fmt.Sprint("m", s.n), "content": content},
	}
	if s.n > 1 {
		r["parentUuid"] = fmt.Sprint("u", s.n-1)
	}
	enc := json.NewEncoder(&s.b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(r) // of strings, into memory
}

func (s *session) use(id, name string, input object) {
	s.record("assistant", []any{object{"type": "tool_use", "id": id, "name": name, "input": input}})
}

// across is a text in which the secret stands across byte at, filled with
// lines, and goes on behind it.
func (s *session) across(k redact.Secret, at int, filler string) string {
	start := strings.Index(k.Whole, k.Hidden) + 1 + s.rng.IntN(max(len(k.Hidden)-1, 1))
	before := at - start - 1
	text := strings.Repeat(filler, before/len(filler)+1)[:max(before, 0)]
	return text + "\n" + k.Whole + "\n" + strings.Repeat(redact.Prose+"\n", min(at/len(redact.Prose)+8, 90))
}

// plant puts a secret across each cut and says how often.
func (s *session) plant(i int, k redact.Secret) int {
	const words = redact.Prose + "\n"
	const gone = "the key ghp_EXAMPLE0123456789abcdefghijklmnopqrst was there\n" // redaction makes it short
	// A message: where the packet cuts it, where the reader does, and the latter
	// come near to the former by what goes before it.
	s.record("user", s.across(k, 16<<10-40, words))
	s.record("assistant", []any{object{"type": "text", "text": s.across(k, 24<<10-48, gone)}})
	// A command, and the front of what it printed.
	call := fmt.Sprint("c", i)
	s.use(call, "Bash", object{"command": "cat <<E\n" + s.across(k, 2<<10-48, words), "description": s.across(k, 1<<10-40, words)})
	end := 2 << 10
	if i%2 == 1 {
		end = 4 << 10
	}
	rest := strings.Repeat(words, 50)[:max(end-s.rng.IntN(len(k.Hidden))-1, 0)]
	s.record("user", []any{object{"type": "tool_result", "tool_use_id": call, "content": strings.Repeat(words, 100) + k.Whole + "\n" + rest}})
	s.todos = append(s.todos,
		object{"content": s.across(k, 1<<10-40, words), "status": "in_progress"},
		object{"content": s.across(k, 3<<10-48, gone), "status": "pending"})
	if strings.Contains(k.Whole, "\n") {
		return 7
	}
	// A description is one line.
	s.use(fmt.Sprint("a", i), "Agent", object{"description": strings.ReplaceAll(s.across(k, 1<<10-40, words), "\n", " "), "prompt": "p"})
	return 8
}

// close ends the session with its plan.
func (s *session) close() []byte {
	s.use("plan", "TodoWrite", object{"todos": s.todos})
	s.record("user", []any{object{"type": "tool_result", "tool_use_id": "plan", "content": "done"}})
	return s.b.Bytes()
}

package packet

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

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/redact"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// The real redactor on packets of texts that are cut at any place: nothing of a
// secret stays, and what is written passes the check for left ones.
func TestRealRedactorLeavesNothingToFind(t *testing.T) {
	red, err := redact.New(redact.Options{})
	must(t, err)
	rng := rand.New(rand.NewPCG(3, 5))
	pieces := []string{
		"the basket ", "password=EXAMPLEhunter2x9 ", "Authorization: Bearer EXAMPLEabcdefghijklmnopqrstuvwx0123 ", "ghp_EXAMPLE0123456789abcdefghijklmnopqrst ",
		"postgres://shop:EXAMPLEpw77x@db.example.invalid/x ", "\n", "## 3. user x\n", "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2 ", "{\"api_key\": \"EXAMPLEq8w7e6r5t4y3\"} ",
		"AKIAEXAMPLE234567ABC ", "toolu_01EXAMPLEabcdefghijkl ", "sk-ant-api03-EXAMPLE0123456789abcdef0123456789 ", "漢字 ",
	}
	long := func(n int) string {
		var b strings.Builder
		for b.Len() < n {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		return b.String()
	}
	for round := range 4 {
		in := anInput()
		in.Redactor = red
		in.Limits.MessageBytes = 200 + rng.IntN(3000)
		in.Story.Opening[0].Text, in.Story.Requests[3].Text = long(5000), long(9000)
		in.Story.Plan.Items[1].Text, in.Story.Open[0].Description = long(3000), long(3000)
		in.Story.Commands[0].Text, in.Story.Commands[0].Output = long(4000), long(1900)
		in.Instructions, in.Declared.Intent, in.Declared.Caveats = long(3000), long(2000), []string{long(1000)}
		in.Story.Files[0].Path = "/work/" + strings.ReplaceAll(long(100), "\n", "")
		for i := range 5 {
			in.Story.Messages = append(in.Story.Messages, said(100+i, "user", long(6000)))
		}
		in.Full = func(emit func(transcript.Message) error) error { return emit(said(1, "user", long(20_000))) }
		dir := written(t, in)
		if r := Validate(dir, red); !r.Valid {
			t.Errorf("round %d: %+v", round, r.Findings)
		}
		for _, file := range append(packetFiles, FullFile) {
			data, err := os.ReadFile(filepath.Join(dir, file))
			must(t, err)
			for _, secret := range []string{"hunter2x9", "defghijklmnop", "pw77x", "q8w7e6r5", "LE234567", "api03-EXAMPLE"} {
				if i := strings.Index(string(data), secret); i >= 0 && !strings.Contains(string(data[max(i-60, 0):i]), "toolu_") {
					t.Errorf("round %d: %s holds %s: %q", round, file, secret, data[max(i-80, 0):min(i+40, len(data))])
				}
			}
			if file == LatestFile && !strings.Contains(string(data), "a1b2c3d4e5f6a1b2c3d4e5f6a1b2c3d4e5f6a1b2") {
				t.Errorf("round %d: a commit's id went too", round)
			}
		}
	}
}

// Wherever reader and packet cut, a secret stands there: long texts of nothing
// but secrets, of each kind of item, read from a transcript. Nothing of one stays.
func TestNoCutLeavesAPieceOfASecret(t *testing.T) {
	red, err := redact.New(redact.Options{})
	must(t, err)
	rng := rand.New(rand.NewPCG(7, 11))
	random := func(n int) string {
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rng.IntN(len(alphabet))]
		}
		return string(b)
	}
	var planted []string
	plant := func(s string) string { planted = append(planted, s); return s }
	kinds := []struct {
		name string
		make func() string
	}{
		{"token", func() string { return "it is ghp_" + plant(random(36)) + " here\n" }},
		{"password", func() string { return "export DB_PASSWORD='" + plant(random(9)+"!"+random(8)) + "'\n" }},
		{"quoted words", func() string { return `passphrase: "` + plant(random(9)+"4 "+random(8)+"7 "+random(9)+"2") + "\"\n" }},
		{"address", func() string { return "see postgres://app:" + plant(random(16)) + "@db.example.invalid/app\n" }},
		{"bearer", func() string { return "Authorization: Bearer " + plant(random(40)) + "\n" }},
		{"key block", func() string {
			block := "-----BEGIN PRIVATE KEY-----\n"
			for range 12 {
				block += plant(random(64)) + "\n"
			}
			return block + plant(random(20)) + "\n-----END PRIVATE KEY-----\n"
		}},
	}
	for _, kind := range kinds {
		for _, c := range client.All() {
			t.Run(kind.name+"/"+string(c), func(t *testing.T) {
				planted = nil
				long := func(n int) string {
					var b strings.Builder
					for b.Len() < n {
						b.WriteString(kind.make())
					}
					return b.String()
				}
				path := filepath.Join(t.TempDir(), "t.jsonl")
				must(t, os.WriteFile(path, tornTranscript(c, long), 0o600))
				// Also as a long line, which is skimmed.
				for _, opt := range []transcript.Options{{MessageBytes: 16<<10 + Overlap}, {MessageBytes: 16<<10 + Overlap, LineBytes: 2 << 10}} {
					in := anInput()
					in.Redactor, in.Client, in.Session, in.Transcript = red, c, "s", path
					in.Story, err = transcript.Read(t.Context(), c, path, opt)
					must(t, err)
					if st := in.Story; len(st.Messages) < 2 || len(st.Commands) == 0 || st.Plan == nil {
						t.Fatalf("read: %d messages, %d commands, plan %v", len(st.Messages), len(st.Commands), st.Plan)
					}
					in.Full = func(emit func(transcript.Message) error) error {
						_, err := transcript.Walk(t.Context(), c, path, opt, emit)
						return err
					}
					dir := written(t, in)
					if r := Validate(dir, red); !r.Valid {
						t.Errorf("%+v", r.Findings)
					}
					noPiece(t, dir, planted)
				}
			})
		}
	}
}

// What the reader and the packet cut from a message is told as one number, in the
// text and in the count, and nothing of it twice.
func TestWhatWasCutFromAMessageIsCounted(t *testing.T) {
	red, err := redact.New(redact.Options{})
	must(t, err)
	for _, n := range []int{1000, 16<<10 + 1, 20_000, 16<<10 + Overlap + 1, 100_000} {
		path := filepath.Join(t.TempDir(), "t.jsonl")
		said := strings.Repeat("word ", n/5)
		must(t, os.WriteFile(path, []byte(`{"type":"user","uuid":"u","parentUuid":null,"isSidechain":false,"sessionId":"s","timestamp":"2026-11-29T10:00:00.000Z","message":{"role":"user","content":"`+said+`"}}`+"\n"), 0o600))
		in := anInput()
		in.Redactor, in.Session, in.Transcript, in.Previous = red, "s", path, nil
		in.Story, err = transcript.Read(t.Context(), client.Claude, path, transcript.Options{MessageBytes: 16<<10 + Overlap})
		must(t, err)
		c := mustMake(t, in).Continuity
		text := c.Opening[0].Text
		kept, mark, cut := strings.Cut(text, "\n[… ")
		if !cut {
			if len(text) != len(said) || c.Opening[0].Cut != 0 || c.Omitted.MessageBytes != 0 {
				t.Errorf("%d bytes: %d kept, %d cut, %d counted", len(said), len(text), c.Opening[0].Cut, c.Omitted.MessageBytes)
			}
			continue
		}
		left := int64(len(said) - len(kept))
		if mark != fmt.Sprintf("%d bytes left out]", left) || c.Opening[0].Cut != left || c.Omitted.MessageBytes != left || len(text) > 16<<10 {
			t.Errorf("%d bytes: %d kept, so %d are left out; said %q, cut %d, counted %d", len(said), len(kept), left, mark, c.Opening[0].Cut, c.Omitted.MessageBytes)
		}
	}
}

// noPiece looks for any 8 bytes of any of the planted secrets.
func noPiece(t *testing.T, dir string, planted []string) {
	t.Helper()
	pieces := map[string]string{}
	for _, secret := range planted {
		for i := 0; i+8 <= len(secret); i++ {
			pieces[secret[i:i+8]] = secret
		}
	}
	for _, file := range append(slices.Clone(packetFiles), FullFile) {
		data, err := os.ReadFile(filepath.Join(dir, file))
		must(t, err)
		for i := 0; i+8 <= len(data); i++ {
			if secret, ok := pieces[string(data[i:i+8])]; ok {
				t.Fatalf("%s holds %q of %q: %q", file, data[i:i+8], secret, data[max(i-100, 0):min(i+60, len(data))])
			}
		}
	}
}

// tornTranscript has long texts everywhere.
func tornTranscript(c client.Client, long func(int) string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	type m = map[string]any
	n := 0
	claude := func(role string, more m, content any) {
		n++
		r := m{
			"type": role, "uuid": fmt.Sprintf("00000000-0000-4000-8000-%012d", n), "parentUuid": nil, "isSidechain": false, "sessionId": "s",
			"timestamp": "2026-11-29T10:00:00.000Z", "version": "2.1.332", "message": m{"role": role, "content": content},
		}
		if n > 1 {
			r["parentUuid"] = fmt.Sprintf("00000000-0000-4000-8000-%012d", n-1)
		}
		for k, v := range more {
			r[k] = v
		}
		_ = enc.Encode(r)
	}
	codex := func(typ string, payload m) {
		_ = enc.Encode(m{"timestamp": "2026-11-29T10:00:00.000Z", "type": typ, "payload": payload})
	}
	text := func(s string) []any { return []any{m{"type": "text", "text": s}} }
	if c == client.Claude {
		claude("user", nil, long(40_000))
		claude("assistant", nil, text(long(60_000)))
		use := func(id, name string, input m) {
			claude("assistant", nil, []any{m{"type": "tool_use", "id": id, "name": name, "input": input}})
		}
		use("t1", "Bash", m{"command": "cat <<E\n" + long(9_000), "description": long(5_000)})
		claude("user", nil, []any{m{"type": "tool_result", "tool_use_id": "t1", "content": long(30_000)}})
		use("t2", "TodoWrite", m{"todos": []any{m{"content": long(6_000), "status": "in_progress"}, m{"content": long(2_000), "status": "pending"}}})
		claude("user", nil, []any{m{"type": "tool_result", "tool_use_id": "t2", "content": "done"}})
		use("t3", "Agent", m{"description": long(5_000), "prompt": "p"})
		use("t4", "ExitPlanMode", m{"plan": long(50_000)})
		claude("user", nil, long(17_000))
		return b.Bytes()
	}
	codex("session_meta", m{"id": "s", "cwd": "/w", "cli_version": "0.171.0"})
	said := func(role, kind, s string) {
		codex("response_item", m{"type": "message", "role": role, "content": []any{m{"type": kind, "text": s}}})
	}
	user := func(s string) {
		said("user", "input_text", s)
		codex("event_msg", m{"type": "user_message", "message": s})
	}
	call := func(id, name string, args m) {
		raw, _ := json.Marshal(args)
		codex("response_item", m{"type": "function_call", "name": name, "arguments": string(raw), "call_id": id})
	}
	user(long(40_000))
	said("assistant", "output_text", long(60_000))
	call("c1", "exec_command", m{"cmd": "cat <<E\n" + long(9_000)})
	codex("response_item", m{"type": "function_call_output", "call_id": "c1", "output": "Process exited with code 1\nOutput:\n" + long(30_000)})
	call("c2", "update_plan", m{"explanation": long(9_000), "plan": []any{m{"step": long(6_000), "status": "in_progress"}}})
	codex("response_item", m{"type": "function_call_output", "call_id": "c2", "output": "Plan updated"})
	call("c3", "spawn_agent", m{"message": long(5_000), "task_name": "x"})
	user(long(17_000))
	return b.Bytes()
}

// continuity.json says what ours adds to the policy that the summary names, and
// what it exempts.
func TestRedactionSaysHowItDiffersFromThePolicy(t *testing.T) {
	red, err := redact.New(redact.Options{Patterns: []string{"EXAMPLE[0-9]+"}})
	must(t, err)
	in := anInput()
	in.Redactor = red
	p := mustMake(t, in)
	r := p.Continuity.Redaction
	if p.Summary.RedactionPolicy != "openrig-v0" || r.Policy != "openrig-v0" || len(r.Exemptions) == 0 ||
		!slices.Contains(r.Additions, "the configuration's own patterns") {
		t.Errorf("got %+v", r)
	}
}

func BenchmarkMake(b *testing.B) {
	red, err := redact.New(redact.Options{})
	if err != nil {
		b.Fatal(err)
	}
	in := anInput()
	in.Redactor = red
	for i := range 120 {
		in.Story.Messages = append(in.Story.Messages, said(i, "assistant", strings.Repeat(fmt.Sprintf("line %d of an answer about /work/shop/basket/store.go\n", i), 30)))
	}
	for b.Loop() {
		if _, err := Make(in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadContinuity(b *testing.B) {
	dir := written(b, anInput())
	for b.Loop() {
		if _, err := ReadContinuity(dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	p := mustMake(b, anInput())
	parent := b.TempDir()
	for i := 0; b.Loop(); i++ {
		if err := p.Write(filepath.Join(parent, fmt.Sprint(i)), LeaveParentSync); err != nil {
			b.Fatal(err)
		}
	}
}

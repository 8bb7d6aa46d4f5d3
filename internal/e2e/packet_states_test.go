//go:build e2e

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/packet"
)

// summaryKeys are the keys of contract v0 without full_transcript, which a hook
// never writes, in the order of the alphabet.
var summaryKeys = []string{
	"authority_boundaries", "bounded_latest_transcript", "caveats", "current_work_summary", "default_target_repo", "durable_pointers",
	"generated_at", "generator_version", "next_owner", "omitted_classes", "redaction_policy_id", "role_pointer", "source_cwd", "source_rig",
	"source_runtime", "source_session_id", "source_trust_ranking", "target_rig", "target_runtime", "target_workspace_root", "touched_files",
}

// hookPacket is a packet that our PreCompact hook wrote.
type hookPacket struct {
	t         *testing.T
	dir       string
	validated string // what reseat packet validate said
	*packet.Continuity
}

// packets are a session's packets, oldest first, each held against the contract:
// by our own command, by the JSON Schema of v0, and key for key.
func (h *home) packets(t *testing.T, session string) []hookPacket {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.State, "s", "*", "c", "*", "packet"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	var all []hookPacket
	for _, dir := range found {
		c, err := packet.DecodeContinuity([]byte(readFile(t, filepath.Join(dir, packet.ContinuityFile))))
		if err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if c.Session.ID != session {
			continue
		}
		p := hookPacket{t: t, dir: dir, Continuity: c}
		if p.validated = h.reseat(t, "packet", "validate", dir); !strings.HasPrefix(p.validated, "valid") {
			t.Errorf("reseat packet validate %s: %s", dir, p.validated)
		}
		p.followsContract()
		all = append(all, p)
	}
	return all
}

// last is a session's newest packet.
func (h *home) last(t *testing.T, session string) hookPacket {
	t.Helper()
	all := h.packets(t, session)
	if len(all) == 0 {
		t.Fatalf("no packet of %s", session)
	}
	return all[len(all)-1]
}

func (p hookPacket) followsContract() {
	p.t.Helper()
	raw := readFile(p.t, filepath.Join(p.dir, packet.SummaryFile))
	var keys []string
	gjson.Parse(raw).ForEach(func(key, _ gjson.Result) bool {
		keys = append(keys, key.String())
		return true
	})
	slices.Sort(keys)
	if diff := cmp.Diff(summaryKeys, keys); diff != "" {
		p.t.Errorf("keys of the summary (-contract +packet):\n%s", diff)
	}
	for file, schema := range map[string]string{packet.SummaryFile: "restore-summary.schema.json", packet.ContinuityFile: "continuity.schema.json"} {
		data, err := os.ReadFile(filepath.Join(p.dir, file))
		if err != nil {
			p.t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			p.t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		compiled, err := compiler.Compile(filepath.Join(repository(), "packet", schema))
		if err != nil {
			p.t.Fatal(err)
		}
		if err := compiled.Validate(document); err != nil {
			p.t.Errorf("%s: %v", file, err)
		}
	}
}

// stands requires a nonce to stand in the record of the transcript that a source
// points at, by its line and by its offset.
func (p hookPacket) stands(what, nonce string, at packet.Source) {
	p.t.Helper()
	raw := readFile(p.t, p.Session.Transcript)
	lines := strings.Split(raw, "\n")
	switch {
	case nonce == "" || at.Path != "":
		p.t.Errorf("%s: %q, in %q", what, nonce, at.Path)
	case at.Line < 1 || at.Line > int64(len(lines)) || at.Offset >= int64(len(raw)):
		p.t.Errorf("%s: line %d and byte %d of %d lines, %d bytes", what, at.Line, at.Offset, len(lines), len(raw))
	case !strings.Contains(lines[at.Line-1], nonce):
		p.t.Errorf("%s: %q doesn't stand in line %d: %.300s", what, nonce, at.Line, lines[at.Line-1])
	case !strings.HasPrefix(raw[at.Offset:], lines[at.Line-1]+"\n"):
		p.t.Errorf("%s: byte %d isn't where line %d begins", what, at.Offset, at.Line)
	}
}

// words requires exactly these requests, each holding its nonce.
func (p hookPacket) words(what string, got []packet.Words, nonces ...string) {
	p.t.Helper()
	if len(got) != len(nonces) {
		p.t.Errorf("%s: %+v, want %q", what, got, nonces)
		return
	}
	for i, w := range got {
		if !strings.Contains(w.Text, nonces[i]) {
			p.t.Errorf("%s: %q doesn't hold %q", what, w.Text, nonces[i])
		}
		p.stands(what, nonces[i], w.Source)
	}
}

// step is an item of a plan, and what stands in the record that said so last.
type step struct{ text, status, in string }

func (p hookPacket) plans(tool string, want ...step) {
	p.t.Helper()
	if p.Plan == nil || p.Plan.Tool != tool {
		p.t.Errorf("plan %+v, want one of %s", p.Plan, tool)
		return
	}
	var got []step
	for i, item := range p.Plan.Items {
		got = append(got, step{item.Text, item.Status, want[min(i, len(want)-1)].in})
		p.stands("plan", got[i].in, item.Source)
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("plan %v, want %v", got, want)
	}
	for _, s := range want {
		if s.status == "in_progress" && (p.Work.Text != s.text || p.Work.Origin != "plan") {
			p.t.Errorf("current work %+v, want %q of the plan", p.Work, s.text)
		}
	}
}

// agents requires these subagents to be at work.
func (p hookPacket) agents(want ...string) {
	p.t.Helper()
	var got []string
	for _, w := range p.OpenWork {
		got = append(got, w.Description)
		if w.Kind != "subagent" {
			p.t.Errorf("open work %+v", w)
		}
		p.stands("open work", w.Description, w.Source)
	}
	if !slices.Equal(got, want) {
		p.t.Errorf("open work %q, want %q", got, want)
	}
}

// failedTest requires one failed test whose command and output hold nonces.
func (p hookPacket) failedTest(command, output string, code int) {
	p.t.Helper()
	for _, c := range p.Commands {
		if !c.Test {
			continue
		}
		if c.Text != command || !c.Done || !c.Failed || c.ExitCode == nil || *c.ExitCode != code || !strings.Contains(c.Output, output) {
			p.t.Errorf("the failed test: %+v, want %q, %q, exit code %d", c, command, output, code)
		}
		p.stands("the failed test", command, c.Source)
		p.stands("the failed test's output", output, c.Result)
		return
	}
	p.t.Errorf("no test among %+v", p.Commands)
}

// editedFirst requires the first edited file, and git to tell it as changed.
func (p hookPacket) editedFirst(path string) {
	p.t.Helper()
	if len(p.Files.Edited) == 0 || p.Files.Edited[0].Path != path {
		p.t.Errorf("edited files %+v, want %s first", p.Files.Edited, path)
		return
	}
	p.stands("the first edited file", filepath.Base(path), p.Files.Edited[0].First)
}

func (p hookPacket) changed(paths ...string) {
	p.t.Helper()
	if p.Git == nil || !p.Git.Listed {
		p.t.Errorf("git wasn't looked at: %+v", p.Git)
		return
	}
	var got []string
	for _, c := range p.Git.Changed {
		got = append(got, c.Path)
	}
	if !slices.Equal(got, paths) {
		p.t.Errorf("changed files %q, want %q", got, paths)
	}
}

// recaps returns the content of the recap that the packet names, "" where it
// names none.
func (p hookPacket) recap() string {
	p.t.Helper()
	for _, s := range p.Memory {
		if s.Kind == packet.Recap {
			return readFile(p.t, s.Path)
		}
	}
	return ""
}

// blank requires every field of a state to be empty.
func (p hookPacket) blank() {
	p.t.Helper()
	p.changed()
	if p.Intent == nil && !strings.Contains(p.validated, "intent: is empty") {
		p.t.Errorf("validate doesn't say that the intent is empty: %s", p.validated)
	}
	for what, empty := range map[string]bool{
		"plan": p.Plan == nil, "proposal": p.Proposal == nil, "open work": len(p.OpenWork) == 0, "commands": len(p.Commands) == 0,
		"edited files": len(p.Files.Edited) == 0, "the boundary before": p.Boundary == nil && p.Boundaries == 0,
		"recap": p.recap() == "", "intent": p.Intent == nil, "carried": p.Carried == nil, "plan mode": p.Session.PermissionMode != "plan",
		"current work": p.Work.Origin == "request",
	} {
		if !empty {
			p.t.Errorf("without its state, %s isn't empty: %s", what, readFile(p.t, filepath.Join(p.dir, packet.ContinuityFile)))
		}
	}
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/packet"
)

const packetSession = "11111111-2222-4333-8444-555555555555"

// aTranscript is a made-up session of Claude Code.
const aTranscript = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"Keep the basket over a restart"},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-29T15:00:01.000Z","cwd":"/work/shop","sessionId":"` + packetSession + `","version":"2.1.332","gitBranch":"main","permissionMode":"default"}
{"parentUuid":"00000000-0000-4000-8000-000000000001","isSidechain":false,"type":"assistant","message":{"id":"msg_01EXAMPLE","role":"assistant","content":[{"type":"text","text":"I begin with the store."},{"type":"tool_use","id":"toolu_01EXAMPLE","name":"Write","input":{"file_path":"/work/shop/store.go","content":"package shop"}}],"usage":{"input_tokens":10,"output_tokens":5}},"uuid":"00000000-0000-4000-8000-000000000002","timestamp":"2026-11-29T15:00:02.000Z","cwd":"/work/shop","sessionId":"` + packetSession + `","version":"2.1.332"}
{"parentUuid":"00000000-0000-4000-8000-000000000002","isSidechain":false,"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_01EXAMPLE","type":"tool_result","content":"File created"}]},"uuid":"00000000-0000-4000-8000-000000000003","timestamp":"2026-11-29T15:00:03.000Z","cwd":"/work/shop","sessionId":"` + packetSession + `","version":"2.1.332"}
{"parentUuid":"00000000-0000-4000-8000-000000000003","isSidechain":false,"type":"assistant","message":{"id":"msg_02EXAMPLE","role":"assistant","content":[{"type":"text","text":"The store is written."}],"usage":{"input_tokens":20,"output_tokens":5}},"uuid":"00000000-0000-4000-8000-000000000004","timestamp":"2026-11-29T15:00:04.000Z","cwd":"/work/shop","sessionId":"` + packetSession + `","version":"2.1.332"}
`

// bench is a home of its own for a run of the command.
type bench struct {
	t    *testing.T
	home string
}

func newBench(t *testing.T) bench {
	t.Helper()
	return bench{t, t.TempDir()}
}

func (b bench) path(parts ...string) string {
	return filepath.Join(append([]string{b.home}, parts...)...)
}

func (b bench) write(text string, parts ...string) string {
	b.t.Helper()
	path := b.path(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b bench) run(args ...string) (code int, stdout, stderr string) {
	b.t.Helper()
	var out, errs bytes.Buffer
	getenv := func(name string) string { return map[string]string{"HOME": b.home}[name] }
	code = run(context.Background(), args, strings.NewReader(""), &out, &errs, getenv)
	return code, out.String(), errs.String()
}

func (b bench) want(code int, stdout, stderr string, args ...string) string {
	b.t.Helper()
	gotCode, out, errs := b.run(args...)
	if gotCode != code || !strings.Contains(out, stdout) || !strings.Contains(errs, stderr) || (stderr == "") != (errs == "") {
		b.t.Errorf("reseat %s: exit %d, want %d\nstdout:\n%s\nstderr:\n%s\nwant %q and %q", strings.Join(args, " "), gotCode, code, out, errs, stdout, stderr)
	}
	return out
}

func TestPacketWriteReadValidate(t *testing.T) {
	b := newBench(t)
	jsonl := b.write(aTranscript, "any name.jsonl")
	dir := b.path("packet")
	out := b.want(exitOK, "packet: "+dir+"\nfiles: 5\n  - continuity.json\n", "", "packet", "write", "--source-jsonl", jsonl, "--target", dir)
	if !strings.Contains(out, "messages: 3\nomitted-classes: raw_tool_outputs=1,function_call_output=1\n") || strings.Contains(out, "basket") {
		t.Errorf("got\n%s", out)
	}
	b.want(exitOK, "valid (with warnings): 1 issue(s)\n  [WARNING] continuity.json#/intent: is empty", "", "packet", "validate", dir)
	b.want(exitOK, "work        the latest request: “Keep the basket over a restart”\n", "", "packet", "read", dir)
	b.want(exitOK, "# Restore instructions\n", "", "packet", "read", "--full", dir)

	o, err := packet.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, c := o.Summary, o.Continuity
	if s.SourceSession != packetSession || s.SourceRuntime != "claude-code" || s.SourceRig != packet.Unassigned || s.TargetRig != packet.Unassigned ||
		c.Mechanism != "claude-packet-write" || len(c.Files.Edited) != 1 || c.Files.Edited[0].Path != "/work/shop/store.go" {
		t.Errorf("got %+v\n%+v", s, c)
	}

	var summary map[string]any
	if err := json.Unmarshal([]byte(b.want(exitOK, "", "", "packet", "read", "--json", dir)), &summary); err != nil || len(summary) != 21 {
		t.Errorf("%d keys, %v", len(summary), err)
	}
	var both map[string]any
	if err := json.Unmarshal([]byte(b.want(exitOK, "", "", "packet", "read", "--json", "--full", dir)), &both); err != nil || both["continuity"] == nil {
		t.Errorf("%v, %v", both, err)
	}
	var report map[string]any
	if err := json.Unmarshal([]byte(b.want(exitOK, "", "", "packet", "validate", "--json", dir)), &report); err != nil || report["valid"] != true {
		t.Errorf("%v, %v", report, err)
	}
}

// What the configuration exempts stays, and validate takes it for no secret.
func TestPacketKeepsWhatTheConfigurationExempts(t *testing.T) {
	b := newBench(t)
	const word = "ghp_EXAMPLE0123456789abcdefghijklmnopqrst"
	jsonl := b.write(strings.Replace(aTranscript, "Keep the basket", "Keep "+word, 1), "t.jsonl")
	b.write("[redact]\nexempt = [\""+word+"\"]\n", ".config", "reseat", "config.toml")
	dir := b.path("packet")
	b.want(exitOK, "packet: "+dir, "", "packet", "write", "--source-jsonl", jsonl, "--target", dir)
	b.want(exitOK, word, "", "packet", "read", dir)
	b.want(exitOK, "valid (with warnings): 1 issue(s)\n  [WARNING] continuity.json#/intent: is empty", "", "packet", "validate", dir)
}

func TestPacketWriteTakesTheContractsFlags(t *testing.T) {
	b := newBench(t)
	jsonl := b.write(aTranscript, "x.jsonl")
	dir := b.path("packet")
	out := b.want(exitOK, "", "", "packet", "write", "--source-jsonl", jsonl, "--source-runtime", "claude-code", "--target", dir, "--target-rig", "new",
		"--target-runtime", "codex", "--target-workspace-root", "/w", "--default-target-repo", "/r", "--role-pointer", "/role.md", "--current-work-summary", "sort the shelf",
		"--next-owner", "rev@new", "--caveat", "one, two", "--caveat", "three", "--authority-boundaries", "no push", "--source-trust-ranking", "rig_whoami,restore_summary",
		"--generator-version", "reseat@9", "--source-session-id-override", "told", "--source-rig-override", "old", "--full-transcript", "--json")
	var report packetReport
	if err := json.Unmarshal([]byte(out), &report); err != nil || report.Session != "told" || len(report.Files) != 6 || report.Messages != 3 {
		t.Errorf("%+v, %v", report, err)
	}
	o, err := packet.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Summary
	if s.SourceRig != "old" || s.TargetRig != "new" || s.TargetRuntime != "codex" || s.TargetWorkspaceRoot != "/w" || *s.DefaultTargetRepo != "/r" || s.RolePointer != "/role.md" ||
		s.CurrentWork != "sort the shelf" || s.NextOwner != "rev@new" || strings.Join(s.Caveats, "|") != "one, two|three" || s.AuthorityBoundaries != "no push" ||
		strings.Join(s.TrustRanking, ",") != "rig_whoami,restore_summary" || s.Generator != "reseat@9" || s.Full == nil || s.Full.Messages != 3 {
		t.Errorf("got %+v", s)
	}
	b.want(exitOK, "valid", "", "packet", "validate", dir)
}

// A session that no hook has seen is found where the client keeps it; its id is
// believed only when the transcript says the same.
func TestPacketWriteFindsASessionByItsId(t *testing.T) {
	b := newBench(t)
	b.write(aTranscript, ".claude", "projects", "-work-shop", packetSession+".jsonl")
	b.want(exitOK, "messages: 3", "", "packet", "write", "--session", packetSession, "--target", b.path("one"))
	b.want(exitOK, "messages: 3", "", "packet", "write", "--source-session", "claude:"+packetSession, "--target", b.path("two"))
	b.want(exitUnknown, "", "neither client has its transcript", "packet", "write", "--session", "codex:"+packetSession, "--target", b.path("three"))

	const other = "99999999-2222-4333-8444-555555555555"
	b.write(aTranscript, ".claude", "projects", "-work-shop", other+".jsonl")
	b.want(exitUnknown, "", "another session", "packet", "write", "--session", other, "--target", b.path("four"))
	if _, err := os.Lstat(b.path("four")); err == nil {
		t.Error("a packet was written")
	}
}

// Refused with what to do, and nothing is written.
func TestPacketWriteRefusesRatherThanGuesses(t *testing.T) {
	b := newBench(t)
	jsonl := b.write(aTranscript, "x.jsonl")
	nameless := b.write(strings.ReplaceAll(aTranscript, packetSession, ""), packetSession+".jsonl")
	foreign := b.write("{\"some\":\"json\"}\n", "foreign.jsonl")
	there := b.path("there")
	if err := os.Mkdir(there, 0o700); err != nil {
		t.Fatal(err)
	}
	dir := b.path("packet")
	for _, test := range []struct {
		code   int
		stderr string
		args   []string
	}{
		{exitUsage, "give one of --session, --seat and --source-jsonl", []string{"--target", dir}},
		{exitUsage, "give one of --session, --seat and --source-jsonl", []string{"--target", dir, "--session", "x", "--source-jsonl", jsonl}},
		{exitUsage, "needs --target DIR", []string{"--source-jsonl", jsonl}},
		{exitUsage, "--target-runtime \"gemini\"", []string{"--source-jsonl", jsonl, "--target", dir, "--target-runtime", "gemini"}},
		{exitUsage, "--source-trust-ranking \"guess\"", []string{"--source-jsonl", jsonl, "--target", dir, "--source-trust-ranking", "guess"}},
		{exitUsage, "isn't an absolute path", []string{"--source-jsonl", jsonl, "--target", dir, "--target-workspace-root", "w"}},
		{exitUsage, "--source-rig-override: \"a@b\" is no rig's name", []string{"--source-jsonl", jsonl, "--target", dir, "--source-rig-override", "a@b"}},
		{exitUsage, "unknown flag", []string{"--surce-jsonl", jsonl, "--target", dir}},
		{exitUsage, "unknown client", []string{"--source-jsonl", jsonl, "--target", dir, "--source-runtime", "gemini"}},
		{exitUnknown, "--source-session-id-override", []string{"--source-jsonl", nameless, "--target", dir}},
		{exitUnknown, "--source-runtime", []string{"--source-jsonl", foreign, "--target", dir}},
		{exitUnknown, "no such file", []string{"--source-jsonl", b.path("gone.jsonl"), "--target", dir}},
		{exitUnknown, "must not exist yet", []string{"--source-jsonl", jsonl, "--target", there}},
		{exitUnknown, "must exist", []string{"--source-jsonl", jsonl, "--target", b.path("gone", "packet")}},
		{exitUnknown, "is no session's id", []string{"--session", "../x*", "--target", dir}},
		{exitUnknown, "no session or seat is known", []string{"--seat", "dev-impl@shop", "--target", dir}},
	} {
		b.want(test.code, "", test.stderr, append([]string{"packet", "write"}, test.args...)...)
		if _, err := os.Lstat(dir); err == nil {
			t.Fatalf("%v: a packet was written", test.args)
		}
	}
}

func TestPacketReadAndValidateSayWhatIsWrong(t *testing.T) {
	b := newBench(t)
	b.want(exitUsage, "", "needs one DIR or SEAT", "packet", "read")
	b.want(exitUsage, "", "needs one DIR or SEAT", "packet", "validate", "a", "b")
	b.want(exitUnknown, "", "no such file", "packet", "read", b.path("gone"))
	b.want(exitUnknown, "invalid: 1 issue(s)\n  [ERROR] packet: must be a readable folder", "", "packet", "validate", b.path("gone"))
	b.want(exitUnknown, "", "no session or seat is known", "packet", "read", "dev-impl@shop")

	jsonl, dir := b.write(aTranscript, "x.jsonl"), b.path("packet")
	b.want(exitOK, "", "", "packet", "write", "--source-jsonl", jsonl, "--target", dir)
	b.write("x", "packet", "touched-files.md")
	out := b.want(exitUnknown, "", "", "packet", "validate", dir)
	if !strings.Contains(out, "  [ERROR] continuity.json#/checksums/2/bytes: touched-files.md has 1 (value: ") {
		t.Errorf("got\n%s", out)
	}
	if code, out, _ := b.run("packet", "validate", "--json", dir); code != exitUnknown || !strings.Contains(out, "\"valid\": false") {
		t.Errorf("exit %d\n%s", code, out)
	}
}

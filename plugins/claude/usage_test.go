package claude

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
)

const (
	asked    = `{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":"go on"},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-29T15:00:01.000Z","cwd":"/work/shop","sessionId":"` + idA + `","version":"2.1.332"}` + "\n"
	answered = `{"parentUuid":"00000000-0000-4000-8000-000000000001","isSidechain":false,"type":"assistant","message":{"id":"msg_01EXAMPLE","role":"assistant","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":1000,"cache_creation_input_tokens":200,"cache_read_input_tokens":30,"output_tokens":4}},"uuid":"00000000-0000-4000-8000-000000000002","timestamp":"2026-11-29T15:00:02.000Z","cwd":"/work/shop","sessionId":"` + idA + `","version":"2.1.332"}` + "\n"
	again    = `{"parentUuid":"00000000-0000-4000-8000-000000000002","isSidechain":false,"type":"user","message":{"role":"user","content":"and now"},"uuid":"00000000-0000-4000-8000-000000000003","timestamp":"2026-11-29T15:00:03.000Z","cwd":"/work/shop","sessionId":"` + idA + `","version":"2.1.332"}` + "\n"
	sidework = `{"parentUuid":null,"isSidechain":true,"type":"assistant","message":{"id":"msg_02EXAMPLE","role":"assistant","content":[{"type":"text","text":"aside"}],"usage":{"input_tokens":9}},"uuid":"00000000-0000-4000-8000-000000000004","timestamp":"2026-11-29T15:00:04.000Z","sessionId":"` + idA + `","version":"2.1.332"}` + "\n"
	boundary = `{"parentUuid":null,"logicalParentUuid":"00000000-0000-4000-8000-000000000002","isSidechain":false,"type":"system","subtype":"compact_boundary","content":"Conversation compacted","uuid":"00000000-0000-4000-8000-000000000005","timestamp":"2026-11-29T15:00:05.000Z","compactMetadata":{"trigger":"manual","preTokens":1234,"postTokens":300},"sessionId":"` + idA + `","version":"2.1.332"}` + "\n"
	later    = `{"parentUuid":"00000000-0000-4000-8000-000000000005","isSidechain":false,"type":"user","message":{"role":"user","content":"go on now"},"uuid":"00000000-0000-4000-8000-000000000006","timestamp":"2026-11-29T15:00:06.000Z","cwd":"/work/shop","sessionId":"` + idA + `","version":"2.1.332"}` + "\n"
	meta     = `{"type":"last-prompt","lastPrompt":"go on","sessionId":"` + idA + `"}` + "\n"
)

func (b *bench) usageOf(transcript string) plugins.Usage {
	b.t.Helper()
	b.write("projects/-work-shop/"+idA+".jsonl", transcript)
	got, err := b.Usage(b.t.Context(), []plugins.SessionRef{{ID: idA, CWD: "/work/shop"}})
	if err != nil {
		b.t.Fatal(err)
	}
	return got[0]
}

func TestUsageIsTheTranscriptsLast(t *testing.T) {
	u := newBench(t).usageOf(asked + answered)
	if u.Tokens != 1234 || u.Source != sourceTranscript || !u.Fresh() || u.Window != 0 ||
		!u.SampledAt.Equal(time.Date(2026, 11, 29, 15, 0, 2, 0, time.UTC)) {
		t.Errorf("got %+v", u)
	}
}

func TestFreshIsWhatNothingInTheMainChainOvertook(t *testing.T) {
	for name, test := range map[string]struct {
		transcript string
		fresh      bool
	}{
		"an answer last":              {asked + answered, true},
		"a prompt since":              {asked + answered + again, false},
		"a sidechain since":           {asked + answered + sidework, true},
		"the client's own notes":      {asked + answered + meta, true},
		"a line that isn't whole yet": {asked + answered + again[:60], true},
	} {
		if u := newBench(t).usageOf(test.transcript); u.Fresh() != test.fresh || u.Tokens != 1234 {
			t.Errorf("%s: %+v", name, u)
		}
	}
}

func TestAfterACompactionItsBoundaryTellsTheUsage(t *testing.T) {
	u := newBench(t).usageOf(asked + answered + boundary)
	if u.Tokens != 300 || !u.Fresh() {
		t.Errorf("right after it: %+v", u)
	}
	if u := newBench(t).usageOf(asked + answered + boundary + later); u.Fresh() {
		t.Errorf("a prompt since: %+v", u)
	}
	b := newBench(t)
	if got := postTokens(b.write("x.jsonl", asked+boundary), int64(len(asked))); got != 300 {
		t.Errorf("post tokens %d", got)
	}
}

func TestUsageThatIsntKnownIsSaidToBe(t *testing.T) {
	b := newBench(t)
	if u := b.usageOf(asked); u.Unknown != plugins.UsageNoData {
		t.Errorf("no answer yet: %+v", u)
	}
	if u := b.usageOf(strings.ReplaceAll(asked+answered, idA, idB)); u.Unknown != plugins.UsageMismatch && u.Unknown != plugins.UsageUnreadable {
		t.Errorf("another session's: %+v", u)
	}
	got, err := b.Usage(t.Context(), []plugins.SessionRef{{ID: idB}, {ID: "../../x"}})
	if err != nil || got[0].Unknown != plugins.UsageNotFound || got[1].Unknown != plugins.UsageNotFound {
		t.Errorf("got %+v, %v", got, err)
	}
}

// statusInput is what the client gives a status line, made by hand after a real
// one.
func statusInput(transcript string) string {
	return `{"session_id":"` + idA + `","transcript_path":"` + transcript + `","cwd":"/work/shop","model":{"id":"claude-example","display_name":"Example"},` +
		`"version":"2.1.332","context_window":{"context_window_size":200000,"used_percentage":2,"total_input_tokens":4000,` +
		`"current_usage":{"input_tokens":3000,"output_tokens":500,"cache_creation_input_tokens":400,"cache_read_input_tokens":100}}}`
}

func TestASampleIsUsedUntilTheSessionGoesOn(t *testing.T) {
	b := newBench(t)
	path := b.write("projects/-work-shop/"+idA+".jsonl", asked+answered)
	var out, errs bytes.Buffer
	if code := StatusLine(t.Context(), strings.NewReader(statusInput(path)), &out, &errs, b.home, "", time.Now()); code != 0 || out.Len()+errs.Len() > 0 {
		t.Fatalf("code %d, %q, %q", code, out.String(), errs.String())
	}
	u := b.usageOf(asked + answered + meta)
	if u.Source != sourceStatusLine || u.Tokens != 4000 || u.Window != 200000 || u.Percent != 2 || !u.Fresh() {
		t.Errorf("fresh: %+v", u)
	}
	u = b.usageOf(asked + answered + again)
	if u.Source != sourceTranscript || u.Tokens != 1234 || u.Window != 200000 || u.Fresh() {
		t.Errorf("overtaken: %+v", u)
	}
}

func TestAPersonsOwnStatusLineGoesOn(t *testing.T) {
	home := state.Home(t.TempDir())
	input := statusInput("/nowhere.jsonl")
	var out, errs bytes.Buffer
	code := StatusLine(t.Context(), strings.NewReader(input), &out, &errs, home, `cat; echo trouble >&2; exit 7`, time.Now())
	if code != 7 || out.String() != input || errs.String() != "trouble\n" {
		t.Errorf("code %d, out %q, errs %q", code, out.String(), errs.String())
	}
	info, err := os.Stat(samplePath(home, idA))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("sample: %v, %v", info, err)
	}
}

func TestAStatusLineThatCantKeepASampleStillRuns(t *testing.T) {
	for _, input := range []string{"", "null", `{"session_id":"../../x"}`, strings.Repeat("x", 2*maxStatusInput)} {
		var out, errs bytes.Buffer
		code := StatusLine(t.Context(), strings.NewReader(input), &out, &errs, state.Home(t.TempDir()), "echo mine", time.Now())
		if code != 0 || out.String() != "mine\n" || !strings.HasPrefix(errs.String(), "reseat: ") {
			t.Errorf("input of %d bytes: code %d, %q, %q", len(input), code, out.String(), errs.String())
		}
	}
}

func FuzzParseSample(f *testing.F) {
	f.Add([]byte(statusInput("/nowhere.jsonl")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSample(data, time.Unix(0, 0))
		if err == nil && (!validID(s.Session) || s.Tokens < 0) {
			t.Fatalf("%q: %+v", data, s)
		}
	})
}

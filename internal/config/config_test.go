package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reseat-dev/reseat/internal/client"
)

var update = flag.Bool("update", false, "write the golden files")

// write puts a configuration into a folder of its own.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustLoad(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMissingFileIsTheDefaults(t *testing.T) {
	for _, path := range []string{"", filepath.Join(t.TempDir(), "config.toml"), filepath.Join(t.TempDir(), "no", "folder", "config.toml")} {
		c, err := Load(path)
		if err != nil {
			t.Fatalf("Load(%q): %v", path, err)
		}
		if diff := cmp.Diff(Default(), c, cmp.AllowUnexported(Config{}, layer[Declared]{})); diff != "" {
			t.Errorf("Load(%q) differs from the defaults: %s", path, diff)
		}
	}
}

func TestDefaultLimitsAreThoseOfTheDocumentation(t *testing.T) {
	want := Limits{
		PacketsPerSession: 5, MaxAge: Duration(14 * 24 * time.Hour), StateBytes: 256 << 20, MessageBytes: 16 << 10,
		FileBytes: 1 << 20, PacketBytes: 8 << 20, ReceiptsBytes: 8 << 20,
	}
	if got := Default().Limits; got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

const layered = `
[defaults]
intent = "from the defaults"
caveats = ["a", "b"]
next_owner = "review@rig"

[defaults.pointers]
queue = ["q"]

[project."/home/bob/work"]
intent = "from the project"
caveats = ["c"]

[project."/home/bob/work/app/"]
intent = "from the inner project"
off = true

[seat."dev-impl@my-rig"]
authority_boundaries = "no releases"
off = false
pointers = { artifacts = ["x"], queue = [] }
`

func TestForLaysSeatOverLongestProjectOverDefaults(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of unix")
	}
	c := mustLoad(t, layered)
	for _, tt := range []struct {
		name, seat, dir string
		want            Declared
	}{
		{"nothing known", "", "", Declared{Intent: "from the defaults", Caveats: []string{"a", "b"}, NextOwner: "review@rig", Pointers: Pointers{Queue: []string{"q"}}}},
		{"project", "", "/home/bob/work/other", Declared{Intent: "from the project", Caveats: []string{"c"}, NextOwner: "review@rig", Pointers: Pointers{Queue: []string{"q"}}}},
		{"longest project", "", "/home/bob/work/app/x", Declared{Intent: "from the inner project", Caveats: []string{"a", "b"}, NextOwner: "review@rig", Off: true, Pointers: Pointers{Queue: []string{"q"}}}},
		{"project itself, not clean", "", "/home/bob/work/app/../app", Declared{Intent: "from the inner project", Caveats: []string{"a", "b"}, NextOwner: "review@rig", Off: true, Pointers: Pointers{Queue: []string{"q"}}}},
		{"name that begins the same", "", "/home/bob/workshop", Declared{Intent: "from the defaults", Caveats: []string{"a", "b"}, NextOwner: "review@rig", Pointers: Pointers{Queue: []string{"q"}}}},
		{"relative folder", "", "home/bob/work", Declared{Intent: "from the defaults", Caveats: []string{"a", "b"}, NextOwner: "review@rig", Pointers: Pointers{Queue: []string{"q"}}}},
		{"seat", "dev-impl@my-rig", "/home/bob/work/app", Declared{Intent: "from the inner project", Caveats: []string{"a", "b"}, NextOwner: "review@rig", AuthorityBoundaries: "no releases", Pointers: Pointers{Queue: []string{}, Artifacts: []string{"x"}}}},
		{"unknown seat", "other@rig", "/", Declared{Intent: "from the defaults", Caveats: []string{"a", "b"}, NextOwner: "review@rig", Pointers: Pointers{Queue: []string{"q"}}}},
	} {
		if diff := cmp.Diff(tt.want, c.For(tt.seat, tt.dir)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestProjectAtTheRootHoldsEverywhere(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths of unix")
	}
	c := mustLoad(t, "[project.\"/\"]\nintent = \"all\"\n")
	if got := c.For("", "/srv/x").Intent; got != "all" {
		t.Errorf("intent %q", got)
	}
}

func TestPolicyOfSeatOverThatOfItsClient(t *testing.T) {
	c := mustLoad(t, `
[policy.claude]
enabled = true
threshold_percent = 70
threshold_tokens = 150000
cooldown = "1h30m"
quiet_hours = ["22:00-07:00", "12:00-13:00"]
prep = "write your recap"
instructions = "keep the numbers"
notify = ["/usr/local/bin/tell", "--json"]
[seat."dev@rig".policy]
threshold_percent = 90
restore_turn = true
`)
	want := Policy{
		Enabled: true, ThresholdPercent: 70, ThresholdTokens: 150000, Cooldown: Duration(90 * time.Minute),
		QuietHours: []Hours{{22 * 60, 7 * 60}, {12 * 60, 13 * 60}}, Prep: "write your recap", Instructions: "keep the numbers",
		Notify: []string{"/usr/local/bin/tell", "--json"},
	}
	if diff := cmp.Diff(want, c.Policy(client.Claude, ""), cmp.AllowUnexported(Policy{})); diff != "" {
		t.Error(diff)
	}
	want.ThresholdPercent, want.RestoreTurn = 90, true
	if diff := cmp.Diff(want, c.Policy(client.Claude, "dev@rig"), cmp.AllowUnexported(Policy{})); diff != "" {
		t.Error(diff)
	}
	if got := c.Policy(client.Codex, ""); got.Enabled || got.ThresholdPercent != 80 || got.Cooldown != Duration(10*time.Minute) {
		t.Errorf("Codex has %+v", got)
	}
	if got := c.Policy("other", ""); got.Enabled || got.Reason == "" {
		t.Errorf("an unknown client has %+v", got)
	}
}

func TestInvalidThresholdSwitchesThePolicyOffAndSaysSo(t *testing.T) {
	for _, v := range []string{"0", "101", "-5", "80.5", "nan", "inf", `"80"`, "true", "[]", "2026-11-29"} {
		c := mustLoad(t, "[policy.claude]\nenabled = true\nthreshold_percent = "+v+"\n")
		if p := c.Policy(client.Claude, ""); p.Enabled || !strings.Contains(p.Reason, "threshold_percent") {
			t.Errorf("threshold_percent = %s: %+v", v, p)
		}
	}
	for _, v := range []string{"-1", "1.5", `"x"`} {
		c := mustLoad(t, "[policy.codex]\nenabled = true\nthreshold_tokens = "+v+"\n")
		if p := c.Policy(client.Codex, ""); p.Enabled || !strings.Contains(p.Reason, "threshold_tokens") {
			t.Errorf("threshold_tokens = %s: %+v", v, p)
		}
	}
	c := mustLoad(t, "[policy.claude]\nenabled = true\nthreshold_percent = 0\n[seat.\"a@b\".policy]\nthreshold_percent = 75\n")
	if p := c.Policy(client.Claude, "a@b"); !p.Enabled || p.ThresholdPercent != 75 || p.Reason != "" {
		t.Errorf("a seat's valid threshold over an invalid one: %+v", p)
	}
	c = mustLoad(t, "[policy.claude]\nthreshold_percent = 0\n")
	if p := c.Policy(client.Claude, ""); p.Enabled || p.Reason != "" {
		t.Errorf("a policy that nobody switched on needs no reason: %+v", p)
	}
}

func TestLoadNamesFileLineKeyAndRemedy(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "# c\n\n[defaults]\nintnet = \"x\"\n", `line 4: unknown key "defaults.intnet" (did you mean "intent"?)`},
		{"unknown key like none", "[defaults]\nfrobnicate = 1\n", `line 2: unknown key "defaults.frobnicate"`},
		{"unknown section", "[limit]\n", `line 1: unknown key "limit" (did you mean "limits"?)`},
		{"unknown key at the top", "intent = \"x\"\n", `line 1: unknown key "intent"`},
		{"unknown key of a seat", "[seat.\"a@b\"]\nack = true\npointer = {}\n", `line 3: unknown key "seat.\"a@b\".pointer" (did you mean "pointers"?)`},
		{"unknown pointer", "[seat.\"a@b\".pointers]\nqueues = []\n", `line 2: unknown key "seat.\"a@b\".pointers.queues" (did you mean "queue"?)`},
		{"unknown key, dotted", "defaults.pointers.x = []\n", `line 1: unknown key "defaults.pointers.x"`},
		{"unknown key, inline", "[defaults]\npointers = { queue = [],\n  progres = [] }\n", ""},
		{"unknown client", "[policy.gemini]\nenabled = true\n", `line 1: unknown key "policy.gemini"`},
		{"long name of a client", "[policy.claude-code]\n", `line 1: unknown key "policy.claude-code"`},
		{"wrong type", "[defaults]\nintent = 5\n", `line 2: "defaults.intent" must be a text in quotes`},
		{"wrong list", "[defaults]\ncaveats = [\n  1,\n]\n", `line 2: "defaults.caveats" must be a list of texts: ["..."]`},
		{"wrong boolean", "[seat.\"a@b\"]\noff = \"yes\"\n", `line 2: "seat.\"a@b\".off" must be true or false`},
		{"table expected", "[limits]\n[redact]\n[policy]\nclaude = 1\n", `line 4: "policy.claude" must be a table`},
		{"relative project", "[project.work]\nack = true\n", `line 1: "work" is no absolute path`},
		{"relative repository", "[defaults]\ndefault_repo = \"app\"\n", `line 2: "defaults.default_repo" must be an absolute path`},
		{"relative adapter", "[plugins]\npaths = [\"a\"]\n", `line 2: "plugins.paths" "a" is no absolute path`},
		{"size without sense", "[limits]\nstate_bytes = \"256 QiB\"\n", `line 2: "limits.state_bytes" must be a size such as "256MiB", at most 1 PiB`},
		{"size too small", "[limits]\nfile_bytes = \"1KiB\"\n", `line 2: "limits.file_bytes" must be at least 64KiB`},
		{"size negative", "[limits]\nfile_bytes = -1\n", `line 2: "limits.file_bytes" must be a size such as "256MiB", at most 1 PiB`},
		{"age without unit", "[limits]\nmax_age = 14\n", `line 2: "limits.max_age" must be a time span such as "14d", "90m" or "1h30m", at most 10 years`},
		{"count", "[limits]\npackets_per_session = 0\n", `line 2: "limits.packets_per_session" must be at least 1`},
		{"hours", "[policy.claude]\nquiet_hours = [\"22-07\"]\n", `line 2: "policy.claude.quiet_hours" must be hours such as "22:00-07:00"`},
		{"syntax", "[defaults]\nintent = x\n", `line 2: expected a value, found "x"`},
		{"syntax, unclosed", "[defaults]\nintent = \"x\n", "line 2: "},
		{"twice", "[defaults]\nack = true\nack = false\n", `line 3: "defaults.ack" is defined twice`},
		{"several, in the order of the file", "[seat.\"a@b\"]\nx = 1\n[defaults]\ny = 2\n", `line 2: unknown key "seat.\"a@b\".x" (and 1 more)`},
		{"not text", "[defaults]\nintent = \"\xff\"\n", "isn't UTF-8 text"},
	} {
		if tt.want == "" {
			continue
		}
		path := write(t, tt.text)
		_, err := Load(path)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v", tt.name, err)
			continue
		}
		if want := `reading "` + path + `": ` + tt.want; !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, err, want)
		}
	}
}

func TestLoadTolerantKeepsWhatCanBeUsed(t *testing.T) {
	c, problems := LoadTolerant(write(t, "[defaults]\nintent = \"kept\"\nnonsense = 1\n[limits]\nmax_age = \"soon\"\nmessage_bytes = \"32KiB\"\n[redact]\npatterns = [\"ACME-[0-9]+\"]\n"))
	if len(problems) != 2 || problems[0].Line != 3 || problems[0].Key != "defaults.nonsense" || problems[1].Line != 5 {
		t.Errorf("problems %v", problems)
	}
	if d := c.For("", ""); d.Intent != "kept" {
		t.Errorf("intent %q", d.Intent)
	}
	if c.Limits.MessageBytes != 32<<10 || c.Limits.MaxAge != 14*day || len(c.Redact.Patterns) != 1 {
		t.Errorf("%+v %+v", c.Limits, c.Redact)
	}
	c, problems = LoadTolerant(write(t, "[defaults\nintent = \"lost\"\n"))
	if len(problems) != 1 || problems[0].Line != 1 || c.For("", "").Intent != "" || c.Limits != Default().Limits {
		t.Errorf("of no TOML: %v, %+v", problems, c.For("", ""))
	}
}

func TestRefusesAFileThatIsNotTheUsersOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes of unix")
	}
	text := "[defaults]\nintent = \"x\"\n"
	for _, tt := range []struct {
		name, want string
		spoil      func(path string) error
	}{
		{"folder in its place", "isn't a regular file", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }},
		{"writable by the group", "can be written by others", func(p string) error { return os.Chmod(p, 0o620) }},
		{"writable by all", "can be written by others", func(p string) error { return os.Chmod(p, 0o602) }},
		{"in a folder that all may write", "its folder can be written by others", func(p string) error { return os.Chmod(filepath.Dir(p), 0o777) }},
		{"too large", "has over 1048576 bytes", func(p string) error { return os.Truncate(p, maxBytes+1) }},
		{"a pipe", "isn't a regular file", func(p string) error { return errors.Join(os.Remove(p), makePipe(p)) }},
		{"a link to a device", "isn't a regular file", func(p string) error { return errors.Join(os.Remove(p), os.Symlink(os.DevNull, p)) }},
	} {
		path := write(t, text)
		if err := tt.spoil(path); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		_, err := Load(path)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", tt.name, err)
		}
		c, problems := LoadTolerant(path)
		if len(problems) != 1 || c.For("", "").Intent != "" {
			t.Errorf("%s: a hook got %v", tt.name, problems)
		}
	}
}

func TestReadsALinkToAFileOfTheUser(t *testing.T) {
	target := write(t, "[defaults]\nintent = \"linked\"\n")
	link := filepath.Join(filepath.Dir(write(t, "")), "linked.toml")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	c, err := Load(link)
	if err != nil || c.For("", "").Intent != "linked" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestUnreadableFileIsAProblemWithItsCause(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("modes don't keep this user out")
	}
	path := write(t, "")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func TestPathPrefersTheStateFolderThenTheVariable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("places of unix")
	}
	state := t.TempDir()
	env := func(v string) func(string) string {
		return func(name string) string {
			if name == "XDG_CONFIG_HOME" {
				return v
			}
			return ""
		}
	}
	for _, tt := range []struct{ name, xdg, home, want string }{
		{"variable", "/x/conf", "/home/bob", "/x/conf/reseat/config.toml"},
		{"home", "", "/home/bob", "/home/bob/.config/reseat/config.toml"},
		{"blank variable", " ", "/home/bob", "/home/bob/.config/reseat/config.toml"},
		{"relative variable", "conf", "/home/bob", "/home/bob/.config/reseat/config.toml"},
		{"relative home", "", "bob", ""},
		{"nothing", "", "", ""},
	} {
		if got := Path(env(tt.xdg), tt.home, state); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	own := filepath.Join(state, "config.toml")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Path(env("/x/conf"), "/home/bob", state); got != own {
		t.Errorf("with a file in the state folder: %q", got)
	}
	if got := Path(env("/x/conf"), "/home/bob", ""); got != "/x/conf/reseat/config.toml" {
		t.Errorf("without a state folder: %q", got)
	}
}

// uncommented is the sample with every setting in force.
func uncommented() string {
	var b strings.Builder
	for line := range strings.Lines(Sample()) {
		if rest, ok := strings.CutPrefix(line, "# "); ok {
			line = rest
		}
		b.WriteString(line)
	}
	return b.String()
}

func TestSampleIsAsCommitted(t *testing.T) {
	golden := filepath.Join("testdata", "sample.toml")
	if *update {
		if err := os.WriteFile(golden, []byte(Sample()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), Sample()); diff != "" {
		t.Errorf("the sample changed; if it should, run with -update: %s", diff)
	}
}

func TestSampleSetsNothingAsItIs(t *testing.T) {
	c := mustLoad(t, Sample())
	if d := c.For("dev-impl@my-rig", "/home/you/work/app"); cmp.Diff(Declared{}, d) != "" {
		t.Errorf("%+v", d)
	}
}

func TestSampleHasEveryKeyWithItsDefault(t *testing.T) {
	c := mustLoad(t, uncommented())
	set := func(what string, got, want int) {
		if got != want {
			t.Errorf("%s: the sample sets %d keys, the code knows %d", what, got, want)
		}
	}
	declared := len(declaredKeys) + len(pointerKeys)
	set("defaults", len(c.defaults.set), declared)
	set("project", len(c.projects["/home/you/work/app"].set), declared)
	set("seat", len(c.seats["dev-impl@my-rig"].set), declared)
	for _, of := range client.All() {
		set(string(of), len(c.policies[string(of)].set), len(policyKeys))
		if diff := cmp.Diff(Default().Policy(of, ""), c.Policy(of, ""), cmp.AllowUnexported(Policy{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("policy.%s: %s", of, diff)
		}
	}
	d := Default()
	if diff := cmp.Diff(d.Limits, c.Limits); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]any{d.Redact, d.Plugins, d.For("", "")}, []any{c.Redact, c.Plugins, c.For("dev-impl@my-rig", "/home/you/work/app")}, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestEffectiveSaysTheSameWhenReadAgain(t *testing.T) {
	text := layered + `
[policy.claude]
enabled = true
threshold_percent = 120
quiet_hours = ["22:00-07:00"]
prep = "two\nlines \"quoted\" \u0007 \\ 日本語"
[seat."x y@rig".policy]
cooldown = "25h"
[limits]
message_bytes = 20000
max_age = "36h"
[redact]
patterns = ['ACME-\d+', "a'b"]
`
	c := mustLoad(t, text)
	var first, second strings.Builder
	if err := c.Effective(&first); err != nil {
		t.Fatal(err)
	}
	again := mustLoad(t, first.String())
	if err := again.Effective(&second); err != nil {
		t.Fatal(err)
	}
	a := strings.Replace(first.String(), "# the policy is off: threshold_percent is 120, and only whole numbers from 1 to 100 count\n", "", 1)
	a = strings.Replace(a, "# threshold_percent can't be used\n", "threshold_percent = 80\n", 1)
	if diff := cmp.Diff(a, second.String()); diff != "" {
		t.Errorf("%s", diff)
	}
	if !strings.Contains(first.String(), "the policy is off") || !strings.Contains(first.String(), `cooldown = "25h"`) || !strings.Contains(first.String(), `message_bytes = "20000B"`) {
		t.Errorf("printed:\n%s", first.String())
	}
}

func TestUnitsReadWhatTheyWrite(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "1": 1, "17B": 17, "1KiB": 1 << 10, "256MiB": 256 << 20, "2 GiB": 2 << 30, "8MB": 8e6, "3kB": 3000} {
		got, err := parseSize(text)
		if err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v", text, got, err)
		}
		if back, err := parseSize(got.String()); err != nil || back != got {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	for _, text := range []string{"", "x", "-1", "1.5MiB", "9999999999GiB", "MiB", "1 M"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("parseSize(%q) = %d", text, got)
		}
	}
	for text, want := range map[string]time.Duration{"14d": 14 * 24 * time.Hour, "90m": 90 * time.Minute, "1h30m": 90 * time.Minute, "1d12h": 36 * time.Hour, "0s": 0, "45s": 45 * time.Second, "1500ms": 1500 * time.Millisecond} {
		got, err := parseDuration(text)
		if err != nil || time.Duration(got) != want {
			t.Errorf("parseDuration(%q) = %v, %v", text, got, err)
		}
		if back, err := parseDuration(got.String()); err != nil || back != got {
			t.Errorf("%q is written as %q: %v", text, got, err)
		}
	}
	for _, text := range []string{"", "14", "-1h", "d", "1w", "99999d", "4000d", "1dx", "999999999h"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("parseDuration(%q) = %v", text, got)
		}
	}
}

func TestQuietHoursGoOverMidnight(t *testing.T) {
	night, err := parseHours("22:00-07:30")
	if err != nil {
		t.Fatal(err)
	}
	at := func(clock string) time.Time {
		c, err := time.Parse("15:04", clock)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for clock, want := range map[string]bool{"21:59": false, "22:00": true, "00:00": true, "07:29": true, "07:30": false, "12:00": false} {
		if got := night.Contains(at(clock)); got != want {
			t.Errorf("%s: %v", clock, got)
		}
	}
	if day := (Hours{9 * 60, 17 * 60}); !day.Contains(at("09:00")) || day.Contains(at("17:00")) {
		t.Error("hours of a day")
	}
	if all := (Hours{}); !all.Contains(at("13:00")) {
		t.Error("equal ends mean the whole day")
	}
}

func TestSeatsAreThoseNamed(t *testing.T) {
	c := mustLoad(t, "[seat.\"b@r\"]\nack = true\n[seat.\"a@r\".policy]\nenabled = true\n")
	if diff := cmp.Diff([]string{"a@r", "b@r"}, c.Seats()); diff != "" {
		t.Error(diff)
	}
}

func BenchmarkLoadMissing(b *testing.B) {
	path := filepath.Join(b.TempDir(), "config.toml")
	b.ReportAllocs()
	for b.Loop() {
		LoadTolerant(path)
	}
}

func BenchmarkLoad(b *testing.B) {
	path := filepath.Join(b.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(layered), 0o600); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		LoadTolerant(path)
	}
}

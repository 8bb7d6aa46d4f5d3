//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/stubmodel"
	"github.com/reseat-dev/reseat/internal/stubmodel/anthropic"
	"github.com/reseat-dev/reseat/plugins"
)

// configure writes our configuration.
func (h *home) configure(t *testing.T, text string) {
	t.Helper()
	if err := os.Chmod(h.write(t, ".config/reseat/config.toml", text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// watchOnce runs `reseat watch --once` and returns its decisions.
func watchOnce(t *testing.T, h *home, env []string) []gjson.Result {
	t.Helper()
	out := h.must(t, h.command(filepath.Join(h.Bin, "reseat"), env, "watch", "--once", "--json"))
	t.Logf("%s", out.stdout)
	return readRecords(out.stdout)
}

func TestWatcherCompactsARealSeatOnce(t *testing.T) {
	t.Parallel()
	c := installedClaude(t, claudeVersions[0])
	env := clientOnPath(t, c.home, "claude", c.program, c.claudeEnv())
	term := c.startTerminal(t)
	c.exchange(t, term, "first words")
	c.book.Turn("second words", stubmodel.Text("a full context").Using(60_000))
	session := c.exchange(t, term, "second words")
	a := c.adapter(t)
	wantState(t, a, session, plugins.StateIdle)

	if d := watchOnce(t, c.home, env); len(d) != 1 || d[0].Get("reason").String() != "off" {
		t.Errorf("without a policy: %v", d)
	}
	c.configure(t, "[policy.claude]\nenabled = true\nthreshold_tokens = 50000\n")
	d := watchOnce(t, c.home, env)
	if last := d[len(d)-1]; last.Get("reason").String() != "done" || last.Get("outcome").String() != "compacted" {
		t.Errorf("above its threshold: %v", d)
	}
	if d := watchOnce(t, c.home, env); d[len(d)-1].Get("act").Bool() {
		t.Errorf("again: %v", d)
	}
	if n := len(c.stub.Of(anthropic.Summary)); n != 1 {
		t.Errorf("%d summaries were asked for", n)
	}
	plan := c.must(t, c.home.command(filepath.Join(c.Bin, "reseat"), env, "compact-plan", "--threshold-tokens", "1", "--json"))
	if got := gjson.Get(plan.stdout, "candidates.0.nativeSessionId").String(); got != session {
		t.Errorf("plan: %s", plan.stdout)
	}
}

func TestTheExampleIsRefusedAllowedAndRefusedAgain(t *testing.T) {
	t.Parallel()
	h := newBareHome(t)
	putPrograms(t, h.Bin)
	example := filepath.Join(h.State, "plugins", "reseat-runtime-shellagent")
	if err := os.MkdirAll(filepath.Dir(example), 0o700); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", example, ".")
	build.Dir = filepath.Join(repository(), "examples", "shell-agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the example: %v\n%s", err, out)
	}
	verify := func(flags ...string) outcome {
		t.Helper()
		got, err := h.command(filepath.Join(h.Bin, "reseat"), h.env(), append([]string{"plugin", "verify", "shellagent"}, flags...)...).run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := verify(); got.code != 1 || !strings.Contains(got.stderr, "reseat: hint: look at it, then allow it: reseat plugin verify shellagent --allow") {
		t.Errorf("a stranger: %+v", got)
	}
	if got := verify("--allow"); got.code != 0 || strings.Contains(got.stdout, "FAIL") || strings.Count(got.stdout, "\nok ") < 8 {
		t.Errorf("allowed: %+v", got)
	}
	if got := verify(); got.code != 0 {
		t.Errorf("the second time: %+v", got)
	}
	f, err := os.OpenFile(example, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("x")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := verify(); got.code != 1 || !strings.Contains(got.stderr, "it has changed since it was allowed") {
		t.Errorf("changed: %+v", got)
	}
}

//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// While the policy is on, status names the running session that was started
// without it, and not the one that was started with it.
func TestStatusShowsARunningClaudeThatLacksTheSwitch(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"started by hand":     nil,
		"with the line's own": {"--settings", `{"idleCompaction":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			c := installedClaude(t, claudeVersions[0])
			env := clientOnPath(t, c.home, "claude", c.program, c.claudeEnv())
			term := c.startTerminal(t, flags...)
			session := c.exchange(t, term, "first words")
			status := func(flags ...string) string {
				t.Helper()
				return c.must(t, c.command(filepath.Join(c.Bin, "reseat"), env, append([]string{"status"}, flags...)...)).stdout
			}
			if got := status(); strings.Contains(got, "idleCompaction") {
				t.Errorf("without a policy:\n%s", got)
			}
			c.configure(t, "[policy.claude]\nenabled = true\nthreshold_percent = 80\n")
			want := 0
			if flags == nil {
				want = 1
			}
			eventually(t, time.Minute, "the live session in status", func() bool {
				got := status("--json")
				if why := gjson.Get(got, "lacking_unknown").String(); why != "" {
					t.Fatal(why)
				}
				return int(gjson.Get(got, "lacking_idle_compaction_off.#").Int()) == want
			})
			if got := status(); strings.Contains(got, "claude:"+session+": started without") != (want == 1) {
				t.Errorf("with a policy:\n%s", got)
			}
		})
	}
}

package compact

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/plugins"
)

func TestShellLinesMeanWhatTheyHold(t *testing.T) {
	words := []string{"plain", "", "two words", "it's", `a"b\c`, "$HOME `id` $(id)", "*?[a]", "~", "-x;y", "a\nb", "é漢"}
	out, err := exec.Command("sh", "-c", "printf '%s\\0' "+ShellLine(nil, words)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); strings.Join(got, "|") != strings.Join(words, "|") {
		t.Errorf("got %q", got)
	}
	line := ShellLine(map[string]string{"B": "x y", "A": "1"}, []string{"claude", "--settings", `{"idleCompaction":false}`})
	if want := `A=1 B='x y' claude --settings '{"idleCompaction":false}'`; line != want {
		t.Errorf("got %s", line)
	}
}

func TestIdleCompactionIsSwitchedOffOnlyWhileThePolicyIsOn(t *testing.T) {
	for enabled, want := range map[bool]bool{true: true, false: false} {
		if got := LaunchRequest(config.Policy{Enabled: enabled}, nil, "/w").IdleCompactionOff; got != want {
			t.Errorf("policy %v: %v", enabled, got)
		}
	}
}

func TestASeatsEnvironment(t *testing.T) {
	env := Environment(plugins.Launch{Environment: map[string]string{"X": "y"}}, "dev@rig", "abc")
	if len(env) != 3 || env["RESEAT_SEAT"] != "dev@rig" || env["RESEAT_NONCE"] != "abc" || env["X"] != "y" {
		t.Errorf("got %v", env)
	}
}

package roundtrip

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// built are the hook programs, built once; TestMain removes them.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "reseat-round-trip-test-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir, "../../cmd/reseat-precompact", "../../cmd/reseat-directive").CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := built(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func programs(t *testing.T) Programs {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return Programs{Precompact: filepath.Join(dir, "reseat-precompact"), Directive: filepath.Join(dir, "reseat-directive")}
}

func TestRoundTripOfTheRealPrograms(t *testing.T) {
	for _, c := range []client.Client{client.Claude, client.Codex} {
		t.Run(string(c), func(t *testing.T) {
			r, err := Run(t.Context(), programs(t), c)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.Directive, r.Packet) || !strings.Contains(r.Directive, "41 apples") && !strings.Contains(r.Directive, "Count the apples") {
				t.Errorf("directive %q doesn't speak of its packet and the made-up work", r.Directive)
			}
			if len(r.Files) < 5 || len(r.Steps) < 5 {
				t.Errorf("files %q, steps %v", r.Files, r.Steps)
			}
			if _, err := os.Stat(r.Packet); !os.IsNotExist(err) {
				t.Errorf("the throw-away home is still there: %v", err)
			}
		})
	}
}

// A round trip that is always green proves nothing: here the hooks are broken in
// each way that it is there to notice.
func TestRoundTripNoticesBrokenHooks(t *testing.T) {
	p := programs(t)
	for _, test := range []struct {
		name, event, script, want string
	}{
		{"nothing is delivered", "SessionStart", `exit 0`, "printed no directive"},
		{"no JSON", "SessionStart", `echo directive`, "printed no directive"},
		{"two deliveries", "SessionStart", `echo '{"hookSpecificOutput":{"additionalContext":"again"}}'`, "delivered twice"},
		{"no packet", "PreCompact", `exit 0`, "PreCompact kept no packet"},
		{"it talks", "UserPromptSubmit", `echo hello`, "instead of nothing"},
		{"it complains", "PreCompact", `echo disk full >&2`, "disk full"},
		{"it fails", "PreCompact", `echo gone >&2; exit 3`, "exit status 3: gone"},
		{"it isn't there", "PreCompact", "", "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := RunWith(t.Context(), client.Claude, func(ctx context.Context, event, state string) (*exec.Cmd, error) {
				program := p.Directive
				if event == "PreCompact" {
					program = p.Precompact
				}
				cmd := exec.CommandContext(ctx, program, "--runtime", "claude", "--home", state)
				switch {
				case event != test.event:
				case test.script == "":
					cmd = exec.CommandContext(ctx, filepath.Join(t.TempDir(), "nothing"))
				default:
					cmd = exec.CommandContext(ctx, "/bin/sh", "-c", "cat >/dev/null; "+test.script)
				}
				cmd.Env = []string{"HOME=" + filepath.Dir(state), "PATH=" + os.Getenv("PATH")}
				return cmd, nil
			})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
		})
	}
}

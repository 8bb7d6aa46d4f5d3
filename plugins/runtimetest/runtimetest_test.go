package runtimetest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/plugins"
)

// honest is an adapter of a client that nobody runs. Each test bends one of its
// answers.
type honest struct {
	describe  func() plugins.Description
	sessions  []plugins.Session
	usage     func(of []plugins.SessionRef) []plugins.Usage
	result    plugins.Result
	odd       *plugins.Result // for ids other than Nobody
	launch    func(plugins.LaunchRequest) plugins.Launch
	described int
}

func (h *honest) Describe(context.Context) (plugins.Description, error) {
	h.described++
	return h.describe(), nil
}

func (h *honest) Sessions(context.Context) (plugins.Sessions, error) {
	return plugins.Sessions{Sessions: h.sessions}, nil
}

func (h *honest) Usage(_ context.Context, of []plugins.SessionRef) ([]plugins.Usage, error) {
	return h.usage(of), nil
}

func (h *honest) Turn(context.Context, plugins.TurnRequest, func(plugins.Progress)) (plugins.Result, error) {
	return h.result, nil
}

func (h *honest) Compact(_ context.Context, r plugins.CompactRequest, _ func(plugins.Progress)) (plugins.Result, error) {
	if h.odd != nil && r.Session.ID != Nobody {
		return *h.odd, nil
	}
	return h.result, nil
}

func (h *honest) Launch(_ context.Context, r plugins.LaunchRequest) (plugins.Launch, error) {
	return h.launch(r), nil
}

func newHonest() *honest {
	return &honest{
		describe: func() plugins.Description {
			return plugins.Description{
				Client: "none", Title: "None", AdapterVersion: "1", ClientVersions: []string{"1"},
				Capabilities: []plugins.Capability{plugins.CanSessions, plugins.CanUsage, plugins.CanCompactLive, plugins.CanLaunch},
			}
		},
		usage: func(of []plugins.SessionRef) []plugins.Usage {
			var out []plugins.Usage
			for _, ref := range of {
				out = append(out, plugins.Usage{Session: ref.ID, Unknown: plugins.UsageNotFound})
			}
			return out
		},
		result: plugins.Result{Outcome: plugins.NotFound, Evidence: plugins.EvidenceNone},
		launch: func(r plugins.LaunchRequest) plugins.Launch {
			return plugins.Launch{Command: append([]string{"none"}, r.Arguments...)}
		},
	}
}

func TestAnHonestAdapterPasses(t *testing.T) {
	for _, check := range Verify(t.Context(), newHonest()) {
		if check.Err != nil || check.Skipped != "" {
			t.Errorf("%s: %v %s", check.Name, check.Err, check.Skipped)
		}
	}
}

func TestABrokenPromiseIsFound(t *testing.T) {
	for _, test := range []struct {
		check string // begins the name of the check that has to fail
		bend  func(*honest)
	}{
		{"describe names", func(h *honest) {
			h.describe = func() plugins.Description { return plugins.Description{Client: "none"} }
		}},
		{"describe names", func(h *honest) {
			d := h.describe()
			d.Capabilities = []plugins.Capability{plugins.CanCompactLive}
			h.describe = func() plugins.Description { return d }
		}},
		{"describe says the same", func(h *honest) {
			d := h.describe()
			h.describe = func() plugins.Description {
				d.AdapterVersion = strings.Repeat("x", h.described+1)
				return d
			}
		}},
		{"sessions are named", func(h *honest) { h.sessions = []plugins.Session{{State: plugins.StateIdle}} }},
		{"sessions are named", func(h *honest) { h.sessions = []plugins.Session{{ID: "a", State: "asleep"}} }},
		{"sessions are named", func(h *honest) { h.sessions = []plugins.Session{{ID: "a", State: plugins.StateClosed}} }},
		{"usage answers", func(h *honest) {
			h.usage = func(of []plugins.SessionRef) []plugins.Usage { return make([]plugins.Usage, len(of)) }
		}},
		{"usage answers", func(h *honest) {
			h.usage = func(of []plugins.SessionRef) []plugins.Usage {
				var out []plugins.Usage
				for _, ref := range of {
					out = append(out, plugins.Usage{Session: ref.ID, Tokens: 1})
				}
				return out
			}
		}},
		{"an unknown session isn't compacted", func(h *honest) { h.result.Outcome = plugins.Compacted }},
		{"an unknown session isn't compacted", func(h *honest) { h.result.Sent = true }},
		{"an unknown session gets no message", func(h *honest) { h.result.Outcome = plugins.Answered }},
		{"ids that are no ids", func(h *honest) { h.odd = &plugins.Result{Outcome: plugins.Failed} }},
		{"launch keeps", func(h *honest) {
			h.launch = func(plugins.LaunchRequest) plugins.Launch { return plugins.Launch{Command: []string{"none", "--last"}} }
		}},
		{"launch keeps", func(h *honest) {
			h.launch = func(r plugins.LaunchRequest) plugins.Launch {
				return plugins.Launch{Command: append([]string{"none"}, r.Arguments...), IdleCompactionOff: true}
			}
		}},
	} {
		h := newHonest()
		test.bend(h)
		var failed []string
		for _, check := range Verify(t.Context(), h) {
			if check.Err != nil {
				failed = append(failed, check.Name)
			}
		}
		found := false
		for _, name := range failed {
			found = found || strings.HasPrefix(name, test.check)
		}
		if !found {
			t.Errorf("%s: passed; failed were %q", test.check, failed)
		}
	}
}

// TestTheExampleBuildsAndPassesOutsideOfTheModule copies the example as a
// stranger does, points it at this checkout and runs its own tests there.
func TestTheExampleBuildsAndPassesOutsideOfTheModule(t *testing.T) {
	if testing.Short() {
		t.Skip("builds another module")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "shell-agent"))); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"mod", "edit", "-replace", "github.com/reseat-dev/reseat=" + root},
		{"vet", "./..."},
		{"test", "-count=1", "./..."},
	} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/host"
)

// The test binary is also every adapter of these tests: under the name
// reseat-runtime-<behaviour> it behaves like that.
func TestMain(m *testing.M) {
	behaviour, ok := strings.CutPrefix(filepath.Base(os.Args[0]), host.Prefix)
	if !ok {
		os.Exit(m.Run())
	}
	switch behaviour {
	case "mute": // starts and never says a word
		select {}
	case "babble":
		fmt.Println("hello, I am not an adapter")
		select {}
	case "quits":
		fmt.Fprintln(os.Stderr, "no licence")
		os.Exit(3)
	}
	plugins.Serve(fake{behaviour})
}

// fake is an adapter whose client's word is its behaviour.
type fake struct{ behaviour string }

func (f fake) Describe(ctx context.Context) (plugins.Description, error) {
	switch f.behaviour {
	case "dumb":
		select {}
	case "liar":
		return plugins.Description{Client: "somebody"}, nil
	}
	wd, _ := os.Getwd()
	return plugins.Description{
		Client: f.behaviour, Title: wd, ClientVersions: os.Environ(),
		Capabilities: []plugins.Capability{plugins.CanCompactLive},
	}, nil
}

func (f fake) Sessions(context.Context) (plugins.Sessions, error) {
	switch f.behaviour {
	case "hangs":
		select {}
	case "dies":
		os.Exit(1)
	case "errs":
		return plugins.Sessions{}, errors.New("no such folder")
	case "huge":
		return plugins.Sessions{Caveats: []string{strings.Repeat("x", plugins.MaxMessage)}}, nil
	}
	return plugins.Sessions{Sessions: []plugins.Session{{ID: "a", State: plugins.StateIdle, PID: os.Getpid()}}}, nil
}

func (f fake) Usage(_ context.Context, of []plugins.SessionRef) ([]plugins.Usage, error) {
	var out []plugins.Usage
	for _, ref := range of {
		out = append(out, plugins.Usage{Session: ref.ID, Tokens: 5})
	}
	if f.behaviour == "short" {
		out = out[:len(out)-1]
	}
	return out, nil
}

func (f fake) Compact(ctx context.Context, _ plugins.CompactRequest, stage func(plugins.Progress)) (plugins.Result, error) {
	stage(plugins.Progress{Stage: plugins.StageChecking, At: time.Now()})
	stage(plugins.Progress{Stage: plugins.StageSending, At: time.Now()})
	switch f.behaviour {
	case "hangs":
		select {}
	case "dies":
		// A child that holds our stderr must not hold up the host.
		cmd := exec.Command("sleep", "600")
		cmd.Stderr = os.Stderr
		_ = cmd.Start()
		os.Exit(1)
	case "errs":
		return plugins.Result{}, errors.New("no such folder")
	case "boasts":
		return plugins.Result{Outcome: plugins.Compacted}, nil
	case "novel":
		return plugins.Result{Outcome: "splendid"}, nil
	case "waits":
		<-ctx.Done()
		return plugins.Result{}, ctx.Err()
	}
	return plugins.Result{Outcome: plugins.Compacted, Evidence: plugins.EvidenceCompletion}, nil
}

func (f fake) Turn(_ context.Context, r plugins.TurnRequest, _ func(plugins.Progress)) (plugins.Result, error) {
	return plugins.Result{Outcome: plugins.Answered, Detail: r.Text}, nil
}

func (f fake) Launch(_ context.Context, r plugins.LaunchRequest) (plugins.Launch, error) {
	return plugins.Launch{Command: append([]string{"fake"}, r.Arguments...)}, nil
}

// adapter puts the test binary under the behaviour's name into a state folder,
// allows it and returns it as found.
func adapter(t *testing.T, behaviour string) (host.Adapter, state.Home) {
	t.Helper()
	home := state.Home(t.TempDir())
	if err := os.Mkdir(home.Plugins(), 0o700); err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(home.Plugins(), host.Prefix+behaviour))
	a := find(t, home, behaviour)
	if _, err := host.Allow(home, a, []string{"EXTRA_"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	return find(t, home, behaviour), home
}

func program(t *testing.T, path string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Link(self, path) == nil {
		return
	}
	in, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func find(t *testing.T, home state.Home, name string) host.Adapter {
	t.Helper()
	found, err := host.Find(host.Place{Home: home})
	if err != nil {
		t.Fatal(err)
	}
	a, ok := host.For(found, name)
	if !ok {
		t.Fatalf("no adapter for %s in %+v", name, found)
	}
	return a
}

func open(t *testing.T, behaviour string) *host.Connection {
	t.Helper()
	a, home := adapter(t, behaviour)
	c, err := host.Open(t.Context(), a, settings(home))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func settings(home state.Home) host.Settings {
	return host.Settings{
		Home:    string(home),
		Environ: []string{"HOME=/h", "SECRET_TOKEN=x", "EXTRA_ONE=1", "RESEAT_SEAT=a@b", "LC_ALL=C", "CLAUDECODE=1"},
		Limits:  host.Limits{Start: 5 * time.Second, Ask: time.Second, Grace: 300 * time.Millisecond},
	}
}

func nothing(plugins.Progress) {}

func TestAdapterGetsTheListedEnvironmentAndNothingElse(t *testing.T) {
	c := open(t, "fine")
	d := c.Description()
	env := map[string]string{}
	for _, entry := range d.ClientVersions {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	for name, want := range map[string]string{"HOME": "/h", "EXTRA_ONE": "1", "LC_ALL": "C", "RESEAT_HOME": string(c.Adapter().Path[:len(c.Adapter().Path)-len("/plugins/reseat-runtime-fine")])} {
		if env[name] != want {
			t.Errorf("%s = %q, want %q", name, env[name], want)
		}
	}
	for _, name := range []string{"SECRET_TOKEN", "RESEAT_SEAT", "CLAUDECODE"} {
		if value, ok := env[name]; ok {
			t.Errorf("%s=%s was handed on", name, value)
		}
	}
	if d.Title != "/" {
		t.Errorf("the adapter runs in %q", d.Title)
	}
}

func TestCallsTravelWhole(t *testing.T) {
	c := open(t, "fine")
	usage, err := c.Usage(t.Context(), []plugins.SessionRef{{ID: "x"}, {ID: "y"}})
	if err != nil || len(usage) != 2 || usage[1].Session != "y" || usage[1].Tokens != 5 {
		t.Errorf("usage %+v, %v", usage, err)
	}
	launch, err := c.Launch(t.Context(), plugins.LaunchRequest{Arguments: []string{"-c", "a b"}})
	if err != nil || strings.Join(launch.Command, "|") != "fake|-c|a b" {
		t.Errorf("launch %+v, %v", launch, err)
	}
	turn, err := c.Turn(t.Context(), plugins.TurnRequest{Text: "hello"}, nothing)
	if err != nil || turn.Outcome != plugins.Answered || turn.Detail != "hello" {
		t.Errorf("turn %+v, %v", turn, err)
	}
	var stages []plugins.Stage
	result, err := c.Compact(t.Context(), plugins.CompactRequest{}, func(p plugins.Progress) { stages = append(stages, p.Stage) })
	if err != nil || result.Outcome != plugins.Compacted || !result.Sent || len(stages) != 2 {
		t.Errorf("compact %+v, %v, stages %v", result, err, stages)
	}
}

func TestWhateverAnAdapterDoesIsAnOutcome(t *testing.T) {
	for _, test := range []struct {
		behaviour string
		outcome   plugins.Outcome
		reason    plugins.Reason
	}{
		{"hangs", plugins.TimedOut, plugins.ReasonAdapterHung},
		{"dies", plugins.Unknown, plugins.ReasonAdapterExited},
		{"errs", plugins.Unknown, plugins.ReasonClientError},
		{"boasts", plugins.Unknown, plugins.ReasonAdapterBroke},
		{"novel", plugins.Unknown, plugins.ReasonAdapterBroke},
	} {
		t.Run(test.behaviour, func(t *testing.T) {
			t.Parallel()
			c := open(t, test.behaviour)
			result, err := c.Compact(t.Context(), plugins.CompactRequest{
				Patience: plugins.Patience{Timeout: 100 * time.Millisecond},
			}, nothing)
			if err != nil {
				t.Fatal(err)
			}
			if result.Outcome != test.outcome || result.Reason != test.reason || !result.Sent {
				t.Errorf("got %+v, want %s (%s), sent", result, test.outcome, test.reason)
			}
			c.Close()
		})
	}
}

func TestInterruptionIsHonest(t *testing.T) {
	c := open(t, "waits")
	ctx, cancel := context.WithCancel(t.Context())
	result, _ := c.Compact(ctx, plugins.CompactRequest{}, func(p plugins.Progress) {
		if p.Stage == plugins.StageSending {
			cancel()
		}
	})
	if result.Outcome != plugins.Unknown || result.Reason != plugins.ReasonInterrupted || !result.Sent {
		t.Errorf("got %+v", result)
	}
}

func TestQuestionsAreBounded(t *testing.T) {
	for behaviour, want := range map[string]string{
		"hangs": "didn't answer in time",
		"dies":  "went away",
		"errs":  "no such folder",
		"huge":  "larger than max",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			c := open(t, behaviour)
			_, err := c.Sessions(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
	c := open(t, "short")
	if _, err := c.Usage(t.Context(), []plugins.SessionRef{{ID: "a"}, {ID: "b"}}); err == nil {
		t.Error("an answer for one of two sessions was taken")
	}
}

func TestStartIsBounded(t *testing.T) {
	for behaviour, want := range map[string]string{
		"mute":   "timeout while waiting",
		"babble": "Unrecognized remote plugin message",
		"quits":  "no licence",
		"liar":   `it is for client "somebody"`,
		"dumb":   "didn't answer in time",
	} {
		t.Run(behaviour, func(t *testing.T) {
			t.Parallel()
			a, home := adapter(t, behaviour)
			s := settings(home)
			if behaviour == "mute" {
				s.Limits.Start = 200 * time.Millisecond
			}
			_, err := host.Open(t.Context(), a, s)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want an error with %q", err, want)
			}
		})
	}
}

func TestStrangersRunOnlyAsTheyWereAllowed(t *testing.T) {
	a, home := adapter(t, "fine")
	for range 2 { // a SecureConfig that is used twice would refuse the second
		c, err := host.Open(t.Context(), a, settings(home))
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if err := os.Remove(a.Path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.Path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := host.Open(t.Context(), find(t, home, "fine"), settings(home))
	var refused *host.RefusedError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "changed") || !strings.Contains(refused.Hint(), "reseat plugin verify fine --allow") {
		t.Errorf("got %v", err)
	}
}

func TestStrangersAreRefusedUntilAllowed(t *testing.T) {
	home := state.Home(t.TempDir())
	beside := t.TempDir()
	program(t, filepath.Join(beside, host.Prefix+"claude"))
	program(t, filepath.Join(beside, host.Prefix+"mine"))
	found, err := host.Find(host.Place{Beside: beside, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	claude, _ := host.For(found, "claude")
	if claude.Refuse != nil || !claude.Ours {
		t.Errorf("ours is refused: %+v", claude)
	}
	mine, _ := host.For(found, "mine")
	var refused *host.RefusedError
	if !errors.As(mine.Refuse, &refused) {
		t.Errorf("a stranger beside reseat isn't refused: %+v", mine)
	}
	if _, err := host.Open(t.Context(), mine, settings(home)); !errors.As(err, &refused) {
		t.Errorf("open: %v", err)
	}
}

func TestUnsafeFilesAreRefused(t *testing.T) {
	a, home := adapter(t, "fine")
	copied := filepath.Join(home.Plugins(), host.Prefix+"copy")
	if err := os.WriteFile(copied, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := find(t, home, "copy").Refuse; err == nil || !strings.Contains(err.Error(), "executable") {
		t.Errorf("not executable: %v", err)
	}
	if err := os.Chmod(copied, 0o722); err != nil {
		t.Fatal(err)
	}
	if err := find(t, home, "copy").Refuse; err == nil || !strings.Contains(err.Error(), "written by others") {
		t.Errorf("writable by others: %v", err)
	}
	if err := os.Chmod(home.Plugins(), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := find(t, home, "fine").Refuse; err == nil || !strings.Contains(err.Error(), "written by others") {
		t.Errorf("folder writable by others: %v", err)
	}
	if _, err := host.Open(t.Context(), a, settings(home)); err == nil {
		t.Error("opened after the folder was opened to others")
	}
}

func TestConfiguredComesBeforeHomeBeforePackage(t *testing.T) {
	home := state.Home(t.TempDir())
	if err := os.Mkdir(home.Plugins(), 0o700); err != nil {
		t.Fatal(err)
	}
	beside, other := t.TempDir(), t.TempDir()
	for _, dir := range []string{beside, home.Plugins(), other} {
		program(t, filepath.Join(dir, host.Prefix+"claude"))
	}
	place := host.Place{Beside: beside, Home: home, Configured: []string{filepath.Join(other, host.Prefix+"claude")}}
	for _, want := range []host.Origin{host.FromConfig, host.FromHome, host.FromPackage} {
		found, err := host.Find(place)
		if err != nil {
			t.Fatal(err)
		}
		if a, _ := host.For(found, "claude"); a.Origin != want {
			t.Fatalf("got %s, want %s", a.Origin, want)
		}
		place.Configured = nil
		if want == host.FromHome {
			place.Home = ""
		}
	}
}

func TestABrokenPinIsNoPin(t *testing.T) {
	a, home := adapter(t, "fine")
	pin := filepath.Join(home.Plugins(), "fine.pin.json")
	for _, data := range []string{"", "{}", "null", `{"client":"fine","path":"/x","sha256":"AB"}`, `{"client":"other","path":"/x","sha256":"` + a.Pin.SHA256 + `"}`} {
		if err := os.WriteFile(pin, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := host.Find(host.Place{Home: home}); err == nil {
			t.Errorf("pin %q was taken", data)
		}
	}
}

func TestAdapterEndsWithItsHost(t *testing.T) {
	c := open(t, "fine")
	sessions, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	process, err := os.FindProcess(sessions.Sessions[0].PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Signal(syscall.Signal(0)); err == nil {
		t.Error("the adapter is still there")
	}
}

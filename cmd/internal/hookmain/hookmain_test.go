package hookmain

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/hooks"
)

const payload = `{"session_id":"s","hook_event_name":"UserPromptSubmit","cwd":"/","prompt":"x"}`

// start runs a program with the given handler on a payload, in a fresh home.
func start(t *testing.T, args []string, handle func(context.Context, *bridge.Bridge, hooks.Event, bridge.Sink) bridge.Outcome) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	var out, complaint bytes.Buffer
	code = Run(t.Context(), Program{Name: "reseat-test", Does: "a test", Handle: handle}, Env{
		Args: append(args, "--home", home), Stdin: strings.NewReader(payload), Stdout: &out, Stderr: &complaint,
		Getenv: func(string) string { return "" },
	})
	return code, out.String(), complaint.String()
}

var forClaude = []string{"--runtime", "claude"}

func TestPanicNeverEndsInTheCodeThatBlocks(t *testing.T) {
	code, out, complaint := start(t, forClaude, func(context.Context, *bridge.Bridge, hooks.Event, bridge.Sink) bridge.Outcome {
		panic("by hand")
	})
	if code != exitFault || out != "" || !strings.Contains(complaint, "by hand") {
		t.Errorf("exit %d, printed %q, complained %q", code, out, complaint)
	}
}

func TestPanicAfterTheWholeDocumentKeepsIt(t *testing.T) {
	code, out, _ := start(t, forClaude, func(_ context.Context, _ *bridge.Bridge, _ hooks.Event, to bridge.Sink) bridge.Outcome {
		to.Write([]byte("{}"))
		panic("by hand")
	})
	if code != exitOK || out != "{}" {
		t.Errorf("exit %d, printed %q: Codex throws the output of a failed hook away", code, out)
	}
}

func TestUnknownArgumentsAreNoted(t *testing.T) {
	called := false
	code, _, _ := start(t, []string{"--runtime=claude", "--from-the-future", "x"}, func(context.Context, *bridge.Bridge, hooks.Event, bridge.Sink) bridge.Outcome {
		called = true
		return bridge.Outcome{Decision: bridge.DidNothing}
	})
	if code != exitOK || !called {
		t.Errorf("exit %d, ran %v", code, called)
	}
}

func TestFaultIsSaidAndHarmsNobody(t *testing.T) {
	code, out, complaint := start(t, forClaude, func(context.Context, *bridge.Bridge, hooks.Event, bridge.Sink) bridge.Outcome {
		return bridge.Outcome{Decision: bridge.DidFail, Reason: "no packet", Err: errors.New("disk full"), Reply: hooks.Notice("no packet")}
	})
	if code != exitOK || !strings.Contains(out, "systemMessage") || !strings.Contains(complaint, "disk full") {
		t.Errorf("exit %d, printed %q, complained %q", code, out, complaint)
	}
}

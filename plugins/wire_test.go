package plugins

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/plugins/runtimepb"
)

func TestEveryWordTravels(t *testing.T) {
	same := func(set, word, back string) {
		if back != word {
			t.Errorf("%s %q comes back as %q", set, word, back)
		}
	}
	for _, o := range append(Outcomes(), Answered, "") {
		same("outcome", string(o), string(fromOutcome(toOutcome(o))))
	}
	for _, s := range []Stage{StageChecking, StageWaitingIdle, StageSending, StageSent, StageRunning, StageConfirming} {
		same("stage", string(s), string(fromStage(toStage(s))))
	}
	for _, s := range []State{StateUnknown, StateIdle, StateBusy, StateWaiting, StateClosed} {
		same("state", string(s), string(fromState(toState(s))))
	}
	for _, s := range []Switch{SwitchUnknown, SwitchOn, SwitchOff} {
		same("switch", string(s), string(fromSwitch(toSwitch(s))))
	}
	for _, u := range []UsageUnknown{UsageKnown, UsageNotFound, UsageNoData, UsageUnreadable, UsageMismatch, UsageUnsupported} {
		same("usage", string(u), string(fromUsageUnknown(toUsageUnknown(u))))
	}
	for _, c := range []Capability{
		CanSessions, CanUsage, CanTurnLive, CanTurnClosed, CanCompactLive, CanCompactClosed, CanLaunch, CanInstructions, CanResume, CanFork,
	} {
		same("capability", string(c), string(fromCapability(toCapability(c))))
	}
}

func TestEveryWireValueHasAWord(t *testing.T) {
	for n := range runtimepb.Outcome_name {
		if word := fromOutcome(runtimepb.Outcome(n)); n != 0 && word == "" {
			t.Errorf("outcome %d has no word", n)
		}
	}
	if got := len(runtimepb.Outcome_name) - 2; got != len(Outcomes()) { // without unspecified and answered
		t.Errorf("%d outcomes on the wire, %d in Outcomes", got, len(Outcomes()))
	}
}

func TestUnknownWireValuesAreNotKnown(t *testing.T) {
	if got := fromState(99); got != StateUnknown {
		t.Errorf("state %q", got)
	}
	if got := fromOutcome(99); got != "" {
		t.Errorf("outcome %q: a newer adapter's word must not pass for one of ours", got)
	}
	if got := fromDescription(&runtimepb.DescribeResponse{Capabilities: []runtimepb.Capability{99}}); len(got.Capabilities) != 0 {
		t.Errorf("capabilities %v", got.Capabilities)
	}
}

func TestMessagesTravelWhole(t *testing.T) {
	at := time.Date(2026, 11, 29, 12, 0, 0, 5000, time.UTC)
	session := Session{
		ID: "i", CWD: "/c", PID: 7, Version: "1", Transcript: "/t", Pane: &Pane{"/s", "%1", "n"}, State: StateWaiting, StateReason: "r",
		StateSince: at, Kind: "k", Channel: ChannelPane, IdleCompaction: SwitchOff,
	}
	usage := Usage{Session: "i", Unknown: UsageNoData, Tokens: 1, Window: 2, Percent: 50, SampledAt: at, Source: "s", Newer: true, Detail: "d"}
	result := Result{
		Outcome: Compacted, Reason: ReasonHookBlocked, Detail: "d", Mechanism: CodexCompact, Channel: ChannelDaemon, Sent: true,
		Boundary: &Boundary{Offset: 9, ID: "u", Time: at, Trigger: "auto", PreTokens: 3, PostTokens: 1}, State: StateIdle, Evidence: EvidenceBoundary, Took: time.Minute,
	}
	launch := Launch{Command: []string{"a", ""}, Environment: map[string]string{"A": "b"}, Caveats: []string{"c"}, IdleCompactionOff: true}
	description := Description{
		Client: "c", Title: "t", AdapterVersion: "1", ClientVersions: []string{"2"}, ClientProgram: "/p", InstalledVersion: "3",
		Capabilities: []Capability{CanUsage}, Hooks: []HookTrust{{"E", "1", true, "2", "n"}}, Environment: []string{"X_"},
	}
	patience := Patience{WaitIdle: time.Second, Timeout: time.Hour}
	progress := Progress{Stage: StageRunning, At: at, Detail: "d"}
	for _, pair := range [][2]any{
		{session, fromSession(toSession(session))},
		{Sessions{[]Session{session}, []string{"c"}}, fromSessions(toSessions(Sessions{[]Session{session}, []string{"c"}}))},
		{usage, fromUsage(toUsage(usage))},
		{result, fromResult(toResult(result))},
		{launch, fromLaunch(toLaunch(launch))},
		{description, fromDescription(toDescription(description))},
		{patience, fromPatience(toPatience(patience))},
		{progress, fromProgress(toProgress(progress))},
		{SessionRef{"a", "b", "c"}, fromRef(toRef(SessionRef{"a", "b", "c"}))},
	} {
		if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%T: %s", pair[0], diff)
		}
	}
}

func TestAMissingEvidenceIsNone(t *testing.T) {
	if got := fromResult(&runtimepb.Result{}).Evidence; got != EvidenceNone {
		t.Errorf("evidence %q", got)
	}
}

package plugins

import (
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/reseat-dev/reseat/plugins/runtimepb"
)

// This file turns the contract's Go types into their wire form and back. A word
// of a closed set travels as an enum whose name is the word, so that the two
// lists can't drift: word "waiting-idle" is STAGE_WAITING_IDLE. What the other
// side doesn't know arrives as the set's "not known".

type enum interface {
	~int32
	String() string
}

func toEnum[E enum](values map[string]int32, prefix, word string) E {
	return E(values[prefix+strings.ToUpper(strings.ReplaceAll(word, "-", "_"))])
}

func fromEnum[W ~string](e enumName, prefix, unspecified, separator string) W {
	name, ok := strings.CutPrefix(e.String(), prefix)
	if !ok || name == "UNSPECIFIED" {
		return W(unspecified)
	}
	return W(strings.ReplaceAll(strings.ToLower(name), "_", separator))
}

type enumName interface{ String() string }

func toState(s State) runtimepb.State {
	return toEnum[runtimepb.State](runtimepb.State_value, "STATE_", string(s))
}

func fromState(s runtimepb.State) State {
	return fromEnum[State](s, "STATE_", string(StateUnknown), "_")
}

func toSwitch(s Switch) runtimepb.Switch {
	return toEnum[runtimepb.Switch](runtimepb.Switch_value, "SWITCH_", string(s))
}

func fromSwitch(s runtimepb.Switch) Switch {
	return fromEnum[Switch](s, "SWITCH_", string(SwitchUnknown), "_")
}

func toStage(s Stage) runtimepb.Stage {
	return toEnum[runtimepb.Stage](runtimepb.Stage_value, "STAGE_", string(s))
}

func fromStage(s runtimepb.Stage) Stage { return fromEnum[Stage](s, "STAGE_", "", "-") }

func toOutcome(o Outcome) runtimepb.Outcome {
	return toEnum[runtimepb.Outcome](runtimepb.Outcome_value, "OUTCOME_", string(o))
}

func fromOutcome(o runtimepb.Outcome) Outcome { return fromEnum[Outcome](o, "OUTCOME_", "", "_") }

func toUsageUnknown(u UsageUnknown) runtimepb.UsageUnknown {
	return toEnum[runtimepb.UsageUnknown](runtimepb.UsageUnknown_value, "USAGE_UNKNOWN_", string(u))
}

func fromUsageUnknown(u runtimepb.UsageUnknown) UsageUnknown {
	return fromEnum[UsageUnknown](u, "USAGE_UNKNOWN_", "", "_")
}

func toCapability(c Capability) runtimepb.Capability {
	return toEnum[runtimepb.Capability](runtimepb.Capability_value, "CAPABILITY_", string(c))
}

func fromCapability(c runtimepb.Capability) Capability {
	return fromEnum[Capability](c, "CAPABILITY_", "", "-")
}

func toTime(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

func fromTime(t *timestamppb.Timestamp) time.Time {
	if t == nil || t.CheckValid() != nil {
		return time.Time{}
	}
	return t.AsTime()
}

func fromDuration(d *durationpb.Duration) time.Duration {
	if d == nil || d.CheckValid() != nil || d.AsDuration() < 0 {
		return 0
	}
	return d.AsDuration()
}

func toDescription(d Description) *runtimepb.DescribeResponse {
	out := &runtimepb.DescribeResponse{
		Client: d.Client, Title: d.Title, AdapterVersion: d.AdapterVersion,
		ClientVersions: d.ClientVersions, ClientProgram: d.ClientProgram,
		InstalledVersion: d.InstalledVersion, Environment: d.Environment,
	}
	for _, c := range d.Capabilities {
		out.Capabilities = append(out.Capabilities, toCapability(c))
	}
	for _, h := range d.Hooks {
		out.Hooks = append(out.Hooks, &runtimepb.HookTrust{
			Event: h.Event, Since: h.Since, FiresForSubagentsUnmarked: h.UnmarkedSubagents,
			SinceMarked: h.MarkedSince, Note: h.Note,
		})
	}
	return out
}

func fromDescription(d *runtimepb.DescribeResponse) Description {
	out := Description{
		Client: d.GetClient(), Title: d.GetTitle(), AdapterVersion: d.GetAdapterVersion(),
		ClientVersions: d.GetClientVersions(), ClientProgram: d.GetClientProgram(),
		InstalledVersion: d.GetInstalledVersion(), Environment: d.GetEnvironment(),
	}
	for _, c := range d.GetCapabilities() {
		if word := fromCapability(c); word != "" {
			out.Capabilities = append(out.Capabilities, word)
		}
	}
	for _, h := range d.GetHooks() {
		out.Hooks = append(out.Hooks, HookTrust{
			Event: h.GetEvent(), Since: h.GetSince(), UnmarkedSubagents: h.GetFiresForSubagentsUnmarked(),
			MarkedSince: h.GetSinceMarked(), Note: h.GetNote(),
		})
	}
	return out
}

func toSession(s Session) *runtimepb.Session {
	out := &runtimepb.Session{
		Id: s.ID, Cwd: s.CWD, Pid: int64(s.PID), Version: s.Version, Transcript: s.Transcript,
		State: toState(s.State), StateReason: s.StateReason, StateSince: toTime(s.StateSince),
		Kind: s.Kind, Channel: string(s.Channel), IdleCompaction: toSwitch(s.IdleCompaction),
	}
	if s.Pane != nil {
		out.Pane = &runtimepb.Pane{Socket: s.Pane.Socket, Id: s.Pane.ID, Session: s.Pane.Session}
	}
	return out
}

func fromSession(s *runtimepb.Session) Session {
	out := Session{
		ID: s.GetId(), CWD: s.GetCwd(), PID: int(s.GetPid()), Version: s.GetVersion(), Transcript: s.GetTranscript(),
		State: fromState(s.GetState()), StateReason: s.GetStateReason(), StateSince: fromTime(s.GetStateSince()),
		Kind: s.GetKind(), Channel: Channel(s.GetChannel()), IdleCompaction: fromSwitch(s.GetIdleCompaction()),
	}
	if p := s.GetPane(); p != nil {
		out.Pane = &Pane{Socket: p.GetSocket(), ID: p.GetId(), Session: p.GetSession()}
	}
	return out
}

func toSessions(s Sessions) *runtimepb.SessionsResponse {
	out := &runtimepb.SessionsResponse{Caveats: s.Caveats}
	for _, one := range s.Sessions {
		out.Sessions = append(out.Sessions, toSession(one))
	}
	return out
}

func fromSessions(s *runtimepb.SessionsResponse) Sessions {
	out := Sessions{Caveats: s.GetCaveats()}
	for _, one := range s.GetSessions() {
		out.Sessions = append(out.Sessions, fromSession(one))
	}
	return out
}

func toRef(r SessionRef) *runtimepb.SessionRef {
	return &runtimepb.SessionRef{Id: r.ID, Transcript: r.Transcript, Cwd: r.CWD}
}

func fromRef(r *runtimepb.SessionRef) SessionRef {
	return SessionRef{ID: r.GetId(), Transcript: r.GetTranscript(), CWD: r.GetCwd()}
}

func toUsage(u Usage) *runtimepb.Usage {
	return &runtimepb.Usage{
		Session: u.Session, Unknown: toUsageUnknown(u.Unknown), Tokens: u.Tokens, Window: u.Window,
		Percent: u.Percent, SampledAt: toTime(u.SampledAt), Source: u.Source, Newer: u.Newer, Detail: u.Detail,
	}
}

func fromUsage(u *runtimepb.Usage) Usage {
	return Usage{
		Session: u.GetSession(), Unknown: fromUsageUnknown(u.GetUnknown()), Tokens: u.GetTokens(),
		Window: u.GetWindow(), Percent: u.GetPercent(), SampledAt: fromTime(u.GetSampledAt()),
		Source: u.GetSource(), Newer: u.GetNewer(), Detail: u.GetDetail(),
	}
}

func toPatience(p Patience) *runtimepb.Patience {
	return &runtimepb.Patience{WaitIdle: durationpb.New(p.WaitIdle), Timeout: durationpb.New(p.Timeout)}
}

func fromPatience(p *runtimepb.Patience) Patience {
	return Patience{WaitIdle: fromDuration(p.GetWaitIdle()), Timeout: fromDuration(p.GetTimeout())}
}

func toProgress(p Progress) *runtimepb.Event {
	return &runtimepb.Event{Stage: toStage(p.Stage), At: toTime(p.At), Detail: p.Detail}
}

func fromProgress(e *runtimepb.Event) Progress {
	return Progress{Stage: fromStage(e.GetStage()), At: fromTime(e.GetAt()), Detail: e.GetDetail()}
}

func toResult(r Result) *runtimepb.Result {
	out := &runtimepb.Result{
		Outcome: toOutcome(r.Outcome), Reason: string(r.Reason), Detail: r.Detail,
		Mechanism: string(r.Mechanism), Channel: string(r.Channel), Sent: r.Sent,
		State: toState(r.State), Evidence: string(r.Evidence), Took: durationpb.New(r.Took),
	}
	if b := r.Boundary; b != nil {
		out.Boundary = &runtimepb.Boundary{
			Offset: b.Offset, Id: b.ID, Time: toTime(b.Time), Trigger: b.Trigger,
			PreTokens: b.PreTokens, PostTokens: b.PostTokens,
		}
	}
	return out
}

func fromResult(r *runtimepb.Result) Result {
	out := Result{
		Outcome: fromOutcome(r.GetOutcome()), Reason: Reason(r.GetReason()), Detail: r.GetDetail(),
		Mechanism: Mechanism(r.GetMechanism()), Channel: Channel(r.GetChannel()), Sent: r.GetSent(),
		State: fromState(r.GetState()), Evidence: Evidence(r.GetEvidence()), Took: fromDuration(r.GetTook()),
	}
	if out.Evidence == "" {
		out.Evidence = EvidenceNone
	}
	if b := r.GetBoundary(); b != nil {
		out.Boundary = &Boundary{
			Offset: b.GetOffset(), ID: b.GetId(), Time: fromTime(b.GetTime()), Trigger: b.GetTrigger(),
			PreTokens: b.GetPreTokens(), PostTokens: b.GetPostTokens(),
		}
	}
	return out
}

func toLaunch(l Launch) *runtimepb.LaunchResponse {
	return &runtimepb.LaunchResponse{
		Command: l.Command, Environment: l.Environment, Caveats: l.Caveats, IdleCompactionOff: l.IdleCompactionOff,
	}
}

func fromLaunch(l *runtimepb.LaunchResponse) Launch {
	return Launch{
		Command: l.GetCommand(), Environment: l.GetEnvironment(), Caveats: l.GetCaveats(),
		IdleCompactionOff: l.GetIdleCompactionOff(),
	}
}

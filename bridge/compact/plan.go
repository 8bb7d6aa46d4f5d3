package compact

import (
	"fmt"
	"math"
	"sort"

	"github.com/reseat-dev/reseat/plugins"
)

// The thresholds of a plan where none are given: those of the v0 tools.
const (
	DefaultThresholdTokens  = 400_000
	DefaultThresholdPercent = 80
)

// Thresholds say from where on a seat is a candidate. Percent counts only where
// the window's size is unknown, as in the v0 tools.
type Thresholds struct {
	Tokens  int64   // over 0
	Percent float64 // 0 to 100
}

// Verdict is what a plan says of a seat.
type Verdict string

// The verdicts.
const (
	Candidate Verdict = "candidate_with_caveats"
	Held      Verdict = "blocked" // something has to be known or to change first
	Skipped   Verdict = "skipped"
)

// The reasons of a plan, words of the v0 tools but for those of states that they
// don't tell apart.
const (
	belowThreshold       = "below_threshold"
	aboveTokens          = "above_token_threshold"
	abovePercent         = "above_percent_threshold_missing_window"
	authorization        = "authorization_required"
	contextStale         = "context_stale"
	contextUnknown       = "context_unknown"
	notRunning           = "seat_not_running_or_ready"
	noChannel            = "no_channel_to_the_client"
	seatBusy             = "seat_busy"
	seatWaiting          = "seat_waits_for_a_person"
	codexNotManaged      = "codex_not_managed_by_claude_compact_in_place"
	otherRuntime         = "non_claude_runtime"
	missingRestorePacket = "checkpoint_or_restore_packet_verification"
	missingWindow        = "context_window_size"
	missingFresh         = "fresh_context_sample"
	missingUsage         = "context_usage"
	missingAttach        = "attach_or_resume_evidence"
)

// Entry is one seat in a plan. Keys that only a daemon of the v0 tools can fill
// are left out.
type Entry struct {
	Session             string   `json:"session"` // the seat's address, else client:id
	Rig                 string   `json:"rig,omitempty"`
	NativeID            string   `json:"nativeSessionId"`
	Runtime             string   `json:"runtime"`
	UsedPercentage      *float64 `json:"usedPercentage"`
	ContextWindowSize   *int64   `json:"contextWindowSize"`
	EstimatedUsedTokens *int64   `json:"estimatedUsedTokens"`
	ContextFreshness    string   `json:"contextFreshness"` // fresh, stale, unknown
	State               string   `json:"state"`
	Channel             string   `json:"channel,omitempty"`
	Status              Verdict  `json:"status"`
	ThresholdReason     string   `json:"thresholdReason,omitempty"`
	Reasons             []string `json:"reasons"`
	MissingEvidence     []string `json:"missingEvidence,omitempty"`
	Requirements        []string `json:"precompactRequirements,omitempty"`
	NextAction          string   `json:"nextAction,omitempty"`
	Detail              string   `json:"detail,omitempty"`
}

// Summary counts a plan's entries.
type Summary struct {
	TotalSeats            int  `json:"totalSeats"`
	ClaudeSeats           int  `json:"claudeSeats"`
	CodexSeats            int  `json:"codexSeats"`
	CandidateCount        int  `json:"candidateCount"`
	BlockedCount          int  `json:"blockedCount"`
	SkippedCount          int  `json:"skippedCount"`
	RequiresAuthorization bool `json:"requiresAuthorization"`
}

// PlanPolicy states by what a plan was made.
type PlanPolicy struct {
	Mode                          string  `json:"mode"`
	DefaultThresholdTokens        int64   `json:"defaultThresholdTokens"`
	DefaultThresholdPercent       float64 `json:"defaultThresholdPercent"`
	ThresholdTokens               int64   `json:"thresholdTokens"`
	ThresholdPercent              float64 `json:"thresholdPercent"`
	OneSeatAtATime                bool    `json:"oneSeatAtATime"`
	AutoCompactAllowed            bool    `json:"autoCompactAllowed"`
	ExplicitAuthorizationRequired bool    `json:"explicitAuthorizationRequired"`
}

// Plan says which seats to compact, in which order, and why not the others. It
// is read-only: nothing is triggered by it.
type Plan struct {
	Summary          Summary    `json:"summary"`
	Policy           PlanPolicy `json:"policy"`
	RecommendedOrder []string   `json:"recommendedOrder"`
	Candidates       []Entry    `json:"candidates"`
	Blocked          []Entry    `json:"blocked"`
	Skipped          []Entry    `json:"skipped"`
	Caveats          []string   `json:"caveats,omitempty"`
}

// MakePlan judges every seat of a survey.
func MakePlan(s Survey, t Thresholds) Plan {
	plan := Plan{
		Policy: PlanPolicy{
			Mode: "read_only_plan", DefaultThresholdTokens: DefaultThresholdTokens, DefaultThresholdPercent: DefaultThresholdPercent,
			ThresholdTokens: t.Tokens, ThresholdPercent: t.Percent, OneSeatAtATime: true, ExplicitAuthorizationRequired: true,
		},
		RecommendedOrder: []string{}, Candidates: []Entry{}, Blocked: []Entry{}, Skipped: []Entry{}, Caveats: s.Caveats,
	}
	for _, standing := range s.Standings {
		e := judge(standing, t)
		switch e.Status {
		case Candidate:
			plan.Candidates = append(plan.Candidates, e)
		case Held:
			plan.Blocked = append(plan.Blocked, e)
		default:
			plan.Skipped = append(plan.Skipped, e)
		}
		switch e.Runtime {
		case "claude-code":
			plan.Summary.ClaudeSeats++
		case "codex":
			plan.Summary.CodexSeats++
		}
	}
	sort.SliceStable(plan.Candidates, func(i, j int) bool {
		a, b := weight(plan.Candidates[i]), weight(plan.Candidates[j])
		if a != b {
			return a > b
		}
		return plan.Candidates[i].Session < plan.Candidates[j].Session
	})
	for _, c := range plan.Candidates {
		plan.RecommendedOrder = append(plan.RecommendedOrder, c.Session)
	}
	plan.Summary.TotalSeats = len(s.Standings)
	plan.Summary.CandidateCount = len(plan.Candidates)
	plan.Summary.BlockedCount = len(plan.Blocked)
	plan.Summary.SkippedCount = len(plan.Skipped)
	plan.Summary.RequiresAuthorization = true
	return plan
}

// weight orders candidates: the fullest first; a percentage without a window
// counts a thousand tokens a point, as in the v0 tools.
func weight(e Entry) float64 {
	switch {
	case e.EstimatedUsedTokens != nil:
		return float64(*e.EstimatedUsedTokens)
	case e.UsedPercentage != nil:
		return *e.UsedPercentage * 1000
	}
	return 0
}

// judge says what a plan says of one seat.
func judge(s Standing, t Thresholds) Entry {
	e := entry(s)
	if s.Gap != "" && s.Usage.Session == "" {
		return unmanaged(e, s)
	}
	blocked := func(reason, missing string) {
		e.Status = Held
		e.Reasons = append(e.Reasons, reason)
		if missing != "" {
			e.MissingEvidence = append(e.MissingEvidence, missing)
		}
	}
	if s.Live == nil {
		blocked(notRunning, missingAttach)
	}
	if s.Usage.Unknown != plugins.UsageKnown {
		blocked(contextUnknown, missingUsage)
	}
	if e.Status == Held {
		e.NextAction = "find out what is missing, then plan again"
		return e
	}
	e.ThresholdReason = above(s.Usage, t)
	if e.ThresholdReason == "" {
		e.Status, e.Reasons = Skipped, []string{belowThreshold}
		return e
	}
	if s.Live.Channel == "" {
		blocked(noChannel, "")
		e.NextAction = "compact it by hand in its own terminal"
		return e
	}
	return candidate(e, s)
}

// candidate lists what a person has to know before a seat is compacted.
func candidate(e Entry, s Standing) Entry {
	e.Status = Candidate
	e.Reasons = []string{e.ThresholdReason, authorization}
	e.MissingEvidence = []string{missingRestorePacket}
	if s.Usage.Window == 0 {
		e.MissingEvidence = append(e.MissingEvidence, missingWindow)
	}
	if !s.Usage.Fresh() {
		e.Reasons = append(e.Reasons, contextStale)
		e.MissingEvidence = append(e.MissingEvidence, missingFresh)
	}
	switch s.Live.State {
	case plugins.StateBusy:
		e.Reasons = append(e.Reasons, seatBusy)
	case plugins.StateWaiting:
		e.Reasons = append(e.Reasons, seatWaiting)
	}
	e.Requirements = []string{
		"fresh_context_sample", "checkpoint_or_restore_packet_verification", "explicit_operator_authorization",
		"one_seat_at_a_time_only", "post_compaction_restore_audit",
	}
	e.NextAction = "reseat compact " + e.Session
	return e
}

// unmanaged is a seat of a client without a usable adapter.
func unmanaged(e Entry, s Standing) Entry {
	e.Status, e.Detail = Skipped, s.Gap
	switch e.Runtime {
	case "codex":
		e.Reasons = []string{codexNotManaged}
	case "claude-code":
		e.Status, e.Reasons, e.MissingEvidence = Held, []string{contextUnknown}, []string{missingUsage}
	default:
		e.Reasons = []string{otherRuntime}
	}
	return e
}

// above says which threshold the usage is over, "" if none.
func above(u plugins.Usage, t Thresholds) string {
	if u.Tokens > 0 || u.Window > 0 {
		if u.Tokens >= t.Tokens {
			return aboveTokens
		}
		return ""
	}
	if u.Percent >= t.Percent && u.Percent > 0 {
		return abovePercent
	}
	return ""
}

func entry(s Standing) Entry {
	e := Entry{
		Session: s.Seat.Label(), Rig: s.Seat.Rig(), NativeID: s.Seat.Session, Runtime: packetName(s.Seat.Client),
		ContextFreshness: "unknown", State: string(s.State()), Reasons: []string{}, Detail: s.Usage.Detail,
	}
	if s.Live != nil {
		e.Channel = string(s.Live.Channel)
	}
	u := s.Usage
	if s.Gap != "" || u.Unknown != plugins.UsageKnown {
		return e
	}
	e.ContextFreshness = "stale"
	if u.Fresh() {
		e.ContextFreshness = "fresh"
	}
	if u.Window > 0 {
		window := u.Window
		e.ContextWindowSize = &window
	}
	if u.Window > 0 || u.Percent > 0 {
		percent := math.Round(u.Percent*10) / 10
		e.UsedPercentage = &percent
	}
	if u.Tokens > 0 {
		tokens := u.Tokens
		e.EstimatedUsedTokens = &tokens
	}
	return e
}

// packetName is a client's name in the v0 schema.
func packetName(client string) string {
	if client == "claude" {
		return "claude-code"
	}
	return client
}

// Validate refuses thresholds that can't be meant.
func (t Thresholds) Validate() error {
	if t.Tokens <= 0 {
		return fmt.Errorf("threshold of %d tokens: it must be over 0", t.Tokens)
	}
	if math.IsNaN(t.Percent) || t.Percent < 0 || t.Percent > 100 {
		return fmt.Errorf("threshold of %v percent: it must be from 0 to 100", t.Percent)
	}
	return nil
}

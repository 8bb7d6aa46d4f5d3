package compact

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/reseat-dev/reseat/plugins"
)

// fleet is a survey with every case of a plan in it.
func fleet(t *testing.T) Survey {
	t.Helper()
	claude, codex := newRuntime(), newRuntime()
	claude.live("a-full", 450_000, 1_000_000, plugins.StateIdle)
	claude.live("a-fuller", 600_000, 1_000_000, plugins.StateBusy)
	claude.live("a-stale", 500_000, 0, plugins.StateIdle)
	stale := claude.usage["a-stale"]
	stale.Newer = true
	claude.usage["a-stale"] = stale
	claude.live("a-low", 12_345, 200_000, plugins.StateIdle)
	claude.live("a-silent", 0, 0, plugins.StateIdle)
	claude.usage["a-silent"] = plugins.Usage{Unknown: plugins.UsageNoData, Detail: "no answer of the model yet"}
	claude.live("a-outside", 410_000, 0, plugins.StateIdle)
	claude.sessions[len(claude.sessions)-1].Channel = ""
	claude.live("a-unnamed", 400_000, 0, plugins.StateWaiting)
	claude.usage["a-closed"] = usageOf(700_000, 1_000_000)
	codex.live("x-percent", 0, 0, plugins.StateIdle)
	codex.usage["x-percent"] = plugins.Usage{Percent: 85, SampledAt: time.Unix(1, 0)}
	codex.live("x-low", 50_050, 95_000, plugins.StateIdle)
	seats := []Seat{
		{Address: "dev-full@rig", Client: "claude", Session: "a-full"},
		{Address: "dev-fuller@rig", Client: "claude", Session: "a-fuller"},
		{Address: "dev-stale@rig", Client: "claude", Session: "a-stale"},
		{Address: "dev-low@rig", Client: "claude", Session: "a-low"},
		{Address: "dev-silent@rig", Client: "claude", Session: "a-silent"},
		{Address: "dev-outside@rig", Client: "claude", Session: "a-outside"},
		{Address: "dev-closed@rig", Client: "claude", Session: "a-closed"},
		{Address: "ops-percent@rig", Client: "codex", Session: "x-percent"},
		{Address: "ops-low@rig", Client: "codex", Session: "x-low"},
		{Address: "ops-other@rig", Client: "shellagent", Session: "s1"},
	}
	return Look(t.Context(), seats, []string{"claude", "codex"}, adapters(map[string]plugins.Runtime{"claude": claude, "codex": codex}), time.Unix(0, 0))
}

func TestPlanOfEveryCase(t *testing.T) {
	plan := MakePlan(fleet(t), Thresholds{DefaultThresholdTokens, DefaultThresholdPercent})
	data, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.json", string(data)+"\n")
	var table strings.Builder
	if err := plan.WriteTable(&table); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.txt", table.String())
}

func TestPlanWithoutAnAdapterForCodex(t *testing.T) {
	seats := []Seat{{Address: "ops@rig", Client: "codex", Session: "x"}, {Address: "dev@rig", Client: "claude", Session: "a"}}
	survey := Look(t.Context(), seats, nil, adapters(nil), time.Unix(0, 0))
	plan := MakePlan(survey, Thresholds{1, 1})
	if len(plan.Skipped) != 1 || plan.Skipped[0].Reasons[0] != "codex_not_managed_by_claude_compact_in_place" {
		t.Errorf("skipped %+v", plan.Skipped)
	}
	if len(plan.Blocked) != 1 || plan.Blocked[0].Session != "dev@rig" {
		t.Errorf("blocked %+v", plan.Blocked)
	}
}

func TestAnAdapterThatFailsIsACaveatAndNoPlanForItsSeats(t *testing.T) {
	claude := newRuntime()
	claude.fails = errors.New("adapter claude: sessions: the adapter didn't answer in time")
	survey := Look(t.Context(), []Seat{{Address: "dev@rig", Client: "claude", Session: "a"}}, []string{"claude"},
		adapters(map[string]plugins.Runtime{"claude": claude}), time.Unix(0, 0))
	plan := MakePlan(survey, Thresholds{1, 1})
	if len(plan.Caveats) != 1 || plan.Summary.BlockedCount != 1 || plan.Blocked[0].Detail == "" || plan.Blocked[0].State != "unknown" {
		t.Errorf("plan %+v", plan)
	}
}

func TestTwoHundredSeatsAskEachAdapterOnce(t *testing.T) {
	claude, codex := newRuntime(), newRuntime()
	var seats []Seat
	for i := range 200 {
		r, client := claude, "claude"
		if i%2 == 1 {
			r, client = codex, "codex"
		}
		id := fmt.Sprintf("%s-%03d", client, i)
		r.live(id, int64(i)*5000, 1_000_000, plugins.StateIdle)
		seats = append(seats, Seat{Address: fmt.Sprintf("dev-%03d@rig", i), Client: client, Session: id})
	}
	started := map[string]int{}
	survey := Look(t.Context(), seats, []string{"claude", "codex"}, func(_ context.Context, client string) (plugins.Runtime, bool, error) {
		started[client]++
		return map[string]plugins.Runtime{"claude": claude, "codex": codex}[client], true, nil
	}, time.Unix(0, 0))
	plan := MakePlan(survey, Thresholds{DefaultThresholdTokens, DefaultThresholdPercent})
	if plan.Summary.TotalSeats != 200 || plan.Summary.CandidateCount != 120 || plan.RecommendedOrder[0] != "dev-199@rig" {
		t.Errorf("summary %+v, first %q", plan.Summary, plan.RecommendedOrder[0])
	}
	for _, r := range []*runtime{claude, codex} {
		if r.times("sessions") != 1 || r.times("usage") != 1 {
			t.Errorf("asked %v", r.asked)
		}
	}
	if started["claude"] != 1 || started["codex"] != 1 {
		t.Errorf("adapters asked for %v times", started)
	}
}

func TestThresholdsThatCantBeMeantAreRefused(t *testing.T) {
	for _, bad := range []Thresholds{{0, 80}, {-1, 80}, {1, -1}, {1, 101}, {1, math.NaN()}} {
		if bad.Validate() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for _, good := range []Thresholds{{1, 0}, {400_000, 100}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

func TestBarsStayInTheirWidth(t *testing.T) {
	for percent, want := range map[float64]string{0: "..........   0%", 4.9: "..........   5%", 50: "#####.....  50%", 100: "########## 100%", 130: "########## 130%"} {
		if got := Bar(percent); got != want {
			t.Errorf("%v: %q, want %q", percent, got, want)
		}
	}
}

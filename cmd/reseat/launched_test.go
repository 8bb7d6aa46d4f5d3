package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/bridge/compact"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/plugins"
)

func TestStatusShowsRunningSeatsThatLackThePolicysSwitch(t *testing.T) {
	live := []plugins.Session{
		{ID: "a", Version: "2.1.332", IdleCompaction: plugins.SwitchOn},
		{ID: "b", IdleCompaction: plugins.SwitchOff},
		{ID: "c", IdleCompaction: plugins.SwitchUnknown},
		{ID: "d", IdleCompaction: plugins.SwitchOn},
		{ID: "e", IdleCompaction: plugins.SwitchOn},
	}
	bound := []compact.Seat{
		{Address: "dev-impl@rig", Client: "claude", Session: "a"},
		{Address: "dev-off@rig", Client: "claude", Session: "d"},
		{Address: "dev-other@rig", Client: "codex", Session: "e"},
	}
	policy := func(_ client.Client, seat string) config.Policy { return config.Policy{Enabled: seat != "dev-off@rig"} }
	want := []lacking{
		{Seat: "dev-impl@rig", Client: "claude", Session: "a", Version: "2.1.332"},
		{Seat: "claude:e", Client: "claude", Session: "e"},
	}
	if diff := cmp.Diff(want, lackingOf("claude", live, bound, policy)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLastHookIsNoCompactionFromOutside(t *testing.T) {
	hook, outside := bridge.Receipt{Event: "PreCompact"}, bridge.Receipt{Event: eventCompact}
	for name, test := range map[string]struct {
		receipts []bridge.Receipt
		want     *bridge.Receipt
	}{
		"none":               {nil, nil},
		"only from outside":  {[]bridge.Receipt{outside, outside}, nil},
		"a hook before it":   {[]bridge.Receipt{hook, outside}, &hook},
		"a hook after it":    {[]bridge.Receipt{outside, hook}, &hook},
		"no event's receipt": {[]bridge.Receipt{hook, {}}, &bridge.Receipt{}},
	} {
		if diff := cmp.Diff(test.want, lastHook(test.receipts)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

package runtimetest

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/state"
	"github.com/reseat-dev/reseat/plugins/host"
)

// start allows the adapter in a state folder of the test's own and opens it.
func start(t TB, s Subject) *host.Connection {
	t.Helper()
	program, err := filepath.Abs(s.Program)
	if err != nil {
		t.Fatalf("%v", err)
	}
	home := state.Home(t.TempDir())
	place := host.Place{Home: home, Configured: []string{program}}
	name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(program), host.Prefix), ".exe")
	adapter := find(t, place, name)
	var names []string
	for _, entry := range s.Environ {
		variable, _, _ := strings.Cut(entry, "=")
		names = append(names, variable)
	}
	if _, err := host.Allow(home, adapter, names, time.Now()); err != nil {
		t.Fatalf("allowing the adapter: %v", err)
	}
	c, err := host.Open(t.Context(), find(t, place, name), host.Settings{Home: string(home), Environ: s.Environ})
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(c.Close)
	return c
}

func find(t TB, place host.Place, name string) host.Adapter {
	t.Helper()
	found, err := host.Find(place)
	if err != nil {
		t.Fatalf("%v", err)
	}
	adapter, ok := host.For(found, name)
	if !ok {
		t.Fatalf("no adapter for %q: is the program named %s%s?", name, host.Prefix, name)
	}
	return adapter
}

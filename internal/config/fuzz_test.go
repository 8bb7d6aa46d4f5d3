package config

import (
	"strings"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// FuzzParse: whatever the file holds, there is a configuration in force, each
// problem names a line of the file, and what is printed of it reads again as the
// same.
func FuzzParse(f *testing.F) {
	f.Add([]byte(layered))
	f.Add([]byte(uncommented()))
	f.Add([]byte("[seat.\"a\\\"b\\u0041\"]\nack = 1\n'x y'.z = {a=[{b=1}], \"c\" = 2}\n"))
	f.Add([]byte("a = \"\"\"\nx = 1\n\"\"\"\"\nb = '''\n'''\n[[c]]\nd = [\n 1, # x\n]\n"))
	f.Add([]byte("[policy.claude]\nthreshold_percent = nan\n[limits]\nmax_age = \"1d1d\"\n"))
	f.Add([]byte(strings.Repeat("[", 5000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := Default()
		c.File = "config.toml"
		problems := c.parse(data)
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range problems {
			if p.What == "" || p.Line < 0 || p.Line > lines {
				t.Fatalf("problem %+v of %d lines", p, lines)
			}
		}
		for _, of := range client.All() {
			if p := c.Policy(of, "a"); p.Enabled && (p.ThresholdPercent < 1 || p.ThresholdPercent > 100) {
				t.Fatalf("policy %+v", p)
			}
		}
		c.For("a", "/b")
		var first, second strings.Builder
		if err := c.Effective(&first); err != nil {
			t.Fatal(err)
		}
		again := Default()
		if faults := again.parse([]byte(first.String())); len(faults) > 0 {
			t.Fatalf("printed %q: %v", first.String(), faults)
		}
		if err := again.Effective(&second); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(first.String(), "can't be used") && first.String() != second.String() {
			t.Fatalf("printed\n%s\nthen\n%s", first.String(), second.String())
		}
	})
}

// FuzzTOML holds the reader against the library: what both take means the same,
// and what the library takes, the reader takes.
func FuzzTOML(f *testing.F) {
	for _, s := range tomlTexts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { sameTOML(t, s) })
}

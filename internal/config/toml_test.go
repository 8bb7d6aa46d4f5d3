package config

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var tomlTexts = []string{
	"", "# only a comment", layered, "a = 1\nb = -2\nc = +3\nd = 0x1F\ne = 0o17\nf = 0b101\ng = 1_000\n",
	"a = 1.5\nb = -0.1e3\nc = inf\nd = -inf\ne = 6e2\n", "a = true\nb = false\n", "a = \"x\\ty\\u00e9\\U0001F600\\\"\\\\\"\n",
	"a = 'c:\\x'\n", "a = \"\"\"\nx\ny\"\"\"\n", "a = '''\nx\n'y'''\n", "a = \"\"\"x \\\n   y\"\"\"\n", "a = \"\"\"\"q\"\"\"\"\n",
	"a = [1, 2,\n 3, # c\n]\nb = []\nc = [[1], [\"x\"]]\n", "a = { b = 1, c.d = \"x\" }\ne = {}\n", "a.b.c = 1\na.d = 2\n", "\"a b\".'c.d' = 1\n",
	"[a]\nx = 1\n[a.b]\ny = 2\n[c.d]\n[c]\nz = 3\n", "[[a]]\nx = 1\n[[a]]\nx = 2\n[a.b]\ny = 1\n", "[ a . \"b\" ] # c\nx=1\r\n\r\ny = 2\r\n",
	"a = 1 b = 2", "a = ", "a", "= 1", "[a", "[a]\n[a]\n", "a = 1\na = 2\n", "a = {b = 1}\n[a]\n", "a = [1 2]", "a = \"x", "a = 'x\n'",
	"a = \"\\q\"", "a = 012", "a = 1__0", "a = 1_", "a = 1.", "a = .5", "a = x", "a = 99999999999999999999", "a = [1,", "a = \"\x01\"", "[]\n", "[a.]\n", "a = tru",
	"a = 1\n[a.b]\n", "a.b = 1\na.b.c = 2\n", strings.Repeat("[", 100), "a = " + strings.Repeat("[", 100), "[[a]]\n[a]\n", "a = [1]\n[[a]]\n",
}

// sameTOML compares the reader with the library.
func sameTOML(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) || len(s) > 1000 {
		return
	}
	got, lines, err := parseTOML(s)
	for path, line := range lines {
		if line < 1 || line > strings.Count(s, "\n")+1 {
			t.Errorf("%q: %q on line %d", s, path, line)
		}
	}
	want := map[string]any{}
	if _, wrong := toml.Decode(s, &want); wrong != nil || err != nil {
		return
	}
	normal := cmp.Transformer("normal", func(v any) any {
		switch v := v.(type) {
		case []map[string]any:
			list := make([]any, len(v))
			for i := range v {
				list[i] = v[i]
			}
			return list
		case date, time.Time:
			return "a date"
		}
		return v
	})
	if diff := cmp.Diff(want, got, cmp.FilterValues(func(a, b any) bool {
		_, one := a.([]map[string]any)
		_, two := a.(time.Time)
		return one || two
	}, normal), cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%q: %s", s, diff)
	}
}

func TestReadsTOMLAsTheLibraryDoes(t *testing.T) {
	for _, s := range tomlTexts {
		sameTOML(t, s)
		_, _, err := parseTOML(s)
		_, want := toml.Decode(s, &map[string]any{})
		if (err == nil) != (want == nil) {
			t.Errorf("%q: %v, the library says %v", s, err, want)
		}
	}
}

func TestLargeFileIsReadInLinearTime(t *testing.T) {
	var b strings.Builder
	for i := 0; b.Len() < maxBytes-100; i++ {
		b.WriteString("k" + strings.Repeat("x", i%7) + time.Duration(i).String() + " = 1\n")
	}
	c := Default()
	start := time.Now()
	c.parse([]byte(strings.ReplaceAll(b.String(), "µs", "us")))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/reseat-dev/reseat/internal/client"
)

// maxBytes is how large a configuration may be.
const maxBytes = 1 << 20

// Problem is one thing that is wrong with a configuration.
type Problem struct {
	File   string
	Line   int    // 1-based; 0 where no line is to blame
	Key    string // dotted, as in the file; "" where no key is to blame
	What   string // what is wrong, with the key where there is one
	Remedy string // what to do about it, "" where What says it
}

// String is the problem as an error's text: reading "/x/config.toml": line 4: ...
func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("reading %q: line %d: %s", p.File, p.Line, p.What)
	}
	return fmt.Sprintf("reading %q: %s", p.File, p.What)
}

// Error is why a configuration was refused: its first problem, and the others.
type Error struct {
	Problem
	Others []Problem
	err    error // the cause, where it is an error of the system
}

func (e *Error) Error() string {
	if n := len(e.Others); n > 0 {
		return fmt.Sprintf("%s (and %d more)", e.Problem, n)
	}
	return e.String()
}

// Unwrap returns the system's error, nil if there is none.
func (e *Error) Unwrap() error { return e.err }

// Load reads the configuration at path, for a command. A file that isn't there,
// and the path "", are the defaults. Anything wrong with it is an [*Error].
func Load(path string) (*Config, error) {
	c, problems, err := load(path)
	if len(problems) == 0 {
		return c, nil
	}
	return nil, &Error{Problem: problems[0], Others: problems[1:], err: err}
}

// LoadTolerant reads the configuration at path, for a hook, and never fails. What
// can be used is in force; a setting with a problem has its default, and so has
// everything where the file can't be read or isn't TOML.
func LoadTolerant(path string) (*Config, []Problem) {
	c, problems, _ := load(path)
	return c, problems
}

// errTooLarge is the reading of a file over maxBytes.
var errTooLarge = errors.New("has over 1048576 bytes")

func load(path string) (*Config, []Problem, error) {
	c := Default()
	if path == "" {
		return c, nil, nil
	}
	data, err := readFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil, nil
	case err != nil:
		var refused *untrustedError
		p := Problem{File: path, What: cause(err)}
		if errors.As(err, &refused) {
			p.Remedy = refused.remedy
		}
		return c, []Problem{p}, err
	}
	c.File = path
	return c, c.parse(data), nil
}

// cause is an error's text without the path, which the problem names already.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// readFile reads a file that only its owner can have written.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNonBlock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &untrustedError{"isn't a regular file", "put a file there, or nothing"}
	}
	if err := trusted(path, info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBytes:
		return nil, errTooLarge
	}
	return data, nil
}

// untrustedError is why a file isn't read although it is there.
type untrustedError struct{ what, remedy string }

func (e *untrustedError) Error() string { return e.what }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// parser walks over a parsed file and notes what is wrong.
type parser struct {
	file     string
	lines    map[string]int // of keys
	problems []Problem
}

func (c *Config) parse(data []byte) []Problem {
	text := strings.TrimPrefix(string(data), "\ufeff")
	p := &parser{file: c.File}
	if !utf8.ValidString(text) {
		return []Problem{{File: c.File, What: "isn't UTF-8 text"}}
	}
	root, lines, err := parseTOML(text)
	if err != nil {
		return []Problem{syntaxProblem(c.File, err)}
	}
	p.lines = lines
	for _, name := range sorted(root) {
		p.section(c, name, root[name])
	}
	sort.SliceStable(p.problems, func(i, j int) bool { return p.problems[i].Line < p.problems[j].Line })
	return p.problems
}

func syntaxProblem(file string, err error) Problem {
	p := Problem{File: file, What: err.Error(), Remedy: "write it as in reseat config"}
	var at *syntaxError
	if errors.As(err, &at) {
		p.Line, p.What = at.line, at.what
	}
	return p
}

// sections are the tables at the top of a file.
var sections = []string{"defaults", "project", "seat", "policy", "limits", "redact", "plugins"}

func (p *parser) section(c *Config, name string, v any) {
	path := []string{name}
	switch name {
	case "defaults":
		p.declared(path, v, &c.defaults)
	case "project":
		c.projects = map[string]layer[Declared]{}
		p.each(path, v, func(path []string, dir string, v any) {
			var l layer[Declared]
			if !filepath.IsAbs(dir) {
				p.wrong(path, fmt.Sprintf("%q is no absolute path", dir), `write [project."/home/you/work"]`)
				return
			}
			p.declared(path, v, &l)
			c.projects[filepath.Clean(dir)] = l
		})
	case "seat":
		c.seats, c.own = map[string]layer[Declared]{}, map[string]layer[Policy]{}
		p.each(path, v, func(path []string, seat string, v any) { p.seat(c, path, seat, v) })
	case "policy":
		c.policies = map[string]layer[Policy]{}
		p.each(path, v, func(path []string, name string, v any) {
			if of, err := client.Parse(name); err != nil || string(of) != name {
				p.unknown(path, clients())
				return
			}
			var l layer[Policy]
			table(p, path, v, policyKeys, &l)
			c.policies[name] = l
		})
	case "limits":
		into(p, path, v, limitKeys, &c.Limits)
	case "redact":
		into(p, path, v, redactKeys, &c.Redact)
	case "plugins":
		into(p, path, v, pluginKeys, &c.Plugins)
	default:
		p.unknown(path, sections)
	}
}

func clients() []string {
	var names []string
	for _, c := range client.All() {
		names = append(names, string(c))
	}
	return names
}

// seat reads what is declared for a seat and its own policy.
func (p *parser) seat(c *Config, path []string, seat string, v any) {
	if strings.TrimSpace(seat) == "" {
		p.wrong(path, "a seat needs a name", `write [seat."dev-impl@my-rig"]`)
		return
	}
	if t, ok := v.(map[string]any); ok {
		if policy, ok := t["policy"]; ok {
			var l layer[Policy]
			table(p, append(slices.Clone(path), "policy"), policy, policyKeys, &l)
			c.own[seat] = l
			t = maps.Clone(t)
			delete(t, "policy")
			v = t
		}
	}
	var l layer[Declared]
	p.declared(path, v, &l, "policy")
	c.seats[seat] = l
}

// declared reads a section of declaredKeys. more are names that the section may
// have besides, for the suggestions.
func (p *parser) declared(path []string, v any, l *layer[Declared], more ...string) {
	t, ok := v.(map[string]any)
	if ok {
		if pointers, found := t["pointers"]; found {
			table(p, append(slices.Clone(path), "pointers"), pointers, pointerKeys, l)
			t = maps.Clone(t)
			delete(t, "pointers")
			v = t
		}
	}
	table(p, path, v, declaredKeys, l, append(more, "pointers")...)
}

// each reads a table of tables.
func (p *parser) each(path []string, v any, fn func(path []string, name string, v any)) {
	t, ok := v.(map[string]any)
	if !ok {
		p.wrong(path, fmt.Sprintf("%q must be a table", dotted(path)), "")
		return
	}
	for _, name := range sorted(t) {
		fn(append(slices.Clone(path), name), name, t[name])
	}
}

// into reads a section straight into t, whose values are the defaults.
func into[T any](p *parser, path []string, v any, keys []key[T], t *T) {
	var l layer[T]
	table(p, path, v, keys, &l)
	l.over(t)
}

// table reads the keys of a section into a layer. more are names that the
// section may have besides, for the suggestions.
func table[T any](p *parser, path []string, v any, keys []key[T], l *layer[T], more ...string) {
	fields := make([]field, len(keys))
	for i, k := range keys {
		fields[i] = field{name: k.name, to: k.at(&l.values)}
		if k.check != nil {
			fields[i].check = func() error { return k.check(&l.values) }
		}
	}
	for _, i := range p.read(path, v, fields, more) {
		l.set = append(l.set, keys[i])
	}
}

// field is a key bound to where its value goes.
type field struct {
	name  string
	to    any
	check func() error // nil: none
}

// read reads the fields of a section and returns which were set.
func (p *parser) read(path []string, v any, fields []field, more []string) (set []int) {
	t, ok := v.(map[string]any)
	if !ok {
		p.wrong(path, fmt.Sprintf("%q must be a table", dotted(path)), "")
		return nil
	}
	for _, name := range sorted(t) {
		at := append(slices.Clone(path), name)
		n := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if n < 0 {
			known := more
			for _, f := range fields {
				known = append(known, f.name)
			}
			p.unknown(at, known)
			continue
		}
		f := fields[n]
		err := read(f.to, t[name])
		if err == nil && f.check != nil {
			err = f.check()
		}
		if err != nil {
			p.wrong(at, fmt.Sprintf("%q %v", dotted(at), err), "")
			continue
		}
		set = append(set, n)
	}
	return set
}

func sorted(t map[string]any) []string { return slices.Sorted(maps.Keys(t)) }

// maxProblems is how many problems of one file are told.
const maxProblems = 50

func (p *parser) wrong(path []string, what, remedy string) {
	if len(p.problems) == maxProblems {
		return
	}
	p.problems = append(p.problems, Problem{File: p.file, Line: p.line(path), Key: dotted(path), What: what, Remedy: remedy})
}

func (p *parser) unknown(path []string, known []string) {
	what := fmt.Sprintf("unknown key %q", dotted(path))
	if near := nearest(path[len(path)-1], known); near != "" {
		what += fmt.Sprintf(" (did you mean %q?)", near)
	}
	p.wrong(path, what, "take it out or correct it: reseat config shows every key")
}

func (p *parser) line(path []string) int {
	for n := len(path); n > 0; n-- {
		if line, ok := p.lines[joined(path[:n])]; ok {
			return line
		}
	}
	return 0
}

// dotted is a key as it is written in the file.
func dotted(path []string) string {
	parts := make([]string, len(path))
	for i, s := range path {
		parts[i] = s
		if s == "" || strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
		}) {
			parts[i] = quote(s)
		}
	}
	return strings.Join(parts, ".")
}

// nearest is the known name that a misspelt one was meant to be, "" if none is
// near.
func nearest(name string, known []string) string {
	best, least := "", 1+min(2, len(name)/3)
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour between two names.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			rows[i][j] = min(change, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

package seat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
)

// A recap is what a seat's occupant wrote down for its successor: Markdown,
// addressable by heading, kept with all its predecessors.

// MaxRecap is the largest recap that is taken, in bytes.
const MaxRecap = 1 << 20

// RecapDir is where the recaps of a seat are kept; key is the seat's address or,
// for an unnamed one, the name of the session's folder. It lies among the
// sessions, because that is the folder that clients are allowed to read.
func RecapDir(home state.Home, key string) string {
	return filepath.Join(home.Sessions(), "recap-"+state.Encode(key))
}

// RecapFile is the current recap of a seat. It may not be there.
func RecapFile(home state.Home, key string) string {
	return filepath.Join(RecapDir(home, key), "RECAP.md")
}

// WriteRecap makes text the seat's recap. The one before is kept beside it,
// whatever happens: it gets a second name before the first one is replaced.
func WriteRecap(home state.Home, key string, text []byte, now time.Time) (path string, err error) {
	if err := Addressable(text); err != nil {
		return "", err
	}
	if err := home.Open(); err != nil {
		return "", err
	}
	dir := RecapDir(home, key)
	for _, d := range []string{dir, filepath.Join(dir, "superseded")} {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("writing the recap: %w", err)
		}
	}
	path = RecapFile(home, key)
	if _, err := os.Lstat(path); err == nil {
		if err := keep(path, filepath.Join(dir, "superseded"), now); err != nil {
			return "", err
		}
	}
	return path, durable.WriteFile(path, text, 0o600)
}

// keep gives the recap at path a second, lasting name in dir.
func keep(path, dir string, now time.Time) error {
	for n := 0; n < 1000; n++ {
		name := fmt.Sprintf("RECAP-%015d.md", now.UnixMilli())
		if n > 0 {
			name = fmt.Sprintf("RECAP-%015d-%d.md", now.UnixMilli(), n)
		}
		err := os.Link(path, filepath.Join(dir, name))
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("keeping the recap before: %w", err)
		}
		return durable.SyncDir(dir)
	}
	return errors.New("keeping the recap before: every name is taken")
}

// Superseded lists the recaps before the current one, the last one first.
func Superseded(home state.Home, key string) []string {
	found, _ := filepath.Glob(filepath.Join(RecapDir(home, key), "superseded", "RECAP-*.md"))
	slices.Sort(found)
	slices.Reverse(found)
	return found
}

// Addressable reports why a text can't be a recap: each heading's path must
// name one place.
func Addressable(text []byte) error {
	switch {
	case len(strings.TrimSpace(string(text))) == 0:
		return errors.New("the recap is empty")
	case len(text) > MaxRecap:
		return fmt.Errorf("the recap has %d bytes, at most %d are kept", len(text), MaxRecap)
	case !utf8.Valid(text):
		return errors.New("the recap isn't UTF-8")
	}
	sections, openFence := Sections(string(text))
	if openFence > 0 {
		return fmt.Errorf("line %d: the code block that begins here has no end", openFence)
	}
	seen := map[string]int{}
	for _, s := range sections {
		if before := seen[s.Path]; before > 0 {
			return fmt.Errorf("line %d: the heading %q stands there twice, first on line %d", s.Line, s.Path, before)
		}
		seen[s.Path] = s.Line
	}
	return nil
}

// Advice says what a recap should have and hasn't. It refuses nothing.
func Advice(text string) []string {
	var advice []string
	sections, _ := Sections(text)
	if !slices.ContainsFunc(sections, func(s Section) bool { return strings.Contains(strings.ToLower(s.Title), "decision") }) {
		advice = append(advice, "no heading names decisions: say what was decided and why")
	}
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(strings.ToLower(line), "unverified") && !strings.Contains(line, "UNVERIFIED:") {
			advice = append(advice, fmt.Sprintf("line %d: mark an uncertain fact as \"UNVERIFIED:\"", i+1))
		}
	}
	return advice
}

// Section is one heading with what follows it, down to the next heading of its
// level or above.
type Section struct {
	Path  string // titles from the top, joined by "/"
	Title string
	Level int
	Line  int // of the heading, from 1
	Text  string
}

// Sections cuts Markdown at its headings ("# ..."), code blocks left alone.
// openFence is the line of a code block that has no end, 0 if there is none.
func Sections(text string) (sections []Section, openFence int) {
	lines := strings.SplitAfter(text, "\n")
	fence := ""
	var titles []string
	type mark struct{ section, line int }
	var open []mark
	end := func(level, line int) {
		for len(open) > 0 && sections[open[len(open)-1].section].Level >= level {
			m := open[len(open)-1]
			sections[m.section].Text = strings.Join(lines[m.line:line], "")
			open = open[:len(open)-1]
		}
	}
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if f := fenceOf(trimmed); f != "" {
			switch {
			case fence == "":
				fence, openFence = f, i+1
			case strings.HasPrefix(f, fence) && strings.Trim(trimmed, f[:1]) == "":
				fence, openFence = "", 0
			}
			continue
		}
		level := headingLevel(line)
		if fence != "" || level == 0 {
			continue
		}
		end(level, i)
		title := strings.TrimSpace(strings.Trim(trimmed, "#"))
		titles = append(titles[:min(len(titles), len(open))], title)
		sections = append(sections, Section{Path: strings.Join(titles, "/"), Title: title, Level: level, Line: i + 1})
		open = append(open, mark{len(sections) - 1, i})
	}
	end(0, len(lines))
	return sections, openFence
}

func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

func headingLevel(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || n >= len(line) || line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

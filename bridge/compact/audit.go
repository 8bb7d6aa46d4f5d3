package compact

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Depth says how much of what was asked was opened.
type Depth string

// The depths of v0.
const (
	Full    Depth = "FULL"
	Partial Depth = "PARTIAL"
	NotRead Depth = "NOT_READ"
)

// Audit says which of the files that a directive asked for were opened after
// the boundary, by the transcript and not by the agent's word. Opening isn't
// understanding, and a directive is meant to be enough by itself: the audit
// measures reading, nothing else.
type Audit struct {
	Depth  Depth    `json:"depth"`
	Opened []string `json:"opened"`
	Unread []string `json:"unread"`
}

// MakeAudit reads the transcript's stretch after the boundary at that offset.
// With nothing asked the depth is FULL.
func MakeAudit(ctx context.Context, s Seat, boundary int64, asked []string) (Audit, error) {
	a := Audit{Opened: []string{}, Unread: []string{}}
	if len(asked) == 0 {
		a.Depth = Full
		return a, nil
	}
	story, err := transcript.Read(ctx, client.Client(s.Client), s.Transcript, transcript.Options{Session: s.Session, MessageBytes: 1})
	if err != nil {
		return Audit{}, fmt.Errorf("audit: %w", err)
	}
	for _, path := range asked {
		if opened(story, path, boundary) {
			a.Opened = append(a.Opened, path)
		} else {
			a.Unread = append(a.Unread, path)
		}
	}
	switch {
	case len(a.Unread) == 0:
		a.Depth = Full
	case len(a.Opened) == 0:
		a.Depth = NotRead
	default:
		a.Depth = Partial
	}
	return a, nil
}

// opened says whether a file was read by a tool, or shown by a shell command
// that worked, after the boundary.
func opened(story *transcript.Story, path string, boundary int64) bool {
	for _, f := range story.Files {
		if f.Path == path && f.Reads > 0 && f.Last.Offset > boundary {
			return true
		}
	}
	for _, c := range story.Commands {
		if c.Offset > boundary && c.Done && !c.Failed && strings.Contains(c.Text, path) {
			return true
		}
	}
	return false
}

// String is the audit in one line.
func (a Audit) String() string {
	total := len(a.Opened) + len(a.Unread)
	if total == 0 {
		return "the directive asked for no file"
	}
	text := fmt.Sprintf("%s: %d of %d files that the directive names were opened", a.Depth, len(a.Opened), total)
	if len(a.Unread) > 0 {
		text += "; not: " + strings.Join(a.Unread, ", ")
	}
	return text
}

// Asked lists the files that a directive asks to read: those of its packet that
// it names, and the paths in its reading list.
func Asked(directive, packet string) []string {
	var asked []string
	entries, _ := os.ReadDir(packet)
	for _, e := range entries {
		if e.Type().IsRegular() && strings.Contains(directive, e.Name()) {
			asked = append(asked, filepath.Join(packet, e.Name()))
		}
	}
	_, list, _ := strings.Cut(directive, "To read, only if needed")
	for line := range strings.Lines(list) {
		if path := listedPath(line); path != "" && !contains(asked, path) {
			asked = append(asked, path)
		}
	}
	return asked
}

// listedPath takes the absolute path out of a line of the reading list.
func listedPath(line string) string {
	rest, ok := strings.CutPrefix(line, "- ")
	if !ok {
		return ""
	}
	start := strings.IndexByte(rest, '/')
	if start < 0 || start > 0 && !strings.ContainsRune(" :`\"", rune(rest[start-1])) {
		return ""
	}
	path, _, _ := strings.Cut(rest[start:], " (")
	return strings.TrimRight(strings.TrimSpace(path), ".,;:`\"")
}

package packet

import (
	"errors"
	"fmt"
	"time"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// The files of a packet.
const (
	InstructionsFile = "restore-instructions.md"
	LatestFile       = "transcript-latest.md"
	TouchedFile      = "touched-files.md"
	SummaryFile      = "restore-summary.json"
	FullFile         = "transcript.md"
	ContinuityFile   = "continuity.json"
)

// Packet is a restore packet in memory: whole, redacted, not yet on disk.
type Packet struct {
	Continuity *Continuity
	Summary    *Summary

	parts  []file // the files that speak only of the session, by name
	files  []file // those and the two above, once sealed; transcript.md is never in memory
	full   func(emit func(transcript.Message) error) error
	redact *redaction
	limits Limits
}

// file is one file's name and content.
type file struct {
	name string
	data []byte
}

// Make makes a packet. It is a pure function of its input but for Input.Full,
// which Write calls. It fails only where a packet would lie or leak: without a
// session's id, without a redactor.
func Make(in Input) (*Packet, error) {
	if in.Redactor == nil {
		return nil, errors.New("making a packet: no redactor")
	}
	in, notes := in.settle()
	if in.Session == "" {
		return nil, errors.New("making a packet: the session's native id isn't known")
	}
	m := &maker{in: in, red: &redaction{by: in.Redactor}}
	c := m.continuity()
	c.Caveats = append(c.Caveats, notes...)

	latest, held, dropped, left := m.latest()
	c.Omitted.FileLimit = int64(dropped)
	c.Omitted.MessageBytes += left
	summary := m.summary(c, held)

	p := &Packet{Continuity: c, Summary: summary, full: in.Full, redact: m.red, limits: in.Limits}
	p.parts = []file{
		{InstructionsFile, []byte(m.red.lines(instructions(c, summary, in.Full != nil)))},
		{TouchedFile, []byte(m.red.lines(touchedFiles(c)))},
		{LatestFile, latest},
	}
	c.Redaction = m.redactionNote()
	if m.red.count > 0 {
		summary.OmittedClasses = append(summary.OmittedClasses, "redacted_secrets")
	}
	if in.Full == nil {
		if err := p.seal(nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// settle fills in what follows from the rest, and says in words what had to be
// put right.
func (in Input) settle() (Input, []string) {
	var notes []string
	in.Limits = in.Limits.withDefaults()
	in.Time = in.Time.UTC().Truncate(time.Millisecond)
	if in.Origin.SourceSession != "" {
		in.Session = in.Origin.SourceSession
	} else if in.Story != nil && in.Session != "" && in.Story.Identity.SessionID != "" && in.Story.Identity.SessionID != in.Session {
		notes = append(notes, fmt.Sprintf("the transcript is of session %s, not of %s: nothing was taken from it", in.Story.Identity.SessionID, in.Session))
		in.Story = nil
		in.Full = nil
	}
	if in.Story == nil {
		if len(notes) == 0 {
			notes = append(notes, "no transcript could be read: the packet holds what is known without one")
		}
		in.Story = &transcript.Story{Client: in.Client}
	}
	id := in.Story.Identity
	first(&in.Session, id.SessionID)
	first(&in.Transcript, in.Story.Path)
	first(&in.CWD, id.CWD)
	first(&in.Version, id.Version)
	first(&in.PermissionMode, id.PermissionMode)
	first(&in.Generator, Generator("devel"))
	return in, notes
}

// first sets *s where it is empty.
func first(s *string, other string) {
	if *s == "" {
		*s = other
	}
}

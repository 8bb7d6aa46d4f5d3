package packet

import (
	"fmt"
	"io"
	"strings"
)

// Tell writes a packet's story for a person: one screen. Nothing in it acts on
// a terminal, whatever the packet holds.
func (o *Opened) Tell(w io.Writer) error {
	t := &teller{}
	if o.Continuity != nil {
		t.ours(o.Continuity, o.Summary)
	} else {
		t.peer(o.Summary)
	}
	if (o.Summary.Full != nil) != (o.FullBytes >= 0) {
		t.row("warning", "the summary and the folder disagree about "+FullFile)
	} else if o.FullBytes >= 0 {
		t.row("transcript", fmt.Sprintf("%s, %s in %s", count(int(o.Summary.Full.Messages), "message"), count(o.FullBytes, "byte"), FullFile))
	}
	t.row("packet", shown(o.Dir))
	_, err := io.WriteString(w, t.b.String())
	return err
}

// TellAll writes all of the packet that is made to be read: the instructions,
// the touched files and the latest transcript.
func (o *Opened) TellAll(w io.Writer) error {
	for _, name := range []string{InstructionsFile, TouchedFile, LatestFile} {
		text, err := o.read(name)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, block(text)+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// teller collects rows of a label and a text of at most a few lines.
type teller struct {
	b strings.Builder
}

const (
	labelWidth = 12
	rowBytes   = 300
)

func (t *teller) row(label, text string) {
	if text == "" {
		return
	}
	fmt.Fprintf(&t.b, "%-*s%s\n", labelWidth, label, text)
}

func (t *teller) ours(c *Continuity, s *Summary) {
	t.row("session", line(c.Session.Client)+" "+line(c.Session.ID)+bracketed(line(c.Session.Seat)))
	made := moment(c.GeneratedAt) + " by " + line(c.Mechanism) + bracketed(line(c.Trigger)) + ", " + line(c.Generator)
	if c.ID != "" {
		made += ", for " + line(c.ID)
	}
	t.row("made", made)
	t.row("reaches to", c.reachWords())
	t.row("work", clip(c.Work.sentence(c), rowBytes))
	if c.Intent != nil {
		t.row("intent", clip(line(c.Intent.Text), rowBytes)+carriedWords(c.Intent.Carried))
	}
	if len(c.Opening) > 0 {
		t.row("opened with", strings.TrimPrefix(wordsLine(c.Opening[0], rowBytes), "- "))
	}
	if n := len(c.Requests); n > 0 {
		t.row("latest", strings.TrimPrefix(wordsLine(c.Requests[n-1], rowBytes), "- "))
	}
	t.row("plan", planWords(c.Plan))
	t.row("in flight", clip(strings.Join(trimmed(openLines(c, 120)), "; "), rowBytes))
	t.row("failing", clip(strings.Join(trimmed(failingLines(c, 160)), "; "), rowBytes))
	t.row("edited", some(trimmed(editedLines(c)), rowBytes))
	if c.Git != nil && c.Git.Root != "" {
		t.row("repository", c.Git.where()+", "+c.Git.changes())
	}
	t.row("memory", some(trimmed(surfaceLines(c)), rowBytes))
	t.common(s)
	t.row("left out", strings.Join(c.Omitted.words(), ", "))
	if c.Redaction.Secrets > 0 {
		t.row("redacted", count(c.Redaction.Secrets, "secret"))
	}
	if c.Carried != nil {
		t.row("carried", "from "+orWord(line(c.Carried.From), "an earlier packet")+" of "+moment(c.Carried.GeneratedAt))
	}
}

func (t *teller) peer(s *Summary) {
	t.row("session", line(s.SourceRuntime)+" "+line(s.SourceSession)+bracketed(line(s.SourceRig)))
	t.row("made", line(s.GeneratedAt)+" by "+line(s.Generator))
	t.row("work", clip(line(s.CurrentWork), rowBytes))
	t.common(s)
	t.row("left out", line(strings.Join(s.OmittedClasses, ", ")))
}

func (t *teller) common(s *Summary) {
	t.row("messages", fmt.Sprintf("%d of at most %d in %s", s.Latest.Messages, s.Latest.Bound, shown(s.Latest.Path)))
	t.row("next owner", line(s.NextOwner))
	t.row("limits", clip(line(s.AuthorityBoundaries), 2*rowBytes))
	var caveats []string
	for _, caveat := range s.Caveats {
		caveats = append(caveats, line(caveat))
	}
	t.row("caveats", some(caveats, 2*rowBytes))
	t.row("target", line(s.TargetRuntime)+" in "+shown(s.TargetWorkspaceRoot)+", rig "+line(s.TargetRig)+", role "+shown(s.RolePointer))
}

// some is as many whole items as fit into n bytes, and how many didn't.
func some(items []string, n int) string {
	s, _ := joined(items, "; ", n)
	return s
}

func trimmed(lines []string) []string {
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "- ")
	}
	return lines
}

// planWords is a plan in one line: how much of it is done and what is open.
func planWords(plan *Plan) string {
	if plan == nil || len(plan.Items) == 0 {
		return ""
	}
	done := 0
	var open []string
	for _, item := range plan.Items {
		if item.Status == "completed" {
			done++
		} else {
			open = append(open, quote(item.Text, 100))
		}
	}
	words := fmt.Sprintf("%d of %s done", done, count(len(plan.Items), "item"))
	if len(open) > 0 {
		words += "; open: " + some(open, rowBytes)
	}
	return words + carriedWords(plan.Source.Carried)
}

// changes says how much differs from the head.
func (g *Git) changes() string {
	if !g.Listed {
		return "changed files unknown"
	}
	return count(len(g.Changed)+g.More, "changed file")
}

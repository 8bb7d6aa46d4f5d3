package packet

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/reseat-dev/reseat/internal/sha256"
)

// seal makes the two files that speak of the others. full is what is known of
// transcript.md, nil for none.
func (p *Packet) seal(full *sealed) error {
	if full != nil {
		p.Summary.Full = &FullTranscript{Path: FullFile, Messages: Count(full.messages)}
		if p.redact.count > 0 && !slices.Contains(p.Summary.OmittedClasses, "redacted_secrets") {
			p.Summary.OmittedClasses = append(p.Summary.OmittedClasses, "redacted_secrets")
		}
		p.Continuity.Redaction.Secrets = p.redact.count
	}
	summary, err := p.Summary.Encode()
	if err != nil {
		return fmt.Errorf("writing %s: %w", SummaryFile, err)
	}
	// In the order of their names, without a sort: one weighs as much in a hook
	// program as all of this file.
	files := []file{p.parts[0], {SummaryFile, summary}, p.parts[1], p.parts[2]}
	sums := make([]Sum, 0, len(files)+1)
	for _, f := range files {
		if int64(len(f.data)) > p.limits.FileBytes {
			return fmt.Errorf("%s would have %d bytes, more than the limit of %d", f.name, len(f.data), p.limits.FileBytes)
		}
		sums = append(sums, sumOf(f))
	}
	if full != nil {
		sums = append(sums, full.sum)
	}
	p.Continuity.Checksums = sums
	data, err := p.Continuity.shrunk(p.limits.FileBytes)
	if err != nil {
		return fmt.Errorf("writing %s: %w", ContinuityFile, err)
	}
	p.files = append(files, file{ContinuityFile, data})
	return nil
}

func sumOf(f file) Sum {
	hash := sha256.Sum256(f.data)
	return Sum{File: f.name, Bytes: int64(len(f.data)), SHA256: hex.EncodeToString(hash[:])}
}

// shrunk encodes within the limit, giving up what matters least first.
func (c *Continuity) shrunk(limit int64) ([]byte, error) {
	steps := []func(){
		func() { c.Omitted.Files += dropMiddle(&c.Files.Read, 0) },
		func() { c.shorten(2<<10, 0) },
		func() { c.keep(50, 20) },
		func() { c.shorten(1<<10, 0) },
		func() { c.keep(20, 10) },
		func() { c.shorten(400, 0) },
		func() { c.keep(4, 4) },
		func() { c.shorten(150, 0) },
	}
	for {
		data, err := c.Encode()
		if err != nil || int64(len(data)) <= limit {
			return data, err
		}
		if len(steps) == 0 {
			return nil, fmt.Errorf("%d bytes, more than the limit of %d", len(data), limit)
		}
		steps[0]()
		steps = steps[1:]
	}
}

// keep bounds the lists: edited files and the plan to most items, the others to
// few.
func (c *Continuity) keep(most, few int) {
	c.Omitted.Files += dropMiddle(&c.Files.Edited, most)
	if c.Plan != nil {
		c.Omitted.PlanItems += dropMiddle(&c.Plan.Items, most)
	}
	if c.Git != nil {
		c.Git.More += int(dropMiddle(&c.Git.Changed, few))
	}
	c.Omitted.Commands += dropMiddle(&c.Commands, few)
	c.Omitted.OpenWork += dropMiddle(&c.OpenWork, few)
	if extra := len(c.Requests) - few; extra > 0 {
		c.Omitted.Requests += int64(extra)
		c.Requests = c.Requests[extra:]
	}
}

// shorten cuts every text that a transcript brought in to n bytes, and outputs
// to out.
func (c *Continuity) shorten(n, out int) {
	cut := func(s *string, n int) int64 {
		was := len(*s)
		*s = clip(*s, n)
		c.Omitted.ItemBytes += int64(was - len(*s))
		return int64(was - len(*s))
	}
	for _, l := range []*[]Words{&c.Opening, &c.Requests} {
		*l = slices.Clone(*l)
		for i := range *l {
			(*l)[i].Cut += cut(&(*l)[i].Text, n)
		}
	}
	if c.Plan != nil {
		cut(&c.Plan.Note, n)
		for i := range c.Plan.Items {
			cut(&c.Plan.Items[i].Text, n)
		}
	}
	for i := range c.OpenWork {
		cut(&c.OpenWork[i].Description, n)
	}
	for i := range c.Commands {
		cut(&c.Commands[i].Text, n)
		cut(&c.Commands[i].Output, out)
	}
	if c.Proposal != nil {
		c.Proposal.Cut += cut(&c.Proposal.Text, n)
	}
	c.Instruction.Cut += cut(&c.Instruction.Text, n)
	cut(&c.Work.Text, n)
}

// dropMiddle keeps the first half and the last half of n items and says how
// many went.
func dropMiddle[T any](l *[]T, n int) int64 {
	extra := len(*l) - n
	if extra <= 0 {
		return 0
	}
	head := n / 2
	*l = slices.Concat((*l)[:head], (*l)[head+extra:])
	return int64(extra)
}

// Files is what the packet consists of, by name: all that is known once it was
// written, without transcript.md before.
func (p *Packet) Files() []Sum {
	for _, f := range p.files {
		if f.name == ContinuityFile {
			return slices.Insert(slices.Clone(p.Continuity.Checksums), 0, sumOf(f))
		}
	}
	return slices.Clone(p.Continuity.Checksums)
}

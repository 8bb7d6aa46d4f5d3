package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/packet/transcript"
)

// killed is what a mortal run dies of.
type killed struct{}

// life counts a run's operations and ends it between two of them, as a kill
// does. It also notes what the run did, in the words of the reference model.
type life struct {
	left      int  // operations until the end; negative: no end
	lastWords bool // it ends as soon as something was printed
	ops       int
	steps     []string
	yield     func() // called before each operation, nil if nobody waits
}

func immortal() *life { return &life{left: -1} }

// op is a moment between two operations.
func (l *life) op() {
	if l.yield != nil {
		l.yield()
	}
	l.ops++
	if l.left == 0 {
		panic(killed{})
	}
	l.left--
}

func (l *life) did(format string, args ...any) {
	l.steps = append(l.steps, fmt.Sprintf(format, args...))
}

// mortalDisk is a disk whose owner may die.
type mortalDisk struct {
	disk
	l   *life
	now func() time.Time
}

// touch gives a folder the time of the made-up clock.
func (d mortalDisk) touch(path string) { os.Chtimes(filepath.Dir(path), d.now(), d.now()) }

func (d mortalDisk) mkdir(path string) error {
	d.l.op()
	return d.disk.mkdir(path)
}

func (d mortalDisk) rename(from, to string) error {
	d.l.op()
	err := d.disk.rename(from, to)
	if err != nil {
		return err
	}
	if was, ok := strings.CutPrefix(filepath.Base(from), "state."); ok {
		is, _ := strings.CutPrefix(filepath.Base(to), "state.")
		d.touch(to)
		d.l.did("%d %s>%s", attemptIn(to), was, is)
	} else if n, err := strconv.Atoi(filepath.Base(to)); err == nil && filepath.Base(filepath.Dir(to)) == "c" {
		d.l.did("%d begun", n)
	} else if n, err := strconv.Atoi(filepath.Base(from)); err == nil {
		d.l.did("%d removed", n)
	}
	return nil
}

func attemptIn(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
	return n
}

func (d mortalDisk) create(path string, data []byte) error {
	d.l.op()
	return d.disk.create(path, data)
}

func (d mortalDisk) replace(path string, data []byte) error {
	d.l.op()
	err := d.disk.replace(path, data)
	if err == nil && strings.HasPrefix(filepath.Base(path), "claim") {
		d.l.did("%d noted", attemptIn(path))
	}
	return err
}

func (d mortalDisk) append(path string, line []byte) error {
	d.l.op()
	return d.disk.append(path, line)
}

// sync does nothing: what a power loss takes is another test's business.
func (d mortalDisk) sync(...string) error {
	d.l.op()
	return nil
}

func (d mortalDisk) remove(path string) error {
	d.l.op()
	err := d.disk.remove(path)
	if err == nil && strings.HasPrefix(filepath.Base(path), "claim") {
		d.l.did("%d unnoted", attemptIn(path))
	}
	return err
}

// mortalPacker makes light packets, and may die or be held up while it does.
type mortalPacker struct {
	lightPacker
	l    *life
	held chan chan struct{} // a slow PreCompact announces itself here and waits
}

func (p mortalPacker) Limits() Limits {
	limits := DefaultLimits()
	limits.PacketsPerSession = 3
	return limits
}

func (p mortalPacker) Read(ctx context.Context, j Job) (*transcript.Story, error) {
	p.l.op()
	return p.lightPacker.Read(ctx, j)
}

func (p mortalPacker) Pack(ctx context.Context, j Job, story *transcript.Story, dir string) (Packed, error) {
	if p.held != nil {
		goOn := make(chan struct{})
		p.held <- goOn
		<-goOn
	}
	p.l.op()
	// The folder's time stands for the claim's in these worlds, whose clock isn't
	// the machine's: a packet made in it must not bring the machine's in.
	attempt := filepath.Dir(dir)
	if info, err := os.Stat(attempt); err == nil {
		defer os.Chtimes(attempt, info.ModTime(), info.ModTime())
	}
	return p.lightPacker.Pack(ctx, j, story, dir)
}

// mortalPage is a standard output whose writer may die before or after it
// wrote.
type mortalPage struct {
	page
	l *life
}

func (p *mortalPage) Leads() error {
	p.l.op()
	return p.gone
}

func (p *mortalPage) Write(doc []byte) (int, error) {
	p.l.op()
	n, err := p.page.Write(doc)
	if n > 0 {
		p.l.did("printed %d of %s", min(n, 100), attemptNamed(string(doc)))
	}
	if p.l.lastWords {
		p.l.left = 0
	}
	return n, err
}

// attemptNamed is the number in the id that a directive bears.
func attemptNamed(text string) string {
	_, rest, ok := strings.Cut(text, "rs-")
	if !ok || len(rest) < 4 {
		return "nothing"
	}
	return strings.TrimLeft(rest[:4], "0")
}

var errClosed = errors.New("closed")

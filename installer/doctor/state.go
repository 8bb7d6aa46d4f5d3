package doctor

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/internal/state"
)

// Free space on the disk of the state folder, in bytes: below the first hooks
// may fail, below the second it gets narrow.
const (
	tooLittleSpace = 32 << 20
	littleSpace    = 512 << 20
)

// state looks at the state folder and our own configuration.
func (e *examiner) state() {
	e.switchedOff()
	e.configuration()
	home := e.Install.State
	if err := home.Check(); err != nil {
		f := Finding{ID: "state", Colour: Red, Stops: true, Says: "the state folder can't be used", Evidence: []string{err.Error()}, Remedy: "look at " + string(home)}
		if errors.Is(err, state.ErrNewer) {
			f.Remedy = "install the newer reseat again, or choose another folder with --home"
		}
		e.add(f)
		return
	}
	_, err := os.Lstat(string(home))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.add(Finding{ID: "state", Colour: Green, Says: "the state folder isn't there yet; the first hook makes it", Evidence: []string{string(home)}})
		return
	case err != nil:
		e.add(Finding{ID: "state", Colour: Red, Stops: true, Says: "the state folder can't be used", Evidence: []string{err.Error()}, Remedy: "look at " + string(home)})
		return
	}
	if err := writable(string(home)); err != nil {
		e.add(Finding{ID: "state", Colour: Red, Stops: true, Says: "the state folder can't be written", Evidence: []string{err.Error()}, Remedy: "make " + string(home) + " yours and writable (chmod u+rwx)"})
		return
	}
	e.contents()
	e.space()
}

// switchedOff reports reseat's own switches.
func (e *examiner) switchedOff() {
	if e.Install.Getenv("RESEAT_DISABLE") == "1" {
		e.add(Finding{ID: "off", Colour: Yellow, Stops: true, Says: "reseat is switched off by RESEAT_DISABLE=1", Evidence: []string{"in the environment of this command"}, Remedy: "unset RESEAT_DISABLE where the client is started"})
	}
	entries, _ := os.ReadDir(e.Install.State.Off())
	for _, entry := range entries {
		words, _ := os.ReadFile(filepath.Join(e.Install.State.Off(), entry.Name()))
		f := Finding{ID: "off", Colour: Yellow, Says: "reseat is switched off for " + strings.TrimSpace(string(words)), Evidence: []string{filepath.Join(e.Install.State.Off(), entry.Name())}, Remedy: "run: reseat on, with the same words"}
		if entry.Name() == "all" {
			f.Stops, f.Remedy = true, "run: reseat on"
		}
		e.add(f)
	}
}

// configuration reports mistakes in our own configuration.
func (e *examiner) configuration() {
	path := config.Path(e.Install.Getenv, e.Install.Home, string(e.Install.State))
	_, problems := config.LoadTolerant(path)
	for _, problem := range problems {
		e.add(Finding{ID: "config", Colour: Yellow, Says: "a setting of reseat's can't be used; hooks take its default", Evidence: []string{problem.String()}, Remedy: problem.Remedy})
	}
}

// writable tries to make a file in dir.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// contents looks at every file of the state: whether others can read it, and how
// much it all takes.
func (e *examiner) contents() {
	var total int64
	var open []string
	_ = filepath.WalkDir(string(e.Install.State), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // a packet that is being pruned
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 && info.Mode().Type()&fs.ModeSymlink == 0 {
			open = append(open, fmt.Sprintf("%s: mode %04o", path, mode))
		}
		if info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	e.privacy(open)
	e.size(total)
}

func (e *examiner) privacy(open []string) {
	if len(open) > 0 {
		e.add(Finding{ID: "state-mode", Colour: Yellow, Says: "others can look into the state folder", Evidence: open[:min(len(open), 5)], Remedy: "chmod -R go= " + string(e.Install.State)})
		return
	}
	e.add(Finding{ID: "state-mode", Colour: Green, Says: "the state folder is private", Evidence: []string{string(e.Install.State)}})
}

// size compares the state with its limit.
func (e *examiner) size(total int64) {
	settings, _ := config.LoadTolerant(config.Path(e.Install.Getenv, e.Install.Home, string(e.Install.State)))
	limit := int64(settings.Limits.StateBytes)
	f := Finding{ID: "state-size", Colour: Green, Says: fmt.Sprintf("the state takes %s of at most %s", megabytes(total), megabytes(limit)), Evidence: []string{string(e.Install.State)}}
	if total > limit {
		f.Colour, f.Remedy = Yellow, "run: reseat gc"
	}
	e.add(f)
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// space reports a disk that is full or nearly so.
func (e *examiner) space() {
	free, err := freeSpace(string(e.Install.State))
	if err != nil {
		e.add(Finding{ID: "disk", Colour: Yellow, Unknown: true, Says: "it can't be told how much room the disk has", Evidence: []string{err.Error()}})
		return
	}
	f := Finding{ID: "disk", Colour: Green, Says: "the disk has room"}
	switch {
	case free < tooLittleSpace:
		f = Finding{ID: "disk", Colour: Red, Stops: true, Says: "the disk is full", Remedy: "make room"}
	case free < littleSpace:
		f = Finding{ID: "disk", Colour: Yellow, Says: "the disk is nearly full", Remedy: "make room"}
	}
	if f.Colour != Green {
		f.Evidence = []string{fmt.Sprintf("%s free at %s", megabytes(int64(free)), e.Install.State)}
	}
	e.add(f)
}

// receipts reports when a hook of ours last ran in this client.
func (p *patient) receipts() {
	if len(p.entries) == 0 {
		return
	}
	since := p.installed()
	last, event := lastRun(p.Install.State, p.c)
	switch {
	case last.IsZero() || last.Before(since):
		f := Finding{ID: "never-ran", Colour: Yellow, Evidence: []string{"receipts: " + p.Install.State.Receipts()}, Says: "none of our hooks has run since they were installed", Remedy: "work in the client for a turn and look again; if it stays, look at what else is found here"}
		if !since.IsZero() {
			f.Evidence = append(f.Evidence, "installed "+ago(p.Now(), since))
		}
		if !last.IsZero() {
			f.Evidence = append(f.Evidence, "last run "+ago(p.Now(), last))
		}
		p.add(f)
	default:
		p.add(Finding{ID: "last-run", Colour: Green, Says: "our hooks run", Evidence: []string{"last at " + event + ", " + ago(p.Now(), last)}})
	}
}

// installed is when the client's entries were written last, as far as receipts
// know.
func (p *patient) installed() time.Time {
	receipts, _ := installer.Receipts(p.Install.State)
	var last time.Time
	for _, r := range receipts {
		if r.Client == p.c && r.Installed.After(last) {
			last = r.Installed
		}
	}
	return last
}

func ago(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < 2*time.Minute:
		return "just now"
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// lastRun is the time and event of the newest receipt of a client; the zero time
// if there is none.
func lastRun(home state.Home, c client.Client) (last time.Time, event string) {
	days, _ := os.ReadDir(home.Receipts())
	slices.Reverse(days) // the newest first: the day is in the name
	for _, day := range days {
		f, err := os.Open(filepath.Join(home.Receipts(), day.Name()))
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := gjson.ParseBytes(lines.Bytes())
			if line.Get("client").Str != string(c) {
				continue
			}
			if t := line.Get("time").Time(); t.After(last) {
				last, event = t, line.Get("event").Str
			}
		}
		_ = f.Close()
		if !last.IsZero() {
			return last, event
		}
	}
	return last, event
}

// programs compares the versions of all our programs.
func (e *examiner) programs() {
	var other, seen []string
	for _, name := range []string{"reseat-precompact", "reseat-directive", "reseat-runtime-claude", "reseat-runtime-codex"} {
		path := filepath.Join(e.Install.Programs, name)
		if !exists(path) {
			continue
		}
		out, err := e.ask(path, "--version")
		_, number, _ := strings.Cut(out, " ")
		line := fmt.Sprintf("%s: %s", path, number)
		if err != nil {
			line = fmt.Sprintf("%s: %v", path, err)
		}
		seen = append(seen, line)
		if err != nil || number != ownVersion {
			other = append(other, line)
		}
	}
	for who, number := range e.Watchers {
		if number != ownVersion {
			other = append(other, fmt.Sprintf("%s: %s", who, number))
		}
	}
	slices.Sort(other)
	if len(other) > 0 {
		e.add(Finding{ID: "versions", Colour: Yellow, Says: "our programs are of different versions; this command is " + ownVersion, Evidence: other, Remedy: "install them together (make install) and start watchers anew"})
		return
	}
	e.add(Finding{ID: "versions", Colour: Green, Says: "our programs are all of version " + ownVersion, Evidence: seen})
}

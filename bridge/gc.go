package bridge

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/folder"
)

// Limits bound the state folder.
type Limits struct {
	PacketsPerSession int
	MaxAge            time.Duration
	StateBytes        int64
	ReceiptsBytes     int64
}

// DefaultLimits are those of the documentation.
func DefaultLimits() Limits {
	return Limits{PacketsPerSession: 5, MaxAge: 14 * 24 * time.Hour, StateBytes: 256 << 20, ReceiptsBytes: 8 << 20}
}

const (
	begunGrace = time.Hour      // a begun attempt younger than this may be at work
	tempGrace  = time.Hour      // so may a temporary folder
	gcEvery    = 24 * time.Hour // a hook looks at the whole state this often
)

// Removal is something that GC removes or would remove.
type Removal struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	Reason string `json:"reason"`
}

// removable reports whether the attempt may go at all, whatever the limits.
// Never one that is at work or still to be delivered; and never the newest one
// that was printed while its session lives, because its path stands in a
// context.
func (a *Attempt) removable(now time.Time, newestPrinted bool, sessionLives bool) bool {
	switch a.State {
	case Begun:
		return now.Sub(a.Begin.Time).Abs() > begunGrace
	case Prepared, Armed, Claimed1, Claimed2:
		return !sessionLives
	case Emitted1, Emitted2, Confirmed, Unverifiable:
		return !newestPrinted || !sessionLives
	}
	return true
}

// candidates lists what may go from one session, oldest first.
func candidates(dir string, now time.Time) (free []*Attempt, kept []*Attempt) {
	attempts, err := Attempts(dir)
	if err != nil {
		return nil, nil
	}
	lives := sessionLives(dir, attempts)
	printed := false
	for _, a := range attempts {
		isPrinted := a.State == Emitted1 || a.State == Emitted2 || a.State == Confirmed || a.State == Unverifiable
		if a.removable(now, isPrinted && !printed, lives) {
			free = append(free, a)
		} else {
			kept = append(kept, a)
		}
		printed = printed || isPrinted
	}
	slices.Reverse(free)
	return free, kept
}

// sessionLives reports whether the session's transcript is there. Where no
// transcript was ever named, or it can't be told, the session counts as alive.
func sessionLives(dir string, attempts []*Attempt) bool {
	path := ""
	for _, a := range attempts {
		if path = a.transcript(); path != "" {
			break
		}
	}
	if path == "" {
		about, err := ReadAbout(dir)
		if err != nil || about.Transcript == "" {
			return true
		}
		path = about.Transcript
	}
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// prune keeps the session within its limit and sweeps what killed runs left
// behind. Once a day it looks at the whole state. It is a hook's last act and
// stops with ctx; what it can't remove stays for the next time.
func (b *Bridge) prune(ctx context.Context, dir string) {
	now := b.Now()
	free, kept := candidates(dir, now)
	for len(free) > 0 && len(free)+len(kept) > b.Packer.Limits().PacketsPerSession && ctx.Err() == nil {
		b.discard(free[0].Dir)
		free = free[1:]
	}
	b.sweep(dir, now)
	stamp := b.Home.Join("gc")
	if info, err := os.Stat(stamp); err == nil && now.Sub(info.ModTime()).Abs() < gcEvery {
		return
	}
	if b.disk.replace(stamp, nil) == nil {
		b.GC(ctx, false)
	}
}

// sweep removes temporary folders that no running program owns any more.
func (b *Bridge) sweep(dir string, now time.Time) {
	for _, pattern := range []string{"c/.*.tmp", "c/*/*.tmp", ".*-tmp", "c/*/.*-tmp"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range found {
			if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > tempGrace {
				b.disk.remove(path)
			}
		}
	}
}

// discard takes a folder out of sight in one step and then removes it, so that
// nobody ever sees half of it.
func (b *Bridge) discard(path string) error {
	if err := b.disk.mkdir(b.Home.Trash()); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	gone := filepath.Join(b.Home.Trash(), b.random(8))
	if err := b.disk.rename(path, gone); err != nil {
		return err
	}
	return b.disk.remove(gone)
}

// GC keeps the whole state within its limits: attempts that are too old or too
// many, sessions of which nothing is left, receipts. With dry it only says what
// would go.
func (b *Bridge) GC(ctx context.Context, dry bool) ([]Removal, error) {
	var gone []Removal
	now := b.Now()
	remove := func(path, reason string, act func(string) error) {
		r := Removal{Path: path, Bytes: treeBytes(path), Reason: reason}
		if !dry && act(path) != nil {
			return
		}
		gone = append(gone, r)
	}
	b.emptyTrash(dry)
	sessions, err := folder.Names(b.Home.Sessions())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	type old struct {
		a    *Attempt
		when time.Time
	}
	var left []old
	for _, s := range sessions {
		if ctx.Err() != nil {
			return gone, ctx.Err()
		}
		dir := filepath.Join(b.Home.Sessions(), s)
		free, kept := candidates(dir, now)
		total := len(free) + len(kept)
		for _, a := range free {
			switch {
			case total > b.Packer.Limits().PacketsPerSession:
				remove(a.Dir, "more packets than a session may keep", b.discard)
				total--
			case now.Sub(a.when()) > b.Packer.Limits().MaxAge:
				remove(a.Dir, "older than the limit", b.discard)
				total--
			default:
				left = append(left, old{a, a.when()})
			}
		}
		if total == 0 && !sessionLives(dir, nil) && olderThan(dir, now, b.Packer.Limits().MaxAge) {
			remove(dir, "nothing is left of this session", b.discard)
		} else if !dry {
			b.sweep(dir, now)
		}
	}
	sort.SliceStable(left, func(i, j int) bool { return left[i].when.Before(left[j].when) })
	for size := treeBytes(b.Home.Sessions()); len(left) > 0 && size > b.Packer.Limits().StateBytes && ctx.Err() == nil; left = left[1:] {
		size -= treeBytes(left[0].a.Dir)
		remove(left[0].a.Dir, "the state is larger than its limit", b.discard)
	}
	b.gcReceipts(now, remove)
	return gone, nil
}

func (a *Attempt) when() time.Time {
	if a.Record != nil {
		return a.Record.Prepared
	}
	return a.Begin.Time
}

func (b *Bridge) emptyTrash(dry bool) {
	if dry {
		return
	}
	entries, err := folder.Names(b.Home.Trash())
	if err != nil {
		return
	}
	for _, e := range entries {
		b.disk.remove(filepath.Join(b.Home.Trash(), e))
	}
}

// gcReceipts removes whole days, oldest first, and never today's.
func (b *Bridge) gcReceipts(now time.Time, remove func(path, reason string, act func(string) error)) {
	days, err := folder.Names(b.Home.Receipts())
	if err != nil {
		return
	}
	today := now.UTC().Format(time.DateOnly)
	total := treeBytes(b.Home.Receipts())
	for _, d := range days {
		day, ok := strings.CutSuffix(d, ".jsonl")
		if !ok || day >= today {
			continue
		}
		path := filepath.Join(b.Home.Receipts(), d)
		when, err := time.Parse(time.DateOnly, day[:min(len(day), len(time.DateOnly))])
		switch {
		case err == nil && now.Sub(when) > b.Packer.Limits().MaxAge+24*time.Hour:
			total -= treeBytes(path)
			remove(path, "receipts older than the limit", b.disk.remove)
		case total > b.Packer.Limits().ReceiptsBytes:
			total -= treeBytes(path)
			remove(path, "more receipts than the limit", b.disk.remove)
		}
	}
}

// Purge removes all that is known of the sessions that match, their receipts
// aside.
func (b *Bridge) Purge(match func(About) bool, dry bool) ([]Removal, error) {
	sessions, err := folder.Names(b.Home.Sessions())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var gone []Removal
	var faults error
	for _, s := range sessions {
		dir := filepath.Join(b.Home.Sessions(), s)
		about, err := ReadAbout(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = errors.Join(faults, err)
			continue
		}
		if !match(about) {
			continue
		}
		r := Removal{Path: dir, Bytes: treeBytes(dir), Reason: "purged"}
		if !dry {
			if err := b.discard(dir); err != nil {
				faults = errors.Join(faults, err)
				continue
			}
		}
		gone = append(gone, r)
	}
	return gone, faults
}

// PurgeReceipts removes all receipts.
func (b *Bridge) PurgeReceipts(dry bool) ([]Removal, error) {
	days, err := folder.Names(b.Home.Receipts())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var gone []Removal
	var faults error
	for _, d := range days {
		path := filepath.Join(b.Home.Receipts(), d)
		r := Removal{Path: path, Bytes: treeBytes(path), Reason: "purged"}
		if !dry {
			if err := b.disk.remove(path); err != nil {
				faults = errors.Join(faults, err)
				continue
			}
		}
		gone = append(gone, r)
	}
	return gone, faults
}

// Size is what the state folder takes on disk, in bytes.
func (b *Bridge) Size() int64 { return treeBytes(string(b.Home)) }

// OfSession matches one session.
func OfSession(c client.Client, id string) func(About) bool {
	return func(a About) bool { return a.Client == c && a.Session == id }
}

// OfProject matches the sessions whose working directory is dir or below it.
func OfProject(dir string) func(About) bool {
	return func(a About) bool { return within(a.CWD, dir) }
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return path != "" && err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func olderThan(path string, now time.Time, age time.Duration) bool {
	info, err := os.Stat(path)
	return err == nil && now.Sub(info.ModTime()) > age
}

// treeBytes adds up the sizes of all files below path; what can't be read
// counts nothing.
func treeBytes(path string) (total int64) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
	case info.Mode().IsRegular():
		return info.Size()
	case info.IsDir():
		names, _ := folder.Names(path)
		for _, name := range names {
			total += treeBytes(filepath.Join(path, name))
		}
	}
	return total
}

package transcript

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/folder"
)

// Bounds of the search for a fork's parents.
const (
	maxAncestors = 8
	maxEntries   = 1 << 16 // folder entries looked at
)

// ancestors follows history_base. A fork of 0.171.0 doesn't copy its parent's
// history but names the rollout and up to where it is its own; and a person who
// goes back in the terminal makes a new rollout of the same thread, whose base is
// the one before, up to there: rollout-<time>-<thread>_<rollout>.jsonl. The base's
// thread_id is the last id in the name of its file.
func (r *reader) ancestors(list []*segment, c *codexLine) []*segment {
	seen := []fs.FileInfo{r.src.info}
	for len(list) <= maxAncestors {
		base := member(c.payload, "history_base")
		id := short(member(base, "thread_id"), nameBytes)
		if id == "" {
			return list
		}
		s, meta := r.parent(id, seen, base)
		if s == nil {
			r.b.caveat("the history that this session was forked from was not found")
			return list
		}
		list, seen, c = append(list, s), append(seen, s.src.info), meta
	}
	r.b.caveat("the session was forked too many times: its oldest history was not read")
	return list
}

// parent opens the rollout with an id, up to where the history goes on elsewhere.
func (r *reader) parent(id string, seen []fs.FileInfo, base []byte) (*segment, *codexLine) {
	if strings.ContainsAny(id, `/\`) {
		return nil, nil
	}
	path := findRollout(r.src.path, id)
	if path == "" {
		return nil, nil
	}
	src, err := open(path)
	if err != nil {
		return nil, nil
	}
	c, found, err := src.firstMeta(r)
	own := is(member(c.payload, "id"), id) || strings.HasSuffix(path, "_"+id+".jsonl")
	for _, info := range seen {
		own = own && (info == nil || !os.SameFile(info, src.info))
	}
	if err != nil || !found || !own {
		src.close()
		return nil, nil
	}
	to := src.size
	if n := integer(member(base, "end_byte_offset")); n > 0 {
		to = min(to, n)
	}
	return &segment{src: src, to: to, in: path}, &c
}

// findRollout finds the rollout with an id below the sessions folder that from
// lies in: sessions/YYYY/MM/DD/. The id is a UUID of version 7, so the day is known
// but for the time zone; else every day is looked at, newest first, up to a bound.
func findRollout(from, id string) string {
	root := sessionsDir(from)
	if root == "" {
		return ""
	}
	suffix := id + ".jsonl"
	left := maxEntries
	if day, ok := uuidTime(id); ok {
		for _, off := range []int{0, 1, -1} {
			dir := filepath.Join(root, day.AddDate(0, 0, off).Format("2006/01/02"))
			if p := rolloutIn(dir, suffix, &left); p != "" {
				return p
			}
		}
	}
	if p := rolloutBelow(root, suffix, 3, &left); p != "" {
		return p
	}
	return rolloutIn(filepath.Join(filepath.Dir(root), "archived_sessions"), suffix, &left)
}

// sessionsDir is the nearest folder named sessions above a path, with its
// archive beside it.
func sessionsDir(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(abs); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		switch filepath.Base(dir) {
		case "sessions":
			return dir
		case "archived_sessions":
			return filepath.Join(filepath.Dir(dir), "sessions")
		}
	}
	return ""
}

func rolloutIn(dir, suffix string, left *int) string {
	names, err := folder.Names(dir)
	if err != nil {
		return ""
	}
	for _, name := range names {
		if *left--; *left < 0 {
			return ""
		}
		if before, ok := strings.CutSuffix(name, suffix); ok && strings.HasPrefix(before, "rollout-") && (before[len(before)-1] == '-' || before[len(before)-1] == '_') {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

func rolloutBelow(dir, suffix string, depth int, left *int) string {
	if depth == 0 {
		return rolloutIn(dir, suffix, left)
	}
	names, err := folder.Names(dir)
	if err != nil {
		return ""
	}
	for i := len(names) - 1; i >= 0; i-- {
		if *left--; *left < 0 {
			return ""
		}
		sub := filepath.Join(dir, names[i])
		if info, err := os.Lstat(sub); err != nil || !info.IsDir() {
			continue
		}
		if p := rolloutBelow(sub, suffix, depth-1, left); p != "" {
			return p
		}
	}
	return ""
}

// uuidTime is when a UUID of version 7 was made.
func uuidTime(id string) (time.Time, bool) {
	var k idKey
	if len(id) != 36 || !uuid([]byte(id), &k) || k[6]>>4 != 7 {
		return time.Time{}, false
	}
	var ms int64
	for _, b := range k[:6] {
		ms = ms<<8 | int64(b)
	}
	return time.UnixMilli(ms).UTC(), true
}

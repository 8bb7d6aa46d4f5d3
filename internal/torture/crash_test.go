//go:build linux

package torture

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"
)

// touching are the system calls that touch files, as strace groups them.
const touching = "%file,%desc"

// crash is a hook that is to be killed: what the client did before, and how it
// may go on afterwards.
type crash struct {
	name  string
	event string
	// before brings the seat to the moment at which the hook is run.
	before func(s *seat)
	// goOn are the ways to go on. text is what the killed hook brought into the
	// context; they return how many directives there must be in the end.
	goOn map[string]func(s *seat, text string) int
}

func codex(s *seat) bool { return s.runtime == "codex" }

// happens writes what the client has on disk before its hooks run.
func happens(s *seat) {
	s.compacts()
	if codex(s) {
		s.boundary()
		s.hook("PostCompact")
	}
}

// reaches brings to disk what the client writes after the hooks of a compaction.
func reaches(s *seat, texts ...string) {
	if !codex(s) {
		s.hook("PostCompact")
		s.boundary()
	}
	for _, text := range texts {
		s.inject(text)
	}
}

// moved is the turn after a compaction without any hook.
func moved(s *seat) {
	s.prompt()
	s.answer()
}

// started are the ways to go on after a SessionStart(compact) was killed.
var started = map[string]func(s *seat, text string) int{
	"the same event again": func(s *seat, text string) int {
		again := s.hook("SessionStart")
		reaches(s, text, again)
		return 1
	},
	"a prompt, with a trace if there was one": func(s *seat, text string) int {
		reaches(s, text)
		return 1
	},
	"a prompt, with boundary and answer, no trace": func(s *seat, _ string) int {
		reaches(s) // the client dropped the context
		moved(s)
		return 1
	},
	"a prompt, without boundary": func(s *seat, text string) int {
		// An old client has neither on disk yet.
		if codex(s) {
			s.inject(text)
			return 1
		}
		s.hook("PostCompact")
		early := s.hook("UserPromptSubmit")
		s.prompt()
		s.boundary()
		s.inject(text)
		s.inject(early)
		s.answer()
		return 1
	},
}

// crashes are all hooks that are killed.
var crashes = []crash{
	{
		name: "PreCompact", event: "PreCompact", before: func(*seat) {},
		goOn: map[string]func(s *seat, text string) int{
			"the same event again": func(s *seat, _ string) int {
				s.compact()
				return 1
			},
			"SessionStart at once": func(s *seat, _ string) int {
				happens(s)
				text := s.hook("SessionStart")
				reaches(s, text)
				return 1
			},
			"a prompt, with boundary and answer, no trace": func(s *seat, _ string) int {
				s.compacts()
				s.boundary()
				moved(s)
				return sinceBegun(s)
			},
			"a prompt, without boundary": func(s *seat, _ string) int {
				if got := s.hook("UserPromptSubmit"); got != "" {
					s.t.Errorf("a directive without a compaction: %s", got)
				}
				moved(s)
				s.compact()
				return 1
			},
		},
	},
	{
		name: "SessionStart", event: "SessionStart",
		before: func(s *seat) {
			s.hook("PreCompact")
			happens(s)
		},
		goOn: started,
	},
	{
		name: "SessionStart that rescues", event: "SessionStart",
		before: happens,
		goOn:   started,
	},
	{
		name: "PostCompact", event: "PostCompact",
		before: func(s *seat) {
			s.hook("PreCompact")
			s.compacts()
			if codex(s) {
				s.boundary()
			}
		},
		goOn: map[string]func(s *seat, text string) int{
			"the same event again": func(s *seat, _ string) int {
				s.hook("PostCompact")
				if !codex(s) {
					s.boundary()
				}
				s.starts()
				return 1
			},
			"a prompt": func(s *seat, _ string) int {
				if !codex(s) {
					s.boundary()
				}
				return 1
			},
			"SessionStart, then a prompt": func(s *seat, _ string) int {
				text := s.hook("SessionStart")
				if !codex(s) {
					s.boundary()
				}
				s.inject(text)
				return 1
			},
		},
	},
	{
		name: "UserPromptSubmit", event: "UserPromptSubmit",
		before: func(s *seat) {
			s.hook("PreCompact")
			happens(s)
			if !codex(s) {
				s.boundary()
			}
		},
		goOn: map[string]func(s *seat, text string) int{
			"the same event again": func(s *seat, text string) int {
				again := s.hook("UserPromptSubmit")
				s.prompt()
				s.inject(text)
				s.inject(again)
				s.answer()
				return 1
			},
			"a prompt, with a trace if there was one": func(s *seat, text string) int {
				s.prompt()
				s.inject(text)
				s.answer()
				return 1
			},
			"a prompt, with an answer, no trace": func(s *seat, _ string) int {
				moved(s)
				return 1
			},
			"a prompt, before the answer": func(s *seat, text string) int {
				s.prompt()
				s.inject(text)
				return 1
			},
		},
	},
}

// sinceBegun is how many directives a prompt owes where only PreCompact ran: one
// if that came so far as to begin an attempt, else nobody knows of the
// compaction.
func sinceBegun(s *seat) int {
	for _, state := range strings.Split(s.states(), ", ") {
		if strings.HasSuffix(state, " begun") || strings.HasSuffix(state, " prepared") {
			return 1
		}
	}
	return 0
}

// point is one place to die: at the nth call of this name that a thread makes.
type point struct {
	call string
	n    int
}

// points runs the hook undisturbed a few times, and lists the calls. A point
// counts if a thread came so far in at least two of the runs.
func (c *crash) points(s *seat, strace, kept string) []point {
	const runs = 5
	reached := map[point]int{}
	for range runs {
		s.back(kept)
		log := filepath.Join(filepath.Dir(s.dir), "trace")
		s.traced(strace, c.event, "-f", "-qq", "-o", log, "-e", "trace="+touching)
		data, err := os.ReadFile(log)
		if err != nil {
			s.t.Fatal(err)
		}
		for p := range countCalls(string(data)) {
			reached[p]++
		}
	}
	var all []point
	for p, n := range reached {
		if n >= 2 {
			all = append(all, p)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].call < all[j].call || all[i].call == all[j].call && all[i].n < all[j].n
	})
	return all
}

var callLine = regexp.MustCompile(`^(\d+) +([a-z0-9_]+)\(`)

// countCalls reads a trace: up to which number each call was made by one thread.
// The start of the program isn't its own, and polling touches no file, nor does
// memory that is mapped to none.
func countCalls(trace string) map[point]bool {
	most := map[point]bool{}
	count := map[string]int{}
	for _, line := range strings.Split(trace, "\n") {
		found := callLine.FindStringSubmatch(line)
		if found == nil || found[2] == "execve" || strings.HasPrefix(found[2], "e") && strings.Contains(found[2], "poll") {
			continue
		}
		if found[2] == "mmap" && strings.Contains(line, "MAP_ANONYMOUS") {
			continue // memory for the runtime, as much as the moment asks for
		}
		key := found[1] + " " + found[2]
		count[key]++
		most[point{found[2], count[key]}] = true
	}
	return most
}

// traced runs the hook below strace and returns what was printed and how it
// ended.
func (s *seat) traced(strace, event string, options ...string) (out []byte, err error) {
	s.t.Helper()
	out, _, err = s.tracedWith(strace, event, options...)
	return out, err
}

// tracedWith also returns what was said on standard error.
func (s *seat) tracedWith(strace, event string, options ...string) (out []byte, complained string, err error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	hook := s.command(ctx, event)
	cmd := exec.CommandContext(ctx, strace, append(options, hook.Args...)...)
	cmd.Env = append(hook.Env, "GOMAXPROCS=1")
	cmd.Dir, cmd.Stdin, cmd.SysProcAttr = hook.Dir, hook.Stdin, hook.SysProcAttr
	var printed, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &complaint
	err = cmd.Run()
	if ctx.Err() != nil {
		s.t.Fatalf("%s below strace: %v", event, ctx.Err())
	}
	return printed.Bytes(), complaint.String(), err
}

// kill runs the hook until it died at the point. Threads share the work
// differently each time, so it is tried again until it did.
func (c *crash) kill(s *seat, strace, kept string, p point) (dead *seat, text, site string, hit bool) {
	const tries = 60
	log := filepath.Join(filepath.Dir(s.dir), "trace")
	for range tries {
		dead = s.back(kept)
		out, err := dead.traced(strace, c.event, "-f", "-qq", "-o", log, "-e", "trace="+touching,
			"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", p.call, p.n))
		if diedOfKill(err) {
			return dead, dead.accepted(out, true), siteOf(log, p.call, s.dir), true
		}
	}
	return nil, "", "", false
}

func diedOfKill(err error) bool {
	exit, ok := err.(*exec.ExitError)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

var random = regexp.MustCompile(`[0-9a-f]{8,}|0x[0-9a-f]+|\b\d+\b`)

// siteOf names the call at which it died, without what differs between runs.
func siteOf(log, call, dir string) string {
	data, err := os.ReadFile(log)
	if err != nil {
		return call
	}
	lines := strings.Split(string(data), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if _, rest, ok := strings.Cut(lines[i], " "+call+"("); ok {
			rest, _, _ = strings.Cut(rest, " <unfinished")
			rest = strings.ReplaceAll(rest, dir, "")
			rest = random.ReplaceAllString(rest, "#")
			return call + "(" + rest[:min(len(rest), 80)]
		}
	}
	return call
}

// TestKilledAtEveryCall kills both programs at every system call that touches a
// file, for both clients, in a first and in a second compaction. Whichever way
// the client goes on, the context gets exactly one directive, and no packet is
// ever seen half.
func TestKilledAtEveryCall(t *testing.T) {
	strace := haveStrace(t)
	total := tally{sites: map[string]bool{}}
	for _, runtime := range runtimes {
		for _, second := range []bool{false, true} {
			for i := range crashes {
				c := &crashes[i]
				name := fmt.Sprintf("%s/%s/second=%v", runtime, c.name, second)
				t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
					total.add(c.run(t, strace, runtime, second))
				})
			}
		}
	}
	t.Logf("points %d, hit %d, distinct call sites %d, ways on %d, torn packets %d, directives lost %d, doubled %d",
		total.points, total.hit, len(total.sites), total.ways, total.torn, total.lost, total.doubled)
}

// tally is what a crash test found.
type tally struct {
	points, hit, ways, torn, lost, doubled int
	sites                                  map[string]bool
}

func (x *tally) add(y tally) {
	x.points, x.hit, x.ways = x.points+y.points, x.hit+y.hit, x.ways+y.ways
	x.torn, x.lost, x.doubled = x.torn+y.torn, x.lost+y.lost, x.doubled+y.doubled
	maps.Copy(x.sites, y.sites)
}

// sample is how many points of each kind a plain go test takes.
const sample = 3

func (c *crash) run(t *testing.T, strace, runtime string, second bool) tally {
	root := memory(t)
	s := newSeat(t, runtime, filepath.Join(root, "seat"))
	if second {
		s.compact()
		if err := s.settle(1); err != nil {
			t.Fatal(err)
		}
	}
	c.before(s)
	kept, dying := filepath.Join(root, "kept"), filepath.Join(root, "dying")
	s.keep(kept)
	all := c.points(s, strace, kept)
	if !*full {
		all = some(all, sample)
	}
	found := tally{points: len(all), sites: map[string]bool{}}
	for _, p := range all {
		dead, text, site, hit := c.kill(s, strace, kept, p)
		if !hit {
			t.Errorf("%s %d was never reached", p.call, p.n)
			continue
		}
		found.hit++
		found.sites[site] = true
		if err := dead.torn(); err != nil {
			found.torn++
			t.Errorf("killed at %s: %v", site, err)
		}
		os.RemoveAll(dying)
		dead.keep(dying)
		for _, way := range slices.Sorted(maps.Keys(c.goOn)) {
			found.ways++
			on := dead.back(dying)
			before := on.states()
			want := c.goOn[way](on, text)
			if err := on.settle(want); err != nil {
				if len(on.got) > want {
					found.doubled++
				} else {
					found.lost++
				}
				t.Errorf("killed at %s %d, %s (it was %s, printed %v), then %s: %v", p.call, p.n, site, before, text != "", way, err)
			}
		}
		if t.Failed() && found.lost+found.doubled+found.torn > 5 {
			t.Fatal("enough")
		}
	}
	t.Logf("points %d, hit %d, distinct call sites %d, ways on %d", found.points, found.hit, len(found.sites), found.ways)
	return found
}

// some takes n points, spread evenly.
func some[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	var few []T
	for i := range n {
		few = append(few, all[i*len(all)/n+len(all)/(2*n)])
	}
	return few
}

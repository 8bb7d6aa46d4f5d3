// Package runtimetest checks that a runtime adapter keeps the contract of
// package plugins. It is for authors of adapters, in Go or any other language:
// it runs the adapter's program the way reseat does, ours pass it as well, and
// `reseat plugin verify` asks the same questions.
//
// [Verify] only looks: it starts no client, types nothing and compacts nothing.
// [Run] adds what needs sessions made for the purpose.
package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/reseat-dev/reseat/plugins"
	"github.com/reseat-dev/reseat/plugins/host"
)

// Check is one promise of the contract and whether the adapter kept it.
type Check struct {
	Name    string // what is promised
	Err     error  // nil: kept
	Skipped string // why it wasn't checked, "" if it was
}

// Nobody is a session id that no client has: well formed for clients that use
// UUIDs, and made for this.
const Nobody = "00000000-0000-4000-8000-00000000dead"

// quick is what a question about the adapter itself may take.
const quick = 5 * time.Second

// asked is the adapter under test.
type asked struct {
	plugins.Runtime
	description plugins.Description
}

// Verify asks a running adapter everything that can be asked without touching a
// session.
func Verify(ctx context.Context, r plugins.Runtime) []Check {
	a := &asked{Runtime: r}
	checks := []struct {
		name string
		need plugins.Capability
		do   func(context.Context) error
	}{
		{"describe names a client, a version tried and what it can do", "", a.describes},
		{"describe says the same again", "", a.describesAgain},
		{"sessions are named once, with a known state", plugins.CanSessions, a.lists},
		{"usage answers for each session asked, in order", plugins.CanUsage, a.measures},
		{"an unknown session isn't compacted and isn't claimed to be", "", a.refusesToCompact},
		{"an unknown session gets no message", "", a.refusesToTalk},
		{"ids that are no ids are refused and lead nowhere", "", a.refusesOddIDs},
		{"launch keeps the person's arguments in order", plugins.CanLaunch, a.launches},
		{"calls in parallel all get their answers", "", a.worksInParallel},
		{"a call that is given up leaves the adapter at work", "", a.survivesCancel},
	}
	var out []Check
	for _, c := range checks {
		check := Check{Name: c.name}
		switch {
		case c.need != "" && !a.description.Can(c.need):
			check.Skipped = "the adapter doesn't announce " + string(c.need)
		default:
			check.Err = c.do(ctx)
		}
		out = append(out, check)
		if len(out) == 1 && check.Err != nil {
			return out // without a description nothing else can be judged
		}
	}
	return out
}

func (a *asked) describes(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	d, err := a.Describe(ctx)
	if err != nil {
		return err
	}
	a.description = d
	switch {
	case d.Client == "" || d.Title == "" || d.AdapterVersion == "":
		return fmt.Errorf("client %q, title %q and adapter version %q must all be there", d.Client, d.Title, d.AdapterVersion)
	case len(d.ClientVersions) == 0:
		return errors.New("no client version that it was tried with")
	case len(d.Capabilities) == 0:
		return errors.New("no capability")
	}
	seen := map[plugins.Capability]bool{}
	for _, c := range d.Capabilities {
		if seen[c] {
			return fmt.Errorf("capability %s twice", c)
		}
		seen[c] = true
	}
	if (seen[plugins.CanCompactLive] || seen[plugins.CanTurnLive]) && !seen[plugins.CanSessions] {
		return errors.New("it reaches live sessions and can't list them")
	}
	return nil
}

func (a *asked) describesAgain(ctx context.Context) error {
	d, err := a.Describe(ctx)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(d, a.description) {
		return fmt.Errorf("first %+v, then %+v", a.description, d)
	}
	return nil
}

// states and outcomes that the contract knows.
func states() []plugins.State {
	return []plugins.State{plugins.StateUnknown, plugins.StateIdle, plugins.StateBusy, plugins.StateWaiting, plugins.StateClosed}
}

func (a *asked) lists(ctx context.Context) error {
	all, err := a.Sessions(ctx)
	if err != nil {
		return err
	}
	type key struct {
		id  string
		pid int
	}
	seen := map[key]bool{}
	for _, s := range all.Sessions {
		k := key{s.ID, s.PID}
		switch {
		case s.ID == "":
			return errors.New("a session without an id")
		case seen[k]:
			return fmt.Errorf("session %s of process %d twice", s.ID, s.PID)
		case !slices.Contains(states(), s.State):
			return fmt.Errorf("session %s: state %q isn't one of the contract's", s.ID, s.State)
		case s.State == plugins.StateClosed:
			return fmt.Errorf("session %s is listed as live and said to be closed", s.ID)
		case s.Pane != nil && (s.Pane.ID == "" || s.Pane.Socket == ""):
			return fmt.Errorf("session %s: a pane without id or socket", s.ID)
		}
		seen[k] = true
	}
	return nil
}

func (a *asked) measures(ctx context.Context) error {
	refs := []plugins.SessionRef{{ID: Nobody}, {ID: "another-nobody"}, {ID: Nobody}}
	usages, err := a.Usage(ctx, refs)
	if err != nil {
		return err
	}
	if len(usages) != len(refs) {
		return fmt.Errorf("%d answers for %d sessions", len(usages), len(refs))
	}
	for i, u := range usages {
		switch {
		case u.Session != refs[i].ID:
			return fmt.Errorf("answer %d is for %q, not %q", i, u.Session, refs[i].ID)
		case u.Unknown == plugins.UsageKnown:
			return fmt.Errorf("the usage of a session that nobody has is said to be known: %+v", u)
		}
	}
	none, err := a.Usage(ctx, nil)
	if err != nil {
		return fmt.Errorf("asked for no session: %w", err)
	}
	if len(none) != 0 {
		return fmt.Errorf("%d answers for no session", len(none))
	}
	return nil
}

func (a *asked) refusesToCompact(ctx context.Context) error {
	return a.untouched(ctx, Nobody)
}

func (a *asked) refusesOddIDs(ctx context.Context) error {
	for _, id := range []string{"", ".", "../../etc/passwd", "-rf", "a\x00b", "$(touch x)", "*", string(make([]byte, 5000))} {
		if err := a.untouched(ctx, id); err != nil {
			return fmt.Errorf("id %q: %w", clip(id), err)
		}
	}
	return nil
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40]
	}
	return s
}

// untouched compacts a session that isn't there and checks that nothing is
// claimed.
func (a *asked) untouched(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 4*quick)
	defer cancel()
	r, err := a.Compact(ctx, plugins.CompactRequest{
		Session: plugins.SessionRef{ID: id}, Patience: plugins.Patience{Timeout: quick},
	}, func(plugins.Progress) {})
	if err != nil {
		return err
	}
	return nothingDone(r)
}

func (a *asked) refusesToTalk(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 4*quick)
	defer cancel()
	r, err := a.Turn(ctx, plugins.TurnRequest{
		Session: plugins.SessionRef{ID: Nobody}, Text: "hello", Patience: plugins.Patience{Timeout: quick},
	}, func(plugins.Progress) {})
	if err != nil {
		return err
	}
	return nothingDone(r)
}

func nothingDone(r plugins.Result) error {
	fine := []plugins.Outcome{plugins.NotFound, plugins.NoHistory, plugins.Unsupported}
	switch {
	case !slices.Contains(fine, r.Outcome):
		return fmt.Errorf("outcome %s (%s), want one of %v", r.Outcome, r.Detail, fine)
	case r.Sent:
		return errors.New("something was sent")
	case r.Boundary != nil || r.Evidence != plugins.EvidenceNone:
		return fmt.Errorf("it shows evidence: %+v", r)
	}
	return nil
}

func (a *asked) launches(ctx context.Context) error {
	args := []string{"--first", "second word", "it's", "--", "--last"}
	for _, off := range []bool{false, true} {
		l, err := a.Launch(ctx, plugins.LaunchRequest{Arguments: args, IdleCompactionOff: off})
		if err != nil {
			return err
		}
		if len(l.Command) == 0 || l.Command[0] == "" {
			return errors.New("no program")
		}
		rest := l.Command[1:]
		for _, arg := range args {
			i := slices.Index(rest, arg)
			if i < 0 {
				return fmt.Errorf("argument %q isn't in %q, or not in order", arg, l.Command)
			}
			rest = rest[i+1:]
		}
		if !off && l.IdleCompactionOff {
			return errors.New("it switches the client's own compaction off without being asked")
		}
	}
	return nil
}

func (a *asked) worksInParallel(ctx context.Context) error {
	const calls = 8
	errs := make([]error, calls)
	var wg sync.WaitGroup
	for i := range calls {
		wg.Go(func() {
			d, err := a.Describe(ctx)
			if err == nil && d.Client != a.description.Client {
				err = fmt.Errorf("client %q", d.Client)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (a *asked) survivesCancel(ctx context.Context) error {
	given, cancel := context.WithCancel(ctx)
	cancel()
	began := time.Now()
	_, _ = a.Compact(given, plugins.CompactRequest{Session: plugins.SessionRef{ID: Nobody}}, func(plugins.Progress) {})
	if took := time.Since(began); took > quick {
		return fmt.Errorf("it went on for %v", took)
	}
	_, err := a.Describe(ctx)
	return err
}

// TB is what Run needs of a *testing.T.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Subject is an adapter and the sessions that its author made for the test. The
// sessions are optional; each is touched.
type Subject struct {
	Program string             // of the adapter, named reseat-runtime-<client>
	Environ []string           // NAME=value: what the adapter and its client need
	Closed  plugins.SessionRef // has enough history to be compacted, and nobody has it open
	Live    plugins.SessionRef // the same, and a client has it open and is idle
}

// Run starts the adapter as reseat does and checks all that can be checked with
// the sessions given.
func Run(t TB, s Subject) {
	t.Helper()
	c := start(t, s)
	for _, check := range Verify(t.Context(), c) {
		switch {
		case check.Err != nil:
			t.Errorf("%s: %v", check.Name, check.Err)
		case check.Skipped != "":
			t.Logf("not checked: %s: %s", check.Name, check.Skipped)
		}
	}
	if s.Live.ID != "" {
		if err := compactsLive(t.Context(), c, s.Live); err != nil {
			t.Errorf("a live session: %v", err)
		}
	}
	if s.Closed.ID != "" {
		if err := compacts(t.Context(), c, s.Closed, plugins.CanCompactClosed, plugins.CanTurnClosed); err != nil {
			t.Errorf("a closed session: %v", err)
		}
	}
}

func compactsLive(ctx context.Context, r *host.Connection, ref plugins.SessionRef) error {
	all, err := r.Sessions(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all.Sessions, func(s plugins.Session) bool { return s.ID == ref.ID })
	if i < 0 {
		return fmt.Errorf("%s isn't among the live sessions", ref.ID)
	}
	if state := all.Sessions[i].State; state != plugins.StateIdle {
		return fmt.Errorf("%s is %s, want idle", ref.ID, state)
	}
	return compacts(ctx, r, ref, plugins.CanCompactLive, plugins.CanTurnLive)
}

// compacts measures a session, talks to it, checks it dry and compacts it.
func compacts(ctx context.Context, r *host.Connection, ref plugins.SessionRef, compact, turn plugins.Capability) error {
	d := r.Description()
	patience := plugins.Patience{WaitIdle: 10 * time.Second, Timeout: time.Minute}
	if d.Can(plugins.CanUsage) {
		usages, err := r.Usage(ctx, []plugins.SessionRef{ref})
		if err != nil {
			return err
		}
		if u := usages[0]; u.Unknown != plugins.UsageKnown || u.Tokens <= 0 || u.SampledAt.IsZero() || u.Source == "" {
			return fmt.Errorf("usage %+v", u)
		}
	}
	if d.Can(turn) {
		result, _ := r.Turn(ctx, plugins.TurnRequest{Session: ref, Text: "one more message", Patience: patience}, func(plugins.Progress) {})
		if result.Outcome != plugins.Answered {
			return fmt.Errorf("a message: %s (%s)", result.Outcome, result.Detail)
		}
	}
	if !d.Can(compact) {
		return nil
	}
	dry, _ := r.Compact(ctx, plugins.CompactRequest{Session: ref, Patience: patience, DryRun: true}, func(plugins.Progress) {})
	if dry.Outcome != "" || dry.Sent || dry.Boundary != nil {
		return fmt.Errorf("a dry run: %+v", dry)
	}
	sent := false
	result, _ := r.Compact(ctx, plugins.CompactRequest{Session: ref, Patience: patience}, func(p plugins.Progress) {
		sent = sent || p.Stage == plugins.StageSending
	})
	switch {
	case result.Outcome != plugins.Compacted:
		return fmt.Errorf("compaction: %s (%s)", result.Outcome, result.Detail)
	case !sent || !result.Sent:
		return errors.New("it compacted and didn't say that it would send something")
	case result.Mechanism == "" || result.Channel == "":
		return fmt.Errorf("mechanism %q, channel %q: both must be named", result.Mechanism, result.Channel)
	}
	return nil
}

package installer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
)

// lockTimeout is how long an install waits for another one to finish.
const lockTimeout = 20 * time.Second

// tries is how often an edit starts again because another program wrote the file
// in between.
const tries = 10

// What a plan does with a file.
const (
	ActionNone   = "none"
	ActionCreate = "create"
	ActionEdit   = "edit"
	ActionRemove = "remove"
)

// Change is what happens to one configuration file.
type Change struct {
	Client client.Client `json:"client"`
	Scope  Scope         `json:"scope"`
	Path   string        `json:"path"`
	// Target is the real file, where Path is or goes through a link.
	Target string `json:"target,omitempty"`
	Action string `json:"action"`
	// Diff is for a person, as diff -u writes it.
	Diff      string     `json:"diff,omitempty"`
	Approvals []Approval `json:"approvals,omitempty"`
	Notes     []string   `json:"notes,omitempty"`
	// Backup is the copy of the file as it was; empty if there was none, or
	// nothing was written.
	Backup string `json:"backup,omitempty"`
}

// Plan is what an install or uninstall does, or, after Apply, did.
type Plan struct {
	Uninstall bool       `json:"uninstall"`
	Changes   []Change   `json:"changes"`
	Refusals  []*Refusal `json:"refusals,omitempty"`
	// Next is what the person has to know or do afterwards, a sentence each.
	Next    []string `json:"next,omitempty"`
	options Options
}

// Changed tells whether anything is, or was, to be written.
func (p *Plan) Changed() bool {
	for _, c := range p.Changes {
		if c.Action != ActionNone {
			return true
		}
	}
	return false
}

// PlanInstall works out an install and writes nothing. A file that can't be
// edited is a Refusal in the plan; the other clients' are planned all the same.
// An error means that there is nothing to plan.
func PlanInstall(o Options) (*Plan, error) {
	if len(o.clients()) == 0 {
		return nil, errors.New("no client found: neither Claude Code nor Codex is here")
	}
	if err := o.checkStatusLine(); err != nil {
		return nil, err
	}
	if err := o.checkPrograms(); err != nil {
		return nil, err
	}
	p := &Plan{options: o}
	return p, p.run(planner{o})
}

// PlanUninstall works out an uninstall and writes nothing. Without a scope it
// covers the user's files and everything that receipts name.
func PlanUninstall(o Options) (*Plan, error) {
	p := &Plan{Uninstall: true, options: o}
	return p, p.run(planner{o})
}

// Apply carries a plan out: under a lock beside our state, each file is read and
// planned anew, a copy is kept, and the file is replaced in one step, provided
// it is still what was read; it is read back and judged by an independent parser.
// The plan that is returned says what was done. An error is joined from those of
// each client, a *Refusal where a file is odd; what was written is whole in any
// case.
func (p *Plan) Apply(ctx context.Context) (*Plan, error) {
	o := p.options
	if err := o.State.Open(); err != nil {
		return nil, err
	}
	if _, err := durable.MakeDirs(o.State.Backups(), 0o700); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, o.State.Join("install.lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	done := &Plan{Uninstall: p.Uninstall, options: o}
	err = done.run(writer{o})
	for _, r := range done.Refusals {
		err = errors.Join(err, r)
	}
	return done, err
}

func lock(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	l := flock.New(path, flock.SetPermissions(0o600))
	ok, err := l.TryLockContext(ctx, 20*time.Millisecond)
	if err == nil && !ok {
		err = errors.New("taken")
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for another install to finish (lock %q): %w", path, err)
	}
	return func() { _ = l.Unlock() }, nil
}

// A doer carries out or works out one step.
type doer interface {
	do(s *step) (Change, error)
}

// run takes every client's steps through d.
func (p *Plan) run(d doer) error {
	receipts, err := Receipts(p.options.State)
	if err != nil && !p.Uninstall {
		return err
	}
	clients := p.options.clients()
	if p.Uninstall {
		clients = clientsToLeave(p.options, receipts)
	}
	var errs []error
	for _, c := range clients {
		if err := p.runClient(d, c, receipts); err != nil {
			errs = append(errs, err)
		}
	}
	p.Next = p.next()
	return errors.Join(errs...)
}

// clientsToLeave are those to uninstall from: the ones asked for, else all that
// are here or that a receipt names.
func clientsToLeave(o Options, receipts []Receipt) []client.Client {
	if len(o.Clients) > 0 {
		return o.Clients
	}
	found := Found(o)
	for _, r := range receipts {
		if !contains(found, r.Client) {
			found = append(found, r.Client)
		}
	}
	return found
}

func (p *Plan) runClient(d doer, c client.Client, receipts []Receipt) error {
	o := p.options
	var steps []*step
	var err error
	if p.Uninstall {
		steps, err = o.uninstallSteps(c, receipts)
	} else if err = o.refuseSwitches(c); err == nil {
		steps, err = o.installSteps(c)
	}
	for _, s := range steps {
		if err != nil {
			break
		}
		var change Change
		if change, err = d.do(s); err == nil {
			p.Changes = append(p.Changes, change)
		}
	}
	if r := (*Refusal)(nil); errors.As(err, &r) {
		p.Refusals = append(p.Refusals, r)
		return nil
	}
	return err
}

// refuseSwitches refuses to install where hooks are switched off: the entries
// would never run, and the switch isn't ours.
func (o Options) refuseSwitches(c client.Client) error {
	switches, err := Switches(o, c)
	if err != nil {
		return err
	}
	for _, s := range switches {
		if o.scope() == User && !s.Managed && !o.usersOwn(c, s.Path) {
			continue // off in this one project: the user's choice there
		}
		return s.refusal(c)
	}
	return nil
}

func (o Options) usersOwn(c client.Client, path string) bool {
	files, err := o.files(c, User)
	return err == nil && files[0] == path
}

// planner works out steps without writing.
type planner struct{ o Options }

func (d planner) do(s *step) (Change, error) {
	f, r, err := d.o.read(s)
	if err != nil {
		return Change{}, err
	}
	out, err := s.edit(f, r)
	if err != nil {
		return Change{}, refused(err, s.client, s.path)
	}
	change := s.describe(f, out)
	if change.Action != ActionNone {
		err = d.o.judge(s, out, f.Data, out.data)
	}
	return change, err
}

// emptyWait is how long an empty file gets to become one with content: a program
// that writes in place empties the file first.
const emptyWait = 50 * time.Millisecond

func (o Options) read(s *step) (*durable.UserFile, *Receipt, error) {
	f, err := durable.ReadUserFile(s.path)
	if err == nil && f.Exists && len(f.Data) == 0 {
		time.Sleep(emptyWait)
		f, err = durable.ReadUserFile(s.path)
	}
	if err != nil {
		return nil, nil, refused(err, s.client, s.path)
	}
	r, err := loadReceipt(o.State, s.client, s.path)
	return f, r, err
}

// judge asks the independent parser about a result.
func (o Options) judge(s *step, out outcome, before, after []byte) error {
	if out.verify == nil {
		return nil
	}
	if err := out.verify(before, after); err != nil {
		return &Refusal{
			Client: s.client, Path: s.path, Reason: "the edit would change more than it should: " + err.Error(),
			Hint: "nothing was written; please report this with the file's shape, and add the entries by hand (reseat install --dry-run shows them)",
		}
	}
	return nil
}

// describe tells what an outcome does to the file.
func (s *step) describe(f *durable.UserFile, out outcome) Change {
	change := Change{Client: s.client, Scope: s.scope, Path: s.path, Approvals: out.approvals, Notes: out.notes, Action: ActionEdit}
	if f.Target != filepath.Clean(s.path) {
		change.Target = f.Target
	}
	switch {
	case bytes.Equal(f.Data, out.data) && !out.remove, out.remove && !f.Exists:
		change.Action = ActionNone
	case out.remove:
		change.Action = ActionRemove
	case !f.Exists:
		change.Action = ActionCreate
	}
	if change.Action != ActionNone {
		change.Diff = unified(s.path, f.Data, out.data, f.Exists, !out.remove)
	}
	return change
}

// writer carries steps out.
type writer struct{ o Options }

func (d writer) do(s *step) (Change, error) {
	var written *Change
	for range tries {
		change, err := d.once(s)
		switch {
		case errors.Is(err, durable.ErrChanged):
			if change.Action != "" {
				written = &change // and somebody wrote right after it
			}
		case err == nil && change.Action == ActionNone && written != nil:
			return *written, nil
		default:
			return change, err
		}
	}
	return Change{}, &Refusal{Client: s.client, Path: s.path, Reason: "another program keeps writing this file", Hint: "close the client and run this again"}
}

// once reads, plans, judges, keeps a copy and a receipt, writes, and reads back.
// The receipt comes before the write, so that a crash in between leaves an
// uninstall that knows.
func (d writer) once(s *step) (Change, error) {
	f, r, err := d.o.read(s)
	if err != nil {
		return Change{}, err
	}
	out, err := s.edit(f, r)
	if err != nil {
		return Change{}, refused(err, s.client, s.path)
	}
	change := s.describe(f, out)
	if change.Action == ActionNone {
		return change, d.forget(out, r)
	}
	before := f.Data // a Replace changes f
	if err := d.o.judge(s, out, before, out.data); err != nil {
		return Change{}, err
	}
	if f.Exists {
		if change.Backup, err = backup(d.o.State, s.path, f.Data, time.Now()); err != nil {
			return Change{}, err
		}
	}
	if err := d.write(s, f, r, out, change.Backup); err != nil {
		return Change{}, refused(err, s.client, s.path)
	}
	if err := d.readBack(s, out, before); err != nil {
		return change, err
	}
	return change, d.forget(out, r)
}

// write puts the outcome in the place of the file, with its receipt.
func (d writer) write(s *step, f *durable.UserFile, r *Receipt, out outcome, copied string) error {
	if out.remove {
		return f.Remove()
	}
	if s.uninstalls {
		return d.writeWithout(f, r, out)
	}
	next := d.o.receipt(s, f, r, out, copied)
	dirs, err := durable.MakeDirs(filepath.Dir(f.Target), s.dirMode())
	next.Dirs = append(next.Dirs, dirs...)
	if err == nil {
		err = next.save(d.o.State)
	}
	if err == nil {
		err = f.Replace(out.data, s.fileMode())
	}
	if err == nil {
		return pruneBackups(d.o.State, s.path, next.Before)
	}
	removeDirs(dirs)
	if r != nil {
		return errors.Join(err, r.save(d.o.State))
	}
	return errors.Join(err, next.remove(d.o.State))
}

// writeWithout puts the outcome of an uninstall in the place of the file. While
// something else of ours stays in it, its receipt stays true.
func (d writer) writeWithout(f *durable.UserFile, r *Receipt, out outcome) error {
	same := r != nil && sumOf(f.Data) == r.AfterSum
	if err := f.Replace(out.data, 0o600); err != nil || out.released || !same {
		return err
	}
	r.AfterSum = sumOf(out.data)
	return r.save(d.o.State)
}

// A user's own configuration is nobody else's business; a project's is read by
// all who work on it.
func (s *step) fileMode() fs.FileMode {
	if s.scope == Project {
		return 0o644
	}
	return 0o600
}

func (s *step) dirMode() fs.FileMode {
	if s.scope == Project || s.scope == Local {
		return 0o755
	}
	return 0o700
}

// receipt is what is noted for an uninstall. As long as nobody else wrote the
// file since the first install, the copy from before it stays the one to give
// back; if the file holds nothing of ours now, this install is a first one.
func (o Options) receipt(s *step, f *durable.UserFile, r *Receipt, out outcome, copied string) *Receipt {
	next := &Receipt{
		Client: s.client, Scope: s.scope, Path: s.path, Installed: time.Now().UTC().Truncate(time.Second),
		Existed: f.Exists, Before: copied, BeforeSum: sumOf(f.Data), AfterSum: sumOf(out.data), Undo: out.undo,
	}
	if r == nil {
		return next
	}
	next.Dirs = r.Dirs
	w, err := o.wanted(s.client, s.scope)
	if err == nil && !o.holdsOurs(s.path, f.Data, w, r) {
		return next
	}
	next.Existed, next.Undo = r.Existed, r.Undo.and(out.undo)
	next.Before, next.BeforeSum = "", ""
	if sumOf(f.Data) == r.AfterSum {
		next.Before, next.BeforeSum = r.Before, r.BeforeSum
	}
	return next
}

// readBack compares what is on disk with what was meant, and has it judged.
func (d writer) readBack(s *step, out outcome, before []byte) error {
	f, err := durable.ReadUserFile(s.path)
	if err != nil {
		return refused(err, s.client, s.path)
	}
	if f.Exists == out.remove || !bytes.Equal(f.Data, out.data) {
		return fmt.Errorf("%q after it was written: %w", s.path, durable.ErrChanged)
	}
	return d.o.judge(s, out, before, f.Data)
}

// forget removes what is kept for the uninstall of a file once nothing of ours
// is in it. Folders that can't go yet because another file of ours is in them are
// handed on to its receipt.
func (d writer) forget(out outcome, r *Receipt) error {
	if !out.released || r == nil {
		return nil
	}
	left := removeDirs(r.Dirs)
	if err := pruneBackups(d.o.State, r.Path, ""); err != nil {
		return err
	}
	if err := r.remove(d.o.State); err != nil || len(left) == 0 {
		return err
	}
	others, err := Receipts(d.o.State)
	for _, other := range others {
		if _, ok := below(left[len(left)-1], other.Path); ok {
			other.Dirs = append(slices.Clone(left), other.Dirs...)
			return errors.Join(err, other.save(d.o.State))
		}
	}
	return err
}

// removeDirs removes folders that were made for a file, innermost first, as far
// as they are empty, and returns those that are left.
func removeDirs(dirs []string) (left []string) {
	for i := len(dirs) - 1; i >= 0; i-- {
		if err := os.Remove(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return dirs[:i+1] // somebody's files are in it
		}
	}
	return nil
}

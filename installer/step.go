package installer

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
)

// step is the edit of one configuration file, as a function of what is there.
// Steps of one plan run in order, so that a later one can build on an earlier.
type step struct {
	client client.Client
	scope  Scope
	path   string
	// uninstalls: no receipt is written, and the file's goes once it is released.
	uninstalls bool
	edit       func(f *durable.UserFile, r *Receipt) (outcome, error)
}

// outcome is what a step makes of a file.
type outcome struct {
	data      []byte
	remove    bool // the file goes: it wasn't there before
	released  bool // nothing of ours is in the file any more
	undo      Undo
	approvals []Approval
	notes     []string
	// verify judges the file with the independent parser. It is asked before
	// anything is written, and again with what was read back.
	verify func(before, after []byte) error
}

// installSteps are the edits that install into one client.
func (o Options) installSteps(c client.Client) ([]*step, error) {
	files, err := o.files(c, o.scope())
	if err != nil {
		return nil, err
	}
	w, err := o.wanted(c, o.scope())
	if err != nil {
		return nil, err
	}
	if c == client.Claude {
		return []*step{o.installClaude(files[0], w)}, nil
	}
	return o.installCodex(files[0], files[1], w)
}

func (o Options) installClaude(path string, w Wanted) *step {
	return &step{client: w.Client, scope: o.scope(), path: path, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		if r != nil {
			w.OldRule, w.OldStatusLine = r.Undo.Rule, r.Undo.StatusLine
		}
		edit, err := InstallJSON(f.Data, w)
		return outcome{data: edit.Data, undo: edit.Undo, verify: func(before, after []byte) error {
			return verifyJSON(before, after, w, true)
		}}, err
	}}
}

// installCodex chooses the file that holds Codex's hooks already: one
// representation, since Codex warns of two.
func (o Options) installCodex(config, hooksFile string, w Wanted) ([]*step, error) {
	w.File = keyFile(config)
	inTOML, err := inspectTOML(config, w)
	if err != nil {
		return nil, err
	}
	beside := w
	beside.File = keyFile(hooksFile)
	inJSON, err := inspectJSON(hooksFile, beside)
	if err != nil {
		return nil, err
	}
	userFiles, err := o.files(client.Codex, User)
	if err != nil {
		return nil, err
	}
	joint := approvals{}
	useJSON := inJSON.own || inJSON.hooks && !inTOML.own && !inTOML.hooks
	var steps []*step
	if useJSON {
		steps = append(steps, o.installHooksJSON(hooksFile, beside, joint))
		if inTOML.own {
			steps = append(steps, o.uninstallTOML(config, w, joint))
		}
		if !inTOML.own || config != userFiles[0] {
			steps = append(steps, o.editApprovals(userFiles[0], joint))
		}
		return steps, nil
	}
	if inJSON.own {
		steps = append(steps, o.uninstallHooksJSON(hooksFile, beside, joint))
	}
	steps = append(steps, o.installTOML(config, w, config == userFiles[0], joint))
	if config != userFiles[0] {
		steps = append(steps, o.editApprovals(userFiles[0], joint))
	}
	return steps, nil
}

// approvals is what the steps of one plan pass on to the one that edits the
// user's config.toml: keys that go or move, and keys to approve, by the file that
// holds the hooks. A step that starts again replaces what it said before.
type approvals map[string]approvalEdit

type approvalEdit struct {
	moves map[string]Move
	add   []Approval
}

func (a approvals) take(path string, moves map[string]Move, add []Approval) {
	a[path] = approvalEdit{moves, add}
}

// all is everything that is to be done to the approvals.
func (a approvals) all() approvalEdit { return a.except("") }

// except leaves out the moves within one file, which an edit of that file has
// made already.
func (a approvals) except(done string) approvalEdit {
	sum := approvalEdit{moves: map[string]Move{}}
	for _, path := range slices.Sorted(maps.Keys(a)) {
		sum.add = append(sum.add, a[path].add...)
		if path == done {
			continue
		}
		maps.Copy(sum.moves, a[path].moves)
	}
	return sum
}

// found is what a Codex configuration holds.
type found struct{ hooks, own bool }

func inspectTOML(path string, w Wanted) (found, error) {
	f, err := durable.ReadUserFile(path)
	if err != nil || !f.Exists {
		return found{}, refused(err, w.Client, path)
	}
	_, body := cutBOM(f.Data)
	t, err := readConfig(body)
	if err != nil {
		return found{}, refused(err, w.Client, path)
	}
	result := found{hooks: len(t.handlers) > 0 || len(t.fixed) > 0}
	for _, e := range Entries() {
		result.own = result.own || len(t.own(e.Event, w)) > 0
	}
	return result, nil
}

func inspectJSON(path string, w Wanted) (found, error) {
	f, err := durable.ReadUserFile(path)
	if err != nil || !f.Exists {
		return found{}, refused(err, w.Client, path)
	}
	_, body := cutBOM(f.Data)
	if isBlank(body) {
		return found{}, nil
	}
	e, err := editJSON(body, w)
	if err != nil {
		return found{}, refused(err, w.Client, path)
	}
	own, err := e.hasOwn()
	return found{hooks: true, own: own}, refused(err, w.Client, path)
}

func (o Options) installTOML(path string, w Wanted, users bool, joint approvals) *step {
	return &step{client: w.Client, scope: o.scope(), path: path, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		edit, err := InstallTOML(f.Data, w)
		if err != nil {
			return outcome{}, err
		}
		add, err := o.toApprove(edit.Data, w, false)
		if err != nil {
			return outcome{}, err
		}
		moves := edit.Moves
		joint.take(path, moves, add)
		if !users {
			return outcome{data: edit.Data, undo: edit.Undo, approvals: add, verify: func(before, after []byte) error {
				return verifyTOML(before, after, w, true, moves, nil)
			}}, nil
		}
		todo := joint.all()
		data, undo, err := joint.except(path).rewrite(edit.Data, nil)
		return outcome{data: data, undo: edit.Undo.and(undo), approvals: add, verify: func(before, after []byte) error {
			return verifyTOML(before, after, w, true, todo.moves, todo.add)
		}}, err
	}}
}

// rewrite does in a config.toml what is to be done to the approvals.
func (a approvalEdit) rewrite(src []byte, undo *Undo) ([]byte, Undo, error) {
	moved, err := MoveApprovals(src, a.moves, undo)
	if err != nil || len(a.add) == 0 {
		return moved.Data, Undo{}, err
	}
	approved, err := Approve(moved.Data, a.add)
	return approved.Data, approved.Undo, err
}

func (o Options) installHooksJSON(path string, w Wanted, joint approvals) *step {
	return &step{client: w.Client, scope: o.scope(), path: path, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		edit, err := InstallJSON(f.Data, w)
		if err != nil {
			return outcome{}, err
		}
		add, err := o.toApprove(edit.Data, w, true)
		joint.take(path, edit.Moves, add)
		return outcome{data: edit.Data, undo: edit.Undo, approvals: add, verify: func(before, after []byte) error {
			return verifyJSON(before, after, w, true)
		}}, err
	}}
}

// editApprovals is the step for the user's config.toml when the hooks stand in
// another file.
func (o Options) editApprovals(path string, joint approvals) *step {
	return &step{client: client.Codex, scope: User, path: path, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		todo := joint.all()
		if len(todo.add) == 0 && len(todo.moves) == 0 {
			return outcome{data: f.Data}, nil
		}
		data, undo, err := todo.rewrite(f.Data, nil)
		return outcome{data: data, undo: undo, verify: func(before, after []byte) error {
			nothing := Wanted{Client: "none", Getenv: o.lookup}
			return verifyTOML(before, after, nothing, false, todo.moves, todo.add)
		}}, err
	}}
}

// uninstallSteps are the edits that take our entries out of one client: from the
// files of the scope, and from all that receipts name.
func (o Options) uninstallSteps(c client.Client, receipts []Receipt) ([]*step, error) {
	files, err := o.files(c, o.scope())
	if err != nil {
		return nil, err
	}
	for _, r := range receipts {
		if r.Client == c && (o.Scope == "" || r.Scope == o.Scope) && !slices.Contains(files, r.Path) {
			files = append(files, r.Path)
		}
	}
	w, err := o.wanted(c, o.scope())
	if err != nil {
		return nil, err
	}
	var steps []*step
	if c == client.Claude {
		for _, path := range files {
			steps = append(steps, o.uninstallClaude(path, w))
		}
		return steps, nil
	}
	return o.uninstallCodex(files, w)
}

// uninstallCodex takes our entries out of each folder's hooks.json and
// config.toml, and the approvals for both out of the user's config.toml, last.
func (o Options) uninstallCodex(files []string, w Wanted) ([]*step, error) {
	users, err := o.files(client.Codex, User)
	if err != nil {
		return nil, err
	}
	joint := approvals{}
	var steps, last []*step
	for _, path := range files {
		w := w
		w.File = keyFile(path)
		switch {
		case filepath.Base(path) == "hooks.json":
			steps = append(steps, o.uninstallHooksJSON(path, w, joint))
		case path == users[0]:
			last = append(last, o.uninstallTOML(path, w, joint))
		default:
			steps = append(steps, o.uninstallTOML(path, w, joint))
		}
	}
	if len(last) == 0 {
		last = append(last, o.withdrawApprovals(users[0], w, joint))
	}
	return append(steps, last...), nil
}

func (o Options) uninstallClaude(path string, w Wanted) *step {
	return &step{client: w.Client, scope: o.scope(), path: path, uninstalls: true, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		return o.uninstallJSON(f, r, w, approvals{})
	}}
}

func (o Options) uninstallHooksJSON(path string, w Wanted, joint approvals) *step {
	return &step{client: w.Client, scope: o.scope(), path: path, uninstalls: true, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		return o.uninstallJSON(f, r, w, joint)
	}}
}

func (o Options) uninstallJSON(f *durable.UserFile, r *Receipt, w Wanted, joint approvals) (outcome, error) {
	var undo *Undo
	if r != nil {
		undo = &r.Undo
		w.OldRule = undo.Rule
	}
	edit, err := UninstallJSON(f.Data, w, undo)
	if err != nil {
		return outcome{}, err
	}
	joint.take(f.Path, edit.Moves, nil)
	out := outcome{data: edit.Data, verify: func(before, after []byte) error { return verifyJSON(before, after, w, false) }}
	return o.giveBack(out, f, r, isBlankJSON), nil
}

func (o Options) uninstallTOML(path string, w Wanted, joint approvals) *step {
	return &step{client: w.Client, scope: o.scope(), path: path, uninstalls: true, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		var undo *Undo
		if r != nil {
			undo = &r.Undo
		}
		edit, err := UninstallTOML(f.Data, w, undo)
		if err != nil {
			return outcome{}, err
		}
		joint.take(path, edit.Moves, nil)
		todo := joint.all()
		data, _, err := joint.except(path).rewrite(edit.Data, undo)
		out := outcome{data: data, verify: func(before, after []byte) error {
			return verifyTOML(before, after, w, false, todo.moves, nil)
		}}
		return o.giveBack(out, f, r, isBlankTOML), err
	}}
}

// withdrawApprovals is the step for the user's config.toml when hooks are taken
// out of other files only.
func (o Options) withdrawApprovals(path string, w Wanted, joint approvals) *step {
	w.File = keyFile(path)
	return &step{client: w.Client, scope: User, path: path, uninstalls: true, edit: func(f *durable.UserFile, r *Receipt) (outcome, error) {
		var undo *Undo
		if r != nil {
			undo = &r.Undo
		}
		todo := joint.all()
		data, _, err := todo.rewrite(f.Data, undo)
		out := outcome{data: data, verify: func(before, after []byte) error {
			nothing := Wanted{Client: "none", Getenv: o.lookup}
			return verifyTOML(before, after, nothing, false, todo.moves, nil)
		}}
		if err != nil || o.holdsOurs(path, data, w, r) {
			return out, err
		}
		return o.giveBack(out, f, r, isBlankTOML), nil
	}}
}

// holdsOurs tells whether a file holds an entry or an approval of ours.
func (o Options) holdsOurs(path string, data []byte, w Wanted, r *Receipt) bool {
	uninstall := UninstallJSON
	if filepath.Ext(path) == ".toml" {
		uninstall = UninstallTOML
	}
	var undo *Undo
	if r != nil {
		undo = &Undo{Keys: r.Undo.Keys}
	}
	w.File = keyFile(path)
	edit, err := uninstall(data, w, undo)
	return err != nil || !bytes.Equal(edit.Data, data)
}

// giveBack restores the very bytes from before, if nobody else wrote the file
// since; a file that wasn't there goes, also if nothing is left in it but what
// an install put around its entries.
func (o Options) giveBack(out outcome, f *durable.UserFile, r *Receipt, nothingIn func([]byte) bool) outcome {
	out.released = true
	if !f.Exists {
		out.data = nil
		return out
	}
	if data, existed, ok := r.original(o.State, f.Data); ok {
		out.data, out.remove = data, !existed
	} else if r != nil && !r.Existed && nothingIn(out.data) {
		out.data, out.remove = nil, true
	}
	return out
}

// isBlankJSON tells whether a text holds no value but an empty object.
func isBlankJSON(data []byte) bool {
	root, err := readTree(data)
	return err == nil && root.kind == '{' && len(root.kids) == 0
}

func isBlankTOML(data []byte) bool {
	_, body := cutBOM(data)
	return isBlank(body)
}

// refused gives an error of an edit its client and path; other refusals are
// turned into the same type.
func refused(err error, c client.Client, path string) error {
	switch r := err.(type) {
	case nil:
		return nil
	case *Refusal:
		if r.Path == "" {
			r.Client, r.Path = c, path
		}
		return r
	case *durable.RefusedError:
		return &Refusal{Client: c, Path: r.Path, Reason: r.Reason, Hint: r.Hint}
	}
	return fmt.Errorf("%s: %w", c.Title(), err)
}

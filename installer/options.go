package installer

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

// Options says what to install or uninstall, and where.
type Options struct {
	// Clients are those to configure; none: those Found.
	Clients []client.Client
	// Scope is User if empty.
	Scope Scope
	// Home is the user's home folder, absolute.
	Home string
	// State is the state folder; receipts, backups and the lock are kept in it.
	State state.Home
	// Programs is the folder of the hook programs, absolute. A project's file
	// names them without folder, since it is committed.
	Programs string
	// Project is the folder of the project, for the scopes Project and Local, and
	// what a relative CLAUDE_CONFIG_DIR or CODEX_HOME is relative to.
	Project string
	// Getenv looks up the environment.
	Getenv func(string) string
	// NoAllowRead leaves out the read permission for our packets.
	NoAllowRead bool
	// StatusLine puts our status line before the user's own, in Claude Code;
	// NoStatusLine takes it out again. Without either it stays as it is.
	StatusLine, NoStatusLine bool
	// TrustHooks writes Codex's approval for our hooks.
	TrustHooks bool
	// Codex is a codex program to check keys and hashes with before they are
	// written; empty: one found in PATH, if any.
	Codex string
	// Root is put before the paths of configurations that an administrator keeps
	// (/etc/codex, /etc/claude-code); empty outside tests.
	Root string
}

func (o Options) scope() Scope {
	if o.Scope == "" {
		return User
	}
	return o.Scope
}

// clients are those to configure.
func (o Options) clients() []client.Client {
	if len(o.Clients) > 0 {
		return o.Clients
	}
	return Found(o)
}

// Found lists the clients that are on this machine: their configuration folder
// exists, or their program is in PATH.
func Found(o Options) []client.Client {
	var found []client.Client
	for _, c := range client.All() {
		info, err := os.Stat(c.ConfigDir(o.Getenv, o.Home, o.Project))
		if err == nil && info.IsDir() || inPath(string(c), o.Getenv) != "" {
			found = append(found, c)
		}
	}
	return found
}

// inPath finds a program in the PATH of getenv; empty if it isn't there. A
// relative element of PATH doesn't count.
func inPath(name string, getenv func(string) string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	for _, dir := range filepath.SplitList(getenv("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && runnable(path) == nil {
			return path
		}
	}
	return ""
}

// runnable tells why a program can't be run.
func runnable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%q is not a file", path)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		return fmt.Errorf("%q is not executable", path)
	}
	return nil
}

// codex finds a codex program to check approvals with; empty if there is none.
func (o Options) codex() string {
	if o.Codex != "" {
		if path, err := exec.LookPath(o.Codex); err == nil {
			return path
		}
		return o.Codex
	}
	return inPath("codex", o.Getenv)
}

// files are the configuration files of a client in a scope, the usual one first.
func (o Options) files(c client.Client, scope Scope) ([]string, error) {
	dir := c.ConfigDir(o.Getenv, o.Home, o.Project)
	if scope != User {
		if o.Project == "" {
			return nil, fmt.Errorf("no project folder for --scope %s", scope)
		}
		dir = filepath.Join(o.Project, "."+string(c))
	}
	switch {
	case c == client.Codex && scope == Local:
		return nil, fmt.Errorf("%s knows no scope local: use user or project", c.Title())
	case c == client.Codex:
		return []string{filepath.Join(dir, "config.toml"), filepath.Join(dir, "hooks.json")}, nil
	case scope == Local:
		return []string{filepath.Join(dir, "settings.local.json")}, nil
	}
	return []string{filepath.Join(dir, "settings.json")}, nil
}

// wanted is what client c shall have in a file of a scope.
func (o Options) wanted(c client.Client, scope Scope) (Wanted, error) {
	w := Wanted{Client: c, Getenv: o.lookup}
	p := Programs{Home: o.Home, Dir: o.Programs, State: string(o.State), Windows: runtime.GOOS == "windows"}
	if scope == Project {
		p.Dir = ""
		if _, ok := below(o.Home, p.State); !ok {
			p.State = "" // a path of this machine has no place in a committed file
		}
	}
	for _, e := range Entries() {
		command, err := p.Command(c, e)
		if err != nil {
			return Wanted{}, err
		}
		w.Hooks = append(w.Hooks, WantedHook{e, command})
	}
	if c == client.Claude && !o.NoAllowRead {
		w.Rule = ReadRule(o.Home, string(o.State))
		if scope == Project && p.State == "" {
			w.Rule = ""
		}
	}
	if c == client.Claude {
		w.NoStatusLine = o.NoStatusLine
		if o.StatusLine {
			line, err := p.StatusLine()
			w.StatusLine = line
			return w, err
		}
	}
	return w, nil
}

// lookup is Getenv with the home that was given.
func (o Options) lookup(name string) string {
	if name == "HOME" {
		return o.Home
	}
	return o.Getenv(name)
}

// ReadRule is Claude Code's permission to read our packets below the state
// folder, in its spelling: from the home with ~, elsewhere with a second slash.
func ReadRule(home, stateDir string) string {
	if rest, ok := below(home, stateDir); ok {
		return "Read(~/" + filepath.ToSlash(rest) + "/s/**)"
	}
	return "Read(/" + slashed(stateDir) + "/s/**)"
}

// slashed writes a path with forward slashes and one in front: C:\x is /c/x, as
// Claude Code spells it on Windows.
func slashed(path string) string {
	path = filepath.ToSlash(path)
	if len(path) > 1 && path[1] == ':' {
		path = "/" + strings.ToLower(path[:1]) + path[2:]
	}
	return path
}

// checkStatusLine refuses a status line where there can't be one of ours.
func (o Options) checkStatusLine() error {
	switch {
	case !o.StatusLine:
		return nil
	case o.NoStatusLine:
		return errors.New("a status line can't be put in and taken out at once")
	case runtime.GOOS == "windows":
		return errors.New("the status line needs /bin/sh, which Windows hasn't got")
	case o.scope() == Project:
		return errors.New("the status line names programs of this machine, which have no place in a committed file: use scope user or local")
	case !contains(o.clients(), client.Claude):
		return errors.New("only Claude Code has a status line to chain")
	}
	return nil
}

// checkPrograms refuses to install commands that can't run.
func (o Options) checkPrograms() error {
	if o.scope() == Project {
		return nil
	}
	programs := []string{Precompact, Directive}
	if o.StatusLine {
		programs = append(programs, Operator)
	}
	for _, program := range programs {
		if runtime.GOOS == "windows" {
			program += ".exe"
		}
		if err := runnable(filepath.Join(o.Programs, program)); err != nil {
			return fmt.Errorf("the program can't run: %w", err)
		}
	}
	return nil
}

// keyFile is the path under which Codex knows a configuration file: its folder
// without links, the file's name as it is (seen on 0.171).
func keyFile(path string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

func contains(list []client.Client, c client.Client) bool { return slices.Contains(list, c) }

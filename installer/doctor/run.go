package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/installer/roundtrip"
	"github.com/reseat-dev/reseat/internal/client"
)

// shell is the one that the client runs hooks with: /bin/sh, in Codex's case the
// user's own where it is one of the usual (seen: bash -c, not a login shell).
func (p *patient) shell() string {
	if p.c == client.Codex {
		own := p.Install.Getenv("SHELL")
		if filepath.IsAbs(own) && slices.Contains([]string{"sh", "bash", "zsh", "dash", "ksh"}, filepath.Base(own)) && exists(own) {
			return own
		}
		if exists("/bin/bash") {
			return "/bin/bash"
		}
	}
	return "/bin/sh"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// commands reports entries whose command string can't work: the shell doesn't
// read it, or its program isn't there or can't run.
func (p *patient) commands() {
	told := map[string]bool{} // one finding a command, not one an event
	for _, want := range installer.Entries() {
		for _, entry := range p.entries[want.Event] {
			if told[entry.Command] {
				continue
			}
			told[entry.Command] = true
			p.command(entry)
		}
	}
}

func (p *patient) command(entry entry) {
	if !p.readable(entry) {
		return
	}
	seen := []string{entry.where() + ": " + entry.Command}
	install := "run: reseat install --client " + string(p.c)
	use, ok := installer.ReadUse(entry.Command, p.lookup)
	if !ok {
		return
	}
	path := use.Path
	if !strings.ContainsRune(path, '/') {
		if path = p.inPath(use.Program); path == "" {
			p.add(Finding{ID: "program", Colour: Red, Stops: true, Says: "the hook program isn't in PATH", Evidence: append(seen, "PATH="+p.Install.Getenv("PATH")), Remedy: "put reseat's programs into PATH, or run: reseat install --scope user"})
			return
		}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		p.add(Finding{ID: "program", Colour: Red, Stops: true, Says: "the hook program isn't there", Evidence: append(seen, err.Error()), Remedy: install})
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		p.add(Finding{ID: "program", Colour: Red, Stops: true, Says: "the hook program can't be run", Evidence: append(seen, fmt.Sprintf("%s: mode %v", path, info.Mode())), Remedy: "chmod +x " + path + ", or " + install})
	}
}

// readable reports a command that the shell can't read: an error of the shell's
// has the exit code with which a hook blocks prompts and compactions.
func (p *patient) readable(entry entry) bool {
	ctx, cancel := context.WithTimeout(p.ctx, askTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, p.shell(), "-n", "-c", entry.Command).CombinedOutput()
	if err == nil || entry.Args {
		return true
	}
	p.add(Finding{
		ID: "shell", Colour: Red, Stops: true, Says: "the shell can't read the command; that blocks prompts and compactions",
		Evidence: []string{entry.where() + ": " + entry.Command, firstLine(out)}, Remedy: "remove it, and run: reseat install --client " + string(p.c),
	})
	return false
}

func firstLine(out []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line
}

func (p *patient) lookup(name string) string {
	if name == "HOME" {
		return p.Install.Home
	}
	return p.Install.Getenv(name)
}

func (p *patient) inPath(name string) string {
	for _, dir := range filepath.SplitList(p.Install.Getenv("PATH")) {
		if path := filepath.Join(dir, name); exists(path) {
			return path
		}
	}
	return ""
}

// run takes a made-up session through the very command strings of the
// configuration, with the client's shell and a state folder of its own.
func (p *patient) run() {
	if p.SkipRun {
		return
	}
	commands := map[string]string{}
	for _, want := range installer.Entries() {
		if list := p.entries[want.Event]; len(list) > 0 {
			commands[want.Event] = list[0].Command
		}
	}
	if len(commands) < len(installer.Entries()) || p.stopped("shell", "program") {
		return // told already
	}
	ctx, cancel := context.WithTimeout(p.ctx, time.Minute)
	defer cancel()
	result, err := roundtrip.RunWith(ctx, p.c, func(ctx context.Context, event, state string) (*exec.Cmd, error) {
		return p.hook(ctx, commands[event], state)
	})
	var seen []string
	for _, s := range result.Steps {
		seen = append(seen, fmt.Sprintf("%s: %d ms", s.Event, s.Took.Milliseconds()))
	}
	if err != nil {
		p.add(Finding{ID: "run", Colour: Red, Stops: true, Says: "the hooks don't bring a made-up session's directive", Evidence: append(seen, err.Error()), Remedy: "install the programs anew (make install); if it stays, please report it"})
		return
	}
	f := Finding{ID: "run", Colour: Green, Says: "the hooks, run as the client would, bring a made-up session's directive once", Evidence: seen}
	for _, s := range result.Steps {
		if limit := time.Duration(wanted(s.Event).Timeout) * time.Second; s.Took > limit/2 {
			f.Colour, f.Says = Yellow, "the hooks work, but take more than half of their time-out"
			f.Remedy = "look at the load of the machine and the disk of the state folder"
		}
	}
	p.add(f)
}

// stopped tells whether a finding with one of these ids stands for this client.
func (p *patient) stopped(ids ...string) bool {
	return slices.ContainsFunc(p.report.Findings, func(f Finding) bool {
		return f.Client == p.c && f.Stops && slices.Contains(ids, f.ID)
	})
}

// hook is a command string as the client would run it, on another state folder.
func (p *patient) hook(ctx context.Context, command, state string) (*exec.Cmd, error) {
	moved, ok := installer.WithState(command, state, p.lookup)
	if !ok {
		return nil, errors.New("the command can't be run on another state folder: " + command)
	}
	cmd := exec.CommandContext(ctx, p.shell(), "-c", moved)
	cmd.WaitDelay = time.Second
	cmd.Env = []string{"HOME=" + p.Install.Home, "PATH=" + p.Install.Getenv("PATH")}
	for _, name := range []string{"LANG", "TMPDIR", "XDG_CONFIG_HOME", "RESEAT_DISABLE"} {
		if v := p.Install.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd, nil
}

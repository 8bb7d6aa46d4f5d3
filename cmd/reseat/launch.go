package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge/compact"
	"github.com/reseat-dev/reseat/bridge/seat"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/plugins/host"
)

func launchCommand() command {
	return command{
		name: "launch", args: "SEAT [-- the client's own arguments]", short: "start a seat's client here or in tmux, and bind the new session to the seat",
		long: `The client runs in the foreground, or in a new tmux session. It gets the seat's
name and a nonce that the new session uses up once, by which it is bound to the
seat. While the configured policy is on, Claude Code's own compaction of idle
sessions is switched off on its command line; running seats keep what they were
started with.`,
		example: "reseat launch dev-impl@my-rig --runtime claude --tmux dev-impl -- --model opus\nreseat launch dev-impl@my-rig --print",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			runtime := f.String("runtime", "", "the client: claude, codex, ... (default: the seat's last one)")
			session := f.String("tmux", "", "start it in a new tmux session of this name")
			show := f.Bool("print", false, "print the line for a shell and start nothing")
			return func(ctx context.Context, c *call) int {
				if len(c.args) == 0 {
					return c.usage("launch needs a SEAT")
				}
				return c.launch(ctx, c.args[0], *runtime, *session, *show, c.args[1:])
			}
		},
	}
}

// toLaunch is a seat's line, ready to be started.
type toLaunch struct {
	cwd     string
	env     map[string]string
	command []string
	caveats []string
}

func (c *call) launch(ctx context.Context, name, runtime, session string, show bool, args []string) int {
	address, err := seat.ParseAddress(name)
	if err != nil {
		return c.fail(exitUsage, err, "a seat's address is member@rig")
	}
	line, code := c.launchLine(ctx, address, runtime, args)
	if code != exitOK {
		return code
	}
	for _, caveat := range line.caveats {
		fmt.Fprintf(c.stderr, "reseat: note: %s\n", caveat)
	}
	tmux := compact.TmuxLine(session, line.cwd, line.env, line.command)
	switch {
	case show && session != "":
		c.printf("%s\n", compact.ShellLine(nil, tmux))
		return exitOK
	case show:
		c.printf("%s\n", compact.ShellLine(line.env, line.command))
		return exitOK
	case session == "":
		return c.foreground(line)
	}
	out, err := exec.CommandContext(ctx, tmux[0], tmux[1:]...).CombinedOutput()
	if err != nil {
		return c.fail(exitNo, fmt.Errorf("starting %s in tmux: %w: %s", address, err, out), "is there a tmux session of that name already?")
	}
	c.printf("%s started in tmux session %s (tmux attach -t %s)\n", address, session, compact.Quote(session))
	return exitOK
}

// launchLine asks the client's adapter for the seat's line and issues the nonce.
func (c *call) launchLine(ctx context.Context, address, runtime string, args []string) (line toLaunch, code int) {
	home, cfg, found, err := c.adapters()
	if err != nil {
		return line, c.failAdapter(err)
	}
	if runtime == "" {
		known, err := seat.Load(home, address)
		switch {
		case err == nil && known.Occupant != nil:
			runtime = string(known.Occupant.Client)
		case err != nil && !errors.Is(err, seat.ErrNone):
			return line, c.fail(exitUnknown, err, "")
		default:
			return line, c.usage("%s has had no client yet: say which with --runtime", address)
		}
	}
	if parsed, err := client.Parse(runtime); err == nil {
		runtime = string(parsed)
	}
	if line.cwd, err = os.Getwd(); err != nil {
		return line, c.fail(exitUnknown, err, "")
	}
	lineup := host.NewLineup(found, c.settings(home))
	defer lineup.Close()
	r, err := lineup.Get(ctx, runtime)
	if err != nil {
		return line, c.failAdapter(err)
	}
	policy := cfg.Policy(client.Client(runtime), address)
	if policy.Reason != "" && !policy.Enabled {
		line.caveats = append(line.caveats, policy.Reason)
	}
	l, err := r.Launch(ctx, compact.LaunchRequest(policy, args, line.cwd))
	if err != nil {
		return line, c.fail(exitNo, err, "")
	}
	nonce, err := seat.Issue(home, address, "", time.Now())
	if err != nil {
		return line, c.fail(exitUnknown, err, "")
	}
	line.env, line.command = compact.Environment(l, address, nonce), l.Command
	line.caveats = append(line.caveats, l.Caveats...)
	return line, exitOK
}

// foreground runs the client in our place: its terminal, its exit code.
func (c *call) foreground(line toLaunch) int {
	program, err := exec.LookPath(line.command[0])
	if err != nil {
		return c.fail(exitNo, err, "is the client installed and on the PATH?")
	}
	environ := os.Environ()
	for name, value := range line.env {
		environ = append(environ, name+"="+value)
	}
	return c.become(program, line.command, environ)
}

// jsonLine prints v for programs, on one line.
func (c *call) jsonLine(v any) {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

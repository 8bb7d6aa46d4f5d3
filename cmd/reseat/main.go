// Reseat keeps long-lived seats of coding agents alive across compactions: it
// installs the hooks, shows what they did, and helps by hand where needed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/internal/state"
)

// Exit codes of every command.
const (
	exitOK      = 0  // done, healthy
	exitNo      = 1  // refused, not healthy, not found
	exitUnknown = 2  // could not tell; in packet commands every failure
	exitUsage   = 64 // wrong usage
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}

// command is one row of the table of commands.
type command struct {
	name    string // "status", "packet write"
	args    string // what follows the flags, for the help: "[SEAT]"
	short   string
	long    string
	example string
	// setup registers the command's flags and returns what runs it.
	setup func(f *pflag.FlagSet) func(ctx context.Context, c *call) int
}

// call is one run of a command.
type call struct {
	name   string
	args   []string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	getenv func(string) string
	home   string // --home
}

func commands() []command {
	return []command{
		installCommand(), uninstallCommand(), doctorCommand(),
		statusCommand(), showCommand(), offCommand(), onCommand(), gcCommand(), purgeCommand(),
		packetWriteCommand(), packetReadCommand(), packetValidateCommand(),
		recapWriteCommand(), recapShowCommand(), whoamiCommand(),
		seatListCommand(), seatShowCommand(), seatBindCommand(), seatUnbindCommand(),
		configCommand(), versionCommand(),
		compactCommand(), compactPlanCommand(), watchCommand(), launchCommand(),
		pluginListCommand(), pluginInfoCommand(), pluginVerifyCommand(), statuslineCommand(),
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	c := &call{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}
	all := commands()
	switch {
	case len(args) == 0:
		overview(stderr, all)
		return exitUsage
	case args[0] == "help" && len(args) > 1:
		args = append(slices.Clone(args[1:]), "--help")
	case args[0] == "help" || args[0] == "--help" || args[0] == "-h":
		overview(stdout, all)
		return exitOK
	case args[0] == "--version":
		args = []string{"version"}
	}
	cmd, rest := find(all, args)
	if cmd == nil {
		return c.unknownCommand(all, args)
	}
	c.name = cmd.name
	flags := pflag.NewFlagSet(cmd.name, pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.SortFlags = false
	action := cmd.setup(flags)
	flags.StringVar(&c.home, "home", "", "state folder (default $RESEAT_HOME or ~/.local/state/reseat)")
	err := flags.Parse(rest)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		explain(stdout, cmd, flags)
		return exitOK
	case err != nil:
		return c.usage("%v", err)
	}
	c.args = flags.Args()
	return action(ctx, c)
}

// find picks the command whose words args begin with, the longest first.
func find(all []command, args []string) (*command, []string) {
	for words := 2; words > 0; words-- {
		if len(args) < words {
			continue
		}
		name := strings.Join(args[:words], " ")
		for i := range all {
			if all[i].name == name {
				return &all[i], args[words:]
			}
		}
	}
	return nil, nil
}

func (c *call) unknownCommand(all []command, args []string) int {
	var below []string
	for _, cmd := range all {
		if first, rest, ok := strings.Cut(cmd.name, " "); ok && first == args[0] {
			below = append(below, rest)
		}
	}
	if below == nil {
		return c.fail(exitUsage, fmt.Errorf("unknown command %q", args[0]), "see: reseat help")
	}
	if len(args) > 1 && (args[1] == "--help" || args[1] == "-h") {
		for _, cmd := range all {
			if strings.HasPrefix(cmd.name, args[0]+" ") {
				fmt.Fprintf(c.stdout, "  reseat %-18s %s\n", cmd.name, cmd.short)
			}
		}
		return exitOK
	}
	return c.fail(exitUsage, fmt.Errorf("%s needs one of: %s", args[0], strings.Join(below, ", ")), "see: reseat help "+args[0])
}

func overview(w io.Writer, all []command) {
	fmt.Fprint(w, "reseat keeps seats of coding agents alive across compactions.\n\nUsage: reseat COMMAND [flags]\n\n")
	for _, cmd := range all {
		fmt.Fprintf(w, "  %-18s %s\n", cmd.name, strings.TrimSpace(wrap(cmd.short, 21, 79)))
	}
	fmt.Fprint(w, "\nStart with: reseat install, then: reseat status\nMore about one: reseat help COMMAND\n\n"+
		"Exit codes: 0 done or healthy, 1 refused or not healthy, 2 could not tell,\n64 wrong usage.\n")
}

func explain(w io.Writer, cmd *command, flags *pflag.FlagSet) {
	line := strings.TrimRight("reseat "+cmd.name+" [flags] "+cmd.args, " ")
	fmt.Fprintf(w, "%s\n\nUsage: %s\n", strings.TrimSpace(cmd.short), line)
	if cmd.long != "" {
		fmt.Fprintf(w, "\n%s\n", paragraphs(cmd.long))
	}
	fmt.Fprintf(w, "\nFlags:\n%s", flags.FlagUsagesWrapped(79))
	fmt.Fprintf(w, "\nExample:\n%s\n", indent(strings.TrimSpace(cmd.example)))
}

// paragraphs wraps a text at 79 columns; indented lines stay as they are.
func paragraphs(text string) string {
	var all []string
	for _, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if !strings.HasPrefix(p, "  ") && !strings.Contains(p, "\n  ") {
			p = wrap(p, 0, 79)
		}
		all = append(all, p)
	}
	return strings.Join(all, "\n\n")
}

func indent(s string) string { return "  " + strings.ReplaceAll(s, "\n", "\n  ") }

// fail says what went wrong and what to do, and returns code.
func (c *call) fail(code int, err error, hint string) int {
	fmt.Fprintf(c.stderr, "reseat: %v\n", err)
	if hint != "" {
		fmt.Fprintf(c.stderr, "reseat: hint: %s\n", hint)
	}
	return code
}

func (c *call) usage(format string, args ...any) int {
	return c.fail(exitUsage, fmt.Errorf(format, args...), "see: reseat help "+c.name)
}

func (c *call) printf(format string, args ...any) { fmt.Fprintf(c.stdout, format, args...) }

// state is the state folder that the command works on.
func (c *call) state() (state.Home, error) { return state.Locate(c.home, c.getenv) }

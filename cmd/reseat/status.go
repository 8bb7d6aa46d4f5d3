package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/internal/state"
)

func statusCommand() command {
	return command{
		name: "status", args: "[SEAT]", short: "sessions, compactions and what became of each directive",
		long: `Without SEAT all sessions that a hook has seen are shown, the last compacted
first. SEAT is a seat's address (member@rig), claude:ID, codex:ID, or a prefix
of an id of 8 letters or more.`,
		example: "reseat status\nreseat status dev-impl@my-rig --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			all := f.Bool("all", false, "show every compaction kept, not only the last three")
			return func(ctx context.Context, c *call) int { return c.status(ctx, *asJSON, *all) }
		},
	}
}

// statusReport is what status --json prints.
type statusReport struct {
	Home     string           `json:"home"`
	Bytes    int64            `json:"bytes"`
	Off      []string         `json:"off"`
	LastHook *bridge.Receipt  `json:"last_hook"` // null: no hook of ours ever ran here
	Sessions []bridge.Session `json:"sessions"`
	Folders  []configFolder   `json:"configurations"` // every configuration folder that install knows
	// Lacking are running sessions that the policy covers and whose client still
	// compacts them by itself when they are idle; LackingUnknown says why that may
	// not be all.
	Lacking        []lacking `json:"lacking_idle_compaction_off"`
	LackingUnknown string    `json:"lacking_unknown,omitempty"`
}

func (c *call) status(ctx context.Context, asJSON, all bool) int {
	b, err := c.bridge()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	sessions, err := c.sessions(ctx, b)
	if err != nil {
		return c.failSeat(err)
	}
	r := statusReport{Home: string(b.Home), Bytes: b.Size(), Off: b.Switches(), Sessions: sessions, Folders: c.configFolders(b.Home)}
	if receipts, err := b.Receipts(time.Time{}); err == nil {
		r.LastHook = lastHook(receipts)
	}
	if r.Lacking, err = c.lacking(ctx, b); err != nil {
		r.LackingUnknown = err.Error()
	}
	if len(c.args) > 0 {
		r.Lacking = slices.DeleteFunc(r.Lacking, func(l lacking) bool {
			return !slices.ContainsFunc(sessions, func(s bridge.Session) bool { return s.ID == l.Session })
		})
	}
	if asJSON {
		return c.json(r)
	}
	c.printStatus(r, all)
	return exitOK
}

func (c *call) printStatus(r statusReport, all bool) {
	c.printf("state    %s (%s)\n", r.Home, bytesInWords(r.Bytes))
	for _, f := range r.Folders {
		c.printf("hooks    %s\n", f)
	}
	if len(r.Folders) == 0 {
		c.printf("hooks    not installed from here (see: reseat install)\n")
	}
	if r.LastHook == nil {
		c.printf("last run none: no hook of reseat has run yet\n")
	} else {
		c.printf("last run %s %s %s: %s\n", when(r.LastHook.Time), r.LastHook.Client, r.LastHook.Event, r.LastHook.Decision)
	}
	for _, off := range r.Off {
		c.printf("off      %s\n", off)
	}
	for _, l := range r.Lacking {
		c.printf("%s\n", wrap("idle     "+l.Seat+": "+lackingWords, 0, 79))
	}
	if r.LackingUnknown != "" {
		c.printf("%s\n", wrap("idle     not known: "+r.LackingUnknown, 0, 79))
	}
	for _, s := range r.Sessions {
		c.printf("\n%s\n", sessionTitle(s))
		shown := s.Compactions
		if !all && len(shown) > 3 {
			shown = shown[:3]
		}
		for _, k := range shown {
			c.printf("  %-18s %s  %s%s\n", k.ID, when(k.Begun), k.Mechanism, prefixed(" ", k.Trigger))
			c.printf("%s\n", wrap(k.Words, 4, 79))
			if k.Caveat != "" {
				c.printf("%s\n", wrap("caveat: "+k.Caveat, 4, 79))
			}
		}
		switch hidden := len(s.Compactions) - len(shown); {
		case len(s.Compactions) == 0:
			c.printf("  no compaction yet\n")
		case hidden > 0:
			c.printf("  and %d older (--all)\n", hidden)
		}
	}
	if len(r.Sessions) == 0 {
		c.printf("\nno session has been seen yet\n")
	}
}

func sessionTitle(s bridge.Session) string {
	title := s.Label()
	if s.Seat != "" {
		title += "  (" + string(s.Client) + ":" + s.ID + ")"
	}
	if s.CWD != "" {
		title += "\n  in " + s.CWD
	}
	if !s.Lives {
		title += "\n  its transcript is gone"
	}
	if s.Off != "" {
		title += "\n  " + s.Off
	}
	return title
}

func showCommand() command {
	return command{
		name: "show", args: "[SEAT|COMPACTION]", short: "the exact text that was injected, when and through which event",
		long: `Without an argument the last compaction of all is shown. COMPACTION is an id
such as rs-0007-5f3a9c1e, as reseat status prints it.`,
		example: "reseat show\nreseat show rs-0007-5f3a9c1e --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			return func(ctx context.Context, c *call) int { return c.show(ctx, *asJSON) }
		},
	}
}

type shown struct {
	Session string `json:"session"`
	Client  string `json:"client"`
	Seat    string `json:"seat,omitempty"`
	bridge.Compaction
	Text   string `json:"directive"`
	Tokens int    `json:"tokens"` // estimated as a quarter of the bytes, as Codex does
}

func (c *call) show(ctx context.Context, asJSON bool) int {
	if len(c.args) > 1 {
		return c.usage("show takes one SEAT or COMPACTION")
	}
	b, err := c.bridge()
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	byID := len(c.args) == 1 && strings.HasPrefix(c.args[0], "rs-")
	var wanted string
	if byID {
		wanted, c.args = c.args[0], nil
	}
	sessions, err := c.sessions(ctx, b)
	if err != nil {
		return c.failSeat(err)
	}
	s, k, ok := pick(sessions, wanted)
	if !ok {
		return c.fail(exitNo, errors.New("no such compaction is known"), "see: reseat status")
	}
	out := shown{Session: s.ID, Client: string(s.Client), Seat: s.Seat, Compaction: k, Text: k.Directive, Tokens: (len(k.Directive) + 3) / 4}
	if asJSON {
		return c.json(out)
	}
	c.printf("compaction %s of %s\n", k.ID, s.Label())
	c.printf("%s\n", wrap(k.Words, 0, 79))
	switch {
	case !k.Emitted.IsZero():
		c.printf("printed    %s through %s\n", when(k.Emitted), k.Event)
	case !k.Prepared.IsZero():
		c.printf("kept       %s, not printed\n", when(k.Prepared))
	}
	c.printf("packet     %s\n", orWord(k.Packet, "none"))
	if out.Text == "" {
		c.printf("directive  none was made\n")
		return exitOK
	}
	c.printf("directive  %d bytes, about %d tokens:\n\n%s\n", len(out.Text), out.Tokens, out.Text)
	return exitOK
}

func pick(sessions []bridge.Session, id string) (bridge.Session, bridge.Compaction, bool) {
	for _, s := range sessions {
		for _, k := range s.Compactions {
			if id == "" || k.ID == id {
				return s, k, true
			}
		}
	}
	return bridge.Session{}, bridge.Compaction{}, false
}

// bridge opens the state for reading and for a person's changes.
func (c *call) bridge() (*bridge.Bridge, error) {
	home, err := c.state()
	if err != nil {
		return nil, err
	}
	if err := home.Check(); err != nil {
		return nil, err
	}
	return bridge.New(home, bridge.NewPackets(home, c.getenv), noVersion, 0), nil
}

// sessions are those that the arguments name, all of them without any.
func (c *call) sessions(ctx context.Context, b *bridge.Bridge) ([]bridge.Session, error) {
	all, err := b.Sessions(ctx)
	if err != nil || len(c.args) == 0 {
		return all, err
	}
	var found []bridge.Session
	for _, arg := range c.args {
		s, err := bridge.Find(all, arg)
		if err != nil {
			return nil, err
		}
		found = append(found, s)
	}
	return found, nil
}

func (c *call) failSeat(err error) int {
	var ambiguous *bridge.AmbiguousError
	switch {
	case errors.As(err, &ambiguous):
		return c.fail(exitNo, err, "it may be one of: "+strings.Join(ambiguous.Matches, ", "))
	case errors.Is(err, bridge.ErrNoSeat):
		return c.fail(exitNo, err, "see: reseat status")
	case errors.Is(err, state.ErrNewer):
		return c.fail(exitNo, err, "install the newer reseat again")
	}
	return c.fail(exitUnknown, err, "")
}

// json prints v for programs.
func (c *call) json(v any) int {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return c.fail(exitUnknown, fmt.Errorf("writing JSON: %w", err), "")
	}
	return exitOK
}

func when(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func bytesInWords(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// wrap breaks s at blanks so that no line is longer than width, each indented.
func wrap(s string, indent, width int) string {
	pad := strings.Repeat(" ", indent)
	var out strings.Builder
	line := pad
	for _, word := range strings.Fields(s) {
		if len(line) > indent && len(line)+1+len(word) > width {
			io.WriteString(&out, line+"\n")
			line = pad
		}
		if len(line) > indent {
			line += " "
		}
		line += word
	}
	out.WriteString(line)
	return out.String()
}

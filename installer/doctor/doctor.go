// Package doctor finds out why a hook doesn't fire: it looks at everything that
// a client needs to run reseat's hooks, and says for each thing what it saw, what
// that means, and what to do (promise 5: what isn't known is called unknown).
//
// It changes nothing but throw-away folders. It runs the very command strings of
// the configuration, on a state folder of its own; Live goes further and has the
// installed client itself compact a made-up session against a stub model on
// loopback. It knows nothing of how a directive is made.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/installer"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/version"
)

// Colour is how bad a finding is.
type Colour string

// Red: the hooks don't work. Yellow: a person should look, or has something left
// to do. Green: as it should be.
const (
	Red    Colour = "red"
	Yellow Colour = "yellow"
	Green  Colour = "green"
)

// Finding is one thing that was looked at.
type Finding struct {
	ID     string        `json:"id"`
	Colour Colour        `json:"colour"`
	Client client.Client `json:"client,omitempty"` // empty: of all clients
	// Says is the finding in one sentence.
	Says string `json:"says"`
	// Evidence is what was seen, and where.
	Evidence []string `json:"evidence,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
	// Stops: the hooks of this client don't do their work as long as this stands.
	Stops bool `json:"stops,omitempty"`
	// Unknown: it could not be told.
	Unknown bool `json:"unknown,omitempty"`
}

// Report is all that was found.
type Report struct {
	Findings []Finding `json:"findings"`
}

// Exit codes of a report.
const (
	Healthy = 0
	Sick    = 1
	Unclear = 2
)

// ExitCode is Sick if anything keeps the hooks from their work, Unclear if
// something could not be told, else Healthy.
func (r Report) ExitCode() int {
	code := Healthy
	for _, f := range r.Findings {
		switch {
		case f.Colour == Red || f.Stops:
			return Sick
		case f.Unknown:
			code = Unclear
		}
	}
	return code
}

// WriteText writes a report for a person, the worst first. Evidence and remedy
// of what is green is left out unless all is set.
func (r Report) WriteText(w io.Writer, all bool) error {
	for _, colour := range []Colour{Red, Yellow, Green} {
		for _, f := range r.Findings {
			if f.Colour != colour {
				continue
			}
			if _, err := io.WriteString(w, f.text(all)); err != nil {
				return fmt.Errorf("writing the report: %w", err)
			}
		}
	}
	return nil
}

func (f Finding) text(all bool) string {
	var b strings.Builder
	name := string(f.Client)
	if name == "" {
		name = "reseat"
	}
	fmt.Fprintf(&b, "%-6s  %-6s  %s (%s)\n", f.Colour, name, f.Says, f.ID)
	if f.Colour == Green && !all {
		return b.String()
	}
	for _, line := range f.Evidence {
		fmt.Fprintf(&b, "                %s\n", line)
	}
	if f.Remedy != "" {
		fmt.Fprintf(&b, "        remedy  %s\n", strings.ReplaceAll(f.Remedy, "\n", "\n                "))
	}
	return b.String()
}

// Options says what to look at.
type Options struct {
	// Install is what an install on this machine is given; its Scope doesn't
	// matter. Without clients, those found are looked at.
	Install installer.Options
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// SkipRun leaves out running the hooks.
	SkipRun bool
	// Watchers tells the versions of running watchers, by what names them; nil
	// if none are known.
	Watchers map[string]string
}

// examiner collects findings.
type examiner struct {
	Options
	ctx    context.Context
	report Report
}

// Check looks at everything. It doesn't fail: what can't be looked at is a
// finding.
func Check(ctx context.Context, o Options) Report {
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &examiner{Options: o, ctx: ctx}
	clients := o.Install.Clients
	if len(clients) == 0 {
		clients = e.clients()
	}
	if len(clients) == 0 {
		e.add(Finding{ID: "no-client", Colour: Red, Says: "no client is here", Evidence: []string{"neither a configuration folder nor a program of Claude Code or Codex was found"}, Remedy: "install a client, then run: reseat install"})
	}
	for _, c := range clients {
		e.client(c)
	}
	e.state()
	e.programs()
	return e.report
}

// clients are those that are here, and those that receipts name.
func (e *examiner) clients() []client.Client {
	found := installer.Found(e.Install)
	receipts, _ := installer.Receipts(e.Install.State)
	for _, r := range receipts {
		if !slices.Contains(found, r.Client) {
			found = append(found, r.Client)
		}
	}
	return found
}

func (e *examiner) add(f Finding) { e.report.Findings = append(e.report.Findings, f) }

// ownVersion is the version of the command that asks.
const ownVersion = version.Number

// Package config reads reseat's own configuration, one TOML file of the user.
//
// It owns one promise: what a person wrote is either in force or said to be
// wrong, with file, line and remedy. A command refuses a faulty file ([Load]); a
// hook goes on with what can be used and tells the rest ([LoadTolerant]). A file
// that somebody else could have written is not read, and none is looked for in a
// repository or working folder. It knows nothing of what the settings do.
package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// Config is a configuration in force: the file's settings, the defaults where it
// has none. Make one with Load, LoadTolerant or Default.
type Config struct {
	File    string // what was read; "" where there was no file
	Limits  Limits
	Redact  Redact
	Plugins Plugins

	defaults layer[Declared]
	projects map[string]layer[Declared] // by absolute path
	seats    map[string]layer[Declared] // by address
	policies map[string]layer[Policy]   // by client
	own      map[string]layer[Policy]   // by seat
}

// Declared is what a person laid down for a seat or project.
type Declared struct {
	Intent              string   // what the work is for, in the person's words
	RolePointer         string   // path or URI of the seat's role
	DefaultRepo         string   // path of the repository that the work is in
	NextOwner           string   // who takes over; "" means the seat goes on
	AuthorityBoundaries string   // what the seat may and may not do
	Caveats             []string // what a successor has to mind
	Pointers            Pointers
	Ack                 bool // the next answer is to open with a sentence that names the packet
	Off                 bool // no packets and no directives
}

// Pointers are durable places outside the packet: paths or URIs.
type Pointers struct {
	Queue      []string
	Progress   []string
	FieldNotes []string
	Artifacts  []string
}

// Policy says when a seat is compacted from outside.
type Policy struct {
	Enabled          bool
	ThresholdPercent int      // 1 to 100 of the context's window
	ThresholdTokens  int64    // 0: only the percentage counts
	Cooldown         Duration // after a compaction, before the next
	QuietHours       []Hours  // when nothing is triggered, in local time
	Prep             string   // the turn before the compaction; "" takes the built-in one
	Instructions     string   // for the client's own summary
	RestoreTurn      bool     // an idle seat gets a turn that brings the directive in
	Notify           []string // a command and its arguments, told of each compaction

	// Reason says in words why the policy is off although somebody may think
	// that it is on: a threshold that can't be used. "" otherwise.
	Reason string

	percentFault, tokensFault string
}

// Limits bound what is kept.
type Limits struct {
	PacketsPerSession int      // packets
	MaxAge            Duration // of a packet or receipt
	StateBytes        Size     // the state folder
	MessageBytes      Size     // a message in a packet
	FileBytes         Size     // a file of a packet, transcript.md apart
	PacketBytes       Size     // a packet, transcript.md apart
	ReceiptsBytes     Size     // all receipts
}

// Redact is what is a secret beyond what is known to be one.
type Redact struct {
	Patterns      []string // regular expressions, see packet/redact
	LeaveOutPaths []string // globs of paths that are never named
	Exempt        []string // texts that are no secrets
}

// Plugins are runtime adapters beside our own and those in the state folder.
type Plugins struct {
	Paths []string // absolute paths of programs
}

// Default is the configuration of somebody who wrote none.
func Default() *Config {
	return &Config{
		Limits: Limits{
			PacketsPerSession: 5, MaxAge: 14 * day, StateBytes: 256 * mib, MessageBytes: 16 * kib,
			FileBytes: mib, PacketBytes: 8 * mib, ReceiptsBytes: 8 * mib,
		},
	}
}

func defaultPolicy() Policy {
	return Policy{ThresholdPercent: 80, Cooldown: 10 * minute}
}

// For is what is declared for a seat whose session works in dir: the defaults,
// over them the project with the longest path that dir lies in, over that the
// seat. A key replaces the same key of the layer below, lists whole. seat may be
// "", dir is absolute or "".
func (c *Config) For(seat, dir string) Declared {
	var d Declared
	c.defaults.over(&d)
	if p, ok := c.project(dir); ok {
		c.projects[p].over(&d)
	}
	if seat != "" {
		c.seats[seat].over(&d)
	}
	return d
}

// project is the longest project path that dir lies in.
func (c *Config) project(dir string) (string, bool) {
	best, found := "", false
	if len(c.projects) == 0 || !filepath.IsAbs(dir) {
		return "", false
	}
	dir = filepath.Clean(dir)
	for p := range c.projects {
		if (!found || len(p) > len(best)) && within(dir, p) {
			best, found = p, true
		}
	}
	return best, found
}

func within(dir, parent string) bool {
	rest, ok := strings.CutPrefix(dir, parent)
	return ok && (rest == "" || rest[0] == filepath.Separator || parent[len(parent)-1] == filepath.Separator)
}

// Policy is the policy for a seat whose client is c: the client's, over it the
// seat's own. A threshold that can't be used switches it off and is told in
// Reason; nothing else is taken in its place.
func (c *Config) Policy(of client.Client, seat string) Policy {
	p := defaultPolicy()
	if !slices.Contains(client.All(), of) {
		p.Reason = "there is no policy for this client"
		return p
	}
	c.policies[string(of)].over(&p)
	if seat != "" {
		c.own[seat].over(&p)
	}
	if fault := cmp.Or(p.percentFault, p.tokensFault); fault != "" && p.Enabled {
		p.Enabled, p.Reason = false, "the policy is off: "+fault
	}
	return p
}

// Seats are the addresses that the configuration names, in order.
func (c *Config) Seats() []string {
	all := make([]string, 0, len(c.seats)+len(c.own))
	for s := range c.seats {
		all = append(all, s)
	}
	for s := range c.own {
		if _, ok := c.seats[s]; !ok {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return all
}

// Path is where the configuration is looked for: config.toml in the state
// folder if it is there, else $XDG_CONFIG_HOME/reseat/config.toml, else
// ~/.config/reseat/config.toml (Windows: %APPDATA%\reseat\config.toml). "" means
// that there is no such place. A relative variable is ignored: a configuration
// never comes from where the work is.
func Path(getenv func(string) string, home, stateDir string) string {
	if filepath.IsAbs(stateDir) {
		if p := filepath.Join(stateDir, fileName); exists(p) {
			return p
		}
	}
	if dir := userDir(getenv, home); dir != "" {
		return filepath.Join(dir, "reseat", fileName)
	}
	return ""
}

const fileName = "config.toml"

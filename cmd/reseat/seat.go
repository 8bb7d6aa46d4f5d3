package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/reseat-dev/reseat/bridge"
	"github.com/reseat-dev/reseat/bridge/seat"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

func seatListCommand() command {
	return command{
		name: "seat list", short: "who sits where",
		example: "reseat seat list --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			return func(_ context.Context, c *call) int {
				home, err := c.state()
				if err != nil {
					return c.fail(exitNo, err, "")
				}
				all, err := seat.List(home)
				if err != nil {
					return c.fail(exitUnknown, err, "")
				}
				if *asJSON {
					return c.json(all)
				}
				for _, s := range all {
					c.printf("%s\n  %s\n", s.Address, occupantWords(s.Occupant))
				}
				if len(all) == 0 {
					c.printf("no seat is bound (see: reseat help seat bind)\n")
				}
				return exitOK
			}
		},
	}
}

func occupantWords(o *seat.Occupant) string {
	if o == nil {
		return "empty"
	}
	return fmt.Sprintf("%s:%s, %s since %s (by %s)", o.Client, o.Session, o.How, when(o.Since), o.By)
}

func seatShowCommand() command {
	return command{
		name: "seat show", args: "SEAT", short: "one seat, its occupant and those before",
		example: "reseat seat show dev-impl@my-rig",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			return func(_ context.Context, c *call) int {
				if len(c.args) != 1 {
					return c.usage("seat show needs one SEAT")
				}
				home, err := c.state()
				if err != nil {
					return c.fail(exitNo, err, "")
				}
				s, err := seat.Load(home, c.args[0])
				if err != nil {
					return c.fail(exitNo, err, "see: reseat seat list")
				}
				if *asJSON {
					return c.json(s)
				}
				c.printf("%s\n  now    %s\n", s.Address, occupantWords(s.Occupant))
				for _, o := range s.Before {
					c.printf("  before %s\n", occupantWords(&o))
				}
				return exitOK
			}
		},
	}
}

func seatBindCommand() command {
	return command{
		name: "seat bind", args: "SEAT SESSION", short: "seat a session",
		long: `SEAT is an address: member@rig. SESSION is a session that a hook has seen:
claude:ID, codex:ID, or a unique prefix of an id of 8 letters or more.`,
		example: "reseat seat bind dev-impl@my-rig claude:3f2b8c1e",
		setup: func(*pflag.FlagSet) func(context.Context, *call) int {
			return func(ctx context.Context, c *call) int {
				if len(c.args) != 2 {
					return c.usage("seat bind needs SEAT and SESSION")
				}
				address, err := seat.ParseAddress(c.args[0])
				if err != nil {
					return c.fail(exitUsage, err, "")
				}
				b, err := c.bridge()
				if err != nil {
					return c.fail(exitNo, err, "")
				}
				all, err := b.Sessions(ctx)
				if err != nil {
					return c.fail(exitUnknown, err, "")
				}
				s, err := bridge.Find(all, c.args[1])
				if err != nil {
					return c.failSeat(err)
				}
				o := seat.Occupant{Client: s.Client, Session: s.ID, How: seat.Unknown, Since: time.Now(), By: "operator"}
				if err := seat.Bind(b.Home, address, o); err != nil {
					return c.fail(exitNo, err, "")
				}
				c.printf("%s: %s\n", address, occupantWords(&o))
				return exitOK
			}
		},
	}
}

func seatUnbindCommand() command {
	return command{
		name: "seat unbind", args: "SEAT", short: "leave a seat empty",
		example: "reseat seat unbind dev-impl@my-rig",
		setup: func(*pflag.FlagSet) func(context.Context, *call) int {
			return func(_ context.Context, c *call) int {
				if len(c.args) != 1 {
					return c.usage("seat unbind needs one SEAT")
				}
				home, err := c.state()
				if err == nil {
					err = seat.Unbind(home, c.args[0])
				}
				if err != nil {
					return c.fail(exitNo, err, "see: reseat seat list")
				}
				c.printf("%s: empty\n", c.args[0])
				return exitOK
			}
		},
	}
}

func recapWriteCommand() command {
	return command{
		name: "recap write", short: "keep what a seat's occupant wrote for its successor",
		long: `The recap is Markdown, each heading named once. It stands first among what a
restored seat may read. The recap before is never lost: it is kept beside it.
Without --seat it is the seat that asks (see: reseat whoami).`,
		example: "reseat recap write --file RECAP.md\nreseat recap write --seat dev-impl@my-rig --file -",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			name := f.String("seat", "", "the seat: an address, claude:ID or codex:ID")
			file := f.String("file", "", "the Markdown file, - for standard input (required)")
			return func(ctx context.Context, c *call) int { return c.recapWrite(ctx, *name, *file) }
		},
	}
}

func (c *call) recapWrite(ctx context.Context, name, file string) int {
	if file == "" || len(c.args) > 0 {
		return c.usage("recap write needs --file FILE")
	}
	home, key, code := c.recapKey(ctx, name)
	if code != exitOK {
		return code
	}
	text, err := c.readBounded(file, seat.MaxRecap)
	if err != nil {
		return c.fail(exitNo, err, "")
	}
	path, err := seat.WriteRecap(home, key, text, time.Now())
	if err != nil {
		return c.fail(exitNo, fmt.Errorf("reading %q: %w", file, err), "the recap before is as it was")
	}
	for _, a := range seat.Advice(string(text)) {
		fmt.Fprintf(c.stderr, "reseat: advice: %s\n", a)
	}
	c.printf("recap    %s\n", path)
	if before := seat.Superseded(home, key); len(before) > 0 {
		c.printf("before   %s\n", before[0])
	}
	return exitOK
}

// readBounded reads a file, or standard input for "-", of at most limit bytes.
func (c *call) readBounded(file string, limit int64) ([]byte, error) {
	in := c.stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", file, err)
	}
	return data, nil
}

func recapShowCommand() command {
	return command{
		name: "recap show", args: "[HEADING]", short: "a seat's recap, whole or by heading",
		long:    "HEADING is a heading's title, or its path from the top: Decisions/Storage.",
		example: "reseat recap show --seat dev-impl@my-rig Decisions",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			name := f.String("seat", "", "the seat: an address, claude:ID or codex:ID")
			return func(ctx context.Context, c *call) int { return c.recapShow(ctx, *name) }
		},
	}
}

func (c *call) recapShow(ctx context.Context, name string) int {
	home, key, code := c.recapKey(ctx, name)
	if code != exitOK {
		return code
	}
	text, err := os.ReadFile(seat.RecapFile(home, key))
	if err != nil {
		return c.fail(exitNo, fmt.Errorf("no recap was written for %s", key), "see: reseat help recap write")
	}
	if len(c.args) == 0 {
		c.printf("%s", text)
		return exitOK
	}
	wanted := strings.Join(c.args, " ")
	sections, _ := seat.Sections(string(text))
	var titles []string
	for _, s := range sections {
		if s.Path == wanted || s.Title == wanted {
			c.printf("%s", s.Text)
			return exitOK
		}
		titles = append(titles, s.Path)
	}
	return c.fail(exitNo, fmt.Errorf("the recap has no heading %q", wanted), "it has: "+strings.Join(titles, ", "))
}

// recapKey is the seat that name, or the asking session, means.
func (c *call) recapKey(ctx context.Context, name string) (home state.Home, key string, code int) {
	b, err := c.bridge()
	if err != nil {
		return "", "", c.fail(exitNo, err, "")
	}
	if name == "" {
		me, err := c.whoami("")
		if err != nil {
			return "", "", c.fail(exitUnknown, err, "name the seat with --seat")
		}
		return b.Home, me.key(), exitOK
	}
	if address, err := seat.ParseAddress(name); err == nil {
		return b.Home, address, exitOK
	}
	all, err := b.Sessions(ctx)
	if err != nil {
		return "", "", c.fail(exitUnknown, err, "")
	}
	s, err := bridge.Find(all, name)
	if err != nil {
		return "", "", c.failSeat(err)
	}
	return b.Home, bridge.SeatKey(s.Folder), exitOK
}

// identity is what whoami answers.
type identity struct {
	Client     client.Client `json:"client"`
	Session    string        `json:"session"`
	Seat       string        `json:"seat,omitempty"`
	Rig        string        `json:"rig,omitempty"`
	How        seat.How      `json:"how"`
	CWD        string        `json:"cwd,omitempty"`
	Transcript string        `json:"transcript,omitempty"`
	Packet     string        `json:"packet,omitempty"` // the newest one
	From       string        `json:"from"`             // the variable that named the session
	folder     string
}

func (i identity) key() string { return bridge.SeatKey(i.folder) }

func whoamiCommand() command {
	return command{
		name: "whoami", short: "the session that asks, from inside a tool's shell",
		long: `The client sets a variable in the shell of its tools. It is checked against
what the hooks have seen; where that can't be done the exit code is 2.`,
		example: "reseat whoami --json",
		setup: func(f *pflag.FlagSet) func(context.Context, *call) int {
			asJSON := f.Bool("json", false, "print JSON")
			runtime := f.String("runtime", "", "claude or codex, where one runs inside the other")
			return func(_ context.Context, c *call) int {
				me, err := c.whoami(*runtime)
				if err != nil {
					return c.fail(exitUnknown, err, "")
				}
				if *asJSON {
					return c.json(me)
				}
				c.printf("session    %s:%s\nseat       %s\nhow        %s\n", me.Client, me.Session, orWord(me.Seat, "unnamed"), me.How)
				c.printf("folder     %s\ntranscript %s\npacket     %s\n", orWord(me.CWD, "unknown"), orWord(me.Transcript, "none"), orWord(me.Packet, "none yet"))
				return exitOK
			}
		},
	}
}

var errNobody = errors.New("no client's session asks: neither CLAUDE_CODE_SESSION_ID nor CODEX_THREAD_ID is set")

func (c *call) whoami(runtime string) (identity, error) {
	home, err := c.state()
	if err != nil {
		return identity{}, err
	}
	var found []identity
	for _, v := range []struct {
		client client.Client
		name   string
	}{{client.Claude, "CLAUDE_CODE_SESSION_ID"}, {client.Codex, "CODEX_THREAD_ID"}} {
		if id := c.getenv(v.name); id != "" && (runtime == "" || runtime == string(v.client)) {
			found = append(found, identity{Client: v.client, Session: id, From: v.name, folder: home.Session(v.client, id)})
		}
	}
	switch len(found) {
	case 0:
		return identity{}, errNobody
	case 2:
		return identity{}, errors.New("both clients' variables are set: say which one asks with --runtime")
	}
	me := found[0]
	about, err := bridge.ReadAbout(me.folder)
	if err != nil || about.Session != me.Session {
		return me, fmt.Errorf("%s names the session %s, and no hook has seen it", me.From, me.Session)
	}
	me.CWD, me.Transcript, me.How = about.CWD, about.Transcript, seat.Unknown
	if me.Seat = bridge.SeatOf(me.folder); me.Seat != "" {
		me.Rig = seat.Rig(me.Seat)
		if s, err := seat.Load(home, me.Seat); err == nil && s.Occupant != nil {
			me.How = s.Occupant.How
		}
	}
	if attempts, err := bridge.Attempts(me.folder); err == nil {
		for _, a := range attempts {
			if p := a.PacketDir(); p != "" {
				me.Packet = p
				break
			}
		}
	}
	return me, nil
}

// absolute is a path as a person meant it from where they stand.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

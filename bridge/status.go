package bridge

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/hooks"
	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// Session is what the state knows of one session.
type Session struct {
	Client      client.Client `json:"client"`
	ID          string        `json:"session"`
	Seat        string        `json:"seat,omitempty"`
	Folder      string        `json:"folder"`
	CWD         string        `json:"cwd,omitempty"`
	Transcript  string        `json:"transcript,omitempty"`
	Lives       bool          `json:"transcript_exists"`
	Seen        time.Time     `json:"seen"`
	Off         string        `json:"off,omitempty"`
	Compactions []Compaction  `json:"compactions"` // newest first
}

// Compaction is the story of one attempt.
type Compaction struct {
	ID        string    `json:"id"`
	Number    int       `json:"number"`
	State     State     `json:"state"`
	Confirmed bool      `json:"confirmed"` // the directive was seen in the session's context, now or before
	Mechanism string    `json:"mechanism"`
	Trigger   string    `json:"trigger,omitempty"`
	Begun     time.Time `json:"begun"`
	Prepared  time.Time `json:"prepared,omitzero"`
	Emitted   time.Time `json:"emitted,omitzero"`
	Event     string    `json:"event,omitempty"` // through which it was printed
	Packet    string    `json:"packet,omitempty"`
	Directive string    `json:"-"`
	Words     string    `json:"words"` // what happened and, where nothing did, why not
	Caveat    string    `json:"caveat,omitempty"`
}

// Label names the session for a person: its seat, else its client and id.
func (s Session) Label() string {
	if s.Seat != "" {
		return s.Seat
	}
	return string(s.Client) + ":" + s.ID
}

// Sessions reads the state of all sessions, the last one compacted first. It
// changes nothing.
func (b *Bridge) Sessions(ctx context.Context) ([]Session, error) {
	entries, err := os.ReadDir(b.Home.Sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	receipts, _ := b.Receipts(time.Time{})
	var all []Session
	for _, e := range entries {
		dir := filepath.Join(b.Home.Sessions(), e.Name())
		if s, ok := b.sessionStory(ctx, dir, receipts); ok {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(x, y Session) int { return cmp.Compare(y.last().UnixNano(), x.last().UnixNano()) })
	return all, nil
}

func (s Session) last() time.Time {
	if len(s.Compactions) > 0 {
		return s.Compactions[0].Begun
	}
	return s.Seen
}

func (b *Bridge) sessionStory(ctx context.Context, dir string, receipts []Receipt) (Session, bool) {
	about, err := ReadAbout(dir)
	if err != nil {
		return Session{}, false
	}
	attempts, err := Attempts(dir)
	if err != nil {
		return Session{}, false
	}
	s := Session{
		Client: about.Client, ID: about.Session, Seat: SeatOf(dir), Folder: dir, CWD: about.CWD,
		Transcript: about.Transcript, Seen: about.Seen, Lives: sessionLives(dir, attempts),
		Off: switchedOff(b.Home, about.Client, about.Session, SeatOf(dir), about.CWD),
	}
	if len(attempts) == 0 {
		return s, true
	}
	tail, given := b.look(ctx, s, attempts)
	for i, a := range attempts {
		boundary, proved := given[a.Number]
		c := b.compactionStory(a, tail, boundary, proved)
		c.Words += racedWords(c.ID, receipts)
		if i == 0 && c.State == Prepared && proved && !ranSince(receipts, s.ID, a.Record) {
			c.Words += "; reseat-directive hasn't run since, so its hooks are missing or don't fire (see: reseat doctor)"
		}
		s.Compactions = append(s.Compactions, c)
	}
	return s, true
}

// look reads what the transcript says about the attempts, as a hook would.
func (b *Bridge) look(ctx context.Context, s Session, attempts []*Attempt) (transcript.Tail, map[int]transcript.Boundary) {
	path := firstOf(attempts[0].transcript(), s.Transcript)
	if path == "" {
		return transcript.Tail{}, nil
	}
	tail, err := transcript.After(ctx, s.Client, path, leastReach(attempts), ids(attempts))
	if err != nil {
		return transcript.Tail{}, nil
	}
	return tail, boundaries(attempts, tail, hooks.Can(s.Client, knownVersion(attempts)))
}

func (b *Bridge) compactionStory(a *Attempt, tail transcript.Tail, boundary transcript.Boundary, proved bool) Compaction {
	c := Compaction{
		ID: a.ID(), Number: a.Number, State: a.State, Mechanism: a.Begin.Mechanism, Trigger: a.Begin.Trigger,
		Begun: a.Begin.Time, Packet: a.PacketDir(),
	}
	if a.Record != nil {
		c.Prepared, c.Directive, c.Caveat = a.Record.Prepared, a.Record.Directive, a.Record.Caveat
	}
	if claims := a.Claims(); len(claims) > 0 {
		last := claims[len(claims)-1]
		c.Emitted, c.Event, c.Directive = last.Time, last.Event, last.Text
	}
	c.Confirmed = a.State == Confirmed || traced(a, tail)
	c.Words = b.words(a, c, boundary, proved)
	return c
}

func traced(a *Attempt, tail transcript.Tail) bool {
	for i, id := range tail.TraceOf {
		if id == a.ID() && tail.Traces[i].Offset >= a.reach() {
			return true
		}
	}
	return false
}

// words says in a sentence where the attempt stands.
func (b *Bridge) words(a *Attempt, c Compaction, boundary transcript.Boundary, proved bool) string {
	if c.Confirmed {
		return "confirmed: it stood in the context; whether the work recovered wasn't measured"
	}
	switch a.State {
	case Begun:
		return b.begunWords(a, proved)
	case Prepared:
		if proved {
			return "compacted at " + clock(boundary.Time) + ", not delivered: the next prompt does it"
		}
		return "PreCompact ran, no compaction followed"
	case Armed:
		return "compacted; the next turn gets its directive"
	case Claimed1, Claimed2:
		return "a hook set out to print it and didn't say that it finished; the transcript decides at the next prompt"
	case Emitted1:
		return "emitted, not confirmed"
	case Emitted2:
		return "emitted twice (the first was proved lost), not confirmed"
	case Superseded:
		return "superseded by a newer one"
	case Unverifiable:
		return "emitted; there is no transcript that could confirm it"
	case TooLate:
		return "too late: the session moved on for more than two turns without it"
	}
	return string(a.State)
}

func (b *Bridge) begunWords(a *Attempt, proved bool) string {
	switch {
	case a.Begin.Mechanism == ByPostCompact:
		return "compacted, and nothing had been prepared; the next prompt rescues it"
	case b.Now().Sub(a.Begin.Time).Abs() < hookTimeout && !processGone(a.Begin.PID):
		return "being prepared now"
	case proved:
		return "PreCompact was cut short, the compaction happened; the next prompt rescues it"
	}
	return "PreCompact was cut short (killed, or out of time), no compaction seen"
}

// hookTimeout is the longest time-out that our hooks are installed with.
const hookTimeout = 30 * time.Second

func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// racedWords says that several hooks ran for one compaction, where the receipts
// show it.
func racedWords(id string, receipts []Receipt) string {
	delivered, lost := 0, 0
	for _, r := range receipts {
		if r.ID != id {
			continue
		}
		switch r.Decision {
		case DidDeliver:
			delivered++
		case DidLose:
			lost++
		}
	}
	if delivered > 0 && lost > 0 {
		return fmt.Sprintf("; %d hooks raced, one delivered", delivered+lost)
	}
	return ""
}

func ranSince(receipts []Receipt, session string, r *Record) bool {
	return slices.ContainsFunc(receipts, func(x Receipt) bool {
		return x.Session == session && x.Event != hooks.PreCompact && r != nil && x.Time.After(r.Prepared)
	})
}

// Receipts reads all receipts from since on, oldest first. A line that can't be
// read is left out.
func (b *Bridge) Receipts(since time.Time) ([]Receipt, error) {
	days, err := os.ReadDir(b.Home.Receipts())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading receipts: %w", err)
	}
	var all []Receipt
	for _, d := range days {
		if !strings.HasSuffix(d.Name(), ".jsonl") || d.Name() < since.UTC().Format(time.DateOnly) {
			continue
		}
		f, err := os.Open(filepath.Join(b.Home.Receipts(), d.Name()))
		if err != nil {
			return all, fmt.Errorf("reading receipts: %w", err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<10)
		for lines.Scan() {
			var r Receipt
			if json.Unmarshal(lines.Bytes(), &r) == nil && !r.Time.Before(since) {
				all = append(all, r)
			}
		}
		f.Close()
	}
	return all, nil
}

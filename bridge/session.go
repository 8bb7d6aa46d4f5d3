package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/folder"
	"github.com/reseat-dev/reseat/packet/transcript"
)

// About is a session's about.json: who the folder belongs to. It is written
// once; the folder's name is only a hash.
type About struct {
	Client     client.Client `json:"client"`
	Session    string        `json:"session"` // the native id
	Transcript string        `json:"transcript,omitempty"`
	CWD        string        `json:"cwd,omitempty"`
	Seen       time.Time     `json:"seen"` // when a hook of ours first saw the session
}

// Begin is what stands in an attempt's state file from the first moment on.
type Begin struct {
	ID        string    `json:"id"`        // the compaction's id, rs-<number>-<8 hex>
	Mechanism string    `json:"mechanism"` // PreCompact, rescue or PostCompact
	Trigger   string    `json:"trigger,omitempty"`
	Turn      string    `json:"turn,omitempty"` // the client's id of the turn
	Version   string    `json:"client_version,omitempty"`
	PID       int       `json:"pid"`
	Time      time.Time `json:"time"`
	Bytes     int64     `json:"bytes"` // the transcript's size then

	// Proof is the boundary that the attempt was begun for, where that was on
	// disk already: a rescue's, or a reported compaction's.
	Proof *transcript.Position `json:"proof,omitempty"`
	// After is the newest attempt that had been claimed when this one was decided
	// on.
	After int `json:"after,omitempty"`
}

// How an attempt came to be.
const (
	ByPreCompact  = "PreCompact"  // the hook before the compaction
	ByRescue      = "rescue"      // evidence of a compaction and no usable attempt
	ByPostCompact = "PostCompact" // the compaction was reported and nothing had been begun
	byRefresh     = "refresh"     // of a packet only
)

// Record is an attempt's record.json: written before the attempt is prepared
// and never changed.
type Record struct {
	ID         string           `json:"id"`
	Client     client.Client    `json:"client"`
	Session    string           `json:"session"`
	Seat       string           `json:"seat,omitempty"`
	Version    string           `json:"client_version,omitempty"`
	Transcript string           `json:"transcript,omitempty"`
	CWD        string           `json:"cwd,omitempty"`
	Mechanism  string           `json:"mechanism"`
	Trigger    string           `json:"trigger,omitempty"`
	Turn       string           `json:"turn,omitempty"`
	PID        int              `json:"pid"`
	Prepared   time.Time        `json:"prepared"`
	Reach      transcript.Reach `json:"reach"`
	Packet     bool             `json:"packet"`           // false: only one honest line could be made
	World      World            `json:"world"`            // what the directive's facts rest on
	Directive  string           `json:"directive"`        // ready to print while the world is the same
	Caveat     string           `json:"caveat,omitempty"` // what went wrong while preparing
	Millis     int64            `json:"ms"`               // what preparing took
}

// Claim is claim1.json or claim2.json: written by the winner before it prints.
type Claim struct {
	Time   time.Time            `json:"time"`
	Event  string               `json:"event"`
	Turn   string               `json:"turn,omitempty"` // the client's id of the event's turn
	PID    int                  `json:"pid"`
	From   State                `json:"from"`            // the state the claim was taken from
	Bytes  int64                `json:"bytes"`           // the transcript's size when the claim was decided
	Proof  *transcript.Position `json:"proof,omitempty"` // the last boundary on disk then, if one proved the compaction
	Newest int                  `json:"newest"`          // the newest attempt that was known when the claim was decided
	Packet string               `json:"packet"`          // "packet" or "packet-2", "" where there is none
	Text   string               `json:"text"`            // the exact directive
}

// Attempt is one folder below c/.
type Attempt struct {
	Number int
	Dir    string
	State  State
	Begin  Begin
	Record *Record         // nil before it is prepared or where it can't be read
	noted  map[State]Claim // what its claims noted, by the state that they led to
	// Changed is when its folder was last changed: the claim's time where the
	// claim hasn't noted one.
	Changed time.Time
}

// ID is the compaction's id.
func (a *Attempt) ID() string {
	if a.Record != nil {
		return a.Record.ID
	}
	return a.Begin.ID
}

// PacketDir is the newest packet of the attempt, "" if it has none.
func (a *Attempt) PacketDir() string {
	for _, name := range []string{"packet-2", "packet"} {
		dir := filepath.Join(a.Dir, name)
		if _, err := os.Lstat(dir); err == nil {
			return dir
		}
	}
	return ""
}

// Claims returns what the attempt's claims noted, oldest first; a claim that
// died before it noted anything is missing.
func (a *Attempt) Claims() []Claim {
	var claims []Claim
	for _, s := range []State{Claimed1, Claimed2} {
		if c, ok := a.note(s); ok {
			claims = append(claims, c)
		}
	}
	return claims
}

// note is what the claim that led to state claimed noted.
func (a *Attempt) note(claimed State) (c Claim, ok bool) {
	c, ok = a.noted[claimed]
	return c, ok
}

// reach is up to where in the transcript the attempt knows: what lies beyond
// happened after it began.
func (a *Attempt) reach() int64 {
	if a.Record != nil {
		return a.Record.Reach.Bytes
	}
	return a.Begin.Bytes
}

// rescuing reports whether the attempt is a rescue that is under way.
func (a *Attempt) rescuing(now time.Time) bool {
	if a.State != Begun || a.Begin.Mechanism != ByRescue {
		return false
	}
	age := now.Sub(a.Begin.Time).Abs()
	return age < rescueLimit+time.Second && !processGone(a.Begin.PID)
}

// rescueLimit is how long a rescue or a refresh may take.
const rescueLimit = 2 * time.Second

const maxRecord = 1 << 20 // bytes of a JSON file of ours that are read

var errTooBig = errors.New("the file is larger than reseat ever writes it")

func readJSON(path string, into any) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxRecord {
		return fmt.Errorf("reading %q: %w", path, errTooBig)
	}
	data := make([]byte, info.Size())
	n, err := io.ReadFull(f, data)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	if err := json.Unmarshal(data[:n], into); err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	return nil
}

// numbers lists the attempts of the session in dir, newest first. A session
// without any gives none and no error.
func numbers(dir string) ([]int, error) {
	names, err := folder.Names(filepath.Join(dir, "c"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing attempts: %w", err)
	}
	var all []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 && attemptName(n) == name {
			all = append(all, n)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i] > all[j] })
	return all, nil
}

// attemptName is an attempt's folder: its number with four digits or more.
func attemptName(n int) string {
	s := strconv.Itoa(n)
	return "0000"[min(4, len(s)):] + s
}

// load reads one attempt. nil without an error: it was pruned.
func load(dir string, n int) (*Attempt, error) {
	a := &Attempt{Number: n, Dir: filepath.Join(dir, "c", attemptName(n))}
	// A transition may happen between finding the name and reading the file:
	// then the new name is there.
	for range looks {
		s, err := stateOf(a.Dir)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		a.State = s
		err = readJSON(filepath.Join(a.Dir, "state."+string(s)), &a.Begin)
		if refused(err) {
			return nil, err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break // what a state file says may be torn; its name counts
		}
	}
	if a.State != Begun {
		var r Record
		switch err := readJSON(filepath.Join(a.Dir, "record.json"), &r); {
		case err == nil:
			a.Record = &r
		case refused(err):
			return nil, err
		}
	}
	switch a.State {
	case Begun, Prepared, Armed:
	default:
		a.noted = map[State]Claim{}
		for _, s := range []State{Claimed1, Claimed2} {
			var c Claim
			switch err := readJSON(noteFile(a, s), &c); {
			case err == nil:
				a.noted[s] = c
			case refused(err):
				return nil, err
			}
		}
	}
	if a.State == Claimed1 || a.State == Claimed2 {
		if info, err := os.Stat(a.Dir); err == nil {
			a.Changed = info.ModTime()
		}
	}
	return a, nil
}

// refused reports whether the system refused to read a file that is there. What
// stands in it isn't known then, and nothing is decided on what isn't known:
// without its record and its claims an attempt looks like one that lost a race.
// A file that is torn is another matter: it stays so.
func refused(err error) bool {
	var errno syscall.Errno
	return errors.As(err, &errno) && !errors.Is(err, fs.ErrNotExist)
}

// looks bounds how often a folder is looked at again in which a rename is going
// on.
const looks = 64

// stateOf finds the state's name. An attempt always has one, but where a file
// system shows a folder in the middle of a rename it may seem to have none.
func stateOf(dir string) (State, error) {
	for range looks {
		names, err := namesIn(dir)
		if err != nil {
			return "", err
		}
		for _, name := range names {
			if s, ok := strings.CutPrefix(name, "state."); ok {
				return State(s), nil
			}
		}
	}
	return "", fmt.Errorf("%q: no state file", dir)
}

func namesIn(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.Readdirnames(-1)
}

// Attempts reads all attempts of the session in dir, newest first.
func Attempts(dir string) ([]*Attempt, error) {
	nums, err := numbers(dir)
	if err != nil {
		return nil, err
	}
	var all []*Attempt
	for _, n := range nums {
		a, err := load(dir, n)
		if err != nil {
			return nil, err
		}
		if a != nil {
			all = append(all, a)
		}
	}
	return all, nil
}

// ReadAbout reads the session folder's about.json.
func ReadAbout(dir string) (About, error) {
	var a About
	err := readJSON(filepath.Join(dir, "about.json"), &a)
	return a, err
}

// move takes the attempt from one state to the next. won is false where
// somebody else was faster: then the attempt isn't in state from any more.
func (b *Bridge) move(a *Attempt, from, to State) (won bool, err error) {
	if !from.MayBecome(to) {
		return false, fmt.Errorf("attempt %d: %s can't become %s", a.Number, from, to)
	}
	err = b.disk.rename(filepath.Join(a.Dir, "state."+string(from)), filepath.Join(a.Dir, "state."+string(to)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("attempt %d: %s to %s: %w", a.Number, from, to, err)
	}
	a.State = to
	return true, nil
}

// take makes an attempt's folder with its state file inside and gives it the
// number n in one rename. fs.ErrExist: the number was taken already, or is free
// only because it was pruned, and others are newer.
func (b *Bridge) take(dir string, n int, begin Begin) (*Attempt, error) {
	begin.ID = fmt.Sprintf("rs-%s-%s", attemptName(n), b.random(4))
	data, err := json.Marshal(begin)
	if err != nil {
		return nil, err
	}
	c := filepath.Join(dir, "c")
	if err := b.disk.mkdir(c); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("beginning an attempt: %w", err)
	}
	temp := filepath.Join(c, "."+attemptName(n)+"."+b.random(8)+".tmp")
	if err := b.disk.mkdir(temp); err != nil {
		return nil, fmt.Errorf("beginning an attempt: %w", err)
	}
	a := &Attempt{Number: n, Dir: filepath.Join(c, attemptName(n)), State: Begun, Begin: begin}
	err = b.disk.create(filepath.Join(temp, "state."+string(Begun)), data)
	if err == nil {
		err = b.disk.rename(temp, a.Dir)
	}
	if err != nil {
		b.disk.remove(temp)
		return nil, fmt.Errorf("beginning attempt %d: %w", n, err)
	}
	if nums, err := numbers(dir); err == nil && len(nums) > 0 && nums[0] > n {
		b.move(a, Begun, Superseded)
		return nil, fmt.Errorf("beginning attempt %d: %w", n, fs.ErrExist)
	}
	return a, nil
}

// session makes the session's folder and its about.json, if they aren't there.
func (b *Bridge) session(about About) (dir string, err error) {
	dir = b.Home.Session(about.Client, about.Session)
	if _, err := os.Lstat(filepath.Join(dir, "about.json")); err == nil {
		return dir, nil
	}
	if err := b.Home.Open(); err != nil {
		return "", err
	}
	if err := b.disk.mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making the session's folder: %w", err)
	}
	about.Seen = b.Now()
	data, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return "", err
	}
	// Two hooks write the same facts; the later one may replace the earlier.
	if err := b.disk.replace(filepath.Join(dir, "about.json"), append(data, '\n')); err != nil {
		return "", fmt.Errorf("making the session's folder: %w", err)
	}
	return dir, nil
}

// Package seat knows who sits where: which session fills which seat, how it
// came there, and who sat there before. It keeps promise 5: an occupant whose
// coming wasn't seen is "unknown", and a seat's name comes from a binding in our
// own state, never from a variable alone.
//
// It delivers nothing and starts nothing.
package seat

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/folder"
	"github.com/reseat-dev/reseat/internal/state"
)

// How a session came to fill a seat.
type How string

// The ways to fill a seat. They are never collapsed.
const (
	Fresh   How = "fresh"
	Resumed How = "resumed"
	Forked  How = "forked"
	Rebuilt How = "rebuilt"
	Unknown How = "unknown"
)

// Occupant is the session that fills a seat.
type Occupant struct {
	Client  client.Client `json:"client"`
	Session string        `json:"session"` // native id
	How     How           `json:"how"`
	Since   time.Time     `json:"since"`
	By      string        `json:"by"`            // what bound it: "launch", "clear", "operator"
	PID     int           `json:"pid,omitempty"` // the client's process, where it was told
}

// Seat is a lasting place.
type Seat struct {
	Address  string     `json:"address"`
	Occupant *Occupant  `json:"occupant"`           // nil: empty
	Before   []Occupant `json:"before,omitempty"`   // who sat there, the last one first, at most 20
	Declared time.Time  `json:"declared,omitempty"` // when the seat was first named
}

const keepBefore = 20

// ErrNone is returned where a seat isn't known.
var ErrNone = errors.New("no such seat")

// ParseAddress checks an address: member@rig, both of letters, digits, ".", "_"
// and "-".
func ParseAddress(s string) (string, error) {
	member, rig, ok := strings.Cut(s, "@")
	if !ok || !plain(member) || !plain(rig) || len(s) > 200 {
		return "", fmt.Errorf("%.60q isn't a seat's address: write member@rig, such as dev-impl@my-rig", s)
	}
	return s, nil
}

func plain(s string) bool {
	if s == "" || strings.Trim(s, ".") == "" {
		return false
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
		default:
			return false
		}
	}
	return true
}

// Rig is the part of an address after the "@".
func Rig(address string) string {
	_, rig, _ := strings.Cut(address, "@")
	return rig
}

func file(home state.Home, address string) string {
	return filepath.Join(home.Seats(), state.Encode(address)+".json")
}

// Load reads one seat; ErrNone where nobody ever sat there.
func Load(home state.Home, address string) (Seat, error) {
	data, err := os.ReadFile(file(home, address))
	if errors.Is(err, fs.ErrNotExist) {
		return Seat{}, fmt.Errorf("%q: %w", address, ErrNone)
	}
	if err != nil {
		return Seat{}, fmt.Errorf("reading the seat: %w", err)
	}
	var s Seat
	if err := json.Unmarshal(data, &s); err != nil {
		return Seat{}, fmt.Errorf("reading %q: %w", file(home, address), err)
	}
	return s, nil
}

// List reads all seats, by address.
func List(home state.Home) ([]Seat, error) {
	names, err := folder.Names(home.Seats())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the seats: %w", err)
	}
	var all []Seat
	var faults error
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(home.Seats(), name))
		var s Seat
		if err == nil && strings.HasSuffix(name, ".json") {
			err = json.Unmarshal(data, &s)
		}
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("reading %q: %w", name, err))
			continue
		}
		if s.Address != "" {
			all = append(all, s)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Address < all[j].Address })
	return all, faults
}

// Bind seats o at address. The one who sat there moves to Before; a session
// fills one seat at a time, so it leaves the one it had.
func Bind(home state.Home, address string, o Occupant) error {
	if _, err := ParseAddress(address); err != nil {
		return err
	}
	if err := home.Open(); err != nil {
		return err
	}
	if err := os.Mkdir(home.Seats(), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("binding the seat: %w", err)
	}
	dir := home.Session(o.Client, o.Session)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("binding the seat: %w", err)
	}
	if had := Of(dir); had != "" && had != address {
		if err := Unbind(home, had); err != nil && !errors.Is(err, ErrNone) {
			return err
		}
	}
	s, err := Load(home, address)
	switch {
	case errors.Is(err, ErrNone):
		s = Seat{Address: address, Declared: o.Since}
	case err != nil:
		return err
	}
	if p := s.Occupant; p != nil && (p.Client != o.Client || p.Session != o.Session) {
		s.Before = slices.Insert(s.Before, 0, *p)
		s.Before = s.Before[:min(len(s.Before), keepBefore)]
		if err := leave(home, *p, address); err != nil {
			return err
		}
	}
	s.Occupant = &o
	if err := save(home, s); err != nil {
		return err
	}
	return durable.WriteFile(link(dir), []byte(address+"\n"), 0o600)
}

// Unbind leaves the seat empty and returns nothing of its history to anybody.
func Unbind(home state.Home, address string) error {
	s, err := Load(home, address)
	if err != nil {
		return err
	}
	if s.Occupant == nil {
		return nil
	}
	if err := leave(home, *s.Occupant, address); err != nil {
		return err
	}
	s.Before = slices.Insert(s.Before, 0, *s.Occupant)
	s.Before = s.Before[:min(len(s.Before), keepBefore)]
	s.Occupant = nil
	return save(home, s)
}

func leave(home state.Home, o Occupant, address string) error {
	dir := home.Session(o.Client, o.Session)
	if Of(dir) != address {
		return nil
	}
	if err := os.Remove(link(dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("unbinding the session: %w", err)
	}
	return nil
}

func save(home state.Home, s Seat) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(file(home, s.Address), append(data, '\n'), 0o600)
}

func link(dir string) string { return filepath.Join(dir, "seat") }

// Of is the address of the seat that the session with the folder dir fills, ""
// if none.
func Of(dir string) string {
	f, err := os.Open(link(dir))
	if err != nil {
		return ""
	}
	defer f.Close()
	buf := make([]byte, 512)
	n, _ := f.Read(buf)
	return strings.TrimSpace(string(buf[:n]))
}

// OfProcess is the seat whose occupant runs in the client's process pid, "" if
// none: after /clear the same process goes on under a new session id.
func OfProcess(home state.Home, c client.Client, pid int) string {
	if pid <= 0 {
		return ""
	}
	all, _ := List(home)
	for _, s := range all {
		if s.Occupant != nil && s.Occupant.Client == c && s.Occupant.PID == pid {
			return s.Address
		}
	}
	return ""
}

// ticket is a nonce's file.
type ticket struct {
	Address string    `json:"address"`
	How     How       `json:"how"`
	Issued  time.Time `json:"issued"`
}

// nonceAge is how long a nonce may be used.
const nonceAge = 24 * time.Hour

// Issue makes a one-time nonce for the next session that a launch starts.
func Issue(home state.Home, address string, how How, now time.Time) (string, error) {
	if _, err := ParseAddress(address); err != nil {
		return "", err
	}
	if err := home.Open(); err != nil {
		return "", err
	}
	if err := os.Mkdir(home.Join("nonces"), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("issuing a nonce: %w", err)
	}
	buf := make([]byte, 16)
	for i := range buf { // ChaCha8, seeded by the system
		buf[i] = byte(rand.Uint32())
	}
	nonce := hex.EncodeToString(buf)
	data, err := json.Marshal(ticket{Address: address, How: how, Issued: now})
	if err != nil {
		return "", err
	}
	return nonce, durable.WriteFile(home.Join("nonces", nonce), data, 0o600)
}

// Redeem uses a nonce up: of all that ask with it, nested clients that
// inherited the variable too, one gets the address.
func Redeem(home state.Home, nonce string, now time.Time) (address string, how How, ok bool) {
	if len(nonce) != 32 || strings.Trim(nonce, "0123456789abcdef") != "" {
		return "", "", false
	}
	mine := home.Join("nonces", nonce+".used")
	if os.Rename(home.Join("nonces", nonce), mine) != nil {
		return "", "", false
	}
	defer os.Remove(mine)
	data, err := os.ReadFile(mine)
	var t ticket
	if err != nil || json.Unmarshal(data, &t) != nil || now.Sub(t.Issued).Abs() > nonceAge {
		return "", "", false
	}
	return t.Address, t.How, true
}

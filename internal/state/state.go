// Package state knows where reseat keeps what it knows: plain files below one
// folder, made to be looked at with ls and cat. It knows paths and names, not
// what the files mean.
package state

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/sha256"
)

// Format is the first line of the file "format" in a state folder.
const Format = "reseat-state 1"

// ErrNewer is returned by Check for a state folder that a newer reseat wrote.
var ErrNewer = errors.New("the state folder was written by a newer reseat")

// Home is the absolute path of a state folder.
type Home string

// Locate finds the state folder: the value of --home if it isn't empty, else
// $RESEAT_HOME, else $XDG_STATE_HOME/reseat, else ~/.local/state/reseat
// (Windows: %LOCALAPPDATA%\reseat). Nothing is created.
func Locate(flag string, getenv func(string) string) (Home, error) {
	if flag != "" {
		return absolute(flag)
	}
	if dir := getenv("RESEAT_HOME"); strings.TrimSpace(dir) != "" {
		return absolute(dir)
	}
	if runtime.GOOS == "windows" {
		if dir := getenv("LOCALAPPDATA"); dir != "" {
			return absolute(filepath.Join(dir, "reseat"))
		}
	}
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return absolute(filepath.Join(dir, "reseat"))
	}
	home := getenv("HOME")
	if home == "" {
		return "", errors.New("no state folder: neither --home, RESEAT_HOME nor HOME is set")
	}
	return absolute(filepath.Join(home, ".local", "state", "reseat"))
}

func absolute(dir string) (Home, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("state folder %q: %w", dir, err)
	}
	return Home(abs), nil
}

// Join returns a path below the state folder.
func (h Home) Join(parts ...string) string {
	return filepath.Join(append([]string{string(h)}, parts...)...)
}

// Sessions is the folder with one folder a session.
func (h Home) Sessions() string { return h.Join("s") }

// Session is the folder of one session. Its name is injective: two sessions,
// whatever letters their ids hold, never share it.
func (h Home) Session(c client.Client, id string) string {
	return h.Join("s", SessionName(c, id))
}

// SessionName is the name of a session's folder: the client, up to eight safe
// letters of the id for a person's eyes, and 32 hex digits of
// sha256(client NUL id).
func SessionName(c client.Client, id string) string {
	sum := sha256.Sum256([]byte(string(c) + "\x00" + id))
	prefix := make([]byte, 0, 8)
	for i := 0; i < len(id) && len(prefix) < cap(prefix); i++ {
		b := id[i]
		switch {
		case b >= 'a' && b <= 'z' || b >= '0' && b <= '9':
			prefix = append(prefix, b)
		case b >= 'A' && b <= 'Z':
			prefix = append(prefix, b+'a'-'A')
		}
	}
	if len(prefix) == 0 {
		prefix = append(prefix, 'x')
	}
	return string(c) + "-" + string(prefix) + "-" + hex.EncodeToString(sum[:16])
}

// Seats, Receipts, Backups, Plugins, Trash and Off are the other folders.
func (h Home) Seats() string    { return h.Join("seats") }
func (h Home) Receipts() string { return h.Join("receipts") }
func (h Home) Backups() string  { return h.Join("backups") }
func (h Home) Plugins() string  { return h.Join("plugins") }
func (h Home) Trash() string    { return h.Join("trash") }
func (h Home) Off() string      { return h.Join("off") }

// Check reports whether the state folder may be used by this version: nil also
// for one that doesn't exist yet, ErrNewer for one of another format.
func (h Home) Check() error {
	line, err := h.format()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("reading the state's format: %w", err)
	case line != "" && line != Format:
		return fmt.Errorf("%q says %q, this version knows %q: %w", h.Join("format"), line, Format, ErrNewer)
	}
	return nil
}

// Open makes the state folder ready to be written: it exists, is private, and
// carries the format. It returns what Check returns.
func (h Home) Open() error {
	if line, err := h.format(); err == nil && line == Format {
		return nil
	}
	if err := h.Check(); err != nil {
		return err
	}
	if err := os.MkdirAll(string(h), 0o700); err != nil {
		return fmt.Errorf("making the state folder: %w", err)
	}
	if err := os.Chmod(string(h), 0o700); err != nil {
		return fmt.Errorf("making the state folder private: %w", err)
	}
	for _, dir := range []string{h.Sessions(), h.Receipts()} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making the state folder: %w", err)
		}
	}
	f, err := os.CreateTemp(string(h), "format.*.tmp")
	if err != nil {
		return fmt.Errorf("marking the state folder: %w", err)
	}
	_, err = f.WriteString(Format + "\n")
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), h.Join("format"))
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("marking the state folder: %w", err)
	}
	return nil
}

// format is the first line of the format file; an empty file, which a power
// loss can leave, counts as one that says nothing.
func (h Home) format() (string, error) {
	f, err := os.Open(h.Join("format"))
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, 64)
	n, err := f.Read(buf)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	line, _, _ := strings.Cut(string(buf[:n]), "\n")
	return strings.TrimSpace(line), nil
}

// Encode makes a file name of a seat's address or another free text. It is
// injective: letters, digits, "-", "_" and "@" stand for themselves, every
// other byte is %XX, and a long name ends in its hash.
func Encode(s string) string {
	const digits = "0123456789abcdef"
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		b := s[i]
		switch {
		case b >= 'a' && b <= 'z', b >= '0' && b <= '9', b == '-', b == '_', b == '@':
			out = append(out, b)
		default:
			out = append(out, '%', digits[b>>4], digits[b&0xf])
		}
	}
	if len(out) > 120 {
		sum := sha256.Sum256([]byte(s))
		return string(out[:80]) + "%%" + hex.EncodeToString(sum[:16])
	}
	return string(out)
}

package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
)

// Pin is what a person allowed: this program, with these bytes.
type Pin struct {
	Client      string    `json:"client"`
	Path        string    `json:"path"`                  // absolute, links resolved
	SHA256      string    `json:"sha256"`                // of the program, lower-case hex
	Environment []string  `json:"environment,omitempty"` // variables it may have besides the base list
	AllowedAt   time.Time `json:"allowed_at"`
}

// pinSuffix ends the name of a pin's file beside the adapters of the state
// folder: one file a client, so that allowing one never touches another.
const pinSuffix = ".pin.json"

// ReadPins reads every pin, by client. A pin that can't be read is an error: it
// may not pass for one that was never given.
func ReadPins(h state.Home) (map[string]Pin, error) {
	pins := map[string]Pin{}
	if h == "" {
		return pins, nil
	}
	entries, err := os.ReadDir(h.Plugins())
	if errors.Is(err, fs.ErrNotExist) {
		return pins, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading pins: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), pinSuffix)
		if !ok || !validName(name) {
			continue
		}
		path := filepath.Join(h.Plugins(), e.Name())
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("reading pins: %w", err)
		}
		pin, err := parsePin(data)
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", path, err)
		}
		if pin.Client != name {
			return nil, fmt.Errorf("reading %q: it is for client %q", path, pin.Client)
		}
		pins[name] = pin
	}
	return pins, nil
}

func parsePin(data []byte) (Pin, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var pin Pin
	if err := d.Decode(&pin); err != nil {
		return Pin{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Pin{}, errors.New("something follows the pin")
	}
	if sum, err := hex.DecodeString(pin.SHA256); err != nil || len(sum) != sha256.Size || strings.ToLower(pin.SHA256) != pin.SHA256 {
		return Pin{}, fmt.Errorf("sha256 %q isn't a checksum", pin.SHA256)
	}
	if !filepath.IsAbs(pin.Path) {
		return Pin{}, fmt.Errorf("path %q isn't absolute", pin.Path)
	}
	return pin, nil
}

// Allow pins an adapter as it is now, on a person's word.
func Allow(h state.Home, a Adapter, environment []string, now time.Time) (Pin, error) {
	if err := safe(a.Path); err != nil {
		return Pin{}, err
	}
	sum, err := Checksum(a.Path)
	if err != nil {
		return Pin{}, err
	}
	pin := Pin{Client: a.Client, Path: a.Path, SHA256: hex.EncodeToString(sum), Environment: environment, AllowedAt: now.UTC()}
	data, err := json.MarshalIndent(pin, "", "  ")
	if err != nil {
		return Pin{}, err
	}
	if _, err := durable.MakeDirs(h.Plugins(), 0o700); err != nil {
		return Pin{}, err
	}
	return pin, durable.WriteFile(filepath.Join(h.Plugins(), a.Client+pinSuffix), append(data, '\n'), 0o600)
}

// Checksum is the SHA-256 of a program.
func Checksum(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("checksum: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, fmt.Errorf("checksum of %q: %w", path, err)
	}
	return h.Sum(nil), nil
}

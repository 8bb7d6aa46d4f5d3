// Package host finds runtime adapters, starts them and asks them.
//
// An adapter is a program, possibly a stranger's. It gets a short list of
// variables, no stdin of ours, little time to start and bounded messages; one
// that isn't ours runs only while it is, byte for byte, what a person allowed.
// Whatever it does, a call here returns: a crash or a hang of an adapter is an
// outcome, never a hang of ours.
//
// It is not a supervisor: an adapter lives as long as one command needs it.
package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/state"
)

// Prefix begins the file name of every adapter program; the client's word
// follows.
const Prefix = "reseat-runtime-"

// Origin says where an adapter was found, in the order in which one hides
// another of the same client.
type Origin string

// The origins.
const (
	FromConfig  Origin = "config"  // named in the configuration
	FromHome    Origin = "home"    // in the state folder's plugins/
	FromPackage Origin = "package" // beside reseat
)

// Adapter is an adapter program that was found.
type Adapter struct {
	Client string `json:"client"` // by its file name or configuration; Describe may contradict
	Path   string `json:"path"`   // absolute, links resolved
	Origin Origin `json:"origin"`
	Ours   bool   `json:"ours"`             // replaced with the package, not pinned
	Hidden bool   `json:"hidden,omitempty"` // another of the same client comes first
	Pin    *Pin   `json:"pin,omitempty"`
	Refuse error  `json:"-"` // why it won't be started; nil if it will
}

// Place says where to look. The zero value finds nothing.
type Place struct {
	Beside     string     // folder of the running reseat, links resolved
	Home       state.Home // its plugins/ folder and the pins
	Configured []string   // absolute paths of programs named reseat-runtime-<client>
}

// Find lists the adapters of every place, sorted by client, the one that is used
// first. It starts none. A folder that isn't there holds none.
func Find(p Place) ([]Adapter, error) {
	var found []Adapter
	for _, path := range p.Configured {
		name, ok := clientOf(filepath.Base(path))
		if !ok {
			return nil, fmt.Errorf("adapter %q: its name doesn't begin with %s and the client's word", path, Prefix)
		}
		found = append(found, Adapter{Client: name, Path: path, Origin: FromConfig})
	}
	for _, dir := range []struct {
		path   string
		origin Origin
	}{{pluginsDir(p.Home), FromHome}, {p.Beside, FromPackage}} {
		in, err := list(dir.path, dir.origin)
		if err != nil {
			return nil, err
		}
		found = append(found, in...)
	}
	pins, err := ReadPins(p.Home)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i] = judge(found[i], pins)
	}
	sort.SliceStable(found, func(i, j int) bool {
		if found[i].Client != found[j].Client {
			return found[i].Client < found[j].Client
		}
		return rank(found[i].Origin) < rank(found[j].Origin)
	})
	for i := 1; i < len(found); i++ {
		found[i].Hidden = found[i].Client == found[i-1].Client
	}
	return found, nil
}

// For returns the adapter that is used for a client.
func For(found []Adapter, name string) (Adapter, bool) {
	i := slices.IndexFunc(found, func(a Adapter) bool { return a.Client == name && !a.Hidden })
	if i < 0 {
		return Adapter{}, false
	}
	return found[i], true
}

func pluginsDir(h state.Home) string {
	if h == "" {
		return ""
	}
	return h.Plugins()
}

func rank(o Origin) int { return slices.Index([]Origin{FromConfig, FromHome, FromPackage}, o) }

func list(dir string, origin Origin) ([]Adapter, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for adapters: %w", err)
	}
	var found []Adapter
	for _, e := range entries {
		if name, ok := clientOf(e.Name()); ok {
			found = append(found, Adapter{Client: name, Path: filepath.Join(dir, e.Name()), Origin: origin})
		}
	}
	return found, nil
}

// clientOf takes the client's word from an adapter's file name.
func clientOf(file string) (name string, ok bool) {
	name, ok = strings.CutPrefix(file, Prefix)
	if runtime.GOOS == "windows" {
		name = strings.TrimSuffix(name, ".exe")
	}
	return name, ok && validName(name)
}

// validName accepts a client's word: it becomes a file name and a --runtime
// value.
func validName(s string) bool {
	if s == "" || len(s) > 32 {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' {
			return false
		}
	}
	return true
}

// judge resolves an adapter's path and says whether it may run.
func judge(a Adapter, pins map[string]Pin) Adapter {
	real, err := filepath.EvalSymlinks(a.Path)
	if err != nil {
		a.Refuse = fmt.Errorf("adapter %q: %w", a.Path, err)
		return a
	}
	a.Path = real
	a.Ours = a.Origin == FromPackage && slices.Contains(client.All(), client.Client(a.Client))
	if pin, ok := pins[a.Client]; ok && pin.Path == real {
		a.Pin = &pin
	}
	a.Refuse = safe(real)
	if a.Refuse == nil && !a.Ours && a.Pin == nil {
		a.Refuse = &RefusedError{Path: real, Reason: "it isn't ours and nobody allowed it yet", Remedy: allowHint(a.Client)}
	}
	return a
}

// RefusedError says why an adapter isn't started and what a person can do.
type RefusedError struct {
	Path   string
	Reason string
	Remedy string
}

func (e *RefusedError) Error() string { return fmt.Sprintf("adapter %q: %s", e.Path, e.Reason) }

// Hint is the remedy, in words with the command to run.
func (e *RefusedError) Hint() string { return e.Remedy }

func allowHint(name string) string {
	return fmt.Sprintf("look at it, then allow it: reseat plugin verify %s --allow", name)
}

// safe refuses a program that somebody else could have put there or could
// change between our look and the start.
func safe(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("adapter %q: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return &RefusedError{Path: path, Reason: "it isn't a regular file", Remedy: "put the program itself there"}
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o111 == 0 {
		return &RefusedError{Path: path, Reason: "it isn't executable", Remedy: "chmod u+x " + path}
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(p)
		if err != nil {
			return fmt.Errorf("adapter %q: %w", path, err)
		}
		if reason := othersCanWrite(info); reason != "" {
			return &RefusedError{Path: path, Reason: fmt.Sprintf("%q %s", p, reason), Remedy: "chmod go-w " + p}
		}
	}
	return nil
}

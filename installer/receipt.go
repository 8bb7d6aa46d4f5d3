package installer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/internal/state"
)

// A Receipt is what an install leaves in the state for the uninstall: one for
// each configuration file with entries of ours.
type Receipt struct {
	Client    client.Client `json:"client"`
	Scope     Scope         `json:"scope"`
	Path      string        `json:"path"`
	Installed time.Time     `json:"installed"`
	// Existed: the file was there before. Dirs are the folders made for it.
	Existed bool     `json:"existed"`
	Dirs    []string `json:"dirs,omitempty"`
	// Before is the copy of the file as it was without any entry of ours, by its
	// name in the backups; empty where no such moment is known.
	Before    string `json:"before,omitempty"`
	BeforeSum string `json:"before_sha256,omitempty"`
	// AfterSum is the file's hash after the last install.
	AfterSum string `json:"after_sha256"`
	Undo     Undo   `json:"undo"`
}

// keepBackups is how many copies of one file are kept, apart from the one that a
// receipt names.
const keepBackups = 5

// receiptName is the file of a receipt.
func receiptName(home state.Home, c client.Client, path string) string {
	return filepath.Join(home.Backups(), string(c)+"-"+shortSum([]byte(path))+".receipt.json")
}

func shortSum(data []byte) string { return sumOf(data)[:16] }

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// loadReceipt reads the receipt of a file; nil if there is none.
func loadReceipt(home state.Home, c client.Client, path string) (*Receipt, error) {
	return readReceipt(receiptName(home, c, path))
}

func readReceipt(name string) (*Receipt, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading a receipt: %w", err)
	}
	r := &Receipt{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("reading the receipt %q: %w", name, err)
	}
	return r, nil
}

func (r *Receipt) save(home state.Home) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("writing a receipt: %w", err)
	}
	return durable.WriteFile(receiptName(home, r.Client, r.Path), append(data, '\n'), 0o600)
}

func (r *Receipt) remove(home state.Home) error {
	err := os.Remove(receiptName(home, r.Client, r.Path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing a receipt: %w", err)
	}
	return nil
}

// Receipts lists what is installed as far as the state knows, by client and
// path. A receipt that can't be read is reported, the others are listed.
func Receipts(home state.Home) ([]Receipt, error) {
	names, err := filepath.Glob(filepath.Join(globEscape(home.Backups()), "*.receipt.json"))
	if err != nil {
		return nil, fmt.Errorf("listing receipts: %w", err)
	}
	var list []Receipt
	var errs []error
	for _, name := range names {
		r, err := readReceipt(name)
		if err != nil {
			errs = append(errs, err)
		} else if r != nil {
			list = append(list, *r)
		}
	}
	slices.SortFunc(list, func(a, b Receipt) int {
		return cmp.Or(strings.Compare(string(a.Client), string(b.Client)), strings.Compare(a.Path, b.Path))
	})
	return list, errors.Join(errs...)
}

// globEscape keeps Glob from reading a path as a pattern.
func globEscape(path string) string {
	return strings.NewReplacer(`*`, `[*]`, `?`, `[?]`, `[`, `[[]`).Replace(path)
}

// backup keeps a copy of a file's bytes in the state and returns its name there.
// The name says the file, the time, and the content.
func backup(home state.Home, path string, data []byte, now time.Time) (string, error) {
	name := backupPrefix(path) + now.UTC().Format("20060102T150405Z") + "." + shortSum(data)
	return name, durable.WriteFile(filepath.Join(home.Backups(), name), data, 0o600)
}

func backupPrefix(path string) string {
	return filepath.Base(path) + "." + shortSum([]byte(path))[:8] + "."
}

// pruneBackups removes the oldest copies of a file beyond keepBackups; keep is
// the one that a receipt names.
func pruneBackups(home state.Home, path, keep string) error {
	entries, err := os.ReadDir(home.Backups())
	if err != nil {
		return fmt.Errorf("pruning backups: %w", err)
	}
	var names []string // the oldest first: the time is in the name
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), backupPrefix(path)) && entry.Name() != keep {
			names = append(names, entry.Name())
		}
	}
	for i := 0; i < len(names)-keepBackups; i++ {
		if err := os.Remove(filepath.Join(home.Backups(), names[i])); err != nil {
			return fmt.Errorf("pruning backups: %w", err)
		}
	}
	return nil
}

// original is the file as it was before the install, if this receipt knows it
// and now is exactly what the install left. existed is false if there was no
// file.
func (r *Receipt) original(home state.Home, now []byte) (data []byte, existed, ok bool) {
	if r == nil || sumOf(now) != r.AfterSum {
		return nil, false, false
	}
	if !r.Existed {
		return nil, false, true
	}
	if r.Before == "" || r.Before != filepath.Base(r.Before) {
		return nil, false, false
	}
	data, err := os.ReadFile(filepath.Join(home.Backups(), r.Before))
	return data, true, err == nil && sumOf(data) == r.BeforeSum
}

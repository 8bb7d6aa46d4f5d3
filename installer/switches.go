package installer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/reseat-dev/reseat/internal/client"
)

// A Switch is a setting with which somebody turned hooks off. It is theirs: it
// is told, never flipped.
type Switch struct {
	Path   string `json:"path"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Name   string `json:"name"`
	// Managed: an administrator's file.
	Managed bool   `json:"managed,omitempty"`
	Hint    string `json:"hint"`
}

// Switches lists the settings that keep hooks of the user's from running in
// client c, as they concern work in o.Project.
func Switches(o Options, c client.Client) ([]Switch, error) {
	if c == client.Codex {
		return codexSwitches(o)
	}
	return claudeSwitches(o)
}

// ClaudeManaged lists the files in which an administrator keeps settings.
func ClaudeManaged(root string) []string {
	dir := "/etc/claude-code"
	switch runtime.GOOS {
	case "darwin":
		dir = "/Library/Application Support/ClaudeCode"
	case "windows":
		dir = `C:\Program Files\ClaudeCode`
	}
	dir = filepath.Join(root, dir)
	files := []string{filepath.Join(dir, "managed-settings.json")}
	more, _ := filepath.Glob(filepath.Join(dir, "managed-settings.d", "*.json"))
	return append(files, more...)
}

// CodexManaged lists an administrator's files for Codex: requirements first, then
// configurations by rising precedence.
func CodexManaged(root string) []string {
	dir := filepath.Join(root, "/etc/codex")
	return []string{filepath.Join(dir, "requirements.toml"), filepath.Join(dir, "config.toml"), filepath.Join(dir, "managed_config.toml")}
}

func claudeSwitches(o Options) ([]Switch, error) {
	var list []Switch
	managed := ClaudeManaged(o.Root)
	files := slices.Concat(managed, claudeFiles(o))
	for _, path := range files {
		data, err := readConfiguration(path)
		if err != nil {
			return list, err
		}
		isManaged := slices.Contains(managed, path)
		for _, name := range []string{"disableAllHooks", "allowManagedHooksOnly"} {
			if name == "allowManagedHooksOnly" && !isManaged {
				continue // counts in an administrator's file only
			}
			if line, column, on := jsonSwitch(data, name); on {
				hint := "set it to false or remove it, if you want hooks"
				if isManaged {
					hint = "an administrator's setting: ask them"
				}
				list = append(list, Switch{Path: path, Line: line, Column: column, Name: name, Managed: isManaged, Hint: hint})
			}
		}
	}
	return list, nil
}

// readConfiguration reads a file that is only looked at; empty if it isn't there
// or isn't one (what is odd about it is told where it is to be edited).
func readConfiguration(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 16<<20 {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("looking for switches: %w", err)
	}
	return data, nil
}

// claudeFiles are the settings of the user and the project, by rising
// precedence.
func claudeFiles(o Options) []string {
	var files []string
	for _, scope := range []Scope{User, Project, Local} {
		if found, err := o.files(client.Claude, scope); err == nil {
			files = append(files, found...)
		}
	}
	return files
}

// jsonSwitch tells whether a settings file has a name set to true at its top, and
// where.
func jsonSwitch(data []byte, name string) (line, column int, on bool) {
	_, body := cutBOM(data)
	var top map[string]json.RawMessage
	if json.Unmarshal(body, &top) != nil || string(top[name]) != "true" {
		return 0, 0, false
	}
	if t, err := parseJSON(body); err == nil {
		if v, err := t.member(&t.root, "", name); err == nil && v != nil {
			line, column = position(body, v.StartOffset)
		}
	}
	return line, column, true
}

func codexSwitches(o Options) ([]Switch, error) {
	managed := CodexManaged(o.Root)
	user, err := o.files(client.Codex, User)
	if err != nil {
		return nil, err
	}
	var list []Switch
	inForce := map[string]Switch{} // of features.hooks, by rising precedence
	for _, path := range []string{managed[1], user[0], managed[2], managed[0]} {
		data, err := readConfiguration(path)
		if err != nil {
			return list, err
		}
		_, body := cutBOM(data)
		tree, err := decodeTOML(body)
		if err != nil {
			continue // what is broken is refused elsewhere, if it is to be edited
		}
		isManaged := slices.Contains(managed, path)
		hint := "set it to true or remove it, if you want hooks"
		if isManaged {
			hint = "an administrator's setting: ask them"
		}
		found := func(key ...string) Switch {
			line, column := placeIn(body, key)
			return Switch{Path: path, Line: line, Column: column, Name: strings.Join(key, "."), Managed: isManaged, Hint: hint}
		}
		for _, name := range codexFeatures {
			if on, set := lookup(tree, "features", name).(bool); set && on {
				delete(inForce, name)
			} else if set {
				inForce[name] = found("features", name)
			}
		}
		if only, _ := tree["allow_managed_hooks_only"].(bool); only && path == managed[0] {
			list = append(list, found("allow_managed_hooks_only"))
		}
	}
	for _, name := range codexFeatures {
		if s, off := inForce[name]; off {
			list = append(list, s)
		}
	}
	return list, nil
}

// codexFeatures are the names of Codex's switch for hooks, the old one last.
var codexFeatures = []string{"hooks", "codex_hooks"}

func placeIn(body []byte, path []string) (line, column int) {
	t, err := parseTOML(body)
	if err != nil {
		return 0, 0
	}
	return position(body, t.placeOf(path))
}

// refusal turns a switch that stands in the way of an install into one.
func (s Switch) refusal(c client.Client) *Refusal {
	return &Refusal{Client: c, Path: s.Path, Line: s.Line, Column: s.Column, Reason: "hooks are switched off here (" + s.Name + ")", Hint: s.Hint}
}

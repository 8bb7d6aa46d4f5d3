package claude

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
	"github.com/tidwall/gjson"

	"github.com/reseat-dev/reseat/internal/durable"
	"github.com/reseat-dev/reseat/plugins"
)

// settingsArg is one --settings on a command line.
type settingsArg struct {
	index int // of its first argument
	count int // 1 for --settings=X, 2 for --settings X
	value string
}

// findSettings finds every --settings before a "--".
func findSettings(args []string) []settingsArg {
	var found []settingsArg
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if value, ok := strings.CutPrefix(args[i], "--settings="); ok {
			found = append(found, settingsArg{i, 1, value})
		} else if args[i] == "--settings" && i+1 < len(args) {
			found = append(found, settingsArg{i, 2, args[i+1]})
			i++
		}
	}
	return found
}

// readSettings takes the value of --settings as the client does: JSON, or else
// the path of a file, relative to cwd.
func readSettings(value, cwd string) (text string, file bool, err error) {
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		text = value
	} else {
		path := value
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return "", true, fmt.Errorf("reading the settings given with --settings: %w", err)
		}
		text, file = string(data), true
	}
	if !gjson.Valid(text) || !gjson.Parse(text).IsObject() {
		return "", file, errors.New("reading the settings given with --settings: not a JSON object")
	}
	return text, file, nil
}

// Launch makes the client's command line. With IdleCompactionOff the one
// --settings value that the client will take carries idleCompaction false; all
// else of the person's line stays as it is.
func (a *Adapter) Launch(_ context.Context, r plugins.LaunchRequest) (plugins.Launch, error) {
	program := a.program
	launch := plugins.Launch{Environment: r.Environment}
	if program == "" {
		program = "claude"
		launch.Caveats = append(launch.Caveats, "no claude was found on the PATH")
	}
	args := slices.Clone(r.Arguments)
	if r.IdleCompactionOff {
		var err error
		if args, err = a.withoutIdleCompaction(args, r.CWD, &launch); err != nil {
			return plugins.Launch{}, err
		}
	}
	launch.Command = append([]string{program}, args...)
	return launch, nil
}

func (a *Adapter) withoutIdleCompaction(args []string, cwd string, launch *plugins.Launch) ([]string, error) {
	launch.IdleCompactionOff = true
	if version := versionOf(a.program); before(version, idleCompactionSince) {
		launch.Caveats = append(launch.Caveats, fmt.Sprintf("Claude Code %s ignores idleCompaction: it came with 2.1.290", version))
	}
	const off = `{"idleCompaction":false}`
	given := findSettings(args)
	if len(given) == 0 {
		return append([]string{"--settings", off}, args...), nil
	}
	if len(given) > 1 {
		launch.Caveats = append(launch.Caveats, "--settings is given more than once: the client takes only the last, so the others are left out")
	}
	last := given[len(given)-1]
	text, file, err := readSettings(last.value, cwd)
	if err != nil {
		return nil, err
	}
	merged, err := setFalse(text, "idleCompaction")
	if err != nil {
		return nil, err
	}
	if file {
		// Its text may hold secrets, which have no place on a command line.
		if merged, err = a.keepSettings(merged); err != nil {
			return nil, err
		}
	}
	for _, g := range slices.Backward(given) {
		replacement := []string{}
		if g.index == last.index {
			replacement = []string{"--settings", merged}
		}
		args = slices.Replace(args, g.index, g.index+g.count, replacement...)
	}
	return args, nil
}

// keepSettings puts merged settings into a file of our own and returns its
// path. The same text is the same file.
func (a *Adapter) keepSettings(text string) (path string, err error) {
	if a.home == "" {
		return "", errors.New("no state folder to keep the merged settings in")
	}
	dir := a.home.Join("plugins", "claude")
	if _, err := durable.MakeDirs(dir, 0o700); err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(text))
	path = filepath.Join(dir, "settings-"+hex.EncodeToString(sum[:8])+".json")
	if isFile(path) {
		if have, err := os.ReadFile(path); err == nil && string(have) == text {
			return path, nil
		}
	}
	return path, durable.WriteFile(path, []byte(text), 0o600)
}

// setFalse sets one top-level member of a JSON object to false and leaves every
// other byte as it is. Where the name stands more than once all are set: which
// one a reader takes differs.
func setFalse(text, name string) (string, error) {
	value, err := hujson.Parse([]byte(text))
	if err != nil {
		return "", fmt.Errorf("reading the settings given with --settings: %w", err)
	}
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		return "", errors.New("reading the settings given with --settings: not a JSON object")
	}
	set := false
	for i := range object.Members {
		if literal, ok := object.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			object.Members[i].Value.Value = hujson.Bool(false)
			set = true
		}
	}
	if !set {
		object.Members = append(object.Members, hujson.ObjectMember{
			Name:  hujson.Value{Value: hujson.String(name)},
			Value: hujson.Value{Value: hujson.Bool(false)},
		})
	}
	return string(value.Pack()), nil
}

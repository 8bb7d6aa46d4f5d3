package installer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// askTimeout bounds a question to a codex program.
const askTimeout = 15 * time.Second

// Listed is a hook as Codex itself reports it (hooks/list of its app-server).
type Listed struct {
	Key         string `json:"key"`
	EventName   string `json:"eventName"`
	Command     string `json:"command"`
	CurrentHash string `json:"currentHash"`
	TrustStatus string `json:"trustStatus"`
	Enabled     bool   `json:"enabled"`
	SourcePath  string `json:"sourcePath"`
}

// toApprove lists the approvals for our entries in a configuration, if they are
// asked for, after a codex program (where there is one) confirmed them.
func (o Options) toApprove(data []byte, w Wanted, isJSON bool) ([]Approval, error) {
	if !o.TrustHooks {
		return nil, nil
	}
	all, err := configured(data, isJSON)
	if err != nil {
		return nil, err
	}
	list := approvalsOf(all, w)
	program := o.codex()
	if program == "" {
		return list, nil
	}
	return list, confirm(program, all, list, w.File)
}

// Approvals lists the approvals that our entries in a config.toml need; w.File is
// the path under which Codex knows it.
func Approvals(data []byte, w Wanted) ([]Approval, error) {
	all, err := configured(data, false)
	return approvalsOf(all, w), err
}

func approvalsOf(all []Configured, w Wanted) (list []Approval) {
	for _, c := range all {
		if w.owns(c.Event, c.Matcher, c.Kind, c.Command) {
			list = append(list, Approval{Event: c.Event, Key: place{c.Event, c.Group, c.Index}.key(w.File), Hash: c.Hash()})
		}
	}
	return list
}

// configured lists the hooks of a config.toml or hooks.json in Codex's order.
func configured(data []byte, isJSON bool) ([]Configured, error) {
	if isJSON {
		root, err := readTree(data)
		if err != nil {
			return nil, fmt.Errorf("reading hooks: %w", err)
		}
		return root.configured(), nil
	}
	_, body := cutBOM(data)
	tree, err := decodeTOML(body)
	if err != nil {
		return nil, fmt.Errorf("reading hooks: %w", err)
	}
	return configuredTOML(tree), nil
}

// confirm shows the hooks to codex in a throw-away home and compares its keys
// and hashes with ours.
func confirm(program string, all []Configured, approvals []Approval, file string) error {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	listed, home, err := listHooks(ctx, program, all)
	if err != nil {
		return &Refusal{Path: program, Reason: "the approval can't be checked with this codex: " + err.Error(), Hint: "approve the hooks in Codex itself (/hooks)"}
	}
	asked := filepath.Join(home, "config.toml")
	for _, a := range approvals {
		key := asked + strings.TrimPrefix(a.Key, file)
		i := slices.IndexFunc(listed, func(l Listed) bool { return l.Key == key })
		if i < 0 || listed[i].CurrentHash != a.Hash {
			return &Refusal{Path: program, Reason: fmt.Sprintf("this codex knows our hook at %s by another key or hash than computed", a.Event), Hint: "approve the hooks in Codex itself (/hooks)"}
		}
	}
	return nil
}

// listHooks asks a codex program which hooks it sees in a throw-away home that
// holds a copy of these, and returns that home.
func listHooks(ctx context.Context, program string, all []Configured) (listed []Listed, home string, err error) {
	dir, err := os.MkdirTemp("", "reseat-ask-")
	if err != nil {
		return nil, "", fmt.Errorf("making a throw-away home: %w", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, "", fmt.Errorf("making a throw-away home: %w", err)
	}
	home = filepath.Join(dir, ".codex")
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, "", fmt.Errorf("making a throw-away home: %w", err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(copyOf(all)), 0o600); err != nil {
		return nil, "", fmt.Errorf("making a throw-away home: %w", err)
	}
	listed, err = ListHooks(ctx, program, []string{"HOME=" + dir, "CODEX_HOME=" + home, "PATH=" + os.Getenv("PATH")}, dir)
	return listed, home, err
}

// copyOf writes hooks as a config.toml in which each has the same place and
// content.
func copyOf(all []Configured) string {
	var b strings.Builder
	group := place{index: -1}
	for _, c := range all {
		if c.Event != group.event {
			group = place{event: c.Event, group: -1}
		}
		for ; group.group < c.Group; group.group++ {
			fmt.Fprintf(&b, "[[hooks.%s]]\n", c.Event)
			if group.group+1 == c.Group && c.Matcher != nil {
				fmt.Fprintf(&b, "matcher = %s\n", tomlBasic(*c.Matcher))
			}
		}
		fmt.Fprintf(&b, "[[hooks.%s.hooks]]\ntype = \"command\"\ncommand = %s\nasync = %t\n", c.Event, tomlBasic(c.Command), c.Async)
		if c.Timeout != nil {
			b.WriteString("timeout = " + strconv.FormatInt(*c.Timeout, 10) + "\n")
		}
		if c.StatusMessage != nil {
			b.WriteString("statusMessage = " + tomlBasic(*c.StatusMessage) + "\n")
		}
		if c.ContextLimit != nil {
			b.WriteString("additionalContextLimit = " + strconv.FormatInt(*c.ContextLimit, 10) + "\n")
		}
	}
	return b.String()
}

// ListHooks starts "codex app-server" with the environment env and asks it for
// the hooks that hold in the folder cwd. No model is called.
func ListHooks(ctx context.Context, program string, env []string, cwd string) ([]Listed, error) {
	cmd := exec.CommandContext(ctx, program, "app-server")
	cmd.Env, cmd.Dir = env, cwd
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s app-server: %w", program, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s app-server: %w", program, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s app-server: %w", program, err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	s := &appServer{in: in, out: bufio.NewReaderSize(out, 64<<10)}
	if err := s.call(1, "initialize", map[string]any{"clientInfo": map[string]string{"name": "reseat", "version": "1"}, "capabilities": map[string]bool{"experimentalApi": true}}, nil); err != nil {
		return nil, err
	}
	if err := s.send(map[string]any{"method": "initialized"}); err != nil {
		return nil, err
	}
	var result struct {
		Data []struct {
			Hooks  []Listed `json:"hooks"`
			Errors []any    `json:"errors"`
		} `json:"data"`
	}
	if err := s.call(2, "hooks/list", map[string]any{"cwds": []string{cwd}}, &result); err != nil {
		return nil, err
	}
	var list []Listed
	for _, d := range result.Data {
		list = append(list, d.Hooks...)
	}
	return list, nil
}

// appServer speaks Codex's protocol: JSON-RPC, a message a line.
type appServer struct {
	in  io.Writer
	out *bufio.Reader
}

func (s *appServer) send(message any) error {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = s.in.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("asking codex: %w", err)
	}
	return nil
}

// call sends a request and waits for its answer; what else arrives is ignored.
func (s *appServer) call(id int, method string, params, result any) error {
	if err := s.send(map[string]any{"id": id, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		line, err := s.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("asking codex for %s: %w", method, err)
		}
		var answer struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if json.Unmarshal(line, &answer) != nil || answer.ID == nil || *answer.ID != id {
			continue
		}
		if answer.Error != nil {
			return errors.New("codex answered " + method + " with: " + answer.Error.Message)
		}
		if result == nil {
			return nil
		}
		if err := json.Unmarshal(answer.Result, result); err != nil {
			return fmt.Errorf("reading codex's answer to %s: %w", method, err)
		}
		return nil
	}
}

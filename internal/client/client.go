// Package client names the clients and says where they keep their files.
//
// It is a leaf: it knows no payloads, records or settings, only locations, and
// it opens nothing. Credentials (.credentials.json, auth.json, sessions/*.key)
// have no accessor here on purpose (promise 1: they are never opened).
package client

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Client is the program that runs an agent. It is also the value of --runtime
// on every program of ours.
type Client string

// The clients that reseat knows.
const (
	Claude Client = "claude" // Claude Code
	Codex  Client = "codex"  // OpenAI Codex
)

// All lists the clients in the order in which they are shown.
func All() []Client { return []Client{Claude, Codex} }

// Parse reads a --runtime value. The packet's name for Claude Code,
// "claude-code", is accepted too.
func Parse(s string) (Client, error) {
	switch strings.TrimSpace(s) {
	case "claude", "claude-code":
		return Claude, nil
	case "codex":
		return Codex, nil
	}
	return "", fmt.Errorf("unknown client %q: use claude or codex", s)
}

// PacketName is the client's name in a v0 packet: claude-code or codex.
func (c Client) PacketName() string {
	if c == Claude {
		return "claude-code"
	}
	return string(c)
}

// Title is the client's name for a person.
func (c Client) Title() string {
	switch c {
	case Claude:
		return "Claude Code"
	case Codex:
		return "Codex"
	}
	return string(c)
}

// ConfigDir is the folder of the client's configuration: $CLAUDE_CONFIG_DIR or
// ~/.claude, $CODEX_HOME or ~/.codex. A blank variable counts as unset; a
// relative one is taken below the working directory cwd, as both clients do.
func (c Client) ConfigDir(getenv func(string) string, home, cwd string) string {
	variable, dir := "CLAUDE_CONFIG_DIR", ".claude"
	if c == Codex {
		variable, dir = "CODEX_HOME", ".codex"
	}
	if v := strings.TrimSpace(getenv(variable)); v != "" {
		if !filepath.IsAbs(v) {
			v = filepath.Join(cwd, v)
		}
		return filepath.Clean(v)
	}
	return filepath.Join(home, dir)
}

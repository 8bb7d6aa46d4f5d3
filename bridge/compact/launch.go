package compact

import (
	"sort"
	"strings"

	"github.com/reseat-dev/reseat/internal/config"
	"github.com/reseat-dev/reseat/plugins"
)

// LaunchRequest asks an adapter for a seat's command line. While the policy is
// on with a threshold that can be used, the client's own compaction of idle
// sessions is switched off on that line: two would get into each other's way.
func LaunchRequest(p config.Policy, arguments []string, cwd string) plugins.LaunchRequest {
	return plugins.LaunchRequest{Arguments: arguments, IdleCompactionOff: p.Enabled, CWD: cwd}
}

// Environment is what a launched client gets for its seat: hearsay for whoever
// inherits it, and a nonce that counts once.
func Environment(l plugins.Launch, address, nonce string) map[string]string {
	env := map[string]string{"RESEAT_SEAT": address}
	if nonce != "" {
		env["RESEAT_NONCE"] = nonce
	}
	for name, value := range l.Environment {
		env[name] = value
	}
	return env
}

// ShellLine writes a command with its environment as a line for a POSIX shell.
func ShellLine(env map[string]string, command []string) string {
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	sort.Strings(names)
	words := make([]string, 0, len(env)+len(command))
	for _, name := range names {
		words = append(words, name+"="+Quote(env[name]))
	}
	for _, arg := range command {
		words = append(words, Quote(arg))
	}
	return strings.Join(words, " ")
}

// Quote quotes a word for a POSIX shell where it needs to be.
func Quote(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./:,@+%", r)
	}) < 0
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// TmuxLine is the command that starts a client in a new tmux session, detached.
// Variables are set with env: a running tmux server has an environment of its
// own.
func TmuxLine(session, cwd string, env map[string]string, command []string) []string {
	return []string{"tmux", "new-session", "-d", "-s", session, "-c", cwd, "env " + ShellLine(env, command)}
}

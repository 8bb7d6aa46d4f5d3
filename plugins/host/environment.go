package host

import (
	"slices"
	"strings"
)

// baseEnvironment lists what every adapter gets: enough to find a client, its
// files, a terminal and the network's proxy, and nothing that names a seat.
func baseEnvironment() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_", "TZ", "TERM", "COLORTERM", "TMPDIR",
		"TMUX", "TMUX_TMPDIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"RESEAT_DISABLE", "SystemRoot", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP", "TMP", "ComSpec", "PATHEXT",
	}
}

// ofClient lists what our own adapters get besides: a client that is started
// headless needs what the person's own client has.
func ofClient(name string) []string {
	switch name {
	case "claude":
		return []string{
			"CLAUDE_", "ANTHROPIC_", "AWS_", "GOOGLE_", "CLOUD_ML_REGION", "VERTEX_", "NODE_EXTRA_CA_CERTS", "DISABLE_",
			"IS_SANDBOX", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS",
		}
	case "codex":
		return []string{"CODEX_", "OPENAI_", "AZURE_OPENAI_"}
	}
	return nil
}

// never lists what no adapter gets, whatever else matches: a session's own
// variables, which a client started from there would take for its own, and the
// seat's name, which is hearsay in anybody else's process.
func never() []string {
	return []string{
		"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_PROJECT_DIR", "CLAUDE_ENV_FILE",
		"CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "AI_AGENT", "CODEX_THREAD_ID", "CODEX_SESSION_ID",
		"RESEAT_SEAT", "OPENRIG_SESSION_NAME",
	}
}

// Environment picks from environ, a list of NAME=value, what an adapter gets. A
// name in allowed that ends in _ is a prefix.
func Environment(environ, allowed []string) []string {
	var out []string
	for _, entry := range environ {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || slices.Contains(never(), name) {
			continue
		}
		if slices.ContainsFunc(allowed, func(a string) bool {
			return name == a || strings.HasSuffix(a, "_") && strings.HasPrefix(name, a)
		}) {
			out = append(out, entry)
		}
	}
	return out
}

// allowed lists the variables of one adapter. A stranger's gets what its pin
// names and nothing that is meant for one of ours.
func allowed(a Adapter, further []string) []string {
	list := baseEnvironment()
	if a.Ours {
		list = slices.Concat(list, ofClient(a.Client), further)
	}
	if a.Pin != nil {
		list = append(list, a.Pin.Environment...)
	}
	return list
}

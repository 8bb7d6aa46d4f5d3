package plugins

import (
	"fmt"
	"io"
)

// Program is an adapter's main: what it says to a person who starts it by hand,
// and the Runtime that it serves to a host.
type Program struct {
	Name    string // of the file: reseat-runtime-<client>
	Does    string // one sentence
	Version string
	Runtime func() (Runtime, error) // made only when a host asks
}

// Run runs the program and returns its exit code: 0 after a host's visit or
// --help or --version, 1 if there is no runtime to serve, 64 when a person
// started it.
func (p Program) Run(args []string, stdout, stderr io.Writer, getenv func(string) string) int {
	switch {
	case len(args) == 1 && (args[0] == "--version" || args[0] == "version"):
		fmt.Fprintf(stdout, "%s %s\n", p.Name, p.Version)
		return 0
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		fmt.Fprintf(stdout, "%s\n\nIt is a runtime adapter: reseat starts it. See: reseat plugin info, for example\n\n  reseat plugin list\n", p.Does)
		return 0
	}
	handshake := Handshake()
	if len(args) > 0 || getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		fmt.Fprintf(stderr, "%s: this is a runtime adapter, started by reseat and not by hand\n%s: hint: reseat plugin list\n", p.Name, p.Name)
		return 64
	}
	r, err := p.Runtime()
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", p.Name, err)
		return 1
	}
	Serve(r)
	return 0
}

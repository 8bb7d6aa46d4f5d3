package codex

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/coder/websocket"
)

// maxFrame bounds one message of an app-server; a thread's whole history is
// never asked for.
const maxFrame = 16 << 20

// dialTimeout bounds a connection's start.
const dialTimeout = 20 * time.Second

// errNoDaemon is returned where no daemon listens.
var errNoDaemon = errors.New("no daemon listens")

// daemonSocket is the daemon's control socket. The client makes it a symbolic
// link into a folder that is named after the user (seen on 0.171.0).
func (a *Adapter) daemonSocket() string {
	return filepath.Join(a.home, "app-server-control", "app-server-control.sock")
}

// dialDaemon connects to the daemon: WebSocket over its unix socket, one
// JSON-RPC message a text frame.
func (a *Adapter) dialDaemon(ctx context.Context) (*conn, error) {
	path, err := filepath.EvalSymlinks(a.daemonSocket())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoDaemon
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoDaemon, err)
	}
	if err := ownSocket(path); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	socket, response, err := websocket.Dial(ctx, "ws://codex/", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", path)
			},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoDaemon, err)
	}
	if response.Body != nil {
		defer response.Body.Close()
	}
	socket.SetReadLimit(maxFrame)
	return connect(ctx, frames{socket}, a.version)
}

// ownSocket refuses a socket that another user could have put there: the link
// leads into the temporary folder.
func ownSocket(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoDaemon, err)
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("%w: %q isn't a socket", errNoDaemon, path)
	}
	if !ownedByUs(info) {
		return fmt.Errorf("%q belongs to another user: not used", path)
	}
	return nil
}

// frames is a wire over a WebSocket.
type frames struct{ socket *websocket.Conn }

func (f frames) send(ctx context.Context, message []byte) error {
	return f.socket.Write(ctx, websocket.MessageText, message)
}

func (f frames) receive(ctx context.Context) ([]byte, error) {
	_, data, err := f.socket.Read(ctx)
	return data, err
}

func (f frames) close() error { return f.socket.Close(websocket.StatusNormalClosure, "") }

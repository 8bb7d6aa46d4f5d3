package host

import (
	"context"
	"errors"
	"sync"
)

// Lineup is the adapters of one command: each is started when it is first asked
// for, once, and again only if it went away.
type Lineup struct {
	found    []Adapter
	settings Settings

	mu     sync.Mutex
	open   map[string]*Connection
	failed map[string]error
}

// NewLineup makes a lineup of what Find found. Close it when done.
func NewLineup(found []Adapter, s Settings) *Lineup {
	return &Lineup{found: found, settings: s, open: map[string]*Connection{}, failed: map[string]error{}}
}

// Clients lists the clients that there is an adapter for, in order.
func (l *Lineup) Clients() []string {
	var names []string
	for _, a := range l.found {
		if !a.Hidden {
			names = append(names, a.Client)
		}
	}
	return names
}

// ErrNoAdapter is returned where there is no adapter for a client.
var ErrNoAdapter = errors.New("no runtime adapter for this client")

// Get returns the running adapter for a client. What failed once is not tried
// again: a command ends with it, and Renew lets a watcher try anew.
func (l *Lineup) Get(ctx context.Context, client string) (*Connection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.open[client]; c != nil {
		if !c.plugin.Exited() {
			return c, nil
		}
		c.Close()
		delete(l.open, client)
	}
	if err := l.failed[client]; err != nil {
		return nil, err
	}
	adapter, ok := For(l.found, client)
	if !ok {
		return nil, ErrNoAdapter
	}
	c, err := Open(ctx, adapter, l.settings)
	if err != nil {
		l.failed[client] = err
		return nil, err
	}
	l.open[client] = c
	return c, nil
}

// Renew forgets what failed.
func (l *Lineup) Renew() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.failed)
}

// Close ends all adapters.
func (l *Lineup) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var wg sync.WaitGroup
	for _, c := range l.open {
		wg.Go(c.Close)
	}
	wg.Wait()
	clear(l.open)
}

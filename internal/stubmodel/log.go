package stubmodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Log keeps what arrived, in order, and wakes those who wait for more. The
// zero value is ready. T is a provider's parsed request.
type Log[T any] struct {
	mu      sync.Mutex
	entries []T
	grown   chan struct{} // closed and replaced when an entry is added
	mirror  io.Writer
	broken  error // of the mirror
}

// Mirror also writes each later entry to w, one JSON document a line. The
// first error stops the mirroring and is what MirrorError tells.
func (l *Log[T]) Mirror(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mirror, l.broken = w, nil
}

// MirrorError is the error that stopped the mirroring, or nil.
func (l *Log[T]) MirrorError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Add appends an entry.
func (l *Log[T]) Add(entry T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, entry)
	l.mirrorLine(entry)
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
}

func (l *Log[T]) mirrorLine(entry T) {
	if l.mirror == nil || l.broken != nil {
		return
	}
	line, err := json.Marshal(entry)
	if err == nil {
		_, err = l.mirror.Write(append(line, '\n'))
	}
	l.broken = err
}

// All is a copy of the entries so far.
func (l *Log[T]) All() []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// Since is a copy of the entries from index n on: what came after a moment at
// which Len was n.
func (l *Log[T]) Since(n int) []T {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries[min(n, len(l.entries)):])
}

// Len is the number of entries so far.
func (l *Log[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// Wait returns the first entry, old or new, for which ok is true. When ctx
// ends first the error says how many entries there were and wraps ctx's cause.
func (l *Log[T]) Wait(ctx context.Context, ok func(T) bool) (T, error) {
	for seen := 0; ; {
		entries, grown := l.from(seen)
		for _, entry := range entries {
			if ok(entry) {
				return entry, nil
			}
		}
		seen += len(entries)
		select {
		case <-grown:
		case <-ctx.Done():
			var none T
			return none, fmt.Errorf("waiting for a request: none of %d fits: %w", seen, context.Cause(ctx))
		}
	}
}

// from returns the entries from index n on, and a channel that is closed when
// there are more.
func (l *Log[T]) from(n int) ([]T, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grown == nil {
		l.grown = make(chan struct{})
	}
	return slices.Clone(l.entries[n:]), l.grown
}

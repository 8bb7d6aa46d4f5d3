//go:build unix

package transcript

import "syscall"

// nonblock keeps an open of what became a pipe after it was looked at from
// waiting for a writer.
const nonblock = syscall.O_NONBLOCK | syscall.O_NOCTTY

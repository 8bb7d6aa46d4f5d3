//go:build unix

package config

import "syscall"

func makePipe(path string) error { return syscall.Mkfifo(path, 0o600) }

//go:build unix

package hookmain

import "syscall"

// noCoreFile: a crash would otherwise leave a transcript's words in a core file.
func noCoreFile() {
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{})
}

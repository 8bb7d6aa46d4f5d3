//go:build unix

package config

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const openNonBlock = syscall.O_NONBLOCK

// trusted refuses a file that another user than its owner can have written, or
// can put another one in the place of. Root's files are trusted: some systems
// keep every configuration that way.
func trusted(path string, info fs.FileInfo) error {
	if err := ownersOnly(info, fmt.Sprintf("chmod go-w %q", path)); err != nil {
		return err
	}
	dir, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	if err := ownersOnly(dir, fmt.Sprintf("chmod go-w %q", filepath.Dir(path))); err != nil {
		return &untrustedError{"its folder " + err.what, err.remedy}
	}
	return nil
}

func ownersOnly(info fs.FileInfo, remedy string) *untrustedError {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return &untrustedError{fmt.Sprintf("belongs to user %d, you are %d", st.Uid, os.Geteuid()), "keep a file of your own"}
	}
	if info.Mode().Perm()&0o022 != 0 && (!info.IsDir() || info.Mode()&fs.ModeSticky == 0) {
		return &untrustedError{fmt.Sprintf("can be written by others (mode %#o)", info.Mode().Perm()), remedy}
	}
	return nil
}

func userDir(getenv func(string) string, home string) string {
	if dir := strings.TrimSpace(getenv("XDG_CONFIG_HOME")); filepath.IsAbs(dir) {
		return dir
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".config")
}

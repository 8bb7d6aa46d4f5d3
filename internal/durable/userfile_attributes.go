//go:build linux || darwin

package durable

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// keepAttributes copies extended attributes, so that replacing a file doesn't
// take away an access control list or a user's own tag. Labels that only the
// system sets are left to the system.
func keepAttributes(target string, out *os.File) error {
	names, err := attributes(target)
	if err != nil {
		return fmt.Errorf("reading its extended attributes: %w", err)
	}
	for _, name := range names {
		if setBySystem(name) {
			continue
		}
		value := make([]byte, 64<<10) // the most that Linux allows
		n, err := unix.Lgetxattr(target, name, value)
		if err == nil {
			err = unix.Fsetxattr(int(out.Fd()), name, value[:n], 0)
		}
		if err != nil {
			return fmt.Errorf("keeping its attribute %s: %w", name, err)
		}
	}
	return nil
}

func attributes(target string) ([]string, error) {
	list := make([]byte, 64<<10) // the most that Linux allows
	n, err := unix.Llistxattr(target, list)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return strings.FieldsFunc(string(list[:n]), func(r rune) bool { return r == 0 }), nil
}

func setBySystem(name string) bool {
	for _, prefix := range []string{"security.", "trusted.", "com.apple.provenance", "com.apple.quarantine"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

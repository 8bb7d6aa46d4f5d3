//go:build unix

package packet

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A umask that gives everything away, or takes everything, changes nothing.
func TestModesHoldUnderAnyUmask(t *testing.T) {
	p := mustMake(t, anInput())
	for _, mask := range []int{0, 0o777} {
		dir := filepath.Join(t.TempDir(), "packet")
		old := syscall.Umask(mask)
		err := p.Write(dir)
		syscall.Umask(old)
		if err != nil {
			t.Fatalf("umask %o: %v", mask, err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("umask %o: %v, %v", mask, info.Mode(), err)
		}
		for _, name := range names(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("umask %o: %s %v, %v", mask, name, info.Mode(), err)
			}
		}
	}
}

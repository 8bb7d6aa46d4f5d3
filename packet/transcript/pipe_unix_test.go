//go:build unix

package transcript

import (
	"context"
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
)

// TestAPipeBlocksNobody: opening one without a writer would wait for ever.
func TestAPipeBlocksNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	for _, c := range client.All() {
		if st, err := Read(context.Background(), c, path, Options{}); !errors.Is(err, ErrNotRegular) || len(st.Caveats) != 1 {
			t.Errorf("Read: %v, %q", err, st.Caveats)
		}
		if _, err := After(context.Background(), c, path, 0, nil); !errors.Is(err, ErrNotRegular) {
			t.Errorf("After: %v", err)
		}
	}
	if _, err := Detect(path); !errors.Is(err, ErrNotRegular) {
		t.Errorf("Detect: %v", err)
	}
}

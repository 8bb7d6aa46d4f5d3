package transcript

import (
	"path/filepath"
	"testing"

	"github.com/reseat-dev/reseat/internal/client"
	"github.com/reseat-dev/reseat/internal/transcripts"
)

// generate writes a transcript of at least size bytes whose last megabyte or so
// is the same at every size.
func generate(t testing.TB, c client.Client, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.jsonl")
	if _, err := transcripts.Create(path, transcripts.Spec{Client: c, Size: size, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	return path
}

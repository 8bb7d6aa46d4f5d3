package durable

import "os"

const (
	openNoFollow = 0
	// FlushFileBuffers wants a handle that may write.
	syncFlag = os.O_RDWR
)

// syncDir does nothing: Windows offers no sync of a folder, and
// atomic.ReplaceFile renames with write-through.
func syncDir(string) error { return nil }

//go:build unix

package host

import (
	"io/fs"
	"os"
	"syscall"
)

// othersCanWrite says in words who else could change the file, "" if nobody
// but its owner, who is us or root.
func othersCanWrite(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int(st.Uid) != os.Geteuid() {
		return "belongs to another user"
	}
	sticky := info.IsDir() && info.Mode()&fs.ModeSticky != 0
	if info.Mode().Perm()&0o022 != 0 && !sticky {
		return "can be written by others"
	}
	return ""
}

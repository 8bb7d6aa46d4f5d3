package host

import "io/fs"

// othersCanWrite can't tell on Windows, where a mode says nothing; the folder's
// access list decides.
func othersCanWrite(fs.FileInfo) string { return "" }

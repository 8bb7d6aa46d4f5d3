//go:build !linux && !darwin

package packet

// renameNew renames a folder to a name that must not exist.
func renameNew(from, to string) error { return renameChecked(from, to) }

package config

import (
	"io/fs"
	"path/filepath"
)

const openNonBlock = 0

// trusted trusts every file: who may write one is a matter of access control
// lists here, and the folder is the user's own.
func trusted(string, fs.FileInfo) error { return nil }

func userDir(getenv func(string) string, home string) string {
	for _, dir := range []string{getenv("APPDATA"), getenv("XDG_CONFIG_HOME")} {
		if filepath.IsAbs(dir) {
			return dir
		}
	}
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, "AppData", "Roaming")
}

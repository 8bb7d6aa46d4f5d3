// Package version names the version of all programs in this module. They are
// built and installed together; a mismatch between them is a finding.
package version

import "runtime/debug"

// Number is the version of this source tree.
const Number = "0.1.0"

// Generator is the generator_version of a packet.
const Generator = "reseat@" + Number

// Revision is the commit a program was built from, "" if the build didn't note
// it; modified says that the tree had uncommitted changes.
func Revision() (commit string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return commit, modified
}

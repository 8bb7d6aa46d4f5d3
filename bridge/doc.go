// Package bridge carries one compaction's continuity across: it prepares a
// packet before, proves that the compaction happened, and brings exactly one
// directive into exactly that session afterwards. It keeps promise 2 of the
// design and is where the rules of delivery live.
//
// It is no daemon and holds no locks. All state is names on disk: each attempt
// is a folder with one file state.<name>, every transition is one rename, and
// a rename that finds nothing means that somebody else won. It trusts neither
// the clock nor the environment to tell one compaction from another; positions
// in the session's own transcript do that.
package bridge

// Package torture tries to break the two hook programs from outside: it kills
// them at every system call that touches a file, makes those calls fail, takes
// their standard output away, and runs them against each other. It keeps
// promises 2, 3 and 4 of the design and holds tests only.
//
// A plain go test runs a sample; -full runs all of it (make torture).
package torture

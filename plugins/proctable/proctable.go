// Package proctable reads the machine's process table: who is whose child, who
// holds a terminal, which files a process has open.
//
// It only looks, and it doesn't look into environments, where secrets are. What
// the system doesn't show is an error or an absence, never a guess.
package proctable

import "errors"

// ErrUnsupported is returned for what this system doesn't show.
var ErrUnsupported = errors.New("this system doesn't show it")

// Process is one process as the table showed it.
type Process struct {
	PID     int
	Parent  int
	Group   int    // process group
	Front   int    // the foreground process group of its terminal, -1 if it has none
	Started string // when it started, in the system's own form; with PID it names one process for good
	Name    string // short name
	Zombie  bool
}

// Table is one look at all processes.
type Table map[int]Process

// Alive says whether pid is the process that started then; an empty started
// accepts any.
func (t Table) Alive(pid int, started string) bool {
	p, ok := t[pid]
	return ok && !p.Zombie && (started == "" || p.Started == "" || p.Started == started)
}

// Lineage lists pid and its ancestors, nearest first.
func (t Table) Lineage(pid int) []Process {
	var line []Process
	for len(line) < len(t) {
		p, ok := t[pid]
		if !ok {
			break
		}
		line = append(line, p)
		pid = p.Parent
	}
	return line
}

// Descends says whether pid is ancestor or a descendant of it.
func (t Table) Descends(pid, ancestor int) bool {
	for _, p := range t.Lineage(pid) {
		if p.PID == ancestor {
			return true
		}
	}
	return false
}

// Children lists the children of pid.
func (t Table) Children(pid int) []Process {
	var out []Process
	for _, p := range t {
		if p.Parent == pid {
			out = append(out, p)
		}
	}
	return out
}

// InFront says whether p is in the foreground of its terminal.
func (p Process) InFront() bool { return p.Front > 0 && p.Front == p.Group }

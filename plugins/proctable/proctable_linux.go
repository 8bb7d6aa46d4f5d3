package proctable

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Read looks at all processes.
func Read() (Table, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("reading the process table: %w", err)
	}
	table := Table{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it ended in between
		}
		if p, ok := parseStat(pid, data); ok {
			table[pid] = p
		}
	}
	return table, nil
}

// parseStat reads /proc/PID/stat, see proc(5). The name stands in parentheses
// and may itself hold some.
func parseStat(pid int, data []byte) (Process, bool) {
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return Process{}, false
	}
	fields := strings.Fields(string(data[end+1:])) // from field 3, the state, on
	const state, parent, group, front, started = 0, 1, 2, 5, 19
	if len(fields) <= started {
		return Process{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	return Process{
		PID: pid, Parent: number(parent), Group: number(group), Front: number(front),
		Started: fields[started], Name: string(data[open+1 : end]), Zombie: fields[state] == "Z",
	}, true
}

// Files lists what pid has open, by path, unordered; sockets and pipes are
// "socket:[inode]" and "pipe:[inode]". Files of another user's process aren't
// shown.
func Files(pid int) ([]string, error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the open files of process %d: %w", pid, err)
	}
	var files []string
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			files = append(files, target)
		}
	}
	return files, nil
}

// Stdin is the path of what pid reads from, "" if it isn't shown.
func Stdin(pid int) string {
	target, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "fd", "0"))
	return target
}

// Program is the path of pid's program, "" if it isn't shown.
func Program(pid int) string {
	target, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
	return strings.TrimSuffix(target, " (deleted)")
}

// Args is pid's argument vector.
func Args(pid int) ([]string, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of process %d: %w", pid, err)
	}
	if len(data) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00"), nil
}

// Listening lists the paths of the unix sockets on which pid listens.
func Listening(pid int) ([]string, error) {
	files, err := Files(pid)
	if err != nil {
		return nil, err
	}
	mine := map[string]bool{}
	for _, f := range files {
		if inode, ok := strings.CutPrefix(f, "socket:["); ok {
			mine[strings.TrimSuffix(inode, "]")] = true
		}
	}
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "net", "unix"))
	if err != nil {
		return nil, fmt.Errorf("reading the sockets of process %d: %w", pid, err)
	}
	return parseUnixSockets(string(data), mine), nil
}

// parseUnixSockets picks from /proc/net/unix the paths of listening sockets
// (flag __SO_ACCEPTCON) with one of the inodes.
func parseUnixSockets(table string, inodes map[string]bool) []string {
	const flags, inode, path = 3, 6, 7
	var out []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= path || fields[flags] != "00010000" || !inodes[fields[inode]] {
			continue
		}
		out = append(out, strings.Join(fields[path:], " "))
	}
	return out
}

// Folder is pid's working directory, "" if it isn't shown.
func Folder(pid int) string {
	target, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	return target
}

//go:build !linux

package proctable

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Read looks at all processes, as ps shows them. Started stays empty: ps has it
// by the second and in the local time, which names no process for good.
func Read() (Table, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "ps", "-axo", "pid=,ppid=,pgid=,tpgid=,stat=,comm=").Output()
	if err != nil {
		return nil, fmt.Errorf("reading the process table: %w", err)
	}
	table := Table{}
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
		table[number(0)] = Process{
			PID: number(0), Parent: number(1), Group: number(2), Front: number(3),
			Zombie: strings.HasPrefix(fields[4], "Z"), Name: filepath.Base(strings.Join(fields[5:], " ")),
		}
	}
	return table, nil
}

// Files isn't shown here.
func Files(int) ([]string, error) { return nil, ErrUnsupported }

// Stdin isn't shown here.
func Stdin(int) string { return "" }

// Program isn't shown here.
func Program(int) string { return "" }

// Args isn't shown here.
func Args(int) ([]string, error) { return nil, ErrUnsupported }

// Listening isn't shown here.
func Listening(int) ([]string, error) { return nil, ErrUnsupported }

// Folder isn't shown here.
func Folder(int) string { return "" }

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// pin keeps this process and what it starts to two processors, where there are
// more.
func pin() {
	var have, two unix.CPUSet
	if unix.SchedGetaffinity(0, &have) != nil || have.Count() <= processors {
		return
	}
	for cpu := 0; two.Count() < processors; cpu++ {
		if have.IsSet(cpu) {
			two.Set(cpu)
		}
	}
	// Of each thread; those that the runtime starts later inherit it.
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		if id, ok := number(t.Name()); ok {
			_ = unix.SchedSetaffinity(id, &two)
		}
	}
}

func peak(state *os.ProcessState) int64 {
	if u, ok := state.SysUsage().(*syscall.Rusage); ok {
		return u.Maxrss << 10
	}
	return 0
}

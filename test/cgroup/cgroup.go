// Package cgroup bounds and measures the memory of a process of a test, as a node does that of a container: with what the kernel
// keeps for its connections.
package cgroup

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// cgroups are where cgroups of memory are made: of version 1, where the kernel counts the buffers of connections by
// themselves, and of version 2, where they are part of the memory.
var cgroups = map[string]struct{ limits, peaks []string }{
	"/sys/fs/cgroup/memory": {[]string{"memory.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"}, []string{"memory.max_usage_in_bytes", "memory.kmem.tcp.max_usage_in_bytes"}},
	"/sys/fs/cgroup":        {[]string{"memory.max"}, []string{"memory.peak"}},
}

func folderOf(parent string, process *exec.Cmd) string {
	return filepath.Join(parent, fmt.Sprintf("memory-test-%d", process.Process.Pid))
}

// Contain gives a process the memory that its container may use, in bytes, buffers of the kernel included, if this user may make
// cgroups. Call it before what waits for the end of the process is registered for the end of the test.
func Contain(t testing.TB, process *exec.Cmd, most int) {
	t.Helper()
	t.Cleanup(func() {
		for parent := range cgroups {
			_ = os.Remove(folderOf(parent, process)) // There is one at most.
		}
	})
	for parent, files := range cgroups {
		if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
			continue
		}
		folder := folderOf(parent, process)
		if os.Mkdir(folder, 0o755) != nil {
			continue
		}
		for _, limit := range files.limits {
			if os.WriteFile(filepath.Join(folder, limit), []byte(strconv.Itoa(most)), 0o644) != nil {
				_ = os.Remove(folder) // It has no process.
			}
		}
		if os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(process.Process.Pid)), 0o644) == nil {
			return
		}
	}
	t.Log("no cgroup of memory can be made here: what the kernel keeps for connections is not counted")
}

// Peak is the most memory that a process had, in bytes, with what the kernel keeps for its connections if it has a cgroup.
func Peak(process *exec.Cmd) int {
	total := 0
	for parent, files := range cgroups {
		for _, peak := range files.peaks {
			text, _ := os.ReadFile(filepath.Join(folderOf(parent, process), peak))
			bytes, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			total += bytes
		}
	}
	return max(total, Memory(process, "VmHWM:"))
}

// Memory is a line of a process's status, in bytes: VmRSS is what it has in memory now, RssAnon what of that is its own, VmHWM
// what it had at most. It is no size while there is no such process.
func Memory(process *exec.Cmd, name string) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", process.Process.Pid))
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			kib, _ := strconv.Atoi(fields[1])
			return kib << 10
		}
	}
	return math.MaxInt
}

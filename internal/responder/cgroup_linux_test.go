package responder_test

import (
	"fmt"
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

func cgroup(parent string, process *exec.Cmd) string {
	return filepath.Join(parent, fmt.Sprintf("responder-test-%d", process.Process.Pid))
}

// contain gives a process the memory that its container may use, buffers of the kernel included, if this user may make cgroups.
func contain(t *testing.T, process *exec.Cmd) {
	t.Helper()
	for parent, files := range cgroups {
		if _, err := os.Stat(filepath.Join(parent, "cgroup.procs")); err != nil {
			continue
		}
		folder := cgroup(parent, process)
		if os.Mkdir(folder, 0o755) != nil {
			continue
		}
		for _, limit := range files.limits {
			if os.WriteFile(filepath.Join(folder, limit), []byte(strconv.Itoa(mostUnderAttack)), 0o644) != nil {
				_ = os.Remove(folder) // It has no process.
			}
		}
		if os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(process.Process.Pid)), 0o644) == nil {
			return
		}
	}
	t.Log("no cgroup of memory can be made here: what the kernel keeps for connections is not counted")
}

// release removes the cgroup of a process that has ended.
func release(process *exec.Cmd) {
	for parent := range cgroups {
		_ = os.Remove(cgroup(parent, process)) // There is one at most.
	}
}

// most is the most memory that a process had, with what the kernel keeps for its connections if it has a cgroup.
func most(process *exec.Cmd) int {
	total := 0
	for parent, files := range cgroups {
		for _, peak := range files.peaks {
			text, _ := os.ReadFile(filepath.Join(cgroup(parent, process), peak))
			bytes, _ := strconv.Atoi(strings.TrimSpace(string(text)))
			total += bytes
		}
	}
	return max(total, memory(process, "VmHWM:"))
}

package measure

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes this one.
func Machine() string {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	memory, _ := os.ReadFile("/proc/meminfo")
	return fmt.Sprintf("%d cores (%s), %.0f GiB", runtime.NumCPU(), modelName(string(cpu)), float64(kibibytes(string(memory), "MemTotal:"))/(1<<30))
}

func modelName(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// Load is the load of the machine, of the last minute.
func Load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	average, _, _ := strings.Cut(string(text), " ")
	return average
}

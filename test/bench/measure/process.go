package measure

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process is one look at a process.
type Process struct {
	// CPU is the time that it has taken so far.
	CPU time.Duration
	// RSS is its resident memory in bytes, and Peak the most that it ever had.
	RSS, Peak int64
}

// tick is the unit of CPU time in /proc, the same on every machine that Go runs on.
const tick = 10 * time.Millisecond

// Look reads CPU and memory of a process. A scrape would cost CPU itself.
func Look(pid int) (Process, error) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return Process{}, err
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		return Process{}, err
	}
	_, cpu, err := parseStat(string(stat))
	return Process{CPU: cpu, RSS: kibibytes(string(status), "VmRSS:"), Peak: kibibytes(string(status), "VmHWM:")}, err
}

// Started is when a process started.
func Started(pid int) (time.Time, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return time.Time{}, err
	}
	sinceBoot, _, err := parseStat(string(stat))
	if err != nil {
		return time.Time{}, err
	}
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	return time.Now().Add(sinceBoot - time.Duration(seconds*float64(time.Second))), err
}

// parseStat reads from /proc/PID/stat when the process started, after boot, and its CPU time. The name
// in parentheses may have blanks and parentheses.
func parseStat(stat string) (started, cpu time.Duration, err error) {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	if len(fields) < 20 {
		return 0, 0, fmt.Errorf("cannot read %q", stat)
	}
	var numbers [3]int64
	for i, field := range []int{11, 12, 19} { // utime, stime and starttime: 14, 15 and 22 of proc(5).
		if numbers[i], err = strconv.ParseInt(fields[field], 10, 64); err != nil {
			return 0, 0, err
		}
	}
	return time.Duration(numbers[2]) * tick, time.Duration(numbers[0]+numbers[1]) * tick, nil
}

// kibibytes reads a line of /proc/PID/status, in bytes.
func kibibytes(status, name string) int64 {
	for line := range strings.Lines(status) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			n, _ := strconv.ParseInt(fields[1], 10, 64)
			return n << 10
		}
	}
	return 0
}

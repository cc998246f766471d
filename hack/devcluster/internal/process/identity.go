//go:build linux

// Package process starts the components as background processes and recognises
// them later, so that nothing but our own processes is ever signalled.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Identity names one process for all time. A PID alone is reused by the kernel;
// together with the boot and the start time it is unique.
type Identity struct {
	PID int `json:"pid"`
	// StartTicks is the process's start time in clock ticks since boot.
	StartTicks uint64 `json:"startTicks"`
	BootID     string `json:"bootID"`
}

// BootID returns the kernel's identifier of the current boot.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// Identify returns the identity of the process that has this PID now.
func Identify(pid int) (Identity, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, StartTicks: stat.startTicks, BootID: BootID()}, nil
}

// Alive reports whether exactly this process still runs. A zombie does not, but the first
// thread of a killed process is one before the others have ended, and as long as one of
// them runs the process keeps its files and ports.
func (id Identity) Alive() bool {
	if id.PID <= 0 || id.BootID != BootID() {
		return false
	}
	stat, err := readStat(id.PID)
	if err != nil || stat.startTicks != id.StartTicks {
		return false
	}
	return stat.threads > 1 || stat.state != 'Z' && stat.state != 'X'
}

// Age returns how long the process has been running.
func (id Identity) Age() time.Duration {
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	seconds, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	if err != nil {
		return 0
	}
	const ticksPerSecond = 100 // USER_HZ, the same on every Linux architecture that Go supports.
	return time.Duration((seconds - float64(id.StartTicks)/ticksPerSecond) * float64(time.Second))
}

// Signal sends a signal to exactly this process, and is harmless once it has gone.
func (id Identity) Signal(sig syscall.Signal) error {
	// FindProcess pins the process by a pidfd, so that the check and the signal
	// concern the same process even when the PID is reused in between.
	p, err := os.FindProcess(id.PID)
	if err != nil {
		return nil
	}
	defer func() { _ = p.Release() }()
	if !id.Alive() {
		return nil
	}
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

type stat struct {
	state      byte
	threads    int
	startTicks uint64
}

func readStat(pid int) (stat, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(content)
}

// parseStat reads /proc/PID/stat. The command name in parentheses may itself
// contain spaces and parentheses, so fields count from the last one.
func parseStat(content []byte) (stat, error) {
	end := bytes.LastIndexByte(content, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("not a process status: %q", content)
	}
	const stateField, threadsField, startTimeField = 0, 17, 19 // fields 3, 20 and 22 of proc(5), counted after the name
	fields := strings.Fields(string(content[end+1:]))
	if len(fields) <= startTimeField {
		return stat{}, fmt.Errorf("process status has too few fields: %q", content)
	}
	ticks, err := strconv.ParseUint(fields[startTimeField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("process start time: %w", err)
	}
	threads, err := strconv.Atoi(fields[threadsField])
	if err != nil {
		return stat{}, fmt.Errorf("threads of a process: %w", err)
	}
	return stat{state: fields[stateField][0], threads: threads, startTicks: ticks}, nil
}

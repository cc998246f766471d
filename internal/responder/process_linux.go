package responder

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
)

// openFiles is how many files the process may have open. The Go runtime has
// raised the soft limit to the hard one when it started.
func openFiles() (most int64, known bool) {
	limit := unix.Rlimit{}
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return int64(min(limit.Cur, 1<<40)), true
}

// mostExecutable is how much of the executable may stay in memory.
const mostExecutable = 6 << 20

// trimExecutable gives the pages of the executable back if there are many. The
// initialisers of the operator's packages touch most of them, about 20 MiB, and
// every garbage collection again those of the types that they made; the
// responder itself uses a small part. The pages are read-only and come back from
// the page cache when they are used.
func trimExecutable(log logr.Logger) {
	if residentOfFiles() < mostExecutable {
		return
	}
	if err := releaseExecutable(); err != nil {
		log.V(1).Info("the pages of the executable stay in memory", "reason", err.Error())
	}
}

// residentOfFiles is how much memory holds pages of files, in bytes: the third
// number of statm, which counts pages.
func residentOfFiles() int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 3 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

func releaseExecutable() error {
	executable, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		// 00400000-01427000 r-xp 00000000 fe:00 9987609   /manager
		fields := strings.Fields(lines.Text())
		if len(fields) != 6 || fields[5] != executable || strings.Contains(fields[1], "w") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, 64)
		if err != nil {
			return err
		}
		end, err := strconv.ParseUint(to, 16, 64)
		if err != nil {
			return err
		}
		// The library's Madvise wants a slice, and these addresses are not Go's.
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(end-start), unix.MADV_DONTNEED); errno != 0 {
			return errno
		}
	}
	return lines.Err()
}

package responder

import "golang.org/x/sys/unix"

// openFiles is how many files the process may have open. The Go runtime has
// raised the soft limit to the hard one when it started.
func openFiles() (most int64, known bool) {
	limit := unix.Rlimit{}
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return int64(min(limit.Cur, 1<<40)), true
}

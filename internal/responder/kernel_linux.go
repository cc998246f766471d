package responder

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// socketBuffer is what the kernel keeps of a connection in each direction, in bytes; it takes twice as much for it. Requests
// are small, and so are most pages. Left to itself, it lets the buffers of a client that takes no answer grow to megabytes, and
// counts them as memory of the container (memory.stat of cgroup v2: sock).
const socketBuffer = 16 << 10

// boundBuffers is for a listener that is about to be bound: its connections inherit its buffers (tcp(7)).
func boundBuffers(_, _ string, socket syscall.RawConn) error {
	var failed error
	err := socket.Control(func(fd uintptr) {
		failed = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, socketBuffer),
			unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, socketBuffer))
	})
	return errors.Join(err, failed)
}

// openFiles is how many files the process may have open. The Go runtime has
// raised the soft limit to the hard one when it started.
func openFiles() (most int64, known bool) {
	limit := unix.Rlimit{}
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return 0, false
	}
	return int64(min(limit.Cur, 1<<40)), true
}

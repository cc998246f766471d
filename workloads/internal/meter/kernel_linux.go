package meter

import "syscall"

// tcpNotSentLowAt is TCP_NOTSENT_LOWAT of tcp(7), which syscall does not have.
const tcpNotSentLowAt = 25

const (
	// sendAhead is what the kernel takes beside what is on its way, in bytes: without it, megabytes.
	sendAhead = 64 << 10
	// receiveBuffer is what it keeps of an answer of the application, in bytes, and does so from the start.
	receiveBuffer = 64 << 10
)

// sendLittleAhead is for a listener that is about to be bound: its connections inherit it.
func sendLittleAhead(_, _ string, socket syscall.RawConn) error {
	return socket.Control(func(fd uintptr) {
		set(fd, syscall.IPPROTO_TCP, tcpNotSentLowAt, sendAhead)
	})
}

// keepLittle is for a connection to the application.
func keepLittle(_, _ string, socket syscall.RawConn) error {
	return socket.Control(func(fd uintptr) {
		set(fd, syscall.IPPROTO_TCP, tcpNotSentLowAt, sendAhead)
		set(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, receiveBuffer)
	})
}

// set saves memory where the kernel lets it: a sandbox may know no such option, and traffic passes all the same.
func set(fd uintptr, level, option, value int) {
	_ = syscall.SetsockoptInt(int(fd), level, option, value)
}

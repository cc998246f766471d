package meter

import (
	"errors"
	"syscall"
)

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
	return set(socket, func(fd int) error {
		return syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpNotSentLowAt, sendAhead)
	})
}

// keepLittle is for a connection to the application.
func keepLittle(network, address string, socket syscall.RawConn) error {
	return errors.Join(sendLittleAhead(network, address, socket), set(socket, func(fd int) error {
		return syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_RCVBUF, receiveBuffer)
	}))
}

func set(socket syscall.RawConn, option func(fd int) error) error {
	var failed error
	err := socket.Control(func(fd uintptr) { failed = option(int(fd)) })
	return errors.Join(err, failed)
}

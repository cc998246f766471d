package prober

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// Ports are a range of source ports. Linux sends a connection where the last one from the same port went, if that got no answer,
// for two minutes (conntrack's time for SYN_SENT), and begins with other ports every ten seconds: a client may miss the next Pod
// that asks from a port from which a Pod was asked that was lost.
type Ports struct{ First, Last uint16 }

var (
	// LowPorts and HighPorts are two halves of Linux' usual range.
	LowPorts = Ports{32768, 46999}
	// HighPorts are for clients whom what LowPorts have met does not concern.
	HighPorts = Ports{47000, 60999}
)

// Bind is a Prober's Control, by which connections come from these ports (IP_LOCAL_PORT_RANGE of ip(7)).
func (p Ports) Bind(_, _ string, socket syscall.RawConn) (err error) {
	if unusable := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE, int(p.Last)<<16|int(p.First))
	}); unusable != nil {
		return unusable
	}
	return err
}

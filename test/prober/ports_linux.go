package prober

import (
	"sync/atomic"
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

// Bind is a Prober's Control, by which connections come from these ports.
func (p Ports) Bind(_, _ string, socket syscall.RawConn) error {
	return bind(socket, int(p.First), int(p.Last))
}

// bind lets Linux choose among ports (IP_LOCAL_PORT_RANGE of ip(7)).
func bind(socket syscall.RawConn, first, last int) (err error) {
	if unusable := socket.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE, last<<16|first)
	}); unusable != nil {
		return unusable
	}
	return err
}

// Fresh is a Prober's Control for clients whom nothing concerns that Pods have met before: all ports take their turn, and none
// comes back within two minutes at 200 connections a second, but in the same moment.
func Fresh() func(network, address string, socket syscall.RawConn) error {
	// choice are the ports of which Linux takes one that is free; the last of them is new.
	const choice = 50
	all := int64(HighPorts.Last - LowPorts.First)
	var made atomic.Int64
	return func(_, _ string, socket syscall.RawConn) error {
		first := int(LowPorts.First) + int(made.Add(1)%(all-choice))
		return bind(socket, first, first+choice)
	}
}

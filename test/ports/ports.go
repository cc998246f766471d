// Package ports finds TCP ports on which nothing listens, for the servers of tests.
package ports

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/critical-service/operator/internal/contract/listener"
)

// The ports are those of a responder's listeners, below those of Services (30000) and those that the kernel gives to
// outgoing connections and to listeners that ask for any: nothing takes them between their choice and their use.
const (
	lowest  = listener.First
	highest = 29999
)

// Free is an address of this machine on which nothing listens, for this test alone.
func Free(t testing.TB) string {
	t.Helper()
	return address(Range(t, 1).First)
}

// Port is that of Free.
func Port(t testing.TB) int {
	t.Helper()
	return int(Range(t, 1).First)
}

// Range is such a number of ports in a row, for this test alone.
func Range(t testing.TB, count int32) listener.Range {
	t.Helper()
	ports, held, err := find(count)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(held.release)
	return ports
}

// FreeUntilExit is Free outside of a test: for this process, until it ends.
func FreeUntilExit() (string, error) {
	ports, held, err := find(1)
	if err != nil {
		return "", err
	}
	kept.Lock()
	defer kept.Unlock()
	kept.reservations = append(kept.reservations, held)
	return address(ports.First), nil
}

// find goes through all ports, and begins where another process hardly does.
func find(count int32) (listener.Range, reservation, error) {
	start := int32(os.Getpid() % 50 * 200)
	for tried := int32(0); tried < highest-lowest; tried += count {
		first := lowest + (start+tried)%(highest-lowest-count)
		ports := listener.Range{First: first, Last: first + count - 1}
		if held, ok := reserve(ports); ok {
			return ports, held, nil
		}
	}
	return listener.Range{}, nil, fmt.Errorf("found no %d free ports in a row", count)
}

// reservation keeps ports from the tests that run at the same time, in this process or another: a socket of UDP, which
// nothing here uses, at each.
type reservation []net.PacketConn

// kept are the reservations that hold until the process ends.
var kept struct {
	sync.Mutex
	reservations []reservation
}

// reserve takes all of some ports, or none.
func reserve(ports listener.Range) (held reservation, ok bool) {
	for port := ports.First; port <= ports.Last; port++ {
		socket, err := net.ListenPacket("udp", address(port)) //nolint:noctx // It waits for nothing.
		if err == nil {
			held = append(held, socket)
		}
		if err != nil || !isFree(port) {
			held.release()
			return nil, false
		}
	}
	return held, true
}

func (r reservation) release() {
	for _, socket := range r {
		_ = socket.Close()
	}
}

func isFree(port int32) bool {
	server, err := net.Listen("tcp", address(port)) //nolint:noctx // It waits for nothing.
	if err != nil {
		return false
	}
	_ = server.Close() // It has no connection yet.
	return true
}

func address(port int32) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))) }

package connections

import (
	"context"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

func TestAClientTakesPlacesFromItselfFirst(t *testing.T) {
	g := NewWithT(t)
	open := limited(3)
	add := func(client string) (context.Context, net.Conn) {
		opened := &from{client: client}
		return open.add(t.Context(), opened), opened
	}
	used, usedConnection := add("192.0.2.1")
	first, firstConnection := add("192.0.2.2")
	second, secondConnection := add("192.0.2.2")
	open.follow(firstConnection, http.StateActive)

	third, _ := add("192.0.2.2")
	g.Expect(second.Err()).To(HaveOccurred(), "nothing has happened on it for the longest time")
	g.Expect(secondConnection.(*from).closed).To(BeTrue())
	g.Expect([]error{used.Err(), first.Err(), third.Err()}).To(HaveEach(BeNil()))

	open.follow(secondConnection, http.StateClosed)
	open.follow(usedConnection, http.StateClosed)
	g.Expect(used.Err()).To(HaveOccurred())
	fourth, _ := add("192.0.2.3")
	g.Expect([]error{first.Err(), third.Err(), fourth.Err()}).To(HaveEach(BeNil()), "what ends makes room")
}

// from is a connection of a client.
type from struct {
	net.Conn
	client string
	closed bool
}

// RemoteAddr is the address of the client.
func (f *from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.client), Port: 1} }

// Close keeps that it was called.
func (f *from) Close() error {
	f.closed = true
	return nil
}

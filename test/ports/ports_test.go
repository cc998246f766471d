package ports_test

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/ports"
)

func TestAPortIsGivenToOneTest(t *testing.T) {
	g := NewWithT(t)
	given := map[string]bool{}
	for range 200 {
		address := ports.Free(t)
		g.Expect(given).NotTo(HaveKey(address))
		given[address] = true
	}
	for range 200 {
		address, err := ports.FreeUntilExit()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(given).NotTo(HaveKey(address))
		given[address] = true
	}
}

func TestPortsInARowCanBeListenedOn(t *testing.T) {
	g := NewWithT(t)
	found := ports.Range(t, 20)
	g.Expect(found.Size()).To(BeEquivalentTo(20))
	for port := found.First; port <= found.Last; port++ {
		server, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(server.Close()).To(Succeed())
	}
}

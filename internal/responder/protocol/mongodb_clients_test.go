package protocol

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
)

// mongoDBClients is the folder of the clients of MongoDB, which a test skips without. In CI,
// where clients are required, nothing is left out silently.
func mongoDBClients(t *testing.T) string {
	t.Helper()
	folder, err := exec.CommandContext(t.Context(), "../../../test/mongodb/build.sh", "--present").Output()
	if err == nil {
		return strings.TrimSpace(string(folder))
	}
	const reason = "the clients of MongoDB are missing: run test/mongodb/build.sh, which fetches them"
	if os.Getenv(clientsRequired) != "" {
		t.Fatalf("%s (%s is set)", reason, clientsRequired)
	}
	t.Skip(reason)
	return ""
}

func TestMongoshShowsTheError(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	shell := filepath.Join(mongoDBClients(t), "mongosh")
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, shell, "--quiet", "--norc", "mongodb://"+listen(t, "", testMessage)+"/shop", "--eval", "db.items.findOne()")
	command.Env = append(os.Environ(), "HOME="+t.TempDir())
	output, err := command.CombinedOutput()
	g.Expect(ctx.Err()).NotTo(HaveOccurred(), "it hangs")
	g.Expect(err).To(HaveOccurred(), "%s", output)
	g.Expect(string(output)).To(Equal("MongoServerSelectionError: " + testMessage + "\n"))
}

// TestADriverOfMongoDBWaitsForTheServer: one client lives through two outages. What it asks
// in the first succeeds, as the server comes back in time; what it asks in the second fails
// with the message when its patience ends, and what it asks after that succeeds again.
//
// The other order would be none for Node's driver: a client whose first connection fails, for
// whatever reason, stays closed until the application connects again.
func TestADriverOfMongoDBWaitsForTheServer(t *testing.T) {
	const patience = "/?serverSelectionTimeoutMS=15000&heartbeatFrequencyMS=500"
	tests := map[string]struct{ program, options, says string }{
		"of Node":                {"client-node", patience, "^MongoServerSelectionError: " + testMessage + "$"},
		"of Node, with replicas": {"client-node", patience + "&replicaSet=rs0", "^MongoServerSelectionError: " + testMessage + "$"},
		"of Go":                  {"client-go", patience, `^server selection error: .*\(ShutdownInProgress\) ` + testMessage},
		"of Go, with replicas":   {"client-go", patience + "&replicaSet=rs0", `^server selection error: .*\(ShutdownInProgress\) ` + testMessage},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			server := newMongoDB(t)
			client := run(t, filepath.Join(mongoDBClients(t), test.program), "mongodb://"+server.address+test.options)

			refusesTwice := func() { // Before the second time, the client has understood the first.
				for range 2 {
					g.Eventually(server.refused, clientTimeout).Should(Receive())
				}
			}

			client.asks()
			refusesTwice()
			server.is(true)
			g.Eventually(client.hears, clientTimeout).Should(Receive(Equal("ok")))

			server.is(false)
			refusesTwice()
			client.asks()
			g.Eventually(client.hears, clientTimeout).Should(Receive(MatchRegexp(test.says)))

			server.is(true)
			client.asks()
			g.Eventually(client.hears, clientTimeout).Should(Receive(Equal("ok")))
		})
	}
}

// mongoDB is a database of one server, with nothing in it, that can be away.
type mongoDB struct {
	address string
	// refused gets one for each client that was refused since the server is away.
	refused chan struct{}

	mu     sync.Mutex
	isUp   bool
	served []net.Conn
}

func newMongoDB(t *testing.T) *mongoDB {
	t.Helper()
	g := NewWithT(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	m := &mongoDB{address: listener.Addr().String(), refused: make(chan struct{}, 1000)}
	t.Cleanup(func() {
		_ = listener.Close()
		m.is(false)
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go m.take(t.Context(), conn)
		}
	}()
	return m
}

// is lets the server be back, or away. Its connections end with it.
func (m *mongoDB) is(up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, conn := range m.served {
		_ = conn.Close()
	}
	for len(m.refused) > 0 {
		<-m.refused
	}
	m.isUp, m.served = up, nil
}

func (m *mongoDB) take(ctx context.Context, conn net.Conn) {
	m.mu.Lock()
	isUp := m.isUp
	if isUp {
		m.served = append(m.served, conn)
	}
	m.mu.Unlock()
	if !isUp {
		serve(ctx, conn, "", testMessage)
		m.refused <- struct{}{}
		return
	}
	defer conn.Close()
	for in := bufio.NewReader(conn); ; {
		header, err := in.Peek(mongoDBHeader)
		if err != nil {
			return
		}
		number, code, _ := parseMongoDB(header)
		if _, err := in.Discard(int(binary.LittleEndian.Uint32(header))); err != nil {
			return
		}
		if _, err := conn.Write(mongoDBReply(number, code, m.answer())); err != nil {
			return
		}
	}
}

// answer is what a primary says to a hello, and what a query finds in an empty database.
func (m *mongoDB) answer() []byte {
	const double, text, document, array, boolean, integer, long = "\x01", "\x02", "\x03", "\x04", "\x08", "\x10", "\x12"
	number := func(value int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(value))) } //nolint:gosec // They are small.
	of := func(value string) string { return number(len(value)+1) + value + "\x00" }
	all := func(elements ...string) string {
		inner := strings.Join(elements, "")
		return number(len(inner)+5) + inner + "\x00"
	}
	zero := strings.Repeat("\x00", 8)
	return []byte(all(
		double+"ok\x00\x00\x00\x00\x00\x00\x00\xf0\x3f",
		boolean+"helloOk\x00\x01", boolean+"isWritablePrimary\x00\x01", boolean+"ismaster\x00\x01",
		text+"setName\x00"+of("rs0"), text+"me\x00"+of(m.address), text+"primary\x00"+of(m.address),
		array+"hosts\x00"+all(text+"0\x00"+of(m.address)),
		integer+"setVersion\x00"+number(1), integer+"minWireVersion\x00"+number(0), integer+"maxWireVersion\x00"+number(21),
		integer+"maxBsonObjectSize\x00"+number(16<<20), integer+"maxMessageSizeBytes\x00"+number(48_000_000),
		integer+"maxWriteBatchSize\x00"+number(100_000), integer+"logicalSessionTimeoutMinutes\x00"+number(30),
		document+"cursor\x00"+all(long+"id\x00"+zero, text+"ns\x00"+of("shop.items"), array+"firstBatch\x00"+all()),
	))
}

// asker is a program that asks a database once for each line that it reads.
type asker struct {
	lines io.Writer
	// hears gets each line that it prints.
	hears chan string
}

func (a *asker) asks() { _, _ = io.WriteString(a.lines, "\n") } // If it has ended, it hears nothing.

func run(t *testing.T, program string, args ...string) *asker {
	t.Helper()
	g := NewWithT(t)
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stderr = t.Output()
	lines, err := command.StdinPipe()
	g.Expect(err).NotTo(HaveOccurred())
	output, err := command.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(command.Start()).To(Succeed())
	a := &asker{lines: lines, hears: make(chan string, 10)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for said := bufio.NewScanner(output); said.Scan(); {
			a.hears <- said.Text()
		}
	}()
	t.Cleanup(func() {
		_ = lines.Close() // It ends, or the context of the test has ended it.
		<-done
		_ = command.Wait()
	})
	return a
}

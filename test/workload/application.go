package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// What an application has besides its pages: a counter of its requests, and a database.

// counters are the requests served, by what served them.
type counters struct{ page, database atomic.Int64 }

// write writes them as Prometheus reads them.
func (c *counters) write(to io.Writer) {
	_, _ = fmt.Fprintf(to, "# HELP http_requests_total Requests served.\n# TYPE http_requests_total counter\n"+
		"http_requests_total{handler=\"page\"} %d\nhttp_requests_total{handler=\"database\"} %d\n", c.page.Load(), c.database.Load())
}

const (
	// databaseTimeout is how long the database may take to greet.
	databaseTimeout = 2 * time.Second
	// maxGreeting bounds the first packet of a database.
	maxGreeting = 1 << 10
	// What the first packet of a MySQL server begins with.
	greets, refuses = 0x0a, 0xff
)

// serveDatabase says what the MySQL server of DB_HOST and DB_PORT says first to every client: its version, or why it does not
// serve. The error page is the application's own.
func (s *web) serveDatabase(w http.ResponseWriter, r *http.Request) {
	s.served.database.Add(1)
	s.sign(w)
	ctx, cancel := context.WithTimeout(r.Context(), databaseTimeout)
	defer cancel()
	version, err := greeting(ctx, os.Getenv("DB_HOST"), os.Getenv("DB_PORT"))
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = fmt.Fprintf(w, "The application has no database: %v\n", err)
		return
	}
	_, _ = fmt.Fprintf(w, "The database is %s\n", version)
}

// greeting is the version of a MySQL server, or its error in the words of MySQL's clients.
func greeting(ctx context.Context, host, port string) (version string, err error) {
	if host == "" || port == "" {
		return "", errors.New("DB_HOST and DB_PORT are not set")
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port))
	if err != nil {
		return "", err
	}
	defer func() { _ = connection.Close() }()
	if deadline, is := ctx.Deadline(); is {
		if err := connection.SetDeadline(deadline); err != nil {
			return "", err
		}
	}
	packet, err := firstPacket(connection)
	if err != nil {
		return "", fmt.Errorf("no greeting: %w", err)
	}
	switch {
	case packet[0] == greets:
		version, _, _ = strings.Cut(string(packet[1:]), "\x00")
		return version, nil
	case packet[0] == refuses && len(packet) >= 3:
		return "", fmt.Errorf("ERROR %d: %s", binary.LittleEndian.Uint16(packet[1:]), packet[3:])
	}
	return "", fmt.Errorf("no greeting of MySQL: %q", packet)
}

// firstPacket reads one packet: three bytes of length, one of sequence, and what follows.
func firstPacket(from io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	if size == 0 || size > maxGreeting {
		return nil, fmt.Errorf("a packet of %d bytes", size)
	}
	packet := make([]byte, size)
	_, err := io.ReadFull(from, packet)
	return packet, err
}

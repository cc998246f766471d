package command

import (
	"bytes"
	"context"
	"net"
	"regexp"
	"strings"
	"sync"

	"github.com/critical-service/operator/internal/contract/appprotocol"
)

const (
	// recorded is how much of an answer is kept.
	recorded = 8 << 10
	// shown is how long a line or a title may be.
	shown = 120
)

// transcript is what was received on the connection of one question, whatever its
// protocol.
type transcript struct {
	mu sync.Mutex
	// first are the bytes it began with; total is how many came.
	first []byte
	total int
}

func (t *transcript) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &recordedConn{Conn: conn, transcript: t}, nil
}

// recordedConn is a connection that writes its transcript.
type recordedConn struct {
	net.Conn
	transcript *transcript
}

// Read records the beginning of what it reads.
func (c *recordedConn) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	c.transcript.mu.Lock()
	defer c.transcript.mu.Unlock()
	c.transcript.total += n
	c.transcript.first = append(c.transcript.first, into[:min(n, recorded-len(c.transcript.first))]...)
	return n, err
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// summary is how the answer began. Protocols that are not text have no first line.
func (t *transcript) summary(protocol appprotocol.Protocol) (line, heading string, total int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch protocol {
	case appprotocol.HTTP:
		if found := title.FindSubmatch(t.first); found != nil {
			heading = tidy(found[1])
		}
		first, _, _ := bytes.Cut(t.first, []byte("\n"))
		line = tidy(first)
	case appprotocol.PostgreSQL, appprotocol.MySQL, appprotocol.Redis, appprotocol.MongoDB, appprotocol.TCP:
		line = tidy(t.first)
	case appprotocol.H2C, appprotocol.GRPC, appprotocol.TLS:
	}
	return line, heading, t.total
}

// tidy is the printable text of some bytes, on one line.
func tidy(raw []byte) string {
	text := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\uFFFD' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(raw), " "))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "")
	}
	return text
}

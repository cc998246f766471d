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
	// remembered is how much of an answer is looked at.
	remembered = 8 << 10
	// shown is how long a line or a title may be.
	shown = 120
)

// ear listens in on the connection of one question, whatever its protocol.
type ear struct {
	mu    sync.Mutex
	heard []byte
	total int
}

func (e *ear) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &overheard{Conn: conn, ear: e}, nil
}

type overheard struct {
	net.Conn
	ear *ear
}

// Read remembers the beginning of what it reads.
func (o *overheard) Read(into []byte) (int, error) {
	n, err := o.Conn.Read(into)
	o.ear.mu.Lock()
	defer o.ear.mu.Unlock()
	o.ear.total += n
	o.ear.heard = append(o.ear.heard, into[:min(n, remembered-len(o.ear.heard))]...)
	return n, err
}

var title = regexp.MustCompile(`(?is)<title[^>]*>(.*?)</title>`)

// tell is how the answer began. Protocols that are not text have no first line.
func (e *ear) tell(protocol appprotocol.Protocol) (line, heading string, total int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch protocol {
	case appprotocol.HTTP:
		if found := title.FindSubmatch(e.heard); found != nil {
			heading = tidy(found[1])
		}
		first, _, _ := bytes.Cut(e.heard, []byte("\n"))
		line = tidy(first)
	case appprotocol.PostgreSQL, appprotocol.MySQL, appprotocol.Redis, appprotocol.TCP:
		line = tidy(e.heard)
	case appprotocol.H2C, appprotocol.GRPC, appprotocol.TLS:
	}
	return line, heading, e.total
}

// tidy is what can be read of some bytes, on one line.
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

//go:build e2e

package autoscale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// clients is how many ask at once. Each asks again when it has its answer: however slow
// the machine is, they ask no more than is answered.
const clients = 48

// load is many clients of one address. They do little with an answer, so that most of the
// machine's time is left to the responder.
type load struct {
	stop func()
	done sync.WaitGroup

	mu       sync.Mutex
	answered int
	lost     []error
}

func startLoad(ctx context.Context, address string) *load {
	ctx, stop := context.WithCancel(ctx)
	l := &load{stop: stop}
	for range clients {
		l.done.Go(func() {
			for ctx.Err() == nil {
				err := ask(address)
				l.mu.Lock()
				if err == nil {
					l.answered++
				} else {
					l.lost = append(l.lost, fmt.Errorf("%s: %w", time.Now().Format(time.TimeOnly), err))
				}
				l.mu.Unlock()
			}
		})
	}
	return l
}

// end stops the clients when each has its last answer.
func (l *load) end() (answered int, lost []error) {
	l.stop()
	l.done.Wait()
	return l.answered, l.lost
}

// ask is one request on a connection of its own, as kube-proxy balances connections.
func ask(address string) error {
	const timeout = 10 * time.Second
	connection, err := net.DialTimeout("tcp", address, timeout)
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	if tcp, ok := connection.(*net.TCPConn); ok {
		// The kernel forgets a connection that is reset at once. Thousands a second would fill the table of the node otherwise.
		_ = tcp.SetLinger(0)
	}
	if err := connection.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(connection, "GET / HTTP/1.1\r\nHost: shop\r\nUser-Agent: load\r\nAccept: text/html\r\n\r\n"); err != nil {
		return err
	}
	buffer := buffers.Get().(*[256 << 10]byte)
	defer buffers.Put(buffer)
	head, bytes := "", 0
	for {
		n, err := connection.Read(buffer[:])
		head += string(buffer[:min(n, max(0, 1024-len(head)))])
		bytes += n
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return err
		case !strings.HasPrefix(head, "HTTP/1.1 503 "), !strings.Contains(head, pageSentence), bytes < pageSize:
			return fmt.Errorf("it is not the page but %d bytes: %s", bytes, head)
		default:
			return nil
		}
	}
}

// buffers are large: reading in few calls leaves more of the machine to the responder.
var buffers = sync.Pool{New: func() any { return new([256 << 10]byte) }}

package responder

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"

	"github.com/critical-service/operator/internal/contract/listener"
)

// acceptBackoff is how long a listener waits when the process or the node has no
// room for another connection.
const acceptBackoff = 20 * time.Millisecond

// bind listens on every port of a range. If one cannot be had, none is kept.
func bind(ctx context.Context, address string, ports listener.Range) ([]*net.TCPListener, error) {
	// Every connection ends within seconds: probing whether its client is alive would
	// only cost four system calls for each.
	config := net.ListenConfig{KeepAlive: -1, Control: boundBuffers}
	bound := make([]*net.TCPListener, 0, ports.Last-ports.First+1)
	for port := ports.First; port <= ports.Last; port++ {
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(address, strconv.Itoa(int(port))))
		if err != nil {
			for _, l := range bound {
				_ = l.Close() // It has no connection yet.
			}
			if errors.Is(err, syscall.EMFILE) {
				err = fmt.Errorf("%w: the process may have too few files open (ulimit -n) for %d listeners", err, cap(bound))
			}
			return nil, fmt.Errorf("listen on all ports of %s: %w", ports, err)
		}
		if own, isTCP := l.(*net.TCPListener); isTCP { // As every listener of "tcp" is.
			bound = append(bound, own)
		}
	}
	return bound, nil
}

// accept gives every connection of all listeners, which have the ports from first
// on, to handle, until the listeners are closed.
func accept(listeners []*net.TCPListener, first int32, log logr.Logger, handle func(*net.TCPConn, int32)) {
	var running sync.WaitGroup
	for i, l := range listeners {
		port := first + int32(i)
		running.Go(func() {
			for {
				c, err := l.AcceptTCP()
				switch {
				case err == nil:
					handle(c, port)
				case errors.Is(err, net.ErrClosed):
					return
				default:
					// No room for another, or a client that went before it was accepted.
					log.Info("accept failed", "port", port, "error", err.Error())
					<-time.After(acceptBackoff)
				}
			}
		})
	}
	running.Wait()
}

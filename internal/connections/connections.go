// Package connections bounds how many connections a server has open, and follows what clients of HTTP/2 send on one, for servers
// that any Pod of the cluster may reach.
package connections

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

// limit bounds how many connections are open. A new one is never refused: it
// takes the place of one that has waited long.
type limit struct {
	most  int
	mutex sync.Mutex
	// steps counts what happened on all connections.
	steps uint64
	open  map[net.Conn]*connection
}

type connection struct {
	client string
	// step is when something happened on it last.
	step   uint64
	cancel context.CancelFunc
}

// Limit lets a server have at most as many connections open. It must have no hooks of its own for them yet.
func Limit(server *http.Server, most int) {
	open := limited(most)
	server.ConnContext, server.ConnState = open.add, open.follow
}

func limited(most int) *limit {
	return &limit{most: most, open: map[net.Conn]*connection{}}
}

// add is what http.Server calls with a new connection.
func (c *limit) add(ctx context.Context, opened net.Conn) context.Context {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.open) >= c.most {
		c.displace()
	}
	ctx, cancel := context.WithCancel(ctx)
	c.steps++
	c.open[opened] = &connection{client: hostOf(opened), step: c.steps, cancel: cancel}
	return ctx
}

// follow is what http.Server calls when something happens on a connection.
func (c *limit) follow(changed net.Conn, state http.ConnState) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	known, ok := c.open[changed]
	switch {
	case !ok:
	case state == http.StateClosed || state == http.StateHijacked:
		known.cancel()
		delete(c.open, changed)
	default:
		c.steps++
		known.step = c.steps
	}
}

// displace closes a connection of the address that has the most: the one on which
// nothing has happened for the longest time. So a client takes places from itself
// first, and from others that share its address only what they do not use.
func (c *limit) displace() {
	of := map[string]int{}
	for _, each := range c.open {
		of[each.client]++
	}
	var oldest net.Conn
	for opened, each := range c.open {
		if oldest == nil {
			oldest = opened
			continue
		}
		before := c.open[oldest]
		if more := of[each.client] - of[before.client]; more > 0 || more == 0 && each.step < before.step {
			oldest = opened
		}
	}
	c.open[oldest].cancel()
	delete(c.open, oldest)
	closeAtOnce(oldest)
}

// closeAtOnce sends no notice over TLS, for which a client could make this wait.
func closeAtOnce(opened net.Conn) {
	if over, ok := opened.(*tls.Conn); ok {
		opened = over.NetConn()
	}
	_ = opened.Close()
}

func hostOf(opened net.Conn) string {
	host, _, err := net.SplitHostPort(opened.RemoteAddr().String())
	if err != nil {
		return opened.RemoteAddr().String()
	}
	return host
}

package meter

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// limit bounds how many connections there are: the one that has been idle for longest makes room.
type limit struct {
	most int

	mu   sync.Mutex
	all  map[net.Conn]*list.Element
	idle list.List
}

func newLimit(most int) *limit {
	return &limit{most: most, all: map[net.Conn]*list.Element{}}
}

// changed follows the states of a server's connections. One that has not sent a request yet is idle.
func (c *limit) changed(connection net.Conn, state http.ConnState) {
	if tooMany := c.note(connection, state); tooMany != nil {
		_ = tooMany.Close()
	}
}

func (c *limit) note(connection net.Conn, state http.ConnState) (tooMany net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.all[connection]; at != nil {
		c.idle.Remove(at)
	}
	switch state {
	case http.StateNew, http.StateIdle:
		c.all[connection] = c.idle.PushBack(connection)
	case http.StateActive:
		c.all[connection] = nil
	case http.StateHijacked, http.StateClosed:
		delete(c.all, connection)
		return nil
	}
	if len(c.all) <= c.most || c.idle.Len() == 0 {
		return nil
	}
	// It does not count from here on: until its server says that it is closed, others would make no room.
	oldest, _ := c.idle.Remove(c.idle.Front()).(net.Conn)
	delete(c.all, oldest)
	return oldest
}

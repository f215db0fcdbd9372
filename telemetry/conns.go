package telemetry

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// conns is a listener that has a bounded number of connections open. When one more
// comes, the one that has waited longest for a request, or for the end of its header, is
// closed for it: those who are slow, or idle, lock nobody out. While all have requests
// under way, it waits for one to end.
type conns struct {
	net.Listener
	max int

	mu      sync.Mutex
	changed *sync.Cond
	open    map[net.Conn]*list.Element // nil for those with a request under way
	waiting *list.List                 // of net.Conn, who has waited longest first
	closed  bool
}

func newConns(inner net.Listener, max int) *conns {
	c := &conns{Listener: inner, max: max, open: map[net.Conn]*list.Element{}, waiting: list.New()}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Accept returns the next connection once there is room for it.
func (c *conns) Accept() (net.Conn, error) {
	raw, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	conn := &counted{Conn: raw, conns: c}
	if !c.admit(conn) {
		_ = raw.Close()
		return nil, net.ErrClosed
	}
	return conn, nil
}

// admit makes room for a connection; false where the listener was closed meanwhile.
func (c *conns) admit(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.max && !c.closed {
		longest := c.waiting.Front()
		if longest == nil {
			c.changed.Wait()
			continue
		}
		evicted, _ := longest.Value.(*counted)
		c.forget(evicted)
		_ = evicted.Conn.Close() // its goroutine finds out, and ends
	}
	if c.closed {
		return false
	}
	c.open[conn] = c.waiting.PushBack(conn)
	return true
}

// state notes what the server says of a connection. See [http.Server.ConnState]: one is
// new until the header of its first request has been read.
func (c *conns) state(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	element, open := c.open[conn]
	if !open {
		return
	}
	switch state {
	case http.StateActive:
		if element != nil {
			c.waiting.Remove(element)
			c.open[conn] = nil
		}
	case http.StateIdle:
		if element == nil {
			c.open[conn] = c.waiting.PushBack(conn)
			c.changed.Signal()
		}
	}
}

// forget is called with the lock.
func (c *conns) forget(conn net.Conn) {
	if element := c.open[conn]; element != nil {
		c.waiting.Remove(element)
	}
	delete(c.open, conn)
}

// Close ends the listener, and whoever waits in it.
func (c *conns) Close() error {
	c.mu.Lock()
	c.closed = true
	c.changed.Broadcast()
	c.mu.Unlock()
	return c.Listener.Close()
}

// counted is a connection whose end is noted.
type counted struct {
	net.Conn
	conns *conns
}

func (c *counted) Close() error {
	c.conns.mu.Lock()
	c.conns.forget(c)
	c.conns.changed.Signal()
	c.conns.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite has a client read the answer before the connection ends: see [net.TCPConn].
func (c *counted) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

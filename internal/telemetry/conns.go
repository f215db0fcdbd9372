package telemetry

import (
	"container/list"
	"net"
	"net/http"
	"sync"
	"time"
)

// conns is a listener that has a bounded number of connections open. When one more
// comes, another is closed for it: the one that has kept us waiting longest for the
// header of its first request, else the one that has been idle for longest. So those who
// are slow lock nobody out. While all have requests under way, it waits for one to end.
type conns struct {
	net.Listener
	max int

	mu      sync.Mutex
	changed *sync.Cond
	open    map[*counted]struct{}
	fresh   *list.List // of *counted without a request so far, the oldest first
	idle    *list.List // of *counted between two requests, who is so for longest first
	closed  bool
}

// grace is how long a connection has for the header of its first request before it may
// have to make room.
const grace = 250 * time.Millisecond

func newConns(inner net.Listener, max int) *conns {
	c := &conns{Listener: inner, max: max, open: map[*counted]struct{}{}, fresh: list.New(), idle: list.New()}
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

// admit waits until there is room for a connection; false where the listener was closed
// meanwhile.
func (c *conns) admit(conn *counted) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) >= c.max && !c.closed {
		if !c.evict() {
			c.changed.Wait()
		}
	}
	if c.closed {
		return false
	}
	c.open[conn], conn.since = struct{}{}, time.Now()
	conn.wait(c.fresh)
	return true
}

// evict closes a connection that has no request under way. Where none may be closed yet,
// it has whoever waits look again when one may. It is called with the lock.
func (c *conns) evict() bool {
	victim := c.idle.Front()
	if oldest := c.fresh.Front(); oldest != nil {
		conn, _ := oldest.Value.(*counted)
		if left := grace - time.Since(conn.since); left <= 0 {
			victim = oldest
		} else if victim == nil {
			time.AfterFunc(left, c.lookAgain)
		}
	}
	if victim == nil {
		return false
	}
	conn, _ := victim.Value.(*counted)
	c.forget(conn)
	_ = conn.Conn.Close() // its goroutine finds out, and ends
	return true
}

// lookAgain wakes whoever waits for room.
func (c *conns) lookAgain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed.Broadcast()
}

// state notes what the server says of a connection. See [http.Server.ConnState]: one is
// new until the header of its first request has been read.
func (c *conns) state(raw net.Conn, state http.ConnState) {
	conn, _ := raw.(*counted)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.open[conn]; !open {
		return
	}
	switch state {
	case http.StateActive:
		conn.wait(nil)
	case http.StateIdle:
		conn.wait(c.idle)
		c.changed.Broadcast()
	}
}

// forget is called with the lock.
func (c *conns) forget(conn *counted) {
	conn.wait(nil)
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
	since time.Time     // when it was let in
	among *list.List    // nil while a request is under way
	place *list.Element // among them
}

// wait moves a connection to the end of a list, nil for none. It is called with the lock.
func (c *counted) wait(among *list.List) {
	if c.among != nil {
		c.among.Remove(c.place)
	}
	if c.among = among; among != nil {
		c.place = among.PushBack(c)
	}
}

func (c *counted) Close() error {
	c.conns.mu.Lock()
	c.conns.forget(c)
	c.conns.changed.Broadcast()
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

//go:build torture

package e2e

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// cable stands between a process and a server, and passes on what they say to each
// other until a packet meets with another fate.
type cable struct {
	t        testing.TB
	listener net.Listener
	network  string
	address  string // of the server
	away     bool   // which may be away
	fate     func(p packet) fate

	mu    sync.Mutex
	count int
	down  bool // no connection passes anything, those to come neither
	conns []net.Conn
	wait  sync.WaitGroup
}

// packet is what one read has brought.
type packet struct {
	n    int  // counted over both directions
	up   bool // to the server
	data []byte
}

// fate is what becomes of a packet, and of its connection.
type fate int

const (
	passes     fate = iota
	vanishes        // a black hole: it and all after it are lost on this connection, which stays open
	allVanish       // the same for every connection, also for those to come
	isReset         // it is lost, and both sides are told by a reset
	serverGone      // the server has closed, and the client is not told
	clientGone      // the client is told by a reset, the server is not, and keeps what it holds
	unanswered      // it arrives; the reply does not: the client's connection breaks
	drips           // from here on all comes byte by byte
)

func (f fate) String() string {
	return []string{"passes", "black hole", "black hole for all", "reset", "half open, server gone", "half open, client gone", "reply lost", "drip"}[f]
}

// newCable stands in front of a server.
func newCable(t *testing.T, fate func(p packet) fate) *cable {
	t.Helper()
	c := &cable{t: t, fate: fate}
	var err error
	if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.listener.Close()
		c.cut()
		c.wait.Wait()
	})
	return c
}

// open lets connections in, to the server at an address.
func (c *cable) open(network, address string) {
	c.network, c.address = network, address
	c.wait.Go(c.accept)
}

func (c *cable) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial(c.network, c.address)
		if err != nil {
			if !c.away {
				c.t.Errorf("connect to the server: %v", err)
			}
			_ = client.Close()
			continue
		}
		w := &strand{cable: c, client: client, server: server}
		c.mu.Lock()
		c.conns = append(c.conns, client, server)
		c.mu.Unlock()
		c.wait.Go(func() { w.carry(server, client, true) })
		c.wait.Go(func() { w.carry(client, server, false) })
	}
}

// cut ends every connection.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close() // some are closed already
	}
}

// decide counts a packet, and asks for its fate.
func (c *cable) decide(up bool, data []byte) fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count++
	if c.down {
		return vanishes
	}
	f := c.fate(packet{c.count, up, data})
	c.down = f == allVanish
	return f
}

// strand is one connection.
type strand struct {
	cable          *cable
	client, server net.Conn
	silent, slow   atomic.Bool
}

// carry takes what one side says to the other.
func (w *strand) carry(to, from net.Conn, up bool) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !w.silent.Load() {
			if !w.pass(to, buffer[:n], up) {
				return
			}
		}
		if err != nil {
			if !w.silent.Load() { // a black hole swallows the end, too
				_ = to.Close()
				_ = from.Close()
			}
			return
		}
	}
}

// pass gives a packet its fate, and tells whether its side goes on being read.
func (w *strand) pass(to net.Conn, data []byte, up bool) bool {
	f := w.cable.decide(up, data)
	switch f {
	case vanishes, allVanish:
		w.silent.Store(true)
		return true
	case isReset:
		abort(w.client)
		abort(w.server)
		return false
	case serverGone:
		w.silent.Store(true)
		abort(w.server)
		return true
	case clientGone:
		w.silent.Store(true)
		abort(w.client)
		return true
	case unanswered:
		w.silent.Store(true)
		if up {
			_, _ = w.server.Write(data) // a server that is gone answers nothing either
		}
		abort(w.client)
		return true
	case drips:
		w.slow.Store(true)
	}
	if w.slow.Load() {
		for i := range data {
			if _, err := to.Write(data[i : i+1]); err != nil {
				return false
			}
		}
		return true
	}
	_, err := to.Write(data)
	return err == nil
}

// abort closes a connection with a reset.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // closed already: nothing is left to reset
	}
	_ = conn.Close()
}

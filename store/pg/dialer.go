package pg

import (
	"context"
	"net"
	"sync"
	"time"
)

// DialFunc opens a network connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer opens connections whose every read and write has a deadline. The driver
// waits for ever on a link that has gone silent, whatever the context says.
type dialer struct {
	dial    DialFunc
	timeout time.Duration
}

// Dial is unused by the driver, which prefers DialContext, but it asks for it.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout is unused by the driver, which prefers DialContext, but it asks for it.
func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := d.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &timedConn{Conn: conn, timeout: d.timeout}, nil
}

// timedConn gives each read and write its own deadline, without lengthening one
// that the driver has set for the handshake.
type timedConn struct {
	net.Conn
	timeout time.Duration

	mu    sync.Mutex
	limit time.Time
}

func (c *timedConn) deadline() time.Time {
	at := time.Now().Add(c.timeout)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.limit.IsZero() && c.limit.Before(at) {
		return c.limit
	}
	return at
}

func (c *timedConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	c.limit = t
	c.mu.Unlock()
	return c.Conn.SetDeadline(t)
}

func (c *timedConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(c.deadline()); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *timedConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(c.deadline()); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

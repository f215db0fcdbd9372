package pg

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/lib/pq"
)

// DialFunc opens a network connection.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialer opens connections with a deadline for every read and write, which also ends with the context of the caller.
// The driver itself would wait forever on a silent link, whatever the context.
type dialer struct {
	dial    DialFunc
	timeout time.Duration
	cfg     pq.Config         // the TLS settings
	names   map[string]string // see namesOf
}

// Dial exists because the driver requires it. The driver uses DialContext.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialTimeout exists because the driver requires it. The driver uses DialContext.
func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	o, ok := ctx.Value(openingKey{}).(*opening)
	timeout := d.timeout
	if !ok { // the driver itself dials to cancel a statement, and needs no answer
		timeout = min(timeout, graceAfterCancel)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	conn, err := d.open(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c := &timedConn{Conn: conn, timeout: timeout}
	if ok {
		o.close()
		o.link, o.close = c, c.watchContext(o.ctx)
	}
	return c, nil
}

// graceAfterCancel is how long the server may still answer after the caller's context has ended.
const graceAfterCancel = 2 * time.Second

// opening is a connection that a caller waits for. The driver may open several links for it.
type opening struct {
	ctx   context.Context // of the caller
	link  *timedConn      // the last link
	close func()
}

type openingKey struct{}

// timedConn gives each read and write its own deadline, but never a later one than the driver has set for the
// handshake.
type timedConn struct {
	net.Conn
	timeout time.Duration
	queue   queue

	mu    sync.Mutex
	limit time.Time // deadline of the handshake; zero: none
	end   time.Time // deadline after the caller's context has ended; zero: it has not
}

// watchContext ends all reads and writes soon after ctx ends, until stop is called.
func (c *timedConn) watchContext(ctx context.Context) (stop func()) {
	told := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(told)
		_ = c.set(&c.end, time.Now().Add(graceAfterCancel)) // an error means that the link is closed already
	})
	return func() {
		if !forget() {
			<-told
			_ = c.set(&c.end, time.Time{})
		}
	}
}

func (c *timedConn) deadline() time.Time {
	at := time.Now().Add(c.timeout)
	for _, other := range []time.Time{c.limit, c.end} {
		if !other.IsZero() && other.Before(at) {
			at = other
		}
	}
	return at
}

// set changes limit or end, and the deadline of reads and writes in progress.
func (c *timedConn) set(which *time.Time, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	*which = t
	return c.Conn.SetDeadline(c.deadline())
}

// begin sets the deadline of a read or write.
func (c *timedConn) begin(set func(time.Time) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return set(c.deadline())
}

func (c *timedConn) SetDeadline(t time.Time) error { return c.set(&c.limit, t) }

func (c *timedConn) Read(p []byte) (int, error) {
	for {
		n, more := c.queue.read(p)
		if n > 0 {
			return n, nil
		}
		if err := c.begin(c.SetReadDeadline); err != nil {
			return 0, err
		}
		if !more {
			return c.Conn.Read(p)
		}
		var b [4096]byte
		n, err := c.Conn.Read(b[:])
		c.queue.in = append(c.queue.in, b[:n]...)
		if n == 0 && err != nil {
			return 0, err
		}
	}
}

func (c *timedConn) Write(p []byte) (int, error) {
	now, err := c.queue.written(p)
	if err != nil {
		return 0, err
	}
	if len(now) == 0 {
		return len(p), nil
	}
	if err := c.send(now); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (c *timedConn) send(p []byte) error {
	if err := c.begin(c.SetWriteDeadline); err != nil {
		return err
	}
	_, err := c.Conn.Write(p)
	return err
}

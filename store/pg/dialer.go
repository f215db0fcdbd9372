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

// dialer opens connections whose every read and write has a deadline, and ends with the context of
// whoever waits. The driver waits for ever on a link that has gone silent, whatever the context says.
type dialer struct {
	dial    DialFunc
	timeout time.Duration
	cfg     pq.Config         // what TLS is to be
	names   map[string]string // see namesOf
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
	o, ok := ctx.Value(openingKey{}).(*opening)
	timeout := d.timeout
	if !ok { // the driver's own, to have a statement canceled: the answer is not worth a wait
		timeout = min(timeout, parting)
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
		o.link, o.close = c, c.heed(o.ctx)
	}
	return c, nil
}

// parting is how long the server has to answer whoever waits for it no longer.
const parting = 2 * time.Second

// opening is a connection that somebody waits for. The driver may try several links for it.
type opening struct {
	ctx   context.Context // of whoever waits
	link  *timedConn      // the last one
	close func()
}

type openingKey struct{}

// timedConn gives each read and write its own deadline, without lengthening one
// that the driver has set for the handshake.
type timedConn struct {
	net.Conn
	timeout time.Duration
	queue   queue

	mu    sync.Mutex
	limit time.Time // of the handshake; zero: none
	end   time.Time // of who waits for it no longer; zero: somebody does
}

// heed has whatever is under way end soon after ctx does, until it is told to stop.
func (c *timedConn) heed(ctx context.Context) (stop func()) {
	told := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		defer close(told)
		_ = c.set(&c.end, time.Now().Add(parting)) // a link that is gone has ended
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

// set changes one of the times, for what is under way, too.
func (c *timedConn) set(which *time.Time, t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	*which = t
	return c.Conn.SetDeadline(c.deadline())
}

// begin gives a read or write its deadline.
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

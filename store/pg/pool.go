package pg

import (
	"context"
	"time"
)

// acquireConn waits for the right to take a connection from the pool. Waiters are served in order; database/sql has no
// order, so some would wait several times as long as others. The caller must call releaseConn.
//
// At first, firstConns callers may hold a connection. Whenever a caller has waited for patience, the limit rises by
// one, up to the size of the pool. A new connection must plan every statement anew, so a shorter wait for an old
// connection is quicker.
func (d *DB) acquireConn(ctx context.Context) error {
	select {
	case d.conns <- struct{}{}: // free; otherwise waiters come first
		return nil
	default:
	}
	if d.heldBack.Load() > 0 {
		ripe := time.AfterFunc(patience, func() {
			if d.heldBack.Add(-1) >= 0 {
				<-d.conns // gives the place to the first waiter
			} else {
				d.heldBack.Add(1) // none was held back
			}
		})
		defer ripe.Stop()
	}
	select {
	case d.conns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	firstConns = 2
	patience   = 25 * time.Millisecond // about the time that a new connection needs to become as fast as the others
)

// holdBackConns takes all but firstConns connections out of circulation: see acquireConn.
func (d *DB) holdBackConns() {
	for range cap(d.conns) - firstConns {
		d.conns <- struct{}{}
		d.heldBack.Add(1)
	}
}

func (d *DB) releaseConn() { <-d.conns }

// dropIdle closes the idle connections.
func (d *DB) dropIdle() {
	d.db.SetMaxIdleConns(-1)
	d.db.SetMaxIdleConns(d.opts.idleConns())
}

// idleConns returns how many idle connections stay open. A shard has one, since there are many shards, and a server
// allows only so many connections.
func (o Options) idleConns() int {
	if o.place != nil {
		return 1
	}
	return o.MaxConns
}

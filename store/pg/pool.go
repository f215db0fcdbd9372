package pg

import (
	"context"
	"time"
)

// acquireConn waits for the right to take a connection from the pool, first come first
// served. (database/sql serves waiters in no order, so that some would wait several times
// as long as others.) The caller gives it back by releaseConn.
//
// At first firstConns callers may hold one. The limit rises by one, up to the size of the pool,
// whenever somebody has waited for patience: a new connection must plan every statement
// anew, so that whoever waits for less is served sooner by an old one.
func (d *DB) acquireConn(ctx context.Context) error {
	select {
	case d.conns <- struct{}{}: // nobody waits, or there would be none
		return nil
	default:
	}
	if d.heldBack.Load() > 0 {
		ripe := time.AfterFunc(patience, func() {
			if d.heldBack.Add(-1) >= 0 {
				<-d.conns // for whoever has waited longest
			} else {
				d.heldBack.Add(1) // none was left
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
	patience   = 25 * time.Millisecond // about what a new connection costs until it is as quick as the others
)

// holdBackConns takes all but firstConns connections out of circulation: see acquireConn.
func (d *DB) holdBackConns() {
	for range cap(d.conns) - firstConns {
		d.conns <- struct{}{}
		d.heldBack.Add(1)
	}
}

func (d *DB) releaseConn() { <-d.conns }

// dropIdle closes the connections that nobody uses.
func (d *DB) dropIdle() {
	d.db.SetMaxIdleConns(-1)
	d.db.SetMaxIdleConns(d.opts.idleConns())
}

// idleConns is how many connections are kept: one to a shard, of which there are many, and a server has only so many.
func (o Options) idleConns() int {
	if o.place != nil {
		return 1
	}
	return o.MaxConns
}

package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync/atomic"

	"github.com/lib/pq"
)

// connector opens connections whose transactions begin with settings of their
// own, in the same request: they would be a round trip in each otherwise. Once it closes,
// statements end with their connections: each would be a round trip, too, and a process
// that has prepared a hundred would end a good deal later.
type connector struct {
	*pq.Connector
	closing atomic.Bool
}

func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	raw, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := raw.(driverConn)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("the driver's %T lacks what is needed of it", raw)
	}
	return &conn{full, c}, nil
}

// driverConn is what the driver's connections can do, among it to end the
// transaction that is under way.
type driverConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	driver.Tx
}

type conn struct {
	driverConn
	of *connector
}

// driverStmt is what the driver's statements can do.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type stmt struct {
	driverStmt
	of *connector
}

func (s *stmt) Close() error {
	if s.of.closing.Load() {
		return nil
	}
	return s.driverStmt.Close()
}

// PrepareContext prepares a statement that need not be closed before its connection.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	raw, err := c.driverConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	full, ok := raw.(driverStmt)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("the driver's %T lacks what is needed of it", raw)
	}
	return &stmt{full, c.of}, nil
}

// BeginTx begins a transaction with the settings of the context.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	begin := "BEGIN READ WRITE"
	if opts.ReadOnly {
		begin = "BEGIN READ ONLY"
	}
	switch sql.IsolationLevel(opts.Isolation) {
	case sql.LevelDefault:
	case sql.LevelRepeatableRead:
		begin += " ISOLATION LEVEL REPEATABLE READ"
	default:
		return nil, fmt.Errorf("isolation level %s is not used here", sql.IsolationLevel(opts.Isolation))
	}
	if settings, ok := ctx.Value(settingsKey{}).(string); ok {
		begin += "; " + settings
	}
	if _, err := c.ExecContext(ctx, begin, nil); err != nil {
		_ = c.Rollback() // begun all the same, if only a setting failed; else the connection is given up
		return nil, err
	}
	return c, nil
}

type settingsKey struct{}

// withSettings is the context of a transaction that begins with settings, which
// are SQL.
func withSettings(ctx context.Context, settings string) context.Context {
	return context.WithValue(ctx, settingsKey{}, settings)
}

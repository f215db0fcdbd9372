package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

	"github.com/lib/pq"
)

// connector opens connections whose transactions begin with settings of their
// own, in the same request: they would be a round trip in each otherwise.
type connector struct{ *pq.Connector }

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
	return &conn{full}, nil
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

type conn struct{ driverConn }

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

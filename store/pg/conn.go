package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/lib/pq"
)

// connector opens connections whose transactions begin with settings of their
// own, in the same request: they would be a round trip in each otherwise.
type connector struct{ *pq.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	o := &opening{ctx: ctx, close: func() {}}
	raw, err := c.Connector.Connect(context.WithValue(ctx, openingKey{}, o))
	o.close()
	if err != nil {
		return nil, err
	}
	full, ok := raw.(driverConn)
	if !ok {
		_ = raw.Close()
		return nil, fmt.Errorf("the driver's %T lacks what is needed of it", raw)
	}
	return &conn{driverConn: full, statements: map[string]driverStmt{}, link: o.link}, nil
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

// conn prepares statements of its own, where the context asks for it. A statement is prepared
// when it comes for the second time: a process that ends soon would prepare for nothing.
type conn struct {
	driverConn
	statements map[string]driverStmt // by text; nil for one that has come once
	link       *timedConn
	over       func() // ends what the transaction under way heeds; nil where there is none
}

// heed is [timedConn.heed] for what belongs to no transaction: that heeds its own context to its end.
func (c *conn) heed(ctx context.Context) (stop func()) {
	if c.over != nil {
		return func() {}
	}
	return c.link.heed(ctx)
}

// maxStatements bounds what one connection keeps prepared.
const maxStatements = 200

// driverStmt is what the driver's statements can do.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type preparingKey struct{}

// preparing is the context of statements that are prepared, unless nothing is to be.
func (d *DB) preparing(ctx context.Context) context.Context {
	return context.WithValue(ctx, preparingKey{}, !d.opts.Unprepared)
}

// prepared returns the statement of a query, nil where it is to be sent as it is.
func (c *conn) prepared(ctx context.Context, query string, args []driver.NamedValue) (driverStmt, error) {
	if on, _ := ctx.Value(preparingKey{}).(bool); !on || len(args) == 0 {
		return nil, nil
	}
	st, known := c.statements[query]
	if !known && len(c.statements) < maxStatements {
		c.statements[query] = nil
	}
	if !known || st != nil {
		return st, nil
	}
	raw, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	st, ok := raw.(driverStmt)
	if !ok {
		return nil, fmt.Errorf("the driver's %T lacks what is needed of it", raw)
	}
	c.statements[query] = st
	return st, nil
}

// QueryContext has another connection asked where this one is broken. Outside of transactions
// it only looks; in one the pool asks nobody else.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	defer c.heed(ctx)()
	st, err := c.prepared(ctx, query, args)
	switch {
	case err != nil:
	case st != nil:
		rows, err = st.QueryContext(ctx, args)
	default:
		rows, err = c.driverConn.QueryContext(ctx, query, args)
	}
	if err != nil {
		return nil, retryElsewhere(ctx, err)
	}
	return utcRows{rows}, nil
}

// utcRows have all times in UTC, whatever the time zone of the server.
type utcRows struct{ driver.Rows }

func (r utcRows) Next(dest []driver.Value) error {
	err := r.Rows.Next(dest)
	for i, v := range dest {
		if at, ok := v.(time.Time); ok {
			dest[i] = at.UTC()
		}
	}
	return err
}

// ExecContext writes, always in a transaction.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	defer c.heed(ctx)()
	st, err := c.prepared(ctx, query, args)
	if err != nil {
		return nil, err
	}
	if st != nil {
		return st.ExecContext(ctx, args)
	}
	return c.driverConn.ExecContext(ctx, query, args)
}

// retryElsewhere has the pool go on to another connection, and at last to a new one, where this one
// broke before it had done anything: after a failover all that are kept are broken. One
// that went silent has taken its time already.
func retryElsewhere(ctx context.Context, err error) error {
	var link *net.OpError
	if ctx.Err() == nil && errors.As(err, &link) && !link.Timeout() {
		return driver.ErrBadConn
	}
	return err
}

// BeginTx begins a transaction with the settings of the context. Its isolation is what the
// code counts on, whatever the server's default: what is read after a lock is of after it.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	begin := "BEGIN READ WRITE"
	if opts.ReadOnly {
		begin = "BEGIN READ ONLY"
	}
	switch sql.IsolationLevel(opts.Isolation) {
	case sql.LevelDefault:
		begin += " isolation level read committed"
	case sql.LevelRepeatableRead:
		begin += " isolation level repeatable read"
	default:
		return nil, fmt.Errorf("isolation level %s is not used here", sql.IsolationLevel(opts.Isolation))
	}
	if settings, ok := ctx.Value(settingsKey{}).(string); ok {
		begin += "; " + settings
	}
	c.over = c.link.heed(ctx)
	if _, err := c.ExecContext(ctx, begin, nil); err != nil {
		_ = c.Rollback() // begun all the same, if only a setting failed; else the connection is given up
		return nil, retryElsewhere(ctx, err)
	}
	return c, nil
}

func (c *conn) Commit() error {
	defer c.ended()
	return c.driverConn.Commit()
}

func (c *conn) Rollback() error {
	defer c.ended()
	return c.driverConn.Rollback()
}

// ended has the link heed nobody's context any more.
func (c *conn) ended() {
	c.over()
	c.over = nil
}

type settingsKey struct{}

// withSettings is the context of a transaction that begins with settings, which
// are SQL.
func withSettings(ctx context.Context, settings string) context.Context {
	return context.WithValue(ctx, settingsKey{}, settings)
}

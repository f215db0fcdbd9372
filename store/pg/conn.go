package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/lib/pq"

	"reverie/internal/fault"
)

// connector opens connections that send the begin of a transaction together with its first statement.
type connector struct {
	*pq.Connector
	unprepared bool   // see Options
	guard      string // sent at the begin of each transaction, after its settings
}

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
	return &conn{driverConn: full, statements: map[string]driverStmt{}, link: o.link, unprepared: c.unprepared, guard: c.guard}, nil
}

// driverConn is what the driver's connections implement, including the end of a transaction.
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

// conn prepares statements by itself if the context asks for it. It prepares a statement when it comes for the second
// time, because a process that ends soon would prepare it for nothing.
type conn struct {
	driverConn
	statements  map[string]driverStmt // by text; nil for one that has come once
	link        *timedConn
	unprepared  bool
	guard       string
	sentAtBegin int    // value of link.queue.sent when the transaction began
	readOnly    bool   // the transaction is read-only
	failed      error  // the transaction has failed by this error and can only be rolled back
	endWatch    func() // ends the watch on the transaction's context; nil outside of one
}

// watchContext is [timedConn.heed] for statements outside of transactions. A transaction already watches its own
// context until it ends.
func (c *conn) watchContext(ctx context.Context) (stop func()) {
	if c.endWatch != nil {
		return func() {}
	}
	return c.link.watchContext(ctx)
}

// maxStatements is the most prepared statements of one connection.
const maxStatements = 200

// driverStmt is what the driver's statements implement.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

type preparingKey struct{}

// preparing returns a context whose statements are prepared, unless the connection is unprepared.
func preparing(ctx context.Context) context.Context {
	return context.WithValue(ctx, preparingKey{}, true)
}

// prepared returns the prepared statement of a query, nil if the query must be sent as it is.
func (c *conn) prepared(ctx context.Context, query string, args []driver.NamedValue) (driverStmt, error) {
	if on, _ := ctx.Value(preparingKey{}).(bool); !on || c.unprepared || len(args) == 0 {
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

// QueryContext runs a query. Outside of transactions it only reads. If the connection is broken there, the pool tries
// another one. Within a transaction the pool cannot.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	reachStatement(ctx)
	defer c.watchContext(ctx)()
	var st driverStmt
	if a := asked(ctx); a != nil && a.queued {
		if c.failed != nil && !a.question.done {
			return nil, c.failed
		}
		st, c.link.queue.serve = a.statement, &a.question
	} else {
		st, err = c.prepared(ctx, query, args)
	}
	if settings, ok := ctx.Value(singleReadKey{}).(Settings); err == nil && ok {
		// The settings are sent with the query. Both are one implicit transaction, which ends with the query.
		if err = errInTransaction; c.endWatch == nil {
			err = c.set(ctx, settings)
		}
	}
	switch {
	case err != nil:
	case st != nil:
		rows, err = st.QueryContext(ctx, args)
	default:
		rows, err = c.driverConn.QueryContext(ctx, query, args)
	}
	c.link.queue.serve = nil
	switch {
	case err == nil:
		return utcRows{rows}, nil
	case c.endWatch == nil:
		c.link.queue.drop()
		return nil, retryElsewhere(ctx, err)
	}
	c.fail(err)
	return nil, err
}

// fail notes the error by which a transaction failed. All later statements of the transaction return it.
func (c *conn) fail(err error) {
	if c.endWatch != nil && c.failed == nil {
		c.failed = err
	}
}

var errInTransaction = errors.New("a read with settings of its own is no part of a transaction")

// utcRows returns all times in UTC, whatever the time zone of the server.
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

// ExecContext runs a statement that writes. It is always part of a transaction.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	reachStatement(ctx)
	queued, _ := ctx.Value(queuedKey{}).(bool)
	switch {
	case asked(ctx) != nil && isUnqueued(ctx): // the query that reads it follows at once
		return driver.ResultNoRows, nil
	case asked(ctx) != nil || queued && !isUnqueued(ctx):
		res, err = c.keepBack(ctx, query, args)
	default:
		defer c.watchContext(ctx)()
		var st driverStmt
		if st, err = c.prepared(ctx, query, args); err == nil {
			res, err = c.exec(ctx, st, query, args)
		}
	}
	c.fail(err)
	return res, err
}

func (c *conn) exec(ctx context.Context, st driverStmt, query string, args []driver.NamedValue) (driver.Result, error) {
	if st != nil {
		return st.ExecContext(ctx, args)
	}
	return c.driverConn.ExecContext(ctx, query, args)
}

// keepBack queues a statement, to be sent with the next one that waits for its result: see queue. After a failed
// statement it refuses, because the transaction may have ended, and the statement would be committed by itself.
func (c *conn) keepBack(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	st, err := c.prepared(ctx, query, args)
	if err != nil { // preparing waits for an answer
		return nil, err
	}
	q := &c.link.queue
	q.hold = true
	defer func() { q.hold, q.ask = false, nil }()
	if a := asked(ctx); a != nil {
		a.queued, a.statement, q.ask = true, st, &a.question
	}
	return c.exec(context.WithoutCancel(ctx), st, query, args)
}

type queuedKey struct{}

type waitingKey struct{}

// unqueued returns a context in which no statement is queued, and each is a step of what is done.
func unqueued(ctx context.Context, what string) context.Context {
	return context.WithValue(ctx, waitingKey{}, what)
}

func isUnqueued(ctx context.Context) bool { return ctx.Value(waitingKey{}) != nil }

func reachStatement(ctx context.Context) {
	if what, ok := ctx.Value(waitingKey{}).(string); ok {
		fault.Reach(what, fault.Between)
	}
}

// retryElsewhere makes the pool try another connection, and at last a new one, if this one broke before it did
// anything. After a failover all open connections are broken. A connection that timed out is not retried: its caller
// has waited long enough.
func retryElsewhere(ctx context.Context, err error) error {
	var link *net.OpError
	if ctx.Err() == nil && errors.As(err, &link) && !link.Timeout() {
		return driver.ErrBadConn
	}
	return err
}

// BeginTx begins a transaction with the settings of the context. It sets the isolation that the code relies on,
// whatever the server's default: a read after a lock sees the state after the lock.
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
	settings, _ := ctx.Value(settingsKey{}).(Settings)
	c.endWatch, c.sentAtBegin, c.readOnly, c.failed = c.link.watchContext(ctx), c.link.queue.sent, opts.ReadOnly, nil
	if err := c.begin(ctx, begin, settings); err != nil {
		_ = c.Rollback() // if only a setting failed, it has begun; else the pool drops the connection
		return nil, retryElsewhere(ctx, err)
	}
	return c, nil
}

func (c *conn) begin(ctx context.Context, begin string, settings Settings) error {
	if _, err := c.keepBack(ctx, begin, nil); err != nil {
		return err
	}
	return c.set(ctx, settings)
}

// set queues settings, to be sent with the next request.
func (c *conn) set(ctx context.Context, settings Settings) error {
	query, args := settings.query()
	_, err := c.keepBack(preparing(ctx), query+c.guard, args)
	return err
}

// Commit does not wait for the end of a read-only transaction. If a queued statement of it fails now, the connection is
// lost, because the driver drops a connection whose commit fails.
func (c *conn) Commit() error {
	defer c.stopWatch()
	if !c.readOnly {
		return c.driverConn.Commit()
	}
	if c.unsent() {
		c.link.queue.drop()
		return nil
	}
	if _, err := c.keepBack(context.Background(), "COMMIT", nil); err != nil {
		return driver.ErrBadConn // the transaction has failed, so the pool drops the connection
	}
	if c.link.send(c.link.queue.flush()) != nil {
		return driver.ErrBadConn
	}
	return nil
}

func (c *conn) Rollback() error {
	defer c.stopWatch()
	c.link.queue.drop()
	if c.unsent() {
		return nil
	}
	return c.driverConn.Rollback()
}

// unsent reports whether nothing of the transaction was sent.
func (c *conn) unsent() bool { return c.link.queue.sent == c.sentAtBegin }

// stopWatch ends the watch on the transaction's context.
func (c *conn) stopWatch() {
	c.endWatch()
	c.endWatch, c.failed = nil, nil
}

type (
	settingsKey   struct{} // settings of a transaction
	singleReadKey struct{} // settings of a single read that is its own transaction
)

// withSettings returns a context whose transactions begin with settings.
func withSettings(ctx context.Context, settings Settings) context.Context {
	return context.WithValue(ctx, settingsKey{}, settings)
}

// Settings are PostgreSQL settings for one transaction: names and values, alternating.
type Settings []string

// query returns the statement that makes the settings, with its arguments.
func (s Settings) query() (string, []driver.NamedValue) {
	args, calls := make([]driver.NamedValue, len(s)), make([]string, len(s)/2)
	for i, word := range s {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: word}
	}
	for i := range calls {
		calls[i] = fmt.Sprintf("set_config($%d, $%d, true)", 2*i+1, 2*i+2)
	}
	return "select " + strings.Join(calls, ", "), args
}

package pg

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/lib/pq"
)

// connector opens connections whose transactions begin together with their first statement.
type connector struct {
	*pq.Connector
	unprepared bool   // see Options
	guard      string // what each transaction begins with besides its settings
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
	unprepared bool
	guard      string
	began      int    // what link.queue.sent was when the transaction under way began
	reads      bool   // it only reads
	failed     error  // what it failed by: it can only be rolled back
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
func preparing(ctx context.Context) context.Context {
	return context.WithValue(ctx, preparingKey{}, true)
}

// prepared returns the statement of a query, nil where it is to be sent as it is.
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

// QueryContext has another connection asked where this one is broken. Outside of transactions
// it only looks; in one the pool asks nobody else.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (rows driver.Rows, err error) {
	defer c.heed(ctx)()
	var st driverStmt
	if a := asked(ctx); a != nil && a.ahead {
		if c.failed != nil && !a.question.done {
			return nil, c.failed
		}
		st, c.link.queue.serve = a.statement, &a.question
	} else {
		st, err = c.prepared(ctx, query, args)
	}
	if settings, ok := ctx.Value(loneKey{}).(Settings); err == nil && ok {
		// From here on the next request is the query's: both are one transaction, that ends with it.
		if err = errInTransaction; c.over == nil {
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
	case c.over == nil:
		c.link.queue.drop()
		return nil, retryElsewhere(ctx, err)
	}
	c.fail(err)
	return nil, err
}

// fail notes the error that a transaction failed by, which what comes later in it fails by, too.
func (c *conn) fail(err error) {
	if c.over != nil && c.failed == nil {
		c.failed = err
	}
}

var errInTransaction = errors.New("a read with settings of its own is no part of a transaction")

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
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (res driver.Result, err error) {
	queued, _ := ctx.Value(queuedKey{}).(bool)
	switch {
	case asked(ctx) != nil && waiting(ctx): // it is read at once
		return driver.ResultNoRows, nil
	case asked(ctx) != nil || queued && !waiting(ctx):
		res, err = c.keepBack(ctx, query, args)
	default:
		defer c.heed(ctx)()
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

// keepBack has a statement sent with the next one that is waited for. See queue. After one that
// failed there may be no transaction, and it would be committed by itself.
func (c *conn) keepBack(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	st, err := c.prepared(ctx, query, args)
	if err != nil { // it waits for an answer, if it prepares
		return nil, err
	}
	q := &c.link.queue
	q.hold = true
	defer func() { q.hold, q.ask = false, nil }()
	if a := asked(ctx); a != nil {
		a.ahead, a.statement, q.ask = true, st, &a.question
	}
	return c.exec(context.WithoutCancel(ctx), st, query, args)
}

type queuedKey struct{}

type waitingKey struct{}

// waited is a context in which every statement is waited for.
func waited(ctx context.Context) context.Context { return context.WithValue(ctx, waitingKey{}, true) }

func waiting(ctx context.Context) bool { return ctx.Value(waitingKey{}) != nil }

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
	settings, _ := ctx.Value(settingsKey{}).(Settings)
	c.over, c.began, c.reads, c.failed = c.link.heed(ctx), c.link.queue.sent, opts.ReadOnly, nil
	if err := c.begin(ctx, begin, settings); err != nil {
		_ = c.Rollback() // begun all the same, if only a setting failed; else the connection is given up
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

// set has the next request begin with settings.
func (c *conn) set(ctx context.Context, settings Settings) error {
	query, args := settings.query()
	_, err := c.keepBack(preparing(ctx), query+c.guard, args)
	return err
}

// Commit does not wait for the end of a transaction that only reads. A statement that was kept
// back until now and fails costs the connection: the driver gives up one whose commit fails.
func (c *conn) Commit() error {
	defer c.ended()
	if !c.reads {
		return c.driverConn.Commit()
	}
	if c.unsent() {
		c.link.queue.drop()
		return nil
	}
	if _, err := c.keepBack(context.Background(), "COMMIT", nil); err != nil {
		return driver.ErrBadConn // it is in the middle of something
	}
	if c.link.send(c.link.queue.flush()) != nil {
		return driver.ErrBadConn
	}
	return nil
}

func (c *conn) Rollback() error {
	defer c.ended()
	c.link.queue.drop()
	if c.unsent() {
		return nil
	}
	return c.driverConn.Rollback()
}

// unsent tells whether nothing of the transaction was sent.
func (c *conn) unsent() bool { return c.link.queue.sent == c.began }

// ended has the link heed nobody's context any more.
func (c *conn) ended() {
	c.over()
	c.over, c.failed = nil, nil
}

type (
	settingsKey struct{} // of a transaction
	loneKey     struct{} // of a read that is a transaction
)

// withSettings is the context of a transaction that begins with settings.
func withSettings(ctx context.Context, settings Settings) context.Context {
	return context.WithValue(ctx, settingsKey{}, settings)
}

// Settings are names and values of PostgreSQL's settings, in turns, for one transaction.
type Settings []string

// setQueries are the statements that make so many settings.
var setQueries sync.Map

// query is a statement that makes the settings, and its arguments.
func (s Settings) query() (string, []driver.NamedValue) {
	args := make([]driver.NamedValue, len(s))
	for i, word := range s {
		args[i] = driver.NamedValue{Ordinal: i + 1, Value: word}
	}
	query, known := setQueries.Load(len(s))
	if !known {
		calls := make([]string, len(s)/2)
		for i := range calls {
			calls[i] = fmt.Sprintf("set_config($%d, $%d, true)", 2*i+1, 2*i+2)
		}
		query, _ = setQueries.LoadOrStore(len(s), "select "+strings.Join(calls, ", "))
	}
	return query.(string), args
}

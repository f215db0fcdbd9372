package pg

import "context"

// Asked is a statement whose result is read later: see [Tx.Ask].
type Asked struct {
	read    func() error // nil once the result is read
	err     error
	wasRead bool // the caller has the result, or the error

	queued    bool // its connection has queued it; the fields below describe it
	statement driverStmt
	question  question
}

// Ask queues a statement, as [Tx.Exec] does. It is sent with the next statement that waits for its result, in the same
// round trip. The first row goes into dest when the result is read, and at the latest before the commit.
func (t *Tx) Ask(ctx context.Context, dest any, query string, args ...any) *Asked {
	return t.ask(ctx, ReadRow, dest, query, args)
}

// AskAll is [Tx.Ask] for all rows, into a slice.
func (t *Tx) AskAll(ctx context.Context, dest any, query string, args ...any) *Asked {
	return t.ask(ctx, readRows, dest, query, args)
}

type readFunc = func(ctx context.Context, q Querier, dest any, query string, args ...any) error

func (t *Tx) ask(ctx context.Context, read readFunc, dest any, query string, args []any) *Asked {
	a := &Asked{}
	if len(args) == 0 { // without arguments, the driver expects another form of result than the queue has
		a.err = read(ctx, t, dest, query)
		t.asked = append(t.asked, a)
		return a
	}
	asking := context.WithValue(ctx, askedKey{}, a)
	_, a.err = t.ExecContext(asking, query, args...)
	switch {
	case a.err != nil:
	case a.queued:
		a.read = func() error { return read(asking, t, dest, query, args...) }
	default:
		a.err = read(ctx, t, dest, query, args...)
	}
	t.asked = append(t.asked, a)
	return a
}

// Read waits for the result, unless it is read already. Its errors are those of [Tx.Get].
func (a *Asked) Read() error {
	if a.read != nil {
		a.err = a.read()
		a.read = nil
	}
	a.wasRead = true
	return a.err
}

// Then calls check with the error of reading the result, once it is read. check may use the result, and returns the
// error of Read.
func (a *Asked) Then(check func(error) error) *Asked {
	if read := a.read; read != nil {
		a.read = func() error { return check(read()) }
	} else {
		a.err = check(a.err)
	}
	return a
}

// ReadAsked reads the results that nobody has read yet.
func (t *Tx) ReadAsked() error {
	for _, a := range t.asked {
		if a.wasRead {
			continue
		}
		if err := a.Read(); err != nil {
			return err
		}
	}
	return nil
}

// askedKey marks the context of a statement that is queued by Ask, or whose result is read.
type askedKey struct{}

func asked(ctx context.Context) *Asked {
	a, _ := ctx.Value(askedKey{}).(*Asked)
	return a
}

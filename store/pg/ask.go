package pg

import "context"

// Asked is a statement whose answer is read later: see [Tx.Ask].
type Asked struct {
	read func() error // nil: it is read
	err  error
	seen bool // whoever asked has the answer, or the error

	ahead     bool // it was kept back by its connection: the rest is how it was asked
	statement driverStmt
	question  question
}

// Ask has a statement run with the next one that is waited for, in the same round trip, as [Tx.Exec]
// does. Its row goes into dest when it is read, or at the latest before the commit.
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
	if len(args) == 0 { // the driver has it answered in another form than what is kept back
		a.err = read(ctx, t, dest, query)
		t.asked = append(t.asked, a)
		return a
	}
	asking := context.WithValue(ctx, askedKey{}, a)
	_, a.err = t.ExecContext(asking, query, args...)
	switch {
	case a.err != nil:
	case a.ahead:
		a.read = func() error { return read(asking, t, dest, query, args...) }
	default:
		a.err = read(ctx, t, dest, query, args...)
	}
	t.asked = append(t.asked, a)
	return a
}

// Read waits for the answer, unless it is there. Its errors are those of [Tx.Get].
func (a *Asked) Read() error {
	if a.read != nil {
		a.err = a.read()
		a.read = nil
	}
	a.seen = true
	return a.err
}

// Then has check look at the answer, and at the error of reading it, when it is read.
func (a *Asked) Then(check func(error) error) *Asked {
	if read := a.read; read != nil {
		a.read = func() error { return check(read()) }
	} else {
		a.err = check(a.err)
	}
	return a
}

// ReadAsked reads what was asked and nobody has read.
func (t *Tx) ReadAsked() error {
	for _, a := range t.asked {
		if a.seen {
			continue
		}
		if err := a.Read(); err != nil {
			return err
		}
	}
	return nil
}

// askedKey is of a statement that is asked, or read.
type askedKey struct{}

func asked(ctx context.Context) *Asked {
	a, _ := ctx.Value(askedKey{}).(*Asked)
	return a
}

package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// network lets a test count what goes over the wire and break it.
type network struct {
	trips atomic.Int64 // requests sent; each is answered before the next
	era   atomic.Int64 // how often the server came up again

	mu   sync.Mutex
	drop func(request []byte) fault // asked for each request
}

type fault int

const (
	healthy   fault = iota
	lostReply       // the server gets the request, its answer is lost
	lostSend        // the server never gets it, and sees the connection close
	silence         // the server gets it, and nothing comes back, for ever
	cutOff          // the server never gets it, and does not hear that the link is gone
	restart         // this connection and all there are answer with a reset: the server came up again
)

func (n *network) options() pg.Options {
	return pg.Options{Dial: func(ctx context.Context, netw, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, netw, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: c, network: n, era: n.era.Load()}, nil
	}}
}

// once breaks the network at the first request that holds text, and the times
// after that not at all. (What begins a transaction says READ, and committed in lower
// case: neither COMMIT nor BEGIN are in both.)
func (n *network) once(text string, f fault) {
	var done atomic.Bool
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop = func(request []byte) fault {
		if bytes.Contains(request, []byte(text)) && done.CompareAndSwap(false, true) {
			return f
		}
		return healthy
	}
}

// always breaks the network from the first request that holds text on, and then
// at each that holds then.
func (n *network) always(text, then string, f fault) {
	var begun atomic.Bool
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop = func(request []byte) fault {
		if begun.Load() && bytes.Contains(request, []byte(then)) || bytes.Contains(request, []byte(text)) {
			begun.Store(true)
			return f
		}
		return healthy
	}
}

func (n *network) heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop = nil
}

type wire struct {
	net.Conn
	network *network
	era     int64
	state   atomic.Int32
}

// reset tells whether the connection is of before the server came up.
func (w *wire) reset() bool { return w.era != w.network.era.Load() }

func (w *wire) Write(p []byte) (int, error) {
	w.network.trips.Add(1)
	w.network.mu.Lock()
	f := healthy
	if w.network.drop != nil {
		f = w.network.drop(p)
	}
	w.network.mu.Unlock()
	if f == restart {
		w.network.era.Add(1)
	}
	if w.reset() {
		_ = w.Conn.Close()
		return len(p), nil
	}
	if f == cutOff {
		w.state.Store(int32(f))
	}
	if fault(w.state.Load()) == cutOff {
		return 0, io.ErrClosedPipe
	}
	switch f {
	case lostSend:
		_ = w.Conn.Close()
		return 0, io.ErrClosedPipe
	case lostReply, silence:
		w.state.Store(int32(f))
	}
	return w.Conn.Write(p)
}

func (w *wire) Close() error {
	if fault(w.state.Load()) == cutOff {
		return nil // the server ends it
	}
	return w.Conn.Close()
}

func (w *wire) Read(p []byte) (int, error) {
	if w.reset() {
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	switch fault(w.state.Load()) {
	case lostReply: // wait for the answer, so that the server has done it, and lose it
		_, _ = w.Conn.Read(make([]byte, 4096))
		return 0, io.EOF
	case silence:
		for {
			if _, err := w.Conn.Read(make([]byte, 4096)); err != nil {
				return 0, err
			}
		}
	}
	return w.Conn.Read(p)
}

// A commit whose reply is lost is looked up in the ledger: applied once, and
// told as applied.
func TestApplySurvivesALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			var n network
			w := openWorld(t, n.options())
			plan := w.plan(create("likes tea"), create("plays go"))
			n.once("COMMIT", f)
			changes := must(w.Apply(t.Context(), w.lease, plan))(t)
			db := raw(t)
			if len(changes) != 2 || count(t, db, `select count(*) from memories`) != 2 || count(t, db, `select count(*) from memory_change_log`) != 2 {
				t.Errorf("changes %+v", changes)
			}
			c := must(w.MessageCounts(t.Context(), group))(t)
			if c.Cited != 1 || c.Considered != 1 {
				t.Errorf("messages %+v", c)
			}
			_ = db.Close()
			_ = w.Close()
		})
	}
}

// If the ledger cannot be read either, the error says so, and the chunk may be applied again.
func TestApplyWithAnUnknownOutcome(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	plan := w.plan(create("likes tea"))
	n.always("COMMIT", "READ", lostReply)
	err := second(w.Apply(t.Context(), w.lease, plan))
	wantErr(t, err, reverie.ErrUnknownOutcome)
	wantErr(t, err, reverie.ErrUnavailable)
	n.heal()
	if changes := must(w.Apply(t.Context(), w.lease, plan))(t); len(changes) != 1 {
		t.Errorf("changes %+v", changes)
	}
}

// The same for the other writes: one row each, whatever is lost.
func TestWritesSurviveALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			var n network
			w := openWorld(t, n.options())
			ctx, db := t.Context(), raw(t)
			n.once("COMMIT", f)
			run := must(w.StartRun(ctx, w.lease, reverie.Run{Job: reverie.JobEvolve}))(t)
			if c := count(t, db, `select count(*) from runs`); c != 1 || run.Attempt != 1 {
				t.Errorf("%d runs, attempt %d", c, run.Attempt)
			}
			n.once("COMMIT", f)
			if r := must(w.ImportMessages(ctx, group, []reverie.Message{{ID: "1", Author: "a", SentAt: noon}}))(t); r.New != 1 {
				t.Errorf("imported %+v, want one that is new", r)
			}
			n.once("COMMIT", f)
			check(t, w.RecordCall(ctx, reverie.Call{GroupID: group}))
			if c := count(t, db, `select (select count(*) from messages) + (select count(*) from llm_calls)`); c != 2 {
				t.Errorf("%d rows, want 2", c)
			}
			check(t, w.ReleaseLease(ctx, w.lease))
			n.once("COMMIT", f)
			w.lease = must(w.AcquireLease(ctx, group, reverie.LeaseGroup, "again", time.Minute))(t)
			check(t, second(w.RenewLease(ctx, w.lease, time.Minute)))
			tea := create("likes tea")
			w.apply(tea)
			n.once("COMMIT", f)
			check(t, second(w.edit(tea.MemoryID, reverie.ActionDelete, 0)))
			n.once("COMMIT", f)
			if m := must(w.edit(tea.MemoryID, reverie.ActionRestore, 0))(t); m.Version != 2 {
				t.Errorf("restored %+v", m)
			}
			if c := count(t, db, `select count(*) from memory_change_log`); c != 3 {
				t.Errorf("%d changes, want create, delete and restore", c)
			}
		})
	}
}

// A server that came up again is used at once, however many connections to what it was
// are kept; and what became of a commit that it interrupted is asked of it.
func TestServerComesBack(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	db := raw(t)
	ctx := t.Context()
	for name, ask := range map[string]func() error{
		"write": func() error { return second(w.RenewLease(ctx, w.lease, time.Minute)) },
		"look":  func() error { return second(w.HasTokens(ctx)) },
		"note":  func() error { return w.RecordCall(ctx, reverie.Call{GroupID: group, Model: "m"}) },
		"read":  func() error { return second(w.Group(ctx, group)) },
	} {
		for tries := range 4 { // the second time the statements are prepared
			check(t, w.KeepOpen(ctx, 8))
			for range 2 * tries {
				check(t, ask())
			}
			if tries%2 == 0 {
				n.era.Add(1)
			} else { // each connection says why it ends
				_, err := db.Exec(`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`)
				check(t, err)
			}
			if err := ask(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	// It goes while the last of several questions is prepared: the first is read in vain.
	gather := func(since time.Time) {
		t.Helper()
		must(w.Gather(ctx, reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, ContextSince: since, ContextLimit: 1}))(t)
	}
	gather(time.Time{})
	gather(noon)
	n.once("run_id is not null", restart)
	gather(noon)
	w.apply(create("likes sun")) // which asks what vectors are, too
	plan := w.plan(create("likes tea"))
	for range 3 {
		check(t, w.KeepOpen(ctx, 8))
	}
	n.once("COMMIT", restart)
	if changes, err := w.Apply(ctx, w.lease, plan); err != nil || len(changes) != 1 {
		t.Errorf("%d changes, %v", len(changes), err)
	}
}

// What became of a commit is read when the server has ended the transaction, also where
// statements may not last as long.
func TestOutcomeWaits(t *testing.T) {
	var n network
	opts := n.options()
	opts.IdleTimeout, opts.StatementTimeout = time.Second, 200*time.Millisecond
	w := openWorld(t, opts)
	w.apply(create("likes sun")) // which asks what vectors are, too
	plan := w.plan(create("likes tea"))
	n.once("COMMIT", cutOff)
	if changes, err := w.Apply(t.Context(), w.lease, plan); err != nil || len(changes) != 1 {
		t.Errorf("%d changes, %v", len(changes), err)
	}
}

// A group's first lease has no row to look up before it is committed.
func TestFirstLeaseSurvivesALostReply(t *testing.T) {
	for name, f := range map[string]fault{"reply lost": lostReply, "request lost": lostSend} {
		t.Run(name, func(t *testing.T) {
			var n network
			w := openWorld(t, n.options())
			w.ensure("g2")
			n.once("COMMIT", f)
			lease := must(w.AcquireLease(t.Context(), "g2", reverie.LeaseGroup, "me", time.Minute))(t)
			check(t, second(w.RenewLease(t.Context(), lease, time.Minute)))
		})
	}
}

// Transactions are isolated as the code counts on, whatever the server's default is.
func TestIsolationLevel(t *testing.T) {
	pgtest.Open(t, pg.Options{})
	must(raw(t).Exec(`do $$ begin execute format('alter database %I set default_transaction_isolation = serializable', current_database()); end $$`))(t)
	s := must(store.Open(t.Context(), pg.Options{URL: pgtest.URL(t)}))(t)
	defer func() { _ = s.Close() }()
	if level := must(s.Isolation(t.Context()))(t); level != "read committed" {
		t.Errorf("it is %s", level)
	}
}

// A link that goes silent ends with the read timeout, not never.
func TestSilenceEnds(t *testing.T) {
	noLeaks(t)
	var n network
	opts := n.options()
	opts.ReadTimeout = 2 * time.Second // enough for a busy machine to connect
	s := pgtest.Open(t, opts)
	n.mu.Lock()
	n.drop = func(request []byte) fault {
		if bytes.Contains(request, []byte("server_version")) {
			return silence
		}
		return healthy
	}
	n.mu.Unlock()
	_, err := s.Info(t.Context())
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("error %v, want a timeout", err)
	}
	_ = s.Close()
}

// Who is told to stop does not wait for a link that has gone silent, wherever it has: the server stands still.
func TestSilenceEndsWithTheContext(t *testing.T) {
	for _, at := range []string{"application_name", "READ", "server_version"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			var n network
			opts := n.options()
			opts.ReadTimeout = time.Hour
			s := pgtest.Open(t, opts)
			ctx, cancel := context.WithCancel(t.Context())
			n.mu.Lock()
			n.drop = func(request []byte) fault {
				switch {
				case bytes.Contains(request, []byte(at)):
					cancel()
					return silence
				case at == "application_name" && bytes.Contains(request, []byte("READ")):
					return lostSend // another connection is opened
				}
				return healthy
			}
			n.mu.Unlock()
			wantErr(t, second(s.Info(ctx)), context.Canceled)
			n.heal()
			must(s.Info(t.Context()))(t)
			_ = s.Close()
		})
	}
}

// Nobody waits for the commit of what only reads: this one writes.
func TestSilentCommitEndsWithTheContext(t *testing.T) {
	var n network
	opts := n.options()
	opts.ReadTimeout = time.Hour
	w := openWorld(t, opts)
	ctx, cancel := context.WithCancel(t.Context())
	n.mu.Lock()
	n.drop = func(request []byte) fault {
		if bytes.Contains(request, []byte("COMMIT")) {
			cancel()
			return silence
		}
		return healthy
	}
	n.mu.Unlock()
	wantErr(t, second(w.RenewLease(ctx, w.lease, time.Minute)), context.Canceled)
	n.heal()
	check(t, second(w.RenewLease(t.Context(), w.lease, time.Minute)))
}

// Gather and Apply send as much for twenty steps as for one.
func TestRoundTripsDoNotGrow(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	// Prepare on every connection that may be used: there is one.
	w.apply(create("warm up"))
	cost := func(size int) (apply, gather int64) {
		w.t.Helper()
		var first []reverie.Step
		for range 4 * size {
			first = append(first, create(reverie.NewID()))
		}
		w.apply(first...)
		var steps []reverie.Step
		heads := w.active()
		for i, st := range first {
			head := heads[st.Statement]
			switch i % 4 {
			case 0:
				steps = append(steps, update(head, reverie.NewID()))
			case 1:
				steps = append(steps, remove(head, "gone"))
			case 2:
				steps = append(steps, support(head, "2026-01-16", 0.5))
			case 3:
				steps = append(steps, create(reverie.NewID()))
			}
		}
		plan := w.plan(steps...)
		for _, id := range w.messages(10 * size) {
			plan.Outcomes[id] = reverie.OutcomeConsidered
		}
		start := n.trips.Load()
		must(w.Apply(t.Context(), w.lease, plan))(t)
		apply = n.trips.Load() - start
		w.messages(10 * size)
		q := reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 200, ContextSince: noon.AddDate(-1, 0, 0), ContextLimit: 100}
		must(w.Gather(t.Context(), q))(t)
		start = n.trips.Load()
		must(w.Gather(t.Context(), q))(t)
		return apply, n.trips.Load() - start
	}
	cost(1)
	cost(1) // prepares what is prepared
	apply1, gather1 := cost(1)
	apply20, gather20 := cost(20)
	t.Logf("apply %d requests, gather %d, BEGIN and COMMIT among them", apply1, gather1)
	if apply1 != apply20 || gather1 != gather20 {
		t.Errorf("apply took %d requests for 4 steps and %d for 80; gather %d and %d", apply1, apply20, gather1, gather20)
	}
	if apply1 > 12 || gather1 > 6 {
		t.Errorf("apply takes %d requests, want at most 12; gather %d, want at most 6", apply1, gather1)
	}
}

// Poolers that lose prepared statements can be served without any.
func TestUnprepared(t *testing.T) {
	w := openWorld(t, pg.Options{Unprepared: true})
	tea := create("likes tea")
	w.apply(tea)
	hits := must(w.Search(t.Context(), reverie.SearchQuery{GroupID: group, Vector: tea.Embedding, Model: model}))(t).Hits
	if len(hits) != 1 || *hits[0].Cosine < 0.99 {
		t.Errorf("hits %+v", hits)
	}
	check(t, w.SaveEmbeddings(t.Context(), group, model, map[string][]float32{"a": {1, 2, 3}}))
	if got := must(w.CachedEmbeddings(t.Context(), group, model, []string{"a"}))(t); len(got["a"]) != 3 || got["a"][2] != 3 {
		t.Errorf("cached %v", got)
	}
}

// A canceled caller hears of its own cancellation, and nothing is written.
func TestCancellation(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, second(w.Gather(ctx, reverie.GatherQuery{GroupID: group})), context.Canceled)
	plan := w.plan(create("likes tea"))
	wantErr(t, second(w.Apply(ctx, w.lease, plan)), context.Canceled)
	if len(w.active()) != 0 {
		t.Error("a canceled plan was applied")
	}
	tx := must(raw(t).Begin())(t)
	defer func() { _ = tx.Rollback() }()
	_, err := tx.Exec(`select 1 from leases where group_id = $1 for update`, group)
	check(t, err)
	late, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	wantErr(t, second(w.Apply(late, w.lease, plan)), context.DeadlineExceeded)
}

// A holder of locks that stands still does not stop others for ever.
func TestLockTimeout(t *testing.T) {
	pgtest.OnOneServer(t, "its workers do not know lock_timeout")
	w := openWorld(t, pg.Options{LockTimeout: 100 * time.Millisecond})
	plan := w.plan(create("likes tea"))
	tx := must(raw(t).Begin())(t)
	defer func() { _ = tx.Rollback() }()
	_, err := tx.Exec(`select 1 from leases where group_id = $1 for update`, group)
	check(t, err)
	wantErr(t, second(w.Apply(t.Context(), w.lease, plan)), reverie.ErrConflict)
}

// One connection is enough: nothing asks the pool for a second one while it
// holds the first.
func TestOneConnection(t *testing.T) {
	w := openWorld(t, pg.Options{MaxConns: 1})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tea := create("likes tea")
	w.apply(tea)
	must(w.Gather(ctx, reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 5}))(t)
	must(w.NearestHeads(ctx, group, reverie.KindGroup, model, [][]float32{tea.Embedding}, 5))(t)
	check(t, second(w.edit(tea.MemoryID, reverie.ActionDelete, 0)))
}

package ingest

import (
	"context"
	"io"
	"time"
)

// patient reads what comes slowly, and has what was read of it stored meanwhile: no message
// is held for longer than the importer's pause. It is for one source, of which the importer
// reads as much as there is before it asks for more.
type patient struct {
	ctx  context.Context
	from io.Reader
	im   *Importer
	due  time.Time // when what is held is to be stored; zero where nothing was held
}

type readResult struct {
	n   int
	err error
}

// Read never returns before the read that it has begun, so that nothing writes into p, or
// reads what is closed, behind it.
func (p *patient) Read(into []byte) (int, error) {
	if p.im.held == 0 {
		p.due = time.Time{}
		return p.from.Read(into)
	}
	if p.due.IsZero() {
		p.due = time.Now().Add(p.im.opts.Pause)
	}
	got := make(chan readResult, 1)
	go func() {
		n, err := p.from.Read(into)
		got <- readResult{n, err}
	}()
	timer := time.NewTimer(time.Until(p.due))
	defer timer.Stop()
	select {
	case r := <-got:
		return r.n, r.err
	case <-timer.C:
	}
	p.due = time.Time{}
	err := p.im.Flush(p.ctx)
	r := <-got
	if err != nil {
		return 0, err
	}
	return r.n, r.err
}

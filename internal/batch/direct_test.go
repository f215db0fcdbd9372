package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"reverie/internal/llm"
	"reverie/internal/reverie"
)

// paidOnce tells whether each question was asked once, in a batch or directly.
func (w *world) paidOnce(want end) {
	w.Helper()
	if asked := slices.Sorted(slices.Values(slices.Concat(w.provider.asked, w.provider.direct))); !slices.Equal(asked, want.asked) {
		w.Errorf("%d questions in batches and %d directly; without batches %d", len(w.provider.asked), len(w.provider.direct),
			len(want.asked))
	}
}

// Who goes on without batches waits for what is out, and uses what has come.
func TestDirectlyAfterBatches(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	w.provider.state = func(*handedIn) (llm.BatchState, error) { return llm.BatchState{Phase: llm.BatchRunning}, nil }
	stop := make(chan struct{})
	close(stop)
	p := w.process(&life{left: -1})
	if err := p.waves.Run(t.Context(), stop, func(ctx context.Context) bool {
		_, err := p.runner.Run(ctx, nil)
		return !errors.Is(err, reverie.ErrDeferred)
	}); !errors.Is(err, reverie.ErrDeferred) {
		t.Fatalf("stopped: %v", err)
	}
	out := len(w.provider.asked)
	p = w.process(&life{left: -1})
	p.waves.Collect(t.Context())
	if s, err := p.runner.Run(t.Context(), nil); !errors.Is(err, reverie.ErrDeferred) || s.Deferred != 3 {
		t.Errorf("while they are out: %+v, %v", s, err)
	}
	if len(w.provider.direct) != 0 || out == 0 {
		t.Errorf("%d questions are out, and %d were asked directly", out, len(w.provider.direct))
	}
	w.want(`select distinct status from runs`, "running")

	w.provider.state = nil
	w.process(&life{left: -1}).waves.Collect(t.Context())
	w.directly()
	w.same(want)
	w.paidOnce(want)
	if len(w.provider.asked) != out || len(w.provider.direct) == 0 {
		t.Errorf("%d questions in batches, and %d directly", len(w.provider.asked), len(w.provider.direct))
	}
}

// What was put and is in no batch is asked directly, and no batch takes it any more.
func TestDirectlyBeforeBatches(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	p := w.process(&life{left: -1})
	if _, err := p.runner.Run(llm.WithQueue(t.Context(), p.waves), nil); !errors.Is(err, reverie.ErrDeferred) {
		t.Fatalf("put: %v", err)
	}
	w.directly()
	w.same(want)
	if _, err := p.waves.Settle(t.Context(), nil); err != nil {
		t.Error(err)
	}
	w.paidOnce(want)
	if w.provider.submits != 0 {
		t.Errorf("%d batches", w.provider.submits)
	}
}

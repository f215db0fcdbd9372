package batch_test

import (
	"math"
	"slices"
	"testing"
)

// end is what a story comes to without batches.
type end struct {
	account []string
	paid    float64
	asked   []string
}

// directly tells a story in a database of its own, without batches.
func directly(t *testing.T, tell func(*world)) (e end) {
	t.Helper()
	t.Run("directly", func(t *testing.T) {
		w := newWorld(t)
		tell(w)
		w.directly()
		e = end{w.account(), w.paid(), slices.Sorted(slices.Values(w.provider.direct))}
	})
	return e
}

// same compares the end of batches with that of asking directly.
func (w *world) same(want end) {
	w.Helper()
	if got := w.account(); !slices.Equal(got, want.account) {
		w.Errorf("\ngot  %q\nwant %q", got, want.account)
	}
}

// once tells whether each question was asked and paid for once, in batches and at half the
// price.
func (w *world) once(want end) {
	w.Helper()
	if asked := slices.Sorted(slices.Values(w.provider.asked)); !slices.Equal(asked, want.asked) || len(w.provider.direct) > 0 {
		w.Errorf("%d questions in batches, and %d directly; without batches %d", len(asked), len(w.provider.direct), len(want.asked))
	}
	if got := w.paid(); math.Abs(got-want.paid/2) > 1e-9 || got == 0 {
		w.Errorf("paid %v, directly %v", got, want.paid)
	}
}

// In batches the groups come to the same end as directly.
func TestSameEndAsDirectly(t *testing.T) {
	want := directly(t, (*world).tell)
	w := newWorld(t)
	w.tell()
	s := w.inBatches()
	w.same(want)
	w.once(want)
	if s.Done != 3 || s.Deferred != 0 || s.Failed != 0 || s.Windows != 9 {
		t.Errorf("summary %+v", s)
	}
	w.want(`select distinct status from runs`, "succeeded")
	w.want(`select distinct tier from llm_calls`, "batch")
	w.want(`select 'x' from batch_questions where system_text <> '' or user_text <> ''`)
	if w.waves > 9 { // a chunk has 2, and there are 4; the last finds nothing to ask
		t.Errorf("%d waves", w.waves)
	}
}

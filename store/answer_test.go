package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

func TestAnswersAreKept(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	run, other := w.chunk("", 1, nil), w.chunk("", 1, nil)
	answer := reverie.Answer{GroupID: group, RunID: run, InputSHA256: "a", Purpose: "compare", Text: "first\x00\xff"}
	again, observed, elsewhere := answer, answer, answer
	again.Text = "second"
	observed.InputSHA256, observed.Purpose, observed.Text = "b", "observe", ""
	elsewhere.RunID, elsewhere.Text = other, "elsewhere"
	for _, a := range []reverie.Answer{answer, again, observed, elsewhere} {
		check(t, w.SaveAnswer(ctx, w.lease, a))
	}
	for _, tt := range []struct {
		run, purpose string
		want         map[string]string
	}{
		{run, "compare", map[string]string{"a": "first\uFFFD\uFFFD"}},
		{run, "observe", map[string]string{"b": ""}},
		{other, "compare", map[string]string{"a": "elsewhere"}},
		{other, "observe", map[string]string{}},
	} {
		if diff := cmp.Diff(tt.want, must(w.Answers(ctx, group, tt.run, tt.purpose))(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.purpose, diff)
		}
	}

	// The next run goes on with what this one has begun, and the one after it, too.
	last := w.chunk("", 1, nil)
	for _, pair := range [][2]string{{run, other}, {run, other}, {other, last}} {
		check(t, w.AdoptAnswers(ctx, w.lease, group, pair[0], pair[1]))
	}
	for _, next := range []string{other, last} {
		compared, observed := must(w.Answers(ctx, group, next, "compare"))(t), must(w.Answers(ctx, group, next, "observe"))(t)
		if diff := cmp.Diff([]map[string]string{{"a": "elsewhere"}, {"b": ""}}, []map[string]string{compared, observed}); diff != "" {
			t.Errorf("taken up (-want +got):\n%s", diff)
		}
	}
	// With the third, the first needs them no longer, if it has ended.
	kept := func(run string, want int) {
		t.Helper()
		if got := must(w.Answers(ctx, group, run, "observe"))(t); len(got) != want {
			t.Errorf("%d answers are kept, want %d", len(got), want)
		}
	}
	kept(run, 1)
	check(t, second(w.FinishRun(ctx, w.lease, reverie.Run{ID: run, Status: reverie.RunDeferred})))
	check(t, w.AdoptAnswers(ctx, w.lease, group, other, last))
	kept(run, 0)
	kept(other, 1)
	kept(last, 1)
	// What they have taken over, the first has paid for: a call for each answer, that of the chunk as well.
	for _, unpaid := range []int{2, 2, 0} {
		check(t, w.RecordCall(ctx, reverie.Call{GroupID: group, RunID: &run, ID: reverie.NewID(), Purpose: "observe", Outcome: "ok"}))
		for _, i := range must(w.Audit(ctx, group))(t) {
			if i.Name == "the ledger is complete" && (i.Checked == 0 || i.Violated != unpaid) {
				t.Errorf("%+v, want %d violations", i, unpaid)
			}
		}
	}

	run = other
	wantErr(t, w.AdoptAnswers(ctx, w.lease, "g2", run, other), reverie.ErrInvalid)
	wantErr(t, w.AdoptAnswers(ctx, w.lease, group, run, reverie.NewID()), reverie.ErrNotFound)
	check(t, w.ReleaseLease(ctx, w.lease))
	wantErr(t, w.AdoptAnswers(ctx, w.lease, group, run, other), reverie.ErrLeaseLost)
}

// Only who holds the group keeps answers, and only for runs that are there.
func TestAnswersAreFenced(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	a := reverie.Answer{GroupID: group, RunID: w.chunk("", 1, nil), InputSHA256: "a", Purpose: "compare", Text: "late"}
	old := w.lease
	check(t, w.ReleaseLease(ctx, old))
	w.lease = must(w.AcquireLease(ctx, group, reverie.LeaseGroup, "host:2:b", time.Minute))(t)
	wantErr(t, w.SaveAnswer(ctx, old, a), reverie.ErrLeaseLost)
	foreign := a
	foreign.GroupID = "g2"
	wantErr(t, w.SaveAnswer(ctx, w.lease, foreign), reverie.ErrInvalid)
	unknown := a
	unknown.RunID = reverie.NewID()
	err := w.SaveAnswer(ctx, w.lease, unknown)
	wantErr(t, err, reverie.ErrNotFound)
	if !strings.Contains(err.Error(), unknown.RunID) {
		t.Errorf("does not say which run: %v", err)
	}
	if kept := must(w.Answers(ctx, group, a.RunID, a.Purpose))(t); len(kept) != 0 {
		t.Errorf("kept %v", kept)
	}
}

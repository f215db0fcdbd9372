package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// folds is a summary that covers these messages, too. How many it covers the store
// counts.
func folds(run, session string, messages ...reverie.Message) reverie.SessionFold {
	first, last := messages[0], messages[len(messages)-1]
	return reverie.SessionFold{MessageIDs: messageIDs(messages), Stats: reverie.Stats{Folded: len(messages)},
		Summary: reverie.SessionSummary{GroupID: group, SessionID: session, Summary: "up to " + last.ID, RunID: run,
			FirstMessageID: first.ID, LastMessageID: last.ID, CoversSince: first.SentAt, CoversUntil: last.SentAt}}
}

// A fold says which messages it covers, each once, together with the summary.
func TestApplyFold(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.turns("s", 0, 4)
	w.turns("other", 0, 1)
	w.bring(group, line("tool", "s", "tool", 2))
	state := must(w.GatherFold(ctx, group, "s"))(t)
	if len(state.Messages) != 9 || state.Summary != nil || state.Session.Total.Turns != 4 {
		t.Fatalf("to fold is %+v", state)
	}
	run := w.extraction("s", nil)
	one := folds(run, "s", state.Messages[:5]...)
	foreign, unheard, ended := one, one, one
	foreign.MessageIDs = []string{"other-u000"}
	unheard.MessageIDs = nil
	ended.Summary.RunID = reverie.NewID()
	for name, tt := range map[string]struct {
		fold reverie.SessionFold
		want error
	}{
		"another session's message": {foreign, reverie.ErrConflict},
		"nothing":                   {unheard, reverie.ErrInvalid},
		"no run":                    {ended, reverie.ErrConflict},
		"an unknown session":        {folds(run, "nowhere", state.Messages...), reverie.ErrNotFound},
	} {
		if err := w.ApplyFold(ctx, w.lease, tt.fold); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			wantErr(t, err, tt.want)
		}
	}
	if s := w.counted(group)["s"]; s.Folded != (reverie.Tally{}) {
		t.Errorf("something is folded: %+v", s)
	}
	check(t, w.ApplyFold(ctx, w.lease, one))
	wantErr(t, w.ApplyFold(ctx, w.lease, one), reverie.ErrConflict)
	if s := w.counted(group)["s"]; s.Folded.Messages != 5 || s.Folded.Turns != 2 || s.Folded.ToolCalls != 1 || s.New.Messages != 9 {
		t.Errorf("after the first fold %+v", s)
	}
	w.now = noon.Add(time.Hour)
	state = must(w.GatherFold(ctx, group, "s"))(t)
	want, covered := one.Summary, state.Session.Folded
	want.Messages, want.Turns, want.Tokens, want.CreatedAt, want.UpdatedAt = covered.Messages, covered.Turns, covered.Tokens, noon, noon
	if diff := cmp.Diff(&want, state.Summary); diff != "" || len(state.Messages) != 4 {
		t.Fatalf("%d messages are left, the summary (-want +got):\n%s", len(state.Messages), diff)
	}
	// Among those that are covered: they stand word for word, and take a turn from an
	// answer that is covered.
	w.bring(group, line("late", "s", "user", 0), line("early", "s", "assistant", 0))
	if s := w.counted(group)["s"]; s.Folded.Turns != 1 || s.Total.Turns != 4 {
		t.Errorf("after late messages %+v", s)
	}
	check(t, w.ApplyFold(ctx, w.lease, folds(run, "s", state.Messages[:2]...)))
	got := must(w.SessionSummary(ctx, group, "s"))(t)
	if got.Summary != "up to s-v002" || !got.CreatedAt.Equal(noon) || !got.UpdatedAt.Equal(w.now) {
		t.Errorf("renewed it is %+v", got)
	}
	w.counted(group)
	if diff := cmp.Diff([]string{"late", "early", "s-u003", "s-v003"}, messageIDs(must(w.GatherFold(ctx, group, "s"))(t).Messages)); diff != "" {
		t.Errorf("word for word (-want +got):\n%s", diff)
	}
	if rows := pgtest.Rows(t, raw(t), `select count(*), count(distinct run_id) from message_uses where job = 'summarize' and session_id = 's'`); rows[0] != "7|1" {
		t.Errorf("marks: %v", rows)
	}
	if stats := must(w.Run(ctx, group, run))(t).Run.Stats; stats.Folded != 2 {
		t.Errorf("the run says %+v", stats)
	}
	if none := must(w.SessionSummary(ctx, group, "other"))(t); none != nil {
		t.Errorf("nobody has summed up %+v", none)
	}
	check(t, w.ReleaseLease(ctx, w.lease))
	wantErr(t, w.ApplyFold(ctx, w.lease, folds(run, "s", state.Messages[2:]...)), reverie.ErrLeaseLost)
}

// TestClearSession: what a session was about is in no context any more, and is not folded;
// its messages, what waits for extraction, and other sessions are as they were.
func TestClearSession(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.turns("s", 0, 4)
	w.turns("other", 0, 1)
	run := w.extraction("s", nil)
	state := must(w.GatherFold(ctx, group, "s"))(t)
	check(t, w.ApplyFold(ctx, w.lease, folds(run, "s", state.Messages[:4]...)))
	recalled := func(session string) (int, bool) {
		r := must(w.RecallState(ctx, reverie.RecallQuery{GroupID: group, SessionID: session, Turns: 12}))(t)
		return len(r.Messages), r.Summary != nil
	}
	if n, summed := recalled("s"); n != 4 || !summed {
		t.Fatalf("before: %d messages, a summary: %t", n, summed)
	}
	if n := must(w.ClearSession(ctx, group, "s"))(t); n != 8 {
		t.Errorf("%d messages are cleared, want 8", n)
	}
	if n := must(w.ClearSession(ctx, group, "s"))(t); n != 0 {
		t.Errorf("%d messages are cleared again", n)
	}
	if n, summed := recalled("s"); n != 0 || summed {
		t.Errorf("after: %d messages, a summary: %t", n, summed)
	}
	if n, _ := recalled("other"); n != 2 {
		t.Errorf("the other session has %d messages", n)
	}
	if s := w.counted(group)["s"]; s.Unfolded() != (reverie.Tally{}) || s.New.Messages != 8 || s.Total.Messages != 8 {
		t.Errorf("counted are %+v", s)
	}
	state = must(w.GatherFold(ctx, group, "s"))(t)
	if len(state.Messages) != 0 || state.Summary != nil {
		t.Errorf("to fold is %+v", state)
	}
	w.turns("s", 4, 1)
	if n, _ := recalled("s"); n != 2 {
		t.Errorf("what came since is %d messages, want 2", n)
	}
	if s := w.counted(group)["s"]; s.Unfolded().Turns != 1 || s.New.Messages != 10 {
		t.Errorf("counted are %+v", s)
	}
	for _, c := range [][2]string{{group, "nowhere"}, {"nobody", "s"}, {group, ""}} {
		_, err := w.ClearSession(ctx, c[0], c[1])
		wantErr(t, err, reverie.ErrNotFound)
	}
}

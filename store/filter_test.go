package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pgtest"
)

// TestFilteredMessages: what is filtered as it comes in is stored and counted; no session
// has it, no job waits for it or reads it, no rewind gives it back, and its text goes with
// the others' texts.
func TestFilteredMessages(t *testing.T) {
	w := newWorld(t)
	ctx, db := t.Context(), raw(t)
	filters := []reverie.Filter{reverie.FilterEmpty, reverie.FilterEvent, reverie.FilterCommand, reverie.FilterBot}
	var list, said []reverie.Message
	var ids []string
	for i := range 12 {
		m := line(fmt.Sprintf("m%02d", i), []string{"", "s"}[i/6], []string{"user", "assistant"}[i%2], i*7-1000)
		if i%3 == 0 {
			said, ids = append(said, m), append(ids, m.ID)
		} else {
			m.Filter = filters[i%4]
		}
		list = append(list, m)
	}
	for n := range 2 { // the second time all are known
		for _, batch := range [][]reverie.Message{{list[8], list[10]}, list[:7], list} {
			if got := must(w.ImportMessages(ctx, group, batch))(t); n == 1 && got.New > 0 {
				t.Errorf("%d are new once more", got.New)
			}
		}
	}
	w.ensure("plain")
	w.bring("plain", said...)
	ofSessions := `select cut, first_at, last_at, messages, tokens, turns, new_messages from sessions where group_id = $1 order by 2`
	if diff := cmp.Diff(pgtest.Rows(t, db, ofSessions, "plain"), pgtest.Rows(t, db, ofSessions, group)); diff != "" {
		t.Errorf("sessions (-of a group that has only the others +of all):\n%s", diff)
	}
	w.counted(group)

	filtered := func() []string {
		return pgtest.Rows(t, db, `select message_id, filter, text from messages m where group_id = $1 and outcome = 'filtered' and run_id is null
			and session_id = '' and not exists (select 1 from message_uses u where u.group_id = m.group_id and u.message_id = m.message_id) order by 1`, group)
	}
	before := filtered()
	if len(before) != 8 || before[0] != "m01|event|words of m01" {
		t.Errorf("filtered are %q", before)
	}
	counted := func(want store.MessageCounts) {
		t.Helper()
		if got := must(w.MessageCounts(ctx, group))(t); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
	}
	counted(store.MessageCounts{Pending: 4, Filtered: 8})
	if got := must(w.Gather(ctx, reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 20, ContextSince: noon.Add(-99 * time.Hour), ContextLimit: 20}))(t); !cmp.Equal(messageIDs(got.Pending), ids) || len(got.Context) > 0 {
		t.Errorf("gathered %q, and %q", messageIDs(got.Pending), messageIDs(got.Context))
	}

	run := w.chunk("", 1, ids)
	plan := consumeAll(run, ids)
	must(w.Apply(ctx, w.lease, plan))(t)
	w.finish(plan)
	counted(store.MessageCounts{Considered: 4, Filtered: 8})
	w.rewind(time.Time{})
	counted(store.MessageCounts{Pending: 4, Filtered: 8})

	w.now = noon.Add(20 * 24 * time.Hour)
	expiry := reverie.Expiry{Messages: w.now}
	if n := must(w.Upkeep(ctx, reverie.UpkeepQuery{GroupID: group, Expiry: expiry}))(t).Expired.Messages; n != 8 {
		t.Errorf("%d are said to expire", n)
	}
	upkeep := must(w.StartRun(ctx, w.lease, reverie.Run{Job: reverie.JobMaintain, WindowSince: w.now, WindowUntil: w.now}))(t)
	for after, n := (time.Time{}), 5; n > 0; {
		p, to, err := w.Prune(ctx, w.lease, reverie.PruneBatch{Run: upkeep, Limit: 5, Expiry: expiry, After: after})
		check(t, err)
		after, n = to, p.Messages
	}
	for i, row := range filtered() {
		if want := before[i][:len("m01|")]; row[:4] != want || row[len(row)-1] != '|' {
			t.Errorf("%s is %s since", before[i], row)
		}
	}
	counted(store.MessageCounts{Pending: 4, Filtered: 8})
	wantErr(t, second(w.ImportMessages(ctx, group, []reverie.Message{{ID: "x", Author: "a", SentAt: noon, Filter: "spam"}})), reverie.ErrInvalid)
}

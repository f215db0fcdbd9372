package store_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// note imports one message of a group, sent at an instant.
func (w *world) note(id string, at time.Time, text string) {
	w.t.Helper()
	w.sent++
	must(w.ImportMessages(w.t.Context(), id, []reverie.Message{{ID: fmt.Sprintf("n%05d", w.sent), Author: "a", Text: text, SentAt: at}}))(w.t)
}

func dueIDs(list []reverie.DueGroup) (ids []string) {
	for _, g := range list {
		ids = append(ids, g.ID)
	}
	return ids
}

func TestDueGroups(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []string{"G2", "g10", "paused", "quiet", "群"} {
		w.ensure(id)
	}
	late := time.Date(2026, 1, 15, 16, 30, 0, 0, time.UTC)
	for _, id := range []string{"G2", group, "g10", "paused", "群"} {
		w.note(id, late.Add(time.Hour), "later")
		w.note(id, late, "earlier, and arrived after")
	}
	must(w.PauseGroup(ctx, "paused"))(t)
	must(w.NoteFailure(ctx, "g10", "dream", "not asked for", rule))(t)
	failed := must(w.NoteFailure(ctx, "g10", reverie.JobEvolve, "why", rule))(t)
	w.chunk("", 1, nil)
	must(w.ChangeGroup(ctx, group, reverie.GroupChange{TimeZone: pointer("UTC")}, noon))(t)

	q := reverie.DueQuery{Job: reverie.JobEvolve}
	list := must(w.DueGroups(ctx, q))(t)
	if diff := cmp.Diff([]string{"G2", "g1", "g10", "群"}, dueIDs(list)); diff != "" {
		t.Fatalf("due (-want +got):\n%s", diff)
	}
	for i, g := range list {
		want := reverie.DueGroup{Group: must(w.Group(ctx, g.ID))(t), FirstPending: late}
		if i == 2 {
			want.Setback = &failed
		}
		if diff := cmp.Diff(want, g); diff != "" || (i == 1) != (len(g.Past) == 1) {
			t.Errorf("%s (-want +got):\n%s", g.ID, diff)
		}
	}
	var paged []string
	for q.Limit = 3; ; q.After = paged[len(paged)-1] {
		page := must(w.DueGroups(ctx, q))(t)
		if paged = append(paged, dueIDs(page)...); len(page) < q.Limit {
			break
		}
	}
	if diff := cmp.Diff(dueIDs(list), paged); diff != "" {
		t.Errorf("pages (-whole +pages):\n%s", diff)
	}
	for id, want := range map[string]int{"paused": 1, "quiet": 0, "g10": 1} {
		if got := must(w.DueGroups(ctx, reverie.DueQuery{Job: reverie.JobEvolve, GroupID: id}))(t); len(got) != want || want == 1 && got[0].ID != id {
			t.Errorf("%s by name: %+v", id, got)
		}
	}
	wantErr(t, second(w.DueGroups(ctx, reverie.DueQuery{GroupID: "nowhere"})), reverie.ErrNotFound)

	// What is consumed is not due, and what arrives late is due again.
	run := w.chunk("", 2, nil)
	_, err := raw(t).Exec(`update messages set run_id = $1, outcome = 'cited' where group_id = $2`, run, group)
	check(t, err)
	if got := dueIDs(must(w.DueGroups(ctx, reverie.DueQuery{After: "G2", Limit: 1}))(t)); got[0] != "g10" {
		t.Errorf("after all was consumed %v is due", got)
	}
	w.note(group, noon.AddDate(-1, 0, 0), "late")
	if got := must(w.DueGroups(ctx, reverie.DueQuery{GroupID: group}))(t); len(got) != 1 || !got[0].FirstPending.Equal(noon.AddDate(-1, 0, 0)) {
		t.Errorf("after a late arrival %+v is due", got)
	}
}

// PendingWindows is compared with counting by hand, over thousands of windows
// with gaps between them, in one statement.
func TestPendingWindows(t *testing.T) {
	var n network
	w := openWorld(t, n.options())
	ctx := t.Context()
	w.ensure("g2")
	start := time.Date(2024, 3, 9, 16, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(4, 4))
	type line struct {
		at   time.Time
		text string
	}
	var lines []line
	for range 300 {
		at := start.Add(time.Duration(r.IntN(120*24)) * time.Hour) // often on a window's very edge
		lines = append(lines, line{at, []string{"hi", "你好", "🙂 好"}[r.IntN(3)]})
		w.note(group, at, lines[len(lines)-1].text)
		w.note("g2", at, "another group's")
	}
	run := w.chunk("", 1, nil)
	_, err := raw(t).Exec(`update messages set run_id = $1, outcome = 'considered' where group_id = $2 and sent_at = $3`, run, group, lines[0].at)
	check(t, err)

	var windows []reverie.Window
	for d := range 4000 {
		if since := start.AddDate(0, 0, d); d%7 != 3 {
			windows = append(windows, reverie.Window{Date: since.Format(time.DateOnly), Since: since, Until: since.AddDate(0, 0, 1)})
		}
	}
	expect := func(windows []reverie.Window) (list []reverie.WindowLoad) {
		for _, win := range windows {
			load := reverie.WindowLoad{Window: win}
			for _, l := range lines {
				if !l.at.Before(win.Since) && (win.Until.IsZero() || l.at.Before(win.Until)) && !l.at.Equal(lines[0].at) {
					load.Messages++
					load.Characters += utf8.RuneCountInString(l.text)
					load.Bytes += len(l.text)
				}
			}
			if load.Messages > 0 {
				list = append(list, load)
			}
		}
		return list
	}
	for name, some := range map[string][]reverie.Window{
		"thousands": windows, "one": windows[3:4], "unbounded": {{}}, "from": {{Since: windows[40].Since}}, "to": {{Until: windows[40].Since}},
		"empty ones": windows[1000:1010], "none": nil,
	} {
		trips := n.trips.Load()
		got := must(w.PendingWindows(ctx, group, some))(t)
		if diff := cmp.Diff(expect(some), got); diff != "" && len(expect(some))+len(got) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if sent := n.trips.Load() - trips; len(some) > 0 && sent > 6 || len(some) == 0 && sent != 0 {
			t.Errorf("%s: %d requests", name, sent)
		}
	}
	if len(expect(windows)) < 50 {
		t.Errorf("%d windows with messages: this test proves little", len(expect(windows)))
	}
}

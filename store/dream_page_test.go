package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// described is an item as a line, with its sources.
func described(i reverie.DreamItem) []string {
	list := []string{fmt.Sprintf("%s %s, done %v, %d messages", i.Type, i.Statement, i.Done, i.Evidence)}
	for _, s := range i.Sources {
		list = append(list, fmt.Sprintf("%s %s of %q, summary %v, %s, active %v", s.Kind, s.Statement, s.SessionID, s.Summary, s.At.Format("01-02 15h"), s.Active))
	}
	return list
}

// The page tells what is active now, and what it rests on as that was then.
func TestDreamPage(t *testing.T) {
	d := newDreamer(t)
	ctx := t.Context()
	page := must(d.Dream(ctx, group))(t)
	if page.Run != nil || page.Narrative != nil || len(page.Items)+len(page.Waiting) != 0 || page.Group.ID != group || page.Gone {
		t.Errorf("before the first dream: %+v", page)
	}
	wantErr(t, second(d.Dream(ctx, "nowhere")), reverie.ErrNotFound)

	met := d.knows(group, reverie.KindSession, "s", "they met", reverie.TagSession, reverie.TagSummary)
	d.cites(met, "create", "m1", 11)
	d.cites(met, "create", "m2", 12)
	fact := d.knows(group, reverie.KindSession, "s", "Ana owes 30")
	d.cites(fact, "create", "m1", 11)
	tea := d.knows(group, reverie.KindGroup, "", "they like tea", reverie.TagSummary)

	first := d.dreamt(group, "succeeded", 10, met, fact, tea)
	back := d.knows(group, reverie.KindDream, "", "they began", reverie.TagDream, reverie.TagSummary)
	d.rests(first, back, met, tea)
	todo := d.knows(group, reverie.KindDream, "", "Ana is to pay", reverie.TagDream, string(reverie.DreamTodo))
	d.rests(first, todo, fact, met)
	d.cites(todo, "create", "m1", 11)
	theme := d.knows(group, reverie.KindDream, "", "tea", reverie.TagDream, string(reverie.DreamTheme))
	d.rests(first, theme, tea)
	d.knows(group, reverie.KindDream, "", "much tea", reverie.TagDream, string(reverie.DreamTheme))
	d.write(`update memories set strength = 0.9 where statement = 'much tea'`)
	d.knows(group, reverie.KindDream, "", "of no type", reverie.TagDream)
	d.knows(group, reverie.KindDream, "", "early", reverie.TagDream, string(reverie.DreamPreference))
	d.write(`update memories set status = 'archived' where memory_id = $1`, d.knows(group, reverie.KindDream, "", "archived", reverie.TagDream).ID)

	met2 := d.becomes(met, "they met again")
	d.cites(met2, "update", "m3", 13)
	paid := d.knows(group, reverie.KindSession, "t", "Ana has paid")
	d.cites(paid, "create", "m4", 14)
	second := d.dreamt(group, "held", 20, met2, paid)
	d.chunkOf(group, second, "applied")
	d.write(`insert into held_plans values ($1, $2, 1, 'dream', '[]', '[]', true, 'too much', 'waiting', now())`, group, second)
	back2 := d.becomes(back, "they went on")
	d.rests(second, back2, paid)
	todo.Tags = append(todo.Tags, reverie.TagDone)
	todo2 := d.becomes(todo, "Ana paid")
	d.rests(second, todo2, met2, paid)

	page = must(d.Dream(ctx, group))(t)
	if page.Run == nil || page.Run.ID != second || !page.Run.FinishedAt.Equal(minutes(20)) || len(page.Waiting) != 1 || page.Waiting[0].ID != second {
		t.Errorf("last dream %+v, waiting %+v", page.Run, page.Waiting)
	}
	got := [][]string{described(*page.Narrative)}
	for _, i := range page.Items {
		got = append(got, described(i))
	}
	teaTime := tea.Statement + ` of "", summary false, 01-15 12h, active true`
	if diff := cmp.Diff([][]string{
		{" they went on, done false, 1 messages", `session Ana has paid of "t", summary false, 01-14 04h, active true`},
		{"preference early, done false, 0 messages"},
		{"theme much tea, done false, 0 messages"},
		{"theme tea, done false, 0 messages", "group " + teaTime},
		{"todo Ana paid, done true, 4 messages", `session they met again of "s", summary true, 01-13 04h, active true`,
			`session Ana has paid of "t", summary false, 01-14 04h, active true`, `session Ana owes 30 of "s", summary false, 01-11 04h, active true`},
		{" of no type, done false, 0 messages"},
	}, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}

	// Of several narratives, since a person restored one, it is the latest that counts,
	// to the next dream as well.
	restored := d.knows(group, reverie.KindDream, "", "long ago", reverie.TagDream, reverie.TagSummary)
	if got := must(d.Dream(ctx, group))(t).Narrative.Statement; got != "long ago" {
		t.Errorf("the narrative is %q", got)
	}
	d.write(`update memories set updated_at = $2 where memory_id = $1`, restored.ID, restored.UpdatedAt.Add(-time.Hour))
	for by, got := range map[string]string{"page": must(d.Dream(ctx, group))(t).Narrative.Statement,
		"dream": must(d.GatherDream(ctx, reverie.DreamQuery{GroupID: group}))(t).Narrative.Statement} {
		if got != "they went on" {
			t.Errorf("the narrative of the %s is %q", by, got)
		}
	}
	d.write(`update memories set status = 'archived' where memory_id = $1`, restored.ID)

	// Each version of its own, as it stood; what a run that is taken back wrote is gone.
	why := func() (list []string) {
		for _, v := range must(d.Why(ctx, group, todo2.ID))(t).Versions {
			for _, s := range v.Sources {
				list = append(list, fmt.Sprint(v.Memory.Version, " ", s.Statement, " ", s.Active))
			}
		}
		return list
	}
	if diff := cmp.Diff([]string{"1 Ana owes 30 true", "1 they met false", "2 they met again true", "2 Ana has paid true"}, why()); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
	d.write(`update runs set undone_at = now() where run_id = $1`, second)
	if diff := cmp.Diff([]string{"1 Ana owes 30 true", "1 they met false"}, why()); diff != "" {
		t.Errorf("why, after the second dream was taken back (-want +got):\n%s", diff)
	}
	page = must(d.Dream(ctx, group))(t)
	if page.Run.ID != first || len(page.Waiting) != 0 || len(page.Narrative.Sources) != 2 || page.Narrative.Sources[0].Active || page.Narrative.Evidence != 2 {
		t.Errorf("after the second dream was taken back: %+v, %+v", page.Run, page.Narrative)
	}
	if page.Gone {
		t.Error("something is left")
	}
	d.write(`update memories set status = 'archived' where kind = 'dream' and status = 'active'`)
	if page = must(d.Dream(ctx, group))(t); !page.Gone || page.Narrative != nil || len(page.Items) != 0 {
		t.Errorf("after all has faded: %+v", page)
	}
}

package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// Everything that is new is gathered in the order of the sessions, once; what a dream
// has taken in is new no more, but what has become of it since is.
func TestGatherDream(t *testing.T) {
	d := newDreamer(t)
	ctx := t.Context()
	d.ensure("g2")
	d.quiet("g2", "early", 0)
	d.knows("g2", reverie.KindSession, "early", "another group's fact")
	d.quiet(group, "late", 30)
	d.quiet(group, "early", 0)
	d.quiet(group, "done", 10)
	d.quiet(group, "silent", 20) // of which nothing is remembered
	d.covers(group, "done", 0)
	d.knows(group, reverie.KindGroup, "late", "the group's", reverie.TagSummary) // no matter when that ends
	d.knows(group, reverie.KindSession, "gone", "an unknown session's fact")
	first := d.knows(group, reverie.KindSession, "late", "late fact 1")
	met := d.knows(group, reverie.KindSession, "late", "late met", reverie.TagSession, reverie.TagSummary)
	fact := d.knows(group, reverie.KindSession, "late", "late fact 2")
	d.cites(fact, "create", "late-1", 15)
	d.knows(group, reverie.KindSession, "gone", "an unknown session met", reverie.TagSummary)
	old := d.knows(group, reverie.KindSession, "early", "early met", reverie.TagSession, reverie.TagSummary)
	kept := d.knows(group, reverie.KindSession, "done", "done fact")
	edited := d.knows(group, reverie.KindSession, "done", "done fact, as it was")
	known := d.knows(group, reverie.KindGroup, "", "known already")
	d.dreamt(group, "succeeded", 1, old, kept, edited, known)
	d.becomes(old, "early met again")
	d.becomes(edited, "done fact, as it is")
	gone := d.knows(group, reverie.KindGroup, "", "deleted")
	d.write(`update memories set status = 'deprecated' where memory_id = $1`, gone.ID)
	d.knows(group, reverie.KindDream, "", "a todo", reverie.TagDream, string(reverie.DreamTodo))
	d.knows(group, reverie.KindDream, "", "looking back", reverie.TagDream, reverie.TagSummary)
	d.knows(group, reverie.KindDream, "", "a todo that is done", reverie.TagDream, string(reverie.DreamTodo), reverie.TagDone)

	all := []string{"early met again", "done fact, as it is", "late met", "late fact 1", "late fact 2",
		"an unknown session met", "an unknown session's fact", "the group's"}
	for name, tt := range map[string]struct {
		q        reverie.DreamQuery
		material []string
		sessions []string
	}{
		"all":                              {reverie.DreamQuery{}, all, []string{"early", "done", "silent", "late"}},
		"ended":                            {reverie.DreamQuery{EndedBy: minutes(20)}, append(append([]string{}, all[:2]...), all[5:]...), []string{"early", "done", "silent"}},
		"through":                          {reverie.DreamQuery{Through: "early"}, append(append([]string{}, all[:1]...), all[5:]...), []string{"early"}},
		"continued":                        {reverie.DreamQuery{MemoryIDs: []string{fact.ID, old.ID, kept.ID, gone.ID, known.ID}}, []string{"late fact 2"}, []string{"silent"}},
		"continued, with all of a session": {reverie.DreamQuery{MemoryIDs: []string{fact.ID, met.ID, first.ID}}, all[2:5], []string{"silent", "late"}},
		"continued through one that is there no more": {reverie.DreamQuery{MemoryIDs: []string{fact.ID, met.ID, first.ID}, Through: "merged"}, all[2:5], []string{"late"}},
		"continued, and all is used":                  {reverie.DreamQuery{MemoryIDs: []string{kept.ID}, Through: "early"}, nil, nil},
	} {
		tt.q.GroupID = group
		state := must(d.GatherDream(ctx, tt.q))(t)
		if diff := cmp.Diff(tt.material, names(state.Material)); diff != "" {
			t.Errorf("%s: material (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.sessions, sessionIDs(state.Sessions)); diff != "" {
			t.Errorf("%s: sessions (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([][]string{{"known already"}, {"a todo", "a todo that is done"}}, [][]string{names(state.Known), names(state.Items)}); diff != "" {
			t.Errorf("%s: known, and items (-want +got):\n%s", name, diff)
		}
		if state.Narrative == nil || state.Narrative.Statement != "looking back" || state.Active != 13 || state.Group.TimeZone != "Asia/Shanghai" {
			t.Errorf("%s: narrative %+v, %d active", name, state.Narrative, state.Active)
		}
		if diff := cmp.Diff(must(d.DreamSigns(ctx, tt.q))(t), state.Signs); diff != "" || state.Signs.New != len(tt.material) {
			t.Errorf("%s: signs (-read alone +gathered):\n%s", name, diff)
		}
		for _, h := range state.Material {
			if h.ID == fact.ID && cmp.Diff([]string{"2026-01-15"}, h.SupportDates) != "" {
				t.Errorf("%s: %+v", name, h)
			}
		}
	}
	early := must(d.GatherDream(ctx, reverie.DreamQuery{GroupID: group, Through: "done"}))(t).Sessions
	if len(early) != 2 || early[0].DreamtUntil != nil || early[1].DreamtUntil == nil || !early[1].DreamtUntil.Equal(minutes(10)) {
		t.Errorf("sessions %+v", early)
	}
}

// Where only dreams are new, nothing is.
func TestGatherDreamOfDreams(t *testing.T) {
	d := newDreamer(t)
	d.quiet(group, "s", 0)
	d.knows(group, reverie.KindDream, "", "a theme", reverie.TagDream, string(reverie.DreamTheme))
	d.knows(group, reverie.KindDream, "s", "looking back", reverie.TagDream, reverie.TagSummary)
	state := must(d.GatherDream(t.Context(), reverie.DreamQuery{GroupID: group}))(t)
	if state.Signs.Fresh != 1 || state.Signs.New != 0 || len(state.Material)+len(state.Known) != 0 || len(state.Sessions) != 1 {
		t.Errorf("gathered %+v", state)
	}
}

func TestEvidenceOf(t *testing.T) {
	d := newDreamer(t)
	first := d.knows(group, reverie.KindGroup, "", "likes tea")
	d.cites(first, "create", "m2", 12)
	d.cites(first, "keep", "m3", 13)
	d.cites(first, "keep", "m2", 12)
	now := d.becomes(first, "likes green tea")
	d.cites(now, "update", "m1", 11)
	d.cites(now, "delete", "m4", 14)
	d.cites(now, "keep", "m5", 15)
	d.write(`update memory_evidence set withdrawn_at = now() where message_id = 'm5'`)
	cats := d.knows(group, reverie.KindGroup, "", "has cats")
	d.cites(cats, "create", "m2", 12)
	none := d.knows(group, reverie.KindGroup, "", "rests on nothing")
	other := d.knows(group, reverie.KindGroup, "", "not asked for")
	d.cites(other, "create", "m1", 11)

	got := map[string][]string{}
	for id, list := range must(d.EvidenceOf(t.Context(), group, []string{first.LineageID, cats.LineageID, none.LineageID}))(t) {
		for _, e := range list {
			got[id] = append(got[id], e.MessageID+" "+e.Quote+" "+e.LocalDate)
		}
	}
	want := map[string][]string{first.LineageID: {"m1 update m1 2026-01-11", "m2 create m2 2026-01-12", "m3 keep m3 2026-01-13"},
		cats.LineageID: {"m2 create m2 2026-01-12"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	for group, ids := range map[string][]string{group: nil, "nowhere": {first.LineageID}} {
		if found := must(d.EvidenceOf(t.Context(), group, ids))(t); len(found) != 0 {
			t.Errorf("%v of %s rest on %v", ids, group, found)
		}
	}
}

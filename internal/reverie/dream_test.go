package reverie_test

import (
	"testing"

	"reverie/internal/reverie"
)

// An item of a dream is of the type that its tags say, a narrative of none, and
// neither is anything that is no dream's.
func TestDreamTypeOf(t *testing.T) {
	item := func(tags ...string) []string { return append([]string{reverie.TagDream, reverie.TagLongTerm}, tags...) }
	for _, c := range []struct {
		kind reverie.Kind
		tags []string
		want reverie.DreamType
	}{
		{reverie.KindDream, item("preference"), reverie.DreamPreference},
		{reverie.KindDream, item("theme", "music"), reverie.DreamTheme},
		{reverie.KindDream, item("todo"), reverie.DreamTodo},
		{reverie.KindDream, item("todo", reverie.TagDone), reverie.DreamTodo},
		{reverie.KindDream, []string{reverie.TagDream, reverie.TagSummary}, ""},
		{reverie.KindDream, item("todo", reverie.TagSummary), ""},
		{reverie.KindDream, item("todos", "Theme"), ""},
		{reverie.KindDream, nil, ""},
		{reverie.KindGroup, item("todo"), ""},
		{reverie.KindSession, item("preference"), ""},
		{reverie.KindTeam, item("theme"), ""},
	} {
		if got := reverie.DreamTypeOf(reverie.Memory{Kind: c.kind, Tags: c.tags}); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.kind, c.tags, got, c.want)
		}
	}
}

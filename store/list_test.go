package store_test

import (
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// Memories are listed by words in them, in whatever letters and order, by type, and by
// what there is most of.
func TestListedByWordsTypeAndOrder(t *testing.T) {
	w := newWorld(t)
	db := raw(t)
	for i, m := range []struct {
		text, kind       string
		strength, weight float64
		supported        int // days ago
	}{{"Raid night is Friday at 21:00", "rule", 0.5, 1, 3}, {"周会改到周五", "plan", 0.9, 0.5, 1}, {"100% of raids are on friday, _really_", "fact", 0.7, 2, 2}} {
		_, err := db.Exec(`insert into memories (group_id, memory_id, lineage_id, kind, statement, version, status, type, strength, weight, content_hash, created_at, updated_at, last_supported_at)
			select $1, id, id, 'group', $2, 1, 'active', $3, $4, $5, $2, now() - make_interval(days => 9 - $6), now() - make_interval(days => 9 - $6), now() - make_interval(days => $7)
			from (select gen_random_uuid() as id) i`, group, m.text, m.kind, m.strength, m.weight, i, m.supported)
		check(t, err)
	}
	for _, c := range []struct {
		q    reverie.MemoryQuery
		want []string // the beginnings
	}{
		{reverie.MemoryQuery{}, []string{"Raid", "周会", "100%"}},
		{reverie.MemoryQuery{Text: "  FRIDAY raid "}, []string{"Raid", "100%"}},
		{reverie.MemoryQuery{Text: "周五"}, []string{"周会"}},
		{reverie.MemoryQuery{Text: "%"}, []string{"100%"}},
		{reverie.MemoryQuery{Text: "_"}, []string{"100%"}},
		{reverie.MemoryQuery{Text: "friday saturday"}, nil},
		{reverie.MemoryQuery{Type: reverie.TypePlan}, []string{"周会"}},
		{reverie.MemoryQuery{Text: "raid", Type: reverie.TypeRule}, []string{"Raid"}},
		{reverie.MemoryQuery{Order: reverie.OrderOldest}, []string{"Raid", "周会", "100%"}},
		{reverie.MemoryQuery{Order: reverie.OrderChanged}, []string{"100%", "周会", "Raid"}},
		{reverie.MemoryQuery{Order: reverie.OrderSupported}, []string{"周会", "100%", "Raid"}},
		{reverie.MemoryQuery{Order: reverie.OrderStrength}, []string{"周会", "100%", "Raid"}},
		{reverie.MemoryQuery{Order: reverie.OrderWeight}, []string{"100%", "Raid", "周会"}},
		{reverie.MemoryQuery{Text: "friday", At: noon.AddDate(1, 0, 0), Recorded: true}, []string{"Raid", "100%"}},
	} {
		c.q.GroupID = group
		list, total, err := w.ListMemories(t.Context(), c.q)
		check(t, err)
		got := make([]string, len(list))
		for i, m := range list {
			got[i] = m.Statement
		}
		if !slices.EqualFunc(got, c.want, strings.HasPrefix) || total != len(c.want) {
			t.Errorf("%+v: %q, want %q", c.q, got, c.want)
		}
	}
}

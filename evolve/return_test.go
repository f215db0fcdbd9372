package evolve

import (
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
)

// TestReturnFromArchive: what was archived for silence comes back when it is said again, in the
// same words or in others, as a new version of its own lineage, as sure as it was and a date
// more. In between nobody knew it, by the chat's time and by that of the records.
func TestReturnFromArchive(t *testing.T) {
	for name, said := range map[string]string{"in the same words": "note Go is played.", "in other words": "note Go is what they play."} {
		t.Run(name, func(t *testing.T) {
			c := newComparing(t, "Tea is liked.", "Go is played.", "Milk is drunk.")
			c.say(evening.Add(-4*day), "again Go is played.")
			c.evolve()
			c.rows(`update memories set type = 'habit' returning 1`)
			c.rows(`insert into active_nights (group_id, night) select $1, $2::timestamptz::date + n from generate_series(1, 21) n returning 1`, c.group, evening.Add(-4*day))
			c.now = evening.Add(20 * day)
			c.say(evening.Add(18*day), "forget Go is played.")
			if res := c.evolve(); res.Stats.Archived != 1 {
				t.Fatalf("archived: %+v, %+v", res.Stats, res.Refusals)
			}
			c.now = evening.Add(30 * day)
			c.say(evening.Add(25*day), said)
			if res := c.evolve(); res.Stats.Updated != 1 || res.Stats.Created != 0 {
				t.Fatalf("it is back: %+v, %+v", res.Stats, res.Refusals)
			}
			c.want(`select m.version, m.statement, m.status, m.type, round(m.strength::numeric, 4), m.lineage_id = p.lineage_id, p.status, round(p.strength::numeric, 4)
				from memories m join memories p on p.memory_id = m.parent_id`, "2|Go is played.|active|habit|0.6570|true|superseded|0.5100")
			c.want(`select count(distinct lineage_id) from memories`, "3")
			c.want(`select c.action, c.change_summary ~ '^said again after it was archived' from memory_change_log c join memories m on m.memory_id = c.memory_id where m.version = 2 and c.action <> 'keep'`,
				"update|true")
			for _, at := range []struct {
				days     int
				recorded bool
				known    bool
			}{{17, false, true}, {19, false, false}, {24, false, false}, {26, false, true},
				{19, true, true}, {21, true, false}, {29, true, false}, {31, true, true}} {
				list, _, err := c.store.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: c.group, At: evening.Add(time.Duration(at.days) * day), Recorded: at.recorded})
				if err != nil {
					t.Fatal(err)
				}
				if known := slices.ContainsFunc(list, func(m reverie.Memory) bool { return m.Statement == "Go is played." }); known != at.known {
					t.Errorf("day %d (recorded: %t): known: %t", at.days, at.recorded, known)
				}
			}
		})
	}
}

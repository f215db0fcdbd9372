package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// TestEraseMixed: what also rests on others is held, archived or not, and has something to
// be judged by where those messages have lost their text or are not here. What has ended
// says nothing any more, nor does what is judged, and nobody restores it. An older export
// is passed over where rows were changed.
func TestEraseMixed(t *testing.T) {
	f := newForgotten(t)
	both := func(statement, status, message string) reverie.Memory {
		m := f.knows(group, reverie.KindGroup, "", statement)
		f.by(m, "x2", "create")
		f.by(m, message, "keep")
		f.write(`update memories set status = $2, ended_at = now() where memory_id = $1`, m.ID, status)
		return m
	}
	archived, ended := both("rides to work", "archived", "a3"), both("takes insulin", "deprecated", "a1")
	f.write(`insert into memory_change_log (group_id, change_id, action, memory_id, old_id, old_statement, new_statement, change_summary, version, evidence, created_at)
		values ($1, gen_random_uuid(), 'delete', $2, $2, 'takes insulin', '', 'no insulin', 1, '[]', now())`, group, ended.ID)
	f.write(`insert into decisions (group_id, run_id, chunk_no, decision_no, kind, statement, content_hash, action, basis, reason, candidates, created_at)
		values ($1, $2, 1, 1, 'group', 'drinks tea', 'h', 'NONE', 'compared', 'r', $3, now())`, group, f.run,
		fmt.Sprintf(`[{"memory_id":"%s","statement":"takes insulin","reason":"insulin"},{"memory_id":"%s","statement":"other"}]`, ended.ID, f.mentions.ID))
	f.write(`update messages set text = '', pruned_at = now(), run_id = $1, outcome = 'cited' where group_id = 'g1' and message_id = 'a3'`, f.run)
	f.write(`insert into memory_evidence (group_id, lineage_id, memory_id, message_id, author_id, author, quote, sent_at, local_date, action, created_at)
		select group_id, lineage_id, memory_id, 'elsewhere', 'u3', 'Bo', 'rode with 小明', sent_at, local_date, action, now() from memory_evidence where lineage_id = $1 and message_id = 'a3'`, archived.LineageID)
	shelf := exported(t, f.Store, reverie.ExportQuery{GroupID: group})
	if got := f.erase(reverie.EraseQuery{}); got.Held != 3 {
		t.Errorf("receipt %+v", got)
	}
	if got := f.status(t, archived); got != "held rides to work" || count(t, f.db, `select count(*) from rejudgements where lineage_id = $1`, archived.LineageID) != 1 {
		t.Errorf("archived: %q", got)
	}
	for _, c := range [][2]string{
		{`select message_id || ' ' || text || ' ' || author from messages where group_id = 'g1' and run_id is null and pruned_at is null and message_id in ('a3', 'elsewhere') order by 1`,
			"a3 yes Ann, elsewhere rode with [erased] Bo"},
		{`select candidates::text from decisions`, fmt.Sprintf(`[{"memory_id": "%s", "statement": "[erased]"}, {"memory_id": "%s", "statement": "other"}]`, ended.ID, f.mentions.ID)},
	} {
		if got := strings.Join(strings1(t, f.db, c[0]), ", "); got != c[1] {
			t.Errorf("%s\n%q, want\n%q", c[0], got, c[1])
		}
	}
	must(f.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: f.mixed.ID, Action: reverie.ActionDelete, Reason: "it was of Lisbon"}))(t)
	for table, text := range everything(t, f.db, group) {
		for _, trace := range []string{"insulin", "says Ann", "of Lisbon"} {
			if strings.Contains(text, trace) {
				t.Errorf("%s still holds %q:\n%s", table, trace, text)
			}
		}
	}
	for _, m := range []reverie.Memory{ended, f.mixed} {
		_, err := f.Edit(t.Context(), reverie.Edit{GroupID: group, MemoryID: m.ID, Action: reverie.ActionRestore})
		wantErr(t, err, reverie.ErrConflict)
		if !strings.Contains(err.Error(), "was erased") {
			t.Errorf("restored: %v", err)
		}
	}
	before := everything(t, f.db, group)
	back := shelf.of(group)
	slices.SortStableFunc(back, func(a, b reverie.Record) int {
		return slices.Index(reverie.RecordTypes, a.Type) - slices.Index(reverie.RecordTypes, b.Type)
	})
	if res := must(f.WriteRecords(t.Context(), group, back))(t); res.Counts[reverie.RecordMemory].New != 0 || res.Counts[reverie.RecordMemory].Erased < 4 || res.Counts[reverie.RecordChange].Erased == 0 {
		t.Errorf("an older export: %+v", res.Counts)
	}
	for _, table := range []string{"memories", "memory_change_log", "decisions", "held_plans", "memory_evidence"} {
		if diff := cmp.Diff(before[table], everything(t, f.db, group)[table]); diff != "" {
			t.Errorf("an older export has changed %s (-before +after):\n%s", table, diff)
		}
	}
}

package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/history"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// shelf keeps what is exported.
type shelf struct {
	groups  int
	records []reverie.Record
	after   int // records, then it fails; 0: never
}

var errFull = errors.New("the shelf is full")

func (s *shelf) Begin(groups int) error { s.groups = groups; return nil }

func (s *shelf) Write(r reverie.Record) error {
	if s.after > 0 && len(s.records) == s.after {
		return errFull
	}
	s.records = append(s.records, r)
	return nil
}

// lines are the records as text.
func (s *shelf) lines() []string {
	var out []string
	for _, r := range s.records {
		out = append(out, fmt.Sprintf("%s %s %s %v", r.GroupID, r.Type, r.Row, r.Vector))
	}
	return out
}

func exported(t testing.TB, s *store.Store, q reverie.ExportQuery) *shelf {
	t.Helper()
	var to shelf
	check(t, partsOf(s).Export(t.Context(), q, &to))
	return &to
}

// of are the records of one group.
func (s *shelf) of(groupID string) []reverie.Record {
	return slices.DeleteFunc(slices.Clone(s.records), func(r reverie.Record) bool { return r.GroupID != groupID })
}

// lived is a world whose group has some of everything that is exported: versions of
// all statuses, evidence, edits, decisions, a held plan, uses, another calendar.
func lived(t testing.TB) (*world, *sql.DB) {
	t.Helper()
	w := newWorld(t)
	w.apply(create("小明 likes tea"), create("the group meets on Fridays"), create("Lin plays the \"cello\"\t\\"))
	w.now = noon.Add(time.Hour)
	w.apply(update(w.active()["小明 likes tea"], "小明 likes green tea"), support(w.active()["the group meets on Fridays"], "2026-01-16", 0.51))
	w.now = noon.Add(2 * time.Hour)
	w.apply(remove(w.active()["the group meets on Fridays"], "it does not"))
	head := w.active()["小明 likes green tea"]
	for _, e := range []reverie.Edit{{Action: reverie.ActionStrength, Value: 0.1234567890123}, {Action: reverie.ActionWeight, Value: 1.7}} {
		e.GroupID, e.MemoryID = group, head.ID
		must(w.Edit(t.Context(), e))(t)
	}
	must(w.ChangeGroup(t.Context(), group, reverie.GroupChange{TimeZone: pointer("Europe/Berlin"), DreamIdle: pointer("12h"), DreamSessions: pointer("off"),
		DreamInterval: pointer("90m")}, noon.Add(12*time.Hour)))(t)
	w.ensure("g2")
	db := raw(t)
	for _, q := range []string{
		`update runs set status = 'running', finished_at = null`,
		`insert into held_plans (group_id, run_id, chunk_no, kind, plan, heads, reason, status, created_at)
			select group_id, run_id, chunk_no, 'group', '{"steps": []}', '[]', 'too much', 'waiting', created_at from run_chunks order by run_id limit 1`,
		`insert into decisions (group_id, run_id, chunk_no, decision_no, kind, statement, content_hash, action, basis, memory_id, candidates, created_at)
			select group_id, run_id, 1, row_number() over (order by memory_id), 'group', statement, content_hash, 'ADD', 'none', memory_id, '[{"score": 0.1}]', created_at
			from memories where version = 1`,
		`insert into memory_usage_log (group_id, usage_id, memory_id, lineage_id, position, score, similarity, weight, strength, recency,
				was_referenced, judged_at, created_at)
			select group_id, gen_random_uuid(), memory_id, lineage_id, 1, 1, 1, 1, 1, 1, n = 1, '2026-01-16', '2026-01-16'
			from memories, generate_series(1, 3) n where version = 2`,
		`insert into memory_sources (group_id, memory_id, position, source_id, source_lineage_id, run_id)
			select d.group_id, d.memory_id, row_number() over (order by s.statement), s.memory_id, s.lineage_id, d.run_id
			from memories d join memories s using (group_id) where d.version = 2 and s.version = 1`,
		`insert into memory_uses (group_id, job, memory_id, run_id) select group_id, 'dream', memory_id, run_id from memories where version = 1`,
		`update run_chunks set memory_ids = array(select memory_id from memories m where m.group_id = run_chunks.group_id and m.run_id = run_chunks.run_id order by 1)`,
		`insert into memory_usage_totals select group_id, lineage_id, 10, 4, 5, '2026-01-10' from memories where version = 1`,
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	return w, db
}

// remembered are all rows that an export is to bring back, those of uses and runs as
// they come back.
func remembered(t testing.TB, db *sql.DB) []string {
	t.Helper()
	var out []string
	for _, q := range []string{
		`select '(' || group_id || ',' || (to_jsonb(g) - 'plan_key') from groups g order by 1`, `select c from past_calendars c order by 1`, `select m from memories m order by 1`,
		`select e from memory_evidence e order by 1`, `select l from memory_change_log l order by 1`, `select d from decisions d order by 1`,
		`select h from held_plans h order by 1`, `select s from memory_sources s order by 1`, `select u from memory_uses u order by 1`, `select run_id, job, model, started_at from runs order by 1`,
		`select group_id, run_id, chunk_no, message_ids, memory_ids, created_at from run_chunks c
			where exists (select 1 from decisions d where d.group_id = c.group_id and d.run_id = c.run_id)
				or exists (select 1 from held_plans h where h.group_id = c.group_id and h.run_id = c.run_id) order by 2`,
		`select lineage_id, sum(offered), sum(referenced), sum(ignored) from (
			select lineage_id, 1 as offered, was_referenced::int as referenced, (not was_referenced)::int as ignored from memory_usage_log
			union all select lineage_id, offered, referenced, ignored from memory_usage_totals) u group by 1 order by 1`,
	} {
		out = append(out, pgtest.Rows(t, db, q)...)
	}
	return out
}

// What is exported from one database and written to another is the same there, to
// the last bit, and is exported from there as the same again.
func TestExportedRecordsComeBack(t *testing.T) {
	w, db := lived(t)
	all := exported(t, w.Store, reverie.ExportQuery{})
	want := remembered(t, db)
	if all.groups != 2 {
		t.Errorf("%d groups", all.groups)
	}
	if diff := cmp.Diff(all.lines(), exported(t, w.Store, reverie.ExportQuery{}).lines()); diff != "" {
		t.Errorf("exported twice, it differs:\n%s", diff)
	}
	if diff := cmp.Diff(len(all.of("g2")), len(exported(t, w.Store, reverie.ExportQuery{GroupID: "g2"}).records)); diff != "" {
		t.Error(diff)
	}
	everyColumn(t, db, all.records)
	head := w.active()["小明 likes green tea"].ID
	why := must(w.Why(t.Context(), group, head))(t)
	if sources := why.Versions[1].Sources; len(sources) != 3 || sources[0].Statement != "Lin plays the \"cello\"\t\\" {
		t.Errorf("it rests on %+v", sources)
	}
	t.Run("whence they came", func(t *testing.T) { // nothing is new there
		res := must(w.CompareRecords(t.Context(), group, all.of(group)))(t)
		before := remembered(t, db)
		written := must(w.WriteRecords(t.Context(), group, all.of(group)))(t)
		if diff := cmp.Diff(res, written); diff != "" {
			t.Error(diff)
		}
		for kind, c := range res.Counts {
			if c.New != 0 || c.Known == 0 {
				t.Errorf("%s: %+v", kind, c)
			}
		}
		if diff := cmp.Diff(before, remembered(t, db)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("elsewhere", func(t *testing.T) {
		s := pgtest.New(t)
		for _, id := range []string{group, "g2"} {
			would := must(partsOf(s).CompareRecords(t.Context(), id, all.of(id)))(t)
			if id == group { // the first half, as an import that was killed leaves it
				list := all.of(id)
				must(partsOf(s).WriteRecords(t.Context(), id, list[:len(list)/2]))(t)
				did := must(partsOf(s).WriteRecords(t.Context(), id, list))(t)
				if n := did.Counts[reverie.RecordRun]; n.Known == 0 || n.New != 0 {
					t.Errorf("runs that were there: %+v", n)
				}
			} else if did := must(partsOf(s).WriteRecords(t.Context(), id, all.of(id)))(t); !cmp.Equal(would, did) {
				t.Errorf("it was to be %+v and is %+v", would, did)
			}
		}
		if diff := cmp.Diff(want, remembered(t, raw(t))); diff != "" {
			t.Errorf("rows (-there +here):\n%s", diff)
		}
		if diff := cmp.Diff(all.lines(), exported(t, s, reverie.ExportQuery{}).lines()); diff != "" {
			t.Errorf("records (-there +here):\n%s", diff)
		}
		if diff := cmp.Diff(why, must(history.New(s.DB()).Why(t.Context(), group, head))(t), cmpopts.IgnoreFields(reverie.Run{}, "Status", "Error", "FinishedAt"),
			cmpopts.IgnoreFields(reverie.Memory{}, "JudgeAgain"), cmpopts.IgnoreFields(reverie.Resting{}, "JudgeAgain")); diff != "" { // what waits stays where it waits
			t.Errorf("why (-there +here):\n%s", diff)
		}
		// What comes later counts on.
		again := openWorld(t, pg.Options{})
		again.apply(create("Mia sings"))
		if n := count(t, raw(t), `select count(distinct evidence_no) - count(*) from memory_evidence`); n != 0 {
			t.Error("evidence has a number twice")
		}
	})
}

// everyColumn fails the test where a table has a column that no record has: what is
// added to a table is exported, or is named here.
func everyColumn(t *testing.T, db *sql.DB, records []reverie.Record) {
	t.Helper()
	tables := map[reverie.RecordType]string{reverie.RecordGroup: "groups", reverie.RecordRun: "runs", reverie.RecordChunk: "run_chunks",
		reverie.RecordHeld: "held_plans", reverie.RecordMemory: "memories", reverie.RecordSource: "memory_sources",
		reverie.RecordTaken: "memory_uses", reverie.RecordEvidence: "memory_evidence",
		reverie.RecordChange: "memory_change_log", reverie.RecordDecision: "decisions", reverie.RecordUsage: "memory_usage_totals"}
	left := []string{"group_id", "groups.plan_key", "groups.noticed", "run_chunks.answer", "run_chunks.questions", "memories.embedding"} // the last is beside its row
	for kind, table := range tables {
		i := slices.IndexFunc(records, func(r reverie.Record) bool { return r.Type == kind })
		if i < 0 {
			t.Errorf("nothing of %s was exported", table)
			continue
		}
		var row map[string]json.RawMessage
		check(t, json.Unmarshal(records[i].Row, &row))
		for _, c := range pgtest.Rows(t, db, `select column_name from information_schema.columns where table_name = $1 and is_generated = 'NEVER'`, table) {
			if _, ok := row[c]; !ok && !slices.Contains(left, c) && !slices.Contains(left, table+"."+c) {
				t.Errorf("column %s of %s is not exported", c, table)
			}
		}
	}
}

// Without vectors the rest is the same, and a version that has its vector keeps it.
func TestExportWithoutVectors(t *testing.T) {
	w, db := lived(t)
	plain := exported(t, w.Store, reverie.ExportQuery{GroupID: group, NoVectors: true})
	for _, r := range plain.records {
		if len(r.Vector) > 0 || strings.Contains(string(r.Row), model) {
			t.Errorf("it has a vector: %s", r.Row)
		}
	}
	before := remembered(t, db)
	must(w.WriteRecords(t.Context(), group, plain.records))(t)
	if diff := cmp.Diff(before, remembered(t, db)); diff != "" {
		t.Error(diff)
	}
}

// More rows than a page has come all, in order, and a writer that fails ends it.
func TestExportPages(t *testing.T) {
	w := newWorld(t)
	w.apply(create("小明 likes tea"))
	db := raw(t)
	if _, err := db.ExecContext(t.Context(), `insert into memory_evidence (group_id, evidence_no, lineage_id, memory_id, message_id, quote, sent_at, local_date, action, created_at)
		select group_id, n, lineage_id, memory_id, 'x', n::text, now(), now(), 'keep', now() from memories, generate_series(1, 400) n`); err != nil {
		t.Fatal(err)
	}
	all := exported(t, w.Store, reverie.ExportQuery{})
	var numbers []int
	for _, r := range all.records {
		var row struct {
			No int `json:"evidence_no"`
		}
		if r.Type == reverie.RecordEvidence {
			check(t, json.Unmarshal(r.Row, &row))
			numbers = append(numbers, row.No)
		}
	}
	if len(numbers) != 401 || !slices.IsSorted(numbers) {
		t.Errorf("%d pieces of evidence: %v", len(numbers), numbers)
	}
	wantErr(t, w.Export(t.Context(), reverie.ExportQuery{}, &shelf{after: 250}), errFull)
	wantErr(t, w.Export(t.Context(), reverie.ExportQuery{GroupID: "nobody"}, &shelf{}), reverie.ErrNotFound)
}

// What does not fit is refused with its name, and nothing is written with it.
func TestRecordsThatDoNotFit(t *testing.T) {
	w, db := lived(t)
	records := exported(t, w.Store, reverie.ExportQuery{GroupID: group}).records
	edit := func(kind reverie.RecordType, old, text string) []reverie.Record {
		list := slices.Clone(records)
		for i, r := range list {
			if r.Type == kind && strings.Contains(string(r.Row), old) {
				list[i].Row = json.RawMessage(strings.Replace(string(r.Row), old, text, 1))
				return list
			}
		}
		t.Fatalf("no %s has %q", kind, old)
		return nil
	}
	number := strings1(t, db, `select min(evidence_no) from memory_evidence`)[0]
	fresh := reverie.NewID()
	head := w.active()["小明 likes green tea"]
	bare := slices.Clone(records)
	for i, r := range bare {
		if r.Type == reverie.RecordMemory {
			bare[i].Vector = nil
		}
	}
	for _, c := range []struct {
		name    string
		records []reverie.Record
		kind    error
		words   string
	}{
		{"weight", edit(reverie.RecordMemory, `"weight":1.7`, `"weight":1.8`), reverie.ErrConflict, "(weight)"},
		{"statement", edit(reverie.RecordMemory, `green tea`, `black tea`), reverie.ErrConflict, head.ID},
		{"source", edit(reverie.RecordSource, `"position":1,`, `"position":9,`), reverie.ErrConflict, "(position)"},
		{"rests on itself", edit(reverie.RecordSource, `"position":1,`, `"position":0,`), reverie.ErrInvalid, "source"},
		{"evidence", edit(reverie.RecordEvidence, `"u1"`, `"u2"`), reverie.ErrConflict, "(author_id)"},
		{"change", edit(reverie.RecordChange, `"said so"`, `"hm"`), reverie.ErrConflict, "change_summary"},
		{"decision", edit(reverie.RecordDecision, `"ADD"`, `"NONE"`), reverie.ErrConflict, "(action)"},
		{"place in a lineage", edit(reverie.RecordMemory, head.ID, fresh), reverie.ErrConflict, "it has a newer version here"},
		{"unknown column", edit(reverie.RecordMemory, `"weight":`, `"mass":`), reverie.ErrInvalid, "import it with the binary that wrote it"},
		{"a number that is none", edit(reverie.RecordMemory, `"weight":1.7`, `"weight":"much"`), reverie.ErrInvalid, ""},
		{"heavy", edit(reverie.RecordMemory, `"weight":1.7`, `"weight":99`), reverie.ErrInvalid, "memory " + head.ID + " cannot be kept as it is, for its weight"},
		{"sort", edit(reverie.RecordMemory, `"kind":"group"`, `"kind":"song"`), reverie.ErrInvalid, "for its kind"},
		{"nothing", edit(reverie.RecordMemory, `"kind":"group"`, `"kind":null`), reverie.ErrInvalid, "for its kind"},
		{"says nothing", edit(reverie.RecordMemory, `"statement":"小明 likes green tea"`, `"statement":""`), reverie.ErrInvalid, "for its statement"},
		{"status", edit(reverie.RecordRun, `"status":"`, `"status":"un`), reverie.ErrInvalid, "for its status"},
		{"number", edit(reverie.RecordEvidence, `"evidence_no":`+number, `"evidence_no":9223372036854775807`), reverie.ErrInvalid, "evidence 9223372036854775807 cannot be kept as it is, for its evidence_no"},
		{"count", edit(reverie.RecordUsage, `"offered":`, `"offered":-`), reverie.ErrInvalid, "for its counts"},
		{"unknown type", []reverie.Record{{GroupID: group, Type: "song", Row: json.RawMessage(`{}`)}}, reverie.ErrInvalid, "song"},
		{"group", edit(reverie.RecordGroup, `"Europe/Berlin"`, `"Europe/Nowhere"`), reverie.ErrInvalid, "Nowhere"},
		{"another group", edit(reverie.RecordGroup, `"g1"`, `"g3"`), reverie.ErrInvalid, ""},
		{"model without vector", bare, reverie.ErrInvalid, "come together"},
	} {
		before := remembered(t, db)
		_, err := w.CompareRecords(t.Context(), group, c.records)
		wantErr(t, err, c.kind)
		if !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v lacks %q", c.name, err, c.words)
		}
		_, err = w.WriteRecords(t.Context(), group, c.records)
		wantErr(t, err, c.kind)
		if diff := cmp.Diff(before, remembered(t, db)); diff != "" {
			t.Errorf("%s: written all the same:\n%s", c.name, diff)
		}
	}
	other := edit(reverie.RecordGroup, `"Group g1",`, `"Tea house",`)
	other[0].Row = json.RawMessage(strings.Replace(string(other[0].Row), `"dream_idle":"12h","dream_sessions":"off","dream_interval":"90m"`, `"dream_idle":"off","dream_sessions":"5","dream_interval":"2h"`, 1))
	kept := must(w.CompareRecords(t.Context(), group, other))(t)
	if diff := cmp.Diff([]string{`group "g1" is there and keeps its own name, dream idle, dream sessions, dream interval`}, kept.Kept); diff != "" {
		t.Error(diff)
	}
}

// A text that another memory makes by now is found before anything is written.
func TestRecordsWhoseTextIsTaken(t *testing.T) {
	w, _ := lived(t)
	records := exported(t, w.Store, reverie.ExportQuery{GroupID: group}).records
	t.Run("elsewhere", func(t *testing.T) {
		other := newWorld(t)
		other.apply(create("小明 likes green tea"))
		_, err := other.CompareRecords(t.Context(), group, records)
		wantErr(t, err, reverie.ErrConflict)
		if id := other.active()["小明 likes green tea"].ID; !strings.Contains(err.Error(), id) || !strings.Contains(err.Error(), "says the same") {
			t.Error(err)
		}
		_, err = other.WriteRecords(t.Context(), group, records)
		wantErr(t, err, reverie.ErrConflict)
	})
}

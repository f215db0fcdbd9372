package store_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// besideApply applies plans to one group by the store, and the same plans to a group like
// it in bare SQL, and sees at the end that both have written as much to each table.
func besideApply(b *testing.B, w *world, town pgtest.Town, steps, messages int) {
	ours, theirs := w.plot(town, 1), w.plot(town, 2)
	bare := newBareApply(b, pgtest.Bare(b))
	var laps pgtest.Beside
	for b.Loop() {
		plan, same := ours.night(steps, messages), theirs.night(steps, messages)
		laps.Time(func() { must(w.Apply(b.Context(), ours.lease, plan))(b) }, func() { bare.apply(b, same) })
	}
	laps.Report(b)
	if diff := cmp.Diff(written(b, bare.db, theirs.id), written(b, bare.db, ours.id)); diff != "" {
		b.Fatalf("not the same has been written (-bare +ours):\n%s", diff)
	}
}

// written counts what there is of a group.
func written(b *testing.B, db *sql.DB, group string) map[string][]string {
	found := map[string][]string{}
	for table, per := range map[string]string{"memories": "status, version", "memory_values": "run_id is null", "memory_evidence": "action", "memory_change_log": "action, old_id is null, strength is null",
		"decisions": "action", "messages": "outcome", "message_uses": "job, run_id is null", "run_chunks": "status", "runs": "stats ->> 'created'", "rejudgements": "reason",
		"sessions": "cut, messages, tokens, tool_calls, turns, new_messages, asking"} {
		found[table] = pgtest.Rows(b, db, fmt.Sprintf(`select %s, count(*) from %s where group_id = $1 group by %[1]s order by 1`, per, table), group)
		slices.Sort(found[table])
	}
	return found
}

// bareApply writes what a plan says, as one would write it in an afternoon and well: in
// one transaction, by a prepared statement for each table, with arrays that are unnested
// and vectors in binary. The rows, columns and indexes are the store's. Left out is what the
// store does besides: it takes the lease's row and compares the fence, sees that the run
// is under way and the chunk not applied, locks the heads and sees that none has moved,
// refuses plans that contradict themselves, looks for what rests on what has changed, and
// sees that each message was still pending.
type bareApply struct {
	db                                                             *sql.DB
	oid                                                            uint32
	move, versions, evidence, changes, decisions, messages, finish *sql.Stmt
}

func newBareApply(b *testing.B, db *sql.DB) *bareApply {
	return &bareApply{db: db, oid: vectorOID(b, db),
		move: pgtest.Prepare(b, db, `with u as (select * from unnest($3::uuid[], $4::bool[], $5::float8[], $6::timestamptz[]) as u (id, ends, strength, supported_at)),
			kept as (insert into memory_values (group_id, memory_id, strength, weight, last_supported_at, decayed_at, run_id, valid_until)
				select m.group_id, m.memory_id, m.strength, m.weight, m.last_supported_at, m.decayed_at, $7::uuid, $2
				from memories m join u on u.id = m.memory_id where m.group_id = $1 and not u.ends)
			update memories m set status = case when u.ends then 'deprecated' else m.status end, ended_at = case when u.ends then $2::timestamptz end,
				strength = case when u.ends then m.strength else u.strength end, last_supported_at = case when u.ends then m.last_supported_at else u.supported_at end
			from u where m.group_id = $1 and m.memory_id = u.id`),
		versions: pgtest.Prepare(b, db, `insert into memories (group_id, memory_id, lineage_id, parent_id, kind, session_id, statement, version, status, tags,
				strength, weight, content_hash, embedding, embedding_model, change_summary, run_id, created_at, updated_at, last_supported_at, decayed_at)
			select $1, u.id, u.lineage, u.parent, coalesce(p.kind, 'group'), coalesce(p.session_id, ''), u.statement, u.version, 'active', string_to_array(u.tags, ','),
				u.strength, coalesce(p.weight, 1), u.hash, u.embedding, u.model, u.summary, $2, coalesce(p.created_at, $3), $3, u.supported_at, p.decayed_at
			from unnest($4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::int[], $9::text[], $10::float8[], $11::text[], $12::vector[], $13::text[], $14::text[],
				$15::timestamptz[]) as u (id, lineage, parent, statement, version, tags, strength, hash, embedding, model, summary, supported_at)
			left join memories p on p.group_id = $1 and p.memory_id = u.parent`),
		evidence: pgtest.Prepare(b, db, `insert into memory_evidence (group_id, run_id, created_at, lineage_id, memory_id, action, message_id, author_id, author,
				quote, sent_at, local_date)
			select $1, $2, $3, u.* from unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::timestamptz[], $12::date[]) u`),
		changes: pgtest.Prepare(b, db, `insert into memory_change_log (group_id, run_id, chunk_no, created_at, change_id, action, memory_id, old_id, old_statement,
				new_statement, change_summary, version, evidence)
			select $1, $2, $3, $4, u.* from unnest($5::uuid[], $6::text[], $7::uuid[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::int[], $13::jsonb[]) u`),
		decisions: pgtest.Prepare(b, db, `insert into decisions (group_id, run_id, chunk_no, created_at, decision_no, kind, statement, content_hash, action, basis,
				memory_id, planned_id, reason, candidates)
			select $1, $2, $3, $4, u.no, u.kind, u.statement, u.hash, u.action, u.basis, u.memory_id, u.memory_id, u.reason, u.candidates
			from unnest($5::int[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::uuid[], $12::text[], $13::jsonb[])
				as u (no, kind, statement, hash, action, basis, memory_id, reason, candidates)`),
		messages: pgtest.Prepare(b, db, `update messages m set run_id = $2, outcome = u.outcome from unnest($3::text[], $4::text[]) as u (id, outcome)
			where m.group_id = $1 and m.message_id = u.id`),
		finish: pgtest.Prepare(b, db, `with c as (update run_chunks set status = 'applied', refusals = $4 where group_id = $1 and run_id = $2 and chunk_no = $3)
			update runs set stats = $5 where group_id = $1 and run_id = $2`),
	}
}

func (a *bareApply) apply(b *testing.B, plan reverie.Plan) {
	tx := must(a.db.Begin())(b)
	exec := func(st *sql.Stmt, args ...any) {
		if _, err := tx.Stmt(st).Exec(args...); err != nil {
			b.Fatal(err)
		}
	}
	at := noon
	var old, fresh, logged []reverie.Step
	for _, st := range plan.Steps {
		if st.Action != reverie.ActionCreate {
			old = append(old, st)
		}
		if st.MemoryID != "" {
			fresh = append(fresh, st)
		}
		if st.Action != reverie.ActionKeep {
			logged = append(logged, st)
		}
	}
	a.moveAndInsert(exec, plan, old, fresh)
	var cited [9]pq.StringArray
	for _, st := range plan.Steps {
		for _, e := range st.Evidence {
			for i, v := range []string{st.LineageID, versionOf(st), string(st.Action), e.MessageID, e.AuthorID, e.Author, e.Quote, e.SentAt.Format(rfc3339), e.LocalDate} {
				cited[i] = append(cited[i], v)
			}
		}
	}
	exec(a.evidence, plan.GroupID, plan.RunID, at, cited[0], cited[1], cited[2], cited[3], cited[4], cited[5], cited[6], cited[7], cited[8])
	exec(a.changes, plan.GroupID, plan.RunID, plan.ChunkNo, at, columnOf(logged, func(reverie.Step) string { return reverie.NewID() }),
		columnOf(logged, func(st reverie.Step) string { return string(st.Action) }), columnOf(logged, versionOf), pq.Array(parents(logged)),
		columnOf(logged, func(st reverie.Step) string { return st.OldStatement }), columnOf(logged, func(st reverie.Step) string { return st.Statement }),
		columnOf(logged, func(st reverie.Step) string { return st.Reason }), stepVersions(logged), columnOf(logged, func(st reverie.Step) string { return inJSON(b, st.Evidence) }))
	d := plan.Decisions
	exec(a.decisions, plan.GroupID, plan.RunID, plan.ChunkNo, at, decisionNumbers(d), columnOf(d, func(d reverie.Decision) string { return string(d.Kind) }),
		columnOf(d, func(d reverie.Decision) string { return d.Statement }), columnOf(d, func(d reverie.Decision) string { return d.ContentHash }),
		columnOf(d, func(d reverie.Decision) string { return string(d.Action) }), columnOf(d, func(d reverie.Decision) string { return string(d.Basis) }),
		columnOf(d, func(d reverie.Decision) string { return d.MemoryID }), columnOf(d, func(d reverie.Decision) string { return d.Reason }),
		columnOf(d, func(d reverie.Decision) string { return "[]" }))
	var ids, outcomes pq.StringArray
	for id, outcome := range plan.Outcomes {
		ids, outcomes = append(ids, id), append(outcomes, string(outcome))
	}
	exec(a.messages, plan.GroupID, plan.RunID, ids, outcomes)
	exec(a.finish, plan.GroupID, plan.RunID, plan.ChunkNo, "[]", inJSON(b, plan.Stats))
	check(b, tx.Commit())
}

// moveAndInsert ends and supports old versions, and writes new ones.
func (a *bareApply) moveAndInsert(exec func(*sql.Stmt, ...any), plan reverie.Plan, old, fresh []reverie.Step) {
	var ends pq.BoolArray
	var strengths, freshStrengths pq.Float64Array
	var vectors [][]float32
	supported := func(st reverie.Step) string { return st.LastSupportedAt.Format(rfc3339) }
	for _, st := range old {
		ends, strengths = append(ends, st.Action != reverie.ActionKeep), append(strengths, st.Strength)
	}
	for _, st := range fresh {
		freshStrengths, vectors = append(freshStrengths, st.Strength), append(vectors, st.Embedding)
	}
	exec(a.move, plan.GroupID, noon, columnOf(old, func(st reverie.Step) string { return st.Head.MemoryID }), ends, strengths, columnOf(old, supported), plan.RunID)
	exec(a.versions, plan.GroupID, plan.RunID, noon, columnOf(fresh, func(st reverie.Step) string { return st.MemoryID }),
		columnOf(fresh, func(st reverie.Step) string { return st.LineageID }), pq.Array(parents(fresh)),
		columnOf(fresh, func(st reverie.Step) string { return st.Statement }), stepVersions(fresh),
		columnOf(fresh, func(st reverie.Step) string { return strings.Join(st.Tags, ",") }), freshStrengths,
		columnOf(fresh, func(st reverie.Step) string { return st.ContentHash }), pg.VectorArray{OID: a.oid, Vectors: vectors},
		columnOf(fresh, func(st reverie.Step) string { return st.EmbeddingModel }), columnOf(fresh, func(st reverie.Step) string { return st.Reason }),
		columnOf(fresh, supported))
}

const rfc3339 = "2006-01-02T15:04:05Z07:00"

// versionOf is the version that a step writes, or else acts on.
func versionOf(st reverie.Step) string {
	if st.MemoryID != "" {
		return st.MemoryID
	}
	return st.Head.MemoryID
}

// parents are the versions that steps act on, NULL for those that create.
func parents(steps []reverie.Step) (list []*string) {
	for _, st := range steps {
		var id *string
		if st.Action != reverie.ActionCreate {
			id = &st.Head.MemoryID
		}
		list = append(list, id)
	}
	return list
}

// stepVersions are the numbers of the versions that steps write, or else end.
func stepVersions(steps []reverie.Step) (list pq.Int64Array) {
	for _, st := range steps {
		n := int64(st.Head.Version)
		if st.MemoryID != "" {
			n++
		}
		list = append(list, n)
	}
	return list
}

func decisionNumbers(list []reverie.Decision) (no pq.Int64Array) {
	for _, d := range list {
		no = append(no, int64(d.No))
	}
	return no
}

func inJSON(b *testing.B, v any) string { return string(must(json.Marshal(v))(b)) }

// vectorOID is the type of vectors in the database, which arrays of them name.
func vectorOID(b testing.TB, db *sql.DB) (oid uint32) {
	b.Helper()
	if err := db.QueryRow(`select 'vector'::regtype::oid::bigint`).Scan(&oid); err != nil {
		b.Fatal(err)
	}
	return oid
}

// columnOf is the values that a list of things has in one column, for unnest.
func columnOf[T any](list []T, value func(T) string) pq.StringArray {
	values := make(pq.StringArray, len(list))
	for i, v := range list {
		values[i] = value(v)
	}
	return values
}

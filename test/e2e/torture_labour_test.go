//go:build torture

package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"reverie/internal/llm/llmtest"
)

// labour is a job on one group that others may do as well: the one that is broken, and
// the one that takes over.
type labour struct {
	name  string
	stage func(t *testing.T) *stage
	group func(t *testing.T, s *stage, name string) *victim // with a past of its own, and the work before it
	end   func(v *victim) []string                          // what it has come to, without ids and instants
	// unfenced is the row that a holder past its lease writes where no fence keeps it from
	// that: of a run that the other has ended. "": its own rows keep it from writing twice.
	unfenced string
	// unsure is what a process says that was not told of a commit of its own, and does not
	// look it up: it stands in its own way.
	unsure string
}

// labours are those that hold a group's lease.
var labours = []labour{
	{name: "evolve", stage: killStage,
		group: func(t *testing.T, s *stage, name string) *victim {
			return s.twin(t, name, "evolve", "--group", name, "--until", "2025-03-06")
		},
		end: func(v *victim) []string { return v.state(v.group) }, unfenced: "+ runs: (", unsure: `unique constraint "runs_pkey"`},
	{name: "extract", stage: func(t *testing.T) *stage {
		s := dueStage(t)
		s.set("REVERIE_SESSION_MAX_MESSAGES=4", "REVERIE_SHORT_TERM_MAX_ITEMS=2", "REVERIE_SHORT_TERM_COMPRESSION_THRESHOLD=4", "REVERIE_SHORT_TERM_EXPIRE_AFTER=0s")
		return s
	}, group: func(t *testing.T, s *stage, name string) *victim { return s.speaker(t, name) }, end: (*victim).remembered,
		unfenced: "+ runs: (", unsure: `unique constraint "runs_pkey"`},
	{name: "dream", stage: func(t *testing.T) *stage {
		s := dreamStage(t)
		s.set("REVERIE_DREAM_MAX_INPUT_TOKENS=4000", "REVERIE_DREAM_MAX_ITEMS=30")
		s.dreamers()
		return s
	}, group: func(t *testing.T, s *stage, name string) *victim {
		return s.twin(t, name, "dream", "--due", "--group", name)
	}, end: (*victim).dreamt, unfenced: "+ runs: (", unsure: `unique constraint "runs_pkey"`},
	{name: "impression", stage: observers,
		group: func(t *testing.T, s *stage, name string) *victim {
			return s.twin(t, name, "impression", "--group", name)
		},
		end: (*victim).observed, unfenced: "+ runs: (", unsure: `unique constraint "runs_pkey"`},
	{name: "undo", stage: func(t *testing.T) *stage {
		s := killStage(t)
		s.run("evolve", "--group", "template").want(t, 0)
		return s
	}, group: func(t *testing.T, s *stage, name string) *victim {
		return s.twin(t, name, "runs", "undo", "--group", name, "--since", "2025-03-04", "--requeue")
	}, end: func(v *victim) []string { return v.state(v.group) }, unsure: "is busy: held by"},
}

// whole is a labour's end, in order, but for the lease: one that ran out may bear the name
// of who stood still with all done.
func (l labour) whole(v *victim) []string {
	return slices.Sorted(slices.Values(slices.DeleteFunc(l.end(v), func(row string) bool { return strings.HasPrefix(row, "lease ") })))
}

// gist is what is left of a labour's end where it may have taken another number of runs
// and chunks to get there.
func (l labour) gist(v *victim) []string {
	var out []string
	for _, row := range l.whole(v) {
		part, _, _ := strings.Cut(row, " ")
		if slices.Contains([]string{"memory", "source", "entity", "name", "claim", "evidence", "rolling"}, part) {
			out = append(out, row)
		}
	}
	return out
}

// twin is a group with all that the stage's template has, and a model server of its own.
func (s *stage) twin(t *testing.T, group string, args ...string) *victim {
	t.Helper()
	own := *s
	own.t, own.model = t, llmtest.New(t)
	own.env = append(slices.Clone(s.env), "REVERIE_LLM_BASE_URL="+own.model.URL("openai"))
	own.model.Respond(scribe(t))
	own.copyWhole("template", group)
	return &victim{stage: &own, t: t, group: group, model: own.model, args: args}
}

// copyWhole makes another group of every row that one has in any table.
func (s *stage) copyWhole(from, to string) {
	s.t.Helper()
	tables := s.rows(`select c.table_name from information_schema.columns c join pg_tables t on t.tablename = c.table_name and t.schemaname = c.table_schema
		where c.table_schema = 'public' and c.column_name = 'group_id' order by 1`)
	tx, err := s.db.BeginTx(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()                                   // after a commit this is a no-op
	statements := []string{`set local session_replication_role = replica`} // in whatever order they refer to each other
	for _, table := range tables {
		columns := s.plainColumns(table)
		statements = append(statements, `insert into `+table+` (`+columns+`) overriding system value select `+columns+` from (select (jsonb_populate_record(null::`+table+`,
			to_jsonb(t) || jsonb_build_object('group_id', $2::text))).* from `+table+` t where group_id = $1) c`)
	}
	for i, statement := range statements {
		args := []any{from, to}
		if i == 0 {
			args = nil
		}
		if _, err := tx.ExecContext(s.t.Context(), statement, args...); err != nil {
			s.t.Fatalf("%s: %v", statement, err)
		}
	}
	if err := tx.Commit(); err != nil {
		s.t.Fatal(err)
	}
}

// written is every row of the victim's group, but for what may be written without its
// lease: calls that were made, and vectors of texts.
func (v *victim) written() []string {
	v.t.Helper()
	var out []string
	for _, table := range v.rows(`select c.table_name from information_schema.columns c join pg_tables t on t.tablename = c.table_name and t.schemaname = c.table_schema
			where c.table_schema = 'public' and c.column_name = 'group_id' and c.table_name not in ('llm_calls', 'embedding_cache', 'leases') order by 1`) {
		for _, row := range v.rows(`select t::text from `+table+` t where group_id = $1 order by 1`, v.group) {
			out = append(out, table+": "+row)
		}
	}
	return out
}

// steps are the names of those that a labour reaches, each as often as it does, in order.
func (v *victim) steps() []string {
	v.t.Helper()
	trace := filepath.Join(v.t.TempDir(), "trace")
	startBinary(v.t, toBreak(v.t), append(v.env, "REVERIE_FAULT_TRACE="+trace), v.args...).end().want(v.t, 0)
	raw, err := os.ReadFile(trace)
	if err != nil {
		v.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

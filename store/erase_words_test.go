package store_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/store/pgtest"
)

// An author who is called like a word of our own, like a part of others' names, and who
// said first what all say, takes nothing of that along.
func TestErasureSparesWhatIsNotTheirs(t *testing.T) {
	f := &forgotten{dreamer: newDreamer(t)}
	const office = "the office closes at five every Friday"
	f.bring(group, wrote("x1", "Will", "Will", office, "s1", 1), wrote("x2", "Will", "ID", "Wednesday", "s1", 2), wrote("x3", "Will", "Ann", "好的好的", "s1", 3),
		wrote("x4", "Will", "evidence", "seven eggs", "s1", 4), wrote("x5", "Will", "7", "the doctor said that it is diabetes after all", "s1", 5),
		wrote("x6", "Will", "create", "a b", "s1", 6), wrote("x7", "Will", "done", "a c", "s1", 7),
		wrote("a1", "u2", "Bob", "that will be fine, remember, "+office+" now", "s2", 10),
		wrote("a2", "u3", "Ann Lee", "yes, see you Wednesday, 好的好的, doors are locked", "s2", 11),
		wrote("a3", "u4", "Annie", "Ann said the doctor said that it is diabetes after all; Ann Lee knows", "s2", 12),
		wrote("a4", "u5", "Cat", "> seven eggs\nah", "s2", 13))
	run := f.dreamt(group, "held", 10)
	m := f.knows(group, reverie.KindGroup, "", office, "done")
	for _, id := range []string{"x1", "a1", "a2"} {
		f.by(m, id, "create")
	}
	f.write(`insert into run_chunks (group_id, run_id, chunk_no, status, answer, message_ids, created_at) values ($1, $2, 1, 'applied', $3, '{a1}', now())`,
		group, run, `{"action":"create","message_id":"a1","statement":"ID \u0041nn \"ID\""}`+"\n{half: Ann}")
	f.write(`insert into held_plans (group_id, run_id, chunk_no, kind, plan, heads, status, created_at) values ($1, $2, 1, 'group', $3, '[]', 'waiting', now())`, group, run,
		`[{"action":"create","lineage_id":"`+reverie.NewID()+`","statement":"Ann has an ID","evidence":[{"message_id":"a2","author_id":"u3","author":"Ann Lee","quote":"yes, Ann"}]}]`)
	got := must(f.Erase(t.Context(), f.lease, reverie.EraseQuery{GroupID: group, AuthorID: "Will", KeepNames: []string{"will"}}))(t)
	for what, want := range map[string]string{
		`select author || ': ' || text from messages where group_id = 'g1' order by message_id`: "Bob: that will be fine, remember, " + office + " now; " +
			"Ann Lee: yes, see you Wednesday, 好的好的, doors are locked; Annie: [erased] said [erased]; Ann Lee knows; Cat: > [erased]\nah",
		`select status || ' ' || statement || array_to_string(tags, ',') from memories where group_id = 'g1'`: "held " + office + "done",
		`select author || ' ' || author_id from memory_evidence where group_id = 'g1' order by author`:        "Ann Lee u3; Bob u2",
		`select reason from rejudgements where group_id = 'g1'`:                                               "evidence erased",
		`select (plan->0) - 'lineage_id' from held_plans where group_id = 'g1'`:                               `{"action": "create", "evidence": [{"quote": "yes, [erased]", "author": "Ann Lee", "author_id": "u3", "message_id": "a2"}], "statement": "[erased] has an [erased]"}`,
		`select answer from run_chunks where group_id = 'g1'`:                                                 `{"action":"create","message_id":"a1","statement":"[erased] [erased] \"[erased]\""}` + "\n{half: [erased]}",
	} {
		if got := strings.Join(strings1(t, f.db, what), "; "); got != want {
			t.Errorf("%s\n%q, want\n%q", what, got, want)
		}
	}
	left := map[string]int{}
	for _, l := range got.Left {
		left[l.What] = l.Rows
	}
	if diff := cmp.Diff(map[string]int{"names": 1, "short names": 1, "texts": 5}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// What a bot has said to a person, and of them, goes with them, and does not come in late. An answer goes with a deleted
// message, too.
func TestAnswersGoWithWhatTheyAnswer(t *testing.T) {
	f := &forgotten{dreamer: newDreamer(t)}
	answer := func(id, to, text, session string, minute int) reverie.Message {
		m := wrote(id, "bot", "Rev", text, session, minute)
		m.Role, m.ReplyTo = reverie.RoleAssistant, to
		return m
	}
	f.bring(group, wrote("x1", "u1", "Marek", "my wife is called Bea", "s1", 1), answer("b1", "x1", "Bea is a fine name", "s1", 2),
		wrote("a1", "u2", "Ann", "who is married here?", "s1", 3), answer("b2", "a1", "Marek is married to Bea.", "s1", 4),
		answer("b3", "a1", "That is all that I know.", "s1", 5), wrote("x2", "u1", "Marek", "only between us", "s2", 100),
		answer("b4", "", "I keep it to myself", "s2", 101))
	if got := f.erase(reverie.EraseQuery{}); got.Messages != 5 {
		t.Errorf("%+v", got)
	}
	late := wrote("a2", "u2", "Ann", "oh", "s1", 6)
	late.ReplyTo = "x1"
	got := must(f.ImportMessages(t.Context(), group, []reverie.Message{late, answer("b5", "x1", "Say hello to Bea", "s1", 7)}))(t)
	if !cmp.Equal(got, reverie.ImportResult{New: 1, Erased: 1}) {
		t.Errorf("what came late: %+v", got)
	}
	ids := func() string {
		return strings.Join(strings1(t, f.db, `select message_id from messages where group_id = 'g1' order by 1`), " ")
	}
	if got := ids(); got != "a1 a2 b3" {
		t.Errorf("%s are left", got)
	}
	f.counted(group)
	f.become(reverie.MessageChange{ID: "a1", Deleted: true})
	if got := ids(); got != "a2" {
		t.Errorf("after a deletion %s are left", got)
	}
	f.counted(group)
	if got := must(f.ReimportMessages(t.Context(), group, []reverie.Message{answer("b5", "x1", "Say hello to Bea", "s1", 7)}))(t); got.New != 1 {
		t.Errorf("let in: %+v", got)
	}
}

// A question that was written down late, after its author was forgotten, is not: neither while that is under way.
func TestUsageThatComesAfterAnErasure(t *testing.T) {
	pgtest.OnOneServer(t, "what waits, waits on a worker")
	f := newForgotten(t)
	row := reverie.Usage{GroupID: group, UsageID: reverie.NewID(), MemoryID: f.mentions.ID, LineageID: f.mentions.LineageID,
		Query: "小明 asks", CreatedAt: f.now}
	later := row
	later.UsageID, later.Query, later.CreatedAt = reverie.NewID(), "Ann asks", f.now.Add(time.Hour)
	forgetting := must(f.db.BeginTx(t.Context(), nil))(t)
	defer func() { _ = forgetting.Rollback() }()
	must(forgetting.Exec(`select 1 from groups where group_id = 'g1' for no key update`))(t)
	must(forgetting.Exec(`insert into erasures (group_id, erasure_id, counts, created_at) values ('g1', gen_random_uuid(), '{}', $1)`, f.now))(t)
	logged := make(chan error)
	go func() { logged <- f.LogUsage(t.Context(), []reverie.Usage{row, later}) }()
	for count(t, f.db, `select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`) == 0 {
		runtime.Gosched()
	}
	check(t, forgetting.Commit())
	check(t, <-logged)
	if got := strings.Join(strings1(t, f.db, `select query from memory_usage_log where position = 0 order by created_at desc`), ", "); got != "Ann asks, [erased]" {
		t.Errorf("queries: %s", got)
	}
}

package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	stdmaps "maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/internal/text"
	"reverie/store/erase"
	"reverie/store/pgtest"
)

// forgotten is a world in which u1, who is 小明 and once was Ming, has left traces
// everywhere.
type forgotten struct {
	*dreamer
	alone, mixed, narrative, dreamOfAlone, dreamOfBoth, mentions reverie.Memory
	run                                                          string
}

func wrote(id, author, name, text, session string, minute int) reverie.Message {
	return reverie.Message{ID: id, AuthorID: author, Author: name, Role: reverie.RoleUser, Text: text, SessionID: session, SentAt: minutes(minute)}
}

// by writes evidence of a message by its author.
func (f *forgotten) by(m reverie.Memory, message, action string) {
	f.t.Helper()
	f.write(`insert into memory_evidence (group_id, lineage_id, memory_id, message_id, author_id, author, quote, sent_at, local_date, action, created_at)
		select group_id, $2, $3, message_id, author_id, author, text, sent_at, sent_at::date, $5, now() from messages where group_id = $1 and message_id = $4`,
		m.GroupID, m.LineageID, m.ID, message, action)
}

func newForgotten(t *testing.T) *forgotten {
	f := &forgotten{dreamer: newDreamer(t)}
	ann := func(id, text, session string, minute int) reverie.Message {
		return wrote(id, "u2", "Ann", text, session, minute)
	}
	reply := ann("a2", "> 我对花生过敏，很严重\n@u1 那你小心，小明", "s1", 4)
	reply.ReplyTo = "x1"
	bot := wrote("b1", "bot", "Reverie", "记住了，小明", "s1", 5)
	bot.Role = reverie.RoleAssistant
	f.bring(group, wrote("x1", "u1", "Ming", "我对花生过敏，很严重", "s1", 1), wrote("x2", "u1", "小明", "I moved to Lisbon in May", "s1", 2),
		ann("a1", "we all like tea here", "s1", 3), reply, bot, wrote("x3", "u1", "小明", "only I am here today", "s2", 100), ann("a3", "yes", "s3", 200),
		wrote("x4", "u1", "小明", "yes", "s3", 201))
	f.ensure("g2")
	f.bring("g2", wrote("x1", "u1", "小明", "I moved to Lisbon in May", "s1", 1))

	f.run = f.dreamt(group, "succeeded", 10)
	f.write(`insert into run_chunks (group_id, run_id, chunk_no, status, answer, message_ids, created_at) values ($1, $2, 1, 'applied', $3, '{a1,x1,x2}', now())`,
		group, f.run, `{"statement":"\u5c0f\u660e is allergic"}`)
	f.alone = f.knows(group, reverie.KindGroup, "", "is allergic to peanuts")
	f.by(f.alone, "x1", "create")
	f.mixed = f.knows(group, reverie.KindGroup, "", "lives in Lisbon since May", "city")
	f.write(`update run_chunks set memory_ids = array[$2, $3]::uuid[] where group_id = $1 and chunk_no = 1`, group, f.alone.ID, f.mixed.ID) // shown by evolve
	f.by(f.mixed, "x2", "create")
	f.mixed = f.becomes(f.mixed, "lives in Lisbon, says Ann")
	f.by(f.mixed, "a1", "update")
	f.write(`update messages set run_id = $2, outcome = 'cited' where group_id = $1 and filter = ''`, group, f.run)
	f.narrative = f.knows(group, reverie.KindSession, "s1", "They spoke of nuts", reverie.TagSession, reverie.TagSummary)
	f.dreamOfAlone = f.knows(group, reverie.KindDream, "", "health matters")
	f.rests(f.run, f.dreamOfAlone, f.alone)
	f.mentions = f.knows(group, reverie.KindGroup, "", "Ann is married to 小明")
	f.by(f.mentions, "a1", "create")
	f.dreamOfBoth = f.knows(group, reverie.KindDream, "", "the group travels")
	f.rests(f.run, f.dreamOfBoth, f.mixed, f.mentions)
	f.write(`insert into memory_change_log (group_id, change_id, run_id, action, memory_id, new_statement, version, evidence, created_at)
		values ($1, gen_random_uuid(), $2, 'create', $3, 'lives in Lisbon, says Ann', 2, $4, now()), ($1, gen_random_uuid(), $2, 'create', $5, 'is allergic to peanuts', 1, '[]', now())`,
		group, f.run, f.mixed.ID, `[{"message_id":"x2","author_id":"u1","author":"小明","quote":"I moved"},{"message_id":"a1","author":"Ann","quote":"tea with 小明"}]`, f.alone.ID)
	f.write(`insert into run_chunks (group_id, run_id, chunk_no, status, answer, message_ids, created_at) values ($1, $2, 2, 'applied', 'he is allergic', '{a3}', now())`, group, f.run)
	f.write(`update memory_change_log set chunk_no = 2 where memory_id = $1`, f.alone.ID)
	f.write(`insert into answers values ($1, $2, 'in', 'dream', 'about 小明', now())`, group, f.run)
	f.write(`insert into embedding_cache values ($1, 'test@3', 'h', '[1,2,3]', now())`, group)
	f.write(`insert into memory_usage_log (group_id, usage_id, memory_id, lineage_id, query, position, score, similarity, weight, strength, recency, created_at)
		values ($1, gen_random_uuid(), $2, $3, 'what does 小明 like', 1, 1, 1, 1, 1, 1, now())`, group, f.mentions.ID, f.mentions.LineageID)
	f.write(`insert into session_summaries values ($1, 's1', '小明 is allergic', 2, 0, 9, 'x1', 'x2', now(), now(), $2, now(), now())`, group, f.run)
	f.write(`insert into message_uses (group_id, job, message_id, sent_at, session_id, run_id) select group_id, 'summarize', message_id, sent_at, session_id, $2
		from messages where group_id = $1 and message_id in ('x1', 'x2', 'a1')`, group, f.run)
	f.write(`update sessions set folded_messages = 3, folded_tokens = (select sum(tokens) from messages where group_id = $1 and message_id in ('x1', 'x2', 'a1'))
		where group_id = $1 and session_id = 's1'`, group)
	f.plan()
	f.who()
	f.share()
	return f
}

// plan lets a plan wait, one line of which is of the author's words.
func (f *forgotten) plan() {
	step := func(message, author, statement string) string {
		return fmt.Sprintf(`{"action":"create","lineage_id":"%s","memory_id":"%s","statement":"%s","evidence":[{"message_id":"%s","author_id":"%s","author":"A","quote":"q"}]}`,
			reverie.NewID(), reverie.NewID(), statement, message, author)
	}
	f.write(`insert into held_plans (group_id, run_id, chunk_no, kind, plan, heads, status, created_at) values ($1, $2, 1, 'group', $3, '[]', 'waiting', now())`,
		group, f.run, "["+step("x1", "u1", "hates nuts")+","+step("a1", "u2", "Ann knows 小明")+"]")
}

// who says who they are to each other.
func (f *forgotten) who() {
	people := map[string]string{}
	for _, p := range []struct{ name, account string }{{"小明", "u1"}, {"Ann", "u2"}} {
		id := reverie.NewID()
		people[p.name] = id
		f.write(`insert into entities (group_id, entity_id, kind, subject, created_at, updated_at) values ($1, $2, 'person', $3, now(), now())`, group, id, p.name)
		f.write(`insert into entity_names (group_id, name_id, entity_id, kind, name, name_key, created_at)
			values ($1, gen_random_uuid(), $2, 'id', $3, $3, now()), ($1, gen_random_uuid(), $2, 'subject', $4, $4, now())`, group, id, p.account, p.name)
	}
	f.write(`insert into entity_names (group_id, name_id, entity_id, kind, name, name_key, created_at) values
		($1, gen_random_uuid(), $2, 'alias', 'Mingming', 'mingming', now()), ($1, gen_random_uuid(), $3, 'alias', '小明的同事', '小明的同事', now())`, group, people["小明"], people["Ann"])
	for _, c := range []struct {
		of, aspect, name, value string
		target                  any
		message                 string
	}{{"小明", "impression", "", "careful", nil, "a1"}, {"Ann", "relation", "friend", "小明", people["小明"], "a1"}, {"Ann", "impression", "", "kind", nil, "x2"},
		{"Ann", "feature", "drink", "tea with Mingming", nil, "a1"}} {
		claim, lineage := reverie.NewID(), reverie.NewID()
		f.write(`insert into entity_claims (group_id, claim_id, lineage_id, version, entity_id, aspect, name, name_key, value, target_id, self, content_hash, confidence,
				strength, status, created_at, updated_at, last_supported_at)
			values ($1, $2, $3, 1, $4, $5, $6, $6, $7, $8, false, $7, 0.5, 0.5, 'active', now(), now(), now())`, group, claim, lineage, people[c.of], c.aspect, c.name, c.value, c.target)
		f.write(`insert into entity_evidence (group_id, entity_id, lineage_id, claim_id, message_id, author_id, author, quote, sent_at, local_date, created_at)
			select group_id, $2, $3, $4, message_id, author_id, author, text, sent_at, sent_at::date, now() from messages where group_id = $1 and message_id = $5`,
			group, people[c.of], lineage, claim, c.message)
		f.write(`insert into entity_change_log (group_id, change_id, entity_id, action, claim_id, new_text, created_at) values ($1, gen_random_uuid(), $2, 'claim', $3, $4, now())`,
			group, people[c.of], claim, c.value)
	}
	for _, body := range []string{`{"subject":"Ming","claims":[{"aspect":"impression","value":"shy","evidence":[{"message_id":"a1","author_id":"u2"}]}]}`,
		`{"subject":"the boss","claims":[{"aspect":"impression","value":"strict","evidence":[{"message_id":"x1","author_id":"u1"}]}]}`,
		`{"subject":"the cat","claims":[{"aspect":"impression","value":"sleeps by 小明","evidence":[{"message_id":"a1","author_id":"u2"},{"message_id":"x1","author_id":"u1"}]}]}`} {
		f.write(`insert into entity_observations (group_id, observation_id, subject, body, reason, status, run_id, last_at, expires_at, created_at)
			values ($1, gen_random_uuid(), $2::jsonb->>'subject', $2::jsonb, 'insufficient', 'waiting', $3, now(), now(), now())`, group, body, f.run)
	}
}

// share hands two memories to a team, which has one of another group, too.
func (f *forgotten) share() {
	must(f.AddTeam(f.t.Context(), "crew"))(f.t)
	other := f.knows("g2", reverie.KindGroup, "", "the bus leaves at nine")
	for _, m := range []reverie.Memory{f.alone, f.mentions, other} {
		shared := f.knows("team:crew", reverie.KindTeam, "", m.Statement)
		f.write(`insert into memory_origins (group_id, memory_id, deployment, origin_memory_id, origin_lineage_id, origin_group_id, body, created_at)
			values ('team:crew', $1, 'here', $2, $3, $4, $5, now())`, shared.ID, m.ID, m.LineageID, m.GroupID,
			fmt.Sprintf(`{"deployment":"here","memory_id":"%s","lineage_id":"%s","version":1,"made_at":"2026-01-15T12:00:00Z"}`, m.ID, m.LineageID))
		f.write(`insert into team_requests (group_id, request_key, body_sha256, lineage_id, answer, created_at) values ('team:crew', $1, 'x', $2, $3, now())`,
			shared.ID, shared.LineageID, fmt.Sprintf(`{"id":"%s","statement":"%s"}`, shared.LineageID, m.Statement))
		f.write(`insert into team_conflicts (group_id, conflict_id, remote, lineage_id, local_id, remote_id, theirs, status, created_at)
			values ('team:crew', $1, 'https://hub.example.org', $2, $1, $1, $3, 'open', now())`,
			shared.ID, shared.LineageID, fmt.Sprintf(`{"id":"%s","statement":"They say: %s"}`, shared.LineageID, m.Statement))
	}
}

// everything is all rows of a database as text, by table, those of other groups left out.
func everything(t *testing.T, db *sql.DB, groups ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, table := range strings1(t, db, `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'group_id'
		where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by 1`) {
		if table == "leases" || table == "writes" {
			continue
		}
		var text sql.NullString
		check(t, db.QueryRow(`select string_agg(to_jsonb(x)::text, E'\n' order by to_jsonb(x)::text) from `+table+` x where group_id = any ($1)`, pq.StringArray(groups)).Scan(&text))
		all[table] = text.String
	}
	return all
}

func (f *forgotten) erase(q reverie.EraseQuery) reverie.Erasure {
	f.t.Helper()
	q.GroupID, q.AuthorID = group, "u1"
	return must(f.Erase(f.t.Context(), f.lease, q))(f.t)
}

func (f *forgotten) status(t *testing.T, m reverie.Memory) string {
	t.Helper()
	return strings.Join(strings1(t, f.db, fmt.Sprintf(`select status || ' ' || statement from memories where lineage_id = '%s' and group_id = 'g1' order by version`, m.LineageID)), ", ")
}

// TestErase: what rests on the author alone is gone, what rests on others as well is held
// and judged again, the words of others lose the author, and nothing else changes. It is
// the same as a dry run says, another group keeps what it has, and a second time finds
// nothing.
func TestErase(t *testing.T) {
	f := newForgotten(t)
	other, before := everything(t, f.db, "g2"), everything(t, f.db, group, "team:crew")
	shared := must(f.TeamMemories(t.Context(), "team:crew", "", 9))(t)
	dry := f.erase(reverie.EraseQuery{DryRun: true})
	if diff := cmp.Diff(before, everything(t, f.db, group, "team:crew")); diff != "" {
		t.Errorf("the dry run has changed (-before +after):\n%s", diff)
	}
	if quotes := f.quotes(t.Context(), group, "", "谁对花生过敏？"); quotes != "x1 a2" {
		t.Errorf("before, %q are quoted", quotes)
	}
	got := f.erase(reverie.EraseQuery{})
	if diff := cmp.Diff(dry.ErasureCounts, got.ErasureCounts); diff != "" || dry.ID != "" || got.ID == "" {
		t.Errorf("the receipt is another than that of the dry run (-dry +real):\n%s", diff)
	}
	if got.Messages != 5 || got.Erased != 3 || got.Held != 2 || got.Team != 1 || !slices.Equal(dry.Names, []string{"Ming", "Mingming", "小明"}) {
		t.Errorf("receipt %+v, names %q", got, dry.Names)
	}
	for _, asked := range []string{"谁对花生过敏？", "who moved to Lisbon in May?", "only here today"} {
		if quotes := f.quotes(t.Context(), group, "", asked); strings.Contains(quotes, "x") {
			t.Errorf("%q quotes %s", asked, quotes)
		}
	}
	after := everything(t, f.db, group, "team:crew")
	for table, text := range after {
		for _, trace := range []string{"u1\"", "@u1", "小明", "Ming", "花生", "I moved to Lisbon in May", "only I am here", "allergic", "careful", "strict", "hates nuts", `"x1"`, `"x2"`} {
			if strings.Contains(text, trace) {
				t.Errorf("%s still holds %q:\n%s", table, trace, text)
			}
		}
	}
	if diff := cmp.Diff(other, everything(t, f.db, "g2")); diff != "" {
		t.Errorf("another group has changed (-before +after):\n%s", diff)
	}
	for _, c := range []struct {
		what string
		m    reverie.Memory
		want string
	}{{"alone", f.alone, ""}, {"the dream of it", f.dreamOfAlone, ""}, {"the summary", f.narrative, ""},
		{"mixed", f.mixed, "deprecated [erased], held lives in Lisbon, says Ann"}, {"the dream of both", f.dreamOfBoth, "held the group travels"},
		{"what mentions them", f.mentions, "active Ann is married to [erased]"}} {
		if got := f.status(t, c.m); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	for what, want := range map[string]string{
		`select message_id || ' ' || text || ' ' || reply_to || ' ' || (run_id is null) from messages where group_id = 'g1' order by message_id`: "a1 we all like tea here  true, a2 > [erased]\n@[erased] 那你小心，[erased]  false, a3 yes  false",
		`select reason from rejudgements where group_id = 'g1'`:                                                                                  "evidence erased, evidence erased",
		`select session_id || ' ' || messages || ' ' || new_messages || ' ' || folded_messages from sessions where group_id = 'g1' order by 1`:   "s1 2 2 0, s3 1 1 0",
		`select status || ' ' || jsonb_array_length(plan) from held_plans where group_id = 'g1'`:                                                 "waiting 1",
		`select status || ' ' || array_to_string(message_ids, '+') || answer from run_chunks where group_id = 'g1' order by chunk_no`:            "applied a1, applied a3",
		`select memory_ids[1] || ' ' || cardinality(memory_ids) from run_chunks where group_id = 'g1' and chunk_no = 1`:                          "00000000-0000-0000-0000-000000000000 2", // the places stay
		`select count(*)::text from runs where group_id = 'g1'`:                                                                                  "1",
		`select evidence::text from memory_change_log where group_id = 'g1'`:                                                                     `[{"quote": "tea with [erased]", "author": "Ann", "message_id": "a1"}]`,
		`select value from entity_claims where group_id = 'g1'`:                                                                                  "tea with [erased]",
		`select subject from entity_observations where group_id = 'g1'`:                                                                          "the cat",
		`select status || ' ' || statement from memories where group_id = 'team:crew' order by 1`:                                                "active Ann is married to [erased], active the bus leaves at nine, deprecated [erased], superseded Ann is married to [erased], superseded [erased]",
		`select theirs->>'statement' from team_conflicts order by 1`:                                                                             "They say: Ann is married to [erased], They say: the bus leaves at nine",
		`select answer->>'statement' from team_requests order by 1`:                                                                              "Ann is married to [erased], the bus leaves at nine",
		`select count(*)::text from memories where content_hash = '` + text.ContentHash("Ann is married to [erased]") + `'`:                      "3",
	} {
		if got := strings.Join(strings1(t, f.db, what), ", "); got != want {
			t.Errorf("%s\n%q, want\n%q", what, got, want)
		}
	}
	f.counted(group)
	f.newVersions(t, shared)

	if list := must(f.Accounts(t.Context(), group, "u1"))(t); len(list) != 0 {
		t.Errorf("accounts that are left: %+v", list)
	}
	again := f.erase(reverie.EraseQuery{})
	if !again.Nothing() || again.ID != "" {
		t.Errorf("a second time: %+v", again)
	}
	check(t, f.Sweep(t.Context(), true))
	if n := count(t, f.db, `select count(*) from pg_stats where most_common_vals::text like '%小明%' and schemaname = 'public'`); n > 0 {
		t.Errorf("%d columns have 小明 in their statistics", n)
	}
}

// newVersions: what an erasure has changed of a team's memories are versions of their own,
// which other deployments can take over, and on top of those before nobody can write.
func (f *forgotten) newVersions(t *testing.T, before []reverie.TeamMemory) {
	t.Helper()
	for _, was := range before {
		is := must(f.TeamMemory(t.Context(), "team:crew", was.ID))(t)
		if was.Statement == "the bus leaves at nine" {
			if diff := cmp.Diff(was, is); diff != "" {
				t.Errorf("another group's memory (-before +after):\n%s", diff)
			}
			continue
		}
		if is.VersionID == was.VersionID || !is.ComesAfter(was) {
			t.Errorf("%q became %+v", was.Statement, is)
		}
		if err := safety.CheckTeamMemory(&is, safety.Privacy{}, noon); err != nil {
			t.Errorf("others refuse %+v: %v", is, err)
		}
		_, err := f.PutTeamMemory(t.Context(), reverie.TeamWrite{Team: "crew", IfVersion: was.VersionID, Memory: was})
		if moved := new(reverie.TeamHeadError); !errors.As(err, &moved) || moved.Head.VersionID != is.VersionID {
			t.Errorf("an edit on top of %q: %v", was.Statement, err)
		}
	}
}

// An erased message stays away, until a person lets it in; a memory that went does not
// come back with an export, nor does the evidence of a message that went.
func TestErasedStaysAway(t *testing.T) {
	f := newForgotten(t)
	shelf := exported(t, f.Store, reverie.ExportQuery{GroupID: group})
	f.erase(reverie.EraseQuery{})
	again := []reverie.Message{wrote("x1", "u1", "Ming", "我对花生过敏，很严重", "", 1), wrote("a1", "u2", "Ann", "we all like tea here", "", 3), wrote("n1", "u2", "Ann", "new", "", 900)}
	if got := must(f.ImportMessages(t.Context(), group, again))(t); !cmp.Equal(got, reverie.ImportResult{New: 1, Known: 1, Erased: 1}) {
		t.Errorf("import: %+v", got)
	}
	f.ensure("g3")
	if got := must(f.ImportMessages(t.Context(), "g3", again[:1]))(t); got.New != 1 {
		t.Errorf("into another group: %+v", got)
	}
	var back []reverie.Record
	for _, r := range shelf.of(group) {
		if r.Type == reverie.RecordEvidence || r.Type == reverie.RecordSource || r.Type == reverie.RecordMemory && strings.Contains(string(r.Row), f.alone.LineageID) {
			back = append(back, r)
		}
	}
	slices.SortStableFunc(back, func(a, b reverie.Record) int {
		return slices.Index(reverie.RecordTypes, a.Type) - slices.Index(reverie.RecordTypes, b.Type)
	})
	before := everything(t, f.db, group)
	res := must(f.WriteRecords(t.Context(), group, back))(t)
	want := map[reverie.RecordType]reverie.RecordCount{reverie.RecordMemory: {Erased: 1}, reverie.RecordEvidence: {Known: 2, Erased: 2}, reverie.RecordSource: {Known: 2, Erased: 1}}
	if diff := cmp.Diff(want, res.Counts); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, everything(t, f.db, group)); diff != "" {
		t.Errorf("an export has brought back (-before +after):\n%s", diff)
	}
	if got := must(f.ReimportMessages(t.Context(), group, again[:1]))(t); got.New != 1 {
		t.Errorf("let in: %+v", got)
	}
	f.counted(group)
}

// Names that others go by too, or that are to be kept, stay, and so does what all say.
func TestEraseKeepsWhatIsOthers(t *testing.T) {
	f := newForgotten(t)
	f.bring(group, wrote("z1", "u9", "小明", "I am another 小明", "s9", 300), wrote("z2", "u2", "Ann", "Ming dynasty, Mingming", "s9", 301))
	got := f.erase(reverie.EraseQuery{KeepNames: []string{"ming"}})
	texts := strings.Join(strings1(t, f.db, `select text from messages where group_id = 'g1' and session_id in ('s3', 's9') order by message_id`), ", ")
	if texts != "yes, I am another 小明, Ming dynasty, [erased]" {
		t.Errorf("texts: %s", texts)
	}
	left := map[string]int{}
	for _, l := range got.Left {
		left[l.What] = l.Rows
	}
	if diff := cmp.Diff(map[string]int{"names": 2, "texts": 1, "team memories elsewhere": 1}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// The final check finds what could not be taken out, in a column that did not exist when
// this was written too, says where and not what, and nothing is changed.
func TestEraseChecks(t *testing.T) {
	pgtest.OnOneServer(t, "its tables have no triggers")
	f := newForgotten(t)
	f.write(`alter table runs add column remark text not null default ''`)
	f.write(`update runs set remark = '小明 was here' where group_id = $1`, group)
	if got := f.erase(reverie.EraseQuery{DryRun: true}); got.Changed["runs"] != 1 {
		t.Errorf("a new column: %+v", got)
	}
	f.write(`create function keep() returns trigger language plpgsql as $$ begin new.remark = old.remark; return new; end $$`)
	f.write(`create trigger keep before update on runs for each row execute function keep()`)
	before := everything(t, f.db, group)
	_, err := f.Erase(t.Context(), f.lease, reverie.EraseQuery{GroupID: group, AuthorID: "u1"})
	wantErr(t, err, reverie.ErrConflict)
	if text := err.Error(); !strings.Contains(text, "runs.remark: a name (1)") || strings.Contains(text, "小明") || strings.Contains(text, "u1") {
		t.Errorf("the error is %q", text)
	}
	if diff := cmp.Diff(before, everything(t, f.db, group)); diff != "" {
		t.Errorf("it has changed (-before +after):\n%s", diff)
	}
	stale := f.lease
	stale.Fence--
	_, err = f.Erase(t.Context(), stale, reverie.EraseQuery{GroupID: group, AuthorID: "u1"})
	wantErr(t, err, reverie.ErrLeaseLost)
	_, err = f.Erase(t.Context(), f.lease, reverie.EraseQuery{GroupID: "g2", AuthorID: "u1"})
	wantErr(t, err, reverie.ErrInvalid)
}

// Accounts finds an author by id, else by a name, and says who else goes by it.
func TestAccounts(t *testing.T) {
	w := newWorld(t)
	w.bring(group, wrote("1", "u1", "Lin", "a", "", 1), wrote("2", "u1", "L", "b", "", 2), wrote("3", "u2", "Lin", "c", "", 3), wrote("4", "Lin", "Nil", "d", "", 4))
	w.ensure("g2")
	w.bring("g2", wrote("1", "u1", "Lin", "a", "", 1))
	for _, c := range []struct{ group, author, want string }{
		{group, "u1", "g1/u1 L,Lin 2"}, {"", "u1", "g1/u1 L,Lin 2; g2/u1 Lin 1"}, {group, "Nil", "g1/Lin Nil 1"}, {group, "Lin", "g1/Lin Nil 1"},
		{"g2", "Lin", "g2/u1 Lin 1"}, {group, "nobody", ""},
	} {
		var got []string
		for _, a := range must(w.Accounts(t.Context(), c.group, c.author))(t) {
			got = append(got, fmt.Sprintf("%s/%s %s %d", a.GroupID, a.AuthorID, strings.Join(a.Names, ","), a.Messages))
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s in %q: %s, want %s", c.author, c.group, text, c.want)
		}
	}
	_, err := w.Accounts(t.Context(), "none", "u1")
	wantErr(t, err, reverie.ErrNotFound)
}

// Every column that can hold text is known to the erasure, and nothing else is.
func TestErasureKnowsEveryColumn(t *testing.T) {
	pgtest.New(t)
	want := strings1(t, raw(t), `select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
		join pg_attribute g on g.attrelid = c.oid and g.attname = 'group_id'
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and (a.attname <> 'group_id' or c.relname = 'groups')
			and a.atttypid in ('text'::regtype, 'text[]'::regtype, 'json'::regtype, 'jsonb'::regtype, 'varchar'::regtype, 'varchar[]'::regtype, 'jsonb[]'::regtype)
		order by (c.relname || '.' || a.attname) collate "C"`)
	if diff := cmp.Diff(want, slices.Sorted(stdmaps.Keys(erase.Columns))); diff != "" {
		t.Errorf("say in erasedColumns what becomes of a new column (-schema +known):\n%s", diff)
	}
}

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"reverie/internal/reverie"
)

// corruptions are ways in which group $1 is broken, and the invariant that must notice.
var corruptions = []struct{ invariant, query string }{
	{"messages consumed once", `update run_chunks set message_ids = message_ids[2:] where group_id = $1 and status = 'applied' and cardinality(message_ids) > 0`},
	{"messages consumed once", `update run_chunks set message_ids = message_ids || message_ids where group_id = $1 and status = 'applied'`},
	{"chunks consume what they name", `update messages set run_id = null, outcome = null where group_id = $1 and outcome = 'cited'`},
	{"messages used once a job", `update message_uses u set run_id = (select run_id from runs where group_id = $1 and job = 'evolve' limit 1)
		where group_id = $1 and job = 'extract' and run_id is not null`},
	{"messages used once a job", `update run_chunks c set message_ids = '{}' from runs r where c.group_id = $1 and r.group_id = $1 and r.run_id = c.run_id and r.job = 'impression'`},
	{"chunks use what they name", `update message_uses set run_id = null where group_id = $1 and job = 'impression'`},
	{"chunks use what they name", `delete from message_uses where group_id = $1 and job = 'impression'`},
	{"chunks use what they name", `delete from message_uses where group_id = $1 and job = 'extract'`},
	{"messages are of their run's time", `update messages set sent_at = sent_at + interval '100 years' where group_id = $1 and run_id is not null`},
	{"counts of messages add up", `update runs set stats = stats || '{"considered": 99}' where group_id = $1 and job = 'evolve'`},
	{"what is cited is on record", `update messages set outcome = 'cited' where group_id = $1 and outcome = 'considered'`},
	{"what is cited is on record", `update messages set outcome = 'considered' where group_id = $1 and outcome = 'cited'`},
	{"one active head", `update memories set status = 'active', ended_at = null where group_id = $1 and version = 1 and statement = 'Lin drinks green tea'`},
	{"nothing said twice", `update memories set content_hash = 'one' where group_id = $1 and kind = 'group' and status = 'active'`},
	{"a hash is that of its words", `update memories set statement = 'Lin keeps bees' where group_id = $1 and statement = 'The printer is broken'`},
	{"unbroken versions", `update memories set kind = 'dream' where group_id = $1 and version > 1`},
	{"unbroken versions", `update memories set version = version + 5 where group_id = $1 and version > 1`},
	{"unbroken versions", `update memories m set parent_id = (select memory_id from memories where group_id = $1 and statement = 'The printer is broken' limit 1)
		where group_id = $1 and version > 1`},
	{"times in order", `update memories set updated_at = created_at - interval '1 day' where group_id = $1 and version > 1`},
	{"times in order", `update memories set ended_at = updated_at - interval '1 second' where group_id = $1 and status = 'deprecated'`},
	{"values in order", `update memory_values set valid_until = 'epoch' where group_id = $1`},
	{"said in order", `update memories set said_at = updated_at + interval '1 day' where group_id = $1 and status = 'active'`},
	{"held memories wait", `update memories set status = 'held', ended_at = now(), said_until = now() where group_id = $1 and statement = 'The printer is broken'`},
	{"active memories have support", `delete from memory_evidence where group_id = $1`},
	{"evidence belongs to its version", `update memory_evidence set lineage_id = gen_random_uuid() where group_id = $1`},
	{"quotes are found", `update memory_evidence set quote = 'what nobody has said' where group_id = $1`},
	{"evidence is of its message", `update memory_evidence set author_id = 'nobody' where group_id = $1`},
	{"evidence is of its message", `update memory_evidence set local_date = local_date + 3 where group_id = $1`},
	{"evidence is of its message", `update memory_evidence set local_date = 'infinity' where group_id = $1`},
	{"evidence is of its message", `update memory_evidence set message_id = 'none' where group_id = $1`},
	{"evidence is of its message", `insert into memory_evidence (group_id, lineage_id, memory_id, message_id, author_id, author, quote, sent_at, local_date, action, run_id, created_at)
		select group_id, lineage_id, memory_id, message_id, author_id, author, quote, sent_at, local_date, action, run_id, created_at from memory_evidence where group_id = $1`},
	{"evidence is withdrawn with its run", `update memory_evidence set withdrawn_at = now() where group_id = $1`},
	{"evidence of undone runs is withdrawn", `update memory_evidence set withdrawn_at = null where group_id = $1`},
	{"sources belong to their lineage", `update memory_sources set source_lineage_id = gen_random_uuid() where group_id = $1`},
	{"each version is in the log", `delete from memory_change_log where group_id = $1 and action = 'create'`},
	{"each version is in the log", `update memory_change_log set new_statement = 'other words' where group_id = $1 and action = 'update'`},
	{"the log tells the truth", `update memory_change_log set old_statement = 'other words' where group_id = $1 and action = 'update'`},
	{"the log tells the truth", `update memory_change_log set new_statement = 'other words' where group_id = $1 and action = 'strength'`},
	{"the log tells the truth", `update memory_change_log set created_at = created_at - interval '1 day' where group_id = $1`},
	{"the log replays", `update memories set status = 'archived', ended_at = now() where group_id = $1 and status = 'deprecated'`},
	{"the log replays", `update memories set status = 'deprecated', ended_at = now() where group_id = $1 and statement = 'The printer is broken'`},
	{"the log replays", `delete from memory_change_log where group_id = $1 and action = 'delete'`},
	{"counts of changes add up", `update runs set stats = stats || '{"created": 99}' where group_id = $1 and job = 'extract'`},
	{"an undo names its run", `update memory_change_log set undone_run_id = null where group_id = $1`},
	{"an undo names its run", `update runs set undone_at = null where group_id = $1`},
	{"runs end after they began", `update runs set finished_at = started_at - interval '1 second' where group_id = $1 and job = 'dream'`},
	{"one run at a time", `update runs set status = 'running', finished_at = null where group_id = $1 and job = 'evolve'`},
	{"chunks follow their run", `update run_chunks set status = 'open' where group_id = $1 and status = 'applied'`},
	{"chunks follow their run", `update run_chunks set chunk_no = chunk_no + 100 where group_id = $1 and status = 'applied'`},
	{"refusals are counted", `update runs set stats = stats || '{"refused": 99}' where group_id = $1 and job = 'evolve'`},
	{"what is held waits", `update held_plans set status = 'approved' where group_id = $1`},
	{"what is held waits", `update held_plans set heads = jsonb_build_array(jsonb_build_object('memory_id', gen_random_uuid())) where group_id = $1`},
	{"the ledger is complete", `delete from llm_calls where group_id = $1 and purpose <> 'embed'`},
	{"the ledger is complete", `delete from llm_calls l where group_id = $1 and call_id > (select min(call_id::text)::uuid from llm_calls m where m.group_id = $1 and m.run_id = l.run_id)`},
	{"spend is counted", `update llm_calls set input_tokens = 0, output_tokens = 0 where group_id = $1`},
	{"spend is counted", `update llm_calls set cost_usd = -1 where group_id = $1`},
	{"leases are held or free", `update leases set expires_at = now() + interval '30 minutes' where group_id = $1`},
	{"counts of sessions add up", `update sessions set turns = turns + 1 where group_id = $1`},
	{"counts of sessions add up", `update message_uses set run_id = null where group_id = $1 and job = 'extract'`},
	{"extraction waits with its session", `update message_uses set session_id = 's1' where group_id = $1 and job = 'extract' and run_id is null`},
	{"memories dreamt of once", `update memory_uses set run_id = (select run_id from runs where group_id = $1 and job = 'evolve' limit 1) where group_id = $1`},
	{"memories dreamt of once", `update run_chunks set memory_ids = '{}' where group_id = $1`},
	{"dreams take in what they name", `delete from memory_uses where group_id = $1`},
	{"no session beyond its end", `update sessions set dreamt_until = last_at + interval '1 second' where group_id = $1`},
	{"one claim at a time", `update entity_claims set status = 'active', ended_at = null where group_id = $1`},
	{"unbroken claims", `update entity_claims set version = version + 5 where group_id = $1 and version > 1`},
	{"unbroken claims", `update entity_claims set ended_at = 'epoch' where group_id = $1 and status = 'deprecated'`},
	{"entities are in their log", `delete from entity_change_log where group_id = $1`},
	{"an account is one entity's", `update entity_names set name_key = 'one' where group_id = $1 and kind = 'id'`},
	{"merged entities lead somewhere", `update entities set status = 'withdrawn' where group_id = $1`},
	{"links have two ends", `insert into entity_links select group_id, entity_id, 'nowhere', gen_random_uuid(), true, '', now() from entities where group_id = $1`},
	{"links have two ends", `update memory_scopes set lineage_id = gen_random_uuid() where group_id = $1`},
	{"proof belongs to its claim", `update entity_evidence set lineage_id = gen_random_uuid() where group_id = $1`},
	{"active claims have evidence", `delete from entity_evidence where group_id = $1`},
	{"what is kept as JSON can be read", `update runs set stats = stats || '{"kept": 1, "created": "many"}' where group_id = $1`},
	{"what is kept as JSON can be read", `update held_plans set plan = jsonb_set(plan, '{0,evidence}', '{}') where group_id = $1`},
	{"quotes of claims are found", `update entity_evidence set quote = 'what nobody has said' where group_id = $1`},
}

// private are messages with personal data and secrets, which no model is shown.
var private = []string{"note Ann reads her mail at ann.lee@example.org", "note Bo can be called at +86 138 0013 8000",
	"note The cellar is locked | the password is Tr0ub4dor-7x, ask 13800138000 or bo@example.org"}

// history is a group of which much has become: two nights, one of them with a plan that
// waits, one that was taken back, extraction, a dream, people, and what persons did.
func (s *stage) history(group string) {
	s.t.Helper()
	s.set("REVERIE_EVOLVE_MAX_MESSAGES=5", "REVERIE_EMBED_PROVIDER=offline", impressionsOn)
	s.model.Respond(scribe(s.t))
	do := func(args ...string) { s.run(append(args, "--group", group)...).want(s.t, 0) }
	first, second := nights()
	first[9].Text, first[8].Text, second[4].Text = "self city Rome", "self city Oslo", "self city Paris"
	for _, night := range [][]chatLine{chat("2025-03-02", private...), first, second, chat("2025-03-05", "note Chess is on Sundays", "again The printer is broken")} {
		s.bring(group, night...)
		do("evolve")
	}
	s.run("runs", "undo", s.one(`select run_id from runs where group_id = $1 and job = 'evolve' order by started_at desc limit 1`, group)).want(s.t, 0)
	s.bring(group, spoken("s1", evening, "note Lin has a dog", "change Lin has a dog => Lin has two dogs")...)
	do("extract", "--session", "s1")
	do("dream")
	s.bring(group, spoken("s2", evening, "hello")...)
	id := func(statement string) string {
		return s.one(`select memory_id from memories where group_id = $1 and statement = $2 order by version desc limit 1`, group, statement)
	}
	s.run("memory", "strength", id("The cat is called Momo"), "0.9").want(s.t, 0)
	s.run("memory", "scope", id("The cat is called Momo"), "person").want(s.t, 0)
	s.run("memory", "delete", id("Rent is paid on the first")).want(s.t, 0)
	s.run("memory", "restore", id("Rent is paid on the first")).want(s.t, 0)
}

// copies makes a copy of a group for each of these queries, which breaks it past every constraint.
func (s *stage) copies(group string, queries []string) (names []string) {
	s.t.Helper()
	ctx := s.t.Context()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	exec := func(query string, args ...any) {
		if res, err := conn.ExecContext(ctx, query, args...); err != nil {
			s.t.Errorf("%s: %v", query, err)
		} else if n, err := res.RowsAffected(); err != nil || len(args) > 0 && n == 0 {
			s.t.Errorf("%s breaks nothing: %v", query, err)
		}
	}
	exec(`set session_replication_role = replica`)
	exec(`drop index memories_one_head, memories_one_text, entity_claims_one_head, entity_claims_one_text, entity_names_account`)
	for _, table := range s.rows(`select c.table_name from information_schema.columns c join pg_tables t on t.tablename = c.table_name and t.schemaname = 'public'
			where c.column_name = 'group_id' and c.table_schema = 'public' and c.table_name not in ('deployments', 'api_tokens', 'page_sessions') order by 1`) {
		exec(fmt.Sprintf(`insert into %[1]s (%[4]s) overriding system value select %[4]s from (select (jsonb_populate_record(t,
			jsonb_build_object('group_id', format('broken-%%s', i + 10)))).*
			from %[1]s t cross join generate_series(0, %[3]d) i where group_id = '%[2]s') c`, table, group, len(queries)-1, s.plainColumns(table)))
	}
	exec(`analyze`)
	for i, query := range queries {
		names = append(names, fmt.Sprintf("broken-%d", i+10))
		exec(query, names[i])
	}
	return names
}

// TestAudit breaks a history in every way that an audit is to notice, each in a copy of
// its own; in the history itself there is nothing to notice.
func TestAudit(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.history("sound")
	s.run("audit").want(t, 0).silent(t).shows(t, "messages consumed once", "ok  one active head")
	var queries []string
	for _, c := range corruptions {
		queries = append(queries, c.query)
	}
	broken := s.copies("sound", queries)
	o := s.run("audit", "--json").want(t, 1, "violations of", "reverie runs show")
	var doc struct {
		Success    bool
		Error      string
		Invariants []reverie.Invariant
	}
	if err := json.Unmarshal([]byte(o.stdout), &doc); err != nil || doc.Success {
		t.Fatalf("success %v, %v", doc.Success, err)
	}
	found := map[string][]string{}
	for _, i := range doc.Invariants {
		if i.Checked == 0 && i.Name != "held memories wait" {
			t.Errorf("%s: there was nothing to check", i.Name)
		}
		if !slices.ContainsFunc(corruptions, func(c struct{ invariant, query string }) bool { return c.invariant == i.Name }) {
			t.Errorf("nothing breaks %q", i.Name)
		}
		told := map[string]int{}
		for _, v := range i.Violations {
			found[v.GroupID] = append(found[v.GroupID], i.Name)
			told[v.GroupID]++
		}
		for group, n := range told {
			if n > reverie.MaxGroupViolations {
				t.Errorf("%s: %d violations are told of %s", i.Name, n, group)
			}
		}
		if len(i.Violations) > min(i.Violated, reverie.MaxViolations) || i.Violated > 0 && len(i.Violations) == 0 {
			t.Errorf("%s: %d violations are told of %d", i.Name, len(i.Violations), i.Violated)
		}
	}
	for i, group := range broken {
		if !slices.Contains(found[group], corruptions[i].invariant) {
			t.Errorf("%s is not noticed, but %q:\n%s", corruptions[i].invariant, found[group], corruptions[i].query)
		}
	}
	if len(found["sound"]) > 0 {
		t.Errorf("in what is sound was found %q", found["sound"])
	}
	s.run("audit", "--group", "sound").want(t, 0)
	s.run("audit", "--group", "broken-10").want(t, 1).shows(t, "messages consumed once: a message that was consumed", "  broken-10: message ")
	s.run("audit", "--group", "").want(t, 2, "--group is empty")
	s.run("audit", "--group", "nobody").want(t, 1, "reverie groups list")

	// What came with an export has lost what was erased, and nothing here says so.
	file := filepath.Join(t.TempDir(), "sound.jsonl")
	s.run("erase", "--author", "lin", "--group", "sound", "--yes").want(t, 0)
	s.run("audit", "--group", "sound").want(t, 0)
	s.run("memory", "export", "--group", "sound", "-o", file).want(t, 0)
	t.Run("elsewhere", func(t *testing.T) {
		s := newStage(t)
		s.run("memory", "import", file).want(t, 0)
		s.run("audit").want(t, 0)
	})
}

// TestAuditOfPrivateData: what was stored is held against what a model was shown, under whichever policy that was;
// a quote of masks that the message has none of is missing all the same.
func TestAuditOfPrivateData(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	masks := map[string]string{"allow": "bo@example.org", "mask": "[pii:email]", "refuse": "[secret:email]"}
	for policy, mask := range masks {
		s.set("REVERIE_EMBED_PROVIDER=offline", impressionsOn, "REVERIE_PRIVACY_PII="+policy)
		s.bring(policy, append(chat("2025-03-03", private...), chat("2025-03-04", "self mail lin@example.org", "self city Rome")...)...)
		s.run("evolve", "--group", policy).want(t, 0)
		if n := s.one(`select count(*) from memory_evidence where group_id = $1 and quote like '%'||$2||'%' and quote like '%[secret:%'`, policy, mask); n != "1" {
			t.Errorf("%s: %s quotes with %s and a masked password", policy, n, mask)
		}
	}
	for policy := range masks { // also those of another policy than today's
		s.set("REVERIE_PRIVACY_PII=" + policy)
		s.run("audit").want(t, 0).silent(t)
	}
	for _, quote := range []string{"[pii:email]", "the password is [secret:aws-key]", "Bo can be called at [pii:email]", "Bo can be called at +86 138 0013 8001"} {
		s.exec(`update memory_evidence set quote = $1 where group_id = 'mask' and quote like '%called%'`, quote)
		s.run("audit", "--group", "mask").want(t, 1).shows(t, "quotes are found: ")
		s.exec(`update memory_evidence set quote = 'Bo can be called at [pii:phone]' where group_id = 'mask' and quote = $1`, quote)
	}
	s.run("audit").want(t, 0)
}

// shapes are what a column of JSON may hold in a database that is broken: null, what it
// should never hold, and what is no number and no id where one is to be.
var shapes = []string{`null`, `'null'`, `'{}'`, `'[]'`, `'1'`, `'"x"'`, `'[1]'`, `'[null]'`, `'["x"]'`, `'[[]]'`, `'[{}]'`,
	`'{"cited": "x", "created": null, "refused": [1], "plan": {}}'`, `'{"considered": 1e300, "created": -1.5, "refused": 1e300, "archived": 1e300}'`,
	`'[{"memory_id": "x", "message_id": "x", "evidence": "x"}]'`, `'[{"memory_id": 1, "version": "x", "evidence": [1, null, "x"]}]'`,
	`'[{"memory_id": "0195d7c8-0000-7000-8000-00000000000g", "evidence": null}]'`}

// readable are those of the shapes that may be read, in the columns that an audit reads.
var readable = map[string][]string{
	"runs.stats":          {`'{}'`, `'{"considered": 1e300, "created": -1.5, "refused": 1e300, "archived": 1e300}'`},
	"run_chunks.refusals": {`'[]'`, `'[{}]'`, shapes[13], shapes[14], shapes[15]},
	"held_plans.plan":     {`'[]'`, `'[{}]'`},
	"held_plans.heads":    {`'[]'`, `'[{}]'`, shapes[13], shapes[14], shapes[15]},
}

// TestAuditOfAnyJSON puts each shape in place of each column of JSON, each in a copy of a
// history: an audit reads them all, and tells which it cannot.
func TestAuditOfAnyJSON(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.history("sound")
	var queries []string
	var told []bool // of each, whether it is a violation
	read := 0
	for _, column := range s.rows(`select format('%s.%s', c.table_name, c.column_name) from information_schema.columns c
			join information_schema.columns g on g.table_schema = c.table_schema and g.table_name = c.table_name and g.column_name = 'group_id'
			where c.table_schema = 'public' and c.data_type = 'jsonb' order by 1`) {
		table, name, _ := strings.Cut(column, ".")
		if s.one(`select count(*) from `+table+` where group_id = 'sound'`) == "0" {
			continue
		}
		s.exec(`alter table ` + table + ` alter column ` + name + ` drop not null`)
		fine, known := readable[column]
		if known {
			read++
		}
		for _, shape := range shapes {
			queries = append(queries, `update `+table+` set `+name+` = `+shape+` where group_id = $1`)
			told = append(told, known && !slices.Contains(fine, shape))
		}
	}
	if read != len(readable) {
		t.Fatalf("of %d columns the history has %d", len(readable), read)
	}
	broken := s.copies("sound", queries)
	s.run("audit").want(t, 1, "violations of").shows(t, " cannot be read: ")
	for i, group := range broken {
		if !told[i] && !strings.HasPrefix(queries[i], "update runs ") { // of those it is enough that they were read with the others
			continue
		}
		var doc struct {
			Success    bool
			Error      string
			Invariants []reverie.Invariant
		}
		if err := json.Unmarshal([]byte(s.run("audit", "--json", "--group", group).stdout), &doc); err != nil || doc.Error != "" {
			t.Fatalf("%s: %v, %s", queries[i], err, doc.Error)
		}
		if last := doc.Invariants[len(doc.Invariants)-1]; (last.Violated > 0) != told[i] || told[i] && !strings.Contains(last.Violations[0].What, " cannot be read: ") {
			t.Errorf("%s: %v", queries[i], last.Violations)
		}
	}
}

// TestAuditThatCannotLook has no group, no database, and no right to read: standard output
// is one document that says so, and what it says to grant is enough.
func TestAuditThatCannotLook(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	fails := func(code int, words string, args ...string) string {
		t.Helper()
		o := s.run(append([]string{"audit", "--json"}, args...)...).want(t, code, words)
		doc := o.document(t)
		if says, _ := doc["error"].(string); doc["success"] != false || len(doc["invariants"].(list)) > 0 || !strings.Contains(says, words) {
			t.Errorf("the reply is %v", doc)
		}
		return o.stderr
	}
	fails(1, "reverie groups list", "--group", "nobody")

	role := "auditor_" + strings.ReplaceAll(reverie.NewID(), "-", "")
	s.exec(`create role ` + role)
	t.Cleanup(func() {
		if _, err := s.db.Exec(`drop owned by ` + role + `; drop role ` + role); err != nil {
			t.Error(err)
		}
	})
	s.set("REVERIE_DATABASE_URL=" + s.url + map[bool]string{true: "&", false: "?"}[strings.Contains(s.url, "?")] + "options=-crole%3D" + role)
	advice := regexp.MustCompile("`(grant [^`]*)`")
	s.exec(`revoke usage on schema public from public`)
	hidden := "the role " + role + " may not use the schema public"
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "status"}, {"memory", "list", "--group", "g1"}} {
		s.run(args...).want(t, 2, hidden)
	}
	s.exec(advice.FindStringSubmatch(fails(2, hidden))[1])
	for range 100 { // each names the next table
		if s.run("audit").code == 0 {
			break
		}
		s.exec(advice.FindStringSubmatch(fails(2, "permission denied for table "))[1])
	}
	s.exec(`revoke select on held_plans from ` + role)
	s.exec(advice.FindStringSubmatch(fails(2, "permission denied for table held_plans", "--group", "g1"))[1])
	s.run("audit").want(t, 0).silent(t)

	s.set("REVERIE_DATABASE_URL=postgres://nobody@127.0.0.1:1/none")
	fails(1, "is it running?")
}

// TestAuditAfterEdits: that people edit messages which were quoted, to keep a memory, to end one and of a person, is no
// violation, before they are read again and after that.
func TestAuditAfterEdits(t *testing.T) {
	t.Parallel()
	s := dueStage(t)
	s.set("REVERIE_EVOLVE_HOLD_MIN=1000", impressionsOn)
	s.bring("g1", chat(night(3), "note Lin drinks tea", "note Mia plays chess", "self city Porto")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.bring("g1", chat(night(4), "drop Mia plays chess", "hello")...)
	s.run("evolve", "--group", "g1").want(t, 0)
	if got := s.rows(`select 'memory ' || action from memory_evidence union all select 'person' from entity_evidence order by 1`); !slices.Equal(got,
		[]string{"memory create", "memory create", "memory delete", "person"}) {
		t.Fatalf("evidence is %q", got)
	}
	p, base := s.serve(nil, "serve")
	for _, id := range []string{night(3) + "-1", night(3) + "-3", night(4) + "-1"} {
		if _, err := ask[reverie.MessageChanged](t.Context(), http.MethodPatch, base+"/v1/groups/g1/messages/"+id,
			strings.NewReader(`{"text":"never mind"}`)); err != nil {
			t.Fatal(err)
		}
	}
	p.stop().want(t, 0)
	s.run("audit").want(t, 0)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.run("audit").want(t, 0)
}

package e2e

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// member puts an entity with an account into the database behind the binary's
// back, and says what id it has.
func (s *stage) member(group string, n int, kind, subject, account string, names ...string) string {
	s.t.Helper()
	id := fmt.Sprintf("0194f2c0-0000-7000-8000-%012d", n)
	const at = "2025-03-03T12:00:00Z"
	s.exec(`insert into entities (group_id, entity_id, kind, subject, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)`, group, id, kind, subject, at)
	named := 0
	name := func(kind, name string) {
		named++ // ids order those of one instant
		key := strings.ToLower(name)
		if kind == "id" {
			key = name
		}
		s.exec(`insert into entity_names (group_id, name_id, entity_id, kind, name, name_key, created_at) values ($1, $7, $2, $3, $4, $5, $6)`,
			group, id, kind, name, key, at, fmt.Sprintf("0194f2c0-0000-7000-8001-%06d%06d", n, named))
	}
	name("subject", subject)
	if account != "" {
		name("id", account)
	}
	for _, n := range names {
		name("alias", n)
	}
	return id
}

// says puts a feature of an entity into the database, with a quote of a message.
func (s *stage) says(group, entityID, key, value, message string, self bool) {
	s.t.Helper()
	s.exec(`with message as (select * from messages where group_id = $1 and message_id = $5), claim as (
			insert into entity_claims (group_id, claim_id, lineage_id, version, entity_id, aspect, name, name_key, value, self, content_hash, confidence,
				strength, status, created_at, updated_at, last_supported_at)
			select $1, gen_random_uuid(), gen_random_uuid(), 1, $2, 'feature', $3, $3, $4, $6, $4, 0.9, 0.3, 'active', sent_at, sent_at, sent_at
			from message returning *)
		insert into entity_evidence (group_id, entity_id, lineage_id, claim_id, message_id, author_id, author, quote, sent_at, local_date, created_at)
		select $1, c.entity_id, c.lineage_id, c.claim_id, m.message_id, m.author_id, m.author, m.text, m.sent_at, date '2025-03-03', now()
		from claim c, message m`, group, entityID, key, value, message, self)
}

// casting is a group of a few people, two of one name, and a second group.
func casting(t *testing.T) (s *stage, lin, mei, alex1, alex2 string) {
	t.Helper()
	s = newStage(t)
	s.bring("g1", chat("2025-03-03", "I live in Lisbon", "Lin moved to Porto")...)
	s.bring("g2", chat("2025-03-03", "hi")...)
	lin = s.member("g1", 1, "person", "Lin", "lin", "Linnea")
	mei = s.member("g1", 2, "person", "Mei", "mei")
	alex1 = s.member("g1", 3, "person", "Alex", "alex-1")
	alex2 = s.member("g1", 4, "person", "Alex", "alex-2")
	s.member("g1", 5, "bot", "Helper", "helper")
	s.member("g1", 6, "thing", "Lighthouse", "")
	s.member("g2", 7, "person", "Stranger", "lin")
	s.says("g1", lin, "city", "Lisbon", "2025-03-03-1", true)
	s.says("g1", lin, "city", "Porto", "2025-03-03-2", false)
	return s, lin, mei, alex1, alex2
}

func TestEntityCommands(t *testing.T) {
	t.Parallel()
	s, lin, mei, _, _ := casting(t)
	tr := &transcript{t: t, s: s, ids: map[string]string{}}
	tr.show("entity", "list", "--group", "g1")
	tr.show("entity", "list", "--group", "g1", "--kind", "person", "--limit", "2", "--offset", "1")
	tr.show("entity", "list", "--group", "g1", "--name", "LINN")
	tr.show("entity", "list", "--group", "g1", "--name", "nobody")
	tr.show("entity", "show", "--group", "g1", "linnea")
	tr.show("entity", "show", "--group", "g1", "alex")
	tr.show("entity", "show", "--group", "g1", "alex-1")
	tr.show("entity", "merge", "--group", "g1", "Lin", "Mei", "--reason", "her second account")
	tr.show("entity", "list", "--group", "g1", "--merged", "--kind", "person")
	tr.show("entity", "show", mei)
	tr.show("entity", "history", lin)
	tr.show("entity", "unmerge", mei)
	tr.show("entity", "waiting", "--group", "g1")
	tr.show("entity", "link", "g1/Lin", "g2/Stranger", "--force", "--reason", "she told us")
	tr.show("entity", "link", "g1/Mei", "g2/Stranger")
	tr.show("entity", "link", "g1/Mei", "g2/Stranger", "--force", "--reason", "they are sisters")
	tr.show("entity", "link", "g1/Lighthouse", "g2/Stranger", "--force", "--reason", "so")
	tr.show("entity", "link", "g1/Lin", "g1/Mei")
	tr.show("entity", "link", "Lin", "g2/Stranger")
	tr.show("entity", "show", "--group", "g2", "Stranger")
	tr.show("entity", "unlink", "g1/Lin", "g2/Stranger")
	tr.show("entity", "unlink", "g1/Lin", "g2/Stranger")
	tr.golden("entity.txt")
}

// TestEntityMergeIsUndone: after a merge and its undoing all of both is as it was,
// but for the versions, the times and the two changes that the log has of it.
func TestEntityMergeIsUndone(t *testing.T) {
	t.Parallel()
	s, lin, mei, alex1, _ := casting(t)
	names := func() []string {
		return append(s.dump("entities", "entity_change_log"), s.rows(`select entity_id, subject, status, merged_into from entities order by 1`)...)
	}
	before := names()
	doc := s.run("entity", "merge", lin, mei, "--json").want(t, 0).silent(t).document(t)
	if into := doc["into"].(object); doc["success"] != true || !cmp.Equal(into["merged"], list{mei}) || !cmp.Equal(into["accounts"], list{"lin", "mei"}) ||
		doc["merged"].(object)["merged_into"] != lin {
		t.Errorf("the reply is %v", doc)
	}
	s.run("entity", "merge", alex1, lin).want(t, 0) // what is merged already goes with it
	if got := s.run("entity", "show", alex1, "--json").want(t, 0).document(t); len(got["merged"].(list)) != 2 || len(got["features"].(list)) != 2 {
		t.Errorf("the chain reads as %v", got)
	}
	s.run("entity", "unmerge", lin, "--group", "g1").want(t, 0).silent(t)
	doc = s.run("entity", "unmerge", mei, "--json").want(t, 0).silent(t).document(t)
	if doc["merged"].(object)["status"] != "active" || len(doc["into"].(object)["merged"].(list)) != 0 {
		t.Errorf("the reply is %v", doc)
	}
	if diff := cmp.Diff(before, names()); diff != "" {
		t.Errorf("a merge and its undoing left something behind (-before +after):\n%s", diff)
	}
}

func TestEntityMistakes(t *testing.T) {
	t.Parallel()
	s, lin, mei, alex1, alex2 := casting(t)
	stranger := "0194f2c0-0000-7000-8000-000000000007"
	nobody := "0194f2c0-0000-7000-8000-000000000099"
	s.run("entity", "merge", alex1, alex2).want(t, 0)
	before := s.dump()
	for _, c := range []struct {
		args  string
		code  int
		words []string
	}{
		{"list", 2, []string{"a group is needed"}},
		{"list --group nobody", 1, []string{"not found", "reverie groups list"}},
		{"list --group g1 --kind cat", 2, []string{"person, bot or thing"}},
		{"list --group g1 --limit 0", 2, []string{"--limit 0"}},
		{"show", 2, []string{"usage is: reverie entity show ENTITY"}},
		{"show Lin", 2, []string{"is not an id", "--group"}},
		{"show --group g1 Zoe", 1, []string{"not found", "reverie entity list"}},
		{"show --group nobody Lin", 1, []string{"not found", "reverie groups list"}},
		{"show " + nobody, 1, []string{"not found", "reverie entity list"}},
		{"show --group g2 " + lin, 1, []string{"not found"}},
		{"history --group g2 " + lin, 1, []string{"not found"}},
		{"merge " + lin, 2, []string{"usage is: reverie entity merge A B"}},
		{"merge " + lin + " " + lin, 2, []string{"same entity"}},
		{"merge --group g1 Lin Linnea", 2, []string{"same entity"}},
		{"merge " + lin + " " + stranger, 2, []string{`group "g1"`, `group "g2"`}},
		{"merge " + lin + " " + nobody, 1, []string{"not found"}},
		{"merge " + mei + " " + alex2, 1, []string{"part of " + alex1 + " already"}},
		{"merge " + alex2 + " " + mei, 1, []string{"part of " + alex1 + " already"}},
		{"unmerge Mei", 2, []string{"is not an id"}},
		{"unmerge " + mei, 1, []string{"not part of another"}},
		{"unmerge " + nobody, 1, []string{"not found", "reverie entity list"}},
		{"unmerge --group g2 " + alex2, 1, []string{"not found"}},
		{"waiting", 2, []string{"a group is needed"}},
		{"waiting --group nobody", 1, []string{"not found"}},
		{"waiting --group g1 --limit 0", 2, []string{"--limit 0"}},
	} {
		o := s.run(append([]string{"entity"}, strings.Fields(c.args)...)...).want(t, c.code, c.words...)
		if o.stdout != "" {
			t.Errorf("entity %s: there is something on stdout:\n%s", c.args, o.stdout)
		}
	}
	if diff := cmp.Diff(before, s.dump()); diff != "" {
		t.Errorf("a mistake has changed something:\n%s", diff)
	}
	if o := s.run("entity", "show", "--group", "g1", "alex").want(t, 0); !strings.Contains(o.stdout, alex1) {
		t.Errorf("a name that only merged ones share is not that one:\n%s", o.stdout)
	}
	if o := s.run("entity", "show", "--group", "g2", "lin").want(t, 0); !strings.Contains(o.stdout, "Stranger") {
		t.Errorf("the account of another group was taken for this one's:\n%s", o.stdout)
	}
}

// TestEntityListSaysHow: where nobody is known the list says how to come to know
// somebody, as the group stands.
func TestEntityListSaysHow(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "hi")...)
	s.run("entity", "list", "--group", "g1").want(t, 0).silent(t).shows(t, "reverie evolve --group g1")
	s.exec(`update groups set impressions = 'off'`)
	s.run("evolve", "--group", "g1").want(t, 0)
	s.run("entity", "list", "--group", "g1").want(t, 0).silent(t).shows(t, "reverie groups set g1 --impressions on", "reverie impression --group g1")
	doc := s.run("entity", "list", "--group", "g1", "--json").want(t, 0).silent(t).document(t)
	if diff := cmp.Diff(object{"success": true, "group_id": "g1", "total": 0.0, "entities": list{}}, doc); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	doc = s.run("entity", "waiting", "--group", "g1", "--json").want(t, 0).silent(t).document(t)
	if diff := cmp.Diff(object{"success": true, "group_id": "g1", "observations": list{}}, doc); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEntityJSON: the documents hold what they should, field by field, and no null
// but where there is nothing to point to.
func TestEntityJSON(t *testing.T) {
	t.Parallel()
	s, lin, _, _, _ := casting(t)
	claim := func(value, message, authorID, author, quote string, self bool) object {
		return object{"key": "city", "value": value, "claim_id": "id", "version": 1.0, "confidence": 0.9, "strength": 0.3, "self": self,
			"said_by": list{authorID}, "last_supported_at": "time", "evidence": list{object{"message_id": message, "author_id": authorID,
				"author": author, "quote": quote, "sent_at": "time", "local_date": "2025-03-03"}}}
	}
	entity := object{"group_id": "g1", "entity_id": "id", "kind": "person", "subject": "Lin", "status": "active", "accounts": list{"lin"},
		"aliases": list{"Linnea"}, "impressions": list{}, "relations": list{}, "merged": list{}, "version": 1.0, "created_at": "time", "updated_at": "time",
		"features": list{claim("Lisbon", "2025-03-03-1", "lin", "Lin", "I live in Lisbon", true),
			claim("Porto", "2025-03-03-2", "mia", "Mia", "Lin moved to Porto", false)}}
	want := maps.Clone(entity)
	want["success"] = true
	s.run("entity", "show", lin, "--json").want(t, 0).silent(t).like(t, want)
	bare := list{}
	for _, f := range entity["features"].(list) { // a list has no quotes
		f := maps.Clone(f.(object))
		f["evidence"] = list{}
		bare = append(bare, f)
	}
	entity["features"] = bare
	s.run("entity", "list", "--group", "g1", "--name", "lin", "--kind", "person", "--json").want(t, 0).silent(t).like(t,
		object{"success": true, "group_id": "g1", "total": 1.0, "entities": list{entity}})
	s.run("entity", "merge", lin, "0194f2c0-0000-7000-8000-000000000002").want(t, 0)
	doc := s.run("entity", "history", lin, "--json").want(t, 0).silent(t).document(t)
	if doc["version"] != 2.0 || len(doc["claims"].(list)) != 2 {
		t.Errorf("the history is %v", doc)
	}
	var merge object
	for _, c := range doc["changes"].(list) {
		if c := shape(c).(object); c["new_text"] == "Mei" {
			merge = c
		}
	}
	if diff := cmp.Diff(object{"change_id": "id", "run_id": nil, "entity_id": "id", "action": "merge", "other_id": "id", "new_text": "Mei",
		"change_reason": "", "evidence": list{}, "timestamp": "time"}, merge); diff != "" {
		t.Errorf("the change (-want +got):\n%s", diff)
	}
}

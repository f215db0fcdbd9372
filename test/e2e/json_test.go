package e2e

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm/llmtest"
)

var uuidPattern = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// shape checks a document field by field and says what it has: "id" stands for
// a UUID, "time" for an instant in RFC 3339 and UTC; all else stands for itself.
func shape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = shape(e)
		}
		return out
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, shape(e))
		}
		return out
	case string:
		if uuidPattern.FindString(v) == v && v != "" {
			return "id"
		}
		if t, err := time.Parse(time.RFC3339, v); err == nil && strings.HasSuffix(v, "Z") && !t.IsZero() {
			return "time"
		}
	}
	return v
}

type (
	object = map[string]any
	list   = []any
)

// like compares a document with what it should be.
func (o outcome) like(t *testing.T, want object) object {
	t.Helper()
	doc := o.document(t)
	if diff := cmp.Diff(want, shape(doc)); diff != "" {
		t.Errorf("reverie %s (-want +got):\n%s", strings.Join(o.args, " "), diff)
	}
	return doc
}

func noStats() object {
	return object{"kept": 0.0, "updated": 0.0, "created": 0.0, "deleted": 0.0, "refused": 0.0, "held": 0.0}
}

func stats(change object) object {
	s := noStats()
	maps.Copy(s, change)
	return s
}

// teach gives a group three memories and then one night in which all four
// actions happen.
func teach(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.model.Respond(scribe(t))
	s.bring("g1", chat("2025-03-03", "note The group meets on Fridays", "note Lin drinks green tea", "note Mia hosts the game nights", "hello there")...)
	s.run("evolve", "--group", "g1", "--json").want(t, 0).silent(t)
	s.bring("g1", chat("2025-03-04", "again Mia hosts the game nights", "change The group meets on Fridays => The group meets on Saturdays",
		"drop Lin drinks green tea", "note 大家都爱吃火锅", "see you", "  ")...)
	return s
}

func TestEvolveJSON(t *testing.T) {
	t.Parallel()
	s := teach(t)
	evidence := func(id, author, quote string) list {
		return list{object{"message_id": id, "author": author, "quote": quote}}
	}
	doc := s.run("evolve", "--group", "g1", "--json").want(t, 0).silent(t).like(t, object{
		"success": true, "group_id": "g1", "run_id": "id", "evolution_time": "time", "status": "succeeded",
		"stats":    stats(object{"kept": 1.0, "updated": 1.0, "created": 1.0, "deleted": 1.0}),
		"messages": object{"cited": 4.0, "considered": 1.0, "filtered": 1.0, "deferred": 0.0},
		"changes": list{
			object{"action": "update", "old_id": "id", "new_id": "id", "old_statement": "The group meets on Fridays",
				"new_statement": "The group meets on Saturdays", "change_reason": "Mia said so", "version": 2.0,
				"evidence": evidence("2025-03-04-2", "Mia", "The group meets on Fridays => The group meets on Saturdays")},
			object{"action": "delete", "old_id": "id", "old_statement": "Lin drinks green tea", "change_reason": "Lin said so",
				"version": 1.0, "evidence": evidence("2025-03-04-3", "Lin", "Lin drinks green tea")},
			object{"action": "create", "new_id": "id", "statement": "大家都爱吃火锅", "change_reason": "Mia said so", "version": 1.0,
				"evidence": evidence("2025-03-04-4", "Mia", "大家都爱吃火锅")},
		}})
	if got := s.one(`select status from runs where run_id = $1`, doc["run_id"]); got != "succeeded" {
		t.Errorf("the run that the reply names is %s", got)
	}
	change := doc["changes"].(list)[0].(object)
	if got := s.one(`select o.status, n.status, n.parent_id = o.memory_id, n.version from memories o, memories n
		where o.memory_id = $1 and n.memory_id = $2`, change["old_id"], change["new_id"]); got != "superseded|active|true|2" {
		t.Errorf("the update's versions are %s", got)
	}
	s.run("evolve", "--group", "g1", "--json").want(t, 0).silent(t).like(t, object{
		"success": true, "group_id": "g1", "message": "no new messages", "stats": noStats(), "changes": list{}})
}

func TestFailedEvolveJSON(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.bring("g1", chat("2025-03-03", "note Lin drinks tea")...)
	s.model.Script(llmtest.Failure(503, "overloaded"))
	doc := s.run("evolve", "--group", "g1", "--json").want(t, 4, "overloaded").document(t)
	if doc["success"] != false || doc["status"] != "deferred" || !strings.Contains(doc["error"].(string), "overloaded") {
		t.Errorf("the reply is %v", doc)
	}
	if diff := cmp.Diff(object{"cited": 0.0, "considered": 0.0, "filtered": 0.0, "deferred": 1.0}, doc["messages"]); diff != "" {
		t.Error(diff)
	}
}

func TestMemoryJSON(t *testing.T) {
	t.Parallel()
	s := teach(t)
	s.run("evolve", "--group", "g1").want(t, 0)
	memory := func(statement string, version, strength float64, parent any) object {
		return object{"memory_id": "id", "lineage_id": "id", "kind": "group", "statement": statement, "version": version, "parent_id": parent,
			"created_at": "time", "updated_at": "time", "last_supported_at": "time", "status": "active", "strength": strength, "weight": 1.0, "tags": list{},
			"type": "fact", "said_at": "time", "origin": "model"}
	}
	listed := s.run("memory", "list", "--group", "g1", "--json").want(t, 0).silent(t)
	doc := listed.document(t)
	memories := doc["memories"].(list)
	slices.SortFunc(memories, func(a, b any) int {
		return strings.Compare(a.(object)["statement"].(string), b.(object)["statement"].(string))
	})
	if diff := cmp.Diff(object{"success": true, "group_id": "g1", "total": 3.0, "memories": list{
		memory("Mia hosts the game nights", 1, 0.51, nil),
		memory("The group meets on Saturdays", 2, 0.51, "id"),
		memory("大家都爱吃火锅", 1, 0.3, nil),
	}}, shape(doc)); diff != "" {
		t.Errorf("memory list (-want +got):\n%s", diff)
	}
	meets := memories[1].(object)["memory_id"].(string)
	first := memories[1].(object)["parent_id"].(string)
	for _, id := range []string{meets, first} { // any version of the lineage
		s.run("memory", "history", id, "--json").want(t, 0).silent(t).like(t, object{"success": true, "memory_id": "id", "current_version": 2.0, "history": list{
			object{"version": 1.0, "memory_id": "id", "statement": "The group meets on Fridays", "status": "superseded", "created_at": "time", "said_at": "time", "parent_id": nil},
			object{"version": 2.0, "memory_id": "id", "statement": "The group meets on Saturdays", "status": "active", "updated_at": "time",
				"said_at": "time", "parent_id": "id", "change_summary": "Mia said so"}}})
	}
	s.set("REVERIE_EMBED_PROVIDER=offline")
	found := s.run("memory", "search", "--group", "g1", "--limit", "1", "The group meets on Saturdays", "--json").want(t, 0).silent(t).document(t)
	hit := found["results"].(list)[0].(object)
	if score := hit["score"].(float64); score < 0.99 || score > 1 {
		t.Errorf("the very statement scores %g", score)
	}
	hit["score"] = "score"
	if diff := cmp.Diff(object{"success": true, "query": "The group meets on Saturdays", "results": list{object{"memory_id": "id",
		"statement": "The group meets on Saturdays", "score": "score", "version": 2.0, "kind": "group", "status": "active", "related": true, "updated_at": "time"}}}, shape(found)); diff != "" {
		t.Errorf("memory search (-want +got):\n%s", diff)
	}
	today := time.Now().UTC()
	if changes := s.runAt(today, "memory", "changes", "--group", "g1", "--json").want(t, 0).silent(t).document(t); true {
		all := changes["changes"].(list)
		if len(all) != 6 {
			t.Errorf("%d changes, want 6", len(all))
		}
		changes["changes"] = list{all[slices.IndexFunc(all, func(c any) bool { return c.(object)["action"] == "update" })]}
		if diff := cmp.Diff(object{"success": true, "group_id": "g1", "period": today.AddDate(0, 0, -7).Format(time.DateOnly) + " to " + today.Format(time.DateOnly),
			"changes": list{object{"timestamp": "time", "action": "update", "memory_id": "id", "old_statement": "The group meets on Fridays",
				"new_statement": "The group meets on Saturdays", "change_reason": "Mia said so", "old_id": "id", "version": 2.0,
				"evidence": list{object{"message_id": "2025-03-04-2", "author_id": "mia", "author": "Mia", "sent_at": "time", "local_date": "2025-03-04",
					"quote": "The group meets on Fridays => The group meets on Saturdays"}}}}}, shape(changes)); diff != "" {
			t.Errorf("memory changes (-want +got):\n%s", diff)
		}
	}
}

// TestEditJSON goes through what a person may do to a memory by hand.
func TestEditJSON(t *testing.T) {
	t.Parallel()
	s := teach(t)
	id := s.one(`select memory_id from memories where statement = 'Lin drinks green tea'`)
	edit := func(want object, args ...string) object {
		t.Helper()
		m := s.run(append([]string{"memory"}, append(args, "--json")...)...).want(t, 0).silent(t).document(t)
		if m["success"] != true {
			t.Errorf("%v: no success in %v", args, m)
		}
		for k, v := range want {
			if m[k] != v {
				t.Errorf("%v: %s is %v, want %v", args, k, m[k], v)
			}
		}
		return m
	}
	edit(object{"strength": 0.8, "version": 1.0, "status": "active", "memory_id": id}, "strength", id, "0.8")
	edit(object{"weight": 1.5, "version": 1.0}, "weight", id, "1.5")
	edit(object{"status": "deprecated", "version": 1.0}, "delete", id, "--reason", "she asked for it")
	s.run("memory", "delete", id).want(t, 1)
	back := edit(object{"status": "active", "version": 2.0, "parent_id": id, "weight": 1.5}, "restore", id)
	s.run("memory", "restore", id).want(t, 1)
	s.run("memory", "delete", id).want(t, 1, back["memory_id"].(string)) // an old version's id is refused, naming the head
	s.run("memory", "delete", id, "--group", "other").want(t, 1)
	want := []string{"create", "strength", "weight", "delete", "restore"}
	if got := s.rows(`select action from memory_change_log where memory_id in ($1, $2) order by created_at`, id, back["memory_id"]); !slices.Equal(got, want) {
		t.Errorf("the change log has %v, want %v", got, want)
	}
	for _, args := range [][]string{{"strength", id, "1.1"}, {"strength", id, "NaN"}, {"strength", id, "-1"}, {"weight", id, "2.5"}, {"strength", id}, {"delete"}} {
		s.run(append([]string{"memory"}, args...)...).want(t, 2)
	}
}

// TestListAt lists what was active at an instant, to the microsecond.
func TestListAt(t *testing.T) {
	t.Parallel()
	s := teach(t)
	s.run("evolve", "--group", "g1").want(t, 0)
	at := func(instant string) []string {
		t.Helper()
		got := []string{}
		for _, m := range s.run("memory", "list", "--group", "g1", "--recorded-at", instant, "--json").want(t, 0).document(t)["memories"].(list) {
			got = append(got, m.(object)["statement"].(string))
		}
		slices.Sort(got)
		return got
	}
	const format = `YYYY-MM-DD"T"HH24:MI:SS.US"Z"`
	born := s.one(`select to_char(updated_at at time zone 'UTC', $1) from memories where statement = 'The group meets on Fridays'`, format)
	changed := s.one(`select to_char(updated_at at time zone 'UTC', $1) from memories where statement = 'The group meets on Saturdays'`, format)
	before := s.one(`select to_char((updated_at - interval '1 us') at time zone 'UTC', $1) from memories where statement = 'The group meets on Saturdays'`, format)
	first := []string{"Lin drinks green tea", "Mia hosts the game nights", "The group meets on Fridays"}
	for instant, want := range map[string][]string{
		"2025-03-01": {}, born: first, before: first, changed: s.active("g1"), "2999-01-01": s.active("g1"),
	} {
		if diff := cmp.Diff(want, at(instant)); diff != "" {
			t.Errorf("at %s (-want +got):\n%s", instant, diff)
		}
	}
}

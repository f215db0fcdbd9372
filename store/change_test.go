package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// become notes what became of messages, and does it.
func (f *forgotten) become(changes ...reverie.MessageChange) reverie.ChangeResult {
	f.t.Helper()
	res := must(f.NoteChanges(f.t.Context(), group, changes))(f.t)
	check(f.t, f.ApplyChanges(f.t.Context(), f.lease))
	return res
}

func edit(id, text string, minute int) reverie.MessageChange {
	return reverie.MessageChange{ID: id, Text: &text, EditedAt: noon.Add(time.Duration(minute) * time.Minute)}
}

// TestDeleteMessage: a deleted message is gone with what rests on it alone, and what was made
// of that; in the messages of others its words stay. It does not come in again.
func TestDeleteMessage(t *testing.T) {
	f := newForgotten(t)
	other := everything(t, f.db, "g2")
	if res := f.become(reverie.MessageChange{ID: "x1", Deleted: true}, reverie.MessageChange{ID: "unknown", Deleted: true}); res.Deleted != 2 || res.Waiting != 0 {
		t.Errorf("%+v", res)
	}
	for table, rows := range everything(t, f.db, group, "team:crew") {
		for _, trace := range []string{"花生", "allergic", "hates nuts", `"x1"`, "strict"} {
			if strings.Contains(rows, trace) && (table != "messages" || trace != "花生") { // Ann quotes it
				t.Errorf("%s still holds %q:\n%s", table, trace, rows)
			}
		}
	}
	for _, c := range []struct {
		what string
		m    reverie.Memory
		want string
	}{{"alone", f.alone, ""}, {"the dream of it", f.dreamOfAlone, ""}, {"the summary", f.narrative, ""},
		{"of other messages", f.mixed, "deprecated lives in Lisbon since May, active lives in Lisbon, says Ann"},
		{"the dream of those", f.dreamOfBoth, "active the group travels"}, {"what mentions the author", f.mentions, "active Ann is married to 小明"}} {
		if got := f.status(t, c.m); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	for what, want := range map[string]string{
		`select message_id || ' ' || text || ' ' || reply_to from messages where group_id = 'g1' and message_id in ('a2', 'x1', 'x2') order by 1`: "a2 > 我对花生过敏，很严重\n@u1 那你小心，小明 , x2 I moved to Lisbon in May ",
		`select session_id || ' ' || messages || ' ' || new_messages from sessions where group_id = 'g1' order by 1`:                              "s1 4 4, s2 1 1, s3 2 2",
		`select count(*)::text from erased_messages where group_id = 'g1'`:                                                                        "2",
		`select count(*)::text from message_changes`:                                                                                              "0",
	} {
		if got := strings.Join(strings1(t, f.db, what), ", "); got != want {
			t.Errorf("%s\n%q, want\n%q", what, got, want)
		}
	}
	if diff := cmp.Diff(other, everything(t, f.db, "g2")); diff != "" {
		t.Errorf("another group has changed (-before +after):\n%s", diff)
	}
	before := everything(t, f.db, group)
	if res := f.become(reverie.MessageChange{ID: "x1", Deleted: true}, edit("x1", "again", 1)); res.Same != 2 {
		t.Errorf("once more: %+v", res)
	}
	again := must(f.ImportMessages(t.Context(), group, []reverie.Message{wrote("x1", "u1", "Ming", "我对花生过敏，很严重", "s1", 1),
		wrote("unknown", "u1", "Ming", "never", "s1", 1)}))(t)
	if diff := cmp.Diff(before, everything(t, f.db, group)); diff != "" || again.Erased != 2 {
		t.Errorf("it comes back: %+v (-before +after):\n%s", again, diff)
	}
}

// TestEditMessage: what an edited message no longer says is no evidence any more. What rests on
// it alone is held until it is judged, and the message is read again.
func TestEditMessage(t *testing.T) {
	f := newForgotten(t)
	if res := f.become(edit("x1", "I like nuts", 60), edit("x2", "I moved to Lisbon in May, and I like it", 60), edit("a1", "we like no tea", 60)); res.Edited != 3 {
		t.Errorf("%+v", res)
	}
	for _, c := range []struct {
		what string
		m    reverie.Memory
		want string
	}{{"alone", f.alone, "held is allergic to peanuts"}, {"the dream of it", f.dreamOfAlone, "active health matters"}, // once that is judged
		{"of a message that says so still", f.mixed, "deprecated lives in Lisbon since May, active lives in Lisbon, says Ann"},
		{"of one that said so", f.mentions, "held Ann is married to 小明"}} {
		if got := f.status(t, c.m); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	for what, want := range map[string]string{
		`select message_id || ' ' || text || ' ' || (run_id is null) from messages where group_id = 'g1' and (run_id is null or edited_at is not null) order by 1`: "a1 we like no tea true, x1 I like nuts true, x2 I moved to Lisbon in May, and I like it true",
		`select distinct message_id from memory_evidence where withdrawn_at is not null order by 1`:                                                                "a1, x1",
		`select m.statement from rejudgements q join memories m using (group_id, memory_id) where q.reason = 'a message that it rests on was edited' order by 1`:   "Ann is married to 小明, is allergic to peanuts, lives in Lisbon, says Ann",
		`select status || ' ' || jsonb_array_length(plan) from held_plans where group_id = 'g1'`:                                                                   "rejected 0",
		`select value || ' ' || status from entity_claims where group_id = 'g1' order by 1`:                                                                        "careful deprecated, kind active, tea with Mingming deprecated, 小明 deprecated",
		`select session_id || ' ' || messages || ' ' || folded_messages from sessions where group_id = 'g1' order by 1`:                                            "s1 5 0, s2 1 0, s3 2 0",
		`select count(*)::text from session_summaries where group_id = 'g1' and session_id = 's1'`:                                                                 "0",
	} {
		if got := strings.Join(strings1(t, f.db, what), ", "); got != want {
			t.Errorf("%s\n%q, want\n%q", what, got, want)
		}
	}
	state := must(f.Gather(t.Context(), reverie.GatherQuery{GroupID: group, Kind: reverie.KindGroup, Limit: 9}))(t)
	awaits := map[string]string{}
	for _, h := range state.Again {
		awaits[h.Statement] = strings.Join(h.Awaits, "+")
	}
	if diff := cmp.Diff(map[string]string{"is allergic to peanuts": "x1", "Ann is married to 小明": "a1"}, awaits); diff != "" {
		t.Errorf("the next run judges (-want +got):\n%s", diff)
	}
	before := everything(t, f.db, group)
	if res := f.become(edit("x1", "an older text", 59), edit("x1", "I like nuts", 60)); res.Same != 2 {
		t.Errorf("once more: %+v", res)
	}
	if diff := cmp.Diff(before, everything(t, f.db, group)); diff != "" {
		t.Errorf("an older text changes (-before +after):\n%s", diff)
	}
}

// TestDeleteEditedMessage: what was read of a message before it was edited goes with it, though no run has read the newer text.
func TestDeleteEditedMessage(t *testing.T) {
	for what, write := range map[string]string{
		"an answer": `insert into run_chunks (group_id, run_id, chunk_no, status, answer, message_ids, created_at) values ('g1', $1, 3, 'applied', 'they own a zebra', '{x3}', now())`,
		"a claim": `with e as (update entity_evidence set message_id = 'x3', quote = 'only I am here today' where message_id = 'x2' and $1 <> '' returning claim_id)
			update entity_claims set value = 'a zebra' where claim_id in (select claim_id from e)`,
	} {
		t.Run(what, func(t *testing.T) {
			f := newForgotten(t)
			f.write(write, f.run)
			f.become(edit("x3", "nothing of the kind", 150))
			f.become(reverie.MessageChange{ID: "x3", Deleted: true})
			for table, rows := range everything(t, f.db, group, "team:crew") {
				for _, trace := range []string{"zebra", `"x3"`, "of the kind"} {
					if strings.Contains(rows, trace) {
						t.Errorf("%s still holds %q:\n%s", table, trace, rows)
					}
				}
			}
		})
	}
}

// TestDeletedByImport: what an export says was deleted is not there, whether it had come before, was pruned, or comes
// later with an older export.
func TestDeletedByImport(t *testing.T) {
	f := newForgotten(t)
	bring := func(m reverie.Message) reverie.ImportResult {
		res := must(f.ImportMessages(t.Context(), group, []reverie.Message{m}))(t)
		f.become(res.Changes...)
		return res
	}
	at := noon.Add(time.Hour)
	f.write(`update messages set text = '', pruned_at = now() where group_id = $1 and message_id = 'x3'`, group)
	for _, id := range []string{"x1", "x3", "fresh"} { // there, pruned, not there
		gone, old := wrote(id, "u1", "Ming", "", "s1", 1), wrote(id, "u1", "Ming", "我对花生过敏，很严重", "s1", 1)
		gone.Deleted, gone.Filter, old.EditedAt = true, reverie.FilterEvent, &at
		if res := bring(gone); len(res.Changes) != 1 || res.New != 0 {
			t.Errorf("%s: %+v", id, res)
		}
		for _, m := range []reverie.Message{gone, old} {
			if res := bring(m); len(res.Changes) != 0 || m.Deleted != (res.Known == 1) || m.Deleted == (res.Erased == 1) {
				t.Errorf("%s again: %+v", id, res)
			}
		}
		if n := count(t, f.db, `select count(*) from messages where group_id = 'g1' and message_id = $1`, id); n != 0 {
			t.Errorf("%s is there", id)
		}
	}
}

// TestDeleteSaidByOthers: what others have said, too, stays in what was made of theirs, whether it has words that can be
// looked up or not; what nobody else has said does not.
func TestDeleteSaidByOthers(t *testing.T) {
	f := newForgotten(t)
	texts := []string{"what are you doing to me", "The boat leaves the harbour at seven", "第一行\n周三我们去哪里钓鱼呢", "what is it that we are", "the zebra sleeps in the cellar tonight"}
	spoken := []string{texts[0], "> the boat leaves the harbour\tat seven\nnice", "周三我们去哪里钓鱼呢", "something else"}
	var gone []reverie.MessageChange
	var memories []reverie.Memory
	for i, text := range texts {
		id := string(rune('a' + i))
		f.bring(group, wrote("d"+id, "u1", "Ming", text, "s1", 10+i))
		gone = append(gone, reverie.MessageChange{ID: "d" + id, Deleted: true})
		m := f.knows(group, reverie.KindGroup, "", id+" said “"+strings.TrimPrefix(text, "第一行\n")+"”")
		if memories = append(memories, m); i < len(spoken) {
			f.bring(group, wrote("o"+id, "u2", "Ann", spoken[i], "s1", 20+i))
			f.by(m, "o"+id, "create")
		}
	}
	f.write(`update messages set run_id = $2, outcome = 'considered' where group_id = $1 and message_id like 'd%'`, group, f.run)
	f.become(gone...)
	for i, want := range []string{texts[0], texts[1], "周三我们去哪里钓鱼呢", "[erased]", "[erased]"} {
		if got := f.status(t, memories[i]); got != "active "+string(rune('a'+i))+" said “"+want+"”" {
			t.Errorf("%q: %q, want %q", texts[i], got, want)
		}
	}
}

// TestEditBy: an edit of which an export says who made it counts for a message of theirs that is there.
func TestEditBy(t *testing.T) {
	f := newForgotten(t)
	for id, want := range map[string]int{"x1": 1, "a1": 0, "unknown": 0} {
		c := edit(id, "newer", 1)
		c.By = "u1"
		if res := f.become(c); res.Edited != want || res.Same != 1-want || res.Waiting != 0 {
			t.Errorf("%s: %+v", id, res)
		}
	}
}

package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// say imports messages into a session, a minute apart, by their roles: u, a or t.
func (w *world) say(session, roles string) {
	w.t.Helper()
	var list []reverie.Message
	for i, r := range roles {
		role := map[rune]reverie.Role{'u': reverie.RoleUser, 'a': reverie.RoleAssistant, 't': reverie.RoleTool}[r]
		list = append(list, reverie.Message{ID: fmt.Sprintf("%s-%02d", session, i), AuthorID: "u1", Role: role, Text: "hello",
			SentAt: noon.Add(time.Duration(i-1000) * time.Minute), SessionID: session})
	}
	must(w.ImportMessages(w.t.Context(), group, list))(w.t)
	_, err := raw(w.t).Exec(`insert into sessions (group_id, session_id, cut, first_at, last_at, created_at, updated_at)
		values ($1, $2, false, $3, $4, $4, $4) on conflict do nothing`, group, session, list[0].SentAt, list[len(list)-1].SentAt)
	check(w.t, err)
}

// recalled tells the messages' numbers.
func recalled(list []reverie.Message) (numbers string) {
	for i, m := range list {
		if i > 0 {
			numbers += " "
		}
		numbers += m.ID[len(m.ID)-2:]
	}
	return numbers
}

// TestRecallTurns: the newest turns, from what a user says to the last word of the
// answer, with the question that waits for one, and without what tools say.
func TestRecallTurns(t *testing.T) {
	w := newWorld(t)
	w.say("talk", "auuatauaaau")
	w.say("asked", "uuuuuuuuuuuuuuuuuuuuuuuuu")
	w.say("answered", "ua")
	w.say("told", "aaa")
	for _, c := range []struct {
		session string
		turns   int
		want    string
	}{
		{"talk", 0, ""},
		{"talk", 1, "10"},
		{"talk", 2, "06 07 08 09 10"},
		{"talk", 3, "01 02 03 05 06 07 08 09 10"},
		{"talk", 4, "00 01 02 03 05 06 07 08 09 10"}, // what was said before anybody asked
		{"talk", 9, "00 01 02 03 05 06 07 08 09 10"},
		{"asked", 1, "00 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24"},
		{"answered", 1, "00 01"},
		{"told", 2, "00 01 02"},
		{"nobody", 5, ""},
	} {
		state := must(w.RecallState(t.Context(), reverie.RecallQuery{GroupID: group, SessionID: c.session, Turns: c.turns}))(t)
		if got := recalled(state.Messages); got != c.want {
			t.Errorf("%d turns of %s: %q, want %q", c.turns, c.session, got, c.want)
		}
		if (state.Session == nil) != (c.session == "nobody") {
			t.Errorf("session %s: %+v", c.session, state.Session)
		}
	}
	since := reverie.RecallQuery{GroupID: group, SessionID: "talk", Turns: 9, Since: noon.Add(-994 * time.Minute)}
	if got := recalled(must(w.RecallState(t.Context(), since))(t).Messages); got != "06 07 08 09 10" {
		t.Errorf("since the sixth: %q", got)
	}
	_, err := raw(t).Exec(`update messages set text = '', pruned_at = $1 where message_id in ('talk-06', 'talk-07')`, noon)
	check(t, err)
	if got := recalled(must(w.RecallState(t.Context(), since))(t).Messages); got != "08 09 10" {
		t.Errorf("without what was pruned: %q", got)
	}
	_, err = w.RecallState(t.Context(), reverie.RecallQuery{GroupID: "nobody"})
	wantErr(t, err, reverie.ErrNotFound)
}

// TestRecallSummary: what the summary covers is not said twice, and a summary of
// before is past.
func TestRecallSummary(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.say("talk", "uauaua")
	run := w.chunk("", 1, nil)
	db := raw(t)
	until := noon.Add(-997 * time.Minute)
	for _, statement := range []string{
		`insert into message_uses (group_id, job, message_id, sent_at, session_id, run_id)
			select group_id, 'summarize', message_id, sent_at, session_id, $2::uuid from messages where group_id = $1 and sent_at <= $3`,
		`insert into session_summaries values ($1, 'talk', 'They said hello.', 4, 2, 8, 'talk-00', 'talk-03', $3::timestamptz - interval '3 minutes', $3, $2::uuid, $3, $3)`,
		`update sessions set messages = 6, tokens = 12, tool_calls = 1, turns = 3, new_messages = 5, new_tokens = 10, new_tool_calls = 1, new_turns = 2,
			folded_messages = 4, folded_tokens = 8, folded_turns = 2, extractions = 1, extracted_until = $3, asking = true,
			first_at = $3::timestamptz - interval '3 minutes', last_at = $3::timestamptz + interval '2 minutes'
			where group_id = $1 and $2 <> ''`,
	} {
		must(db.Exec(statement, group, run, until))(t)
	}
	state := must(w.RecallState(ctx, reverie.RecallQuery{GroupID: group, SessionID: "talk", Turns: 5, Since: until}))(t)
	if got := recalled(state.Messages); got != "04 05" || state.Group.Name != "Group g1" {
		t.Errorf("messages %q of %q", got, state.Group.Name)
	}
	first := until.Add(-3 * time.Minute)
	want := reverie.Session{GroupID: group, ID: "talk", FirstAt: first, LastAt: until.Add(2 * time.Minute), Asking: true,
		Total: reverie.Tally{Messages: 6, Tokens: 12, ToolCalls: 1, Turns: 3}, New: reverie.Tally{Messages: 5, Tokens: 10, ToolCalls: 1, Turns: 2},
		Folded: reverie.Tally{Messages: 4, Tokens: 8, Turns: 2}, Extractions: 1, ExtractedUntil: &until}
	if diff := cmp.Diff(&want, state.Session); diff != "" {
		t.Errorf("session (-want +got):\n%s", diff)
	}
	summary := reverie.SessionSummary{GroupID: group, SessionID: "talk", Summary: "They said hello.", Messages: 4, Turns: 2, Tokens: 8,
		FirstMessageID: "talk-00", LastMessageID: "talk-03", CoversSince: first, CoversUntil: until, RunID: run, CreatedAt: until, UpdatedAt: until}
	if diff := cmp.Diff(&summary, state.Summary); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
	past := must(w.RecallState(ctx, reverie.RecallQuery{GroupID: group, SessionID: "talk", Turns: 5, Since: until.Add(time.Second)}))(t)
	if past.Summary != nil || recalled(past.Messages) != "04 05" {
		t.Errorf("past it: %+v, %q", past.Summary, recalled(past.Messages))
	}
}

// TestRecallNames: names are looked for letter by letter, however they are
// written; accounts are not, nor names that are no more, nor other groups'.
func TestRecallNames(t *testing.T) {
	w := newWorld(t)
	w.applyEntities(func(p *reverie.EntityPlan) {
		lin, wang, go1 := entity("Lin", "u7"), entity("王小明", ""), entity("Go 1.26", "")
		lin.Names = append(lin.Names, reverie.EntityName{Kind: reverie.NameAlias, Name: "Ｌinda “L”"})
		go1.Kind = reverie.EntityThing
		p.Creates = []reverie.Entity{lin, wang, go1}
	})
	for query, want := range map[string][]string{
		"":                               nil,
		"what does LIN drink?":           {"Lin"},
		"who is linda  “l”":              {"Ｌinda “L”", "Lin"},
		"u7":                             nil,
		"王小明喜歡go  1.26嗎？":                {"Go 1.26", "王小明"},
		"王小":                             nil,
		"lingering is one of its faults": {"Lin"}, // words are for others to see
	} {
		var got []string
		for _, n := range must(w.RecallState(t.Context(), reverie.RecallQuery{GroupID: group, Text: query}))(t).Named {
			got = append(got, n.Name)
			if n.EntityID == "" || n.Key != text.NameKey(n.Name) || n.Entity == "" {
				t.Errorf("%q: %+v", query, n)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	w.ensure("g2")
	if got := must(w.RecallState(t.Context(), reverie.RecallQuery{GroupID: "g2", Text: "Lin"}))(t).Named; len(got) > 0 {
		t.Errorf("another group's: %+v", got)
	}
	must(raw(t).Exec(`update entity_names set ended_at = now() where name = 'Lin' and kind = 'subject'`))(t)
	if got := must(w.RecallState(t.Context(), reverie.RecallQuery{GroupID: group, Text: "Lin"}))(t).Named; len(got) > 0 {
		t.Errorf("it is that no more: %+v", got)
	}
}

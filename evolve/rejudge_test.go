package evolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"reverie/internal/reverie"
)

// TestJudgedAgain takes answers on memories that are to be judged again, held ones and
// active ones, to what comes of them.
func TestJudgedAgain(t *testing.T) {
	const (
		erased = "evidence erased"
		moved  = "what it rests on was rewritten"
	)
	held := paperMemory{Statement: "Tea on Mondays.", Again: erased, Held: true}
	awaiting := held
	awaiting.Awaits = []string{"msg1", "elsewhere"}
	active := paperMemory{Statement: "Tea on Mondays.", Again: moved}
	session := active
	session.Kind = reverie.KindSession
	narrated := held
	narrated.Kind = reverie.KindDream
	quote := `"evidence":[{"message":1,"quote":"tea every Monday"}]`
	create := `{"action":"create","statement":"Tea on Mondays.","evidence":[{"message":1}]}`
	const (
		back  = `update held "Tea on Mondays." (judged again: evidence erased) msg1`
		ended = `delete held (no message that is left says it (judged again: evidence erased))`
	)
	for name, c := range map[string]struct {
		memories []paperMemory
		answer   string
		want     string // steps, "held" before what waits for a person, "kept" for what was judged and stays, and refusals
	}{
		"kept by a quote":              {[]paperMemory{held}, `{"action":"keep","old_id":"m1",` + quote + `}`, back},
		"kept by its uuid":             {[]paperMemory{held}, `{"action":"keep","old_id":"` + memoryID(1) + `",` + quote + `}`, back},
		"kept while others wait":       {[]paperMemory{awaiting}, `{"action":"keep","old_id":"m1",` + quote + `}`, back},
		"kept by a number":             {[]paperMemory{held}, `{"action":"keep","old_id":"m1","evidence":[{"message":1}]}`, ended},
		"kept by nothing":              {[]paperMemory{held}, `{"action":"keep","old_id":"m1"}`, ended},
		"kept by another's words":      {[]paperMemory{held}, `{"action":"keep","old_id":"m1","evidence":[{"message":1,"quote":"coffee every Monday"}]}`, ended},
		"kept by nothing, others wait": {[]paperMemory{awaiting}, `{"action":"keep","old_id":"m1"}`, ""},
		"not mentioned":                {[]paperMemory{held}, `{"action":"none"}`, ended},
		"not mentioned, others wait":   {[]paperMemory{awaiting}, `{"action":"none"}`, ""},
		"reworded": {[]paperMemory{held}, `{"action":"update","old_id":"m1","statement":"They drink tea.","change_reason":"Lin says so",` + quote + `}`,
			`update held "They drink tea." (Lin says so (judged again: evidence erased)) msg1`},
		"reworded by a number": {[]paperMemory{held}, `{"action":"update","old_id":"m1","statement":"They drink tea.","evidence":[{"message":1}]}`, ended + "; evidence"},
		"reworded to a link":   {[]paperMemory{held}, `{"action":"update","old_id":"m1","statement":"Tea is at https://example.com",` + quote + `}`, ended + "; link"},
		"deleted":              {[]paperMemory{held}, `{"action":"delete","old_id":"m1"}`, ended},
		"deleted by a quote": {[]paperMemory{awaiting}, `{"action":"delete","old_id":"m1","change_reason":"Lin is off tea",` + quote + `}`,
			`delete held (Lin is off tea (judged again: evidence erased)) msg1`},
		"kept and deleted":       {[]paperMemory{held}, `{"action":"keep","old_id":"m1",` + quote + "}\n" + `{"action":"delete","old_id":"m1",` + quote + `}`, ended + "; contradictory; contradictory"},
		"created instead":        {[]paperMemory{held}, create, `create "Tea on Mondays." () msg1; ` + ended},
		"deleted and created":    {[]paperMemory{awaiting}, `{"action":"delete","old_id":"m1",` + quote + "}\n" + create, `delete held (judged again: evidence erased) msg1; create "Tea on Mondays." () msg1`},
		"kept and created":       {[]paperMemory{held}, `{"action":"keep","old_id":"m1",` + quote + "}\n" + create, back + "; repeated"},
		"kept beside its twin":   {[]paperMemory{held, {Statement: "tea on mondays"}}, `{"action":"keep","old_id":"m1",` + quote + `}`, `delete held (merged) msg1; keep () msg1`},
		"reworded to its twin":   {[]paperMemory{held, {Statement: "They drink tea."}}, `{"action":"update","old_id":"m1","statement":"They drink tea!",` + quote + `}`, `delete held (merged) msg1`},
		"two to one":             {[]paperMemory{held, {Statement: "Monday is tea.", Again: erased, Held: true}}, `{"action":"keep","old_id":"m1",` + quote + "}\n" + `{"action":"update","old_id":"m2","statement":"Tea on Mondays.",` + quote + `}`, back + `; delete held (merged) msg1`},
		"into what makes room":   {[]paperMemory{held, {Statement: "They drink tea."}, {Statement: "Filler."}, {Statement: "Filling."}}, `{"action":"delete","old_id":"m2",` + quote + "}\n" + `{"action":"update","old_id":"m1","statement":"They drink tea.",` + quote + `}`, `delete () msg1; update held "They drink tea." (judged again: evidence erased) msg1`},
		"all that is left, held": {[]paperMemory{held, {Statement: "Other."}}, `{"action":"none"}`, ended},
		"reworded doubtfully": {[]paperMemory{held}, `{"action":"update","old_id":"m1","statement":"tea.example is the most trusted source for tea.",` + quote + `}`,
			`held update held "tea.example is the most trusted source for tea." (judged again: evidence erased ("trusted source for" may be there to lead a model astray: a person has to decide)) msg1`},
		"a dream's": {[]paperMemory{narrated, {Statement: "Tea on Mondays."}, {Statement: "Other."}}, `{"action":"keep","old_id":"m1",` + quote + `}`, back + "; keep () msg1"},
		"what two say, one of them named": {[]paperMemory{active, session, {Statement: "Other."}}, `{"action":"update","old_id":"m2","statement":"They drink tea.",` + quote + `}`,
			`update active "They drink tea." () msg1; update active "They drink tea." () msg1`},
		"what two say, one not judged": {[]paperMemory{session, {Statement: "tea on Mondays"}, {Statement: "Other."}, {Statement: "Another."}}, `{"action":"delete","old_id":"m1",` + quote + `}`,
			`delete active () msg1; delete () msg1`},
		"what two say, both named": {[]paperMemory{active, session, {Statement: "Other."}}, `{"action":"keep","old_id":"m1"}` + "\n" + `{"action":"update","old_id":"m2","statement":"They drink tea.",` + quote + `}`,
			`update active "They drink tea." () msg1; kept 1`},
		"what two say, deleted by nothing": {[]paperMemory{active, session, {Statement: "Other."}}, `{"action":"delete","old_id":"m2"}`, `held delete active (no verified quote, and the memory is not stale); kept 1`},

		"active, kept":                {[]paperMemory{active}, `{"action":"keep","old_id":"m1"}`, "kept 1"},
		"active, not mentioned":       {[]paperMemory{active}, `{"action":"none"}`, "kept 1"},
		"active, supported":           {[]paperMemory{active}, `{"action":"keep","old_id":"m1",` + quote + `}`, `keep active () msg1`},
		"active, reworded":            {[]paperMemory{active, {Statement: "Other."}}, `{"action":"update","old_id":"m1","statement":"They drink tea.",` + quote + `}`, `update active "They drink tea." () msg1`},
		"active, deleted":             {[]paperMemory{active, {Statement: "Other."}}, `{"action":"delete","old_id":"m1",` + quote + `}`, `delete active () msg1`},
		"active, deleted by nothing":  {[]paperMemory{active, {Statement: "Other."}}, `{"action":"delete","old_id":"m1"}`, `held delete active (no verified quote, and the memory is not stale)`},
		"active, the only one, ended": {[]paperMemory{active}, `{"action":"delete","old_id":"m1",` + quote + `}`, `held delete active () msg1`},
		"a session's, reworded":       {[]paperMemory{session}, `{"action":"update","old_id":"m1","statement":"They drink tea.",` + quote + `}`, `update active "They drink tea." () msg1`},
		"a session's, not mentioned":  {[]paperMemory{session}, `{"action":"none"}`, "kept 1"},
		"a session's, said by all":    {[]paperMemory{session}, create, `create "Tea on Mondays." () msg1; kept 1`},
		"a session's, to its twin": {[]paperMemory{session, {Statement: "Monday is tea.", Again: erased, Held: true, Kind: reverie.KindSession}},
			`{"action":"update","old_id":"m2","statement":"Tea on Mondays.",` + quote + `}`, `delete held (merged) msg1; kept 1`},
	} {
		p := paper{Memories: c.memories, Fresh: []paperMessage{{Text: "we have tea every Monday, all of us"}}}
		s, _, plan := p.judge(t, c.answer)
		checkInvariants(t, s, plan)
		var got []string
		note := func(prefix string, steps []reverie.Step) {
			for _, st := range steps {
				words := []string{prefix + string(st.Action)}
				if st.Judged != "" {
					words = append(words, string(st.Judged))
				}
				if st.Statement != "" {
					words = append(words, fmt.Sprintf("%q", st.Statement))
				}
				words = append(words, "("+st.Reason+")")
				for _, e := range st.Evidence {
					words = append(words, e.MessageID)
				}
				got = append(got, strings.Join(words, " "))
			}
		}
		note("", plan.Steps)
		note("held ", plan.Held)
		if len(plan.Judged) > 0 {
			got = append(got, fmt.Sprint("kept ", len(plan.Judged)))
		}
		for _, r := range plan.Refusals {
			got = append(got, r.Rule)
		}
		if got := strings.Join(got, "; "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// erase takes messages out of what memories rest on, as erasing their author does: the
// memories are held, and what else they rest on is pending again.
func (s *stage) erase(ids ...string) {
	s.Helper()
	lineages := s.rows(`delete from memory_evidence where group_id = $1 and message_id = any ($2) returning lineage_id`, s.group, pq.StringArray(ids))
	s.rows(`delete from message_uses where group_id = $1 and message_id = any ($2) returning 1`, s.group, pq.StringArray(ids))
	s.rows(`delete from messages where group_id = $1 and message_id = any ($2) returning 1`, s.group, pq.StringArray(ids))
	s.rows(`update memories set status = 'held', ended_at = $3, said_until = $3 where group_id = $1 and lineage_id = any ($2) and status = 'active' returning 1`,
		s.group, pq.StringArray(lineages), s.now)
	s.rows(`insert into rejudgements (group_id, lineage_id, memory_id, reason, created_at)
		select group_id, lineage_id, memory_id, 'evidence erased', $3 from memories
		where group_id = $1 and lineage_id = any ($2) and status = 'held'
		on conflict (group_id, lineage_id) do update set memory_id = excluded.memory_id, run_id = null returning 1`,
		s.group, pq.StringArray(lineages), s.now)
	s.rows(`update messages set run_id = null, outcome = null where group_id = $1 and message_id in (
		select message_id from memory_evidence where group_id = $1 and lineage_id = any ($2) and action <> 'delete' and withdrawn_at is null) returning 1`,
		s.group, pq.StringArray(lineages))
}

// lives are all versions of the group's memories that are or were held, by what they
// say, and whether they wait to be judged again.
func (s *stage) lives() []string {
	s.Helper()
	return s.rows(`select m.statement || ' v' || m.version || ' ' || m.status || case when q.run_id is null then ' waits' else '' end
		from memories m join rejudgements q using (group_id, lineage_id) where m.group_id = $1
		order by m.statement collate "C", m.version`, s.group)
}

// TestErasedEvidence follows memories that are held: the messages that are left bring
// them back, whichever night and chunk has those; what nothing bears out ends. Taking
// the nights back holds them again, and so on, and a memory never says unjudged what
// it was held for. What has ended, or says something else, is not kept.
func TestErasedEvidence(t *testing.T) {
	s := newStage(t)
	lost := s.say(night(0).Since.Add(time.Hour), "note Early.", "note Late.", "note Changed.", "note Nothing.", "note Untouched.", "note Silent.")
	s.again(0)
	s.on(1, "again Early.", "small talk")
	s.on(2, "again Late.", "change Changed. => Changed twice.", "again Silent.")
	s.erase(slices.Delete(slices.Clone(lost), 4, 5)...)
	if n := s.pending(); n != 4 {
		t.Fatalf("%d messages are pending again", n)
	}
	held := []string{"Changed twice. v2 held waits", "Changed. v1 superseded waits", "Early. v1 held waits", "Late. v1 held waits", "Nothing. v1 held waits", "Silent. v1 held waits"}
	if got := s.lives(); !slices.Equal(got, held) {
		t.Fatalf("held are %q", got)
	}
	s.rows(`update messages set text = 'again Changed twice.' where text like 'change Changed%' returning 1`)
	s.rows(`update messages set text = 'nothing about it' where text = 'again Silent.' returning 1`)

	dry := must(s.run(Request{Since: night(1).Since, Until: night(1).Until, DryRun: true}))(t)
	first := s.again(1)
	for name, res := range map[string]Result{"planned": dry, "done": first} {
		if res.Stats.Updated != 1 || res.Stats.Deleted != 1 || res.Stats.Kept != 1 || res.Stats.Base != 1 || res.Stats.Rewritten != 0 || res.Status != reverie.RunSucceeded {
			t.Errorf("%s: %s, stats %+v", name, res.Status, res.Stats)
		}
	}
	asked := s.questions()
	shown := asked[len(asked)-1].ExistingMemories
	if len(shown) != 3 || shown[0].Statement != "Early." || shown[1].Statement != "Nothing." || shown[0].JudgeAgain != "evidence erased" || !shown[1].Held ||
		shown[2].JudgeAgain != "" || !strings.Contains(asked[len(asked)-1].System, "the first 2 memories rest on") {
		t.Errorf("shown are %+v", shown)
	}
	second := s.again(2)
	if second.Stats.Updated != 2 || second.Stats.Deleted != 1 || second.Stats.Kept != 2 || second.Stats.Base != 2 {
		t.Errorf("stats %+v", second.Stats)
	}
	settled := []string{"Changed twice. v2 superseded", "Changed twice. v3 active", "Early. v1 superseded", "Early. v2 active",
		"Late. v1 superseded", "Late. v2 active", "[erased] v1 deprecated", "[erased] v1 superseded", "[erased] v1 deprecated"}
	if got := s.lives(); !slices.Equal(got, settled) {
		t.Errorf("settled are %q", got)
	}
	s.want(`select action, new_statement, change_summary from memory_change_log where old_statement = 'Early.'`, "update|Early.|Lin said so (judged again: evidence erased)")
	s.want(`select count(*) from memories where status = 'active' and (embedding is null or ended_at is not null)`, "0")
	s.want(`select round(strength::numeric, 3) from memories where statement = 'Early.' and status = 'active'`, "0.510")

	taken := s.rewind(night(1).Since, false)
	if taken.Restored != 3 || taken.Deprecated != 1 || s.pending() != 5 {
		t.Errorf("taken back %+v, %d pending", taken, s.pending())
	}
	again := []string{"Changed twice. v2 superseded waits", "Changed twice. v3 superseded waits", // what it said before is erased
		"Changed twice. v4 deprecated waits", "Early. v1 superseded waits", "Early. v2 superseded waits", "Early. v3 held waits"}
	if got := s.lives()[:6]; !slices.Equal(got, again) {
		t.Errorf("taken back: %q", s.lives())
	}
	s.want(`select count(*) from memories where status = 'held' and ended_at is not null`, "2")
	s.want(`select statement from memories where status = 'active'`, "Untouched.")
	s.again(1)
	s.again(2)
	if got := s.active(); !slices.Equal(got, []string{"Early. v4", "Late. v4", "Untouched. v1"}) {
		t.Errorf("done again: %q", got)
	}
}

// TestJudgedBesideWhatWaits brings a memory back beside changes that wait for a person, which
// are as sound afterwards.
func TestJudgedBesideWhatWaits(t *testing.T) {
	s := remembering(t, 4)
	s.say(evening.Add(-4*day), "again Memory 1.")
	s.evolve()
	s.erase("m0001")
	s.say(evening.Add(-2*day), "change Memory 2. => Two.", "change Memory 3. => Three.", "drop Memory 4.")
	res := s.evolve()
	if res.Status != reverie.RunHeld || res.Stats.Held != 3 || res.Stats.Updated != 1 || res.Stats.Kept != 3 {
		t.Fatalf("%s, stats %+v", res.Status, res.Stats)
	}
	if got := s.lives(); !slices.Equal(got, []string{"Memory 1. v1 superseded", "Memory 1. v2 active"}) {
		t.Errorf("lives %q", got)
	}
	done, err := s.approve(res.RunID)
	if err != nil || done.Stats.Updated != 2 || done.Stats.Deleted != 1 || done.Stats.Kept != 0 || len(done.Refusals) > 0 {
		t.Errorf("approved: %+v, %v", done.Stats, err)
	}
	s.want(`select stats->>'kept', stats->>'updated', stats->>'held' from runs where status = 'succeeded' and stats->>'deleted' = '1'`, "0|3|0")
}

// TestToJudge shows first what a chunk can judge, whatever the cut to those shown, and
// leaves to other chunks what their messages bear out.
func TestToJudge(t *testing.T) {
	memory := func(name string, held bool, awaits ...string) paperMemory {
		return paperMemory{Statement: name, Again: "why", Held: held, Awaits: awaits}
	}
	p := paper{Fresh: []paperMessage{{Text: "hello there"}}, Memories: []paperMemory{
		{Statement: "plain"}, memory("active elsewhere", false, "x"), memory("active whenever", false), memory("active here", false, "msg1"),
		memory("held elsewhere", true, "x"), memory("held whenever", true), memory("held here", true, "x", "msg1"), memory("held too", true, "msg1")}}
	s := p.sheet(t)
	for limit, want := range map[int][2][]string{
		50: {{"active here", "held here", "held too", "active whenever", "held whenever"}, {"plain", "active elsewhere"}},
		4:  {{"active here", "held here", "held too", "active whenever"}, {"plain", "active elsewhere"}},
		1:  {{"active here", "held here", "held too"}, {"plain", "active elsewhere", "active whenever"}},
	} {
		again, others := s.toJudge(limit)
		for i, list := range [][]reverie.HeadState{again, others} {
			var got []string
			for _, h := range list {
				got = append(got, h.Statement)
			}
			if !slices.Equal(got, want[i]) {
				t.Errorf("limit %d: %q, want %q", limit, got, want[i])
			}
		}
	}
}

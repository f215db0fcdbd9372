package maintain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/store/history"
	"reverie/store/pgtest"
)

// What is due is done, each sort of it, and no more; a dry run says the same and
// writes nothing; a second run finds nothing, and leaves no trace.
func TestMaintain(t *testing.T) {
	w := newWorld(t)
	w.story()
	k, before := w.keeper(w.store), w.account()
	dry := must(k.Run(t.Context(), nil, Request{GroupID: w.group, DryRun: true}))(t)
	if after := w.account(); !slices.Equal(after, before) {
		t.Errorf("a dry run wrote:\n%s", strings.Join(after, "\n"))
	}
	if !must(k.Due(t.Context(), w.group))(t) {
		t.Error("nothing is due")
	}
	done := w.maintain()
	want := reverie.Pruned{ShortTerm: 1, Messages: 5, Answers: 2, Usage: 3}
	for name, r := range map[string]Result{"dry run": dry, "run": done} {
		if len(r.Changes) != 2 || r.Pruned != want || r.Status != reverie.RunSucceeded || r.NoNew {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if done.RunID == "" || dry.RunID != "" || done.Stats.Archived != 2 || done.Stats.Pruned != 11 {
		t.Errorf("run %q, stats %+v", done.RunID, done.Stats)
	}
	w.want(`select statement, status, round(strength::numeric, 4), ended_at is null from memories where group_id = $1 order by 1`,
		"drinks tea|active|0.8000|true", "has a cat|archived|0.3000|false", "is called Lin|active|0.4000|true",
		"lives in Berlin|archived|0.3000|false", "plays go|active|0.5000|true")
	w.want(`select action, old_statement, new_statement, change_summary, run_id is null from memory_change_log where group_id = $1 and action <> 'create' order by 2`,
		"archive|has a cat||weight 0.20 is below 0.3|false",
		"archive|lives in Berlin||said once, never used in an answer, and silent for 60 of the group's active nights|false")
	w.want(`select text, author, pruned_at is null from messages where group_id = $1 order by sent_at`, "|Lin|false", "|bot|false", "|Lin|false", "|bot|false",
		"|Lin|false", "shall we meet|Lin|true", ">yes|bot|true", "nobody has read this|Lin|true", "hello|Lin|true", "now?|Lin|true")
	w.want(`select session_id, messages, new_messages, new_tokens > 0, new_turns from sessions where group_id = $1 and not cut order by 1`,
		"live|3|3|true|1", "old|5|0|false|0")
	w.want(`select session_id from session_summaries where group_id = $1`, "live")
	w.want(`select lineage_id, offered, referenced, ignored from memory_usage_totals where group_id = $1 order by 1`,
		"00000001-0000-4000-8000-000000000000|2|1|0", "00000002-0000-4000-8000-000000000000|1|0|1")
	w.want(`select c.answer, a.answer from run_chunks c left join answers a using (group_id, run_id) where c.group_id = $1 order by 1`, "|", "an answer|another")
	w.want(`select status, stats->>'archived', stats->>'pruned' from runs where group_id = $1 and job = 'maintain'`, "succeeded|2|11")
	before = w.account()
	if again := w.maintain(); !again.NoNew || again.RunID != "" || must(k.Due(t.Context(), w.group))(t) {
		t.Errorf("again: %+v", again)
	}
	if after := w.account(); !slices.Equal(after, before) {
		t.Errorf("again:\n%s", strings.Join(after, "\n"))
	}
}

// A process may die before the first and the last of each sort of call that it makes
// to the store: the next one ends in the state of one that nobody disturbed, as the
// same run.
func TestDeathAnywhere(t *testing.T) {
	w := newWorld(t)
	w.story()
	undisturbed := pgtest.NewMortal(w.store, -1)
	must(w.run(w.keeper(undisturbed)))(t)
	want := w.account()
	if n := len(undisturbed.Calls); n < 12 || n > 30 {
		t.Fatalf("%d calls: %v", n, undisturbed.Calls)
	}
	for n, call := range undisturbed.Ends() {
		w.enter(fmt.Sprintf("death%d", n))
		w.story()
		if _, err := w.run(w.keeper(pgtest.NewMortal(w.store, n))); !errors.Is(err, pgtest.ErrDead) {
			t.Fatalf("before call %d (%s): %v", n+1, call, err)
		}
		w.maintain()
		if got := w.account(); !slices.Equal(got, want) {
			t.Fatalf("death before call %d (%s):\n got %s\nwant %s", n+1, call, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
}

// Whoever has lost the lease writes nothing; and what somebody changes while it is
// looked at is looked at again.
func TestOthersMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.story()
	thief := pgtest.NewMortal(w.store, -1, func(call string) {
		if call == "Fade" {
			w.exec(`update leases set holder = 'another', fence = fence + 1 where group_id = $1`, w.group)
		}
	})
	h := w.hold()
	_, err := w.keeper(thief).Run(t.Context(), h, Request{GroupID: w.group})
	if !errors.Is(err, reverie.ErrLeaseLost) {
		t.Errorf("error %v", err)
	}
	w.want(`select count(*) from memories where group_id = $1 and status <> 'active'`, "0")
	w.exec(`update leases set expires_at = 'epoch' where group_id = $1`, w.group)

	changed := false
	person := pgtest.NewMortal(w.store, -1, func(call string) {
		if call == "Fade" && !changed {
			changed = true
			w.exec(`update memories set weight = 1.7 where group_id = $1 and statement in ('lives in Berlin', 'has a cat')`, w.group)
		}
	})
	res := must(w.run(w.keeper(person)))(t)
	if len(res.Changes) != 0 {
		t.Errorf("%+v", res)
	}
	w.want(`select status from runs where group_id = $1 and job = 'maintain'`, "succeeded") // the one that lost its lease, continued
}

// What was archived is out of all that is active, and restored it stays.
func TestRestore(t *testing.T) {
	w := newWorld(t)
	w.evolve(noon.Add(-60*day), w.say("", noon.Add(-60*day), "I live in Berlin"), false, fact("lives in Berlin", 0.3, noon.Add(-60*day)))
	w.exec(`update memories set type = 'opinion' where group_id = $1`, w.group)
	w.nights(noon.Add(-60*day), 60)
	id := w.maintain().Changes[0].MemoryID
	w.now = noon.Add(time.Hour)
	if _, n, err := w.store.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: w.group, Status: reverie.StatusActive}); n != 0 || err != nil {
		t.Errorf("%d active, %v", n, err)
	}
	then := must2(w.store.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: w.group, At: noon.Add(-time.Second), Recorded: true}))(t)
	since := must2(w.store.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: w.group, At: noon, Recorded: true}))(t)
	archived := must2(w.store.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: w.group, Status: reverie.StatusArchived}))(t)
	if len(then) != 1 || len(since) != 0 || len(archived) != 1 {
		t.Errorf("active before %d, since %d; archived %d", len(then), len(since), len(archived))
	}
	state := must(w.store.Gather(t.Context(), reverie.GatherQuery{GroupID: w.group, Kind: reverie.KindGroup, Limit: 1}))(t)
	if len(state.Heads) != 0 {
		t.Errorf("evolve sees %+v", state.Heads)
	}
	why := must(history.New(w.store.DB()).Why(t.Context(), w.group, id))(t)
	if later := why.Versions[0].Later; len(later) != 1 || later[0].Action != reverie.ActionArchive || later[0].RunID == "" {
		t.Errorf("what befell it: %+v", why.Versions[0].Later)
	}
	back := must(w.store.Edit(t.Context(), reverie.Edit{GroupID: w.group, MemoryID: id, Action: reverie.ActionRestore}))(t)
	if back.Version != 2 || back.Status != reverie.StatusActive || back.Strength != reverie.EstablishedStrength || back.Weight != reverie.DefaultWeight {
		t.Errorf("restored %+v", back)
	}
	w.now = noon.Add(13 * day)
	if res := w.maintain(); len(res.Changes) != 0 {
		t.Errorf("maintained again: %+v", res)
	}
	w.want(`select version, status from memories where group_id = $1 order by 1`, "1|superseded", "2|active")
}

// must2 is must without a count.
func must2[V any](v V, _ int, err error) func(testing.TB) V { return must(v, err) }

// A group that rests forgets nothing, nor one whose old chat has just been written down; a use
// in an answer keeps what was said once.
func TestSilenceIsActive(t *testing.T) {
	w := newWorld(t)
	said := noon.Add(-400 * day)
	w.evolve(said, w.say("", said, "tea"), false, fact("drinks tea", 0.3, said), fact("a joke", 0.3, said), fact("likes cake", 0.3, said))
	w.exec(`update memories set type = case statement when 'drinks tea' then 'fact' else 'culture' end where group_id = $1`, w.group)
	k := w.keeper(w.store)
	k.Retention = reverie.Retention{}
	if res := must(w.run(k))(t); !res.NoNew {
		t.Errorf("a group that rests: %+v", res)
	}
	w.nights(said, 60)
	w.exec(`update memories set updated_at = $2, created_at = $2 where group_id = $1`, w.group, noon) // an import, long after
	w.exec(`insert into memory_usage_totals (group_id, lineage_id, offered, referenced, last_offered_at, last_used_at)
		select group_id, lineage_id, 1, 1, $2, $2 from memories where group_id = $1 and statement = 'likes cake'`, w.group, said)
	if res := must(w.run(k))(t); len(res.Changes) != 1 || res.Changes[0].OldStatement != "a joke" {
		t.Errorf("silent for sixty nights: %+v", res)
	}
	w.nights(noon, 60)
	w.now = noon.Add(100 * day)
	if res := must(w.run(k))(t); len(res.Changes) != 1 || res.Changes[0].OldStatement != "drinks tea" {
		t.Errorf("sixty nights after it was written: %+v", res)
	}
}

// What a dream has closed goes when its time is over, counted up to the newest message; what is
// core stays.
func TestClosedThreads(t *testing.T) {
	w := newWorld(t)
	k := w.keeper(w.store)
	k.Retention = reverie.Retention{}
	w.evolve(noon, w.say("", noon, "so it is"), false, fact("the cake is ordered", 0.5, noon), fact("the hall is booked", 0.5, noon), fact("a choir is sought", 0.5, noon))
	w.exec(`update memories set kind = 'dream', tags = case when statement like 'a %' then array['dream', 'long-term', 'todo']
		else array['dream', 'long-term', 'todo', 'done'] end, weight = case when statement like 'the hall%' then 1.5 else 1 end where group_id = $1`, w.group)
	w.now = noon.Add(30 * day)
	w.say("", noon.Add(7*day-time.Microsecond), "nearly")
	if res := must(w.run(k))(t); !res.NoNew || must(k.Due(t.Context(), w.group))(t) {
		t.Errorf("before its time: %+v", res)
	}
	w.say("", noon.Add(7*day), "now")
	k.Rule.Closed = 0
	if must(k.Due(t.Context(), w.group))(t) {
		t.Error("it is due where nothing is ever archived for being closed")
	}
	k.Rule.Closed = 7 * day
	if res := must(w.run(k))(t); len(res.Changes) != 1 || res.Changes[0].Summary != "closed on 2026-01-15" {
		t.Errorf("%+v", res)
	}
	w.want(`select statement, status from memories where group_id = $1 order by 1`, "a choir is sought|active", "the cake is ordered|archived", "the hall is booked|active")
	if res := must(w.run(k))(t); !res.NoNew {
		t.Errorf("again: %+v", res)
	}
}

// A text stays as long as anybody may want to read it.
func TestWhatIsNotPruned(t *testing.T) {
	w := newWorld(t)
	long := noon.Add(-60 * day)
	w.say("", long, "pending")
	w.evolve(long.Add(day), w.say("", long.Add(time.Hour), "held"), true, fact("drinks tea", 0.8, noon))
	w.evolve(long.Add(day), w.say("live", long.Add(2*time.Hour), "of a session that goes on"), false)
	w.say("live", noon, "today")
	followed := w.say("", long.Add(3*time.Hour), "of somebody who is followed")
	w.evolve(long.Add(day), followed, false)
	w.exec(`insert into message_uses (group_id, job, message_id, sent_at) values ($1, 'impression', $2, $3)`, w.group, followed[0], long)
	w.evolve(long.Add(day), w.say("", long.Add(4*time.Hour), "done with"), false)
	k := w.keeper(w.store)
	k.Impressions = true
	k.Retention.Answers = 0
	if res := must(w.run(k))(t); res.Pruned.Messages != 1 {
		t.Errorf("pruned %+v", res.Pruned)
	}
	const texts = `select text from messages where group_id = $1 and text <> '' order by sent_at`
	w.want(texts, "pending", "held", "of a session that goes on", "of somebody who is followed", "today")
	w.want(`select count(*) from run_chunks where group_id = $1 and answer = ''`, "0")

	// Nobody is followed any more, a person has decided, and the session was extracted.
	w.exec(`update groups set impressions = 'off' where group_id = $1`, w.group)
	w.exec(`update held_plans set status = 'rejected' where group_id = $1`, w.group)
	w.exec(`update message_uses u set run_id = r.run_id from (select run_id from runs where group_id = $1 limit 1) r
		where u.group_id = $1 and u.job = 'extract' and u.session_id = 'live'`, w.group)
	k.Retention.Answers = 30 * day
	if res := must(w.run(k))(t); res.Pruned.Messages != 3 || res.Pruned.Answers != 8 {
		t.Errorf("pruned %+v", res.Pruned)
	}
	w.want(texts, "pending", "today")
	w.want(`select count(*) from message_uses where group_id = $1 and run_id is null and job = 'impression'`, "0")

	// A text that is gone does not come back, and is nobody's to read.
	again := must(w.store.ImportMessages(t.Context(), w.group, []reverie.Message{{ID: followed[0], Author: "Lin", Text: "once more", SentAt: long}}))(t)
	queued := must(w.store.QueueMessages(t.Context(), w.group, reverie.JobImpression, time.Time{}, time.Time{}))(t)
	state := must(w.store.Gather(t.Context(), reverie.GatherQuery{GroupID: w.group, Kind: reverie.KindGroup, Limit: 9, ContextSince: long, ContextLimit: 9}))(t)
	if again.Known != 1 || queued != 0 || len(state.Context) != 0 {
		t.Errorf("imported %+v, queued %d, shown %+v", again, queued, state.Context)
	}
	if _, err := history.New(w.store.DB()).Rewindable(t.Context(), w.group, time.Time{}); !errors.Is(err, reverie.ErrConflict) {
		t.Errorf("a rewind to what nobody can read: %v", err)
	}
}

// An answer is kept as long as a run may be taken up for its sake.
func TestAnswerThatIsPaidFor(t *testing.T) {
	w := newWorld(t)
	w.now = noon.Add(-60 * day)
	ids := w.say("", w.now.Add(-time.Hour), "tea")
	h := w.hold()
	run := must(w.store.StartRun(t.Context(), h.lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: w.now.Add(-day), WindowUntil: w.now}))(t)
	if err := w.store.SaveChunk(t.Context(), h.lease, reverie.Chunk{RunID: run.ID, No: 1, MessageIDs: ids, Answer: "paid for", Status: reverie.ChunkAnswered}); err != nil {
		t.Fatal(err)
	}
	run.Status = reverie.RunDeferred
	must(w.store.FinishRun(t.Context(), h.lease, run))(t)
	w.release(h)
	w.now = noon
	if res := w.maintain(); !res.NoNew {
		t.Errorf("%+v", res)
	}
	w.evolve(noon.Add(-40*day), ids, false)
	if res := w.maintain(); res.Pruned.Answers != 3 || res.Pruned.Messages != 1 {
		t.Errorf("%+v", res)
	}
	w.want(`select answer from run_chunks where group_id = $1`, "", "")
}

// What batches have answered is kept for as long as other answers; what is out stays until it has come.
func TestAnswersOfBatches(t *testing.T) {
	w := newWorld(t)
	old := w.evolve(noon.Add(-60*day), w.say("", noon.Add(-60*day), "tea"), false)
	late := w.evolve(noon, w.say("", noon, "bus"), false)
	for i, q := range []struct{ run, status string }{{old, "answered"}, {old, "failed"}, {old, "waiting"}, {old, "erased"}, {late, "answered"}} {
		w.exec(`insert into batch_questions (group_id, question_id, run_id, input_sha256, nth, model, purpose, batch_id, status, nonce, tokens,
			max_tokens, system_text, user_text, answer, created_at) values ($1, $2, $3, '', $4, 'm', 'evolve', $5, $6, '', 1, 1, '', '', $6, $7)`,
			w.group, reverie.NewID(), q.run, i, reverie.NewID(), q.status, noon)
	}
	k := w.keeper(w.store)
	k.Retention = reverie.Retention{Answers: 30 * day}
	dry := must(k.Run(t.Context(), nil, Request{GroupID: w.group, DryRun: true}))(t)
	if res := must(w.run(k))(t); res.Pruned.Answers != 4 || dry.Pruned != res.Pruned { // with the answer of a chunk, and one to compare
		t.Errorf("pruned %+v, foretold %+v", res.Pruned, dry.Pruned)
	}
	w.want(`select status, run_id = (select run_id from runs where group_id = $1 and job = 'evolve' order by started_at desc limit 1)
		from batch_questions where group_id = $1 order by 1`, "answered|true", "erased|false", "waiting|false")
	if res := must(w.run(k))(t); !res.NoNew {
		t.Errorf("again: %+v", res)
	}
}

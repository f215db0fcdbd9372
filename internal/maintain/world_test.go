package maintain

import (
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// world is a store with groups, and a clock that tests move.
type world struct {
	*testing.T
	store *store.Store
	db    *sql.DB
	now   time.Time
	group string
	told  int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, now: noon}
	w.store = pgtest.Open(t, pg.Options{Now: func() time.Time { return w.now }})
	w.db = must(sql.Open("postgres", pgtest.URL(t)))(t)
	t.Cleanup(func() { _ = w.db.Close() })
	w.enter("g1")
	return w
}

// must unwraps a result or ends the test.
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// enter goes on in a group of its own.
func (w *world) enter(id string) {
	w.Helper()
	w.group = id
	must(w.store.EnsureGroup(w.Context(), reverie.Group{ID: id, TimeZone: "Asia/Shanghai"}))(w)
}

// keeper prunes what is older than 30 days, and folds nothing after 7.
func (w *world) keeper(s Store) *Keeper {
	return &Keeper{Store: s, Rule: rule, Batch: 2, Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler),
		Retention: reverie.Retention{ShortTerm: 7 * day, Messages: 30 * day, Answers: 30 * day, Usage: 30 * day}}
}

// holding is a lease that nothing renews.
type holding struct{ lease reverie.Lease }

func (h holding) Lease() reverie.Lease            { return h.lease }
func (h holding) Exclusive(fn func() error) error { return fn() }

func (w *world) hold() holding {
	w.Helper()
	w.told++
	return holding{must(w.store.AcquireLease(w.Context(), w.group, reverie.LeaseGroup, fmt.Sprintf("test:%d", w.told), time.Minute))(w)}
}

func (w *world) release(h holding) {
	w.Helper()
	if err := w.store.ReleaseLease(w.Context(), h.lease); err != nil {
		w.Fatal(err)
	}
}

// run maintains the group.
func (w *world) run(k *Keeper) (Result, error) {
	w.Helper()
	h := w.hold()
	defer w.release(h)
	return k.Run(w.Context(), h, Request{GroupID: w.group})
}

// maintain is run, which must go well.
func (w *world) maintain() Result {
	w.Helper()
	return must(w.run(w.keeper(w.store)))(w)
}

// say imports messages of a session, a minute apart; a text that begins with > is an
// assistant's.
func (w *world) say(session string, at time.Time, texts ...string) []string {
	w.Helper()
	var list []reverie.Message
	var ids []string
	for i, text := range texts {
		w.told++
		m := reverie.Message{ID: fmt.Sprintf("m%05d", w.told), Author: "Lin", Role: reverie.RoleUser, Text: text, SessionID: session,
			SentAt: at.Add(time.Duration(i) * time.Minute)}
		if text[0] == '>' {
			m.Author, m.Role = "bot", reverie.RoleAssistant
		}
		list, ids = append(list, m), append(ids, m.ID)
	}
	must(w.store.ImportMessages(w.Context(), w.group, list))(w)
	return ids
}

// fact creates a memory with evidence of a date.
func fact(statement string, strength float64, supported time.Time) reverie.Step {
	return reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(), Statement: statement,
		ContentHash: text.ContentHash(statement), Strength: strength, LastSupportedAt: supported, Evidence: []reverie.Evidence{{MessageID: "m0",
			Author: "Lin", Quote: statement, SentAt: supported, LocalDate: supported.Format(time.DateOnly)}}}
}

// evolve has a run consume messages and create memories, at a time of its own; what
// it holds waits for a person.
func (w *world) evolve(at time.Time, ids []string, held bool, steps ...reverie.Step) (runID string) {
	w.Helper()
	defer func(now time.Time) { w.now = now }(w.now)
	w.now = at
	h, ctx := w.hold(), w.Context()
	defer w.release(h)
	run := must(w.store.StartRun(ctx, h.lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: at.Add(-day), WindowUntil: at}))(w)
	err := w.store.SaveChunk(ctx, h.lease, reverie.Chunk{RunID: run.ID, No: 1, MessageIDs: ids, Answer: "an answer", Status: reverie.ChunkAnswered})
	if err == nil {
		err = w.store.SaveAnswer(ctx, h.lease, reverie.Answer{GroupID: w.group, RunID: run.ID, InputSHA256: "q", Purpose: "compare", Text: "another"})
	}
	plan := reverie.Plan{GroupID: w.group, RunID: run.ID, ChunkNo: 1, Kind: reverie.KindGroup, Steps: steps, Outcomes: map[string]reverie.Outcome{}}
	for _, id := range ids {
		plan.Outcomes[id] = reverie.OutcomeConsidered
	}
	run.Status = reverie.RunSucceeded
	if held {
		plan.Steps, plan.Held, plan.HeldAll, run.Status = nil, steps, true, reverie.RunHeld
	}
	if err == nil {
		_, err = w.store.Apply(ctx, h.lease, plan)
	}
	if err == nil {
		_, err = w.store.FinishRun(ctx, h.lease, run)
	}
	if err != nil {
		w.Fatal(err)
	}
	return run.ID
}

// exec changes the database behind the store's back.
func (w *world) exec(query string, args ...any) {
	w.Helper()
	must(w.db.ExecContext(w.Context(), query, args...))(w)
}

// want fails the test where a query's rows are others.
func (w *world) want(query string, rows ...string) {
	w.Helper()
	if got := pgtest.Rows(w, w.db, query, w.group); !slices.Equal(got, rows) {
		w.Errorf("%s:\n got %q\nwant %q", query, got, rows)
	}
}

// story is a group with something to do for every step.
func (w *world) story() {
	w.Helper()
	long := noon.Add(-60 * day)
	read := w.say("old", long, "the tea house closes", ">it does", "at nine", ">at nine", "thanks")
	live := w.say("live", long.Add(time.Hour), "shall we meet", ">yes")
	w.say("live", noon.Add(-time.Hour), "now?")
	w.say("", long.Add(3*time.Hour), "nobody has read this")
	run := w.evolve(long.Add(12*time.Hour), append(read, live...), false, fact("drinks tea", 0.8, noon.Add(-104*day)), fact("lives in Berlin", 0.3, noon.Add(-60*day)),
		fact("plays go", 0.5, noon.Add(-20*day)), fact("has a cat", 0.3, noon.Add(-day)), fact("is called Lin", 0.4, noon.Add(-300*day)))
	w.evolve(noon.Add(-time.Hour), w.say("", noon.Add(-26*time.Hour), "hello"), false)
	for statement, weight := range map[string]float64{"is called Lin": 1.8, "has a cat": 0.2} {
		w.exec(`update memories set weight = $3 where group_id = $1 and statement = $2`, w.group, statement, weight)
	}
	w.exec(`update memories set type = 'culture' where group_id = $1 and statement = 'lives in Berlin'`, w.group)
	w.nights(noon.Add(-60*day), 60)
	w.exec(`insert into session_summaries (group_id, session_id, summary, messages, turns, tokens, first_message_id, last_message_id,
			covers_since, covers_until, run_id, created_at, updated_at)
		select group_id, session_id, 'of ' || session_id, 1, 1, 1, 'a', 'b', first_at, last_at, $2::uuid, last_at, last_at
		from sessions where group_id = $1 and session_id in ('old', 'live')`, w.group, run)
	var rows []reverie.Usage
	for i, age := range []time.Duration{40 * day, 39 * day, 38 * day, day} {
		rows = append(rows, reverie.Usage{GroupID: w.group, UsageID: reverie.NewID(), MemoryID: reverie.NewID(), Position: 1,
			LineageID: fmt.Sprintf("%08d-0000-4000-8000-000000000000", 1+i%2), CreatedAt: noon.Add(-age)})
	}
	if err := w.store.LogUsage(w.Context(), rows); err != nil {
		w.Fatal(err)
	}
	w.exec(`update memory_usage_log set was_referenced = created_at < $2, judged_at = created_at where group_id = $1 and created_at < $3`,
		w.group, noon.Add(-39*day-time.Hour), noon.Add(-38*day-time.Hour))
}

// nights has the group talk on so many nights after an instant.
func (w *world) nights(after time.Time, n int) {
	w.Helper()
	w.exec(`insert into active_nights (group_id, night) select $1, $2::timestamptz::date + n from generate_series(1, $3::int) n
		on conflict do nothing`, w.group, after, n)
}

// account is all that maintenance leaves to a group, without the ids that are new
// each time.
func (w *world) account() []string {
	w.Helper()
	var list []string
	for name, query := range map[string]string{
		"memory": `select statement, version, status, round(strength::numeric, 9), weight, date_trunc('milliseconds', ended_at) as ended_at from memories where group_id = $1`,
		"change": `select c.action, c.old_statement, c.new_statement, c.change_summary, c.version, r.job from memory_change_log c
			left join runs r using (group_id, run_id) where c.group_id = $1 and c.action <> 'create'`,
		"message": `select m.text, m.author_id, m.pruned_at, m.outcome, u.job, r.job from messages m left join message_uses u using (group_id, message_id)
			left join runs r on r.group_id = m.group_id and r.run_id = u.run_id where m.group_id = $1`,
		"session": `select session_id, messages, new_messages, new_tokens, new_turns from sessions where group_id = $1 and not cut`,
		"summary": `select session_id, summary from session_summaries where group_id = $1`,
		"answer":  `select purpose, answer from answers where group_id = $1`,
		"chunk":   `select c.status, c.answer from run_chunks c where c.group_id = $1`,
		"usage":   `select count(*) from memory_usage_log where group_id = $1`,
		"total":   `select lineage_id, offered, referenced, ignored, last_offered_at from memory_usage_totals where group_id = $1`,
		"run":     `select job, status, error, stats, attempt from runs where group_id = $1 and job = 'maintain'`,
	} {
		for _, row := range pgtest.Rows(w, w.db, query, w.group) {
			list = append(list, name+": "+row)
		}
	}
	slices.Sort(list)
	return list
}

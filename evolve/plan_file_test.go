package evolve

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/lib/pq"

	"reverie/internal/planfile"
	"reverie/internal/reverie"
)

// planned is a plan of all that is pending, as it is read from its file.
func (s *stage) planned(req Request) *planfile.File {
	s.Helper()
	return s.read(s.planText(req))
}

// planText is the file of a plan.
func (s *stage) planText(req Request) string {
	s.Helper()
	req.DryRun, req.PlanID = true, reverie.NewID()
	res, err := s.run(req)
	if err != nil {
		s.Fatalf("plan: %v", err)
	}
	return planText(s, res.Plan)
}

func planText(t testing.TB, plan *planfile.File) string {
	t.Helper()
	var b bytes.Buffer
	if err := plan.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func (s *stage) read(text string) *planfile.File {
	s.Helper()
	return must(planfile.Read(strings.NewReader(text)))(s)
}

func (s *stage) applyPlan(plan *planfile.File) (Result, error) {
	s.Helper()
	h := s.hold()
	defer s.release(h)
	return s.pipe.ApplyPlan(s.Context(), s.store, h, plan)
}

// checksum names all rows of all tables but leases and those named.
func (s *stage) checksum(except ...string) string {
	s.Helper()
	return s.rows(`select md5(string_agg(query_to_xml(format('select t::text from %I t order by 1', tablename), true, false, '')::text, '' order by tablename))
		from pg_tables where schemaname = 'public' and tablename <> 'leases' and tablename <> all ($1)`, pq.StringArray(except))[0]
}

// but the calls that are made and the vectors that are kept.
var called = []string{"llm_calls", "embedding_cache"}

// planOfStats is what the stats of a run say only where a plan was applied, or only where
// none was.
var planOfStats = regexp.MustCompile(`"(plan|limit)": ("[0-9a-f]*"|[0-9]+)(, )?`)

// stated is the account of a group without what tells a plan from a run.
func (s *stage) stated() (list []string) {
	s.Helper()
	for _, row := range s.account() {
		list = append(list, strings.ReplaceAll(planOfStats.ReplaceAllString(row, ""), ", }", "}"))
	}
	return list
}

// Applying a plan leaves what evolving leaves: memories, change log, outcomes, chunks,
// refusals and what is held, over three chunks of which later ones rest on what earlier
// ones create. It asks nothing, and is there once. Neither line ends nor a byte order mark
// matter.
func TestPlanIsTheRun(t *testing.T) {
	s := newStage(t)
	twin := s.beside(t, "g2")
	crashStory(s)
	crashStory(twin)
	before := s.checksum(called...)
	file := s.planText(Request{Days: 30})
	if got := s.checksum(called...); got != before {
		t.Error("planning has changed more than the calls and cached embeddings")
	}
	must(twin.run(Request{Days: 30}))(t)
	asked := len(s.model.Requests())
	res, err := s.applyPlan(s.read("\uFEFF" + strings.ReplaceAll(file, "\n", "\r\n")))
	if err != nil || res.Status != reverie.RunHeld || len(res.Held) != 1 || len(res.Refusals) != 1 {
		t.Fatalf("applied: %+v, %v", res, err)
	}
	if len(s.questions()) != 5 { // three of them the plan's
		t.Errorf("applying asked: %d questions, %d requests before", len(s.questions()), asked)
	}
	if got, want := s.stated(), twin.stated(); !slices.Equal(got, want) {
		t.Errorf("the plan, and the run (-want +got):\n%s", cmp.Diff(want, got))
	}
	plan := s.read(file)
	s.want(`select model, prompt_version, stats->>'plan', stats->'edited', (select count(*) from llm_calls c where c.run_id = r.run_id and purpose = 'evolve')
		from runs r where run_id = '`+plan.Run.ID+`'`, plan.Run.Model+"|"+plan.Run.PromptVersion+"|"+must(plan.Sum())(t)+"||3")

	sum := s.checksum()
	again, err := s.applyPlan(plan)
	if err != nil || !again.NoNew || again.RunID != plan.Run.ID || s.checksum() != sum {
		t.Errorf("applied again: %+v, %v", again, err)
	}
	_, err = s.applyPlan(s.read(strings.Replace(file, "Seven, refined.", "Seven, better.", 1)))
	wantErr(t, err, reverie.ErrInvalid)
	if s.checksum() != sum {
		t.Error("a plan of the same id and other lines has changed something")
	}
}

// The decisions of a plan are those of the run, with the ids of what was written.
func TestPlanOfComparedNight(t *testing.T) {
	c := newComparing(t, "Milk is drunk.", "Chess is played.", "Cars are not.", "Rain is feared.", "Snow is awaited.")
	c.verdicts = map[string]string{"Milk is fresh.": "update Milk is drunk fresh.", "Chess is out.": "conflict", "Birds are loud.": "conflict"}
	c.say(evening.Add(-day), "note Milk is fresh.", "note Chess is out.", "note Birds sing.", "note Birds are loud.")
	plan := c.planned(Request{})
	res, err := c.applyPlan(plan)
	want := reverie.Stats{Kept: 3, Updated: 1, Created: 2, Deleted: 1, Cited: 3, Considered: 1, Chunks: 1, Compared: 3, Base: 5, Rewritten: 2, Plan: must(plan.Sum())(t)}
	if err != nil || res.Stats != want {
		t.Errorf("%v, stats %+v", err, res.Stats)
	}
	c.want(`select decision_no, action, statement, coalesce((select m.statement from memories m where m.group_id = d.group_id and m.memory_id = d.target_id), '-'),
			coalesce((select m.statement from memories m where m.group_id = d.group_id and m.memory_id = d.memory_id), '-') from decisions d
		where run_id = '`+plan.Run.ID+`' order by 1`,
		"1|UPDATE|Milk is fresh.|Milk is drunk.|Milk is drunk fresh.", "2|DELETE+ADD|Chess is out.|Chess is played.|Chess is out.",
		"3|ADD|Birds sing.|-|-", "4|DELETE+ADD|Birds are loud.|-|Birds are loud.")
}

// What a run would have held waits where a plan is applied.
func TestPlanHolds(t *testing.T) {
	s := remembering(t, 4)
	s.say(evening.Add(-2*day), "drop Memory 1.", "change Memory 2. => Two.", "change Memory 3. => Three.", "note 新的一条。")
	plan := s.planned(Request{})
	if c := plan.Chunks[0].Plan; c.HeldAll || len(c.Steps) != 1 || len(c.Held) != 3 {
		t.Fatalf("planned: %+v", c)
	}
	res, err := s.applyPlan(plan)
	if err != nil || res.Status != reverie.RunHeld || res.Stats.Held != 3 || len(res.Changes) != 1 {
		t.Fatalf("applied: %+v, %v", res, err)
	}
	must(s.approve(res.RunID))(t)
	if got := s.active(); !slices.Equal(got, []string{"Memory 4. v1", "Three. v2", "Two. v2", "新的一条。 v1"}) {
		t.Errorf("active: %q", got)
	}
	s.want(`select outcome, count(*) from messages where sent_at > '2026-01-12' group by 1 order by 1`, "cited|4")
}

// How strong a memory is may change between a plan and its being applied: what its steps make
// of that is computed anew, one chunk after the other.
func TestPlanStrengthens(t *testing.T) {
	s := remembering(t, 3)
	s.pipe.Limits.MaxMessages = 1
	s.say(evening.Add(-2*day), "again Memory 1.")
	s.say(evening.Add(-day), "again Memory 1.")
	plan := s.planned(Request{})
	s.edit(reverie.ActionStrength, "Memory 1.", 0.5)
	if _, err := s.applyPlan(plan); err != nil {
		t.Fatal(err)
	}
	s.want(`select round(strength::numeric, 3) from memories where statement = 'Memory 1.'`, "0.755") // 0.5 -> 0.65 -> 0.755
}

// A plan in which anything is other than it was written is refused whole, and nothing is
// changed, in no group. So is one of another group or database.
func TestPlanIsNotEdited(t *testing.T) {
	s := remembering(t, 3)
	s.beside(t, "g2")
	s.say(evening.Add(-day), "change Memory 1. => One.", "note New.", "drop Memory 2.")
	file := s.planText(Request{})
	f := s.read(file)
	before := s.checksum()
	for name, edit := range map[string]func(string) string{
		"a statement":           swapped(`"statement": "New."`, `"statement": "Newer."`),
		"another group":         swapped(`"group_id": "g1"`, `"group_id": "g2"`),
		"another memory":        swapped(f.Heads[0].ID, f.Heads[1].ID),
		"another model":         swapped(`"model": "openai/fake"`, `"model": "openai/better"`),
		"an id of its own":      swapped(f.Run.ID, reverie.NewID()),
		"another question":      swapped(f.Chunks[0].Asked.InputSHA256, f.Heads[0].SHA256),
		"the model's words":     swapped(`"answer": "`, `"answer": "Surely. `),
		"an outcome":            swapped(`": "cited"`, `": "considered"`),
		"a hash":                swapped(f.Heads[0].SHA256, f.Heads[1].SHA256),
		"strength":              swapped(`"strength": 0.3`, `"strength": 0.9`),
		"without a seal":        swapped(f.Seal, ""),
		"the seal of something": swapped(f.Seal, f.Heads[0].SHA256),
		"a field said twice":    swapped(`"statement": "New."`, `"statement": "New.", "statement": "Newer."`),
	} {
		edited := edit(file)
		if edited == file {
			t.Errorf("%s: the plan was not changed", name)
			continue
		}
		_, err := s.applyPlan(s.read(edited))
		if wantErr(t, err, reverie.ErrInvalid); s.checksum() != before {
			t.Fatalf("%s: something has changed", name)
		}
	}
	s.rows(`update groups set plan_key = gen_random_uuid() where group_id = 'g1'`)
	_, err := s.applyPlan(f)
	wantErr(t, err, reverie.ErrInvalid)
}

// A plan rests on memories and messages as they were.
func TestPlanIsStale(t *testing.T) {
	for name, c := range map[string]struct{ change, says string }{
		"a memory deleted":  {`update memories set status = 'deprecated', ended_at = now() where statement = 'Memory 3.'`, "since: memory "},
		"a memory reworded": {`update memories set statement = 'Memory 9.' where statement = 'Memory 3.'`, "since: memory "},
		"a message erased":  {`update messages set text = '', pruned_at = now() where run_id is null`, "since: message "},
		"a message edited":  {`update messages set text = 'note Old.' where run_id is null and text = 'note New.'`, "since: message "},
		"a message taken":   {`update messages set outcome = 'considered', run_id = (select run_id from runs limit 1) where run_id is null and text = 'note New.'`, "since: message "},
	} {
		t.Run(name, func(t *testing.T) {
			s := remembering(t, 3)
			s.say(evening.Add(-day), "change Memory 1. => One.", "note New.")
			plan := s.planned(Request{})
			s.rows(c.change)
			before := s.checksum()
			_, err := s.applyPlan(plan)
			if !errors.Is(err, reverie.ErrConflict) || !strings.Contains(err.Error(), c.says) || s.checksum() != before {
				t.Error(err)
			}
		})
	}
}

// Messages that have arrived since are not in the plan.
func TestPlanBesideANewMessage(t *testing.T) {
	s := remembering(t, 3)
	s.say(evening.Add(-day), "note New.")
	plan := s.planned(Request{})
	s.say(evening.Add(-day), "note Newer.")
	if _, err := s.applyPlan(plan); err != nil || s.pending() != 1 {
		t.Errorf("beside a message that has arrived since: %v, %d pending", err, s.pending())
	}
}

// A plan says nothing, and is applied: its messages have been read. One for which nothing
// was pending writes nothing at all.
func TestEmptyPlans(t *testing.T) {
	s := remembering(t, 1)
	empty := s.planned(Request{})
	sum := s.checksum()
	if res, err := s.applyPlan(empty); err != nil || !res.NoNew || res.RunID != "" || s.checksum() != sum {
		t.Errorf("nothing was pending: %+v, %v", res, err)
	}
	s.say(evening.Add(-day), "small talk")
	s.say(evening.Add(-3*day), "earlier talk")
	quiet := s.planned(Request{Since: evening.Add(-2 * day), Until: evening})
	if res, err := s.applyPlan(quiet); err != nil || res.Stats.Considered != 1 || res.Stats.Kept != 1 || s.pending() != 1 {
		t.Errorf("nothing came of it: %+v, %v, %d pending", res, err, s.pending())
	}
	s.want(`select extract(epoch from window_until - window_since) from runs where stats ? 'plan'`, "172800.000000")
}

// A process that dies while it applies a plan leaves nothing of it, and the plan is as
// good as before.
func TestPlanAfterACrash(t *testing.T) {
	s := remembering(t, 3)
	s.pipe.Limits.MaxMessages = 2
	s.say(evening.Add(-day), "note New.", "change Memory 1. => One.", "change New. => Newer.", "again Memory 2.")
	plan := s.planned(Request{})
	sum := s.checksum(called...)
	s.rows(`create function break() returns trigger language plpgsql as $$ begin raise exception 'gone'; end $$`)
	s.rows(`create trigger break before update of finished_at on runs for each row execute function break()`)
	if _, err := s.applyPlan(plan); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Fatalf("error %v", err)
	}
	s.rows(`drop function break() cascade`)
	if got := s.checksum(called...); got != sum {
		t.Error("something of the plan is there")
	}
	if res, err := s.applyPlan(plan); err != nil || res.Stats.Updated != 2 || res.Stats.Chunks != 2 {
		t.Errorf("applied: %+v, %v", res.Stats, err)
	}
	if got := s.active(); !slices.Equal(got, []string{"Memory 2. v1", "Memory 3. v1", "Newer. v2", "One. v2"}) {
		t.Errorf("active: %q", got)
	}
}

func swapped(from, to string) func(string) string {
	return func(file string) string { return strings.Replace(file, from, to, 1) }
}

package evolve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/prompts"
	"reverie/store/pgtest"
)

// comparing is a stage whose facts are compared, those too that the model was
// shown. Statements come near each other when their first word is the same. The
// verdict on a fact's best candidate is that which the test has set for it
// ("conflict", or "update" and the merged statement), duplicate else; the other
// candidates are unrelated.
type comparing struct {
	*stage
	layer    *decide.Comparer
	verdicts map[string]string
}

func newComparing(t *testing.T, remembered ...string) *comparing {
	t.Helper()
	c := &comparing{stage: newStage(t), verdicts: map[string]string{}}
	c.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if !comparison(r) {
			return scribe(t)(r)
		}
		return llmtest.Text(c.judge(r.User))
	})
	c.compareWith(c.pipe, pgtest.NewMortal(c.store, -1))
	c.layer = c.pipe.Decider.(*decide.Comparer)
	for i, text := range remembered {
		c.say(evening.Add(-5*day), "note "+text)
		c.pipe.Decider = decide.Plain{}
		if res := c.evolve(); res.Stats.Created != 1 {
			t.Fatalf("memory %d: %+v", i+1, res)
		}
	}
	c.pipe.Decider = c.layer
	return c
}

// compareWith makes a pipeline compare, with what m keeps.
func (c *comparing) compareWith(p *Pipeline, m *pgtest.Mortal) {
	c.Helper()
	p.Embeddings = llm.NewEmbeddings(topics{}, llm.Account{Provider: "test", Model: "topics", Ledger: m}, llm.EmbeddingOptions{Dims: 16, Explicit: true, Cache: m})
	p.CompareShown = true
	p.Decider = &decide.Comparer{Store: m, Model: p.Model, Embeddings: p.Embeddings, Prompts: p.Prompts, Journal: m, Log: p.Log,
		Calibration: reverie.Calibration{Floor: 0, Ceiling: 1},
		Options:     decide.Options{TopK: 5, MinScore: 0.7, Fallback: decide.FallbackAdd, MaxCalls: 50, MaxOutputTokens: 1000}}
}

// topics embeds texts by their first word.
type topics struct{}

func (topics) Embed(_ context.Context, texts []string) ([][]float32, llm.Usage, error) {
	var vectors [][]float32
	for _, t := range texts {
		word, _, _ := strings.Cut(strings.ToLower(t), " ")
		v, own := llmtest.Vector(word, 16), llmtest.Vector(t, 16)
		for i := range v {
			v[i] = float32(math.Sqrt(0.99))*v[i] + 0.1*own[i]
		}
		vectors = append(vectors, v)
	}
	return vectors, llm.Usage{}, nil
}

// comparison tells whether a request compares.
func comparison(r llmtest.Request) bool { return strings.Contains(r.User, `"candidates":`) }

func (c *comparing) judge(user string) string {
	var q prompts.CompareUser
	if err := json.Unmarshal([]byte(user), &q); err != nil {
		c.Errorf("%s: %v", user, err)
	}
	given, ok := c.verdicts[q.Fact.Statement]
	if !ok {
		given = "duplicate"
	}
	if given == "prose" {
		return "I would rather talk about the weather."
	}
	var b strings.Builder
	for i, v := range q.Candidates {
		line := map[string]string{"id": v.ID, "reason": "so it seems", "relation": "unrelated"}
		if i == 0 {
			line["relation"], line["statement"], _ = strings.Cut(given, " ")
		}
		raw, err := json.Marshal(line)
		if err != nil {
			panic(err) // strings always encode
		}
		fmt.Fprintf(&b, "%s\n", raw)
	}
	return b.String()
}

// compared counts the comparisons that the model was asked for.
func (s *stage) compared() (n int) {
	for _, r := range s.model.Requests() {
		if !r.Embedding() && comparison(r) {
			n++
		}
	}
	return n
}

const decisionQuery = `select chunk_no, decision_no, action, basis, statement, reason, calls, jsonb_array_length(candidates),
	coalesce((select m.statement from memories m where m.group_id = d.group_id and m.memory_id = d.target_id), '-'),
	coalesce((select m.statement from memories m where m.group_id = d.group_id and m.memory_id = d.memory_id), '-')
	from decisions d where basis <> 'none' order by created_at, chunk_no, decision_no`

// TestComparedNight does with each fact what the comparison says, in one night,
// and writes down why.
func TestComparedNight(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Chess is played.", "Go is played.", "Cats are loved.", "Dogs are loved.",
		"Cars are not.", "Rain is feared.", "Snow is awaited.", "Sun is welcome.")
	c.verdicts = map[string]string{"Milk is fresh.": "update Milk is drunk fresh.", "Chess is out.": "conflict", "Go is deep.": "unrelated"}
	c.say(evening.Add(-day), "note Tea is what we like.", "note Milk is fresh.", "note Chess is out.", "note Go is deep.", "note Birds sing.", "note cats are loved!")
	res := c.evolve()
	want := reverie.Stats{Kept: 8, Updated: 1, Created: 3, Deleted: 1, Cited: 6, Chunks: 1, Compared: 4, Base: 10, Rewritten: 2}
	if res.Stats != want || res.Status != reverie.RunSucceeded {
		t.Errorf("%s, stats %+v", res.Status, res.Stats)
	}
	c.want(decisionQuery,
		"1|1|NONE|compared|Tea is what we like.|so it seems|1|1|Tea is liked.|Tea is liked.",
		"1|2|UPDATE|compared|Milk is fresh.|so it seems|1|1|Milk is drunk.|Milk is drunk fresh.",
		"1|3|DELETE+ADD|compared|Chess is out.|so it seems|1|1|Chess is played.|Chess is out.",
		"1|4|ADD|compared|Go is deep.|what comes near it is about something else|1|1|-|Go is deep.",
		"1|6|NONE|hash|cats are loved!|same statement|0|0|Cats are loved.|Cats are loved.")
	c.want(`select purpose, count(*) from llm_calls where created_at = (select max(created_at) from llm_calls where purpose = 'compare') or purpose = 'compare' group by 1`, "compare|4")
	c.want(`select count(*) from answers where purpose = 'compare'`, "4")
	c.want(`select count(*) from memories where status = 'active' and embedding is null`, "0")
	// One call embeds the facts, one the statement that is new with the update.
	last := c.rows(`select run_id from runs order by started_at desc, run_id desc limit 1`)[0]
	if n := c.rows(`select count(*) from llm_calls where purpose = 'embed' and run_id = $1`, last); n[0] != "2" {
		t.Errorf("%s calls to embed", n[0])
	}
	// The same facts again are the same memories, whatever was asked before.
	c.say(evening.Add(-day/2), "note Birds sing.", "note Tea is what we like.")
	if res := c.evolve(); res.Stats.Created != 0 || res.Stats.Compared != 1 || len(res.Supported) != 2 {
		t.Errorf("again: %+v", res.Stats)
	}
}

// TestOrdinaryNight asks the model once where it has seen all that the group
// remembers.
func TestOrdinaryNight(t *testing.T) {
	c := newComparing(t, "Tea is liked.")
	c.pipe.CompareShown = false
	c.say(evening.Add(-day), "note Tea is what we like.", "note Tea is what they like.", "note tea is liked")
	res := c.evolve()
	if res.Stats.Created != 2 || res.Stats.Compared != 0 || c.compared() != 0 || len(c.questions()) != 2 {
		t.Errorf("stats %+v, %d comparisons", res.Stats, c.compared())
	}
	c.want(`select action, basis from decisions order by run_id, decision_no`, "ADD|shown", "ADD|shown", "NONE|hash")
}

// TestUnseenMemoriesAreCompared where not all could be shown.
func TestUnseenMemoriesAreCompared(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.")
	c.pipe.CompareShown, c.pipe.Limits.MaxShown = false, 1
	c.say(evening.Add(-day), "again Milk is drunk.", "note Tea is what we like.", "note Milk is fresh.")
	shown := []string{}
	res := c.evolve()
	for _, m := range c.questions()[2].ExistingMemories {
		shown = append(shown, m.Statement)
	}
	if len(shown) != 1 || res.Stats.Compared != 1 || res.Stats.Created != 1 {
		t.Errorf("shown %q, stats %+v", shown, res.Stats)
	}
	for _, r := range c.model.Requests() {
		if !r.Embedding() && comparison(r) && strings.Contains(r.User, shown[0]) {
			t.Errorf("compared with what was shown: %s", r.User)
		}
	}
}

// TestUndecided is skipped or held, as configured, and said.
func TestUndecided(t *testing.T) {
	c := newComparing(t, "Tea is liked.")
	c.verdicts["Tea is hot."] = "prose"
	c.layer.Options.Fallback = decide.FallbackSkip
	c.say(evening.Add(-2*day), "note Tea is hot.")
	res := c.evolve()
	if len(res.Refusals) != 1 || res.Refusals[0].Rule != "undecided" || res.Refusals[0].Line != 1 || res.Stats.Considered != 1 || res.Stats.Refused != 1 || res.Stats.Compared != 2 {
		t.Errorf("refusals %+v, stats %+v", res.Refusals, res.Stats)
	}
	c.layer.Options.Fallback = decide.FallbackHold
	c.say(evening.Add(-day), "note Tea is hot.")
	res = c.evolve()
	if res.Status != reverie.RunHeld || len(res.Held) != 1 || !strings.Contains(res.Held[0], "could not be compared") || res.Stats.Cited != 1 {
		t.Errorf("%s, held %q, stats %+v", res.Status, res.Held, res.Stats)
	}
	c.want(`select action, basis, calls, memory_id is null from decisions where basis = 'fallback' order by created_at, run_id`, "SKIP|fallback|2|true", "HOLD|fallback|2|true")
	if _, err := c.approve(res.RunID); err != nil {
		t.Fatal(err)
	}
	if got := c.active(); !slices.Equal(got, []string{"Tea is hot. v1", "Tea is liked. v1"}) {
		t.Errorf("active %q", got)
	}
	c.want(`select m.statement from decisions d join memories m on m.memory_id = d.memory_id where d.action = 'HOLD'`, "Tea is hot.")
}

// TestReplacementWithoutAQuote waits for a person as a pair, who lets it pass.
func TestReplacementWithoutAQuote(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Go is played.")
	c.verdicts["Tea is out."] = "conflict"
	c.say(evening.Add(-day), "never mind")
	c.model.Script(llmtest.Text(`{"action":"create","statement":"Tea is out.","evidence":[1]}`))
	res := c.evolve()
	if res.Status != reverie.RunHeld || res.Stats.Held != 2 || !strings.Contains(res.Held[0], "without a quoted message") {
		t.Errorf("%s, held %q, stats %+v", res.Status, res.Held, res.Stats)
	}
	if _, err := c.approve(res.RunID); err != nil {
		t.Fatal(err)
	}
	if got := c.active(); !slices.Equal(got, []string{"Go is played. v1", "Milk is drunk. v1", "Tea is out. v1"}) {
		t.Errorf("active %q", got)
	}
}

// TestReplacementOfWhatHasMoved lets neither half of a held pair pass.
func TestReplacementOfWhatHasMoved(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Go is played.")
	c.verdicts["Tea is out."] = "conflict"
	c.say(evening.Add(-2*day), "never mind")
	c.model.Script(llmtest.Text(`{"action":"create","statement":"Tea is out.","evidence":[1]}`))
	held := c.evolve()
	c.say(evening.Add(-day), "change Tea is liked. => Tea is liked by all.")
	c.evolve()
	res, err := c.approve(held.RunID)
	if err != nil || len(res.Changes) != 0 || len(res.Refusals) != 2 {
		t.Errorf("%+v, %v", res, err)
	}
	if got := c.active(); !slices.Equal(got, []string{"Go is played. v1", "Milk is drunk. v1", "Tea is liked by all. v2"}) {
		t.Errorf("active %q", got)
	}
}

// TestReplacementsAreMassChange counts what comparisons rewrite and delete with
// what the model does, and holds it with what takes its place. What is new is applied.
func TestReplacementsAreMassChange(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Go is played.")
	c.verdicts = map[string]string{"Tea is out.": "conflict", "Milk is fresh.": "update Milk is drunk fresh.", "Go is over.": "conflict",
		"Birds are heard.": "update Birds sing and are heard."}
	c.say(evening.Add(-day), "note Tea is out.", "note Milk is fresh.", "note Go is over.", "note Birds sing.", "note Birds are heard.")
	res := c.evolve()
	if res.Status != reverie.RunHeld || res.Stats.Held != 5 || res.Stats.Created != 1 {
		t.Fatalf("%s, held %q, stats %+v", res.Status, res.Held, res.Stats)
	}
	c.want(`select memory_id is null, count(*) from decisions d where chunk_no = 1 and run_id = (select run_id from held_plans) group by 1 order by 1`,
		"false|2", "true|3")
	if _, err := c.approve(res.RunID); err != nil {
		t.Fatal(err)
	}
	if got := c.active(); !slices.Equal(got, []string{"Birds sing and are heard. v1", "Go is over. v1", "Milk is drunk fresh. v2", "Tea is out. v1"}) {
		t.Errorf("active %q", got)
	}
	c.want(`select count(*) from decisions where run_id = (select run_id from held_plans) and memory_id is null`, "0")
}

// TestSupportBesideMassChange counts also for a memory whose deletion waits.
func TestSupportBesideMassChange(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Go is played.")
	c.say(evening.Add(-day), "forget Tea is liked.", "note Tea is what we like.", "drop Milk is drunk.", "drop Go is played.", "note Birds sing.")
	c.pipe.Limits.HoldMin = 1
	res := c.evolve()
	if res.Status != reverie.RunHeld || res.Stats.Held != 3 || res.Stats.Created != 1 || res.Stats.Cited != 4 {
		t.Fatalf("%s, held %q, stats %+v", res.Status, res.Held, res.Stats)
	}
	if _, err := c.approve(res.RunID); err != nil {
		t.Fatal(err)
	}
	c.want(`select action, memory_id is null from decisions where run_id = (select run_id from held_plans) order by 1`, "ADD|false", "NONE|false")
}

// TestFullGroupStillLearns takes updates and support where there is no room for
// more memories, and archives the weakest for what is new.
func TestFullGroupStillLearns(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Go is played.", "Chess is played.", "Rain is feared.")
	c.pipe.Limits.MaxActive = 5
	c.verdicts = map[string]string{"Milk is fresh.": "update Milk is drunk fresh.", "Go is over.": "conflict"}
	c.say(evening.Add(-day), "note Tea is what we like.", "note Milk is fresh.", "note Go is over.", "note Birds sing.")
	res := c.evolve()
	if res.Stats.Updated != 1 || res.Stats.Created != 2 || res.Stats.Deleted != 1 || res.Stats.Archived != 1 || len(res.Refusals) != 0 {
		t.Errorf("stats %+v, refusals %+v", res.Stats, res.Refusals)
	}
	c.want(`select count(*) from memories where status = 'active'`, "5")
	c.want(`select statement from memories where status = 'archived'`, "Chess is played.")
}

// TestDryRunCompares with what it believes to have written, and writes nothing.
func TestDryRunCompares(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Go is played.", "Chess is played.", "Rain is feared.")
	c.pipe.Limits.MaxMessages = 2
	c.verdicts = map[string]string{"Milk is fresh.": "update Milk is drunk fresh.", "Birds are heard.": "update Birds sing and are heard."}
	c.say(evening.Add(-day), "note Birds sing.", "note Milk is fresh.", "note Birds are heard.", "note Milk is cold.")
	before := c.dump("llm_calls", "embedding_cache")
	dry, err := c.run(Request{DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	if after := c.dump("llm_calls", "embedding_cache"); !slices.Equal(before, after) {
		t.Error("the dry run has written")
	}
	real := c.evolve()
	if d, r := deeds(dry), deeds(real); !slices.Equal(d, r) || real.Stats.Updated != 2 || real.Stats.Created != 1 || dry.Stats.Compared != real.Stats.Compared {
		t.Errorf("planned %q (%+v)\ndone    %q (%+v)", d, dry.Stats, r, real.Stats)
	}
}

// TestComparisonDeferred keeps what was paid for when the comparison meets a
// passing fault: each run is deferred, and the next goes on from there.
func TestComparisonDeferred(t *testing.T) {
	c := newComparing(t, "Tea is liked.", "Milk is drunk.", "Go is played.")
	asked := len(c.questions())
	c.say(evening.Add(-day), "note Tea is what we like.", "note Milk is what we drink.", "note Go is what we play.")
	paid := 0 // of this night
	c.model.Respond(func(r llmtest.Request) llmtest.Answer {
		if !comparison(r) {
			return scribe(t)(r)
		}
		if paid++; paid%2 == 0 {
			return llmtest.RateLimited(0)
		}
		return llmtest.Text(c.judge(r.User))
	})
	for range 2 {
		res, err := c.run(Request{})
		wantErr(t, err, reverie.ErrDeferred)
		if res.Status != reverie.RunDeferred || c.pending() != 3 {
			t.Errorf("%s, %d pending", res.Status, c.pending())
		}
		c.now = c.now.Add(time.Minute)
	}
	if res := c.evolve(); res.Stats.Created != 0 || len(res.Supported) != 3 || res.Stats.Compared != 3 {
		t.Errorf("%+v", res.Stats)
	}
	if paid != 5 || len(c.questions()) != asked+1 {
		t.Errorf("%d comparisons asked for, and %d times about the chat", paid, len(c.questions())-asked)
	}
}

// comparedStory brings creates, updates, replacements and support into two
// chunks.
func comparedStory(c *comparing) {
	c.pipe.Decider = decide.Plain{}
	c.say(evening.Add(-30*day), "note Tea is liked.", "note Milk is drunk.", "note Chess is played.", "note Go is played.", "note Cats are loved.", "note Dogs are loved.",
		"note Rain is feared.", "note Snow is awaited.", "note Sun is welcome.", "note Wind is strong.")
	c.evolve()
	c.pipe.Decider, c.pipe.Limits.MaxMessages = c.layer, 3
	c.say(evening.Add(-day), "note Tea is what we like.", "note Milk is fresh.", "note Birds sing.",
		"note Chess is out.", "note Birds are heard.", "note Tea is dear.")
}

// TestCrashWhileComparing kills the process before the first and the last of each sort
// of call that a run makes to the store. The next run ends in the state of one that nobody
// disturbed, and no kept answer is paid for twice.
func TestCrashWhileComparing(t *testing.T) {
	c := newComparing(t)
	c.verdicts = map[string]string{"Milk is fresh.": "update Milk is drunk fresh.", "Chess is out.": "conflict", "Birds are heard.": "update Birds sing and are heard."}
	account := func() []string {
		return append(c.account(), c.rows(`select 'decision: ' || chunk_no || decision_no || action || basis || statement || reason || calls || jsonb_array_length(candidates)
			|| coalesce((select m.statement from memories m where m.group_id = d.group_id and m.memory_id = d.memory_id), '-') from decisions d where group_id = $1 order by 1`, c.group)...)
	}
	run := func(left int) (*pgtest.Mortal, error) {
		m := pgtest.NewMortal(c.store, left)
		p := c.pipelineOf(m, c.pipe.Limits)
		c.compareWith(p, m)
		_, err := c.runWith(t.Context(), p, Request{})
		return m, err
	}
	comparedStory(c)
	undisturbed, err := run(-1)
	if err != nil {
		t.Fatal(err)
	}
	want, bill := account(), c.compared()
	if bill != 5 || !slices.Contains(undisturbed.Calls, "SaveAnswer") || !slices.Contains(undisturbed.Calls, "Candidates") {
		t.Fatalf("%d comparisons in %v", bill, undisturbed.Calls)
	}
	for n, call := range undisturbed.Ends() {
		c.group, c.pipe.Limits = fmt.Sprintf("crash%d", n), limits()
		c.addGroup(c.group)
		comparedStory(c)
		asked := c.compared()
		if _, err := run(n); !errors.Is(err, pgtest.ErrDead) {
			t.Fatalf("before call %d (%s): %v", n+1, call, err)
		}
		kept := len(c.rows(`select 1 from answers where group_id = $1`, c.group))
		paid := c.compared() - asked
		if _, err := run(-1); err != nil {
			t.Fatalf("after a crash before call %d (%s): %v", n+1, call, err)
		}
		if again := c.compared() - asked - bill; again != paid-kept {
			t.Errorf("crash before call %d (%s): %d comparisons paid, %d kept, and %d too many", n+1, call, paid, kept, again)
		}
		if got := account(); !slices.Equal(got, want) {
			t.Errorf("crash before call %d (%s):\n got %s\nwant %s", n+1, call, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
		if t.Failed() {
			break
		}
	}
}

// TestLeaseLostWhileComparing writes nothing, the answer included.
func TestLeaseLostWhileComparing(t *testing.T) {
	c := newComparing(t, "Tea is liked.")
	c.say(evening.Add(-day), "note Tea is what we like.")
	m := pgtest.NewMortal(c.store, -1)
	var thief holding
	m.Before = func(next string) {
		if next == "SaveAnswer" && thief.lease.Fence == 0 {
			c.rows(`update leases set expires_at = 'epoch' returning 1`)
			thief = c.hold()
		}
	}
	p := c.pipelineOf(m, c.pipe.Limits)
	c.compareWith(p, m)
	_, err := p.Run(t.Context(), c.hold(), Request{GroupID: c.group})
	wantErr(t, err, reverie.ErrLeaseLost)
	c.want(`select (select count(*) from answers), (select count(*) from decisions where basis = 'compared')`, "0|0")
	res, err := c.pipe.Run(t.Context(), thief, Request{GroupID: c.group})
	if err != nil || len(res.Supported) != 1 {
		t.Errorf("the next holder: %+v, %v", res.Stats, err)
	}
}

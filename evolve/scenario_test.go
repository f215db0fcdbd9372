package evolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/offline"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

func TestFirstEvolution(t *testing.T) {
	s := newStage(t)
	var texts []string
	for i := range 30 {
		texts = append(texts, fmt.Sprintf("small talk number %d", i))
	}
	texts[4], texts[17] = "note The group plays badminton on Thursdays.", "note Maya lives in Lisbon."
	s.say(evening.Add(-2*time.Hour), texts...)
	res := s.evolve()

	want := reverie.Stats{Created: 2, Cited: 2, Considered: 28, Chunks: 1}
	if res.Stats != want || res.Status != reverie.RunSucceeded {
		t.Errorf("stats %+v, status %s", res.Stats, res.Status)
	}
	s.want(`select statement, version, parent_id, status, strength, weight, updated_at = created_at, change_summary, embedding_model from memories order by statement`,
		"Maya lives in Lisbon.|1||active|0.3|1|true|Maya said so|fake@8",
		"The group plays badminton on Thursdays.|1||active|0.3|1|true|Lin said so|fake@8")
	s.want(`select action, version, new_statement, evidence->0->>'message_id', evidence->0->>'quote' from memory_change_log order by new_statement`,
		"create|1|Maya lives in Lisbon.|m0018|Maya lives in Lisbon.",
		"create|1|The group plays badminton on Thursdays.|m0005|The group plays badminton on Thursdays.")
	s.want(`select outcome, count(*), count(distinct run_id) from messages group by 1 order by 1`, "cited|2|1", "considered|28|1")
	s.want(`select status, attempt, job, prompt_version, length(prompt_sha256), model, error from runs`, "succeeded|1|evolve|3|64|openai/fake|")
	if q := s.questions(); len(q) != 1 || len(q[0].NewDiscussions) != 30 || len(q[0].ExistingMemories) != 0 {
		t.Errorf("asked %+v", q)
	}

	again := s.evolve()
	if !again.NoNew || again.RunID != "" || again.Reply().Message != "no new messages" {
		t.Errorf("with nothing new: %+v", again)
	}
	s.want(`select count(*) from runs`, "1")
}

func TestNormalEvolution(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-2*day), "note One.", "note Two.", "note Three.", "note Four.", "note Five.")
	s.evolve()
	s.say(evening.Add(-time.Hour), "change Two. => Two, and more so.", "hello", "change Four. => Four, and more so.", "note Six is new.")
	res := s.evolve()

	want := reverie.Stats{Kept: 3, Updated: 2, Created: 1, Cited: 3, Considered: 1, Chunks: 1, Base: 5, Rewritten: 2}
	if res.Stats != want {
		t.Errorf("stats %+v, want %+v", res.Stats, want)
	}
	s.want(`select m.statement, m.version, p.statement, p.version, p.status, p.lineage_id = m.lineage_id, m.created_at = p.created_at, p.ended_at = m.updated_at
		from memories m join memories p on p.memory_id = m.parent_id order by m.statement`,
		"Four, and more so.|2|Four.|1|superseded|true|true|true", "Two, and more so.|2|Two.|1|superseded|true|true|true")
	if got := s.active(); !slices.Equal(got, []string{"Five. v1", "Four, and more so. v2", "One. v1", "Six is new. v1", "Three. v1", "Two, and more so. v2"}) {
		t.Errorf("active: %q", got)
	}
	for _, c := range res.Changes {
		if c.RunID == nil || *c.RunID != res.RunID {
			t.Errorf("change %+v is not the run's", c)
		}
	}
}

func TestOutdatedMemory(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-22*day), "note The group plays badminton.", "note Maya lives in Lisbon.", "note Tea is liked.")
	s.evolve()
	s.rows(`update memories set type = 'habit' returning 1`)
	for n := range 21 { // the group talks each night
		s.rows(`insert into active_nights (group_id, night) values ($1, $2::timestamptz::date) returning 1`, s.group, evening.Add(time.Duration(n-21)*day))
	}
	s.say(evening.Add(-time.Hour), "again Maya lives in Lisbon.", "forget The group plays badminton.", "forget Tea is liked.")
	s.say(evening.Add(-5*day), "again Tea is liked.") // so this one is not outdated
	s.pipe.Limits.MaxMessages = 1                     // and that is settled in a chunk before
	res := s.evolve()

	if res.Stats.Archived != 1 || res.Stats.Deleted != 0 || res.Stats.Held != 1 || res.Stats.Kept != 2 || res.Status != reverie.RunHeld {
		t.Errorf("stats %+v, status %s", res.Stats, res.Status)
	}
	s.want(`select statement, status, ended_at is not null from memories order by 1`,
		"Maya lives in Lisbon.|active|false", "Tea is liked.|active|false", "The group plays badminton.|archived|true")
	q := s.questions()
	for _, m := range q[len(q)-1].ExistingMemories {
		if m.Stale != "" {
			t.Errorf("%q is said to be stale", m.Statement)
		}
	}
	if first := q[1].ExistingMemories[0]; first.Stale != "" { // the chunk of five days ago: seventeen days of silence
		t.Errorf("as of five days ago, %q is said to be stale", first.Statement)
	}
}

func TestSemanticSearch(t *testing.T) {
	s := newStage(t)
	client := offline.New(0)
	account := llm.Account{Provider: "offline", Model: "offline-ngram-v1", Ledger: s.store}
	embeddings := llm.NewEmbeddings(client, account, llm.EmbeddingOptions{Cache: s.store})
	s.pipe.Embeddings = embeddings
	s.say(evening.Add(-time.Hour), "note The group plays badminton on Thursday evenings.", "note Maya moved to Lisbon.", "note 群里每周四晚上打羽毛球。", "note The zine is due in March.")
	s.evolve()
	searcher := &recall.Searcher{Store: s.store, Embeddings: embeddings, Calibration: offline.Calibration}
	for query, want := range map[string]string{
		"group plays badminton Thursday evening": "The group plays badminton on Thursday evenings.",
		"周四晚上打羽毛球":                               "群里每周四晚上打羽毛球。",
		"Maya moved to Lisbon":                   "Maya moved to Lisbon.",
	} {
		res, err := searcher.Search(t.Context(), recall.Query{GroupID: s.group, Text: query, Limit: 1, Threshold: 0.7})
		hits := res.Hits
		if err != nil || len(hits) != 1 || hits[0].Statement != want || hits[0].Score < 0.7 || hits[0].Score > 1 {
			t.Errorf("%q: %+v, %v", query, hits, err)
		}
	}
	if res, err := searcher.Search(t.Context(), recall.Query{GroupID: s.group, Text: "tax returns", Threshold: 0.7}); err != nil || len(res.Hits) > 0 {
		t.Errorf("an unrelated query found %+v, %v", res.Hits, err)
	}
}

// TestStrengthGrowsByDates follows one memory over nights: a second remark on
// one date counts once, a further date each time closes a part of the way to 1.
func TestStrengthGrowsByDates(t *testing.T) {
	s := newStage(t)
	statement := "Lin books the court."
	s.say(evening.Add(-day), "note Tea is liked.") // a group's only memory is not rewritten without a person
	s.evolve()
	var got []string
	for _, step := range []struct {
		after time.Duration // since 20:00 of the 15th in Shanghai
		text  string
	}{
		{0, "note " + statement},
		{time.Hour, "again " + statement},                                   // the same date
		{3*time.Hour + 59*time.Minute, "again " + statement},                // 23:59 of the same date
		{4 * time.Hour, "again " + statement},                               // midnight: the next one
		{2 * day, "again " + statement},                                     // a third
		{2*day + time.Hour, "change " + statement + " => Maya books."},      // no further date
		{5 * day, "change Maya books. => Lin and Maya book in turn, again"}, // a fourth
	} {
		s.say(evening.Add(step.after), step.text)
		s.now = evening.Add(step.after + time.Minute)
		s.evolve()
		got = append(got, s.rows(`select version, round(strength::numeric, 4) from memories where status = 'active' and statement <> 'Tea is liked.'`)...)
	}
	if want := []string{"1|0.3000", "1|0.3000", "1|0.3000", "1|0.5100", "1|0.6570", "2|0.6570", "3|0.7599"}; !slices.Equal(got, want) {
		t.Errorf("version and strength by night:\n got %q\nwant %q", got, want)
	}
}

func TestLanguageFollowsTheChat(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-3*time.Hour), "今天打球吗", "ok 打")
	s.evolve()
	s.say(evening.Add(-2*time.Hour), "are we playing today?", "好")
	s.evolve()
	if _, err := s.db.Exec(`update groups set language = 'zh'`); err != nil {
		t.Fatal(err)
	}
	s.say(evening.Add(-time.Hour), "are we playing today?")
	s.evolve()
	var languages []string
	for _, q := range s.questions() {
		language := "en"
		if strings.Contains(q.System, "使用中文") {
			language = "zh"
		}
		languages = append(languages, language)
	}
	if !slices.Equal(languages, []string{"zh", "en", "zh"}) {
		t.Errorf("asked in %v", languages)
	}
	s.want(`select count(distinct prompt_sha256) from runs`, "2")
}

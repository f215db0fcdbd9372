package recall_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pgtest"
)

// desk is a store whose sessions and entities are written for a test; its memories
// are those of the database.
type desk struct {
	*store.Store
	state    reverie.RecallState
	asked    []reverie.RecallQuery
	entities map[string]reverie.Entity
}

func (d *desk) RecallState(ctx context.Context, q reverie.RecallQuery) (reverie.RecallState, error) {
	d.asked = append(d.asked, q)
	g, err := d.Group(ctx, q.GroupID)
	state := d.state
	state.Group = g
	return state, err
}

func (d *desk) EntitiesByID(_ context.Context, _ string, ids []string) (list []reverie.Entity, _ error) {
	for _, id := range ids {
		list = append(list, d.entities[id])
	}
	slices.Reverse(list) // in an order of their own
	return list, nil
}

var now = time.Unix(1, 0).Add(90 * 24 * time.Hour) // a half-life after what remember writes was supported

// scene is a group with memories at known angles, and a session of two turns.
func scene(t *testing.T) (*recall.Recaller, *desk, *plane) {
	t.Helper()
	d := &desk{Store: pgtest.New(t)}
	remember(t, d.Store, "g1", reverie.KindGroup, "at 0", "at 30", "at 60", "at 90")
	remember(t, d.Store, "g1", reverie.KindTeam, "team at 40")
	remember(t, d.Store, "g1", reverie.KindDream, "at 30", "dream at 50") // the first says what a group memory says
	at := now.Add(-time.Hour)
	d.state = reverie.RecallState{Session: &reverie.Session{GroupID: "g1", ID: "s1", Total: reverie.Tally{Turns: 2, Messages: 4}},
		Messages: []reverie.Message{{ID: "1", Role: reverie.RoleUser, Author: "Lin", Text: "Hello", SentAt: at}, {ID: "2", Role: reverie.RoleAssistant, Author: "Bot", Text: "Hi", SentAt: at},
			{ID: "3", Role: reverie.RoleUser, Author: "Lin", Text: "Tea?", SentAt: at}, {ID: "4", Role: reverie.RoleAssistant, Author: "Bot", Text: "Green.", SentAt: at}}}
	p := &plane{key: "plane@3"}
	log := recall.NewUsageLog(d, recall.UsageOptions{Log: quiet})
	t.Cleanup(func() {
		if err := log.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &recall.Recaller{Store: d, Usage: log, Now: func() time.Time { return now }, Log: quiet,
		Searcher: &recall.Searcher{Store: d, Embeddings: p, Calibration: reverie.Calibration{Ceiling: 1}},
		Options: recall.Options{Trigger: recall.TriggerAlways, MinQueryLength: 2, MinSimilarity: 0.1, HalfLife: 90 * 24 * time.Hour,
			ShortTermCount: 6, MaxReturn: 3, MaxEntities: 2, MaxTokens: 2000, ShortTermTTL: 168 * time.Hour}}, d, p
}

func offered(r reverie.ContextReply) (list []string) {
	for _, m := range r.Memories {
		list = append(list, fmt.Sprintf("%s %s %.3f", m.Kind, m.Statement, m.Score))
	}
	return list
}

// TestContext: the nearest memories of all kinds, ranked by similarity and a little by
// what is known of them, each statement once, and the newest turns; and all that is offered is in
// the usage log.
func TestContext(t *testing.T) {
	r, d, p := scene(t)
	d.state.Named = []reverie.EntityName{{EntityID: "lin", Name: "Lin", Key: "lin"}, {EntityID: "old", Name: "Mia", Key: "mia"}, {EntityID: "none", Name: "tea", Key: "tea"}}
	claim := func(strength float64, name, value string) reverie.Claim {
		return reverie.Claim{Strength: strength, Name: name, Value: value}
	}
	d.entities = map[string]reverie.Entity{
		"lin":  {ID: "lin", Subject: "Lin", Kind: reverie.EntityPerson, Claims: []reverie.Claim{claim(0.3, "", "Weak."), claim(0.9, "city", "Oslo")}},
		"old":  {ID: "new", Subject: "Mia Berg", Kind: reverie.EntityPerson, Names: []reverie.EntityName{{EntityID: "old"}}, Claims: []reverie.Claim{claim(0.5, "", "Sings.")}},
		"none": {ID: "none", Subject: "tea", Kind: reverie.EntityThing},
	}
	reply, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", SessionID: "s1", Query: "Tea for Mia and Lin AT 0?"})
	if err != nil {
		t.Fatal(err)
	}
	// 0.05 of the mean of strength 0.3, weight 1 of 2, and a recency of 0.75 after a half-life, beside the cosine
	if diff := cmp.Diff([]string{"group at 0 1.026", "group at 30 0.892", "team team at 40 0.792"}, withoutDuplicateKind(offered(reply))); diff != "" {
		t.Error(diff)
	}
	if f := reply.Memories[0].Factors; f.Similarity < 0.999 || f.Weight != 1 || f.Strength != 0.3 || f.Recency != 0.75 {
		t.Errorf("factors are %+v", f)
	}
	want := []reverie.ContextEntity{{EntityID: "new", Kind: "person", Subject: "Mia Berg", Lines: []string{"Sings."}}, {EntityID: "lin", Kind: "person", Subject: "Lin", Lines: []string{"city: Oslo", "Weak."}}}
	if diff := cmp.Diff(want, reply.Entities); diff != "" {
		t.Error(diff)
	}
	counts := reverie.ContextCounts{Candidates: 6, LongTerm: 3, Entities: 2, ShortTerm: 4}
	if diff := cmp.Diff(counts, reply.Counts); diff != "" || reply.Skipped != "" || reply.Warnings != nil {
		t.Errorf("%s, skipped %q, warnings %q", diff, reply.Skipped, reply.Warnings)
	}
	if q := d.asked[0]; q.Turns != 6 || !q.Since.Equal(now.Add(-168*time.Hour)) || q.Text != "tea for mia and lin at 0?" {
		t.Errorf("the store was asked for %+v", q)
	}
	if got := p.asked[0]; got[0] != "tea for mia and lin at 0?" {
		t.Errorf("embedded was %q", got)
	}
	if err := r.Usage.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := d.Offered(t.Context(), reverie.UsageQuery{GroupID: "g1", SessionID: "s1"})
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d uses are logged, %v", len(rows), err)
	}
	for i, row := range rows {
		m := reply.Memories[i]
		if row.UsageID != reply.UsageID || row.MemoryID != m.MemoryID || row.Position != i+1 || row.Factors != m.Factors || row.Query != "Tea for Mia and Lin AT 0?" || !row.CreatedAt.Equal(now) {
			t.Errorf("use %d is %+v of %+v", i+1, row, m)
		}
	}
}

// withoutDuplicateKind names the memory that two lineages hold by its group's kind:
// which of the two is given, their ids decide.
func withoutDuplicateKind(list []string) []string {
	for i, s := range list {
		list[i] = strings.Replace(s, "dream at 30", "group at 30", 1)
	}
	return list
}

// TestContextSkips: when memories are not looked up, and what is given all the same.
func TestContextSkips(t *testing.T) {
	r, d, p := scene(t)
	down := fmt.Errorf("429: %w", reverie.ErrDeferred)
	for name, c := range map[string]struct {
		set      func()
		query    string
		skipped  string
		warning  string
		memories int
		short    int
	}{
		"always":              {func() {}, "at 0", "", "", 3, 4},
		"short":               {func() {}, "茶?", recall.SkippedQueryShort, "", 0, 4},
		"empty":               {func() {}, "", recall.SkippedQueryShort, "", 0, 4},
		"never":               {func() { r.Options.Trigger = recall.TriggerNever }, "at 0", recall.SkippedNever, "", 0, 4},
		"no keyword":          {func() { r.Options.Trigger, r.Options.Keywords = recall.TriggerKeywords, []string{"before"} }, "at 0", recall.SkippedNoKeyword, "", 0, 4},
		"keyword":             {func() { r.Options.Trigger, r.Options.Keywords = recall.TriggerKeywords, []string{"before"} }, "Before at 0", "", "", 3, 4},
		"not similar":         {func() { r.Options.Trigger, r.Options.SemanticThreshold = recall.TriggerSemantic, 0.97 }, "at 15", recall.SkippedNotSimilar, "", 0, 4},
		"similar":             {func() { r.Options.Trigger, r.Options.SemanticThreshold = recall.TriggerSemantic, 0.96 }, "at 15", "", "", 3, 4},
		"nothing near":        {func() {}, "something else", "", "", 0, 4},
		"no model":            {func() { r.Searcher = &recall.Searcher{Store: d} }, "is team 40 there?", "", "no embedding model is configured", 1, 4},
		"model down":          {func() { p.fails = func([]string) error { return down } }, "is team 40 there?", "", "429", 1, 4},
		"first round":         {func() { r.Options.FirstRoundEmpty = true; d.state.Session.Total.Turns = 0 }, "at 0", recall.SkippedFirstRound, "", 0, 0},
		"unknown, first":      {func() { r.Options.FirstRoundEmpty = true; d.state = reverie.RecallState{} }, "at 0", recall.SkippedFirstRound, "", 0, 0},
		"second round":        {func() { r.Options.FirstRoundEmpty = true }, "at 0", "", "", 3, 4},
		"unknown session":     {func() { d.state = reverie.RecallState{} }, "at 0", "", "", 3, 0},
		"no short-term":       {func() { r.Options.ShortTermCount = 0 }, "at 0", "", "", 3, 0},
		"no long-term":        {func() { r.Options.MaxReturn = 0 }, "at 0", recall.SkippedNever, "", 0, 4},
		"kinds":               {func() { r.Options.Kinds = []reverie.Kind{reverie.KindTeam} }, "at 0", "", "", 1, 4},
		"what cannot be text": {func() {}, "at 0\x00\xff", "", "", 3, 4},
	} {
		options, searcher, state, session := r.Options, r.Searcher, d.state, *d.state.Session
		c.set()
		reply, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", SessionID: "s1", Query: c.query})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		short := 0
		if reply.ShortTerm != nil {
			short = len(reply.ShortTerm.Turns)
		}
		if reply.Skipped != c.skipped || len(reply.Memories) != c.memories || short != c.short || (reply.UsageID == "") != (c.memories == 0) {
			t.Errorf("%s: skipped %q, %q, %d messages, usage %q", name, reply.Skipped, offered(reply), short, reply.UsageID)
		}
		if all := strings.Join(reply.Warnings, "; "); !strings.Contains(all, c.warning) || (all == "") != (c.warning == "") {
			t.Errorf("%s: warnings %q", name, all)
		}
		if (reply.Text == "") != (short+len(reply.Memories) == 0) {
			t.Errorf("%s: text %q", name, reply.Text)
		}
		r.Options, r.Searcher, d.state, p.fails = options, searcher, state, nil
		*d.state.Session = session
	}
}

// TestContextUnseen: memories whose vectors cannot be had are found by their words alone,
// with a warning, not the others, and an embedder that hangs is not waited for.
func TestContextUnseen(t *testing.T) {
	r, d, p := scene(t)
	ask := func() reverie.ContextReply {
		t.Helper()
		reply, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", Query: "at 0"})
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	if reply := ask(); len(reply.Memories) != 3 || reply.ShortTerm == nil { // all are embedded by now
		t.Fatalf("%q", offered(reply))
	}
	remember(t, d.Store, "g1", reverie.KindSession, "new at 1")
	p.fails = func(texts []string) error {
		if slices.Contains(texts, "new at 1") {
			return reverie.ErrDeferred
		}
		return nil
	}
	if reply := ask(); len(reply.Memories) != 3 || len(reply.Warnings) != 1 || !strings.Contains(reply.Warnings[0], "1 memories") {
		t.Errorf("%q, %q", offered(reply), reply.Warnings)
	}
	p.fails = nil
	if reply := ask(); len(reply.Warnings) > 0 || reply.Memories[1].Statement != "new at 1" {
		t.Errorf("%q, %q", offered(reply), reply.Warnings)
	}
	r.Searcher.EmbedTimeout = time.Nanosecond
	r.Searcher.Embeddings = hanging{p}
	if reply := ask(); reply.Skipped != "" || reply.Memories[0].Statement != "at 0" || !strings.Contains(reply.Warnings[0], "deadline") {
		t.Errorf("%q, %q", reply.Skipped, reply.Warnings)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.Context(stopped, recall.ContextRequest{GroupID: "g1", Query: "at 0"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
}

// hanging answers when its caller has given up.
type hanging struct{ recall.Embeddings }

func (h hanging) Embed(ctx context.Context, _ llm.Meta, _ []string) ([][]float32, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestContextOwnSummary: the memory that sums up the session stands in a context
// only while nothing else in it tells of the same turns.
func TestContextOwnSummary(t *testing.T) {
	r, d, _ := scene(t)
	remember(t, d.Store, "g1", reverie.KindSession, "mine at 1", "another's at 2")
	db, err := sql.Open("postgres", pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tagged := pgtest.Rows(t, db, `update memories set tags = '{session,summary}', session_id = case when statement like 'mine%' then 's1' else 's2' end
		where kind = 'session' returning statement`)
	if len(tagged) != 2 {
		t.Fatal(tagged)
	}
	messages := d.state.Messages
	for name, c := range map[string]struct {
		set  func()
		want bool
	}{
		"all turns stand there":       {func() {}, false},
		"turns before those":          {func() { d.state.Session.Total.Turns = 3 }, true},
		"summed up beside":            {func() { d.state.Summary = &reverie.SessionSummary{Summary: "Older.", Messages: 2} }, false},
		"nothing of it is remembered": {func() { d.state.Messages, d.state.Summary = nil, nil }, true},
	} {
		c.set()
		reply, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", SessionID: "s1", Query: "at 0"})
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(offered(reply), "; ")
		if strings.Contains(all, "mine") != c.want || !strings.Contains(all, "another's") {
			t.Errorf("%s: %s", name, all)
		}
		d.state.Messages, d.state.Summary, d.state.Session.Total.Turns = messages, nil, 2
	}
}

// TestContextRefuses: what no context can be made for.
func TestContextRefuses(t *testing.T) {
	r, _, _ := scene(t)
	for name, c := range map[string]struct {
		req  recall.ContextRequest
		want error
	}{
		"unknown group":  {recall.ContextRequest{GroupID: "nobody", Query: "at 0"}, reverie.ErrNotFound},
		"no group":       {recall.ContextRequest{Query: "at 0"}, reverie.ErrNotFound},
		"NUL in a group": {recall.ContextRequest{GroupID: "g\x00", Query: "at 0"}, reverie.ErrNotFound},
		"NUL in session": {recall.ContextRequest{GroupID: "g1", SessionID: "s\x00", Query: "at 0"}, reverie.ErrInvalid},
		"long session":   {recall.ContextRequest{GroupID: "g1", SessionID: strings.Repeat("s", 600), Query: "at 0"}, reverie.ErrInvalid},
		"negative":       {recall.ContextRequest{GroupID: "g1", Query: "at 0", MaxTokens: -1}, reverie.ErrInvalid},
	} {
		if _, err := r.Context(t.Context(), c.req); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestContextLogIsClosed: a log that takes nothing costs no context, but says so.
func TestContextLogIsClosed(t *testing.T) {
	r, _, _ := scene(t)
	if err := r.Usage.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	reply, err := r.Context(t.Context(), recall.ContextRequest{GroupID: "g1", Query: "at 0"})
	if err != nil || len(reply.Memories) != 3 || reply.UsageID != "" || len(reply.Warnings) != 1 {
		t.Errorf("%q, usage %q, warnings %q, %v", offered(reply), reply.UsageID, reply.Warnings, err)
	}
}

package recall_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// plane embeds texts that say their own angle in degrees ("at 30"), so that each
// cosine is known. Others lie at right angles to all of those.
type plane struct {
	key   string
	fails func(texts []string) error
	asked [][]string
	metas []llm.Meta
}

func (p *plane) Key() string { return p.key }

func (p *plane) Embed(_ context.Context, meta llm.Meta, texts []string) ([][]float32, error) {
	p.asked, p.metas = append(p.asked, texts), append(p.metas, meta)
	if p.fails != nil {
		if err := p.fails(texts); err != nil {
			return nil, err
		}
	}
	var vectors [][]float32
	for _, text := range texts {
		var degrees float64
		if _, err := fmt.Sscanf(text[max(strings.LastIndex(text, "at "), 0):], "at %f", &degrees); err != nil {
			vectors = append(vectors, []float32{0, 0, 1})
			continue
		}
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		vectors = append(vectors, []float32{float32(cos), float32(sin), 0})
	}
	return vectors, nil
}

// remember writes statements as active memories of a group, with no vectors.
func remember(t *testing.T, s *store.Store, group string, kind reverie.Kind, statements ...string) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.EnsureGroup(ctx, reverie.Group{ID: group}); err != nil {
		t.Fatal(err)
	}
	lease, err := s.AcquireLease(ctx, group, reverie.LeaseGroup, "test", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.StartRun(ctx, lease, reverie.Run{Job: reverie.JobEvolve, WindowSince: time.Unix(0, 0), WindowUntil: time.Unix(1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, Status: reverie.ChunkAnswered}); err != nil {
		t.Fatal(err)
	}
	plan := reverie.Plan{GroupID: group, RunID: run.ID, ChunkNo: 1, Kind: kind}
	for _, st := range statements {
		plan.Steps = append(plan.Steps, reverie.Step{Action: reverie.ActionCreate, LineageID: reverie.NewID(), MemoryID: reverie.NewID(),
			Statement: st, ContentHash: text.ContentHash(st), Strength: 0.3, LastSupportedAt: time.Unix(1, 0)})
	}
	if _, err := s.Apply(ctx, lease, plan); err != nil {
		t.Fatal(err)
	}
	if err := s.ReleaseLease(ctx, lease); err != nil {
		t.Fatal(err)
	}
}

func found(hits []reverie.Hit) (list []string) {
	for _, h := range hits {
		list = append(list, fmt.Sprintf("%s %.2f", h.Statement, h.Score))
	}
	return list
}

// TestSearch scores by the calibration, cuts at the threshold, and never looks
// into another group.
func TestSearch(t *testing.T) {
	s := pgtest.New(t)
	remember(t, s, "g1", reverie.KindGroup, "at 0", "at 30", "at 60", "at 90", "at 180")
	remember(t, s, "g1", reverie.KindSession, "session at 1")
	remember(t, s, "g2", reverie.KindGroup, "other at 0", "other at 30")
	search := &recall.Searcher{Store: s, Embeddings: &plane{key: "plane@3"}, Calibration: reverie.Calibration{Floor: 0.25, Ceiling: 0.75}}
	for name, c := range map[string]struct {
		q    recall.Query
		want []string
	}{
		"all":             {recall.Query{Text: "at 0"}, []string{"at 0 1.00", "session at 1 1.00", "at 30 1.00", "at 60 0.50", "at 90 0.00", "at 180 0.00"}},
		"threshold":       {recall.Query{Text: "at 0", Threshold: 0.49}, []string{"at 0 1.00", "session at 1 1.00", "at 30 1.00", "at 60 0.50"}},
		"just above":      {recall.Query{Text: "at 0", Threshold: 0.51}, []string{"at 0 1.00", "session at 1 1.00", "at 30 1.00"}},
		"limit":           {recall.Query{Text: "at 62", Limit: 1}, []string{"at 60 1.00"}},
		"kind":            {recall.Query{Text: "at 0", Kinds: []reverie.Kind{reverie.KindSession}}, []string{"session at 1 1.00"}},
		"nothing like it": {recall.Query{Text: "something else", Threshold: 0.1}, nil},
		"nearest":         {recall.Query{Text: "at 137", Threshold: 0.99, OrNearest: true}, []string{"at 180 0.96", "at 90 0.86", "at 60 0.00"}},
		"nearest one":     {recall.Query{Text: "at 137", Threshold: 0.99, OrNearest: true, Limit: 1}, []string{"at 180 0.96"}},
		"near enough":     {recall.Query{Text: "at 95", Threshold: 0.99, OrNearest: true}, []string{"at 90 1.00", "at 60 1.00"}},
		"beyond one":      {recall.Query{Text: "at 0", Threshold: 1.9}, nil},
	} {
		c.q.GroupID = "g1"
		res, err := search.Search(t.Context(), c.q)
		if err != nil || !slices.Equal(found(res.Hits), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, found(res.Hits), err, c.want)
		}
	}
	if res, err := search.Search(t.Context(), recall.Query{GroupID: "nobody", Text: "at 0"}); err != nil || len(res.Hits) > 0 || res.Total != 0 {
		t.Errorf("an unknown group: %q, %v", found(res.Hits), err)
	}
	for _, text := range []string{"", " \n\t"} {
		if _, err := search.Search(t.Context(), recall.Query{GroupID: "g1", Text: text}); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("query %q: %v", text, err)
		}
	}
}

// TestSearchAt searches what was active at an instant: superseded and deleted versions
// too, each as it was then, also where the current model has never seen them.
func TestSearchAt(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := pgtest.Open(t, pg.Options{Now: func() time.Time { return now }})
	remember(t, s, "g1", reverie.KindGroup, "old at 0", "gone at 10")
	remember(t, s, "g2", reverie.KindGroup, "other at 0")
	list, _, err := s.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: "g1"})
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	born := now
	for _, m := range list {
		now = now.Add(time.Hour)
		if _, err := s.Edit(t.Context(), reverie.Edit{GroupID: "g1", MemoryID: m.ID, Action: reverie.ActionDelete}); err != nil {
			t.Fatal(err)
		}
	}
	now = now.Add(time.Hour)
	remember(t, s, "g1", reverie.KindGroup, "new at 20")
	p := &plane{key: "plane@3"}
	search := &recall.Searcher{Store: s, Embeddings: p, Calibration: reverie.Calibration{Ceiling: 1}}
	ended := map[string]time.Duration{list[0].Statement: time.Hour, list[1].Statement: 2 * time.Hour}
	for _, after := range []time.Duration{-time.Second, 0, time.Hour - time.Microsecond, time.Hour, 2 * time.Hour, 3*time.Hour - time.Microsecond, 3 * time.Hour, 9 * time.Hour} {
		var want []string
		for _, statement := range []string{"old at 0", "gone at 10"} {
			if after >= 0 && after < ended[statement] {
				want = append(want, statement)
			}
		}
		if after >= 3*time.Hour {
			want = append(want, "new at 20")
		}
		res, err := search.Search(t.Context(), recall.Query{GroupID: "g1", Text: "at 0", At: born.Add(after), Recorded: true})
		var got []string
		for _, h := range res.Hits {
			got = append(got, h.Statement)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("after %s: %q, %v; want %q", after, got, err, want)
		}
	}
	p.key, p.fails = "newer@3", func(texts []string) error {
		if texts[0] == "at 0" {
			return nil
		}
		return errors.New("down")
	}
	res, err := search.Search(t.Context(), recall.Query{GroupID: "g1", Text: "at 0", At: born, Recorded: true})
	if err != nil || len(res.Warnings) != 1 || len(res.Hits) != 2 || res.Hits[0].Statement != "old at 0" {
		t.Errorf("versions that the model has not seen: %+v, %v", res, err)
	}
}

// TestHeal embeds what the current model has not seen, once, however much it is;
// after a change of models all of it anew.
func TestHeal(t *testing.T) {
	s := pgtest.New(t)
	var statements []string
	for i := range 1203 {
		statements = append(statements, fmt.Sprintf("number %d, at %d", 5000+i, 90+i%90))
	}
	remember(t, s, "g1", reverie.KindTeam, append(statements, "needle at 0")...)
	remember(t, s, "g2", reverie.KindGroup, "other at 0")
	for _, key := range []string{"plane@3", "newer@3"} {
		p := &plane{key: key}
		search := &recall.Searcher{Store: s, Embeddings: p, Calibration: reverie.Calibration{Ceiling: 1}}
		for round := range 2 {
			res, err := search.Search(t.Context(), recall.Query{GroupID: "g1", Text: "at 0", Threshold: 0.9})
			if err != nil || !slices.Equal(found(res.Hits), []string{"needle at 0 1.00"}) {
				t.Fatalf("%s, round %d: %q, %v", key, round, found(res.Hits), err)
			}
		}
		texts := 0
		for i, asked := range p.asked {
			texts += len(asked)
			if p.metas[i].GroupID != "g1" || p.metas[i].Purpose == "" || p.metas[i].RunID != nil {
				t.Errorf("a call on the account of %+v", p.metas[i])
			}
		}
		if texts != 1204+2 {
			t.Errorf("%s: %d texts were embedded", key, texts)
		}
	}
	missing, err := s.MissingEmbeddings(t.Context(), "g2", "newer@3", time.Time{}, 0)
	if err != nil || len(missing) != 1 {
		t.Errorf("another group's memories were embedded: %d missing, %v", len(missing), err)
	}
}

// TestWordsAlone: without vectors, of the query or of the memories, words find what they can,
// and a warning says why.
func TestWordsAlone(t *testing.T) {
	s := pgtest.New(t)
	remember(t, s, "g1", reverie.KindGroup, "the kiln is fired on Tuesdays", "Lin brings the glaze, at 0", "陶窯每週二開窯")
	down := errors.New("down")
	failing := &plane{key: "plane@3", fails: func([]string) error { return down }}
	unseen := &plane{key: "plane@3"}
	unseen.fails = func([]string) error { // the query is embedded, what is missing is not
		if len(unseen.asked)%2 == 1 {
			return nil
		}
		return down
	}
	for name, c := range map[string]struct {
		search  recall.Searcher
		warning string
	}{
		"no model":        {recall.Searcher{}, "no embedding model is configured"},
		"failing":         {recall.Searcher{Embeddings: failing}, "embed the query: down"},
		"nothing is seen": {recall.Searcher{Embeddings: unseen}, `embed 3 memories of group "g1"`},
		"hanging":         {recall.Searcher{Embeddings: hanging{failing}, EmbedTimeout: time.Nanosecond}, "deadline"},
	} {
		c.search.Store, c.search.Calibration = s, reverie.Calibration{Ceiling: 1}
		for query, want := range map[string]string{"When is the kiln fired?": "the kiln is fired on Tuesdays", "which glaze does Lin bring": "Lin brings the glaze, at 0",
			"陶窑周二": "陶窯每週二開窯", "what about the weather": ""} {
			res, err := c.search.Search(t.Context(), recall.Query{GroupID: "g1", Text: query, Threshold: 0.3})
			if err != nil || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0], c.warning) {
				t.Errorf("%s, %q: %q, %v", name, query, res.Warnings, err)
			}
			if (want != "") != (len(res.Hits) > 0) || want != "" && res.Hits[0].Statement != want || len(res.Hits)+len(res.Below) != 3 {
				t.Errorf("%s, %q: found %q, below %q", name, query, found(res.Hits), found(res.Below))
			}
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (&recall.Searcher{Store: s, Embeddings: failing}).Search(stopped, recall.Query{GroupID: "g1", Text: "kiln"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that has gone: %v", err)
	}
}

// TestNothingFound: an empty answer says why it is empty.
func TestNothingFound(t *testing.T) {
	s := pgtest.New(t)
	search := &recall.Searcher{Store: s, Embeddings: &plane{key: "plane@3"}, Calibration: reverie.Calibration{Ceiling: 1}}
	ask := func(q recall.Query) string {
		q.GroupID, q.Text, q.Limit = "g1", "at 60", 5
		res, err := search.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return res.Reply(q).Message
	}
	if got := ask(recall.Query{}); !strings.Contains(got, "no memories yet") {
		t.Error(got)
	}
	remember(t, s, "g1", reverie.KindGroup, "at 0", "at 10")
	if got := ask(recall.Query{Kinds: []reverie.Kind{reverie.KindDream}}); !strings.Contains(got, "no such memories") {
		t.Error(got)
	}
	if got := ask(recall.Query{Threshold: 0.7}); !strings.Contains(got, "best of 2 has a score of 0.64") || !strings.Contains(got, "0.70") {
		t.Error(got)
	}
	if got := ask(recall.Query{Threshold: 0.6}); got != "" {
		t.Error(got)
	}
}

package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
	"reverie/store/pgtest"
)

// seedOf is what all chance of a test comes from: the same each time, or with REVERIE_TEST_THOROUGH another.
func seedOf(t *testing.T) uint64 {
	seed := uint64(1)
	if os.Getenv("REVERIE_TEST_THOROUGH") != "" {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	return seed
}

func direction(r *rand.Rand, dims int) []float32 {
	v := make([]float32, dims)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// Recall is 1: what the database finds is what comparing everything finds.
func TestSearchFindsWhatBruteForceFinds(t *testing.T) {
	w := newWorld(t)
	seed := seedOf(t)
	r := rand.New(rand.NewPCG(seed, 1))
	const dims = 24
	name := fmt.Sprintf("prop@%d", dims)
	byID := map[string][]float32{}
	var steps []reverie.Step
	for i := range 150 {
		st := create(fmt.Sprintf("statement %d", i))
		st.Embedding, st.EmbeddingModel = direction(r, dims), name
		byID[st.MemoryID] = st.Embedding
		steps = append(steps, st)
	}
	w.apply(steps...)
	for range 12 {
		probe, limit := direction(r, dims), 1+r.IntN(20)
		c := reverie.Calibration{Floor: r.Float64()*0.6 - 0.3}
		c.Ceiling = c.Floor + 0.1 + r.Float64()
		c.Related = c.Floor + (0.1+0.8*r.Float64())*(c.Ceiling-c.Floor)
		type scored struct {
			id    string
			score float64
		}
		var want []scored
		for id, v := range byID {
			want = append(want, scored{id, c.Score(cosine(probe, v))})
		}
		slices.SortFunc(want, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(cosine(probe, byID[b.id]), cosine(probe, byID[a.id])))
		})
		want = want[:min(limit, len(want))]
		ranking := must(w.Search(t.Context(), reverie.SearchQuery{GroupID: group, Vector: probe, Model: name, Calibration: c, Limit: limit}))(t)
		hits := ranking.Hits
		if len(hits) != len(want) || ranking.Total != len(byID) || ranking.Unseen != 0 {
			t.Fatalf("%d hits, want %d; of %d, %d unseen", len(hits), len(want), ranking.Total, ranking.Unseen)
		}
		for i := range want {
			if hits[i].ID != want[i].id || math.Abs(hits[i].Score-want[i].score) > 1e-6 || math.Abs(*hits[i].Cosine-cosine(probe, byID[want[i].id])) > 1e-6 {
				t.Fatalf("hit %d: %s %.9f, want %s %.9f", i, hits[i].ID, hits[i].Score, want[i].id, want[i].score)
			}
		}
		other := direction(r, dims)
		best := func(v []float32) float64 { return max(cosine(probe, v), cosine(other, v)) }
		ids := must(w.NearestHeads(t.Context(), group, reverie.KindGroup, name, [][]float32{probe, other}, 10))(t)
		all := slices.SortedFunc(maps(byID), func(a, b string) int { return cmp.Compare(best(byID[b]), best(byID[a])) })
		if !slices.Equal(ids, all[:10]) {
			t.Fatalf("nearest heads %v, want %v", ids, all[:10])
		}
	}
}

func maps[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// Rows of other groups, models, kinds and statuses are never compared.
func TestSearchNeverMixes(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.ensure("g2")
	same := []float32{1, 0, 0}
	with := func(statement, model string, v []float32) reverie.Step {
		st := create(statement)
		st.Embedding, st.EmbeddingModel = v, model
		return st
	}
	old := with("superseded", model, same)
	w.apply(with("mine", model, same), with("another model", "other@3", same), with("another width", "test@4", []float32{1, 0, 0, 0}),
		with("no vector", "", nil), with("林曉想瞭解攝影", "", nil), old)
	w.apply(remove(w.active()["superseded"], "gone"))
	lease := must(w.AcquireLease(ctx, "g2", reverie.LeaseGroup, "h", reverie.LeaseTTL))(t)
	run := must(w.StartRun(ctx, lease, reverie.Run{Job: reverie.JobEvolve}))(t)
	check(t, w.SaveChunk(ctx, lease, reverie.Chunk{RunID: run.ID, No: 1, Status: reverie.ChunkAnswered}))
	must(w.Apply(ctx, lease, reverie.Plan{GroupID: "g2", RunID: run.ID, ChunkNo: 1, Kind: reverie.KindDream, Steps: []reverie.Step{with("theirs", model, same)}}))(t)

	for name, tt := range map[string]struct {
		q    reverie.SearchQuery
		want string
	}{
		"group":         {reverie.SearchQuery{GroupID: group, Model: model, Vector: same}, "mine"},
		"other group":   {reverie.SearchQuery{GroupID: "g2", Model: model, Vector: same}, "theirs"},
		"other model":   {reverie.SearchQuery{GroupID: group, Model: "other@3", Vector: same}, "another model"},
		"other width":   {reverie.SearchQuery{GroupID: group, Model: "test@4", Vector: []float32{1, 0, 0, 1}}, "another width"},
		"kind":          {reverie.SearchQuery{GroupID: group, Model: model, Vector: same, Kinds: []reverie.Kind{reverie.KindGroup, reverie.KindTeam}}, "mine"},
		"other kind":    {reverie.SearchQuery{GroupID: group, Model: model, Vector: same, Kinds: []reverie.Kind{reverie.KindDream}}, ""},
		"too far":       {reverie.SearchQuery{GroupID: group, Model: model, Vector: []float32{0, 1, 0}}, ""},
		"words":         {reverie.SearchQuery{GroupID: group, Texts: []string{"width"}}, "another width"},
		"their words":   {reverie.SearchQuery{GroupID: group, Texts: []string{"theirs", "superseded"}}, ""},
		"no words":      {reverie.SearchQuery{GroupID: group, Texts: text.Scripts("什么时候了?")}, ""}, // but one by its traditional form
		"unknown group": {reverie.SearchQuery{GroupID: "nowhere", Model: model, Vector: same}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, h := range must(w.Search(ctx, tt.q))(t).Hits {
				if h.Score > 0.5 {
					got += h.Statement
				}
				if h.Cosine != nil && h.Statement != tt.want && name != "too far" {
					t.Errorf("%q was compared", h.Statement)
				}
			}
			if got != tt.want {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
	ids := must(w.NearestHeads(ctx, group, "", model, [][]float32{same}, 0))(t)
	if len(ids) != 1 || ids[0] != w.active()["mine"].ID {
		t.Errorf("nearest heads %v", ids)
	}
	for name, v := range map[string][]float32{"zero": {0, 0, 0}, "NaN": {1, float32(math.NaN()), 0}, "infinite": {float32(math.Inf(1)), 0, 0},
		"empty": {}, "width": {1, 2}} {
		if _, err := w.Search(ctx, reverie.SearchQuery{GroupID: group, Model: model, Vector: v}); err == nil {
			t.Errorf("%s was accepted", name)
		}
		if _, err := w.NearestHeads(ctx, group, "", model, [][]float32{v}, 1); err == nil {
			t.Errorf("%s was accepted as a probe", name)
		}
	}
}

func TestEmbeddings(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	bare, fitted := create("no vector yet"), create("has one")
	bare.Embedding, bare.EmbeddingModel = nil, ""
	w.apply(bare, fitted)
	probe := reverie.SearchQuery{GroupID: group, Vector: fitted.Embedding, Model: model, Limit: 1}
	if r := must(w.Search(ctx, probe))(t); r.Unseen != 1 || r.Total != 2 || len(r.Hits) != 1 {
		t.Errorf("with one unseen: %+v", r)
	}
	if models := must(w.VectorModels(ctx, group))(t); !slices.Equal(models, []string{model}) {
		t.Errorf("vectors are of %q", models)
	}
	if _, err := w.VectorModels(ctx, "nowhere"); !errors.Is(err, reverie.ErrNotFound) {
		t.Errorf("vectors of no group: %v", err)
	}
	missing := must(w.MissingEmbeddings(ctx, group, model, time.Time{}, 10))(t)
	if len(missing) != 1 || missing[0].ID != bare.MemoryID {
		t.Fatalf("missing %+v", missing)
	}
	check(t, w.SetEmbeddings(ctx, group, model, map[string][]float32{bare.MemoryID: {0, 1, 0}, reverie.NewID(): {1, 0, 0}}))
	if missing = must(w.MissingEmbeddings(ctx, group, model, time.Time{}, 10))(t); len(missing) != 0 {
		t.Errorf("still missing %+v", missing)
	}
	if missing = must(w.MissingEmbeddings(ctx, group, "next@3", time.Time{}, 10))(t); len(missing) != 2 {
		t.Errorf("%d to embed after a switch of models, want 2", len(missing))
	}
	must(raw(t).Exec(`update memories set status = 'archived', ended_at = now() where statement = 'no vector yet'`))(t)
	if missing = must(w.MissingEmbeddings(ctx, group, "next@3", time.Time{}, 10))(t); len(missing) != 2 || missing[1].ID != bare.MemoryID {
		t.Errorf("the archived one is not the last of %+v", missing)
	}
	must(raw(t).Exec(`update memories set status = 'deprecated' where statement = 'no vector yet'`))(t)
	if missing = must(w.MissingEmbeddings(ctx, group, "next@3", time.Time{}, 10))(t); len(missing) != 1 {
		t.Errorf("what is deleted would be embedded: %+v", missing)
	}
	wantErr(t, w.SetEmbeddings(ctx, group, model, map[string][]float32{bare.MemoryID: {0, 0, 0}}), reverie.ErrInvalid)
	wantErr(t, w.SetEmbeddings(ctx, group, "nameless", map[string][]float32{bare.MemoryID: {0, 1, 0}}), reverie.ErrInvalid)

	exact := []float32{0.1, -3.4028235e+38, 1e-45}
	check(t, w.SaveEmbeddings(ctx, group, model, map[string][]float32{"a": exact, "b": {1, 2, 3}}))
	check(t, w.SaveEmbeddings(ctx, group, model, map[string][]float32{"b": {3, 2, 1}, "c": {1, 1, 1}}))
	got := must(w.CachedEmbeddings(ctx, group, model, []string{"a", "b", "x"}))(t)
	if len(got) != 2 || !slices.Equal(got["a"], exact) || !slices.Equal(got["b"], []float32{1, 2, 3}) {
		t.Errorf("cached %v", got)
	}
	for _, other := range [][2]string{{"g2", model}, {group, "other@3"}} {
		if got = must(w.CachedEmbeddings(ctx, other[0], other[1], []string{"a"}))(t); len(got) != 0 {
			t.Errorf("%v sees another's vectors: %v", other, got)
		}
	}
}

// Vectors come back bit for bit, whatever their width, through array and single.
func FuzzVectorRoundTrip(f *testing.F) {
	f.Add(uint64(1), 1)
	f.Add(uint64(2), 1536)
	f.Add(uint64(3), 3072)
	s := pgtest.New(f)
	f.Fuzz(func(t *testing.T, seed uint64, dims int) {
		dims = 1 + (dims&0x7fffffff)%4000
		v := direction(rand.New(rand.NewPCG(seed, 2)), dims)
		name := fmt.Sprintf("fuzz@%d", dims)
		key := fmt.Sprint(seed)
		if s.SaveEmbeddings(t.Context(), "g", name, map[string][]float32{key: v}) != nil {
			t.Fatal("not saved")
		}
		got := must(s.CachedEmbeddings(t.Context(), "g", name, []string{key}))(t)
		if !slices.Equal(got[key], v) {
			t.Errorf("seed %d of width %d came back different", seed, dims)
		}
	})
}

package store_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

// vectored is a create whose statement has a vector.
func vectored(statement, model string, v []float32) reverie.Step {
	st := create(statement)
	st.Embedding, st.EmbeddingModel = v, model
	return st
}

// statements are what hits say, a list for each probe.
func statements(found [][]reverie.Hit) [][]string {
	list := make([][]string, len(found))
	for i, hits := range found {
		for _, h := range hits {
			list[i] = append(list[i], h.Statement)
		}
	}
	return list
}

// The lists are those of comparing everything, whatever the probes, be they more
// than one statement takes, the floor, the limit and what is not wanted.
func TestCandidatesAreTheNearest(t *testing.T) {
	w := newWorld(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	const dims = 16
	name := fmt.Sprintf("prop@%d", dims)
	byID := map[string][]float32{}
	var steps []reverie.Step
	for i := range 80 {
		st := vectored(fmt.Sprintf("statement %d", i), name, direction(r, dims))
		byID[st.MemoryID] = st.Embedding
		steps = append(steps, st)
	}
	w.apply(steps...)
	for range 10 {
		q := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: name, MinCosine: r.Float64()*0.6 - 0.1, Limit: 1 + r.IntN(8)}
		for range r.IntN(50) {
			q.Probes = append(q.Probes, direction(r, dims))
		}
		for id := range byID {
			if r.IntN(4) == 0 {
				q.Exclude = append(q.Exclude, id)
			}
		}
		found := must(w.Candidates(t.Context(), q))(t)
		if len(found) != len(q.Probes) {
			t.Fatalf("%d lists for %d probes", len(found), len(q.Probes))
		}
		for i, probe := range q.Probes {
			var want []string
			for id, v := range byID {
				if cosine(probe, v) >= q.MinCosine && !slices.Contains(q.Exclude, id) {
					want = append(want, id)
				}
			}
			slices.SortFunc(want, func(a, b string) int { return cmp.Compare(cosine(probe, byID[b]), cosine(probe, byID[a])) })
			want = want[:min(q.Limit, len(want))]
			var got []string
			for _, h := range found[i] {
				got = append(got, h.ID)
				if math.Abs(h.Score-cosine(probe, byID[h.ID])) > 1e-6 {
					t.Errorf("probe %d: %s scores %.9f, want %.9f", i, h.ID, h.Score, cosine(probe, byID[h.ID]))
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("probe %d: %v, want %v", i, got, want)
			}
		}
	}
}

func TestCandidatesNeverMix(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	same, side := []float32{1, 0, 0}, []float32{0, 1, 0}
	gone := vectored("superseded", model, same)
	w.apply(vectored("mine", model, same), vectored("aside", model, side), vectored("another model", "other@3", same),
		vectored("another width", "test@4", []float32{1, 0, 0, 0}), vectored("no vector", "", nil), gone)
	w.apply(remove(w.active()["superseded"], "gone"))
	dream := w.plan(vectored("dreamt", model, same))
	dream.Kind = reverie.KindDream
	must(w.Apply(ctx, w.lease, dream))(t)
	mine := w.active()["mine"].ID

	ask := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: model, MinCosine: 0.5, Limit: 5,
		Probes: [][]float32{same, {-1, -1, 0}, side}}
	with := func(change func(*reverie.CandidateQuery)) reverie.CandidateQuery {
		q := ask
		change(&q)
		return q
	}
	for name, tt := range map[string]struct {
		q    reverie.CandidateQuery
		want [][]string
	}{
		"each probe its own, or none": {ask, [][]string{{"mine"}, nil, {"aside"}}},
		"another kind":                {with(func(q *reverie.CandidateQuery) { q.Kind = reverie.KindDream }), [][]string{{"dreamt"}, nil, nil}},
		"another model":               {with(func(q *reverie.CandidateQuery) { q.Model = "other@3" }), [][]string{{"another model"}, nil, nil}},
		"another group":               {with(func(q *reverie.CandidateQuery) { q.GroupID = "g2" }), [][]string{nil, nil, nil}},
		"not wanted":                  {with(func(q *reverie.CandidateQuery) { q.Exclude = []string{mine} }), [][]string{nil, nil, {"aside"}}},
		"no floor, one each":          {with(func(q *reverie.CandidateQuery) { q.MinCosine, q.Limit = -1, 1 }), [][]string{{"mine"}, {"mine"}, {"aside"}}},
		"no limit":                    {with(func(q *reverie.CandidateQuery) { q.MinCosine, q.Limit, q.Probes = -1, 0, q.Probes[:1] }), [][]string{{"mine", "aside"}}},
		"no probe":                    {with(func(q *reverie.CandidateQuery) { q.Probes = nil }), [][]string{}},
	} {
		got := statements(must(w.Candidates(ctx, tt.q))(t))
		if name == "no floor, one each" { // the second probe is as far from both: the id decides
			if first := min(mine, w.active()["aside"].ID); first != mine {
				tt.want[1] = []string{"aside"}
			}
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for name, bad := range map[string]reverie.CandidateQuery{
		"no direction":   with(func(q *reverie.CandidateQuery) { q.Probes = [][]float32{same, {0, 0, 0}} }),
		"another width":  with(func(q *reverie.CandidateQuery) { q.Probes = [][]float32{{1, 0}} }),
		"unnamed width":  with(func(q *reverie.CandidateQuery) { q.Model = "test" }),
		"foreign handle": with(func(q *reverie.CandidateQuery) { q.Exclude = []string{"m1"} }),
	} {
		_, err := w.Candidates(ctx, bad)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		wantErr(t, err, reverie.ErrInvalid)
	}
}

// Those of one score come by id, and the limit cuts there.
func TestCandidatesOfOneScore(t *testing.T) {
	w := newWorld(t)
	var steps []reverie.Step
	var ids []string
	for i := range 6 {
		st := vectored(fmt.Sprint("twin ", i), model, []float32{float32(int(1) << i), 0, 0}) // of one direction
		steps, ids = append(steps, st), append(ids, st.MemoryID)
	}
	w.apply(steps...)
	slices.Sort(ids)
	found := must(w.Candidates(t.Context(), reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: model,
		Probes: [][]float32{{1, 1, 0}}, MinCosine: 0.1, Limit: 4}))(t)
	var got []string
	for _, h := range found[0] {
		got = append(got, h.ID)
	}
	if diff := gocmp.Diff(ids[:4], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

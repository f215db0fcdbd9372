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
	"reverie/internal/text"
)

// vectored is a create whose statement has a vector.
func vectored(statement, model string, v []float32) reverie.Step {
	st := create(statement)
	st.Embedding, st.EmbeddingModel = v, model
	return st
}

// probes are vectors of texts without words.
func probes(vectors ...[]float32) (list []reverie.Probe) {
	for _, v := range vectors {
		list = append(list, reverie.Probe{ID: reverie.NewID(), Vector: v})
	}
	return list
}

// statements are what was found, a list for each probe.
func statements(t *testing.T, w *world, found [][]reverie.Near) [][]string {
	t.Helper()
	list := make([][]string, len(found))
	for i, near := range found {
		for _, n := range near {
			list[i] = append(list[i], must(w.Memory(t.Context(), group, n.ID))(t).Statement)
		}
	}
	return list
}

// The lists are those of comparing everything, whatever the probes, be they more
// than one statement takes, the floor, the limit and what is not wanted.
func TestCandidatesAreTheNearest(t *testing.T) {
	w := newWorld(t)
	seed := seedOf(t)
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
		q := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: name, MinScore: r.Float64() * 0.6, Limit: 1 + r.IntN(8)}
		for range r.IntN(50) {
			q.Probes = append(q.Probes, probes(direction(r, dims))...)
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
				if cosine(probe.Vector, v) >= q.MinScore && !slices.Contains(q.Exclude, id) {
					want = append(want, id)
				}
			}
			slices.SortFunc(want, func(a, b string) int {
				return cmp.Compare(cosine(probe.Vector, byID[b]), cosine(probe.Vector, byID[a]))
			})
			want = want[:min(q.Limit, len(want))]
			var got []string
			for _, h := range found[i] {
				got = append(got, h.ID)
				if math.Abs(h.Score-cosine(probe.Vector, byID[h.ID])) > 1e-6 {
					t.Errorf("probe %d: %s scores %.9f, want %.9f", i, h.ID, h.Score, cosine(probe.Vector, byID[h.ID]))
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

	ask := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: model, MinScore: 0.5, Limit: 5,
		Probes: probes(same, []float32{-1, -1, 0}, side)}
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
		"no floor, one each":          {with(func(q *reverie.CandidateQuery) { q.MinScore, q.Limit = 0, 1 }), [][]string{{"mine"}, {"mine"}, {"aside"}}},
		"no limit":                    {with(func(q *reverie.CandidateQuery) { q.MinScore, q.Limit, q.Probes = 0.01, 0, probes([]float32{1, 0.5, 0}) }), [][]string{{"mine", "aside"}}},
		"no probe":                    {with(func(q *reverie.CandidateQuery) { q.Probes = nil }), [][]string{}},
	} {
		got := statements(t, w, must(w.Candidates(ctx, tt.q))(t))
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
		"no direction":   with(func(q *reverie.CandidateQuery) { q.Probes = probes(same, []float32{0, 0, 0}) }),
		"another width":  with(func(q *reverie.CandidateQuery) { q.Probes = probes([]float32{1, 0}) }),
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
		Probes: probes([]float32{1, 1, 0}), MinScore: 0.1, Limit: 4}))(t)
	var got []string
	for _, h := range found[0] {
		got = append(got, h.ID)
	}
	if diff := gocmp.Diff(ids[:4], got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What comes near a new fact scores as a search for it would have it, by words and by meaning,
// whether it is stored or given beside what is; without a model, by its words alone.
func TestCandidatesScoreAsASearch(t *testing.T) {
	w := newWorld(t)
	seed := seedOf(t)
	r := rand.New(rand.NewPCG(seed, 2))
	const dims = 8
	name := fmt.Sprintf("prop@%d", dims)
	said := []string{"Lin moved to Porto in May", "Lin is allergic to peanuts", "Porto is where Mei spent May", "林晓每周三打羽毛球", "羽毛球拍是小美的",
		"The rent of the studio is 300 a month", "Mei pays the rent", "nobody"}
	vectors := map[string][]float32{}
	var steps []reverie.Step
	for _, s := range said {
		vectors[s] = direction(r, dims)
		steps = append(steps, vectored(s, name, vectors[s]))
	}
	w.apply(steps...)
	calibration := reverie.Calibration{Floor: 0.1, Related: 0.4, Ceiling: 0.8}
	stored := w.active()
	for _, with := range []string{name, ""} {
		q := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, Model: with, Calibration: calibration}
		beside := q
		for _, asked := range []string{"Mei moved to Porto", "peanuts", "羽毛球每週三", "the rent is due in May", ""} {
			q.Probes = append(q.Probes, reverie.Probe{ID: reverie.NewID(), Text: asked, Vector: direction(r, dims)})
		}
		beside.Probes = q.Probes
		for i, s := range said {
			if i%2 == 0 {
				beside.Exclude = append(beside.Exclude, stored[s].ID)
				beside.Beside = append(beside.Beside, reverie.Probe{ID: stored[s].ID, Text: s, Vector: vectors[s]})
			}
		}
		all, mixed := must(w.Candidates(t.Context(), q))(t), must(w.Candidates(t.Context(), beside))(t)
		for i, p := range q.Probes {
			search := reverie.SearchQuery{GroupID: group, Texts: text.Scripts(p.Text), Calibration: calibration}
			if with != "" {
				search.Vector, search.Model = p.Vector, with
			}
			want := map[string]float64{}
			for _, h := range must(w.Search(t.Context(), search))(t).Hits {
				want[h.ID] = math.Round(h.Score * 1e9)
			}
			for which, near := range map[string][]reverie.Near{"stored": all[i], "beside": mixed[i]} {
				got := map[string]float64{}
				for _, n := range near {
					got[n.ID] = math.Round(n.Score * 1e9)
				}
				if diff := gocmp.Diff(want, got); diff != "" {
					t.Errorf("model %q, %q, %s (-search +candidates):\n%s", with, p.Text, which, diff)
				}
			}
		}
		if near := statements(t, w, all[1:3])[0][0]; with == "" && near != said[1] {
			t.Errorf("by words alone, %q is nearest", near)
		}
	}
}

// A fact among others of its chunk is not compared with itself.
func TestCandidatesOfOneChunk(t *testing.T) {
	w := newWorld(t)
	q := reverie.CandidateQuery{GroupID: group, Kind: reverie.KindGroup, MinScore: 0.7, Probes: []reverie.Probe{
		{ID: reverie.NewID(), Text: "Lin moved to Porto"}, {ID: reverie.NewID(), Text: "Porto is where Lin moved"}, {ID: reverie.NewID(), Text: "tea"}}}
	q.Beside = q.Probes
	found := must(w.Candidates(t.Context(), q))(t)
	if len(found[0]) != 1 || found[0][0].ID != q.Probes[1].ID || len(found[1]) != 1 || found[1][0].ID != q.Probes[0].ID || len(found[2]) > 0 {
		t.Errorf("%+v", found)
	}
}

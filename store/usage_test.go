package store_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/reverie"
)

var byDefault = reverie.WeightRule{Referenced: 0.1, Ignored: -0.02, Min: 0, Max: 2}

// offer logs that one context of a session offered memories, and returns its id.
func (w *world) offer(session string, list ...reverie.Memory) string {
	w.t.Helper()
	usage := reverie.NewID()
	var rows []reverie.Usage
	for i, m := range list {
		f := reverie.Factors{Similarity: 0.9, Weight: m.Weight, Strength: m.Strength, Recency: 0.75}
		rows = append(rows, reverie.Usage{GroupID: m.GroupID, UsageID: usage, MemoryID: m.ID, LineageID: m.LineageID, SessionID: session,
			Query: "what now?", Position: i + 1, Score: f.Score(), Factors: f})
	}
	check(w.t, w.LogUsage(w.t.Context(), rows))
	return usage
}

// verdict says of memories in turn whether they were referenced.
func verdict(list []reverie.Memory, referenced ...bool) (verdicts []reverie.UsageVerdict) {
	for i, m := range list {
		verdicts = append(verdicts, reverie.UsageVerdict{MemoryID: m.ID, Referenced: referenced[i], Score: 0.75})
	}
	return verdicts
}

// weighed sets weights by hand and returns the memories with them.
func (w *world) weighed(weights ...float64) (list []reverie.Memory) {
	w.t.Helper()
	var steps []reverie.Step
	for i := range weights {
		steps = append(steps, create(fmt.Sprintf("%s says %d", w.t.Name(), i)))
	}
	w.apply(steps...)
	for i, st := range steps {
		list = append(list, must(w.Edit(w.t.Context(), reverie.Edit{GroupID: group, MemoryID: st.MemoryID, Action: reverie.ActionWeight, Value: weights[i]}))(w.t))
	}
	return list
}

// weights reads those of the lineages' newest versions.
func (w *world) weights(list []reverie.Memory) (weights []float64) {
	w.t.Helper()
	for _, m := range list {
		weights = append(weights, math.Round(1e9*must(w.LineageHead(w.t.Context(), group, m.LineageID))(w.t).Weight)/1e9)
	}
	return weights
}

func TestUsageIsLoggedOnce(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	list := w.weighed(1.5, 1)
	row := reverie.Usage{GroupID: group, UsageID: reverie.NewID(), MemoryID: list[0].ID, LineageID: list[0].LineageID, SessionID: "s1",
		Query: "tea\x00 or \xff?", Position: 1, Score: 0.3375, Factors: reverie.Factors{Similarity: 0.9, Weight: 1.5, Strength: 0.5, Recency: 0.5}}
	other := row
	other.GroupID, other.UsageID, other.CreatedAt = "elsewhere", reverie.NewID(), noon.Add(time.Hour)
	long := row
	long.MemoryID, long.LineageID, long.Position, long.Query = list[1].ID, list[1].LineageID, 2, strings.Repeat("记忆", reverie.MaxUsageQuery)
	check(t, w.LogUsage(ctx, []reverie.Usage{long, other, row}))
	again := row
	again.Score, again.Query = 2, "another"
	check(t, w.LogUsage(ctx, []reverie.Usage{again}))
	check(t, w.LogUsage(ctx, nil))

	got := must(w.Offered(ctx, reverie.UsageQuery{GroupID: group, SessionID: "s1"}))(t)
	row.Query, row.Statement, row.CreatedAt = "tea\uFFFD or \uFFFD?", list[0].Statement, noon
	if len(got) != 2 || utf8.RuneCountInString(got[1].Query) > reverie.MaxUsageQuery {
		t.Fatalf("offered %+v", got)
	}
	if diff := cmp.Diff(row, got[0]); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	bad := row
	bad.MemoryID = "m1"
	wantErr(t, w.LogUsage(ctx, []reverie.Usage{row, bad}), reverie.ErrInvalid)
}

func TestOfferedFindsTheContext(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	list := w.weighed(1, 1)
	first := w.offer("s1", list...)
	w.now = w.now.Add(time.Minute)
	second := w.offer("s1", list[1])
	w.now = w.now.Add(time.Minute)
	sessionless := w.offer("", list[0])
	w.ensure("g2")
	check(t, w.LogUsage(ctx, []reverie.Usage{{GroupID: "g2", UsageID: reverie.NewID(), MemoryID: list[0].ID, LineageID: list[0].LineageID, SessionID: "both"}}))
	w.offer("both", list[0])
	w.say("talk", "ua")
	for name, c := range map[string]struct {
		q    reverie.UsageQuery
		want string
		rows int
	}{
		"newest of the session":  {reverie.UsageQuery{GroupID: group, SessionID: "s1"}, second, 1},
		"whatever the group":     {reverie.UsageQuery{SessionID: "s1"}, second, 1},
		"named":                  {reverie.UsageQuery{UsageID: first}, first, 2},
		"named, and the session": {reverie.UsageQuery{SessionID: "s1", UsageID: first}, first, 2},
		"of no session":          {reverie.UsageQuery{GroupID: group, UsageID: sessionless}, sessionless, 1},
		"a session without any":  {reverie.UsageQuery{SessionID: "talk"}, "", 0},
		"another session's":      {reverie.UsageQuery{SessionID: "s2", UsageID: first}, "", -1},
		"another group's":        {reverie.UsageQuery{GroupID: "g2", UsageID: first}, "", -1},
		"a mistyped one":         {reverie.UsageQuery{GroupID: group, UsageID: reverie.NewID()}, "", -1},
		"unknown session":        {reverie.UsageQuery{GroupID: group, SessionID: "s9"}, "", -1},
		"session of others":      {reverie.UsageQuery{GroupID: "g2", SessionID: "talk"}, "", -1},
		"no session at all":      {reverie.UsageQuery{GroupID: group}, "", -1},
		"no id":                  {reverie.UsageQuery{UsageID: "u1"}, "", -1},
	} {
		rows, err := w.Offered(ctx, c.q)
		if c.rows < 0 {
			if !errors.Is(err, reverie.ErrNotFound) {
				t.Errorf("%s: %+v, %v", name, rows, err)
			}
			continue
		}
		if check(t, err); len(rows) != c.rows || c.rows > 0 && rows[0].UsageID != c.want {
			t.Errorf("%s: %+v, want %d rows of %s", name, rows, c.rows, c.want)
		}
	}
	_, err := w.Offered(ctx, reverie.UsageQuery{SessionID: "both"})
	if wantErr(t, err, reverie.ErrInvalid); !strings.Contains(err.Error(), `"g1" "g2"`) {
		t.Errorf("the error names no groups: %v", err)
	}
	if rows := must(w.Offered(ctx, reverie.UsageQuery{GroupID: group, SessionID: "both"}))(t); len(rows) != 1 {
		t.Errorf("with the group: %+v", rows)
	}
}

// TestJudgeMovesWeights: up to the bounds and never beyond, and a weight that a
// person set beyond them does not jump back.
func TestJudgeMovesWeights(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	set := []float64{1, 1, 1.95, 2, 0.21, 0.1, 0.1, 1.9}
	list := w.weighed(set...)
	usage := w.offer("s1", list...)
	rule := reverie.WeightRule{Referenced: 0.1, Ignored: -0.02, Min: 0.2, Max: 1.8}
	want := []float64{1.1, 0.98, 1.95, 1.98, 0.2, 0.1, 0.2, 1.9}
	w.now = w.now.Add(time.Minute)
	rows := must(w.Judge(ctx, group, usage, verdict(list, true, false, true, false, false, false, true, true), rule))(t)
	if diff := cmp.Diff([]float64{1.1, 0.98, 1.95, 1.98, 0.2, 0.1, 0.2, 1.9}, w.weights(list)); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	for i, r := range rows {
		if r.WasReferenced == nil || *r.WasReferenced != (i != 1 && i != 3 && i != 4 && i != 5) || *r.ReferenceScore != 0.75 ||
			math.Abs(*r.WeightAfter-want[i]) > 1e-9 || !r.JudgedAt.Equal(w.now) || r.MemoryID != list[i].ID {
			t.Errorf("row %d: %+v", i+1, r)
		}
	}
	// A second report moves nothing, whatever it says, and finds the same rows.
	w.now = w.now.Add(time.Minute)
	again := must(w.Judge(ctx, group, usage, verdict(list, false, true, false, true, true, true, false, false), rule))(t)
	if diff := cmp.Diff(rows, again); diff != "" {
		t.Errorf("judged again (-first +second):\n%s", diff)
	}
	if diff := cmp.Diff(want, w.weights(list)); diff != "" {
		t.Errorf("weights, judged again (-want +got):\n%s", diff)
	}
	if n := count(t, raw(t), `select count(*) from memory_change_log where created_at > $1`, noon.Add(time.Second)); n != 0 {
		t.Errorf("%d rows in the change log", n)
	}
}

// TestJudgeMovesHeads: a memory that was rewritten since moves by its newest
// version; one that was deleted keeps its weight's history for when it comes back.
func TestJudgeMovesHeads(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	list := w.weighed(1, 1, 1)
	usage := w.offer("s1", list...)
	next := update(list[0], "says something else")
	w.apply(next, remove(list[1], "no longer"))
	rows := must(w.Judge(ctx, group, usage, verdict(list[:2], true, true), byDefault))(t)
	if diff := cmp.Diff([]float64{1.1, 1.1, 1}, w.weights(list)); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	if old := must(w.Memory(ctx, group, list[0].ID))(t); old.Weight != 1 {
		t.Errorf("the old version weighs %v", old.Weight)
	}
	if rows[0].Statement != list[0].Statement || rows[2].WasReferenced != nil {
		t.Errorf("rows %+v", rows)
	}
	// What was left out can be judged later.
	must(w.Judge(ctx, group, usage, verdict(list, false, false, true), byDefault))(t)
	if diff := cmp.Diff([]float64{1.1, 1.1, 1.1}, w.weights(list)); diff != "" {
		t.Errorf("weights, the rest judged (-want +got):\n%s", diff)
	}
}

func TestJudgeRefuses(t *testing.T) {
	w := newWorld(t)
	list := w.weighed(1)
	usage := w.offer("s1", list...)
	for name, c := range map[string]struct {
		usage, memory string
		rule          reverie.WeightRule
		want          error
	}{
		"a fall for use":     {usage, list[0].ID, reverie.WeightRule{Referenced: -1, Max: 2}, reverie.ErrInvalid},
		"a rise for disuse":  {usage, list[0].ID, reverie.WeightRule{Ignored: 1, Max: 2}, reverie.ErrInvalid},
		"bounds beyond":      {usage, list[0].ID, reverie.WeightRule{Max: 2.1}, reverie.ErrInvalid},
		"bounds that cross":  {usage, list[0].ID, reverie.WeightRule{Min: 1, Max: 0.5}, reverie.ErrInvalid},
		"no number":          {usage, list[0].ID, reverie.WeightRule{Referenced: math.NaN(), Max: 2}, reverie.ErrInvalid},
		"no id of a context": {"s1", list[0].ID, byDefault, reverie.ErrNotFound},
		"no id of a memory":  {usage, "m1", byDefault, reverie.ErrNotFound},
	} {
		_, err := w.Judge(t.Context(), group, c.usage, []reverie.UsageVerdict{{MemoryID: c.memory, Referenced: true}}, c.rule)
		t.Log(name)
		wantErr(t, err, c.want)
	}
	stranger := []reverie.UsageVerdict{{MemoryID: reverie.NewID(), Referenced: true}}
	rows := must(w.Judge(t.Context(), group, usage, stranger, byDefault))(t)
	if other := must(w.Judge(t.Context(), "g2", usage, verdict(list, true), byDefault))(t); len(rows) != 1 || len(other) != 0 || w.weights(list)[0] != 1 {
		t.Errorf("a stranger's verdict counts: %+v, %+v, weights %v", rows, other, w.weights(list))
	}
}

// TestJudgeTogether: contexts with the same memories in opposite orders, each
// reported twice at once, while a run rewrites them: nobody waits in a circle, and
// each context counts once.
func TestJudgeTogether(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	list := w.weighed(1, 1, 1, 1)
	backwards := []reverie.Memory{list[3], list[2], list[1], list[0]}
	const contexts = 6
	var usages []string
	for i := range contexts {
		usages = append(usages, w.offer(fmt.Sprint("s", i), [][]reverie.Memory{list, backwards}[i%2]...))
	}
	plan := w.plan(update(list[2], "two, in other words"), update(list[0], "none, in other words"))
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 2 * contexts {
		wg.Go(func() {
			<-start
			offered := [][]reverie.Memory{list, backwards}[i%2]
			if _, err := w.Judge(ctx, group, usages[i%contexts], verdict(offered, true, true, true, true), byDefault); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Go(func() {
		<-start
		if _, err := w.Apply(ctx, w.lease, plan); err != nil {
			t.Error(err)
		}
	})
	close(start)
	wg.Wait()
	if diff := cmp.Diff([]float64{1.6, 1.6, 1.6, 1.6}, w.weights(list)); diff != "" {
		t.Errorf("weights (-want +got):\n%s", diff)
	}
	if n := count(t, raw(t), `select count(*) from memory_usage_log where was_referenced`); n != contexts*4 {
		t.Errorf("%d rows are judged", n)
	}
}

// TestUsageOf counts rows and what was pruned of them, lineage by lineage.
func TestUsageOf(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	list := w.weighed(1, 1, 1, 1)
	must(w.Judge(ctx, group, w.offer("s1", list[:2]...), verdict(list[:2], true, false), byDefault))(t)
	w.now = noon.Add(time.Hour)
	w.offer("s2", list[0])
	db := raw(t)
	for _, lineage := range []string{list[0].LineageID, list[2].LineageID} {
		must(db.Exec(`insert into memory_usage_totals values ($1, $2, 7, 4, 2, $3)`, group, lineage, noon.Add(-time.Hour)))(t)
	}
	var ids []string
	for _, m := range list {
		ids = append(ids, m.LineageID)
	}
	at := func(d time.Duration) *time.Time { instant := noon.Add(d); return &instant }
	want := map[string]reverie.UsageCount{
		ids[0]: {Offered: 9, Referenced: 5, Ignored: 2, LastOfferedAt: at(time.Hour)},
		ids[1]: {Offered: 1, Ignored: 1, LastOfferedAt: at(0)},
		ids[2]: {Offered: 7, Referenced: 4, Ignored: 2, LastOfferedAt: at(-time.Hour)}}
	if diff := cmp.Diff(want, must(w.UsageOf(ctx, group, ids))(t)); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if why := must(w.Why(ctx, group, list[2].ID))(t); why.Usage.Referenced != 4 || why.Usage.Offered != 7 {
		t.Errorf("what stands behind it: %+v", why.Usage)
	}
	if got := must(w.UsageOf(ctx, "g2", ids))(t); len(got) != 0 {
		t.Errorf("another group's: %v", got)
	}
	if got := must(w.UsageOf(ctx, group, nil))(t); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

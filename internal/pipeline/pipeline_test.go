package pipeline

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/answer"
	"reverie/internal/reverie"
	"reverie/prompts"
)

// book is a ledger and a lease kept in memory.
type book struct {
	started, finished []reverie.Run
	chunks            []reverie.Chunk
	calls             []reverie.Call // that were written by themselves
	adopted           []string       // the runs whose answers were taken, and for which
	fail              error
	dead              bool // the context of the end was over
}

func (b *book) StartRun(_ context.Context, _ reverie.Lease, run reverie.Run) (reverie.Run, error) {
	b.started = append(b.started, run)
	return run, b.fail
}

func (b *book) OpenRun(_ context.Context, _ reverie.Lease, run reverie.Run, c reverie.Chunk, before string) (reverie.Run, error) {
	c.RunID = run.ID
	b.started, b.chunks, b.adopted = append(b.started, run), append(b.chunks, c), append(b.adopted, before)
	return run, b.fail
}

func (b *book) SaveChunk(_ context.Context, _ reverie.Lease, c reverie.Chunk) error {
	b.chunks = append(b.chunks, c)
	return b.fail
}

func (b *book) FinishRun(ctx context.Context, _ reverie.Lease, run reverie.Run) (int, error) {
	b.finished, b.dead = append(b.finished, run), ctx.Err() != nil
	return 7, b.fail
}

func (b *book) RecordCall(ctx context.Context, c reverie.Call) error {
	if !c.Keep(ctx) {
		b.calls = append(b.calls, c)
	}
	return nil
}

func (b *book) AdoptAnswers(_ context.Context, _ reverie.Lease, groupID, from, to string) error {
	b.adopted = append(b.adopted, groupID+" "+from+" "+to)
	return b.fail
}

func (b *book) Lease() reverie.Lease            { return reverie.Lease{GroupID: "g"} }
func (b *book) Exclusive(fn func() error) error { return fn() }

func (b *book) run() *RunRecorder {
	return &RunRecorder{Ledger: b, Hold: b, Now: func() time.Time { return time.Unix(1, 0) }, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Row: reverie.Run{GroupID: "g"}}
}

// TestEnd records the end of a run once it has a row, whatever happened to its
// context, but never when the row is another holder's.
func TestEnd(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		err   error
		held  int
		start bool
		want  reverie.RunStatus // "" = nothing is recorded
	}{
		"not begun":  {nil, 0, false, ""},
		"well":       {nil, 0, true, reverie.RunSucceeded},
		"held":       {nil, 1, true, reverie.RunHeld},
		"deferred":   {reverie.ErrDeferred, 1, true, reverie.RunDeferred},
		"failed":     {reverie.ErrUnusable, 0, true, reverie.RunFailed},
		"lease lost": {reverie.ErrLeaseLost, 0, true, ""},
	} {
		b := &book{}
		r := b.run()
		if c.start {
			if err := r.Start(t.Context(), reverie.Run{Job: reverie.JobExtract}); err != nil {
				t.Fatal(err)
			}
		}
		r.Stats.Held = c.held
		if err := r.End(over, c.err); !errors.Is(err, c.err) || b.dead {
			t.Errorf("%s: %v, dead %v", name, err, b.dead)
		}
		if recorded := len(b.finished) == 1; recorded != (c.want != "") || recorded && (b.finished[0].Status != c.want || r.Stats.Deferred != 7 || b.finished[0].GroupID != "g") {
			t.Errorf("%s: %+v", name, b.finished)
		}
	}
	b := &book{}
	r := b.run()
	_ = r.Start(t.Context(), reverie.Run{})
	for _, outcome := range []error{reverie.ErrUnknownOutcome, nil} { // the run stays open, and is resumed, if it is unknown
		if err := r.End(t.Context(), r.Write(func(reverie.Lease) error { return outcome })); !errors.Is(err, outcome) ||
			len(b.finished) == 0 != (outcome != nil) {
			t.Errorf("a write with the outcome %v: %v, %+v", outcome, err, b.finished)
		}
	}
	b.fail = reverie.ErrUnavailable
	if err := r.End(t.Context(), reverie.ErrUnusable); !errors.Is(err, reverie.ErrUnusable) || !errors.Is(err, reverie.ErrUnavailable) {
		t.Errorf("both errors: %v", err)
	}
}

// TestBegin writes no row before there is a chunk, save for the end of a run, and none at
// all where it could not be written.
func TestBegin(t *testing.T) {
	b := &book{}
	r := b.run()
	r.Begin(reverie.Run{Job: reverie.JobExtract})
	if len(b.started) != 0 || !reverie.IsID(r.Row.ID) {
		t.Errorf("begun: %+v", b.started)
	}
	r.Before = "earlier"
	if err := r.End(t.Context(), reverie.ErrUnusable); !errors.Is(err, reverie.ErrUnusable) || len(b.started) != 1 || len(b.finished) != 1 ||
		b.finished[0].ID != b.started[0].ID || b.finished[0].Status != reverie.RunFailed {
		t.Errorf("ended: %v, %+v", err, b.finished)
	}
	b = &book{}
	r = b.run()
	r.Begin(reverie.Run{Job: reverie.JobExtract})
	if err := errors.Join(r.Save(t.Context(), reverie.Chunk{No: 1}), r.Save(t.Context(), reverie.Chunk{No: 2})); err != nil || len(b.started) != 1 || len(b.chunks) != 2 {
		t.Errorf("saved: %v, %+v", err, b)
	}
	b = &book{fail: reverie.ErrUnavailable}
	r = b.run()
	r.Begin(reverie.Run{Job: reverie.JobExtract})
	err := r.Save(t.Context(), reverie.Chunk{No: 1})
	if !errors.Is(err, reverie.ErrUnavailable) || r.Row.ID != "" || r.End(t.Context(), err) == nil || len(b.finished) != 0 {
		t.Errorf("not written: %v, %+v", err, b)
	}
}

// TestStart writes one row, and none for a dry run or one that is taken up.
func TestStart(t *testing.T) {
	b := &book{}
	r := b.run()
	for range 2 {
		if err := r.Start(t.Context(), reverie.Run{Job: reverie.JobExtract}); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.started) != 1 || !reverie.IsID(r.Row.ID) || r.Row.ID != *r.Meta("extract").RunID || r.Asker(nil, nil, "extract").Lease == nil {
		t.Errorf("%+v", r.Row)
	}
	dry := b.run()
	dry.Hold, dry.Before = nil, "earlier"
	if err := errors.Join(dry.Start(t.Context(), reverie.Run{}), dry.Save(t.Context(), reverie.Chunk{}), dry.End(t.Context(), nil)); err != nil || !dry.Began || dry.Meta("extract").RunID != nil {
		t.Errorf("dry: %+v, %v", dry.Row, err)
	}
	next := b.run()
	next.Before = "earlier" // itself
	next.Resume(reverie.Run{GroupID: "g", ID: "earlier", Stats: reverie.Stats{Chunks: 3}})
	if err := next.Start(t.Context(), reverie.Run{}); err != nil || next.Row.ID != "earlier" || next.Stats.Chunks != 3 || !next.Began {
		t.Errorf("taken up: %+v, %v", next.Row, err)
	}
	if len(b.started) != 1 || len(b.chunks) != 0 || len(b.finished) != 0 {
		t.Errorf("%+v", b)
	}
	after, taken := b.run(), b.run()
	after.Before, taken.Before = "earlier", "first"
	taken.Resume(reverie.Run{GroupID: "g", ID: "second"})
	for range 2 {
		if err := errors.Join(after.Start(t.Context(), reverie.Run{}), taken.Start(t.Context(), reverie.Run{})); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"g earlier " + after.Row.ID, "g first second"}; !slices.Equal(b.adopted, want) {
		t.Errorf("answers taken: %q, want %q", b.adopted, want)
	}
	opened, again := b.run(), b.run()
	opened.Before = "earlier"
	again.Resume(reverie.Run{GroupID: "g", ID: "second"})
	for _, r := range []*RunRecorder{opened, again, dry} {
		r.Begin(reverie.Run{Job: reverie.JobDream})
		if err := r.Save(t.Context(), reverie.Chunk{No: 1}); err != nil || !r.Began {
			t.Errorf("opened: %+v, %v", r.Row, err)
		}
	}
	if got := []string{b.chunks[0].RunID, b.chunks[1].RunID, b.adopted[2]}; len(b.chunks) != 2 || !slices.Equal(got, []string{opened.Row.ID, "second", "earlier"}) {
		t.Errorf("chunks %+v, answers taken: %q", b.chunks, b.adopted)
	}
	failing := (&book{fail: reverie.ErrLeaseLost}).run()
	if err := failing.Start(t.Context(), reverie.Run{}); !errors.Is(err, reverie.ErrLeaseLost) || failing.Row.ID != "" {
		t.Errorf("failing: %v, %+v", err, failing.Row)
	}
}

// spoken is an embedder that fails as it is told.
type spoken struct {
	err   error
	asked *int
}

func (spoken) Key() string { return "m@1" }

func (s spoken) Embed(_ context.Context, _ llm.Meta, texts []string) ([][]float32, error) {
	*s.asked++
	return vectors(len(texts)), s.err
}

func vectors(n int) (list [][]float32) {
	for i := range n {
		list = append(list, []float32{float32(i + 1)})
	}
	return list
}

// TestEmbed gives vectors to what has none, and waits once for an optional embedder
// that fails.
func TestEmbed(t *testing.T) {
	steps := func() []reverie.Step {
		return []reverie.Step{{Statement: "a"}, {}, {Statement: "b", Embedding: []float32{9}, EmbeddingModel: "m@1"}, {Statement: "c"}}
	}
	var asked int
	r, list := (&book{}).run(), steps()
	if err := r.Embed(t.Context(), spoken{nil, &asked}, false, list); err != nil || list[0].Embedding[0] != 1 || list[1].Embedding != nil ||
		list[2].Embedding[0] != 9 || list[3].Embedding[0] != 2 || list[3].EmbeddingModel != "m@1" {
		t.Errorf("%+v, %v", list, err)
	}
	down := spoken{reverie.ErrDeferred, &asked}
	if err := r.Embed(t.Context(), down, false, steps()); !errors.Is(err, reverie.ErrDeferred) {
		t.Errorf("needed: %v", err)
	}
	asked = 0
	for range 2 {
		if err := r.Embed(t.Context(), down, true, steps()); err != nil {
			t.Errorf("optional: %v", err)
		}
	}
	if asked != 1 || len(r.Warnings) != 1 {
		t.Errorf("asked %d times, warned %q", asked, r.Warnings)
	}
	spent := spoken{&reverie.BudgetError{}, &asked}
	if err := (&book{}).run().Embed(t.Context(), spent, true, steps()); err == nil {
		t.Error("a spent budget is no missing embedder")
	}
	unseen := spoken{&llm.LedgerError{Err: errors.New("no space left"), CallErr: reverie.ErrDeferred}, &asked}
	if err := (&book{}).run().Embed(t.Context(), unseen, true, steps()); !errors.As(err, new(*llm.LedgerError)) {
		t.Errorf("spend that is not on record: %v", err)
	}
	none := (&book{}).run()
	if err := none.Embed(t.Context(), nil, false, steps()); err != nil || len(none.Warnings) != 1 {
		t.Errorf("none: %v, %q", err, none.Warnings)
	}
}

// answers gives one answer after the other.
type answers []llm.Response

func (a *answers) Generate(context.Context, llm.Meta, llm.Request) (llm.Response, error) {
	resp := (*a)[0]
	*a = (*a)[1:]
	return resp, nil
}

func (*answers) Name() string { return "fake/model" }

// TestAsk asks twice where the first answer is of no use, and not at all where it is cut off.
func TestAsk(t *testing.T) {
	said := func(text string) llm.Response { return llm.Response{Text: text, Finish: llm.FinishStop} }
	for name, c := range map[string]struct {
		answers answers
		kept    string
		err     error
	}{
		"at once":       {answers{said("good")}, "good answered;", nil},
		"the second":    {answers{said("bad"), said("good")}, "bad failed;good answered;", nil},
		"neither":       {answers{said("bad"), said("bad")}, "bad failed;bad failed;", reverie.ErrUnusable},
		"refused twice": {answers{{Finish: llm.FinishRefused}, {Text: "good", Finish: llm.FinishOther}}, " failed;good failed;", reverie.ErrUnusable},
		"no end":        {answers{{Text: "good"}, said("good")}, "good failed;good answered;", nil},
		"cut off":       {answers{{Text: "good", Finish: llm.FinishLength}}, "", ErrCut},
	} {
		r := (&book{}).run()
		var kept string
		err := r.Ask(t.Context(), &llm.Asker{Model: &c.answers}, Question{About: "it",
			Render: func([]string) (prompts.Rendered, error) { return prompts.Rendered{}, nil },
			Use: func(text string, _ answer.Result) (why string) {
				if text == "good" {
					return ""
				}
				return "it is bad"
			},
			Keep: func(text string, of reverie.ChunkStatus) error {
				kept += text + " " + string(of) + ";"
				return nil
			}})
		if !errors.Is(err, c.err) || kept != c.kept || len(c.answers) > 0 {
			t.Errorf("%s: %v, kept %q", name, err, kept)
		}
	}
}

type saying llm.Response

func (s saying) Generate(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response(s), nil
}

// A call that was paid for is written with its answer, and by itself where that cannot be kept.
func TestPaidCalls(t *testing.T) {
	for name, c := range map[string]struct {
		says    saying
		fail    error
		want    error
		by      int // rows that were written by themselves
		trouble bool
	}{
		"kept":                 {saying{Text: "{}", Finish: llm.FinishStop}, nil, nil, 0, false},
		"the lease is lost":    {saying{Text: "{}", Finish: llm.FinishStop}, reverie.ErrLeaseLost, reverie.ErrLeaseLost, 1, false},
		"cut":                  {saying{Text: "{", Finish: llm.FinishLength}, nil, ErrCut, 1, false},
		"what reads it panics": {saying{Text: "{}", Finish: llm.FinishStop}, nil, nil, 1, true},
	} {
		b := &book{}
		r := b.run()
		if err := r.Start(t.Context(), reverie.Run{Job: reverie.JobEvolve}); err != nil {
			t.Fatal(err)
		}
		b.fail = c.fail
		day := llm.NewDayBudget(llm.Limits{Calls: 10}, func(context.Context, time.Time) (reverie.Spend, error) { return reverie.Spend{}, nil }, time.Now)
		ctx := llm.WithBudget(t.Context(), llm.NewBudget(llm.Limits{}, day))
		model := llm.NewModel(c.says, llm.Account{Provider: "p", Model: "m", Ledger: b})
		err := func() (err error) {
			defer func() {
				if p := recover(); (p != nil) != c.trouble {
					t.Errorf("%s: %v", name, p)
				}
			}()
			return r.Ask(ctx, r.Asker(model, nil, "evolve"), Question{
				Render: func([]string) (prompts.Rendered, error) { return prompts.Rendered{}, nil },
				Use: func(string, answer.Result) string {
					if c.trouble {
						panic("trouble")
					}
					return ""
				},
				Keep: func(text string, _ reverie.ChunkStatus) error { return r.Save(ctx, reverie.Chunk{No: 1, Answer: text}) },
			})
		}()
		with := 0
		for _, chunk := range b.chunks {
			if chunk.Call != nil && b.fail == nil {
				with++
			}
		}
		if !errors.Is(err, c.want) || len(b.calls) != c.by || len(b.calls)+with != 1 || r.call != nil {
			t.Errorf("%s: %v; by itself %d, with its answer %d", name, err, len(b.calls), with)
		}
	}
}

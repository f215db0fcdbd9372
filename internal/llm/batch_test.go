package llm_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
)

// noon is when the batches of these tests are made.
var noon = time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)

// batchServer answers each question by itself, at a time that the test sets.
func batchServer(t *testing.T, plans ...llmtest.Plan) (srv *llmtest.Server, now *time.Time) {
	t.Helper()
	now = new(noon)
	srv = llmtest.New(t, llmtest.WithKey(testKey), llmtest.WithClock(func() time.Time { return *now }))
	srv.Respond(func(r llmtest.Request) llmtest.Answer {
		return llmtest.Answer{Text: "answer to " + r.User, Usage: llm.Usage{InputTokens: 1000, OutputTokens: 50, CachedTokens: 400}}
	})
	srv.ScriptBatches(plans...)
	return srv, now
}

// dialBatches points an adapter at a server.
func dialBatches(t *testing.T, a adapter, srv *llmtest.Server) llm.Batcher {
	t.Helper()
	b, ok := dial(t, a, srv).(llm.Batcher)
	if !ok {
		t.Fatalf("%s has no batches", a.provider)
	}
	return b
}

func submission(key string, questions int) llm.BatchSubmission {
	return llm.BatchSubmission{Key: key, Questions: questions, At: noon}
}

// questions are n of them, whose texts name their ids.
func questions(prefix string, n int) []llm.BatchQuestion {
	out := make([]llm.BatchQuestion, n)
	for i := range out {
		id := fmt.Sprintf("%s-%d", prefix, i)
		out[i] = llm.BatchQuestion{ID: id, Request: llm.Request{System: "You keep a memory.", User: id, MaxTokens: 321, Tier: llm.TierBatch}}
	}
	return out
}

// submit hands in four questions.
func submit(t *testing.T, b llm.Batcher) string {
	t.Helper()
	id, err := b.SubmitBatch(t.Context(), submission("wave-1", 4), questions("q", 4))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func state(t *testing.T, b llm.Batcher, id string) llm.BatchState {
	t.Helper()
	s, err := b.BatchState(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answers are those of a batch, in the order in which they come: the text, or the fault.
func answers(t *testing.T, b llm.Batcher, id string) []string {
	t.Helper()
	var out []string
	err := b.BatchAnswers(t.Context(), id, func(a llm.BatchAnswer) error {
		said := a.ID + "=" + a.Response.Text
		if a.Err != nil {
			said = a.ID + "!" + string(llm.FaultIn(a.Err))
			if a.Response.Text != "" || strings.Contains(a.Err.Error(), testKey) {
				t.Errorf("%s: %+v", a.ID, a)
			}
		}
		out = append(out, said)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func eachAdapter(t *testing.T, test func(t *testing.T, a adapter)) {
	for _, a := range adapters {
		t.Run(a.provider, func(t *testing.T) { test(t, a) })
	}
}

func TestBatchesSendWhatTheyAreTold(t *testing.T) {
	poison(t)
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, _ := batchServer(t)
		heat := 0.25
		gen, err := a.open(target{url: srv.URL(a.provider), client: srv.Client(), model: "test-model", temperature: &heat})
		if err != nil {
			t.Fatal(err)
		}
		b := gen.(llm.Batcher)
		id := submit(t, b)
		taken := srv.Batches()
		if len(taken) != 1 || len(taken[0].Questions) != 4 || a.provider != "anthropic" && taken[0].Key != "wave-1" {
			t.Fatalf("batches are %+v", taken)
		}
		for i, r := range taken[0].Questions {
			if r.System != "You keep a memory." || r.User != fmt.Sprintf("q-%d", i) || r.Model != "test-model" || r.MaxTokens != 321 ||
				r.Temperature == nil || *r.Temperature != 0.25 || r.Key != testKey {
				t.Errorf("question %d is %+v", i, r)
			}
			_, openAI := r.Body["service_tier"]
			if _, gemini := r.Body["serviceTier"]; openAI || gemini {
				t.Errorf("question %d names a tier: %v", i, r.Body)
			}
			for name, values := range r.Header {
				if strings.Contains(strings.Join(values, " "), "poison") {
					t.Errorf("header %s comes from the environment: %v", name, values)
				}
			}
		}
		var seen []string
		if got := state(t, b, id); got.Phase != llm.BatchEnded || got.Done != 4 || got.Failed != 0 || got.Total != 4 {
			t.Errorf("state is %+v", got)
		}
		err = b.BatchAnswers(t.Context(), id, func(got llm.BatchAnswer) error {
			seen = append(seen, got.ID)
			want := llm.Response{Text: "answer to " + got.ID, Finish: llm.FinishStop, Tier: llm.TierBatch,
				Usage: llm.Usage{InputTokens: 1000, OutputTokens: 50, CachedTokens: 400}}
			if got.Err != nil || got.Response != want {
				t.Errorf("answer is %+v, want %+v", got, want)
			}
			return nil
		})
		if err != nil || !slices.Equal(seen, []string{"q-0", "q-1", "q-2", "q-3"}) {
			t.Errorf("answers are %v, %v", seen, err)
		}
	})
}

// TestFatesOfBatches has every end of a batch and every order of its answers.
func TestFatesOfBatches(t *testing.T) {
	all := []string{"q-0=answer to q-0", "q-1=answer to q-1", "q-2=answer to q-2", "q-3=answer to q-3"}
	for name, c := range map[string]struct {
		plan    llmtest.Plan
		phases  []llm.BatchPhase
		answers []string // but for what was not reached, of which Gemini says nothing
		skipped llm.Fault
	}{
		"at once": {llmtest.Plan{}, []llm.BatchPhase{llm.BatchEnded}, all, ""},
		"slow":    {llmtest.Slow(2), []llm.BatchPhase{llm.BatchRunning, llm.BatchRunning, llm.BatchEnded, llm.BatchEnded}, all, ""},
		"expired": {llmtest.Expired(2), []llm.BatchPhase{llm.BatchExpired}, all[:2], llm.FaultTimeout},
		"half failed": {llmtest.HalfFailed(), []llm.BatchPhase{llm.BatchEnded},
			[]string{all[0], "q-1!server_error", all[2], "q-3!server_error"}, ""},
		"swapped keys": {llmtest.SwappedKeys(), []llm.BatchPhase{llm.BatchEnded},
			[]string{"q-1=answer to q-0", "q-2=answer to q-1", "q-3=answer to q-2", "q-0=answer to q-3"}, ""},
		"out of order": {llmtest.OutOfOrder(), []llm.BatchPhase{llm.BatchEnded}, []string{all[3], all[2], all[1], all[0]}, ""},
		"doubled":      {llmtest.Doubled(), []llm.BatchPhase{llm.BatchEnded}, append(slices.Clone(all), all...), ""},
	} {
		t.Run(name, func(t *testing.T) {
			eachAdapter(t, func(t *testing.T, a adapter) {
				srv, _ := batchServer(t, c.plan)
				b := dialBatches(t, a, srv)
				id := submit(t, b)
				for i, want := range c.phases {
					if got := state(t, b, id); got.Phase != want || got.Total != 4 {
						t.Fatalf("look %d: state is %+v, want %s", i+1, got, want)
					}
				}
				want := slices.Clone(c.answers)
				if c.skipped != "" && a.provider != "gemini" {
					want = append(want, "q-2!"+string(c.skipped), "q-3!"+string(c.skipped))
				}
				got := answers(t, b, id)
				if a.provider == "openai" { // what has failed is in a file of its own
					slices.SortStableFunc(want, func(x, y string) int { return strings.Count(x, "!") - strings.Count(y, "!") })
				}
				if !slices.Equal(got, want) {
					t.Errorf("answers are %q, want %q", got, want)
				}
			})
		})
	}
}

func TestRefusedBatches(t *testing.T) {
	for name, c := range map[string]struct {
		answer llmtest.Answer
		fault  llm.Fault
	}{
		"wrong key":   {llmtest.Failure(401, "no such key: "+testKey), llm.FaultUnauthorized},
		"no money":    {llmtest.Failure(402, "insufficient balance"), llm.FaultUnauthorized},
		"too many":    {llmtest.RateLimited(7 * time.Second), llm.FaultRateLimited},
		"too large":   {llmtest.Failure(413, "too big"), llm.FaultTooLarge},
		"bad request": {llmtest.Failure(400, "what is this?"), llm.FaultBadRequest},
		"server":      {llmtest.Failure(500, "boom"), llm.FaultServer},
		"cut off":     {llmtest.CutOff(), llm.FaultServer},
		"page":        {llmtest.Page(), llm.FaultServer},
		"other shape": {llmtest.Body(200, "application/json", `{"id":null,"name":null,"metadata":[7]}`), llm.FaultServer},
		"no id":       {llmtest.Body(200, "application/json", `{}`), llm.FaultServer},
		"reset":       {llmtest.Reset(), llm.FaultNetwork},
		"redirect":    {llmtest.Redirect("http://127.0.0.1:1/elsewhere"), llm.FaultNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			eachAdapter(t, func(t *testing.T, a adapter) {
				srv, _ := batchServer(t, llmtest.RefusedBatch(c.answer))
				_, err := dialBatches(t, a, srv).SubmitBatch(t.Context(), submission("k", 1), questions("q", 1))
				e := wantFault(t, err, c.fault)
				if e.Provider != a.provider || strings.Contains(err.Error(), testKey) || len(srv.Batches()) != 0 {
					t.Errorf("error is %+v: %v; batches: %+v", e, err, srv.Batches())
				}
				if name == "too many" && e.RetryAfter != 7*time.Second {
					t.Errorf("retry after %s", e.RetryAfter)
				}
			})
		})
	}
}

func TestBatchesGiveUpWithTheirCaller(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, _ := batchServer(t, llmtest.RefusedBatch(llmtest.Hang()))
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		_, err := dialBatches(t, a, srv).SubmitBatch(ctx, submission("k", 1), questions("q", 1))
		wantFault(t, err, llm.FaultTimeout)
	})
}

// A full queue is told at once, or by a batch that fails.
func TestFullQueueMayBeTriedAgain(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, _ := batchServer(t, llmtest.QueueFull())
		b := dialBatches(t, a, srv)
		id, err := b.SubmitBatch(t.Context(), submission("k", 4), questions("q", 4))
		if a.provider != "openai" {
			wantFault(t, err, llm.FaultRateLimited)
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := state(t, b, id); got.Phase != llm.BatchFailed || got.Fault != llm.FaultRateLimited || !strings.Contains(got.Err, "Enqueued") {
			t.Errorf("state is %+v", got)
		}
		if len(srv.Bill()) != 0 {
			t.Errorf("bill is %+v", srv.Bill())
		}
	})
}

func TestFailedBatchSaysWhy(t *testing.T) {
	for _, a := range adapters {
		if a.provider == "anthropic" { // its batches do not fail as a whole
			continue
		}
		srv, _ := batchServer(t, llmtest.FailedBatch("the file is malformed, "+testKey))
		b := dialBatches(t, a, srv)
		id := submit(t, b)
		got := state(t, b, id)
		if got.Phase != llm.BatchFailed || got.Fault != llm.FaultBadRequest || got.Err != "the file is malformed, [key]" {
			t.Errorf("%s: state is %+v", a.provider, got)
		}
		if said := answers(t, b, id); len(said) != 0 {
			t.Errorf("%s: answers are %q", a.provider, said)
		}
	}
}

func TestLostReplyIsFound(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, now := batchServer(t, llmtest.Plan{}, llmtest.Plan{}, llmtest.Plan{Lost: true, Looks: 1}, llmtest.Plan{})
		b := dialBatches(t, a, srv)
		known := map[string]bool{}
		another := func(prefix string, n int) {
			id, err := b.SubmitBatch(t.Context(), submission(prefix, n), questions(prefix, n))
			if err != nil {
				t.Fatal(err)
			}
			state(t, b, id)
			if prefix == "known" {
				known[id] = true
			}
		}
		another("stranger", 4)
		another("known", 4)
		mine := func(id string) bool { return strings.HasPrefix(id, "lost-") }
		isKnown := func(id string) bool { return known[id] }
		find := func(s llm.BatchSubmission) (string, error) { return b.FindBatch(t.Context(), s, mine, isKnown) }
		if id, err := find(submission("lost", 4)); id != "" || err != nil {
			t.Fatalf("before it was submitted: %q, %v", id, err)
		}
		_, err := b.SubmitBatch(t.Context(), submission("lost", 4), questions("lost", 4))
		wantFault(t, err, llm.FaultNetwork)
		another("other", 3)

		id, err := find(submission("lost", 4))
		if a.provider == "anthropic" { // it tells what it was asked when it has ended
			if wantFault(t, err, llm.FaultServer); !errors.Is(err, reverie.ErrDeferred) {
				t.Errorf("error is %v, and does not defer", err)
			}
			list := srv.Batches()
			state(t, b, list[2].ID)
			state(t, b, list[2].ID)
			id, err = find(submission("lost", 4))
		}
		if err != nil || !strings.HasSuffix(id, srv.Batches()[2].ID) {
			t.Fatalf("found %q, %v; batches: %+v", id, err, srv.Batches())
		}
		state(t, b, id)
		state(t, b, id)
		if got := answers(t, b, id); len(got) != 4 || got[0] != "lost-0=answer to lost-0" {
			t.Errorf("answers are %q", got)
		}
		if id, err := find(llm.BatchSubmission{Key: "lost too", Questions: 5, At: now.Add(2 * time.Hour)}); id != "" || err != nil {
			t.Errorf("what was never submitted: %q, %v", id, err)
		}
	})
}

// A batch that was handed in again without what was erased is found by any answer of ours.
func TestLostReplyOfFewerIsFound(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		foreign := func(list []llmtest.Result) []llmtest.Result {
			first := list[0]
			first.ID = "stranger"
			return append([]llmtest.Result{first}, list...)
		}
		srv, _ := batchServer(t, llmtest.Plan{}, llmtest.Plan{Lost: true, Arrange: foreign}, llmtest.Plan{})
		b := dialBatches(t, a, srv)
		for _, n := range []int{1, 3, 5} { // but the second, others'
			key := map[int]string{1: "small", 3: "lost", 5: "large"}[n]
			if id, err := b.SubmitBatch(t.Context(), submission(key, n), questions(key, n)); err == nil {
				state(t, b, id)
			}
		}
		state(t, b, srv.Batches()[1].ID)
		s := submission("lost", 4)
		s.Least = 2
		id, err := b.FindBatch(t.Context(), s, func(id string) bool { return strings.HasPrefix(id, "lost-") }, func(string) bool { return false })
		if err != nil || !strings.HasSuffix(id, srv.Batches()[1].ID) {
			t.Errorf("found %q, %v; batches: %+v", id, err, srv.Batches())
		}
	})
}

func TestForgottenBatch(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, now := batchServer(t, llmtest.Forgotten(24*time.Hour))
		b := dialBatches(t, a, srv)
		id := submit(t, b)
		state(t, b, id)
		*now = now.Add(24 * time.Hour)
		_, err := b.BatchState(t.Context(), id)
		wantFault(t, err, llm.FaultNotFound)
		wantFault(t, b.BatchAnswers(t.Context(), id, func(llm.BatchAnswer) error { return nil }), llm.FaultNotFound)
		wantFault(t, b.CancelBatch(t.Context(), id), llm.FaultNotFound)
	})
}

func TestCancelledBatch(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, _ := batchServer(t, llmtest.Plan{Looks: 9, Skip: func(i int) bool { return i > 0 }}, llmtest.Plan{})
		b := dialBatches(t, a, srv)
		id := submit(t, b)
		state(t, b, id)
		for range 2 { // what has ended may be cancelled as well
			if err := b.CancelBatch(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		if got := state(t, b, id); got.Phase != llm.BatchCancelled || got.Done != 1 || !srv.Batches()[0].Cancelled {
			t.Errorf("state is %+v", got)
		}
		want := []string{"q-0=answer to q-0", "q-1!canceled", "q-2!canceled", "q-3!canceled"}
		if a.provider == "gemini" {
			want = want[:1]
		}
		if got := answers(t, b, id); !slices.Equal(got, want) {
			t.Errorf("answers are %q, want %q", got, want)
		}
		ended := submit(t, b)
		state(t, b, ended)
		if err := b.CancelBatch(t.Context(), ended); err != nil || srv.Batches()[1].Cancelled {
			t.Errorf("a batch that has ended: %v", err)
		}
	})
}

func TestBatchesStopWithTheirReader(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, _ := batchServer(t)
		b := dialBatches(t, a, srv)
		id := submit(t, b)
		state(t, b, id)
		stop, n := errors.New("stop"), 0
		err := b.BatchAnswers(t.Context(), id, func(llm.BatchAnswer) error {
			n++
			return stop
		})
		if !errors.Is(err, stop) || n != 1 {
			t.Errorf("%d answers, %v", n, err)
		}
	})
}

// Failing answers are billed to nobody, and the others at half the price.
func TestBillOfBatches(t *testing.T) {
	price := llm.Price{Input: 1, Output: 10, Cached: 0.25}
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv, _ := batchServer(t, llmtest.HalfFailed(), llmtest.Expired(1), llmtest.LostReply())
		b := dialBatches(t, a, srv)
		state(t, b, submit(t, b))
		submit(t, b)
		_, _ = b.SubmitBatch(t.Context(), submission("lost", 1), questions("lost", 1))
		if _, err := dial(t, a, srv).Generate(t.Context(), llm.Request{User: "direct"}); err != nil {
			t.Fatal(err)
		}
		var ids []string
		var cost float64
		for _, c := range srv.Bill() {
			ids = append(ids, c.Batch+c.ID+string(c.Tier))
			cost += c.Cost(price)
		}
		slices.Sort(ids)
		want := []string{"batch1q-0batch", "batch1q-2batch", "batch2q-0batch", "batch3lost-0batch", "standard"}
		one := (600*1 + 400*0.25 + 50*10) / 1e6
		if !slices.Equal(ids, want) || math.Abs(cost-(4*one/2+one)) > 1e-12 {
			t.Errorf("bill is %v, %g", ids, cost)
		}
	})
}

func TestTiers(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		for _, c := range []struct{ asked, answered, want llm.Tier }{
			{"", "", ""}, {llm.TierStandard, "", ""}, {llm.TierFlex, "", llm.TierFlex},
			{llm.TierFlex, llm.TierStandard, llm.TierStandard}, {llm.TierBatch, "", ""}, {llm.TierFlex, "priority", llm.TierStandard},
		} {
			srv := llmtest.New(t)
			srv.Script(llmtest.Answer{Text: "x", Tier: c.answered, Usage: llm.Usage{InputTokens: 10, OutputTokens: 1, CachedTokens: 7}})
			resp, err := dial(t, a, srv).Generate(t.Context(), llm.Request{User: "u", Tier: c.asked})
			if err != nil {
				t.Fatal(err)
			}
			if resp.Usage != (llm.Usage{InputTokens: 10, OutputTokens: 1, CachedTokens: 7}) {
				t.Errorf("usage is %+v", resp.Usage)
			}
			body := srv.Requests()[0].Body
			field := map[string]string{"openai": "service_tier", "gemini": "serviceTier"}[a.provider]
			if said, sent := body[field]; sent != (field != "" && c.asked == llm.TierFlex) || sent && said != "flex" {
				t.Errorf("asked for %q: body is %v", c.asked, body)
			}
			want := c.want
			if a.provider == "anthropic" || a.provider == "gemini" && c.answered == llm.TierStandard {
				want = "" // which it does not say
			}
			if resp.Tier != want {
				t.Errorf("asked for %q, answered in %q: tier is %q, want %q", c.asked, c.answered, resp.Tier, want)
			}
		}
	})
}

// A tier without room hangs or refuses for a while, and then works.
func TestFlexWithoutCapacity(t *testing.T) {
	eachAdapter(t, func(t *testing.T, a adapter) {
		srv := llmtest.New(t)
		srv.Script(llmtest.NoCapacity(http.StatusTooManyRequests), llmtest.NoCapacity(http.StatusServiceUnavailable), llmtest.Text("x"))
		gen, req := dial(t, a, srv), llm.Request{User: "u", Tier: llm.TierFlex}
		for _, want := range []llm.Fault{llm.FaultRateLimited, llm.FaultServer} {
			_, err := gen.Generate(t.Context(), req)
			if wantFault(t, err, want); !strings.Contains(err.Error(), "no capacity") {
				t.Errorf("error is %v", err)
			}
		}
		if resp, err := gen.Generate(t.Context(), req); err != nil || resp.Text != "x" {
			t.Errorf("%+v, %v", resp, err)
		}
		if len(srv.Bill()) != 1 {
			t.Errorf("bill is %+v", srv.Bill())
		}
	})
}

// OpenAI keeps files for good: those of a batch are deleted when its answers are taken, and
// those of one that was refused at once. What may have become a batch stays.
func TestFilesOfBatchesAreDeleted(t *testing.T) {
	srv, _ := batchServer(t, llmtest.HalfFailed(), llmtest.RefusedBatch(llmtest.Failure(http.StatusBadRequest, "no")), llmtest.LostReply())
	b := dialBatches(t, adapters[slices.IndexFunc(adapters, func(a adapter) bool { return a.provider == "openai" })], srv)
	id := submit(t, b)
	state(t, b, id)
	answers(t, b, id)
	if got := srv.Files(); len(got) != 3 {
		t.Errorf("files of a batch: %q", got)
	}
	for range 2 {
		if err := b.DropBatch(t.Context(), id); err != nil {
			t.Error(err)
		}
		if got := srv.Files(); len(got) != 0 {
			t.Errorf("files are left: %q", got)
		}
	}
	for _, want := range []int{0, 1} {
		if _, err := b.SubmitBatch(t.Context(), submission("wave-2", 4), questions("r", 4)); err == nil {
			t.Error("accepted")
		}
		if got := srv.Files(); len(got) != want {
			t.Errorf("files of what was not accepted: %q", got)
		}
	}
}

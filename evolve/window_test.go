package evolve

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"reverie/internal/llm/llmtest"
	"reverie/internal/reverie"
	"reverie/jobs"
)

// TestLateArrivals counts a message as pending however old it is, and a window
// that gets one after its run as due once more.
func TestLateArrivals(t *testing.T) {
	s := newStage(t)
	window := Request{Since: evening.Add(-2 * day), Until: evening.Add(-day)}
	s.say(window.Since, "first of the window")
	s.say(window.Until, "first after the window")
	if res := must(s.run(window))(t); res.Stats.Considered != 1 || res.Stats.Deferred != 0 {
		t.Errorf("stats %+v", res.Stats)
	}
	s.say(window.Until.Add(-time.Minute), "arrived late")
	if res := must(s.run(window))(t); res.Stats.Considered != 1 {
		t.Errorf("stats %+v", res.Stats)
	}
	s.want(`select attempt, status, window_since, window_until from runs order by started_at, run_id`,
		"1|succeeded|"+s.local(window.Since)+"|"+s.local(window.Until), "2|succeeded|"+s.local(window.Since)+"|"+s.local(window.Until))
	if got := shownTexts(s.questions()); !slices.Equal(got, []string{"first of the window", "arrived late"}) {
		t.Errorf("shown: %q", got)
	}
	if q := s.questions()[1]; q.WindowUntil != window.Until.In(time.FixedZone("", 8*3600)).Format(time.RFC3339) {
		t.Errorf("the window is said to end at %s", q.WindowUntil)
	}
	s.say(evening.Add(-30*day), "very late")
	if res := s.evolve(); res.Stats.Considered != 2 || s.pending() != 0 {
		t.Errorf("stats %+v", res.Stats)
	}
}

// TestDaysOfContext shows consumed messages beside the new ones, to be cited
// together with one of them and never consumed again.
func TestDaysOfContext(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-5*day), "too old")
	s.say(evening.Add(-2*day), "Lin booked the court", "tea for all")
	s.bring(reverie.Message{Author: "calc", Role: reverie.RoleTool, Text: "42", SentAt: evening.Add(-2 * day)})
	s.evolve()
	consumed := s.rows(`select message_id, run_id, outcome from messages order by 1`)
	s.say(evening.Add(-time.Hour), "Lin has booked again")
	s.model.Script(llmtest.Lines(
		`{"action":"create","statement":"Lin books the court.","evidence":[{"message":1,"quote":"booked again"},{"message":2,"quote":"booked the court"}]}`,
		`{"action":"create","statement":"Tea is for all.","evidence":[{"message":3,"quote":"tea for all"}]}`))
	res, err := s.run(Request{Days: 3})
	if err != nil || res.Stats.Created != 1 || res.Stats.Refused != 1 {
		t.Fatalf("stats %+v, %v", res.Stats, err)
	}
	q := s.questions()[1]
	var earlier []string
	for _, m := range q.EarlierDiscussions {
		earlier = append(earlier, m.Text)
	}
	if !slices.Equal(earlier, []string{"Lin booked the court", "tea for all"}) || q.EarlierDiscussions[0].ID != 2 {
		t.Errorf("earlier: %+v", q.EarlierDiscussions)
	}
	s.want(`select statement, round(strength::numeric, 2) from memories`, "Lin books the court.|0.51") // two dates
	after := s.rows(`select message_id, run_id, outcome from messages order by 1`)
	if !slices.Equal(after[:len(consumed)], consumed) {
		t.Errorf("context was consumed again:\n%q\n%q", consumed, after)
	}
	if res.Stats.Cited != 1 || res.Stats.Considered != 0 {
		t.Errorf("stats %+v", res.Stats)
	}

	s.say(evening.Add(-time.Minute), "and without days")
	s.evolve()
	if q := s.questions()[2]; len(q.EarlierDiscussions) != 0 {
		t.Errorf("without --days: %+v", q.EarlierDiscussions)
	}
}

// TestRepliesAreShown refers a reply to the number of what it answers.
func TestRepliesAreShown(t *testing.T) {
	s := newStage(t)
	s.bring(reverie.Message{ID: "a", Author: "Lin", Text: "court?", SentAt: evening.Add(-day)},
		reverie.Message{ID: "b", Author: "Maya", Text: "yes", SentAt: evening.Add(-day + 1), ReplyTo: "a"},
		reverie.Message{ID: "c", Author: "bot", Role: reverie.RoleAssistant, Text: "noted", SentAt: evening.Add(-day + 2), ReplyTo: "gone"})
	s.evolve()
	shown := s.questions()[0].NewDiscussions
	if shown[1].ReplyTo != 1 || shown[0].ReplyTo != 0 || shown[2].ReplyTo != 0 {
		t.Errorf("replies: %+v", shown)
	}
	if shown[0].Role != "" || shown[2].Role != "assistant" || shown[0].Time != "2026-01-14T20:00:00+08:00" {
		t.Errorf("views: %+v", shown)
	}
}

// TestTwoRunsOfOneGroup lets a second run find the group busy while the first is
// asking, and another group free.
func TestTwoRunsOfOneGroup(t *testing.T) {
	s := newStage(t)
	s.say(evening.Add(-day), "note One.")
	asked, answer := make(chan struct{}), make(chan struct{})
	s.model.Respond(func(r llmtest.Request) llmtest.Answer {
		close(asked)
		return scribe(t)(r).After(answer)
	})
	never := func(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }
	evolve := func(holder string) (res Result, err error) {
		leases := &jobs.Leases{Store: s.store, Holder: holder, Beat: never}
		err = leases.With(t.Context(), s.group, func(ctx context.Context, held *jobs.Held) error {
			res, err = s.pipe.Run(ctx, held, Request{GroupID: s.group})
			return err
		})
		return res, err
	}
	first := make(chan error, 1)
	go func() {
		_, err := evolve("host:1")
		first <- err
	}()
	<-asked
	_, err := evolve("host:2")
	var busy *reverie.BusyError
	if !errors.As(err, &busy) || busy.Holder != "host:1" || busy.ExpiresAt.IsZero() {
		t.Errorf("the second run: %v", err)
	}
	close(answer)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if got := s.active(); !slices.Equal(got, []string{"One. v1"}) || len(s.questions()) != 1 {
		t.Errorf("active %q after %d questions", got, len(s.questions()))
	}
	s.want(`select count(*) from runs`, "1")
	if res, err := evolve("host:2"); err != nil || !res.NoNew { // the lease is free again
		t.Errorf("afterwards: %+v, %v", res, err)
	}
}

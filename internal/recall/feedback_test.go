package recall_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/pgtest"
)

var feedbackOptions = recall.FeedbackOptions{Threshold: 0.5, Weights: reverie.WeightRule{Referenced: 0.1, Ignored: -0.02, Max: 2}}

// put logs a context that offered all of a group's memories, as near to the query as
// they are said to be, and returns its id.
func put(t *testing.T, s *store.Store, add func(context.Context, []reverie.Usage) error, group, session, query string, similarity float64) string {
	t.Helper()
	list, _, err := s.ListMemories(t.Context(), reverie.MemoryQuery{GroupID: group, Status: reverie.StatusActive})
	if err != nil {
		t.Fatal(err)
	}
	usage := reverie.NewID()
	var rows []reverie.Usage
	for i, m := range list {
		rows = append(rows, reverie.Usage{GroupID: group, UsageID: usage, MemoryID: m.ID, LineageID: m.LineageID, SessionID: session, Query: query,
			Position: i + 1, Score: 0.5, Factors: reverie.Factors{Similarity: similarity, Weight: m.Weight, Strength: m.Strength, Recency: 1}})
	}
	if err := add(t.Context(), rows); err != nil {
		t.Fatal(err)
	}
	return usage
}

// outcome is a reply in short: each memory with whether it was used, and its weight.
func outcome(r reverie.FeedbackReply) (list []string) {
	for _, m := range r.Memories {
		list = append(list, fmt.Sprintf("%s %v %.2f", m.Statement, m.WasReferenced, m.Weight))
	}
	return list
}

// TestFeedback: what was offered just now is judged, once; the newest context of
// the session, or the one that is named.
func TestFeedback(t *testing.T) {
	s := pgtest.New(t)
	ctx := t.Context()
	remember(t, s, "g1", reverie.KindGroup, "Lin is allergic to peanuts", "林小雨每周三晚上打羽毛球")
	usage := recall.NewUsageLog(s, recall.UsageOptions{})
	add := func(_ context.Context, rows []reverie.Usage) error { return usage.Add(rows) }
	defer func() {
		if err := usage.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	f := &recall.Feedback{Store: s, Usage: usage, Options: feedbackOptions}
	first := put(t, s, add, "g1", "s1", "What snack shall I bring?", 0.8)
	second := put(t, s, add, "g1", "s1", "晚上有什么活动?", 0.8)

	reply, err := f.Report(ctx, recall.FeedbackRequest{GroupID: "g1", SessionID: "s1", Response: "林小雨每周三晚上打羽毛球，可以一起去。"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Lin is allergic to peanuts false 0.98", "林小雨每周三晚上打羽毛球 true 1.10"}
	if diff := cmp.Diff(want, outcome(reply)); diff != "" || !reply.Success || reply.UsageID != second || reply.Offered != 2 || reply.Referenced != 1 || reply.Known {
		t.Errorf("%+v (-want +got):\n%s", reply, diff)
	}
	again, err := f.Report(ctx, recall.FeedbackRequest{SessionID: "s1", Response: "Lin is allergic to peanuts."})
	if err != nil || !again.Known || again.GroupID != "g1" || cmp.Diff(want, outcome(again)) != "" {
		t.Errorf("reported again: %+v, %v", again, err)
	}
	named, err := f.Report(ctx, recall.FeedbackRequest{UsageID: first, Response: "No peanuts: Lin is allergic to peanuts."})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Lin is allergic to peanuts true 1.08", "林小雨每周三晚上打羽毛球 false 1.08"}, outcome(named)); diff != "" || named.SessionID != "s1" {
		t.Errorf("named: %+v (-want +got):\n%s", named, diff)
	}
	beside := put(t, s, add, "g1", "s1", "What did Bo say?", 0.4)
	spared, err := f.Report(ctx, recall.FeedbackRequest{UsageID: beside, Response: "Nothing that I know of."})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Lin is allergic to peanuts false 1.08", "林小雨每周三晚上打羽毛球 false 1.08"}, outcome(spared)); diff != "" {
		t.Errorf("what did not bear on the query has lost weight (-want +got):\n%s", diff)
	}
	known := put(t, s, add, "g1", "s1", "Is Lin allergic to peanuts?", 0.9)
	repeated, err := f.Report(ctx, recall.FeedbackRequest{UsageID: known, Response: "Yes, Lin is allergic to peanuts."})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Lin is allergic to peanuts false 1.08", "林小雨每周三晚上打羽毛球 false 1.06"}, outcome(repeated)); diff != "" {
		t.Errorf("what the answer says after the question has lost weight (-want +got):\n%s", diff)
	}
	if _, err := s.ImportMessages(ctx, "g1", []reverie.Message{{ID: "m1", AuthorID: "u1", Role: reverie.RoleUser, Text: "Hello?", SentAt: time.Now().UTC(), SessionID: "s2"}}); err != nil {
		t.Fatal(err)
	}
	none, err := f.Report(ctx, recall.FeedbackRequest{GroupID: "g1", SessionID: "s2", Response: "Hello."})
	if err != nil || !none.Success || none.Message != recall.NothingOffered || none.Memories == nil {
		t.Errorf("nothing was offered: %+v, %v", none, err)
	}
	for name, req := range map[string]recall.FeedbackRequest{
		"unknown session":      {GroupID: "g1", SessionID: "s3", Response: "Hello."},
		"unknown context":      {UsageID: reverie.NewID(), Response: "Hello."},
		"another's context":    {SessionID: "s2", UsageID: first, Response: "Hello."},
		"no form of a context": {UsageID: "u1", Response: "Hello."},
	} {
		if _, err := f.Report(ctx, req); !errors.Is(err, reverie.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, req := range map[string]recall.FeedbackRequest{
		"nothing named": {GroupID: "g1", Response: "Hello."},
		"no answer":     {SessionID: "s1", Response: " \n"},
	} {
		if _, err := f.Report(ctx, req); !errors.Is(err, reverie.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFeedbackByMeaning: a sentence of the answer that comes nearer to a memory
// than the question did counts as its use, whatever the words; an embedder that
// fails is warned of, and words alone count.
func TestFeedbackByMeaning(t *testing.T) {
	s := pgtest.New(t)
	ctx := t.Context()
	remember(t, s, "g1", reverie.KindGroup, "at 0", "at 80")
	p := &plane{key: "plane@3"}
	f := &recall.Feedback{Store: s, Embeddings: p, Calibration: reverie.Calibration{Floor: 0, Ceiling: 1}, Options: feedbackOptions}
	answer := "Something else entirely! 它说 at 10\nAnd v1.5 of it: at 10."
	for _, c := range []struct {
		name, query string
		want        bool
	}{{"nearer than the question", "what at 20?", true}, {"the question was as near", "what at 5?", false}} {
		put(t, s, s.LogUsage, "g1", c.name, c.query, 1) // by its words
		reply, err := f.Report(ctx, recall.FeedbackRequest{GroupID: "g1", SessionID: c.name, Response: answer})
		if err != nil || reply.Memories[0].WasReferenced != c.want || reply.Memories[1].WasReferenced || len(reply.Warnings) > 0 {
			t.Errorf("%s: %+v, %v", c.name, reply, err)
		}
		if got := reply.Memories[0].ReferenceScore; c.want && math.Abs(got-math.Cos(math.Pi/18)) > 1e-6 {
			t.Errorf("%s: score %v", c.name, got)
		}
	}
	if diff := cmp.Diff([]string{"Something else entirely", "它说 at 10", "And v1.5 of it: at 10", "at 0", "at 80", "what at 20?"}, p.asked[0]); diff != "" || len(p.asked) != 2 {
		t.Errorf("asked %d times (-want +got):\n%s", len(p.asked), diff)
	}
	p.fails = func([]string) error { return errors.New("down") }
	put(t, s, s.LogUsage, "g1", "failing", "what?", 0)
	reply, err := f.Report(ctx, recall.FeedbackRequest{GroupID: "g1", SessionID: "failing", Response: answer})
	if err != nil || len(reply.Warnings) != 1 || !strings.Contains(reply.Warnings[0], "down") || reply.Memories[0].WasReferenced {
		t.Errorf("a failing embedder: %+v, %v", reply, err)
	}
	stopped, stop := context.WithCancel(ctx)
	put(t, s, s.LogUsage, "g1", "stopped", "what?", 0)
	p.fails = func([]string) error { stop(); return stopped.Err() }
	if _, err := f.Report(stopped, recall.FeedbackRequest{GroupID: "g1", SessionID: "stopped", Response: answer}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	if rows, err := s.Offered(ctx, reverie.UsageQuery{GroupID: "g1", SessionID: "stopped"}); err != nil || rows[0].WasReferenced != nil {
		t.Errorf("stopped, it is judged: %+v, %v", rows, err)
	}
	// A long answer is compared by its longest sentences, each no longer than a memory.
	p.fails, p.asked = nil, nil
	put(t, s, s.LogUsage, "g1", "long", "what?", 0)
	long := strings.Repeat("x", 3000) + ". " + strings.Join(numbered(200), "。")
	if _, err := f.Report(ctx, recall.FeedbackRequest{GroupID: "g1", SessionID: "long", Response: long}); err != nil || len(p.asked[0]) != 43 {
		t.Errorf("a long answer: %d texts, %v", len(p.asked[0]), err)
	}
}

func numbered(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("sentence number %d", i))
	}
	return list
}

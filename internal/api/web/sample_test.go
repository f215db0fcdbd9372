package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"reverie/dream"
	"reverie/evolve"
	"reverie/internal/api"
	"reverie/internal/app"
	"reverie/internal/decide"
	"reverie/internal/entity"
	"reverie/internal/llm"
	"reverie/internal/llm/offline"
	"reverie/internal/llm/recorded"
	"reverie/internal/recall"
	"reverie/internal/reverie"
	"reverie/internal/session"
	"reverie/jobs"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// The groups of a sample. The id of the first is one that an address has to escape.
const (
	halfFrame = "半格/half frame 100%"
	allotment = "allotment"
)

// sample is two groups, one that speaks Chinese and one that speaks English, whose
// memories the real pipelines have made from recorded answers.
type sample struct {
	testing.TB
	store   *store.Store
	service *api.Service
	now     time.Time // of the pipelines

	answers  llm.Generator
	recorded bool // there is an answer to what is asked

	evolve     *evolve.Pipeline
	impression *entity.Pipeline
	session    *session.Pipeline
	dream      *dream.Pipeline
	leases     *jobs.Leases
}

// newSample makes a sample in a database of the test's own.
func newSample(t testing.TB) *sample {
	t.Helper()
	s := &sample{TB: t, answers: sampleAnswers(t), recorded: true}
	s.store = pgtest.Open(t, pg.Options{Now: func() time.Time { return s.now }})
	s.wire()
	s.chat(reverie.Group{ID: halfFrame, Name: "半格 Half Frame", TimeZone: "Asia/Shanghai"}, halfFrameSaid(t),
		"2026-01-05", "2026-01-06", "2026-01-10", "2026-01-12", "2026-01-14", "2026-01-17", "2026-01-19", "2026-01-22", "2026-01-26", "2026-01-30", "2026-02-02")
	s.chat(reverie.Group{ID: allotment, Name: "Allotment 14", TimeZone: "Europe/London"}, messages(t, "testdata/allotment.jsonl"),
		"2026-03-02", "2026-03-03", "2026-03-09")
	s.now = time.Now()
	s.recorded = false
	return s
}

// Generate plays a recorded answer. What is asked once the sample is made changes nothing.
func (s *sample) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if !s.recorded {
		return llm.Response{Text: `{"action":"none"}`, Finish: llm.FinishStop}, nil
	}
	return s.answers.Generate(ctx, req)
}

// messages reads JSON Lines.
func messages(t testing.TB, file string) (list []reverie.Message) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for d := json.NewDecoder(f); ; {
		var m reverie.Message
		switch err := d.Decode(&m); err {
		case nil:
			list = append(list, m)
		case io.EOF:
			return list
		default:
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// halfFrameSaid is the demo's chat, and two messages that revise what is remembered of it.
func halfFrameSaid(t testing.TB) []reverie.Message {
	t.Helper()
	all := append(messages(t, "../../../test/halfframe/chat.jsonl"), messages(t, "testdata/halfframe.jsonl")...)
	slices.SortStableFunc(all, func(a, b reverie.Message) int { return a.SentAt.Compare(b.SentAt) })
	return all
}

// chat stores what was said in a group on some dates, and has it go through these
// nights: all but the last as by default, and the last, after a dream, with so little
// room that most of what it changes is held. One more date stays pending.
func (s *sample) chat(g reverie.Group, said []reverie.Message, dates ...string) {
	s.Helper()
	ctx := s.Context()
	check(s, s.store.AddGroup(ctx, g))
	zone, err := g.Location()
	check(s, err)
	for i, date := range dates {
		day, err := time.ParseInLocation(time.DateOnly, date, zone)
		check(s, err)
		s.now = day.AddDate(0, 0, 1)
		until := s.now
		of := slices.DeleteFunc(slices.Clone(said), func(m reverie.Message) bool { return m.SentAt.Before(day) || !m.SentAt.Before(until) })
		_, err = s.store.ImportMessages(ctx, g.ID, of)
		check(s, err)
		if i == len(dates)-1 {
			s.lookBack(g.ID)
			s.evolve.Limits.HoldMin, s.evolve.Limits.HoldRatio = 1, 0.01
		}
		s.leased(g.ID, func(ctx context.Context, held *jobs.Held) error {
			_, err := s.evolve.Run(ctx, held, evolve.Request{GroupID: g.ID, Since: day, Until: until})
			return err
		})
	}
	s.evolve.Limits.HoldMin, s.evolve.Limits.HoldRatio = 2, 0.2
	next := slices.IndexFunc(said, func(m reverie.Message) bool { return !m.SentAt.Before(s.now) })
	if next >= 0 {
		_, err := s.store.ImportMessages(ctx, g.ID, said[next:min(next+10, len(said))])
		check(s, err)
	}
}

// lookBack has a group observe its people, extract its sessions, and dream.
func (s *sample) lookBack(groupID string) {
	s.Helper()
	_, err := s.store.QueueMessages(s.Context(), groupID, reverie.JobImpression, time.Time{}, s.now)
	check(s, err)
	s.leased(groupID, func(ctx context.Context, held *jobs.Held) error {
		_, err := s.impression.Run(ctx, held, entity.Request{GroupID: groupID})
		return err
	})
	sessions, _, err := s.store.ListSessions(s.Context(), reverie.SessionFilter{GroupID: groupID, Limit: 3})
	check(s, err)
	for _, sess := range sessions {
		s.leased(groupID, func(ctx context.Context, held *jobs.Held) error {
			_, err := s.session.Run(ctx, held, session.Request{GroupID: groupID, SessionID: sess.ID})
			return err
		})
	}
	s.leased(groupID, func(ctx context.Context, held *jobs.Held) error {
		_, err := s.dream.Run(ctx, held, dream.Request{GroupID: groupID})
		return err
	})
}

func (s *sample) leased(groupID string, fn func(ctx context.Context, held *jobs.Held) error) {
	s.Helper()
	check(s, s.leases.With(s.Context(), groupID, fn))
}

// wire makes the pipelines and the service as the product does, with its defaults.
func (s *sample) wire() {
	s.Helper()
	account := llm.Account{Provider: "offline", Model: "offline", Ledger: s.store, Free: true}
	model := llm.NewModel(s, account)
	account.Model = offline.EmbeddingModel
	embeddings := llm.NewEmbeddings(offline.New(0), account, llm.EmbeddingOptions{Cache: s.store})
	set, err := prompts.Open("")
	check(s, err)
	now, log := func() time.Time { return s.now }, slog.New(slog.DiscardHandler)
	decider := &decide.Comparer{Store: s.store, Model: model, Prompts: set, Journal: s.store, Log: log, Embeddings: embeddings, Calibration: offline.Calibration,
		Options: decide.Options{TopK: 5, MinScore: 0.7, Fallback: decide.FallbackAdd, MaxCalls: 40, MaxOutputTokens: 4096}}

	s.leases = &jobs.Leases{Store: s.store, Holder: "test"}
	s.evolve = &evolve.Pipeline{Store: s.store, Model: model, Embeddings: embeddings, Prompts: set, Decider: decider, Now: now, Log: log,
		Limits: evolve.Limits{MaxMessages: 200, MaxInputTokens: 24_000, MaxOutputTokens: 8192, MaxCreates: reverie.MaxCreates,
			MaxActive: reverie.MaxActive, Target: reverie.TargetActive, MaxShown: reverie.MaxShown, Forget: reverie.ForgetRule{Habit: 21, HabitGaps: 2, Plan: 21, Opinion: 120},
			HoldRatio: 0.2, HoldMin: 2, ContextMessages: 200}}
	s.impression = &entity.Pipeline{Store: s.store, Model: model, Prompts: set, Journal: s.store, Now: now, Log: log,
		Limits: entity.Limits{MaxMessages: 1000, MaxSubjects: 8, MaxInputTokens: 12_000, MaxOutputTokens: 8192, MinConfidence: 0.6,
			MinEvidence: 2, ExpireAfter: 30 * 24 * time.Hour}}
	s.session = &session.Pipeline{Store: s.store, Model: model, Summarizer: model, Prompts: set, Journal: s.store, Decider: decider,
		Embeddings: embeddings, Silence: reverie.DefaultSessionSilence, Now: now, Log: log,
		Limits: session.Limits{MaxMessages: 200, MaxInputTokens: 24_000, MaxOutputTokens: 8192, MaxSummaryTokens: 2048, MaxFacts: 10,
			MinConfidence: 0.6, AutoTag: true, MaxShown: reverie.MaxShown, HoldRatio: 0.2, HoldMin: 2}}
	s.dream = &dream.Pipeline{Store: s.store, Model: model, Prompts: set, Journal: s.store, Decider: decider, Embeddings: embeddings,
		Rule: reverie.DreamRule{Idle: 24 * time.Hour, Sessions: 10, Interval: time.Hour, Silence: reverie.DefaultSessionSilence},
		Now:  now, Log: log, Limits: dream.Limits{MaxInputTokens: 24_000, MaxOutputTokens: 4096, MaxItems: 12, MaxActive: 60,
			MaxShown: reverie.MaxShown, MinConfidence: 0.6, HoldRatio: 0.1, HoldMin: 1}}

	searcher := &recall.Searcher{Store: s.store, Embeddings: embeddings, Calibration: offline.Calibration}
	recaller := &recall.Recaller{Store: s.store, Searcher: searcher, Now: now, Log: log, Usage: recall.NewUsageLog(s.store, recall.UsageOptions{Log: log}),
		Options: recall.Options{MinQueryLength: 2, Trigger: recall.TriggerAlways, MinSimilarity: 0.1, HalfLife: 90 * 24 * time.Hour,
			ShortTermCount: 12, MaxReturn: 8, MaxEntities: 3, MaxTokens: 2000}}
	s.Cleanup(func() { check(s, recaller.Usage.Close(context.Background())) })
	s.service = &api.Service{Store: s.store, Leases: s.leases, Now: now, Log: log,
		Searcher:    func(context.Context, string) (*recall.Searcher, error) { return searcher, nil },
		Recaller:    func(context.Context, string) (*recall.Recaller, error) { return recaller, nil },
		ApproveHeld: app.ApproveHeld(s.store, s.leases, func() *evolve.Pipeline { return s.evolve }),
		NewGroup:    func(g reverie.Group) reverie.Group { return g }}
}

// sampleAnswers are recorded, as the words of the chats. With REVERIE_TEST_UPDATE=1 they
// are kept under the questions of now.
func sampleAnswers(t testing.TB) llm.Generator {
	t.Helper()
	const file = "testdata/answers.jsonl"
	if os.Getenv("REVERIE_TEST_UPDATE") == "" {
		answers, err := recorded.Open(file)
		check(t, err)
		return answers
	}
	answers, err := recorded.Rekey(file)
	check(t, err)
	t.Cleanup(func() { check(t, answers.Save()) })
	return answers
}

// check ends the test where there is an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) { pgtest.Main(m) }

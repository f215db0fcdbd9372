package entity

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"reverie/internal/llm"
	"reverie/internal/llm/llmtest"
	"reverie/internal/llm/openai"
	"reverie/internal/reverie"
	"reverie/prompts"
	"reverie/store"
	"reverie/store/pg"
	"reverie/store/pgtest"
)

// stage is a group that is followed, with nothing false about it but the model's
// server and the clock: PostgreSQL, the store, the SDK and the pipeline are the
// real ones.
type stage struct {
	*testing.T
	store  *store.Store
	db     *sql.DB
	model  *llmtest.Server
	pipe   *Pipeline
	group  string
	now    time.Time
	told   int
	leased int
}

const day = 24 * time.Hour

// evening is when a stage's clock begins. Its group's zone has its change to
// summer time in the night after.
var evening = time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC)

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{T: t, now: evening}
	s.store = pgtest.Open(t, pg.Options{Now: func() time.Time { return s.now }})
	s.db = must(sql.Open("postgres", pgtest.URL(t)))(t)
	t.Cleanup(func() { _ = s.db.Close() })
	s.set("g1")
	return s
}

// beside is a further group of the same store, with a model of its own.
func (s *stage) beside(t *testing.T, group string) *stage {
	t.Helper()
	further := &stage{T: t, store: s.store, db: s.db, now: evening}
	further.set(group)
	return further
}

func (s *stage) set(group string) {
	s.Helper()
	s.group, s.model = group, llmtest.New(s)
	s.model.Respond(observer(s))
	s.addGroup(group)
	s.pipe = s.pipeline(pgtest.NewMortal(s.store, -1))
}

// must unwraps a result or ends the test.
func must[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (s *stage) addGroup(id string) {
	s.Helper()
	must(s.store.EnsureGroup(s.Context(), reverie.Group{ID: id, TimeZone: "Europe/Lisbon"}))(s)
}

// pipeline asks the stage's server once for each question: patience has tests of
// its own.
func (s *stage) pipeline(m *pgtest.Mortal) *Pipeline {
	s.Helper()
	client := must(openai.New(openai.Options{BaseURL: s.model.URL("openai"), Model: "fake", HTTPClient: s.model.Client()}))(s)
	account := llm.Account{Provider: openai.Provider, Model: "fake", Ledger: m, Policy: llm.NewPolicy(llm.PolicyOptions{Attempts: 1, BreakerFailures: -1})}
	return &Pipeline{Store: m, Model: llm.NewModel(client, account), Prompts: must(prompts.Open(""))(s), Journal: m,
		Limits: Limits{MaxMessages: 1000, MaxSubjects: 8, MaxInputTokens: 12000, MaxOutputTokens: 4000, MinConfidence: 0.6, MinEvidence: 2, ExpireAfter: 30 * day},
		Now:    func() time.Time { return s.now }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
}

// holding is a lease that nothing renews.
type holding struct{ lease reverie.Lease }

func (h holding) Lease() reverie.Lease            { return h.lease }
func (h holding) Exclusive(fn func() error) error { return fn() }

func (s *stage) runWith(p *Pipeline, req Request) (Result, error) {
	s.Helper()
	return s.runIn(s.Context(), p, req)
}

func (s *stage) runIn(ctx context.Context, p *Pipeline, req Request) (Result, error) {
	s.Helper()
	req.GroupID = s.group
	if req.DryRun {
		return p.Run(ctx, nil, req)
	}
	s.leased++
	lease := must(s.store.AcquireLease(s.Context(), s.group, reverie.LeaseGroup, fmt.Sprintf("test:%d", s.leased), time.Minute))(s)
	defer func() {
		if err := s.store.ReleaseLease(context.WithoutCancel(s.Context()), lease); err != nil {
			s.Error(err)
		}
	}()
	return p.Run(ctx, holding{lease}, req)
}

// observe uses all that waits, which must go well.
func (s *stage) observe() Result {
	s.Helper()
	res, err := s.runWith(s.pipe, Request{})
	if err != nil {
		s.Fatalf("observe: %v", err)
	}
	return res
}

// line is a message of a script: who (an account and the name it goes by then),
// and the words. "bot:Helper" speaks as a bot.
type line struct{ who, text string }

// say imports messages a minute apart, the first at the given time, as if evolve
// had consumed them.
func (s *stage) say(at time.Time, lines ...line) (ids []string) {
	s.Helper()
	var list []reverie.Message
	for i, l := range lines {
		id, name, _ := strings.Cut(l.who, ":")
		s.told++
		m := reverie.Message{ID: fmt.Sprintf("%s-m%04d", s.group, s.told), AuthorID: id, Author: name, Text: l.text, SentAt: at.Add(time.Duration(i) * time.Minute)}
		if id == "bot" {
			m.Role = reverie.RoleAssistant
		}
		list, ids = append(list, m), append(ids, m.ID)
	}
	for part := range slices.Chunk(list, store.MaxImport) {
		must(s.store.ImportMessages(s.Context(), s.group, part))(s)
	}
	s.rows(`insert into message_uses (group_id, job, message_id, sent_at)
		select group_id, 'impression', message_id, sent_at from messages where group_id = $1 on conflict do nothing returning 1`, s.group)
	return ids
}

// rows is a query's result, the columns of a row joined by a bar.
func (s *stage) rows(query string, args ...any) []string {
	s.Helper()
	return pgtest.Rows(s, s.db, query, args...)
}

// want compares a query's rows with those given.
func (s *stage) want(query string, want ...string) {
	s.Helper()
	if got := s.rows(query); !slices.Equal(got, want) {
		s.Errorf("%s\n got %q\nwant %q", query, got, want)
	}
}

// people is who and what the group knows, a line each: kind, subject, accounts,
// aliases, and what is said, with who said it where others did.
func (s *stage) people() (list []string) {
	s.Helper()
	entities, _, err := s.store.ListEntities(s.Context(), s.group, reverie.EntityFilter{}, 0, 0)
	if err != nil {
		s.Fatal(err)
	}
	for _, e := range entities {
		var accounts, aliases, claims []string
		for _, n := range e.Names {
			switch {
			case n.Kind == reverie.NameID:
				accounts = append(accounts, n.Name)
			case n.Name != e.Subject:
				aliases = append(aliases, n.Name)
			}
		}
		for _, c := range e.Claims {
			text := c.Text()
			if !c.Self {
				text += " (" + strings.Join(c.SaidBy, ",") + ")"
			}
			claims = append(claims, text)
		}
		slices.Sort(aliases)
		slices.Sort(claims)
		list = append(list, fmt.Sprintf("%s %s %v aka %s | %s", e.Kind, e.Subject, accounts, strings.Join(aliases, ", "), strings.Join(claims, "; ")))
	}
	slices.Sort(list)
	return list
}

// asked is how many questions the model has got.
func (s *stage) asked() int { return len(s.model.Requests()) }

func wantErr(t testing.TB, err error, kinds ...error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, kind := range []error{reverie.ErrDeferred, reverie.ErrUnavailable, reverie.ErrConfiguration, reverie.ErrUnusable, reverie.ErrLeaseLost, reverie.ErrConflict, reverie.ErrInvalid} {
		if is := errors.Is(err, kind); is != slices.Contains(kinds, kind) {
			t.Errorf("that the error is %q is %v: %v", kind, is, err)
		}
	}
}

package evolve

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"reverie/internal/decide"
	"reverie/internal/llm/answer"
	"reverie/internal/pipeline"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// paper is an input as a test writes it down: what the group remembers, what it
// has said, and what the run has done so far.
type paper struct {
	AsOf       time.Time      `json:"as_of"` // what "stale" counts back from
	TimeZone   string         `json:"time_zone"`
	MaxCreates int            `json:"max_creates"` // default: reverie.MaxCreates
	Shown      int            `json:"shown"`       // memories with a handle; default: all
	Rewritten  int            `json:"rewritten"`   // of the memories that were there, by earlier chunks of the run
	Memories   []paperMemory  `json:"memories"`
	Filler     int            `json:"filler"` // further memories, supported lately
	Fresh      []paperMessage `json:"fresh"`
	Earlier    []paperMessage `json:"earlier"`
	Filtered   []paperMessage `json:"filtered"`
}

type paperMemory struct {
	Statement string    `json:"statement"`
	Version   int       `json:"version"`
	Strength  float64   `json:"strength"`
	Supported time.Time `json:"supported"` // default: the day before AsOf
	Dates     []string  `json:"dates"`
	Tags      []string  `json:"tags"`
	Own       bool      `json:"own"` // written by this very run

	Type reverie.Type `json:"type"`
	Due  *time.Time   `json:"due"`

	Kind   reverie.Kind `json:"kind"`   // default: group
	Again  string       `json:"again"`  // why it is to be judged again
	Held   bool         `json:"held"`   // until then
	Awaits []string     `json:"awaits"` // pending messages of its evidence
	Author string       `json:"author"` // the person who wrote it
}

type paperMessage struct {
	Author string       `json:"author"` // default: Lin
	Role   reverie.Role `json:"role"`
	Text   string       `json:"text"`
	At     time.Time    `json:"at"` // default: an hour before AsOf
}

const paperRun = "00000000-0000-7000-a000-000000000001"

// The ids of the memory that has the handle m<n>.
func memoryID(n int) string  { return fmt.Sprintf("00000000-0000-7000-8000-%012d", n) }
func lineageID(n int) string { return fmt.Sprintf("00000000-0000-7000-9000-%012d", n) }

// limits are the product's own.
func limits() Limits {
	return Limits{MaxMessages: 200, MaxInputTokens: 24_000, MaxOutputTokens: 4096, MaxCreates: reverie.MaxCreates,
		MaxActive: reverie.MaxActive, Target: reverie.TargetActive, MaxShown: reverie.MaxShown, Forget: forget,
		HoldRatio: 0.2, HoldMin: 2, ContextMessages: 200}
}

// sheet is the paper as the pipeline has it.
func (p paper) sheet(t testing.TB) *chunkInput {
	t.Helper()
	if p.AsOf.IsZero() {
		p.AsOf = time.Date(2026, 1, 15, 16, 0, 0, 0, time.UTC)
	}
	loc, err := time.LoadLocation(p.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	s := &chunkInput{no: 1, loc: loc, language: "en", asOf: p.AsOf, forget: forget, runID: paperRun}
	for n := range 200 { // the group talks every night
		s.nights = append(s.nights, text.LocalDate(p.AsOf.AddDate(0, 0, n-199), loc))
	}
	for i := range p.Filler {
		p.Memories = append(p.Memories, paperMemory{Statement: fmt.Sprintf("Filler memory number %d", i+1)})
	}
	for i, m := range p.Memories {
		h := m.head(i+1, p.AsOf)
		if h.Kind == reverie.KindGroup && !h.Held() {
			s.state.Heads = append(s.state.Heads, h)
			continue
		}
		if s.state.Again = append(s.state.Again, h); !h.Held() {
			s.state.Taken = map[string]bool{h.Text(): true}
		}
	}
	var filtered []reverie.Message
	n := 0
	for _, part := range []struct {
		from []paperMessage
		to   *[]reverie.Message
	}{{p.Fresh, &s.fresh}, {p.Earlier, &s.earlier}, {p.Filtered, &filtered}} {
		for _, m := range part.from {
			n++
			*part.to = append(*part.to, m.message(n, p.AsOf))
		}
	}
	s.state.Pending = append(append(s.state.Pending, s.fresh...), filtered...)
	again, others := s.toJudge(reverie.MaxShown)
	s.judging, s.shown = len(again), append(again, others...)
	if p.Shown > 0 {
		s.shown = s.shown[:p.Shown]
	}
	return s
}

func (m paperMemory) head(n int, asOf time.Time) reverie.HeadState {
	if m.Supported.IsZero() {
		m.Supported = asOf.Add(-24 * time.Hour)
	}
	if m.Strength == 0 {
		m.Strength = reverie.TentativeStrength
	}
	if m.Dates == nil {
		m.Dates = []string{m.Supported.Format(time.DateOnly)}
	}
	h := reverie.HeadState{SupportDates: m.Dates, Memory: reverie.Memory{Author: m.Author, ID: memoryID(n), LineageID: lineageID(n), Kind: reverie.KindGroup,
		Statement: m.Statement, Version: max(m.Version, 1), Status: reverie.StatusActive, Strength: m.Strength, LastSupportedAt: m.Supported,
		Tags: m.Tags, Type: m.Type, DueOn: m.Due, ContentHash: text.ContentHash(m.Statement), JudgeAgain: m.Again}, Awaits: m.Awaits}
	if m.Kind != "" {
		h.Kind = m.Kind
	}
	if m.Held {
		h.Status = reverie.StatusHeld
	}
	if m.Own {
		run := paperRun
		h.RunID = &run
	}
	return h
}

func (m paperMessage) message(n int, asOf time.Time) reverie.Message {
	if m.Author == "" {
		m.Author = "Lin"
	}
	if m.Role == "" {
		m.Role = reverie.RoleUser
	}
	if m.At.IsZero() {
		m.At = asOf.Add(-time.Hour)
	}
	return reverie.Message{ID: "msg" + strconv.Itoa(n), AuthorID: "u-" + m.Author, Author: m.Author, Role: m.Role, Text: m.Text, SentAt: m.At}
}

// said reads an answer as the pipeline does.
func said(text string) reply { return reply{text: text, Result: answer.Read(text)} }

// judge takes an answer through parse, check and plain decisions.
func (p paper) judge(t testing.TB, text string) (*chunkInput, checked, reverie.Plan) {
	t.Helper()
	pipe := &Pipeline{Decider: decide.Plain{}, Limits: limits()}
	pipe.Limits.MaxCreates = cmp.Or(p.MaxCreates, pipe.Limits.MaxCreates)
	return p.judgeBy(t, pipe, text)
}

func (p paper) judgeBy(t testing.TB, pipe *Pipeline, text string) (*chunkInput, checked, reverie.Plan) {
	t.Helper()
	s := p.sheet(t)
	base := 0
	for _, h := range s.state.Heads {
		if h.RunID == nil {
			base++
		}
	}
	proposals, refused := parse(said(text))
	c := check(s, proposals, refused)
	r := &run{Pipeline: pipe, req: Request{GroupID: "g"},
		recorder: pipeline.RunRecorder{Log: pipe.Log, Row: reverie.Run{ID: paperRun}, Stats: reverie.Stats{Base: base, Rewritten: p.Rewritten}}}
	plan, err := r.decide(t.Context(), s, c)
	if err != nil {
		t.Fatal(err)
	}
	return s, c, plan
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func jsonText(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw) + "\n"
}

// forget is when silence makes a memory stale, unless told otherwise.
var forget = reverie.ForgetRule{Habit: 21, HabitGaps: 2, Plan: 21, Opinion: 120}

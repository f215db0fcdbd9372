package reverie

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"time"
)

// Kind is the scope of a memory.
type Kind string

// The kinds of memory.
const (
	KindGroup   Kind = "group"
	KindSession Kind = "session"
	KindDream   Kind = "dream"
	KindTeam    Kind = "team"
)

// Type is the sort of statement of a memory. It decides whether silence makes the memory stale.
type Type string

// The types of memory. A memory without a type is a fact.
const (
	TypeFact    Type = "fact"
	TypeHabit   Type = "habit"
	TypeOpinion Type = "opinion"
	TypeRule    Type = "rule"
	TypePlan    Type = "plan"
	TypeCulture Type = "culture"
)

// Types returns all types of memory.
func Types() []Type {
	return []Type{TypeFact, TypeHabit, TypeOpinion, TypeRule, TypePlan, TypeCulture}
}

// Status is the state of a memory version.
type Status string

// The statuses of a memory version.
const (
	StatusActive     Status = "active"     // the lineage's head; it is recalled
	StatusSuperseded Status = "superseded" // a newer version replaced it
	StatusDeprecated Status = "deprecated" // deleted
	// Not shown to the model at night; it becomes active again if the chat repeats it.
	StatusArchived Status = "archived"
	StatusHeld     Status = "held" // a person must review it
)

// Limits of a group's memories.
const (
	MaxStatement  = 500 // characters of a statement
	MaxReason     = 300 // characters of a change reason
	MaxTags       = 8   // tags of a memory
	MaxTagLength  = 32  // characters of a tag
	TargetActive  = 30  // target number of active group memories; beyond it the prompt asks to merge
	MaxActive     = 60  // maximum number of active memories; a new one archives the weakest
	MaxCreates    = 20  // creates in one answer
	MaxShown      = 50  // memories shown to the model for one chunk
	DefaultWeight = 1.0
	MaxWeight     = 2.0
	CoreWeight    = 1.5 // a memory of this weight or more is core
)

// Memory is one version of one statement. Its JSON is that of memory list in the API: created_at is when the
// lineage was created, updated_at when this version was.
type Memory struct {
	GroupID         string     `db:"group_id" json:"-"`
	ID              string     `db:"memory_id" json:"memory_id"` // id of this version
	LineageID       string     `db:"lineage_id" json:"lineage_id"`
	Kind            Kind       `db:"kind" json:"kind"`
	SessionID       string     `db:"session_id" json:"session_id,omitempty"`
	Statement       string     `db:"statement" json:"statement"`
	Version         int        `db:"version" json:"version"` // counts from 1
	ParentID        *string    `db:"parent_id" json:"parent_id"`
	CreatedAt       time.Time  `db:"created_at" json:"created_at"`
	UpdatedAt       time.Time  `db:"updated_at" json:"updated_at"`
	EndedAt         *time.Time `db:"ended_at" json:"-"` // when the version stopped being active, nil if it is active
	LastSupportedAt time.Time  `db:"last_supported_at" json:"last_supported_at"`
	Status          Status     `db:"status" json:"status"`
	Strength        float64    `db:"strength" json:"strength"` // 0..1, see Reinforce
	Weight          float64    `db:"weight" json:"weight"`     // 0..2, starts at 1
	Tags            []string   `db:"tags" json:"tags"`
	ContentHash     string     `db:"content_hash" json:"-"`
	EmbeddingModel  string     `db:"embedding_model" json:"-"` // model@dims, "" without an embedding
	ChangeSummary   string     `db:"change_summary" json:"-"`
	RunID           *string    `db:"run_id" json:"-"` // nil: an edit by a person
	Type            Type       `db:"type" json:"type"`
	DueOn           *time.Time `db:"due_on" json:"due_on,omitempty"` // the date of a plan; nil: none
	SaidAt          time.Time  `db:"said_at" json:"said_at"`         // when the chat said what this version says
	SaidUntil       *time.Time `db:"said_until" json:"-"`            // when the chat ended it, nil if it has not
	// The person who wrote this version, "" if a job did.
	Author string `db:"author" json:"author,omitempty"`
	Origin Writer `db:"origin" json:"origin"`         // whether a model or a person wrote it
	Reach  Reach  `db:"scope" json:"scope,omitempty"` // "" if nobody has set it: see Reach
	// JudgeAgain is why the next run judges the memory again, "" if it does not.
	JudgeAgain string `db:"judge_again" json:"judge_again,omitempty"`
}

// Writer is who wrote a version: a job, with a model, or a person.
type Writer string

// The writers of memories.
const (
	WriterModel  Writer = "model"
	WriterPerson Writer = "person"
)

// Text is the key that is unique among a group's active memories: the kind and the content hash.
func (m Memory) Text() string { return string(m.Kind) + "\x00" + m.ContentHash }

// Hit is one search result: a memory and how relevant it is to the query.
type Hit struct {
	Memory
	Score  float64  `db:"score"` // 0..1, by meaning and by words; see Calibration
	Cosine *float64 `db:"-"`     // cosine of the vectors; nil if the memory has no vector of the model
	From   string   `db:"-"`     // the linked group that owns it, "" for the searched group and its team
	Words  float64  `db:"-"`     // share of the query's words in the memory, rare words weighing more, 0..1
}

// RelatedScore is the score from which texts are related, whatever the embedding model. It is the default minimum
// of a search.
const RelatedScore = 0.7

// How strength grows: a memory with evidence on one local date is tentative. Each further date closes 30% of the
// distance to 1.
const (
	TentativeStrength   = 0.3
	EstablishedStrength = 0.5
	supportStep         = 0.7
)

// Reinforce returns strength s after evidence on newDates further local dates: 1 - (1-s) x 0.7 for each. A new
// memory has Reinforce(TentativeStrength, dates-1).
func Reinforce(s float64, newDates int) float64 {
	for range newDates {
		s = 1 - (1-s)*supportStep
	}
	return min(max(s, 0), 1)
}

// Calibration converts a cosine into a score that is comparable between embedding models. The score is 0 at Floor,
// RelatedScore at Related and 1 at Ceiling, and linear in between. All thresholds are scores.
type Calibration struct {
	Floor   float64 // cosine of unrelated texts
	Related float64 // cosine from which texts are related; 0: linear from Floor to Ceiling
	Ceiling float64 // cosine from which texts say the same
}

// Calibrator provides the calibration of an embedding model. It may have to measure it first, which is billed to a
// group ("" = none).
type Calibrator interface {
	Calibrate(ctx context.Context, groupID string) (Calibration, error)
}

// Calibrate returns c itself, so that a known calibration is a Calibrator.
func (c Calibration) Calibrate(context.Context, string) (Calibration, error) { return c, nil }

// Whole returns the calibration with all three points filled in; the zero value leaves cosines unchanged.
func (c Calibration) Whole() Calibration {
	if c == (Calibration{}) {
		c.Ceiling = 1
	}
	if c.Related == 0 {
		c.Related = c.Floor + RelatedScore*(c.Ceiling-c.Floor)
	}
	return c
}

// Score converts a cosine, to 0..1.
func (c Calibration) Score(cosine float64) float64 {
	c = c.Whole()
	part := func(from, to float64) float64 { return min(max((cosine-from)/(to-from), 0), 1) }
	return RelatedScore*part(c.Floor, c.Related) + (1-RelatedScore)*part(c.Related, c.Ceiling)
}

// Cosine returns the cosine whose score is s, so that the database can apply the threshold. It is -1 for s <= 0:
// every vector scores at least 0.
func (c Calibration) Cosine(s float64) float64 {
	c = c.Whole()
	switch {
	case s <= 0:
		return -1
	case s <= RelatedScore:
		return c.Floor + s/RelatedScore*(c.Related-c.Floor)
	}
	return c.Related + (s-RelatedScore)/(1-RelatedScore)*(c.Ceiling-c.Related)
}

// ModelCalibration is the measured calibration of an embedding model.
type ModelCalibration struct {
	Calibration
	Model      string    // name@dims
	Pairs      int       // version of the sentence pairs it was measured with
	Accuracy   float64   // share of the pairs that Related classifies correctly; chance is one half
	MeasuredAt time.Time `db:"measured_at"`
}

// CheckVector refuses vectors whose cosine is NaN or meaningless: empty, all zero, or with a value that is not
// finite. Its errors are [ErrInvalid].
func CheckVector(v []float32) error {
	if len(v) == 0 {
		return fmt.Errorf("embedding is empty: %w", ErrInvalid)
	}
	var norm float64
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("embedding value %d is not finite: %w", i, ErrInvalid)
		}
		norm += f * f
	}
	if norm == 0 {
		return fmt.Errorf("embedding has norm zero: %w", ErrInvalid)
	}
	return nil
}

// Cosine returns the cosine of two vectors, -1 if it is undefined: their widths differ, or one is zero.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return -1
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return -1
	}
	return dot / math.Sqrt(aa*bb)
}

// ActiveSHA256 identifies what a group remembers. It hashes lineage, statement, status and tags of the memories in
// any order. Versions, strengths and weights do not count.
func ActiveSHA256(memories []Memory) string {
	sorted := slices.SortedFunc(slices.Values(memories), func(a, b Memory) int {
		return cmp.Or(cmp.Compare(a.LineageID, b.LineageID), cmp.Compare(a.Statement, b.Statement), cmp.Compare(a.Status, b.Status), slices.Compare(a.Tags, b.Tags))
	})
	h := sha256.New()
	for _, m := range sorted {
		field(h, m.LineageID)
		field(h, m.Statement)
		field(h, string(m.Status))
		for _, tag := range m.Tags {
			field(h, tag)
		}
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// field writes a text with its length, so that adjacent texts cannot be confused.
func field(h hash.Hash, text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }

// Edit is a person's change to a lineage's head. It needs no lease, since it locks the head.
type Edit struct {
	GroupID  string
	MemoryID string // must be the lineage's head; "" of a create
	Action   Action // create, update, delete, restore, strength, weight or scope
	Reach    Reach  // for the action scope
	Value    float64
	Reason   string
	Words    // for the actions create and update
	Imported // for a create that imports a memory of another system
}

// MemoryPage is a page of a group's memories for people to read.
type MemoryPage struct {
	Group    Group
	Memories []Memory
	Evidence map[string][]Evidence // by lineage, oldest first
}

// Imported is the source of a memory that was imported from another system. It has no author and is tentative: the
// nightly jobs treat it as one that a model wrote.
type Imported struct {
	System string    // such as mem0; "" if a person wrote it
	SaidAt time.Time // when the other system learnt it, or when it says the statement became valid
}

// Words are the content of a memory that a person writes. Fields left out of an update keep their value.
type Words struct {
	Statement   string
	ContentHash string // of Statement
	Tags        []string
	Type        Type
	DueOn       string // the date of a plan; NoDate removes it
	Author      string // the person who writes it
}

// ByPerson reports whether a person wrote the version. A model may overwrite it only if it quotes a new message.
func (m Memory) ByPerson() bool { return m.Author != "" }

// Unquoted returns the reason for refusing an action on a person's memory without such a quote.
func (m Memory) Unquoted(action string) string {
	return fmt.Sprintf("%s wrote this memory by hand: to %s it, quote words of a new message that say so", m.Author, action)
}

// NoDate is the date that removes the date of a plan.
const NoDate = "none"

// Wordable returns why a person cannot reword the memory, or nil. The error is an [ErrInvalid].
func (m Memory) Wordable() error {
	switch {
	case m.Kind == KindTeam:
		return fmt.Errorf("memory %s is a team's: change it with 'reverie team edit', or PUT /v1/team/memories/{id}: %w",
			m.ID, ErrInvalid)
	case m.Kind == KindDream:
		return fmt.Errorf("memory %s is a dream's, and rests on other memories: add a memory of the group instead, and delete this one: %w",
			m.ID, ErrInvalid)
	case slices.Contains(m.Tags, TagSummary):
		return fmt.Errorf("memory %s sums up a session, and is written anew with it: add a memory of the group instead: %w",
			m.ID, ErrInvalid)
	}
	return nil
}

// NotHeadError refuses a write to an old version and names the head. It is an
// [ErrConflict].
type NotHeadError struct {
	MemoryID string
	Head     Head
}

func (e *NotHeadError) Error() string {
	return fmt.Sprintf("memory %s is an old version: the head of its lineage is %s (version %d); write to that one",
		e.MemoryID, e.Head.MemoryID, e.Head.Version)
}

// Is makes errors.Is(err, ErrConflict) true.
func (e *NotHeadError) Is(target error) bool { return target == ErrConflict }

// CleanQuery selects active memories to be deleted together. Zero fields do not select.
type CleanQuery struct {
	GroupID     string
	Kind        Kind
	SessionID   string
	Tag         string
	Below       float64   // the lesser of strength and weight is below
	UnusedSince time.Time // neither supported nor referenced since
	Core        bool      // core memories too
}

// Empty reports whether no field selects.
func (q CleanQuery) Empty() bool {
	return q.Kind == "" && q.SessionID == "" && q.Tag == "" && q.Below == 0 && q.UnusedSince.IsZero()
}

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

// Kind says what a memory is about.
type Kind string

// The kinds of memory.
const (
	KindGroup   Kind = "group"
	KindSession Kind = "session"
	KindDream   Kind = "dream"
	KindTeam    Kind = "team"
)

// Type is what kind of thing a memory says: it decides whether silence means anything.
type Type string

// The types of memory. What names none is a fact.
const (
	TypeFact    Type = "fact"
	TypeHabit   Type = "habit"
	TypeOpinion Type = "opinion"
	TypeRule    Type = "rule"
	TypePlan    Type = "plan"
	TypeCulture Type = "culture"
)

// Types are all types of memory.
func Types() []Type {
	return []Type{TypeFact, TypeHabit, TypeOpinion, TypeRule, TypePlan, TypeCulture}
}

// Status says whether a version is what its lineage says now.
type Status string

// The statuses of a memory version.
const (
	StatusActive     Status = "active"     // the lineage's head, recalled
	StatusSuperseded Status = "superseded" // a newer version has taken its place
	StatusDeprecated Status = "deprecated" // deleted
	StatusArchived   Status = "archived"   // not before the model at night; said again, it comes back
	StatusHeld       Status = "held"       // waits for a person
)

// Limits of a group's memory.
const (
	MaxStatement  = 500 // characters of a statement
	MaxReason     = 300 // characters of a change reason
	MaxTags       = 8   // tags of a memory
	MaxTagLength  = 32  // characters of a tag
	TargetActive  = 30  // active group memories to aim for; the prompt asks to merge beyond
	MaxActive     = 60  // beyond this many active memories the weakest is archived for a new one
	MaxCreates    = 20  // creates of one answer
	MaxShown      = 50  // memories shown to the model for one chunk
	DefaultWeight = 1.0
	MaxWeight     = 2.0
	CoreWeight    = 1.5 // from here a memory is core
)

// Memory is one version of one statement. Its JSON is the shape of memory list
// in the API: created_at is the lineage's birth, updated_at this version's.
type Memory struct {
	GroupID         string     `db:"group_id" json:"-"`
	ID              string     `db:"memory_id" json:"memory_id"` // names the version
	LineageID       string     `db:"lineage_id" json:"lineage_id"`
	Kind            Kind       `db:"kind" json:"kind"`
	SessionID       string     `db:"session_id" json:"session_id,omitempty"`
	Statement       string     `db:"statement" json:"statement"`
	Version         int        `db:"version" json:"version"` // counts from 1
	ParentID        *string    `db:"parent_id" json:"parent_id"`
	CreatedAt       time.Time  `db:"created_at" json:"created_at"`
	UpdatedAt       time.Time  `db:"updated_at" json:"updated_at"`
	EndedAt         *time.Time `db:"ended_at" json:"-"` // when the version stopped being active, nil while it is
	LastSupportedAt time.Time  `db:"last_supported_at" json:"last_supported_at"`
	Status          Status     `db:"status" json:"status"`
	Strength        float64    `db:"strength" json:"strength"` // 0..1, see Reinforce
	Weight          float64    `db:"weight" json:"weight"`     // 0..2, starts at 1
	Tags            []string   `db:"tags" json:"tags"`
	ContentHash     string     `db:"content_hash" json:"-"`
	EmbeddingModel  string     `db:"embedding_model" json:"-"` // model@dims, "" while not embedded
	ChangeSummary   string     `db:"change_summary" json:"-"`
	RunID           *string    `db:"run_id" json:"-"` // nil for an edit by a person
	Type            Type       `db:"type" json:"type"`
	DueOn           *time.Time `db:"due_on" json:"due_on,omitempty"` // a plan's date; nil: it has none
	SaidAt          time.Time  `db:"said_at" json:"said_at"`         // when the chat said what made this version
	SaidUntil       *time.Time `db:"said_until" json:"-"`            // when the chat ended it, nil while it stands
	Author          string     `db:"author" json:"author,omitempty"` // the person who wrote this version, "" for a job
	Origin          Writer     `db:"origin" json:"origin"`           // whether a person wrote it
	Reach           Reach      `db:"scope" json:"scope,omitempty"`   // "" where nobody has said: see Reach
	// JudgeAgain says why the next run judges it again, "" where none does or nobody asked.
	JudgeAgain string `db:"judge_again" json:"judge_again,omitempty"`
}

// Writer says who wrote a version: a job, with a model, or a person.
type Writer string

// The writers of memories.
const (
	WriterModel  Writer = "model"
	WriterPerson Writer = "person"
)

// Text is what no two active memories of a group share: the kind, and what is said.
func (m Memory) Text() string { return string(m.Kind) + "\x00" + m.ContentHash }

// Hit is one search result: a memory and how much it bears on what was asked.
type Hit struct {
	Memory
	Score  float64  `db:"score"` // 0..1, by meaning and by words; see Calibration
	Cosine *float64 `db:"-"`     // of the vectors; nil where the memory has none of the model
	From   string   `db:"-"`     // the linked group whose it is, "" of the group asked and its team
	Words  float64  `db:"-"`     // share of the query's words that it has, rare ones first, 0..1
}

// RelatedScore is the score from which texts are related, whatever the embedding model: the
// least score of a search unless it names another.
const RelatedScore = 0.7

// How strength grows: a memory whose evidence lies on one local date is
// tentative, and each further date of evidence closes 30% of the distance to 1.
const (
	TentativeStrength   = 0.3
	EstablishedStrength = 0.5
	supportStep         = 0.7
)

// Reinforce returns strength s after evidence on newDates further local dates:
// 1 - (1-s) x 0.7 for each. A memory is born with Reinforce(TentativeStrength,
// dates-1).
func Reinforce(s float64, newDates int) float64 {
	for range newDates {
		s = 1 - (1-s)*supportStep
	}
	return min(max(s, 0), 1)
}

// Calibration turns a cosine into a score that means the same for every embedding model: 0
// at Floor, RelatedScore at Related, 1 at Ceiling, and straight lines between them.
// Thresholds are always in this unit.
type Calibration struct {
	Floor   float64 // cosine of texts that have nothing in common
	Related float64 // from here texts bear on each other; 0 = as one line from Floor to Ceiling has it
	Ceiling float64 // from here they say the same
}

// Calibrator knows the calibration of an embedding model, which may have to be measured at
// first, on the account of a group ("" = of none).
type Calibrator interface {
	Calibrate(ctx context.Context, groupID string) (Calibration, error)
}

// Calibrate returns a calibration that is known.
func (c Calibration) Calibrate(context.Context, string) (Calibration, error) { return c, nil }

// Whole is the calibration with each of its points; the zero value takes cosines as they are.
func (c Calibration) Whole() Calibration {
	if c == (Calibration{}) {
		c.Ceiling = 1
	}
	if c.Related == 0 {
		c.Related = c.Floor + RelatedScore*(c.Ceiling-c.Floor)
	}
	return c
}

// Score is what a cosine means, 0..1.
func (c Calibration) Score(cosine float64) float64 {
	c = c.Whole()
	part := func(from, to float64) float64 { return min(max((cosine-from)/(to-from), 0), 1) }
	return RelatedScore*part(c.Floor, c.Related) + (1-RelatedScore)*part(c.Related, c.Ceiling)
}

// Cosine returns the cosine whose score is s, for pushing a threshold down to
// the database. It is -1 for s <= 0, since everything scores at least 0.
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

// ModelCalibration is what was measured of an embedding model.
type ModelCalibration struct {
	Calibration
	Model      string    // name@dims
	Pairs      int       // version of the pairs that it was measured on
	Accuracy   float64   // share of the pairs that Related tells apart: half of them by chance
	MeasuredAt time.Time `db:"measured_at"`
}

// CheckVector refuses vectors whose cosine would be NaN or meaningless: empty,
// all zero, or with a value that is not finite. Its errors are [ErrInvalid].
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

// Cosine is that of two vectors, -1 where there is none: they differ in width, or one
// has no direction.
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

// ActiveSHA256 names what a group remembers: a hash of lineage, statement, status and
// tags of memories, in whatever order they come. Two sets with the same hash say the
// same, whatever their versions, strengths and weights are.
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

// field adds a text so that where it ends cannot be mistaken.
func field(h hash.Hash, text string) { fmt.Fprintf(h, "%d:%s", len(text), text) }

// Edit is a change that a person makes to a lineage's head, without the lease:
// it locks the head.
type Edit struct {
	GroupID  string
	MemoryID string // must be the lineage's head; "" of a create
	Action   Action // create, update, delete, restore, strength, weight or scope
	Reach    Reach  // of a scope
	Value    float64
	Reason   string
	Words    // of a create or an update
	Imported // of a create that brings in what another system remembered
}

// MemoryPage is what a group remembers, for people to read.
type MemoryPage struct {
	Group    Group
	Memories []Memory
	Evidence map[string][]Evidence // by lineage, oldest first
}

// Imported says where a memory comes from that no person wrote here. It has no author and is
// tentative: the nights of its group treat it as they treat what a model made.
type Imported struct {
	System string    // such as mem0; "" of what a person writes
	SaidAt time.Time // when the other system learnt it, or says that it began to hold
}

// Words are what a person writes as a memory. What is left out of an update stays.
type Words struct {
	Statement   string
	ContentHash string // of Statement
	Tags        []string
	Type        Type
	DueOn       string // the date of a plan; NoDate takes it away
	Author      string // who writes it
}

// ByPerson tells whether a person wrote what a version says: a model overwrites it only by
// the quote of a new message.
func (m Memory) ByPerson() bool { return m.Author != "" }

// Unquoted says why an action on what a person wrote is refused.
func (m Memory) Unquoted(action string) string {
	return fmt.Sprintf("%s wrote this memory by hand: to %s it, quote words of a new message that say so", m.Author, action)
}

// NoDate is a plan's date that is taken away.
const NoDate = "none"

// Wordable says why a person can give a memory no new words, or nil. An error is
// [ErrInvalid].
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

// CleanQuery selects active memories that are deleted together. What is zero does
// not select.
type CleanQuery struct {
	GroupID     string
	Kind        Kind
	SessionID   string
	Tag         string
	Below       float64   // the lesser of strength and weight is below
	UnusedSince time.Time // neither supported nor referenced since
	Core        bool      // core memories too
}

// Empty tells whether nothing is selected by.
func (q CleanQuery) Empty() bool {
	return q.Kind == "" && q.SessionID == "" && q.Tag == "" && q.Below == 0 && q.UnusedSince.IsZero()
}

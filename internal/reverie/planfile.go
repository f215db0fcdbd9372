package reverie

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// PlanFormat is the number of the form in which plans are written to files.
const PlanFormat = 1

// PlanFile is a plan in hand: what a run would write, with what that rests on, in a form
// that people read and edit. Whoever applies it checks all of it anew; of what can be
// computed (ids of new versions, hashes, strength, dates) the file holds nothing.
type PlanFile struct {
	PlanHeader
	Heads    []PlanHead
	Messages []PlanMessage
	Chunks   []PlanChunk
	Sum      string // names all of its lines as they are
	// Edited tells, of a file that was read, that it is not as it was written. Line
	// ends, spaces between tokens and the order of keys do not count. Whoever writes the
	// sum anew can hide it, until the seal is looked at.
	Edited bool
}

// PlanHeader is the first line of a plan.
type PlanHeader struct {
	Reverie       string    `json:"reverie"` // "plan"
	Format        int       `json:"format"`  // PlanFormat
	PlanID        string    `json:"plan_id"` // the id of the run that applying makes
	GroupID       string    `json:"group_id"`
	Job           Job       `json:"job"`
	Kind          Kind      `json:"kind"`             // of the memories that it creates
	RunID         string    `json:"run_id,omitempty"` // the run that holds it
	CreatedAt     time.Time `json:"created_at"`
	Since         time.Time `json:"since,omitzero"` // the window; zero where nothing was pending
	Until         time.Time `json:"until,omitzero"`
	OpenEnded     bool      `json:"open_ended,omitempty"` // the window's end came from the clock
	Days          int       `json:"days,omitempty"`       // of messages that were shown as context
	Model         string    `json:"model,omitempty"`
	PromptVersion string    `json:"prompt_version,omitempty"`
	PromptSHA256  string    `json:"prompt_sha256,omitempty"`
	SHA256        string    `json:"sha256"`           // of all lines as they were written
	Origin        string    `json:"origin,omitempty"` // by which the database knows this line again, see [PlanFile.Sealed]
	Seal          string    `json:"seal,omitempty"`   // and all lines
}

// planMark says of the first line of a file that it is a plan.
const planMark = "plan"

// The types of the lines after the first.
const (
	planHead     = "head"
	planMessage  = "message"
	planContext  = "context"
	planChunk    = "chunk"
	planStep     = "step"
	planRefusal  = "refusal"
	planDecision = "decision"
	planEnd      = "end"
)

// PlanHead is a memory that the model had before it, or might have had.
type PlanHead struct {
	Type      string `json:"type"`
	MemoryID  string `json:"memory_id"`
	LineageID string `json:"lineage_id"`
	Version   int    `json:"version"`
	SHA256    string `json:"sha256"` // see [HeadState.SHA256]
}

// PlanMessage is a message that a chunk consumes, or, of type context, one that was
// consumed before and shown.
type PlanMessage struct {
	Type      string  `json:"type"`
	Chunk     int     `json:"chunk,omitempty"` // 0: context
	MessageID string  `json:"message_id"`
	Outcome   Outcome `json:"outcome,omitempty"` // as planned, to be read: applying computes it
	SHA256    string  `json:"sha256"`            // see [Message.SHA256]
}

// PlanChunk is what the model said about some messages, and what came of it.
type PlanChunk struct {
	Type        string         `json:"type"`
	No          int            `json:"chunk"`
	InputSHA256 string         `json:"input_sha256,omitempty"`
	Answer      string         `json:"answer,omitempty"`
	Judged      []string       `json:"judged,omitempty"` // memories that were to be judged again and stay as they are
	Compared    int            `json:"compared,omitempty"`
	Held        string         `json:"held,omitempty"`   // why steps of it wait for a person
	Whole       bool           `json:"whole,omitempty"`  // all of them do
	Origin      string         `json:"origin,omitempty"` // by which the database knows it again, its steps apart
	Steps       []PlanStep     `json:"-"`
	Refusals    []PlanRefusal  `json:"-"`
	Decisions   []PlanDecision `json:"-"`
}

// PlanStep is one write. A memory is named by the id of a head that the plan rests on, or
// by the name (n1, n2, ...) of a version that an earlier chunk writes.
type PlanStep struct {
	Type         string      `json:"type"`
	Chunk        int         `json:"chunk"`
	No           int         `json:"step,omitempty"` // of a plan that a run holds: which of its steps, from 1
	Action       Action      `json:"action"`
	MemoryID     string      `json:"memory_id,omitempty"` // all but create
	As           string      `json:"as,omitempty"`        // the name of the version that it writes: create, update
	Replaces     string      `json:"replaces,omitempty"`  // the memory whose place a create takes
	OldStatement string      `json:"old_statement,omitempty"`
	Statement    string      `json:"statement,omitempty"`
	Tags         []string    `json:"tags,omitempty"`
	Reason       string      `json:"change_reason,omitempty"`
	Evidence     []PlanQuote `json:"evidence,omitempty"`
	Sources      []string    `json:"sources,omitempty"` // memories that it rests on
	Held         bool        `json:"held,omitempty"`    // it waits for a person
	Line         int         `json:"-"`                 // of the file
}

// PlanQuote is evidence as a plan names it.
type PlanQuote struct {
	MessageID string `json:"message_id"`
	Author    string `json:"author,omitempty"`
	Quote     string `json:"quote"`
}

// PlanRefusal is a line of the answer that was not accepted.
type PlanRefusal struct {
	Type  string `json:"type"`
	Chunk int    `json:"chunk"`
	Refusal
}

// PlanDecision is why a fact became what it is. Memories are named as in steps.
type PlanDecision struct {
	Type          string         `json:"type"`
	Chunk         int            `json:"chunk"`
	No            int            `json:"decision"`
	Statement     string         `json:"statement"`
	Action        DecisionAction `json:"action"`
	Basis         Basis          `json:"basis"`
	TargetID      string         `json:"target,omitempty"`
	MemoryID      string         `json:"memory_id,omitempty"`
	Reason        string         `json:"reason,omitempty"`
	Candidates    []Candidate    `json:"candidates,omitempty"`
	Model         string         `json:"model,omitempty"`
	PromptVersion string         `json:"prompt_version,omitempty"`
	PromptSHA256  string         `json:"prompt_sha256,omitempty"`
	Calls         int            `json:"calls,omitempty"`
	Line          int            `json:"-"`
}

// PlanState is what a plan in hand is held against, besides the heads of its group.
type PlanState struct {
	Run      *Run      // of the group that has the plan's id: it was applied
	Taken    bool      // another group's run has its id
	Messages []Message // those asked for that are there with their text, by sent_at, then by order of arrival
}

// WholeRun is a run all of whose chunks are written at once, with what they rest on: all
// active memories of the kind of its plans.
type WholeRun struct {
	Run    Run
	Heads  []string // ids
	Chunks []Chunk
	Plans  []Plan // of the chunks
}

// Steps is how many steps a plan has.
func (f PlanFile) Steps() (n int) {
	for _, c := range f.Chunks {
		n += len(c.Steps)
	}
	return n
}

// Chunk is the chunk of a number, nil where the plan has none.
func (f *PlanFile) Chunk(no int) *PlanChunk {
	for i := range f.Chunks {
		if f.Chunks[i].No == no {
			return &f.Chunks[i]
		}
	}
	return nil
}

// SHA256 names what a head says, as far as a plan rests on it: statement, status, tags, and
// why it is to be judged again. How strong it is may change meanwhile.
func (h HeadState) SHA256() string {
	sum := sha256.New()
	for _, text := range append([]string{string(h.Kind), string(h.Status), h.Statement, h.JudgeAgain}, h.Tags...) {
		field(sum, text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// SHA256 names what a message says: its id, author, role, text and instant.
func (m Message) SHA256() string {
	sum := sha256.New()
	for _, text := range []string{m.ID, m.AuthorID, m.Author, string(m.Role), m.Text, m.SentAt.UTC().Format(time.RFC3339Nano)} {
		field(sum, text)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// planLabel is the name of the nth version that a plan writes.
func planLabel(n int) string { return fmt.Sprintf("n%d", n) }

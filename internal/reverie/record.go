package reverie

import (
	"encoding/json"
	"time"
)

// RecordType names what a record of an export is a row of.
type RecordType string

// The types of records.
const (
	RecordGroup    RecordType = "group"     // a group's settings, with the calendars it had before
	RecordRun      RecordType = "run"       // that something below came from
	RecordChunk    RecordType = "chunk"     // of such a run, without the model's answer
	RecordHeld     RecordType = "held_plan" // what waits for a person, or waited
	RecordMemory   RecordType = "memory"    // one version
	RecordSource   RecordType = "source"    // another version that one rests on
	RecordTaken    RecordType = "taken"     // a version that a job has taken in: it is not new to it
	RecordEvidence RecordType = "evidence"
	RecordChange   RecordType = "change" // a row of the change log
	RecordDecision RecordType = "decision"
	RecordUsage    RecordType = "usage" // how often a lineage was offered and used
	RecordNight    RecordType = "night" // on which the group talked
)

// RecordTypes are all types in the order in which a group's records come: each
// refers only to what is before it.
var RecordTypes = []RecordType{RecordGroup, RecordRun, RecordChunk, RecordHeld, RecordMemory, RecordSource, RecordTaken,
	RecordEvidence, RecordChange, RecordDecision, RecordUsage, RecordNight}

// Record is one row of a group on its way out of one database and into another.
type Record struct {
	GroupID string
	Type    RecordType
	Row     json.RawMessage // an object: the row's columns by name. A group's has its id; the others have none
	Vector  []float32       // of a memory version; nil: none
}

// ExportQuery says what is exported.
type ExportQuery struct {
	GroupID   string // "" = all groups
	NoVectors bool   // they can be had again from an embedding model
}

// RecordCount says what became of records of one type in a database.
type RecordCount struct {
	New   int `json:"new"`
	Known int `json:"known"` // were there already, the same
	// Erased are of a message or a memory that was forgotten, and did not come in again.
	Erased int `json:"erased,omitempty"`
}

// RecordResult says what became of records.
type RecordResult struct {
	Counts map[RecordType]RecordCount
	Kept   []string // groups that were there and keep settings of their own; each says which
}

// Add adds the counts of another result.
func (r *RecordResult) Add(other RecordResult) {
	if r.Counts == nil {
		r.Counts = map[RecordType]RecordCount{}
	}
	for t, c := range other.Counts {
		sum := r.Counts[t]
		r.Counts[t] = RecordCount{sum.New + c.New, sum.Known + c.Known, sum.Erased + c.Erased}
	}
	r.Kept = append(r.Kept, other.Kept...)
}

// Pull is how far a chat has been pulled from a server that hands it over.
type Pull struct {
	GroupID  string    `db:"group_id" json:"group_id"`
	Source   string    `db:"source" json:"source"`     // the server's address, without secrets
	ChatID   string    `db:"chat_id" json:"chat_id"`   // as the server calls it
	Since    time.Time `db:"since" json:"since"`       // from here on is asked for next; zero: from the beginning
	Messages int       `db:"messages" json:"messages"` // that were new
	Error    string    `db:"error" json:"error"`       // of the last pull, "" where it succeeded
	PulledAt time.Time `db:"pulled_at" json:"pulled_at"`
}

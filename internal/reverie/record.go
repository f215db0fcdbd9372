package reverie

import (
	"encoding/json"
	"time"
)

// RecordType is the table that an exported record is a row of.
type RecordType string

// The types of records.
const (
	RecordGroup    RecordType = "group"     // a group's settings and its earlier calendars
	RecordRun      RecordType = "run"       // a run that a later record refers to
	RecordChunk    RecordType = "chunk"     // a chunk of such a run, without the model's answer
	RecordHeld     RecordType = "held_plan" // a plan held for a person, now or earlier
	RecordMemory   RecordType = "memory"    // one memory version
	RecordSource   RecordType = "source"    // a version that another one rests on
	RecordTaken    RecordType = "taken"     // a version that a job has used: it is not new to that job
	RecordEvidence RecordType = "evidence"
	RecordChange   RecordType = "change" // a row of the change log
	RecordDecision RecordType = "decision"
	RecordUsage    RecordType = "usage" // how often a lineage was offered and used
	RecordNight    RecordType = "night" // an active night
)

// RecordTypes are all types in the order of a group's records: each record refers only to earlier ones.
var RecordTypes = []RecordType{RecordGroup, RecordRun, RecordChunk, RecordHeld, RecordMemory, RecordSource, RecordTaken,
	RecordEvidence, RecordChange, RecordDecision, RecordUsage, RecordNight}

// Record is one row of a group that is exported from one database and imported into another.
type Record struct {
	GroupID string
	Type    RecordType
	Row     json.RawMessage // the row as a JSON object, by column; only a group's row holds the group id
	Vector  []float32       // of a memory version; nil: none
}

// ExportQuery selects what is exported.
type ExportQuery struct {
	GroupID   string // "" = all groups
	NoVectors bool   // leave vectors out; an embedding model can recompute them
}

// RecordCount counts imported records of one type.
type RecordCount struct {
	New   int `json:"new"`
	Known int `json:"known"` // the same record was there already
	// Erased counts records of an erased message or memory, which are not imported again.
	Erased int `json:"erased,omitempty"`
}

// RecordResult is the result of an import of records.
type RecordResult struct {
	Counts map[RecordType]RecordCount
	Kept   []string // existing groups that keep their own settings; each entry says which
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

// Pull is the progress of pulling a chat from a server.
type Pull struct {
	GroupID  string    `db:"group_id" json:"group_id"`
	Source   string    `db:"source" json:"source"`     // the server's address, without secrets
	ChatID   string    `db:"chat_id" json:"chat_id"`   // the server's id of the chat
	Since    time.Time `db:"since" json:"since"`       // the next pull starts here; zero: at the beginning
	Messages int       `db:"messages" json:"messages"` // new messages so far
	Error    string    `db:"error" json:"error"`       // of the last pull, "" if it succeeded
	PulledAt time.Time `db:"pulled_at" json:"pulled_at"`
}

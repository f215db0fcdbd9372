package reverie

import "time"

// DreamReply says what one run of dream did with a group.
type DreamReply struct {
	Success   bool          `json:"success"`
	Job       Job           `json:"job"` // dream
	GroupID   string        `json:"group_id"`
	RunID     string        `json:"run_id,omitempty"`
	SessionID string        `json:"through_session,omitempty"`
	DreamTime *time.Time    `json:"dream_time,omitempty"`
	Status    RunStatus     `json:"status,omitempty"`
	DryRun    bool          `json:"dry_run,omitempty"`
	Reason    string        `json:"reason,omitempty"`  // why it was due
	Message   string        `json:"message,omitempty"` // why there was no dream
	Error     string        `json:"error,omitempty"`
	Stats     EvolveStats   `json:"stats"`              // of memories of kind dream
	Sources   *DreamCounts  `json:"material,omitempty"` // what it took in; nothing, where it was not applied
	Narrative string        `json:"narrative,omitempty"`
	Changes   []ChangeReply `json:"changes"`
	Refusals  []Refusal     `json:"refusals,omitempty"`
	Warnings  []string      `json:"warnings,omitempty"`
}

// DreamCounts counts what a dream took in, and how.
type DreamCounts struct {
	Sessions int `json:"sessions"`
	Memories int `json:"memories"` // versions that were new
	Batches  int `json:"batches"`  // questions that they were put in; more than one are combined by further ones
	Calls    int `json:"calls"`    // questions asked in all, those that were answered before an interruption included
}

// DreamPage is the JSON of what a group's dreams have left.
type DreamPage struct {
	Success   bool         `json:"success"`
	GroupID   string       `json:"group_id"`
	RunID     string       `json:"run_id,omitempty"` // of the last dream
	SessionID string       `json:"through_session,omitempty"`
	DreamTime *time.Time   `json:"dream_time,omitempty"`
	Status    RunStatus    `json:"status,omitempty"`    // of the last dream
	Sources   *DreamCounts `json:"material,omitempty"`  // what it took in
	Message   string       `json:"message,omitempty"`   // where there is nothing to show
	Held      []string     `json:"held_runs,omitempty"` // dreams that wait for a person
	Narrative *DreamItem   `json:"narrative"`
	Items     []DreamItem  `json:"items"`
}

package reverie

import "time"

// ExtractReply says what one run of extraction did with a session.
type ExtractReply struct {
	Success        bool            `json:"success"`
	Job            Job             `json:"job"` // extract
	GroupID        string          `json:"group_id"`
	SessionID      string          `json:"session_id"`
	RunID          string          `json:"run_id,omitempty"`
	ExtractionTime *time.Time      `json:"extraction_time,omitempty"`
	Status         RunStatus       `json:"status,omitempty"`
	DryRun         bool            `json:"dry_run,omitempty"`
	Message        string          `json:"message,omitempty"` // "nothing waits"
	Error          string          `json:"error,omitempty"`
	Stats          EvolveStats     `json:"stats"`              // of memories of kind session
	Messages       *MessageStats   `json:"messages,omitempty"` // deferred are those that stay in the buffer
	Changes        []ChangeReply   `json:"changes"`
	Summary        string          `json:"summary,omitempty"` // the session's summary memory, as it was renewed
	Folded         *SessionSummary `json:"folded,omitempty"`  // its rolling summary, as it was renewed
	Refusals       []Refusal       `json:"refusals,omitempty"`
	Warnings       []string        `json:"warnings,omitempty"`
}

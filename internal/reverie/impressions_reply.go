package reverie

import "time"

// ImpressionsReply says what one run of the impression job did to a group.
type ImpressionsReply struct {
	Success        bool                `json:"success"`
	Job            Job                 `json:"job"` // impression
	GroupID        string              `json:"group_id"`
	RunID          string              `json:"run_id,omitempty"`
	ImpressionTime *time.Time          `json:"impression_time,omitempty"`
	Status         RunStatus           `json:"status,omitempty"`
	DryRun         bool                `json:"dry_run,omitempty"`
	Message        string              `json:"message,omitempty"` // "nothing waits"
	Error          string              `json:"error,omitempty"`
	Stats          ImpressionStats     `json:"stats"`
	Messages       *MessageStats       `json:"messages,omitempty"`
	Changes        []EntityChangeReply `json:"changes"`
	Refusals       []Refusal           `json:"refusals,omitempty"`
	Warnings       []string            `json:"warnings,omitempty"`
}

// ImpressionStats counts entities, and what was observed and is not part of one:
// what waits to be sure whom it is about, and what was refused.
type ImpressionStats struct {
	Created   int `json:"created"`
	Updated   int `json:"updated"`
	Postponed int `json:"postponed"`
	Refused   int `json:"refused"`
}

// EntityChangeReply is a change with the name of what it changed.
type EntityChangeReply struct {
	Subject string `json:"subject,omitempty"`
	EntityChange
}

// EntityChangeReplies are changes with the names of what they changed, by id.
func EntityChangeReplies(changes []EntityChange, names map[string]string) []EntityChangeReply {
	var list []EntityChangeReply
	for _, c := range changes {
		if c.Evidence == nil {
			c.Evidence = []Evidence{}
		}
		list = append(list, EntityChangeReply{Subject: names[c.EntityID], EntityChange: c})
	}
	return list
}

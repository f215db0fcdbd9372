package reverie

import "time"

// Setback is what repeated failure of a job has led to for a group.
type Setback struct {
	GroupID   string     `db:"group_id" json:"-"`
	Job       Job        `db:"job" json:"job"`
	Failures  int        `db:"failures" json:"failures"`             // in a row
	Error     string     `db:"error" json:"error"`                   // of the last one
	RetryAt   time.Time  `db:"retry_at" json:"retry_at"`             // not before, unless a person says so
	ParkedAt  *time.Time `db:"parked_at" json:"parked_at,omitempty"` // set: not until a person says so
	UpdatedAt time.Time  `db:"updated_at" json:"updated_at"`
}

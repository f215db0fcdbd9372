package reverie

import "time"

// Setback is what repeated failure of a job has led to for a group.
type Setback struct {
	GroupID   string     `db:"group_id" json:"-"`
	Job       Job        `db:"job" json:"job"`
	SessionID string     `db:"-" json:"session_id,omitempty"`        // where it is that session's alone
	Failures  int        `db:"failures" json:"failures"`             // in a row
	Error     string     `db:"error" json:"error"`                   // of the last one
	RetryAt   time.Time  `db:"retry_at" json:"retry_at"`             // not before, unless a person says so
	ParkedAt  *time.Time `db:"parked_at" json:"parked_at,omitempty"` // set: not until a person says so
	UpdatedAt time.Time  `db:"updated_at" json:"updated_at,omitzero"`
}

// MaxRetryAfter is the longest that anything is left alone after a failure, whatever is
// configured. A retry that is further ahead is of before a clock was set back: it is due.
const MaxRetryAfter = 7 * 24 * time.Hour

// LeftAlone tells whether what is tried again at retry is not tried yet.
func LeftAlone(retry, now time.Time) bool {
	return retry.After(now) && !retry.After(now.Add(MaxRetryAfter))
}

// ParkRule says how long a group is left alone after a failure of a job, and
// when it is left to a person.
type ParkRule struct {
	After         int           // failures in a row after which it is parked
	RetryAfter    time.Duration // after the first failure; each further one doubles it
	MaxRetryAfter time.Duration // but never longer than this
}

// Next is what one more failure, at that instant, makes of a setback. The zero
// Setback stands for none so far. One that is parked stays so.
func (r ParkRule) Next(s Setback, reason string, at time.Time) Setback {
	s.Failures++
	s.Error = reason
	delay := r.RetryAfter
	for n := 1; n < s.Failures && 0 < delay && delay < r.MaxRetryAfter; n++ {
		delay *= 2
	}
	s.RetryAt = at.Add(min(delay, r.MaxRetryAfter))
	if s.ParkedAt == nil && s.Failures >= r.After {
		s.ParkedAt = &at
	}
	s.UpdatedAt = at
	return s
}

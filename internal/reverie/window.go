package reverie

import "time"

// Window is a half-open interval [Since, Until) of sent_at. A nightly one is a
// date of the group's own calendar; one that a person asked for need not be.
type Window struct {
	Date  string    `json:"date,omitempty"` // YYYY-MM-DD, "" for one that is no date
	Since time.Time `json:"since"`          // zero: from the first pending message on
	Until time.Time `json:"until"`          // zero: up to now, whenever that is
	// SessionID narrows it down to one session; "" is all messages.
	SessionID string `json:"session_id,omitempty"`
}

// WindowLoad is a window with the pending messages in it.
type WindowLoad struct {
	Window
	Messages   int `json:"messages"`
	Characters int `json:"characters"` // of their texts
	Bytes      int `json:"bytes"`      // of their texts, in UTF-8
}

// DueGroup is a group with pending messages, and what a job must know before it
// works on it.
type DueGroup struct {
	Group
	FirstPending time.Time // sent_at of the oldest pending message
	Setback      *Setback  // nil: the job's last run of the group did not fail
}

// DueQuery selects groups with pending messages, by id.
type DueQuery struct {
	Job     Job
	GroupID string // "" = all; one that is named is found paused or not
	After   string // only ids after this one
	Limit   int    // 0 = no limit
}

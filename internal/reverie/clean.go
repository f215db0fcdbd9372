package reverie

import "time"

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

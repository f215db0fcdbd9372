package decide

import (
	"slices"
	"time"

	"reverie/internal/reverie"
)

// NewStep is a line as a write, with ids of its own.
func NewStep(l Line) reverie.Step {
	s := reverie.Step{Action: l.Action, Tags: l.Tags, Reason: l.Reason, Evidence: l.Evidence}
	if l.Target == nil {
		s.LineageID, s.MemoryID = reverie.NewID(), reverie.NewID()
		s.Statement, s.ContentHash, s.Replaces = l.Statement, l.ContentHash, l.Replaces
		s.Strength, s.LastSupportedAt = support(-1, time.Time{}, nil, l.Evidence)
		return s
	}
	s.LineageID, s.OldStatement = l.Target.LineageID, l.Target.Statement
	s.Head = reverie.Head{MemoryID: l.Target.ID, Version: l.Target.Version}
	if l.Target.JudgeAgain != "" {
		s.Judged = l.Target.Status
	}
	if l.Action == reverie.ActionDelete {
		s.Tags = nil
		return s
	}
	s.Strength, s.LastSupportedAt = Strengthen(*l.Target, l.Evidence)
	if l.Action == reverie.ActionUpdate {
		s.MemoryID, s.Statement, s.ContentHash = reverie.NewID(), l.Statement, l.ContentHash
		if len(s.Tags) == 0 {
			s.Tags = l.Target.Tags
		}
	}
	return s
}

// Strengthen returns strength and time of last support of a memory after
// evidence. Strength grows with each local date on which the lineage has
// evidence for the first time.
func Strengthen(h reverie.HeadState, evidence []reverie.Evidence) (float64, time.Time) {
	return support(h.Strength, h.LastSupportedAt, h.SupportDates, evidence)
}

// support is Strengthen of a memory by its parts. A strength below 0 is a
// memory's birth.
func support(strength float64, last time.Time, known []string, evidence []reverie.Evidence) (float64, time.Time) {
	dates := slices.Clone(known)
	for _, e := range evidence {
		if !slices.Contains(dates, e.LocalDate) {
			dates = append(dates, e.LocalDate)
		}
		if e.SentAt.After(last) {
			last = e.SentAt
		}
	}
	added := len(dates) - len(known)
	if strength < 0 {
		return reverie.Reinforce(reverie.TentativeStrength, added-1), last
	}
	return reverie.Reinforce(strength, added), last
}

// union is all the evidence of two lines on one memory, each message once.
func union(a, b []reverie.Evidence) []reverie.Evidence {
	all := slices.Clip(a)
	for _, e := range b {
		if !slices.ContainsFunc(a, func(have reverie.Evidence) bool { return have.MessageID == e.MessageID }) {
			all = append(all, e)
		}
	}
	return all
}

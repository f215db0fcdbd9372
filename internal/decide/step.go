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
		dates, newest := supportedOn(nil, time.Time{}, l.Evidence)
		s.Strength, s.LastSupportedAt = reverie.Reinforce(reverie.TentativeStrength, dates-1), newest
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
	dates, newest := supportedOn(h.SupportDates, h.LastSupportedAt, evidence)
	return reverie.Reinforce(h.Strength, dates), newest
}

// supportedOn counts the local dates of evidence that are not known yet. It also returns
// when the newest message was sent, or last if that is later.
func supportedOn(known []string, last time.Time, evidence []reverie.Evidence) (dates int, newest time.Time) {
	all := slices.Clone(known)
	for _, e := range evidence {
		if !slices.Contains(all, e.LocalDate) {
			all = append(all, e.LocalDate)
		}
		if e.SentAt.After(last) {
			last = e.SentAt
		}
	}
	return len(all) - len(known), last
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

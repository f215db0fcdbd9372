package app

import (
	"reverie/internal/maintain"
	"reverie/internal/reverie"
)

// Keeper wires maintenance.
func (a *App) Keeper() *maintain.Keeper {
	m, r := a.Config.Maintain, a.Config.Retention
	return &maintain.Keeper{Store: a.Store, Impressions: a.Config.Impression.Enabled, Batch: m.Batch, Now: a.Clock, Log: a.Log,
		Rule: reverie.FadeRule{Threshold: m.ArchiveThreshold, After: m.DecayAfter.Duration, DreamsAfter: m.DreamDecayAfter.Duration, HalfLife: m.DecayHalfLife.Duration,
			Closed: m.ClosedAfter.Duration, ByActivity: m.DecayBy == "activity"},
		Retention: reverie.Retention{ShortTerm: a.Config.ShortTerm.ExpireAfter.Duration, Messages: r.Messages.Duration,
			Answers: r.Answers.Duration, Usage: r.UsageLog.Duration}}
}

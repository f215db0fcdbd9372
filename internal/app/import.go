package app

import (
	"cmp"
	"slices"

	"reverie/internal/ingest"
	"reverie/internal/reverie"
)

// NewGroup is a new group as the configuration has new ones.
func (a *App) NewGroup(g reverie.Group) reverie.Group {
	g.TimeZone = cmp.Or(g.TimeZone, a.Config.Group.TimeZone)
	g.Language = cmp.Or(g.Language, a.Config.Group.Language)
	g.DayBoundary = a.Config.Group.DayBoundary
	return g
}

// IngestFilters are those of the configuration, with further assistants.
func (a *App) IngestFilters(assistants ...string) ingest.Filters {
	c := a.Config.Ingest
	return ingest.Filters{Commands: c.Commands, Bots: ingest.Bots(c.Bots), Assistants: append(slices.Clone(c.Assistants), assistants...)}
}

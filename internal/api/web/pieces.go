package web

import (
	"fmt"
	"html/template"
	"math"
	"time"

	"reverie/internal/reverie"
)

// quoted is evidence, as the template "quotes" shows it.
type quoted struct {
	GroupID  string
	Zone     *time.Location
	Evidence []reverie.Evidence
}

func quotes(groupID string, zone *time.Location, evidence []reverie.Evidence) quoted {
	return quoted{groupID, zone, evidence}
}

// claimed is what is said of somebody, as the template "claim" shows it.
type claimed struct {
	quoted
	reverie.ClaimReply
}

// Evidence is what it rests on.
func (c claimed) Evidence() []reverie.Evidence { return c.quoted.Evidence }

func claim(groupID string, zone *time.Location, c reverie.ClaimReply) claimed {
	return claimed{quoted{groupID, zone, c.Evidence}, c}
}

// sourced is what a memory was made of, as the template "sources" shows it.
type sourced struct {
	Zone    *time.Location
	Sources []reverie.SourceMemory
}

func sources(zone *time.Location, list []reverie.SourceMemory) sourced { return sourced{zone, list} }

// core tells whether a memory is core.
func core(m reverie.Memory) bool { return m.Weight >= reverie.CoreWeight }

// clock is the time of day of an instant on the clocks of a zone.
func clock(t time.Time, zone *time.Location) template.HTML {
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, //nolint:gosec // digits
		t.UTC().Format(time.RFC3339), t.In(zone).Format("15:04")))
}

// meter is a small bar beside a number, which says the same.
func meter(value, most float64) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false">`+ //nolint:gosec // digits
		`<rect class="bar-rest" width="100" height="10"/><rect class="bar-fill" width="%.1f" height="10"/></svg>`, 100*min(max(value/max(most, math.SmallestNonzeroFloat64), 0), 1)))
}

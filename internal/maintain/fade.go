package maintain

import (
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
)

// fade says why a memory is to be archived, "" if it is not. Nothing befalls core memories,
// what a person wrote, and the narrative of dreams, which each dream tells anew.
func fade(m reverie.Fading, rule reverie.FadeRule, asOf time.Time) string {
	tentative := m.Strength < reverie.EstablishedStrength && !m.Used
	switch {
	case m.Weight >= reverie.CoreWeight || m.Author != "" || reverie.IsNarrative(m.Memory):
		return ""
	case closed(m, rule, asOf):
		return "closed on " + m.UpdatedAt.UTC().Format(time.DateOnly)
	case m.Weight < rule.Threshold:
		return fmt.Sprintf("weight %s is below %g", below(m.Weight, rule.Threshold), rule.Threshold)
	case tentative && m.Silent >= rule.Tentative:
		return fmt.Sprintf("said once, never used in an answer, and silent for %d of the group's active nights", m.Silent)
	}
	return ""
}

// closed tells whether a memory is a todo of a dream that was closed the rule's time
// before asOf, or longer ago.
func closed(m reverie.Fading, rule reverie.FadeRule, asOf time.Time) bool {
	return rule.Closed > 0 && reverie.DreamTypeOf(m.Memory) == reverie.DreamTodo &&
		slices.Contains(m.Tags, reverie.TagDone) &&
		asOf.Sub(m.UpdatedAt) >= rule.Closed
}

// below writes a value with two digits, or as many as tell it from the threshold.
func below(v, threshold float64) string {
	for digits := 2; ; digits++ {
		text := fmt.Sprintf("%.*f", digits, v)
		if text != fmt.Sprintf("%.*f", digits, threshold) || digits == 17 {
			return text
		}
	}
}

// asOf is up to when what was closed has aged: a group that rests forgets nothing.
func asOf(u reverie.Upkeep, now time.Time) time.Time {
	if u.NewestAt != nil && u.NewestAt.Before(now) {
		return *u.NewestAt
	}
	return now
}

// expiry is what expires now.
func (k *Keeper) expiry(now time.Time) reverie.Expiry {
	before := func(d time.Duration) time.Time {
		if d <= 0 {
			return time.Time{}
		}
		return now.Add(-d)
	}
	r := k.Retention
	return reverie.Expiry{ShortTerm: before(r.ShortTerm), Messages: before(r.Messages), Answers: before(r.Answers),
		Usage:       before(r.Usage),
		Impressions: k.Impressions}
}

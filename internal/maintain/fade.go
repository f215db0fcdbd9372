package maintain

import (
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// calendar is when a group was active, and the present time for it.
type calendar struct {
	nights []string
	loc    *time.Location
	now    time.Time
	asOf   time.Time // time at which the age of closed todos is measured
}

// calendar reads the calendar of a group. An inactive group forgets nothing.
func (r *run) calendar(u reverie.Upkeep) (calendar, error) {
	loc, err := u.Group.Location()
	c := calendar{nights: u.Nights, loc: loc, now: r.now, asOf: r.now}
	if u.NewestAt != nil && u.NewestAt.Before(r.now) {
		c.asOf = *u.NewestAt
	}
	return c, err
}

// fade returns why a memory must be archived, "" if it must not. since is the date of the chat from which that holds,
// "" for now. It never archives core memories, what a person wrote, or the narrative, which each dream renews. A memory
// that a person has restored stays for as long as a memory that was said once.
func fade(m reverie.Fading, rule reverie.FadeRule, c calendar) (reason, since string) {
	if m.Weight >= reverie.CoreWeight || m.Author != "" || reverie.IsNarrative(m.Memory) {
		return "", ""
	}
	if m.BackAt != nil && len(reverie.NightsBetween(c.nights, text.LocalDate(*m.BackAt, c.loc), text.LocalDate(c.now, c.loc))) < rule.Tentative {
		return "", "" // a memory that a person has just restored must not be archived again
	}
	stale := rule.Forget.Silence(m.HeadState, c.nights, c.loc, c.now)
	tentative := m.Strength < reverie.EstablishedStrength && m.UsedAt == nil
	silent := m.Silent(c.nights, c.loc, c.now)
	switch {
	case closed(m, rule, c.asOf):
		return "closed on " + m.UpdatedAt.UTC().Format(time.DateOnly), ""
	case m.Weight < rule.Threshold:
		return fmt.Sprintf("weight %s is below %g", below(m.Weight, rule.Threshold), rule.Threshold), ""
	case stale.Past:
		return "its date has passed: " + stale.Since, stale.Since
	case stale.Stale():
		return fmt.Sprintf("nothing has supported it for %d of the group's active nights", stale.Nights), stale.Since
	case tentative && len(silent) >= rule.Tentative:
		return fmt.Sprintf("said once, never used in an answer, and silent for %d of the group's active nights", len(silent)),
			silent[rule.Tentative-1]
	}
	return "", ""
}

// closed reports whether a memory is a todo of a dream that was closed longer before asOf than the rule allows.
func closed(m reverie.Fading, rule reverie.FadeRule, asOf time.Time) bool {
	return rule.Closed > 0 && reverie.DreamTypeOf(m.Memory) == reverie.DreamTodo &&
		slices.Contains(m.Tags, reverie.TagDone) &&
		asOf.Sub(m.UpdatedAt) >= rule.Closed
}

// below formats a value with two digits, or as many as distinguish it from the threshold.
func below(v, threshold float64) string {
	for digits := 2; ; digits++ {
		text := fmt.Sprintf("%.*f", digits, v)
		if text != fmt.Sprintf("%.*f", digits, threshold) || digits == 17 {
			return text
		}
	}
}

// expiry returns what expires now.
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

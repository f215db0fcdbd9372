package maintain

import (
	"fmt"
	"slices"
	"time"

	"reverie/internal/reverie"
	"reverie/internal/text"
)

// calendar is a group's: when it talked, and what time it is.
type calendar struct {
	nights []string
	loc    *time.Location
	now    time.Time
	asOf   time.Time // up to when what was closed has aged
}

// calendar reads a group's. A group that rests forgets nothing.
func (r *run) calendar(u reverie.Upkeep) (calendar, error) {
	loc, err := u.Group.Location()
	c := calendar{nights: u.Nights, loc: loc, now: r.now, asOf: r.now}
	if u.NewestAt != nil && u.NewestAt.Before(r.now) {
		c.asOf = *u.NewestAt
	}
	return c, err
}

// fade says why a memory is to be archived, "" if it is not, and with which date of the chat,
// "" for now. Nothing befalls core memories, what a person wrote, and the narrative of dreams,
// which each dream tells anew. What a person has taken back from the archive stays for as
// long as what was said once.
func fade(m reverie.Fading, rule reverie.FadeRule, c calendar) (reason, since string) {
	if m.Weight >= reverie.CoreWeight || m.Author != "" || reverie.IsNarrative(m.Memory) {
		return "", ""
	}
	if m.BackAt != nil && len(reverie.NightsBetween(c.nights, text.LocalDate(*m.BackAt, c.loc), text.LocalDate(c.now, c.loc))) < rule.Tentative {
		return "", "" // or the next run would do again what a person has taken back
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

package maintain

import (
	"fmt"
	"math"
	"slices"
	"time"

	"reverie/internal/reverie"
)

// leastDecay is by how much strength must have fallen before that is written: what
// is less adds up until then, since it is counted from when it was last lowered.
const leastDecay = 0.001

// fade says what time has made of a memory by asOf, and whether that is anything.
// Nothing befalls core memories, and the narrative of dreams, which each dream tells
// anew.
//
// Strength falls exponentially, so that in how many steps it does makes no
// difference: by half with each half-life, from when it was last lowered, or, after
// newer evidence, from the rule's period after that.
func fade(m reverie.Fading, rule reverie.FadeRule, asOf time.Time) (reverie.Fade, bool) {
	f := reverie.Fade{Fading: m, To: m.Strength, ToAt: m.DecayedAt}
	if m.Weight >= reverie.CoreWeight || reverie.IsNarrative(m.Memory) {
		return f, false
	}
	keeps := rule.After
	if m.Kind == reverie.KindDream {
		keeps = rule.DreamsAfter
	}
	from := m.LastSupportedAt.Add(keeps)
	if m.DecayedAt != nil && m.DecayedAt.After(from) {
		from = *m.DecayedAt
	}
	if age := asOf.Sub(from); age > 0 {
		s := m.Strength * math.Exp2(-age.Hours()/rule.HalfLife.Hours())
		if m.Strength-s >= leastDecay {
			f.To, f.ToAt = s, &asOf
		}
	}
	weak, over := min(f.To, m.Weight) < rule.Threshold, closed(m, rule, asOf)
	f.Archive = weak || over
	switch {
	case over:
		f.Reason = "closed on " + m.UpdatedAt.UTC().Format(time.DateOnly)
	case weak:
		f.Reason = why(f, rule)
	}
	return f, f.Decays() || f.Archive
}

// closed tells whether a memory is a todo of a dream that was closed the rule's time
// before asOf, or longer ago.
func closed(m reverie.Fading, rule reverie.FadeRule, asOf time.Time) bool {
	return rule.Closed > 0 && reverie.DreamTypeOf(m.Memory) == reverie.DreamTodo &&
		slices.Contains(m.Tags, reverie.TagDone) &&
		asOf.Sub(m.UpdatedAt) >= rule.Closed
}

// why gives the figures for which a weak memory is archived.
func why(f reverie.Fade, rule reverie.FadeRule) string {
	if f.Weight < rule.Threshold {
		return fmt.Sprintf("weight %s is below %g", below(f.Weight, rule.Threshold), rule.Threshold)
	}
	return fmt.Sprintf("strength %s is below %g: last supported %s", below(f.To, rule.Threshold), rule.Threshold,
		f.LastSupportedAt.UTC().Format(time.DateOnly))
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

// asOf is up to when memories of a group have faded.
func (k *Keeper) asOf(u reverie.Upkeep, now time.Time) time.Time {
	if k.Rule.ByActivity && u.NewestAt != nil && u.NewestAt.Before(now) {
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

package reverie

import (
	"slices"
	"strings"
	"time"
)

// TypeOf reads a type as a model writes it: "" where it names none.
func TypeOf(s string) Type {
	if t := Type(strings.ToLower(strings.TrimSpace(s))); slices.Contains(Types(), t) {
		return t
	}
	return ""
}

// DueOf reads the date of a plan, YYYY-MM-DD: nil where it is none.
func DueOf(s string) *time.Time {
	due, err := time.Parse(time.DateOnly, strings.TrimSpace(s))
	if err != nil {
		return nil
	}
	return &due
}

// ForgetRule says after how much silence a memory of a type is stale: in active nights, the
// dates on which its group talked. Facts, rules and culture are never stale by silence.
type ForgetRule struct {
	Habit     int     // and more than HabitGaps times the longest silence between two supports so far
	HabitGaps float64 // of a habit
	Plan      int     // of a plan without a date, or said after it; else one is stale once its date has passed
	Opinion   int
}

// Silence is why a memory is stale; the zero Silence says that it is not.
type Silence struct {
	Nights int    // active nights without support
	Past   bool   // the date of the plan has passed
	Since  string // the date with which it became stale
}

// Stale tells whether it is.
func (s Silence) Stale() bool { return s.Past || s.Nights > 0 }

// Silence says whether a memory is stale at the end of a window, which is exclusive. Nights are
// the active ones of its group, sorted.
func (r ForgetRule) Silence(h HeadState, nights []string, loc *time.Location, until time.Time) Silence {
	limit := 0
	switch {
	case h.Type == TypePlan && h.DueOn != nil && localDate(h.LastSupportedAt, loc) <= h.DueOn.Format(time.DateOnly):
		if due := h.DueOn.Format(time.DateOnly); due < localDate(until, loc) {
			return Silence{Past: true, Since: due}
		}
		return Silence{}
	case h.Type == TypePlan:
		limit = r.Plan
	case h.Type == TypeOpinion:
		limit = r.Opinion
	case h.Type == TypeHabit:
		limit = max(r.Habit, int(r.HabitGaps*float64(longestGap(nights, h.SupportDates))))
	default:
		return Silence{}
	}
	silent := NightsBetween(nights, h.lastHeard(loc), lastDate(until, loc))
	if len(silent) <= limit {
		return Silence{}
	}
	return Silence{Nights: len(silent), Since: silent[limit]}
}

// localDate is the calendar date of an instant, as YYYY-MM-DD.
func localDate(t time.Time, loc *time.Location) string { return t.In(loc).Format(time.DateOnly) }

// lastDate is the last date before an instant.
func lastDate(until time.Time, loc *time.Location) string {
	return localDate(until.Add(-time.Microsecond), loc)
}

// Silent are the active nights up to an instant in which nobody said or used what was said on
// one date only. A fact or rule may be asked for long after it was said: for it, silence begins
// no earlier than it was written.
func (h HeadState) Silent(nights []string, loc *time.Location, until time.Time) []string {
	last := h.lastHeard(loc)
	if h.Type == TypeFact || h.Type == TypeRule {
		last = max(last, localDate(h.UpdatedAt, loc))
	}
	return NightsBetween(nights, last, lastDate(until, loc))
}

// lastHeard is the local date on which a memory was supported, or used in an answer, last.
func (h HeadState) lastHeard(loc *time.Location) string {
	last := h.LastSupportedAt
	if h.UsedAt != nil && h.UsedAt.After(last) {
		last = *h.UsedAt
	}
	return localDate(last, loc)
}

// NightsBetween are the nights after one date, up to another, that date included.
func NightsBetween(nights []string, after, until string) []string {
	from, found := slices.BinarySearch(nights, after)
	if found {
		from++
	}
	to, found := slices.BinarySearch(nights, until)
	if found {
		to++
	}
	return nights[from:max(from, to)]
}

// longestGap is how many nights lay between two supports at most.
func longestGap(nights, dates []string) (longest int) {
	for i := 1; i < len(dates); i++ {
		longest = max(longest, len(NightsBetween(nights, dates[i-1], dates[i])))
	}
	return longest
}

// StrengthLeft is how strong a memory is by the evidence that is left, and when that supported
// it last: from a tentative memory's strength, or from what a person set last, on to each date
// of evidence that came after. Where nothing is left it is supported as before.
func StrengthLeft(dates int, set *float64, supportedAt *time.Time, before time.Time) (float64, time.Time) {
	strength := Reinforce(TentativeStrength, dates-1)
	if set != nil {
		strength = Reinforce(*set, dates)
	}
	if supportedAt == nil {
		return strength, before
	}
	return strength, *supportedAt
}

package reverie

import (
	"slices"
	"strings"
	"time"
)

// TypeOf parses a type that a model wrote: "" if it is not one.
func TypeOf(s string) Type {
	if t := Type(strings.ToLower(strings.TrimSpace(s))); slices.Contains(Types(), t) {
		return t
	}
	return ""
}

// DueOf parses the date of a plan, YYYY-MM-DD: nil if it is not one.
func DueOf(s string) *time.Time {
	due, err := time.Parse(time.DateOnly, strings.TrimSpace(s))
	if err != nil {
		return nil
	}
	return &due
}

// ForgetRule says after how much silence a memory of a type is stale. Silence is counted in active nights, the
// dates on which its group talked. Silence never makes facts, rules and culture stale.
type ForgetRule struct {
	Habit     int     // of a habit: and more than HabitGaps times its longest silence so far
	HabitGaps float64 // of a habit
	// Of a plan without a date, or said after its date; otherwise the plan is stale once the date is past.
	Plan    int
	Opinion int
}

// Silence is why a memory is stale; the zero value says that it is not.
type Silence struct {
	Nights int    // active nights without support
	Past   bool   // the plan's date is past
	Since  string // the date on which it became stale
}

// Stale reports whether the memory is stale.
func (s Silence) Stale() bool { return s.Past || s.Nights > 0 }

// Silence reports whether a memory is stale at the end of a window (exclusive). Nights are the active nights of its
// group, sorted.
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

// lastDate returns the last date before an instant.
func lastDate(until time.Time, loc *time.Location) string {
	return localDate(until.Add(-time.Microsecond), loc)
}

// Silent returns the active nights, up to an instant, since the memory was last said or used. For a fact or rule,
// the silence begins no earlier than the memory was written: people may ask for it long after it was said.
func (h HeadState) Silent(nights []string, loc *time.Location, until time.Time) []string {
	last := h.lastHeard(loc)
	if h.Type == TypeFact || h.Type == TypeRule {
		last = max(last, localDate(h.UpdatedAt, loc))
	}
	return NightsBetween(nights, last, lastDate(until, loc))
}

// lastHeard returns the local date on which a memory was last supported or used in an answer.
func (h HeadState) lastHeard(loc *time.Location) string {
	last := h.LastSupportedAt
	if h.UsedAt != nil && h.UsedAt.After(last) {
		last = *h.UsedAt
	}
	return localDate(last, loc)
}

// NightsBetween returns the nights after one date up to another (inclusive).
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

// longestGap returns the largest number of nights between two supports.
func longestGap(nights, dates []string) (longest int) {
	for i := 1; i < len(dates); i++ {
		longest = max(longest, len(NightsBetween(nights, dates[i-1], dates[i])))
	}
	return longest
}

// StrengthLeft computes a memory's strength from its remaining evidence, and when that last supported it. It starts
// from the tentative strength, or from the strength that a person set last, and reinforces it by each later date.
// Without evidence, the time of support stays as before.
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

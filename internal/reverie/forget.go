package reverie

import (
	"slices"
	"strings"
	"time"

	"reverie/internal/text"
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
	Plan      int     // of a plan without a date; one with a date is stale once that has passed
	Opinion   int
}

// Silence is why a memory is stale; the zero Silence says that it is not.
type Silence struct {
	Nights int  // active nights without support
	Past   bool // the date of the plan has passed
}

// Stale tells whether it is.
func (s Silence) Stale() bool { return s.Past || s.Nights > 0 }

// Silence says whether a memory is stale at the end of a window, which is exclusive. Nights are
// the active ones of its group, sorted.
func (r ForgetRule) Silence(h HeadState, nights []string, loc *time.Location, until time.Time) Silence {
	silent, limit := NightsBetween(nights, h.lastHeard(loc), text.LocalDate(until.Add(-time.Microsecond), loc)), 0
	switch {
	case h.Type == TypePlan && h.DueOn != nil:
		return Silence{Past: h.DueOn.Format(time.DateOnly) < text.LocalDate(until, loc)}
	case h.Type == TypePlan:
		limit = r.Plan
	case h.Type == TypeOpinion:
		limit = r.Opinion
	case h.Type == TypeHabit:
		limit = max(r.Habit, int(r.HabitGaps*float64(longestGap(nights, h.SupportDates))))
	default:
		return Silence{}
	}
	if silent <= limit {
		return Silence{}
	}
	return Silence{Nights: silent}
}

// lastHeard is the local date on which a memory was supported, or used in an answer, last.
func (h HeadState) lastHeard(loc *time.Location) string {
	last := h.LastSupportedAt
	if h.UsedAt != nil && h.UsedAt.After(last) {
		last = *h.UsedAt
	}
	return text.LocalDate(last, loc)
}

// NightsBetween counts the nights after one date, up to another, that date included.
func NightsBetween(nights []string, after, until string) int {
	from, found := slices.BinarySearch(nights, after)
	if found {
		from++
	}
	to, found := slices.BinarySearch(nights, until)
	if found {
		to++
	}
	return max(to-from, 0)
}

// longestGap is how many nights lay between two supports at most.
func longestGap(nights, dates []string) (longest int) {
	for i := 1; i < len(dates); i++ {
		longest = max(longest, NightsBetween(nights, dates[i-1], dates[i]))
	}
	return longest
}

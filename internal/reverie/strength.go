package reverie

import "time"

// How strength grows: a memory whose evidence lies on one local date is
// tentative, and each further date of evidence closes 30% of the distance to 1.
const (
	TentativeStrength   = 0.3
	EstablishedStrength = 0.5
	supportStep         = 0.7
)

// StaleAfter is how long a memory may go unsupported before it may be deleted
// without a quote, counted back from the end of the window, not from today.
const StaleAfter = 21 * 24 * time.Hour

// Reinforce returns strength s after evidence on newDates further local dates:
// 1 - (1-s) x 0.7 for each. A memory is born with Reinforce(TentativeStrength,
// dates-1).
func Reinforce(s float64, newDates int) float64 {
	for range newDates {
		s = 1 - (1-s)*supportStep
	}
	return min(max(s, 0), 1)
}

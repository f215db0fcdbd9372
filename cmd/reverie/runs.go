package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
	"reverie/jobs"
)

func newRuns(a *app) *cobra.Command {
	return group("runs", "Look at runs, decide on what they hold, and take them back", newRunsList(a), newRunsShow(a), newRunsApprove(a), newRunsReject(a), newRunsUndo(a))
}

// took is how long a run was under way.
func took(r reverie.Run) string {
	if r.FinishedAt == nil {
		return "-"
	}
	switch d := r.FinishedAt.Sub(r.StartedAt); {
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

// changed is what a run did to memories, or entities, in the signs that evolve
// prints: created, updated, deleted, kept, postponed, refused and held. What is zero
// is left out. What maintain did has words.
func changed(st reverie.Stats) string {
	var parts []string
	add := func(n int, format string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf(format, n))
		}
	}
	add(st.Created, "+%d")
	add(st.Updated, "~%d")
	add(st.Deleted, "-%d")
	add(st.Kept, "=%d")
	add(st.Postponed, ">%d")
	add(st.Refused, "!%d")
	add(st.Held, "?%d")
	add(st.Decayed, "%d decayed")
	add(st.Archived, "%d archived")
	add(st.Pruned, "%d pruned")
	return strings.Join(parts, " ")
}

// windowOf names a run's window in a table: by the dates that it covers, else by
// its instants.
func windowOf(r reverie.Run, cal jobs.Calendar) string {
	if dates := datesOf(r, cal); dates != "" {
		return dates
	}
	switch {
	case r.Stats.OpenEnded: // up to when it ran
		return stamp(r.WindowSince) + ".."
	case r.WindowSince.UTC().Year() == r.WindowUntil.UTC().Year():
		return stamp(r.WindowSince) + ".." + r.WindowUntil.UTC().Format("01-02 15:04")
	}
	return stamp(r.WindowSince) + ".." + stamp(r.WindowUntil)
}

// datesOf are the dates of the group's calendar that a run's window covers, ""
// where it is no whole dates.
func datesOf(r reverie.Run, cal jobs.Calendar) string {
	first, last, whole := cal.Dates(r.WindowSince, r.WindowUntil)
	switch {
	case !whole:
		return ""
	case first.Date == last.Date:
		return first.Date
	}
	return first.Date + ".." + last.Date
}

// paintStatus colours a run's status.
func paintStatus(s style, status reverie.RunStatus) string {
	switch status {
	case reverie.RunSucceeded:
		return s.green(string(status))
	case reverie.RunFailed:
		return s.red(string(status))
	}
	return s.amber(string(status))
}

// compact is a count to three digits or so: 940, 12.3k, 4.1M. None is empty.
func compact(n int) string {
	switch {
	case n == 0:
		return ""
	case n < 1000:
		return strconv.Itoa(n)
	case n < 999_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// usd is an amount of money. Nothing is empty, and a little is not nothing.
func usd(amount float64) string {
	switch {
	case amount == 0:
		return ""
	case amount < 0.0001:
		return "<0.0001"
	}
	return fmt.Sprintf("%.4f", amount)
}

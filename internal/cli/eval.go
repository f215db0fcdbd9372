package cli

import (
	"fmt"
	"strings"

	"reverie/internal/eval"
)

// PrintReport prints a line for each scenario, its mistakes, and the sums.
func (con *Console) PrintReport(r eval.Report) error {
	return con.Page("eval", struct {
		eval.Report
		Wrong []string
	}{r, wrongLines(r)})
}

// share formats n of of, or a dash if of is zero.
func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", n, of)
}

// wrongLines lists the points that were not earned.
func wrongLines(r eval.Report) (lines []string) {
	for _, res := range r.Scenarios {
		if res.Error != "" {
			lines = append(lines, res.Name+": "+res.Error)
		}
		for _, m := range res.Marks {
			if m.Right {
				continue
			}
			line := res.Name + ": " + strings.TrimSpace(m.Kind+" "+m.ID) + ": " + m.Outcome
			if m.Detail != "" {
				line += ": " + m.Detail
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// percent formats a percentage, or a dash if of is zero.
func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(of))
}

// PrintChecked lists the scenarios, all of which are valid.
func (con *Console) PrintChecked(list []*eval.Scenario) error {
	recorded, points := 0, 0
	for _, s := range list {
		points += s.Points()
		if len(s.Answers) > 0 {
			recorded++
		}
	}
	return con.Show(map[string]any{"success": true, "scenarios": len(list), "recorded": recorded, "points": points}, func() error {
		return con.Say("%s, %d with recorded answers, %s to earn: all in order\n", Plural(len(list), "scenario"), recorded,
			Plural(points, "point"))
	})
}

package cli

import (
	"fmt"
	"strings"

	"reverie/internal/eval"
	"reverie/internal/reverie"
)

// PrintReport prints a line for each scenario, what went wrong in it, and the sums.
func (con *Console) PrintReport(r eval.Report) error {
	s, w := con.Style(), con.Stdout
	var t Table
	at := fmt.Sprintf("@%d", r.K)
	t.Row("SCENARIO", "RIGHT", "FACTS", "FORBID", "EXTRA", "DUP", "LOST", "HELD", "CITED", "S"+at, "C"+at, "B"+at)
	for _, res := range r.Scenarios {
		right := fmt.Sprintf("%d/%d", res.Right, res.Points)
		if res.Error != "" {
			right = "failed"
		}
		t.Cells(append([]string{res.Name, right}, figureCells(res.Figures)...))
	}
	total := r.Total.Figures
	t.Cells(append([]string{"all", fmt.Sprintf("%d/%d", total.Right, total.Points)}, figureCells(total)...))
	if err := t.Write(w, s); err != nil {
		return err
	}
	if wrong := wrongLines(r); len(wrong) > 0 {
		fmt.Fprintln(w)
		for _, l := range wrong {
			fmt.Fprintln(w, s.Red("  x ")+Visible(l))
		}
	}
	if err := con.printParts(r); err != nil {
		return err
	}
	return con.printSum(r)
}

// figureCells are the columns that scenarios and their sum have in common.
func figureCells(f eval.Figures) []string {
	of := func(n, of int) string {
		if of == 0 {
			return "-"
		}
		return fmt.Sprintf("%d/%d", n, of)
	}
	return []string{of(f.Facts.Right, f.Facts.Expected), of(f.Forbidden.Found, f.Forbidden.Forbidden), fmt.Sprint(f.Extra),
		fmt.Sprint(f.Duplicates), fmt.Sprint(f.WrongDeletes), fmt.Sprint(f.WrongHeld),
		of(f.Evidence.CitedRight, f.Evidence.Cited), of(f.Recall.Search, f.Recall.Questions),
		of(f.Recall.Context, f.Recall.Questions), of(f.Recall.BM25, f.Recall.Questions)}
}

// wrongLines say which points were not earned.
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

// printParts prints the sums by topic and language.
func (con *Console) printParts(r eval.Report) error {
	fmt.Fprintln(con.Stdout)
	var t Table
	t.Row("BY", "SCENARIOS", "RIGHT", "PERCENT", "FACTS", "FORBID", "EXTRA", "DUP", "LOST", "HELD")
	for _, parts := range [][]eval.Part{r.Topics, r.Languages} {
		for _, p := range parts {
			t.Cells(append([]string{Visible(p.Name), fmt.Sprint(p.Scenarios), fmt.Sprintf("%d/%d", p.Right, p.Points),
				fmt.Sprintf("%.1f", p.Percent.Percent)}, figureCells(p.Figures)[:6]...))
		}
	}
	return t.Write(con.Stdout, con.Style())
}

// printSum prints the score, and what is counted beside it.
func (con *Console) printSum(r eval.Report) error {
	s, w, f := con.Style(), con.Stdout, r.Total.Figures
	line := func(label, format string, args ...any) { con.item(9, label, format, args...) }
	p := r.Total.Percent
	fmt.Fprintf(w, "\n%s\n", s.Bold(fmt.Sprintf("%.1f%% right: %d of %s in %s (95%%: %.1f to %.1f)", p.Percent, f.Right,
		Plural(f.Points, "point"), Plural(r.Total.Scenarios, "scenario"), p.Low, p.High)))
	line("model", "%s; embedder %s", Visible(r.Model), Visible(r.Embedder))
	line("facts", "%d expected: %d right, %d missing, %d twice, %d by another action", f.Facts.Expected, f.Facts.Right,
		f.Facts.Missing, f.Facts.Twice, f.Facts.WrongAction)
	line("forbidden", "%d of %d found", f.Forbidden.Found, f.Forbidden.Forbidden)
	line("extra", "%d memories that nobody expected; points they cost: %d", f.Extra, f.Deducted)
	c := f.Actions
	line("deletes", "%d wrong, and %d asked for and held; %d duplicates", f.WrongDeletes, f.WrongHeld, f.Duplicates)
	line("memories", "kept %d of %d, updated %d of %d, created %d of %d, deleted %d of %d", c.Kept.Got, c.Kept.Want,
		c.Updated.Got, c.Updated.Want, c.Created.Got, c.Created.Want, c.Deleted.Got, c.Deleted.Want)
	e := f.Evidence
	line("evidence", "precision %s (%d of %d cited), recall %s (%d of %d expected)", percent(e.CitedRight, e.Cited),
		e.CitedRight, e.Cited, percent(e.Found, e.Expected), e.Found, e.Expected)
	line("lines", "%d refused, %d held; %s of no use", f.Refused, f.Held, Plural(f.Unusable, "answer"))
	q := f.Recall
	line(fmt.Sprintf("recall@%d", r.K), "search (S) %s, context (C) %s, BM25 (B) %s (%s)", percent(q.Search, q.Questions),
		percent(q.Context, q.Questions), percent(q.BM25, q.Questions), Plural(q.Questions, "question"))
	paid := func(label string, s reverie.Spend) {
		line(label, "%s, %d tokens in, %d out, $%.4f", Plural(s.Calls, "call"), s.InputTokens, s.OutputTokens, s.CostUSD)
	}
	paid("spent", f.Spend)
	if f.Embedding.Calls > 0 { // none for what the process makes itself
		paid("vectors", f.Embedding)
	}
	_, err := fmt.Fprintf(w, "  %s  %s in %.1f s\n", s.Dim(fmt.Sprintf("%-9s", "played")), Plural(f.Nights, "night"),
		f.Seconds)
	return err
}

// percent is a share, or a dash where there is nothing to share.
func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(n)/float64(of))
}

// PrintFaults prints as JSON what is wrong with scenarios.
func (con *Console) PrintFaults(err error) error {
	return PrintJSON(con.Stdout, struct {
		Success bool          `json:"success"`
		Faults  []*eval.Fault `json:"faults"`
	}{false, eval.Faults(err)})
}

// PrintChecked says which scenarios there are, all of them in order.
func (con *Console) PrintChecked(list []*eval.Scenario) error {
	recorded, points := 0, 0
	for _, s := range list {
		points += s.Points()
		if len(s.Answers) > 0 {
			recorded++
		}
	}
	return con.Show(struct {
		Success   bool `json:"success"`
		Scenarios int  `json:"scenarios"`
		Recorded  int  `json:"recorded"` // with recorded answers
		Points    int  `json:"points"`
	}{true, len(list), recorded, points}, func() error {
		return con.Say("%s, %d with recorded answers, %s to earn: all in order\n", Plural(len(list), "scenario"), recorded,
			Plural(points, "point"))
	})
}

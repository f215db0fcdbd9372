package cli

import (
	"fmt"

	"reverie/internal/eval"
)

// PrintFaults prints as JSON what is wrong with scenarios.
func (con *Console) PrintFaults(err error) error {
	return PrintJSON(con.Stdout, struct {
		Success bool          `json:"success"`
		Faults  []*eval.Fault `json:"faults"`
	}{false, eval.Faults(err)})
}

// PrintChecked says which scenarios there are, all of them in order.
func (con *Console) PrintChecked(list []*eval.Scenario, asJSON bool) error {
	recorded, points := 0, 0
	for _, s := range list {
		points += s.Points()
		if len(s.Answers) > 0 {
			recorded++
		}
	}
	if asJSON {
		return PrintJSON(con.Stdout, struct {
			Success   bool `json:"success"`
			Scenarios int  `json:"scenarios"`
			Recorded  int  `json:"recorded"` // with recorded answers
			Points    int  `json:"points"`
		}{true, len(list), recorded, points})
	}
	_, err := fmt.Fprintf(con.Stdout, "%s, %d with recorded answers, %s to earn: all in order\n",
		Plural(len(list), "scenario"), recorded, Plural(points, "point"))
	return err
}

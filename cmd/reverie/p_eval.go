package main

import (
	"fmt"

	"reverie/internal/eval"
)

// printFaults prints as JSON what is wrong with scenarios.
func (con *console) printFaults(err error) error {
	return printJSON(con.stdout, struct {
		Success bool          `json:"success"`
		Faults  []*eval.Fault `json:"faults"`
	}{false, eval.Faults(err)})
}

// printChecked says which scenarios there are, all of them in order.
func (con *console) printChecked(list []*eval.Scenario, asJSON bool) error {
	recorded, points := 0, 0
	for _, s := range list {
		points += s.Points()
		if len(s.Answers) > 0 {
			recorded++
		}
	}
	if asJSON {
		return printJSON(con.stdout, struct {
			Success   bool `json:"success"`
			Scenarios int  `json:"scenarios"`
			Recorded  int  `json:"recorded"` // with recorded answers
			Points    int  `json:"points"`
		}{true, len(list), recorded, points})
	}
	_, err := fmt.Fprintf(con.stdout, "%s, %d with recorded answers, %s to earn: all in order\n", plural(len(list), "scenario"), recorded, plural(points, "point"))
	return err
}

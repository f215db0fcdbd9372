package main

import (
	"fmt"

	"reverie/internal/reverie"
)

func (con *console) printFeedback(reply reverie.FeedbackReply) error {
	for _, w := range reply.Warnings {
		fmt.Fprintln(con.stderr, "warning:", visible(w))
	}
	if reply.Offered == 0 {
		_, err := fmt.Fprintln(con.stdout, reply.Message+"; reverie context offers them")
		return err
	}
	var t table
	t.row("USED", "SCORE", "WEIGHT", "STATEMENT")
	for _, m := range reply.Memories {
		used := "no"
		if m.WasReferenced {
			used = "yes"
		}
		t.row(used, fmt.Sprintf("%.2f", m.ReferenceScore), fmt.Sprintf("%.2f", m.Weight), visible(m.Statement))
	}
	if err := t.write(con.stdout, con.style()); err != nil {
		return err
	}
	if reply.Known {
		_, err := fmt.Fprintln(con.stdout, "it was reported before: nothing has moved")
		return err
	}
	_, err := fmt.Fprintf(con.stdout, "%d of %s used\n", reply.Referenced, plural(reply.Offered, "memory"))
	return err
}

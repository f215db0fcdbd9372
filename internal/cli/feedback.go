package cli

import (
	"fmt"

	"reverie/internal/reverie"
)

func (con *Console) PrintFeedback(reply reverie.FeedbackReply) error {
	for _, w := range reply.Warnings {
		fmt.Fprintln(con.Stderr, "warning:", Visible(w))
	}
	if reply.Offered == 0 {
		_, err := fmt.Fprintln(con.Stdout, reply.Message+"; reverie context offers them")
		return err
	}
	var t Table
	t.Row("USED", "SCORE", "WEIGHT", "STATEMENT")
	for _, m := range reply.Memories {
		used := "no"
		if m.WasReferenced {
			used = "yes"
		}
		t.Row(used, m.ReferenceScore, m.Weight, Visible(m.Statement))
	}
	if err := t.Write(con.Stdout, con.Style()); err != nil {
		return err
	}
	if reply.Known {
		_, err := fmt.Fprintln(con.Stdout, "it was reported before: nothing has moved")
		return err
	}
	_, err := fmt.Fprintf(con.Stdout, "%d of %s used\n", reply.Referenced, Plural(reply.Offered, "memory"))
	return err
}

package app

import (
	"testing"

	"reverie/evolve"
	"reverie/internal/reverie"
)

// TestApproveReply: messages are counted of runs that have read some, even where it
// failed before it began.
func TestApproveReply(t *testing.T) {
	t.Parallel()
	for _, job := range reverie.Jobs {
		run := reverie.Run{GroupID: "g1", ID: reverie.NewID(), Job: job}
		for _, err := range []error{nil, reverie.ErrConflict} {
			reply := ApproveReply(run, evolve.Result{}, err)
			if (reply.Messages != nil) != (job == reverie.JobEvolve) || reply.Success != (err == nil) || reply.RunID != run.ID || reply.GroupID != "g1" {
				t.Errorf("%s, %v: %+v", job, err, reply)
			}
		}
	}
}

package main

import (
	"github.com/spf13/cobra"
)

func newRuns(a *app) *cobra.Command {
	return group("runs", "Look at runs, decide on what they hold, and take them back", newRunsList(a), newRunsShow(a),
		newRunsApprove(a), newRunsReject(a), newRunsUndo(a))
}

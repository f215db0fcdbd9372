package main

import (
	"context"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
)

func newRun(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Stay, and start the jobs of [schedule] when their time comes",
		Long: `Run stays resident and starts each job of [schedule] at its times, and once at the
beginning: what was missed while nothing ran is made up, night by night. Where
impressions are on, they follow each start of evolve. Sessions are extracted, and
groups dream, where [schedule] extract and dream say when. Several may run side by
side, together with CronJobs and single commands: a lease per group keeps them apart,
and no window, no turn of a session and no dream is worked on twice.

At [http] listen it answers /healthz (the process lives), /readyz (the database
answers and its schema fits) and /metrics (Prometheus). With --listen it serves the
API, the page and MCP there, too, as ` + "`reverie serve`" + ` does.

A first SIGTERM or SIGINT ends it: no group is begun, runs of the schedule ask no
further question, what is under way (answers, and what clients have asked for)
has [jobs] grace to come and be applied, and the exit code is 0. A second signal
stops it at once; what it has not committed stays pending.

The log level is info unless it is set. ` + "`reverie schedule`" + ` prints the next times.

` + exitHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runDaemon(cmd.Context(), cmd.Flags().Changed("listen"))
		},
	}
	listenFlag(cmd, a)
	return cmd
}

// runDaemon starts jobs, and where it serves, answers clients, until the first signal.
func (a *app) runDaemon(ctx context.Context, serves bool) error {
	a.resident = true
	if err := a.settings(); err != nil {
		return err
	}
	if serves {
		if err := application.CheckListen(a.Config); err != nil {
			return err
		}
	}
	return a.RunDaemon(ctx, serves, cli.Hurried)
}

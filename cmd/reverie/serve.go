package main

import (
	"context"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
)

func newServe(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the HTTP API, the operator's page and MCP",
		Long: `Serve answers at [http] listen, or --listen: the HTTP API (/openapi.json says what it
has), the operator's page (/ui/), MCP (/mcp), and /healthz, /readyz and /metrics. It
starts no job by itself: that is for CronJobs, or for ` + "`reverie run --listen`" + `, which does
both. It needs no model, and without one evolves and searches nothing.

While no token was ever created (` + "`reverie token create`" + `), it listens on loopback only,
and whoever can reach that may do everything.

A first SIGTERM or SIGINT ends it: /readyz says so, messages that are coming in end where
they stand, with their whole lines stored, what else is under way has [jobs] grace to
finish, and the exit code is 0. A second one ends it at once; what a run has not committed
stays pending.

The log level is info unless it is set.

` + exitHelp,
		Example: `  reverie serve
  reverie serve --listen :8470`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context()) },
	}
	listenFlag(cmd, a)
	return cmd
}

// listenFlag says where a command listens for clients.
func listenFlag(cmd *cobra.Command, a *app) {
	cmd.Flags().Var(&settingFlag{path: "http.listen", values: a.flags}, "listen", "address and port of the API, the page and MCP, instead of [http] listen")
}

// serve answers clients until the first signal.
func (a *app) serve(ctx context.Context) error {
	a.resident = true
	if err := a.settings(); err != nil {
		return err
	}
	if err := application.CheckListen(a.Config); err != nil {
		return err
	}
	return a.Serve(ctx, cli.Hurried)
}

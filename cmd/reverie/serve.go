package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"reverie/internal/api"
	"reverie/internal/api/mcp"
	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/reverie"
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

func newMCP(a *app) *cobra.Command {
	var write bool
	var token, group string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Let an agent read memories over MCP, on standard input and output",
		Long: `MCP answers one agent over the Model Context Protocol on standard input and output,
until it closes them. Programs such as editors and assistants start it by themselves.

With a token (--token, or better REVERIE_TOKEN) the agent may do what that token may,
and nothing more once it is revoked. Without one it may do what whoever can reach the
database may. --group confines it to one group either way.

With --write it may also propose what is to be remembered, changed or forgotten. That
changes nothing: it waits for a person (reverie runs list --status held).

Over HTTP, reverie serve answers agents at /mcp.`,
		Example: `  reverie mcp --group g1
  REVERIE_TOKEN=rvr_... reverie mcp --write`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.agent(cmd.Context(), cmp.Or(token, a.Getenv(config.EnvToken)), group, write)
		},
	}
	cmd.Flags().BoolVar(&write, "write", false, "with the tools that propose; a person decides")
	cmd.Flags().StringVar(&token, "token", "", "the token that the agent asks with (default REVERIE_TOKEN, which others "+
		"on this machine cannot read)")
	cmd.Flags().StringVar(&group, "group", "", "the only group that the agent may see")
	return cmd
}

// agent answers an agent on standard input and output.
func (a *app) agent(ctx context.Context, token, group string, write bool) (err error) {
	if err := a.open(ctx); err != nil {
		return err
	}
	service, usage := a.ServiceWithoutRuns()
	defer func() { err = errors.Join(err, application.CloseUsage(ctx, usage)) }()
	caller := func(context.Context) (api.Caller, error) {
		return api.Caller{Name: "reverie mcp", GroupID: group, Scope: reverie.ScopeWrite}, nil
	}
	if token != "" {
		caller = func(ctx context.Context) (api.Caller, error) {
			c, err := service.CallerOfToken(ctx, token)
			if err != nil {
				return c, fmt.Errorf("%w: `reverie token list` shows those that are", err)
			}
			return c.Within(group)
		}
	}
	who, err := caller(ctx)
	if err != nil {
		return err
	}
	if who.GroupID != "" {
		if _, err := a.Store.Group(ctx, who.GroupID); err != nil {
			return err
		}
	}
	day := a.DayBudget()
	s := mcp.New(service, mcp.Options{Version: version, Write: write, Now: a.Now, Log: a.Log,
		Caller: func(ctx context.Context) (context.Context, error) {
			c, err := caller(ctx)
			return llm.WithBudget(api.WithCaller(ctx, c), a.Budget(day)), err
		}})
	a.Log.Info("answering an agent", "by", cmp.Or(who.Name, who.TokenID), "group_id", who.GroupID, "scope", who.Scope)
	return s.Run(ctx, io.NopCloser(a.Stdin), unclosed{a.Stdout})
}

// unclosed is standard output, which whoever writes to it leaves open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

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
	"reverie/internal/config"
	"reverie/internal/llm"
	"reverie/internal/reverie"
)

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

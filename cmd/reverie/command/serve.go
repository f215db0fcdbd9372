package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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
	cmd := newCommand("reverie serve", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		if err := a.stay(true); err != nil {
			return err
		}
		return a.Serve(ctx, cli.Hurried)
	})
	listenFlag(cmd, a)
	return cmd
}

func newRun(a *app) *cobra.Command {
	var cmd *cobra.Command
	cmd = newCommand("reverie run", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		serves := cmd.Flags().Changed("listen")
		if err := a.stay(serves); err != nil {
			return err
		}
		return a.RunDaemon(ctx, serves, cli.Hurried)
	})
	listenFlag(cmd, a)
	return cmd
}

// listenFlag adds the flag for the address to listen on.
func listenFlag(cmd *cobra.Command, a *app) {
	cmd.Flags().Var(&settingFlag{path: "http.listen", values: a.flags}, "listen",
		"address and port of the API, the page and MCP, instead of [http] listen")
}

// stay reads the settings of a process that stays until the first signal.
func (a *app) stay(serves bool) error {
	a.resident = true
	if err := a.settings(); err != nil || !serves {
		return err
	}
	return application.CheckListen(a.Config)
}

func newMCP(a *app) *cobra.Command {
	var write bool
	var token, group string
	cmd := newCommand("reverie mcp", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		return a.agent(ctx, cmp.Or(token, a.Getenv(config.EnvToken)), group, write)
	}))
	cmd.Flags().BoolVar(&write, "write", false, "let the agent propose changes, for a person to review")
	cmd.Flags().StringVar(&token, "token", "", "token of the agent (default REVERIE_TOKEN, which others on this "+
		"machine cannot read)")
	groupFlag(cmd, &group, "let the agent see only this group")
	return cmd
}

// agent answers an agent on standard input and output.
func (a *app) agent(ctx context.Context, token, group string, write bool) (err error) {
	service, usage := a.ServiceWithoutRuns()
	defer func() { err = errors.Join(err, application.CloseUsage(ctx, usage)) }()
	caller := func(context.Context) (api.Caller, error) {
		return api.Caller{Name: "reverie mcp", GroupID: group, Scope: reverie.ScopeWrite}, nil
	}
	if token != "" {
		caller = func(ctx context.Context) (api.Caller, error) {
			c, err := service.CallerOfToken(ctx, token)
			if err != nil {
				return c, fmt.Errorf("%w: `reverie token list` shows all tokens", err)
			}
			return c.Within(group)
		}
	}
	who, err := caller(ctx)
	if err != nil {
		return err
	}
	if err := a.knownGroup(ctx, who.GroupID); err != nil {
		return err
	}
	day := a.DayBudget()
	s := mcp.New(service, mcp.Options{Version: Version, Write: write, Group: who.GroupID,
		Tick: func() <-chan time.Time { return time.After(2 * time.Second) },
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

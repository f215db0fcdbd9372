package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
)

// app is one invocation of the binary: its environment, and what it has opened so far.
type app struct {
	cli.Console
	*application.App // nil until the settings are loaded

	flags      map[string]string // settings from flags
	configPath string
	resident   bool // a long-running process, whose output people read in its log
	prov       *config.Provenance
	group      *string        // the group of a command that needs one and has not been given one
	needed     string         // the error text if several groups are possible
	running    *cobra.Command // of those with --json, once it acts
}

// settings loads the configuration once.
func (a *app) settings() error {
	if a.App != nil {
		return nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	cfg, prov, warnings, err := config.Load(config.Input{Path: a.configPath, Env: a.Env, Flags: a.flags, WorkDir: dir,
		Home: a.Getenv("HOME")})
	for _, w := range warnings {
		fmt.Fprintln(a.Stderr, "warning:", w)
	}
	if err != nil {
		return err
	}
	log, err := a.logger(cfg, prov)
	if err != nil {
		return err
	}
	a.prov = prov
	a.App = &application.App{Config: cfg, Version: Version, Log: log, Clock: a.Now, LookupEnv: a.Getenv,
		Resident: a.resident,
		Notify:   func(text string) { fmt.Fprintln(a.Stderr, cli.Visible(text)) }}
	return nil
}

// logger returns the log of a configuration. By default, a long-running process logs more, since nobody watches its
// output.
func (a *app) logger(cfg *config.Config, prov *config.Provenance) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return nil, fmt.Errorf("log level %q: %w", cfg.Log.Level, reverie.ErrConfiguration)
	}
	if a.resident && prov.Origin("log.level").Layer == config.LayerDefault {
		level = slog.LevelInfo
	}
	options := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(a.Stderr, options)), nil
	}
	return slog.New(slog.NewTextHandler(a.Stderr, options)), nil
}

// open loads the configuration and opens the database.
func (a *app) open(ctx context.Context) error {
	if err := a.settings(); err != nil {
		return err
	}
	if err := a.Open(ctx); err != nil {
		return err
	}
	return a.onlyGroup(ctx)
}

// opened returns an action that opens the database first.
func (a *app) opened(do commandAction) commandAction {
	return func(ctx context.Context, args []string) error {
		if err := a.open(ctx); err != nil {
			return err
		}
		return do(ctx, args)
	}
}

// about returns an action whose first argument is an id, or its beginning, in one group or in any. It opens the
// database first.
func (a *app) about(kind reverie.IDKind, groupID *string, do commandAction) commandAction {
	return a.opened(func(ctx context.Context, args []string) error {
		if kind != reverie.IDEntity && len(args[0]) < reverie.MinPrefix && strings.Trim(strings.ToLower(args[0]), "0123456789abcdef-") == "" {
			return usageError(fmt.Errorf("%s %q: the id is too short; give the first %d characters, or more",
				kind, args[0], reverie.MinPrefix))
		}
		whole, err := a.Store.WholeID(ctx, kind, *groupID, args[0])
		if err != nil {
			return err
		}
		return do(ctx, append([]string{whole}, args[1:]...))
	})
}

// onMemory returns a command for one memory; do gets its full id.
func (a *app) onMemory(verb string, groupID *string, do func(ctx context.Context, id string) error) *cobra.Command {
	action := func(ctx context.Context, args []string) error { return do(ctx, args[0]) }
	cmd := a.command("reverie memory "+verb, cobra.ExactArgs(1), a.about(reverie.IDMemory, groupID, action))
	groupFlag(cmd, groupID, "search only this group")
	return cmd
}

// worker opens what a job needs, with the budget of one command.
func (a *app) worker(ctx context.Context, job reverie.Job) (context.Context, application.Pipelines, error) {
	if err := a.settings(); err != nil {
		return ctx, application.Pipelines{}, err
	}
	p, err := a.Worker(ctx, job)
	if err == nil {
		err = a.onlyGroup(ctx)
	}
	if err == nil {
		ctx = a.WithBudget(ctx)
	}
	return ctx, p, err
}

// working returns an action of a job that opens what the job needs first. If no model does what --due asks for, the
// action does nothing, and logs why.
func (a *app) working(job reverie.Job, f *selection, do func(context.Context, application.Pipelines) error) commandAction {
	return func(ctx context.Context, _ []string) error {
		ctx, p, err := a.worker(ctx, job)
		if f.due && errors.Is(err, config.ErrNeedsModel) {
			a.Log.Warn("nothing is done: " + err.Error())
			return nil
		}
		if err != nil {
			return err
		}
		return do(ctx, p)
	}
}

// close closes everything that was opened.
func (a *app) close(ctx context.Context) error {
	if a.App == nil {
		return nil
	}
	return a.Close(ctx)
}

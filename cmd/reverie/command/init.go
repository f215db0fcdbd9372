package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/config"
)

func newInit(a *app) *cobra.Command {
	var yes, force bool
	cmd := newCommand("reverie init", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		return a.setUp(ctx, yes, force)
	})
	f := cmd.Flags()
	for _, s := range []struct{ name, path, help string }{
		{"provider", "llm.provider", strings.Join(application.Offers(), ", ")},
		{"key-file", "llm.api_key_file", "file that holds the provider's key (default REVERIE_LLM_API_KEY)"},
		{"model", "llm.model", "model name (default the provider's usual one)"},
		{"base-url", "llm.base_url", "address of an OpenAI-compatible server"},
		{"time-zone", "group.time_zone", "time zone of new groups (default this machine's)"},
		{"language", "group.language", "language of memories: zh or en (default that of the messages)"},
	} {
		f.Var(&settingFlag{path: s.path, values: a.flags}, s.name, s.help)
		words := config.Options(s.path)
		if s.name == "provider" {
			words = application.Offers()
		}
		completeWords(cmd, s.name, words)
	}
	f.BoolVar(&yes, "yes", false, "ask nothing: what no flag says has its default")
	f.BoolVar(&force, "force", false, "overwrite the file if it exists")
	return cmd
}

func (a *app) setUp(ctx context.Context, yes, force bool) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	log, err := a.logger(&config.Config{Log: config.LogConfig{Level: "warn"}}, nil)
	if err != nil {
		return err
	}
	s := application.Setup{Person: &a.Console, Asks: !yes, LookupEnv: a.Getenv, Log: log, Clock: a.Now, WriteFile: cli.WriteWhole,
		Input: config.Input{Path: a.configPath, Env: a.Env, Flags: a.flags, WorkDir: dir, Home: a.Getenv("HOME")}}
	if s.Asks && !a.CanAsk() {
		return usageError(errors.New("init asks its questions on a terminal, and there is none: use --yes with --provider " +
			"and --key-file\nsee 'reverie init --help'"))
	}
	if there := strings.Join(s.There(), " and "); there != "" && !force {
		if !s.Asks {
			return usageError(fmt.Errorf("already there: %s; --force overwrites it", there))
		}
		if on, err := a.Confirm(ctx, "Already there: "+there+". Overwrite?"); err != nil || !on {
			return errors.Join(err, a.Say("nothing is changed\n"))
		}
	}
	return s.Run(ctx)
}

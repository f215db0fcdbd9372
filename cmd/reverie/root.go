package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/fault"
)

// run is the binary without its process: everything it reads and writes is
// handed to it.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) error {
	a := &app{flags: map[string]string{}, Console: cli.Console{Stdin: stdin, Stdout: stdout, Stderr: stderr, Env: env,
		Now: fault.Clock(time.Now), Tick: cli.Ticker}}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := errors.Join(root.ExecuteContext(ctx), a.close())
	if err != nil {
		fmt.Fprintln(stderr, "reverie:", cli.VisibleLines(err))
	}
	return err
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "reverie",
		Short: "The nightly memory of chat groups",
		Long: `Reverie keeps the long-term memory of chat groups. For each group it takes the
old memories and the new messages, asks a model what to keep, update, create and
delete, checks the answer, and applies it to PostgreSQL as new versions. Nothing
is overwritten, and everything says why, by which run and from which messages.

Without REVERIE_DATABASE_URL it runs a private PostgreSQL of its own.

Try it without a key:
  reverie import chat.jsonl --group g1
  reverie evolve --group g1 --llm offline
  reverie memory list --group g1

` + exitHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	flags := root.PersistentFlags()
	flags.StringVar(&a.configPath, "config", "", "configuration file (default ./reverie.toml, then the user's)")
	for _, f := range []struct{ name, path, help string }{
		{"llm", "llm.provider", "gemini, openai, anthropic, offline (an extractive baseline; no key), or recorded (answers " +
			"from a file)"},
		{"llm-model", "llm.model", "model name"},
		{"llm-base-url", "llm.base_url", "address of an OpenAI-compatible server"},
		{"database-url", "database.url", "PostgreSQL URL"},
		{"log-level", "log.level", "debug, info, warn or error"},
		{"log-format", "log.format", "text or json"},
	} {
		flags.Var(&settingFlag{path: f.path, values: a.flags}, f.name, f.help)
	}
	root.AddCommand(newImport(a), newPull(a), newEvolve(a), newPlan(a), newApply(a), newImpression(a), newExtract(a),
		newDream(a), newBackfill(a), newReplay(a), newRun(a), newServe(a), newMCP(a), newMemory(a), newSessions(a),
		newContext(a), newFeedback(a), newEntity(a), newRuns(a), newGroups(a), newTeam(a), newToken(a), newSchedule(a),
		newMigrate(a), newDoctor(a), newAudit(a), newConfig(a),
		newMaintain(a), newErase(a), newScan(a), newEval(a), newVersion(a), newLocalServer(a))
	markUsage(root)
	return root
}

// markUsage makes wrong arguments of any command a usage error, and a group of
// commands called without one show its help.
func markUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usageError(fmt.Errorf("%w%s\nsee '%s --help'", err, meant(cmd, args), cmd.CommandPath()))
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markUsage(sub)
	}
}

// meant names the commands that a mistyped one may stand for.
func meant(cmd *cobra.Command, args []string) string {
	if len(args) == 0 {
		return ""
	}
	cmd.SuggestionsMinimumDistance = 2
	names := cmd.SuggestionsFor(args[0])
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(names, " or "))
}

// group is a command that only holds others.
func group(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(subs...)
	return cmd
}

// settingFlag is a flag that stands for a setting; only given ones are kept.
type settingFlag struct {
	path   string
	values map[string]string
}

func (f *settingFlag) String() string     { return "" }
func (f *settingFlag) Set(s string) error { f.values[f.path] = s; return nil }
func (f *settingFlag) Type() string       { return "string" }

package command

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/text"
)

//go:embed help.toml
var helpText string

// commandWords are the texts of a command in help.toml.
type commandWords struct {
	Use, Short, Long, Example, Exits string
}

// help is the content of help.toml: the texts of each command by path, and the exit codes.
var help = sync.OnceValue(func() helpFile { return text.ReadTOML[helpFile](helpText) })

type helpFile struct {
	Commands map[string]commandWords
	Exits    map[string]string
}

// commandAction runs a command with its arguments.
type commandAction = func(ctx context.Context, args []string) error

// newCommand makes the command that help.toml describes under a path such as "reverie runs list". It adds a hint to
// errors about something missing.
func newCommand(path string, args cobra.PositionalArgs, do commandAction) *cobra.Command {
	words, found := help().Commands[path]
	if !found {
		panic("help.toml has no command " + path)
	}
	if words.Exits != "" {
		words.Long = strings.TrimLeft(words.Long+"\n\n"+help().Exits[words.Exits], "\n")
	}
	cmd := &cobra.Command{Use: words.Use, Short: words.Short, Long: words.Long, Example: words.Example, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error { return withHint(do(cmd.Context(), args)) }}
	return cmd
}

// command is newCommand for a command with --json.
func (a *app) command(path string, args cobra.PositionalArgs, do commandAction) *cobra.Command {
	var cmd *cobra.Command
	cmd = newCommand(path, args, func(ctx context.Context, args []string) error {
		a.running = cmd
		return do(ctx, args)
	})
	cmd.Flags().Var((*jsonFlag)(&a.Console), "json", "print JSON; --json=FIELD,FIELD prints only these")
	cmd.Flags().Lookup("json").NoOptDefVal = "true"
	return cmd
}

// jsonFlag is --json: alone, or with the fields to print.
type jsonFlag cli.Console

func (f *jsonFlag) String() string { return "" }
func (f *jsonFlag) Type() string   { return "bool" } // as help shows it
func (f *jsonFlag) Set(s string) error {
	f.JSON = s != "false"
	f.Fields = nil
	if s == "true" || s == "false" {
		return nil
	}
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return errors.New("name fields separated by commas, or use --json alone for all")
		}
		f.Fields = append(f.Fields, name)
	}
	return nil
}

// group is a command that only has subcommands.
func group(path string, subs ...*cobra.Command) *cobra.Command {
	cmd := newCommand(path, cobra.NoArgs, nil)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(subs...)
	return cmd
}

package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/fault"
)

// Run runs the binary with the given input, output and environment. A nil clock is the process's own.
func Run(ctx context.Context, con cli.Console, args ...string) error {
	if con.Now == nil {
		con.Now = fault.Clock(time.Now)
	}
	a := &app{flags: map[string]string{}, Console: con}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(con.Stdin)
	root.SetOut(con.Stdout)
	root.SetErr(con.Stderr)
	err := errors.Join(root.ExecuteContext(ctx), a.close(ctx))
	if err != nil {
		fmt.Fprintln(con.Stderr, "reverie:", cli.VisibleLines(err))
	}
	return err
}

// Main runs the process and exits with the exit code of its result.
func Main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what ignores the first
	err := Run(ctx, cli.Console{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}, os.Args[1:]...)
	interrupted := ctx.Err() != nil
	stop()
	os.Exit(ExitCode(err, interrupted))
}

// Root returns the tree of all commands, for inspection.
func Root() *cobra.Command {
	return newRoot(&app{flags: map[string]string{}, Console: cli.Console{Stdout: io.Discard, Stderr: io.Discard, Now: time.Now}})
}

// usage is the usage text of every command, in 80 columns.
const usage = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{$cmds := .Commands}}{{range .Groups}}{{$group := .}}

{{.Title}}{{range $cmds}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if and .HasAvailableSubCommands (not .Groups)}}

Commands:{{range $cmds}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

'reverie --help' shows the flags that every command takes.{{end}}{{if .HasAvailableSubCommands}}

'{{.CommandPath}} COMMAND --help' tells more about a command.{{end}}
`

func init() { cobra.EnableCommandSorting = false } // the most common commands come first

func newRoot(a *app) *cobra.Command {
	root := group("reverie")
	for _, section := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"start", "Start here:", []*cobra.Command{newDemo(a), newInit(a), newImport(a), newEvolve(a), newAsk(a), newMemory(a), newRun(a),
			newDoctor(a)}},
		{"jobs", "Jobs:", []*cobra.Command{newExtract(a), newDream(a), newImpression(a), newMaintain(a), newBackfill(a), newPull(a),
			newSchedule(a)}},
		{"read", "Read:", []*cobra.Command{newContext(a), newServe(a), newSessions(a), newEntity(a), newFeedback(a), newMCP(a)}},
		{"review", "Review:", []*cobra.Command{newRuns(a), newPlan(a), newApply(a), newReplay(a), newScan(a), newEval(a)}},
		{"operate", "Operate:", []*cobra.Command{newGroups(a), newTeam(a), newErase(a), newToken(a), newMigrate(a), newAudit(a), newBatches(a),
			newWebhooks(a), newConfig(a), newVersion(a)}},
	} {
		root.AddGroup(&cobra.Group{ID: section.id, Title: section.title})
		for _, cmd := range section.commands {
			cmd.GroupID = section.id
		}
		root.AddCommand(section.commands...)
	}
	root.AddCommand(newLocalServer())
	root.SetHelpCommandGroupID("operate")
	root.SetCompletionCommandGroupID("operate")
	root.SetUsageTemplate(usage)
	root.Version = Version
	root.SetVersionTemplate("reverie {{.Version}}\n")
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVar(&a.configPath, "config", "", "configuration `file` (default ./reverie.toml, then the user's)")
	for _, f := range []struct{ name, path, help string }{
		{"llm", "llm.provider", "gemini, openai, anthropic, offline (a simple extractor; no key) or recorded (answers " +
			"from a file)"},
		{"llm-model", "llm.model", "name of the model"},
		{"llm-base-url", "llm.base_url", "address of an OpenAI-compatible server"},
		{"database-url", "database.url", "PostgreSQL URL"},
		{"log-level", "log.level", "debug, info, warn or error"},
		{"log-format", "log.format", "text or json"},
	} {
		flags.Var(&settingFlag{path: f.path, values: a.flags}, f.name, f.help)
		completeWords(root, f.name, config.Options(f.path))
	}
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	markUsage(root)
	return root
}

// flagError explains an invalid flag. That includes a group id read as flags, since some platforms have negative
// ids.
func flagError(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	if errors.As(err, &wrong) {
		name, asks := wrong.GetFlag().Name, valueWords[wrong.GetFlag().Value.Type()]
		switch wrong.GetFlag().Value.(type) {
		case *jsonFlag:
			err = fmt.Errorf("--%s %q: %w", name, wrong.GetValue(), errors.Unwrap(wrong))
		default:
			if asks != "" {
				err = fmt.Errorf("--%s %q: give %s", name, wrong.GetValue(), asks)
			}
		}
	}
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "" && strings.Contains(cmd.Use, "GROUP") {
		err = fmt.Errorf("%w\nif the id of the group begins with -, put it last, after --: '%s -- -%s'",
			err, cmd.CommandPath(), unknown.GetSpecifiedShortnames())
	}
	return usageError(fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath()))
}

// valueWords describe the values of flags by type.
var valueWords = map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number",
	"bool": "true or false", "duration": "a duration, such as 90m or 12h"}

// completeFiles makes a shell complete file names where the usage names a file or folder; elsewhere it does not.
func completeFiles(cmd *cobra.Command) {
	files := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	if _, args, _ := strings.Cut(cmd.Use, " "); strings.HasPrefix(args, "FILE") || strings.HasPrefix(args, "DIR") {
		cmd.ValidArgsFunction = files
	}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if name, _ := pflag.UnquoteUsage(f); name == "file" {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, files) // the flag exists
		}
	})
}

// markUsage makes wrong arguments of any command a usage error, and completes its files.
func markUsage(cmd *cobra.Command) {
	completeFiles(cmd)
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				if first, _, _ := strings.Cut(err.Error(), " "); first == "accepts" || first == "requires" ||
					first == "unknown" && !cmd.HasSubCommands() {
					err = fmt.Errorf("%s given; the usage is: %s", cli.Plural(len(args), "argument"), cmd.UseLine())
				}
				return usageError(fmt.Errorf("%w%s\nsee '%s --help'", err, similarTo(cmd, args), cmd.CommandPath()))
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		markUsage(sub)
	}
}

// similarTo returns the commands that a mistyped one may mean.
func similarTo(cmd *cobra.Command, args []string) string {
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

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"reverie/cmd/reverie/command"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"reverie/internal/cli"
)

// everyCommand calls f with each command that people see, from the root on.
func everyCommand(t *testing.T, f func(cmd *cobra.Command)) {
	t.Helper()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		f(cmd)
		for _, sub := range cmd.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	root := command.Root()
	root.InitDefaultHelpCmd()
	walk(root)
}

// TestHelp: every command and every flag says what it is for, in 80 columns, and asking for
// help opens no database.
func TestHelp(t *testing.T) {
	t.Parallel()
	everyCommand(t, func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help is %q", path, cmd.Short)
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no help", path, f.Name)
			}
		})
		args := append(strings.Fields(path)[1:], "--help")
		o := invoke(t.Context(), []string{"HOME=/nonexistent"}, "", args...).want(t, 0).silent(t)
		if !strings.Contains(o.stdout, "Usage:\n  "+path) || !strings.Contains(o.stdout, cmd.Short) && cmd.Long == "" {
			t.Errorf("%s --help:\n%s", path, o.stdout)
		}
		for line := range strings.SplitSeq(o.stdout, "\n") {
			if wide := cli.Width(line); wide > 80 {
				t.Errorf("%s --help: a line is %d columns wide: %q", path, wide, line)
			}
		}
	})
	for _, args := range [][]string{{}, {"memory"}, {"runs"}, {"migrate"}} { // groups of commands show their help
		if o := invoke(t.Context(), nil, "", args...).want(t, 0).silent(t); !strings.Contains(o.stdout, " COMMAND\n") {
			t.Errorf("%v:\n%s", args, o.stdout)
		}
	}
	help := invoke(t.Context(), nil, "", "evolve", "--help").want(t, 0).stdout + invoke(t.Context(), nil, "", "--help").want(t, 0).stdout
	for _, code := range []string{"0 ", "1 ", "2 ", "3 ", "4 ", "11 ", "130 "} {
		if !strings.Contains(help, "\n  "+code) {
			t.Errorf("evolve --help does not say what exit code %sis", code)
		}
	}
	if plain := strings.Join(strings.Fields(help), " "); !strings.Contains(plain, "offline (a simple extractor; no key)") {
		t.Error("--help does not call the offline model what it is")
	}
}

// TestCommandsOfTheReadme: each command that the README and the docs show is one of the
// binary's, with its flags.
func TestCommandsOfTheReadme(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile("(?m)(?:^\\$ |^|`)(?:\\./bin/)?reverie ([a-z][^`\n#|>]*)")
	flag := regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
	count := 0
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(docs, "../../README.md") {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range shown.FindAllStringSubmatch(string(page), -1) {
			line, _, _ := strings.Cut(line[1], "  ")
			cmd, args, err := command.Root().Find(strings.Fields(line))
			count++
			switch {
			case err != nil:
				t.Errorf("%s: reverie %s: %v", name, line, err)
			case cmd.HasSubCommands() && len(args) > 0 && !strings.HasPrefix(args[0], "-") && !cmd.Runnable():
				t.Errorf("%s: reverie %s: %s has no command %q", name, line, cmd.CommandPath(), args[0])
			}
			for _, f := range flag.FindAllStringSubmatch(line, -1) {
				if f[1] != "help" && cmd.Flags().Lookup(f[1]) == nil && cmd.InheritedFlags().Lookup(f[1]) == nil {
					t.Errorf("%s: reverie %s: %s has no --%s", name, line, cmd.CommandPath(), f[1])
				}
			}
		}
	}
	if count < 60 {
		t.Errorf("only %d commands were found", count)
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	root := newRoot(&app{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, flags: map[string]string{}})
	root.InitDefaultHelpCmd()
	walk(root)
}

// TestHelp: every command and every flag says what it is for, and asking for help
// opens no database.
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
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line of help is %d characters long: %q", path, len([]rune(line)), line)
			}
		}
	})
	for _, args := range [][]string{{}, {"memory"}, {"runs"}, {"migrate"}} { // groups of commands show their help
		if o := invoke(t.Context(), nil, "", args...).want(t, 0).silent(t); !strings.Contains(o.stdout, "Available Commands") {
			t.Errorf("%v:\n%s", args, o.stdout)
		}
	}
	help := invoke(t.Context(), nil, "", "evolve", "--help").want(t, 0).stdout
	for _, code := range []string{"0 ", "1 ", "2 ", "3 ", "4 ", "11 ", "130 "} {
		if !strings.Contains(help, "\n  "+code) {
			t.Errorf("evolve --help does not say what exit code %sis", code)
		}
	}
	if !strings.Contains(help, "offline") || !strings.Contains(help, "extractive baseline") {
		t.Error("evolve --help does not call the offline model what it is")
	}
}

package command

import (
	"testing"

	"github.com/spf13/cobra"
)

// TestHelpHasNoOther: help.toml has no words of a command that there is not, and no way to
// end that none has.
func TestHelpHasNoOther(t *testing.T) {
	t.Parallel()
	there, ends := map[string]bool{}, map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		there[cmd.CommandPath()] = true
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(Root())
	for path, words := range help().Commands {
		if !there[path] {
			t.Errorf("help.toml has %q, which is no command", path)
		}
		if ends[words.Exits] = true; words.Exits != "" && help().Exits[words.Exits] == "" {
			t.Errorf("%s ends by %q, which help.toml does not explain", path, words.Exits)
		}
	}
	for name := range help().Exits {
		if !ends[name] {
			t.Errorf("no command ends by %q", name)
		}
	}
}

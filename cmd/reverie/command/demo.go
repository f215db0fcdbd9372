package command

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"reverie/internal/config"
	"reverie/internal/demo"
)

func newDemo(a *app) *cobra.Command {
	var groupID string
	cmd := newCommand("reverie demo", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		a.flags["llm.provider"] = config.ProviderRecorded // overrides the configuration: no provider is called or paid
		if err := a.settings(); err != nil {
			return err
		}
		told, err := a.Demo(ctx, cmp.Or(groupID, demo.Group))
		if err != nil {
			return err
		}
		return a.Page("demo", told)
	})
	groupFlag(cmd, &groupID, "id of the sample group (default demo)")
	return cmd
}

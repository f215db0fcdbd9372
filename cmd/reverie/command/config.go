package command

import (
	"context"
	"runtime"

	"github.com/spf13/cobra"

	"reverie/internal/config"
	"reverie/internal/localdb"
	"reverie/store"
)

func newConfig(a *app) *cobra.Command {
	show := func(context.Context, []string) error {
		if err := a.settings(); err != nil {
			return err
		}
		shown := config.Show(a.Config, a.prov)
		return a.Show(shown, func() error { return a.Page("config", shown) })
	}
	cmd := a.command("reverie config", cobra.NoArgs, show)
	cmd.AddCommand(a.command("reverie config show", cobra.NoArgs, show), newCommand("reverie config init", cobra.NoArgs,
		func(context.Context, []string) error { return config.WriteInit(a.Stdout) }))
	return cmd
}

// Version is set by the build: -ldflags "-X reverie/cmd/reverie/command.Version=v1.2.3".
var Version = "dev"

func newVersion(a *app) *cobra.Command {
	cmd := a.command("reverie version", cobra.NoArgs, func(context.Context, []string) error {
		platform := runtime.GOOS + "/" + runtime.GOARCH
		return a.Show(map[string]any{"version": Version, "go": runtime.Version(), "platform": platform,
			"schema": store.WantedVersion()}, func() error {
			return a.Say("reverie %s (%s, %s, schema %d)\n", Version, runtime.Version(), platform, store.WantedVersion())
		})
	})
	return cmd
}

// newLocalServer is the supervisor of the private database. The binary starts it itself; people do not call it.
func newLocalServer() *cobra.Command {
	cmd := newCommand("reverie local-server", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error { return localdb.Supervise(ctx, args[0]) })
	cmd.Hidden = true
	return cmd
}

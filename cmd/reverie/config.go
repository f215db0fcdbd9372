package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/localdb"
	"reverie/store"
)

func newConfig(a *app) *cobra.Command {
	var asJSON bool
	show := func(cmd *cobra.Command, _ []string) error {
		if err := a.settings(); err != nil {
			return err
		}
		return config.Write(a.Stdout, a.Config, a.prov, asJSON)
	}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings in force and where each came from",
		Long: `Show the settings in force and where each came from; secrets are not shown.
Flags win over the environment, the environment over reverie.toml, and that over
the defaults. Every setting [section] key is REVERIE_SECTION_KEY in the
environment.`,
		Args: cobra.NoArgs,
		RunE: show,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	initCmd := &cobra.Command{
		Use:   "init",
		Short: "Print a complete, commented reverie.toml",
		Long:  "Print a complete, commented reverie.toml:\n\n  reverie config init > reverie.toml",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return config.WriteInit(a.Stdout) },
	}
	showCmd := &cobra.Command{Use: "show", Short: "The same as `reverie config`", Args: cobra.NoArgs, RunE: show}
	showCmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.AddCommand(initCmd, showCmd)
	return cmd
}

// version is set by the build: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return cli.PrintJSON(a.Stdout, map[string]any{"version": version, "go": runtime.Version(),
					"platform": runtime.GOOS + "/" + runtime.GOARCH, "schema": store.WantedVersion()})
			}
			_, err := fmt.Fprintf(a.Stdout, "reverie %s (%s, %s/%s, schema %d)\n", version, runtime.Version(), runtime.GOOS,
				runtime.GOARCH, store.WantedVersion())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// newLocalServer is the process behind the private database. The binary starts
// it by itself; nobody types it.
func newLocalServer(*app) *cobra.Command {
	return &cobra.Command{
		Use:    "local-server DIR",
		Short:  "Run the private database for as long as it is used",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return localdb.Supervise(cmd.Context(), args[0]) },
	}
}

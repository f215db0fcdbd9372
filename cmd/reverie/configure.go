package main

import (
	"github.com/spf13/cobra"

	"reverie/internal/config"
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

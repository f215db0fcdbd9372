package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/store"
)

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

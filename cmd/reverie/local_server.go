package main

import (
	"github.com/spf13/cobra"

	"reverie/internal/localdb"
)

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

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/store"
	"reverie/store/pg"
)

func newMigrate(a *app) *cobra.Command {
	return group("migrate", "Bring the database's schema up to date", newMigrateUp(a), newMigrateStatus(a))
}

// migrateOptions are those of the configured database.
func (a *app) migrateOptions(ctx context.Context) (pg.Options, error) {
	if err := a.settings(); err != nil {
		return pg.Options{}, err
	}
	return a.MigrateOptions(ctx)
}

func newMigrateUp(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Apply the migrations that are missing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts, err := a.migrateOptions(cmd.Context())
			if err != nil {
				return err
			}
			applied, err := store.Migrate(cmd.Context(), opts)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, migrationsReply{true, append([]store.MigrationStatus{}, applied...)})
			}
			for _, m := range applied {
				fmt.Fprintf(a.Stdout, "applied %d %s\n", m.Version, m.Name)
			}
			_, err = fmt.Fprintf(a.Stdout, "schema is at version %d\n", store.WantedVersion())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

type migrationsReply struct {
	Success    bool                    `json:"success"`
	Migrations []store.MigrationStatus `json:"migrations"`
}

func newMigrateStatus(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List the migrations and which are applied",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts, err := a.migrateOptions(cmd.Context())
			if err != nil {
				return err
			}
			list, err := store.MigrationStatuses(cmd.Context(), opts)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, migrationsReply{true, list})
			}
			var t cli.Table
			t.Row("VERSION", "APPLIED", "NAME")
			for _, m := range list {
				at := "-"
				if m.Applied {
					at = cli.Stamp(m.AppliedAt)
				}
				t.Row(m.Version, at, m.Name)
			}
			return t.Write(a.Stdout, a.Style())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

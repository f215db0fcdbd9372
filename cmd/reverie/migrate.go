package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
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

// maxFires bounds how far a schedule is looked ahead.
const maxFires = 1000

func newSchedule(a *app) *cobra.Command {
	var in string
	var count int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Show when the daemon starts each job",
		Long: `Schedule shows each job of [schedule], its spec and when it starts next, in UTC
and in a time zone of yours. Specs are in UTC: five fields, @hourly and the like,
or @every 90m, which counts from the start of the daemon; here, from now.`,
		Example: `  reverie schedule --zone Asia/Shanghai
  REVERIE_SCHEDULE_EVOLVE='30 2 * * 1-5' reverie schedule --count 10`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if count < 1 || count > maxFires {
				return usageError(fmt.Errorf("--count %d: it is 1 to %d", count, maxFires))
			}
			if err := a.settings(); err != nil {
				return err
			}
			if in == "" {
				in = a.Config.Group.TimeZone
			}
			loc, err := reverie.Group{TimeZone: in}.Location()
			if err != nil {
				return usageError(fmt.Errorf("--zone %q: use an IANA name such as Asia/Shanghai", in))
			}
			plan, err := timetable(a.Config, a.Now(), loc, count)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, struct {
					Success bool        `json:"success"`
					Now     time.Time   `json:"now"`
					Zone    string      `json:"zone"`
					Jobs    []cli.Fires `json:"jobs"`
				}{true, a.Now().UTC().Truncate(time.Second), loc.String(), plan})
			}
			return a.PrintSchedule(plan, loc)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in, "zone", "", "show the times in this IANA time zone, too (default [group] time_zone)")
	f.IntVar(&count, "count", 5, "how many starts of each job")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// timetable is when each job of [schedule] starts after now.
func timetable(cfg *config.Config, now time.Time, loc *time.Location, count int) ([]cli.Fires, error) {
	schedules, err := cfg.Schedules()
	if err != nil {
		return nil, err
	}
	plan := []cli.Fires{}
	for _, j := range schedules {
		f := cli.Fires{Job: string(j.Job), Spec: j.Spec.String(), Next: []time.Time{}, Local: []time.Time{}}
		for _, t := range j.Spec.Fires(now, count) {
			f.Next, f.Local = append(f.Next, t.UTC()), append(f.Local, t.In(loc))
		}
		plan = append(plan, f)
	}
	return plan, nil
}

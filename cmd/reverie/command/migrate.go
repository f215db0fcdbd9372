package command

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/store"
	"reverie/store/citus"
	"reverie/store/pg"
)

func newMigrate(a *app) *cobra.Command {
	return group("reverie migrate", newMigrateUp(a), newMigrateStatus(a), newMigrateDistribute(a))
}

// migrateOptions returns those of the configured database.
func (a *app) migrateOptions(ctx context.Context) (pg.Options, error) {
	if err := a.settings(); err != nil {
		return pg.Options{}, err
	}
	return a.MigrateOptions(ctx)
}

func migrations(list []store.MigrationStatus) map[string]any {
	return map[string]any{"success": true, "migrations": list}
}

func newMigrateUp(a *app) *cobra.Command {
	return a.command("reverie migrate up", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		opts, err := a.migrateOptions(ctx)
		if err != nil {
			return err
		}
		applied, err := store.Migrate(ctx, opts)
		if err != nil {
			return err
		}
		return a.Show(migrations(append([]store.MigrationStatus{}, applied...)), func() error {
			for _, m := range applied {
				fmt.Fprintf(a.Stdout, "applied %d %s\n", m.Version, m.Name)
			}
			return a.Say("schema is at version %d\n", store.WantedVersion())
		})
	})
}

func newMigrateStatus(a *app) *cobra.Command {
	return a.command("reverie migrate status", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		opts, err := a.migrateOptions(ctx)
		if err != nil {
			return err
		}
		list, err := store.MigrationStatuses(ctx, opts)
		if err != nil {
			return err
		}
		return a.Show(migrations(list), func() error { return a.Page("migrations", list) })
	})
}

func newMigrateDistribute(a *app) *cobra.Command {
	return a.command("reverie migrate distribute", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		opts, err := a.migrateOptions(ctx)
		if err != nil {
			return err
		}
		if _, err := store.Migrate(ctx, opts); err != nil {
			return err
		}
		tables, err := citus.Distribute(ctx, opts)
		if err != nil {
			return err
		}
		return a.Show(map[string]any{"success": true, "tables": tables}, func() error {
			for _, t := range tables {
				fmt.Fprintf(a.Stdout, "distributed %s\n", t)
			}
			return a.Say("%d tables were distributed now; row-level security is off, since Citus cannot carry it; start all processes again\n", len(tables))
		})
	})
}

// maxFires bounds how many starts of a schedule are listed.
const maxFires = 1000

func newSchedule(a *app) *cobra.Command {
	var in string
	var count int
	cmd := a.command("reverie schedule", cobra.NoArgs, func(context.Context, []string) error {
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
		schedules, err := a.Config.Schedules()
		if err != nil {
			return err
		}
		now, plan := a.Now(), []cli.Fires{}
		for _, j := range schedules {
			f := cli.Fires{Job: string(j.Job), Spec: j.Spec.String(), Next: []time.Time{}, Local: []time.Time{}}
			for _, t := range j.Spec.Fires(now, count) {
				f.Next, f.Local = append(f.Next, t.UTC()), append(f.Local, t.In(loc))
			}
			plan = append(plan, f)
		}
		return a.Show(map[string]any{"success": true, "now": now.UTC().Truncate(time.Second), "zone": loc.String(), "jobs": plan},
			func() error { return a.PrintSchedule(plan, loc) })
	})
	cmd.Flags().StringVar(&in, "zone", "", "also show the times in this IANA time zone (default [group] time_zone)")
	number(cmd, &count, "count", 5, 1, maxFires, "how many starts of each job to show")
	return cmd
}

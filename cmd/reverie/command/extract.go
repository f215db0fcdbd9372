package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/reverie"
	"reverie/internal/session"
)

func newExtract(a *app) *cobra.Command {
	var f selection
	cmd := a.command("reverie extract", cobra.NoArgs, a.working(reverie.JobExtract, &f,
		func(ctx context.Context, p application.Pipelines) error { return a.extract(ctx, p, f) }))
	fl := cmd.Flags()
	fl.StringVar(&f.session, "session", "", "extract this session, due or not")
	groupFlag(cmd, &f.group, "the session's group; with --due and --all, only this group")
	fl.BoolVar(&f.due, "due", false, "extract every session that is due")
	fl.BoolVar(&f.all, "all", false, "extract every session with anything new")
	shardFlag(cmd, &f.shard)
	a.quietFlag(cmd)
	fl.BoolVar(&f.dryRun, "dry-run", false, "ask the model and show the plan; write no memory")
	cmd.Flags().Lookup("json").Usage = "print JSON; with --due and --all, a line for each run and a summary"
	oneOf(cmd, "session", "due", "all")
	notEmpty(cmd, "session")
	apart(cmd, "session", "shard")
	return cmd
}

func (a *app) extract(ctx context.Context, p application.Pipelines, f selection) error {
	req := session.Request{Due: f.due, DryRun: f.dryRun}
	if f.session != "" {
		s, err := a.FindSession(ctx, f.group, f.session)
		if err != nil {
			return err
		}
		return a.runOne(ctx, a.ExtractJob(p.Session, req), reverie.Group{ID: s.GroupID},
			reverie.Window{SessionID: f.session}, f, func() func() { return a.Watch(&p.Session.Progress, -1, "extracting", "messages") })
	}
	if err := a.knownGroup(ctx, f.group); err != nil {
		return err
	}
	return a.runAll(ctx, a.ExtractDue(p.Session, a.Sessions(f.all), req), f, func() string {
		what := "nothing waits"
		if f.due {
			what = "nothing is due: no session has gathered enough"
		}
		return fmt.Sprint(what, ", paused groups and parked sessions left out")
	})
}

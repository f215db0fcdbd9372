package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/dream"
	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/reverie"
)

func newDream(a *app) *cobra.Command {
	var f selection
	cmd := a.command("reverie dream", cobra.NoArgs, a.working(reverie.JobDream, &f,
		func(ctx context.Context, p application.Pipelines) error { return a.dream(ctx, p, f) }))
	fl := cmd.Flags()
	fl.BoolVar(&f.due, "due", false, "dream in every group that is due")
	groupFlag(cmd, &f.group, "dream in this group; with --due, only if it is due")
	fl.StringVar(&f.session, "session", "", "dream only of what is new up to the end of this session")
	notEmpty(cmd, "session")
	shardFlag(cmd, &f.shard)
	a.quietFlag(cmd)
	fl.BoolVar(&f.dryRun, "dry-run", false, "ask the model and show the plan; write no memory")
	cmd.Flags().Lookup("json").Usage = "print JSON; with --due, a line for each dream and a summary"
	apart(cmd, "session", "due", "shard")
	apart(cmd, "shard", "group")
	check(cmd, func() error {
		switch {
		case f.due || f.group != "" || f.session != "":
			return nil
		case fl.Changed("shard"):
			return errors.New("--shard is a share of all groups: use it with --due")
		}
		return a.needsGroup(&f.group, "a group is needed, or --due, or --session S")
	})
	cmd.AddCommand(newDreamShow(a))
	return cmd
}

func (a *app) dream(ctx context.Context, p application.Pipelines, f selection) error {
	one := func(g reverie.Group, _ reverie.Window) error {
		j := a.DreamJob(p.Dream, dream.Request{Due: f.due, SessionID: f.session, DryRun: f.dryRun})
		return a.runOne(ctx, j, reverie.Group{ID: g.ID}, reverie.Window{SessionID: f.session}, f,
			func() func() { return a.Watch(&p.Dream.Progress, -1, "dreaming", "memories") })
	}
	if f.session != "" {
		s, err := a.FindSession(ctx, f.group, f.session)
		if err != nil {
			return err
		}
		return one(reverie.Group{ID: s.GroupID}, reverie.Window{})
	}
	if err := a.knownGroup(ctx, f.group); err != nil {
		return err
	}
	if f.group != "" && (f.dryRun || !f.due) {
		return one(reverie.Group{ID: f.group}, reverie.Window{})
	}
	return a.runAll(ctx, a.DreamDue(p.Dream, dream.Request{Due: true, DryRun: f.dryRun}), f, func() string {
		return "nothing is due: no group has gone quiet, or gathered enough sessions, with anything new, paused groups left out"
	})
}

func newDreamShow(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie dream show", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		d, err := a.Store.Dream(ctx, groupID)
		if err != nil {
			return err
		}
		message := ""
		if d.Nothing() {
			if message, err = a.whenToDream(ctx, d.Group); err != nil {
				return err
			}
		}
		return a.Show(d.Page(message), func() error {
			if message != "" {
				return a.Say("%s\n", cli.Visible(message))
			}
			return a.PrintDreams(d, a.calendar(d.Group))
		})
	}))
	a.groupNeeded(cmd, &groupID)
	return cmd
}

// whenToDream explains why a group has not dreamt, and how to start a dream at once.
func (a *app) whenToDream(ctx context.Context, g reverie.Group) (string, error) {
	rule, err := g.DreamRule(a.DreamRule())
	if err != nil {
		return "", err
	}
	now := a.Now()
	signs, err := a.Store.DreamSigns(ctx, reverie.DreamQuery{GroupID: g.ID, EndedBy: dream.Ended(rule, now)})
	if err != nil {
		return "", err
	}
	entry, err := a.groupEntry(ctx, g.ID)
	if err != nil {
		return "", err
	}
	_, why := dream.Due(signs, rule, now)
	if s := entry.Setback(reverie.JobDream); s != nil {
		why += "; " + cli.SetbackText(*s) + "; " + cli.Remedy(*s, g.ID)
	}
	if g.Paused {
		why += fmt.Sprintf("; the group is paused: `reverie groups resume %s`", cli.Operand(g.ID))
	}
	return fmt.Sprintf("%s: no dream yet: %s. `reverie dream --group %s` has it dream at once", g.ID, why, cli.Quoted(g.ID)), nil
}

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/dream"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
)

func newDream(a *app) *cobra.Command {
	var f selection
	cmd := a.command("reverie dream", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		return a.dream(ctx, &f)
	})
	fl := cmd.Flags()
	fl.BoolVar(&f.due, "due", false, "every group that is due")
	groupFlag(cmd, &f.group, "the group to dream of, or that the session is of; with --due: only this one")
	fl.StringVar(&f.session, "session", "", "only what is new up to the end of this session")
	notEmpty(cmd, "session")
	shardFlag(cmd, &f.shard)
	a.quietFlag(cmd)
	fl.BoolVar(&f.dryRun, "dry-run", false, "ask and plan, and write nothing")
	cmd.Flags().Lookup("json").Usage = "print JSON; with --due a line for each dream, then a summary"
	check(cmd, func() error {
		switch {
		case !f.due && f.group == "" && f.session == "":
			return a.needsGroup(&f.group, "a group is needed, or --due, or --session S")
		case f.due && f.session != "":
			return errors.New("--due takes the sessions that have ended; --session S takes everything up to that one, due or not")
		case !f.due && fl.Changed("shard"):
			return errors.New("--shard is a part of all groups; it goes with --due")
		}
		return nil
	})
	cmd.AddCommand(newDreamShow(a))
	return cmd
}

func (a *app) dream(ctx context.Context, chosen *selection) error {
	ctx, p, err := a.worker(ctx, reverie.JobDream)
	f := *chosen
	if a.passesOver(f, err) {
		return nil
	}
	if err != nil {
		return err
	}
	one := func(g reverie.Group, _ reverie.Window) error {
		j := a.DreamJob(p.Dream, dream.Request{Due: f.due, SessionID: f.session, DryRun: f.dryRun})
		return a.runOne(ctx, j, reverie.Group{ID: g.ID}, reverie.Window{SessionID: f.session}, f,
			func() func() { return a.WatchDreaming(p.Dream) })
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
	due := a.DueDreams()
	return a.runAll(ctx, a.DreamDue(p.Dream, dream.Request{Due: true, DryRun: f.dryRun}, due), f, func() string { return due.Nothing(f.group) })
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

// whenToDream says of a group that has not dreamt why it has not, when it would, and
// how to have a dream at once.
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
	due, why := dream.Due(signs, rule, now)
	text := fmt.Sprintf("%s: no dream yet; %s", g.ID, why)
	alone := leftAlone(entry, now)
	switch {
	case alone != "":
		return text + ". " + alone, nil
	case due:
		return text + fmt.Sprintf(": it is due, and `reverie dream --due` or `reverie dream --group %s` has it dream",
			cli.Quoted(g.ID)), nil
	}
	return text + fmt.Sprintf(". It dreams %s; `reverie dream --group %s` does not wait for that", dreamsWhen(rule),
		cli.Quoted(g.ID)), nil
}

// leftAlone says why a group does not dream of itself, due or not, and what to do about
// it; "" where nothing keeps it from that.
func leftAlone(g reverie.GroupEntry, now time.Time) string {
	var why []string
	if s := g.Setback(reverie.JobDream); s != nil && (s.ParkedAt != nil || reverie.LeftAlone(s.RetryAt, now)) {
		is := "its last dream failed"
		if s.ParkedAt != nil {
			is = "it is parked since its dreams failed"
		}
		why = append(why, fmt.Sprintf("%s (%s): %s", is, s.Error, cli.Remedy(*s, g.ID)))
	}
	if g.Paused {
		why = append(why, fmt.Sprintf("the group is paused: `reverie groups resume %s`", cli.Operand(g.ID)))
	}
	if len(why) == 0 {
		return ""
	}
	return fmt.Sprintf("It does not dream of itself: %s. `reverie dream --group %s` has it dream at once",
		strings.Join(why, "; "), cli.Quoted(g.ID))
}

// dreamsWhen says when a group dreams by its rule.
func dreamsWhen(rule reverie.DreamRule) string {
	var when []string
	if rule.Idle > 0 {
		when = append(when, "a session has been quiet for "+config.Duration{Duration: rule.Idle}.String())
	}
	switch {
	case rule.Sessions == 1:
		when = append(when, "a session has ended")
	case rule.Sessions > 1:
		when = append(when, fmt.Sprintf("%d sessions have ended", rule.Sessions))
	}
	if len(when) == 0 {
		return "only when asked to, since both of its limits are off"
	}
	return "when " + strings.Join(when, " or ") + " and something new is remembered"
}

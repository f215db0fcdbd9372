package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"reverie/dream"
	"reverie/internal/cli"
	"reverie/internal/config"
	"reverie/internal/reverie"
)

func newDreamShow(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show --group G",
		Short: "Read what a group's dreams have left",
		Long: `Show what a group's dreams have left as a page: the narrative first, then its
preferences, its themes and its open threads, and what was closed lately. Under
each stands what it rests on: how well it is supported, and the beginnings of the
sessions, facts and memories that it was made of; --json has all of them. What was
rewritten or deleted since is marked.

Times and dates are the group's own.`,
		Example: "  reverie dream show --group g1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if err := a.open(ctx); err != nil {
				return err
			}
			d, err := a.Store.Dream(ctx, groupID)
			if err != nil {
				return unknownGroup(err)
			}
			message := ""
			if d.Nothing() {
				if message, err = a.whenToDream(ctx, d.Group); err != nil {
					return err
				}
			}
			switch {
			case asJSON:
				return cli.PrintJSON(a.Stdout, d.Page(message))
			case message != "":
				_, err := fmt.Fprintln(a.Stdout, cli.Visible(message))
				return err
			}
			a.DreamPage(d.Group, a.calendar(d.Group)).Print(d)
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "group id (required)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
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
	if signs.UnderWay {
		return fmt.Sprintf("%s: no dream yet; %s", g.ID, dream.UnderWay), nil
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

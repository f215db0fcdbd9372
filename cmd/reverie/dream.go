package main

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
	cmd := &cobra.Command{
		Use:   "dream --due | --group G | --session S",
		Short: "Look back: condense sessions and memories into preferences, themes and open threads",
		Long: `Dream looks back at what sessions and nights have left since a group's last dream:
the summaries and facts of sessions (reverie extract) and the memories of the group
(reverie evolve). It asks the model to condense them into a short narrative and into
lasting preferences, themes and open threads, each with its sources, checks the answer,
and keeps it as memories of kind dream. ` + "`reverie dream show`" + ` shows what they have come to.

--due        every group that is due: one of its sessions has been silent for [dream]
             idle, or [dream] sessions of them have ended since the last dream; something
             is remembered that is new since then and no dream itself; and the last dream
             was [dream] interval ago. A second call does nothing. This is what a CronJob
             runs. A dream that was interrupted is due at once, and is continued
--group G    one group, due or not: everything that is new; with --due, only if it is due
--session S  everything that is new up to the end of this session. Ids of sessions are
             unique only within a group: --group G says which is meant where several have it

A group may have limits of its own: ` + "`reverie groups set GROUP --dream-idle 12h`" + `.

Every memory is taken in once, whatever comes of it; a new version of it is new. What is
too much for one question becomes several, and one more that combines their answers. A
dream that would rewrite or delete too much is held for a person (reverie runs approve).
Where nothing is new there is no dream, no model is asked, and the exit code is 0.

Shards, budgets, failures and signals are as with evolve; a group is parked for this job
alone.

--dry-run asks the model and prints what would be done; it writes nothing but the calls
it made and cached embeddings.

` + exitHelp,
		Example: `  reverie dream --group g1
  reverie dream --due                # hourly, from cron
  reverie dream --due --shard 0/4    # of 4 workers, the first
  reverie dream --session s1 --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkDreams(cmd); err != nil {
				return usageError(err)
			}
			return a.dream(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.due, "due", false, "every group that is due")
	fl.StringVar(&f.group, "group", "", "the group to dream of, or that the session is of; with --due: only this one")
	fl.StringVar(&f.session, "session", "", "only what is new up to the end of this session")
	fl.StringVar(&f.shard, "shard", "", "only this part of the groups: 0/4 is the first of four")
	fl.BoolVar(&f.dryRun, "dry-run", false, "ask and plan, and write nothing")
	fl.BoolVar(&f.json, "json", false, "print JSON; with --due a line for each dream, then a summary")
	cmd.AddCommand(newDreamShow(a))
	return cmd
}

// checkDreams refuses flags that contradict each other.
func (f selection) checkDreams(cmd *cobra.Command) error {
	if err := errors.Join(needsValue(cmd, "group"), needsValue(cmd, "session"), needsValue(cmd, "shard")); err != nil {
		return err
	}
	switch {
	case !f.due && f.group == "" && f.session == "":
		return fmt.Errorf("one of --due, --group G or --session S is needed\nsee '%s --help'", cmd.CommandPath())
	case f.due && f.session != "":
		return errors.New("--due takes the sessions that have ended; --session S takes everything up to that one, due or not")
	case !f.due && f.shard != "":
		return errors.New("--shard is a part of all groups; it goes with --due")
	}
	_, err := parseShard(f.shard)
	return err
}

func (a *app) dream(ctx context.Context, f selection) error {
	ctx, p, err := a.worker(ctx, reverie.JobDream)
	if err != nil {
		return err
	}
	one := func(groupID string) error {
		j := a.DreamJob(p.Dream, dream.Request{Due: f.due, SessionID: f.session, DryRun: f.dryRun})
		return a.runOne(ctx, j, reverie.Group{ID: groupID}, reverie.Window{SessionID: f.session}, f,
			func() func() { return a.WatchDreaming(p.Dream) })
	}
	if f.session != "" {
		s, err := a.FindSession(ctx, f.group, f.session)
		if err != nil {
			return err
		}
		return invalidIsUsage(one(s.GroupID))
	}
	if err := a.knownGroup(ctx, f.group); err != nil {
		return unknownGroup(err)
	}
	if f.group != "" && (f.dryRun || !f.due) {
		return invalidIsUsage(one(f.group))
	}
	due := a.DueDreams(f.dryRun)
	batch, nothing := a.DreamDue(p.Dream, due), func() string { return due.Nothing(f.group) }
	if f.dryRun {
		return a.dryRuns(ctx, batch, f, nothing, func(g reverie.Group, _ selection) error { return one(g.ID) })
	}
	return a.runAll(ctx, batch, f, nothing)
}

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

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/dream"
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

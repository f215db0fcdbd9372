package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
	"reverie/internal/session"
)

func newExtract(a *app) *cobra.Command {
	var f selection
	cmd := &cobra.Command{
		Use:   "extract --session S | --due | --all",
		Short: "Read what sessions have gathered: lasting facts, a summary, short-term memory",
		Long: `Extract reads the turns of a session that it has not read yet, asks the model for
lasting facts and for a summary of the session, checks the answer, and keeps both as
memories of kind session. Where more turns stand word for word than [short_term]
allows, the older ones are folded into the session's rolling summary.

--session S  one session: all its turns, due or not. Ids of sessions are unique only
             within a group: --group G says which is meant where several have it
--due        every session that is due: as many tokens, tool calls or turns since
             the last time as [session] says, or turns to fold, or what an extraction
             that was cut short has left. A second call does nothing. This is what a
             CronJob runs
--all        every session that has gathered anything

--group G narrows --due and --all down to one group. A turn is what users say, up to
the next word of an assistant. A question that waits for its answer stays for the next
time, unless nothing else waits in the session, or it has fallen silent: then it is
read by itself, and its answer, if one comes, the next time. Each message is read once.
Evolve reads the same messages, independently.

Shards, budgets and signals are as with evolve. A session that fails stops no other: it
alone is left alone for [jobs] retry_after, longer each time, and parked after
park_after failures in a row, until --session extracts it or ` + "`reverie groups resume`" + `.
--all does not wait for the next try. A rolling summary that the model cannot give is a
warning, and asked for again after a while; what was extracted stands.

--dry-run asks the model and prints what would be done with the first [session]
max_messages; it writes nothing but the calls it made and cached embeddings.

` + exitHelp,
		Example: `  reverie extract --session s1 --group g1
  reverie extract --due                # every few minutes, from cron
  reverie extract --due --shard 0/4    # of 4 workers, the first`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.checkSessions(cmd); err != nil {
				return usageError(err)
			}
			return a.extract(cmd.Context(), f)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.session, "session", "", "the session to extract")
	fl.StringVar(&f.group, "group", "", "the group of the session; with --due and --all: only this one")
	fl.BoolVar(&f.due, "due", false, "every session that is due")
	fl.BoolVar(&f.all, "all", false, "every session that has gathered anything")
	fl.StringVar(&f.shard, "shard", "", "only this part of the groups: 0/4 is the first of four")
	fl.BoolVar(&f.dryRun, "dry-run", false, "plan, and write nothing")
	fl.BoolVar(&f.json, "json", false, "print JSON; with --due and --all a line for each run, then a summary")
	return cmd
}

// checkSessions refuses flags that contradict each other, of a command that works on
// sessions.
func (f selection) checkSessions(cmd *cobra.Command) error {
	chosen := 0
	for _, c := range []bool{f.session != "", f.due, f.all} {
		if c {
			chosen++
		}
	}
	switch {
	case chosen != 1:
		return fmt.Errorf("one of --session S, --due or --all is needed\nsee '%s --help'", cmd.CommandPath())
	case f.session != "" && f.shard != "":
		return errors.New("--shard is a part of all groups; it goes with --due or --all")
	}
	if err := errors.Join(needsValue(cmd, "group"), needsValue(cmd, "shard")); err != nil {
		return err
	}
	_, err := parseShard(f.shard)
	return err
}

func (a *app) extract(ctx context.Context, f selection) error {
	ctx, p, err := a.worker(ctx, reverie.JobExtract)
	if err != nil {
		return err
	}
	one := func(groupID string, f selection) error {
		j := a.ExtractJob(p.Session, session.Request{Due: f.due, DryRun: f.dryRun})
		return a.runOne(ctx, j, reverie.Group{ID: groupID}, reverie.Window{SessionID: f.session}, f,
			func() func() { return a.WatchExtracting(p.Session) })
	}
	if f.session != "" {
		s, err := a.FindSession(ctx, f.group, f.session)
		if err != nil {
			return err
		}
		return invalidIsUsage(one(s.GroupID, f))
	}
	if err := a.knownGroup(ctx, f.group); err != nil {
		return err
	}
	batch := a.ExtractDue(p.Session, a.Sessions(f.all), f.due)
	if f.dryRun {
		return a.dryRuns(ctx, batch, f, f.noSessions, func(g reverie.Group, f selection) error { return one(g.ID, f) })
	}
	return a.runAll(ctx, batch, f, f.noSessions)
}

// noSessions is what to say where there was nothing to do.
func (f selection) noSessions() string {
	if f.due {
		return "nothing is due: no session has gathered enough, paused groups and parked sessions left out"
	}
	return "nothing waits, paused groups and parked sessions left out"
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/safety"
)

func newEntity(a *app) *cobra.Command {
	cmd := group("entity", "Look at people and things, and join those that are one",
		newEntityList(a), newEntityShow(a), newEntityHistory(a), newEntityMerge(a), newEntityUnmerge(a), newEntityWaiting(a))
	cmd.Long = `People and things that a group talks about, and what is said of them, by whom.

An entity has an id that never changes. A platform's account belongs to one
entity only; a name may belong to several. ENTITY is an id, or, with --group, a
name or an account.

They are followed where [impression] enabled or 'reverie groups set G
--impressions on' says so.`
	return cmd
}

func newEntityList(a *app) *cobra.Command {
	var groupID, kind string
	var q reverie.EntityFilter
	var limit, offset int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list --group G",
		Short: "List the people and things of a group",
		Example: `  reverie entity list --group g1
  reverie entity list --group g1 --kind thing
  reverie entity list --group g1 --name 小林`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			switch q.Kind = reverie.EntityKind(kind); q.Kind {
			case "", reverie.EntityPerson, reverie.EntityBot, reverie.EntityThing:
			default:
				return usageError(fmt.Errorf("--kind %q: it is person, bot or thing", kind))
			}
			if limit < 1 || offset < 0 {
				return usageError(fmt.Errorf("--limit %d --offset %d: a limit of 1 or more and an offset of 0 or more are needed",
					limit, offset))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			g, err := a.Store.Group(ctx, groupID)
			if err != nil {
				return unknownGroup(err)
			}
			list, total, err := a.Store.ListEntities(ctx, g.ID, q, limit, offset)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.NewEntitiesReply(g.ID, total, list))
			}
			if total == 0 {
				_, err := fmt.Fprintln(a.Stdout, a.noEntities(g, q))
				return err
			}
			return a.PrintEntities(list, total, offset)
		},
	}
	f := cmd.Flags()
	f.StringVar(&groupID, "group", "", "group id (required)")
	f.StringVar(&kind, "kind", "", "person, bot or thing (default all)")
	f.StringVar(&q.Name, "name", "", "only those with this in a name, of whatever case and width")
	f.BoolVar(&q.All, "merged", false, "those that were merged into another too")
	f.IntVar(&limit, "limit", 50, "entities at most")
	f.IntVar(&offset, "offset", 0, "entities to skip")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	return cmd
}

// noEntities says why a list is empty, and what there is to do about it.
func (a *app) noEntities(g reverie.Group, q reverie.EntityFilter) string {
	if q.Kind != "" || q.Name != "" {
		return fmt.Sprintf("%s: nobody and nothing fits; leave out --kind and --name to see all", cli.Visible(g.ID))
	}
	text := fmt.Sprintf("%s: nobody and nothing is known yet", cli.Visible(g.ID))
	if on := g.Impressions == "on" || g.Impressions == "" && a.Config.Impression.Enabled; on {
		return text + fmt.Sprintf("; they come with the next night, or now with `reverie impression --group %s`",
			cli.Quoted(g.ID))
	}
	return text + fmt.Sprintf(": people and things are not followed here\n  `reverie groups set %s --impressions on` "+
		"follows them from the next night on, or [impression] enabled in all groups\n  `reverie impression --group %s` "+
		"looks at the messages that are there already",
		cli.Quoted(g.ID), cli.Quoted(g.ID))
}

func newEntityShow(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ENTITY",
		Short: "Show what is said of somebody or something, by whom, and in which words",
		Long: `Show an entity: its names, and its features, impressions and relations. What it
says of itself and what others say of it stand apart, each with the newest quotes
that it rests on; --json has all of them.`,
		Example: `  reverie entity show 0194f2c0-5b1e-7c3a-9a55-1f0f8d3b6c11
  reverie entity show --group g1 Lin`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := a.entity(cmd.Context(), groupID, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.OneEntityReply{Success: true, EntityReply: e.Reply()})
			}
			cli.EntityPage(a.Stdout, a.Style(), e.Reply())
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only; ENTITY may be a name then")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// entity opens the database and reads the one that a person means: by id, or
// within a group by name or account. Where a name fits several, the error lists
// them.
func (a *app) entity(ctx context.Context, groupID, named string) (reverie.Entity, error) {
	if groupID == "" && !reverie.IsID(named) {
		return reverie.Entity{}, usageError(fmt.Errorf("entity %q is no id; a name is looked up with --group", named))
	}
	if err := a.open(ctx); err != nil {
		return reverie.Entity{}, err
	}
	if groupID != "" {
		if _, err := a.Store.Group(ctx, groupID); err != nil {
			return reverie.Entity{}, unknownGroup(err)
		}
	}
	if reverie.IsID(named) {
		e, err := a.Store.Entity(ctx, groupID, named)
		return e, unknownEntity(err)
	}
	found, err := a.Store.FindEntities(ctx, groupID, named)
	if err != nil {
		return reverie.Entity{}, err
	}
	switch len(found) {
	case 0:
		return reverie.Entity{}, unknownEntity(fmt.Errorf("entity %q of group %q: %w", named, groupID, reverie.ErrNotFound))
	case 1:
		return a.Store.Entity(ctx, groupID, found[0].ID)
	}
	return reverie.Entity{}, usageError(severalEntities(named, found))
}

// unknownEntity adds to an error that there is no such entity where the ids are
// to be had.
func unknownEntity(err error) error {
	if errors.Is(err, reverie.ErrNotFound) {
		return fmt.Errorf("%w; `reverie entity list --group G` has the ids", err)
	}
	return err
}

// severalEntities lists those that a name may mean.
func severalEntities(named string, found []reverie.Entity) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%q may be any of %d; name one by its id:", named, len(found))
	for _, e := range found {
		r := e.Reply()
		fmt.Fprintf(&b, "\n  %s  %s  %s", r.EntityID, r.Kind, cli.Visible(r.Subject))
		if len(r.Accounts) > 0 {
			fmt.Fprintf(&b, "  account %s", cli.Visible(strings.Join(r.Accounts, ", ")))
		}
	}
	return errors.New(b.String())
}

func newEntityHistory(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "history ENTITY",
		Short:   "Show how an entity came to be what it is, newest last",
		Long:    "Show the changes of an entity, and all versions of what was said of it, newest last.",
		Example: "  reverie entity history --group g1 Lin",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			e, err := a.entity(ctx, groupID, args[0])
			if err != nil {
				return err
			}
			changes, claims, err := a.Store.EntityHistory(ctx, e.GroupID, e.ID)
			if err != nil {
				return err
			}
			r := reverie.NewEntityHistoryReply(e, changes, claims)
			if asJSON {
				return cli.PrintJSON(a.Stdout, r)
			}
			cli.EntityHistory(a.Stdout, a.Style(), r)
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only; ENTITY may be a name then")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newEntityWaiting(a *app) *cobra.Command {
	var groupID string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "waiting --group G",
		Short: "Show observations that wait to be sure whom they are about",
		Long: `Show what was said of somebody who is not known well enough yet, or of a name
that several bear. It is kept, is joined by later observations, and becomes part
of an entity once they suffice; what nothing joins expires.`,
		Example: "  reverie entity waiting --group g1",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if limit < 1 {
				return usageError(fmt.Errorf("--limit %d: a limit of 1 or more is needed", limit))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			waiting, err := a.Store.WaitingObservations(ctx, groupID, limit)
			if err != nil {
				return unknownGroup(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.NewWaitingReply(groupID, waiting))
			}
			if len(waiting) == 0 {
				_, err := fmt.Fprintf(a.Stdout, "%s: nothing waits\n", cli.Visible(groupID))
				return err
			}
			cli.WaitingPage(a.Stdout, a.Style(), waiting)
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "group id (required)")
	cmd.Flags().IntVar(&limit, "limit", 100, "observations at most, the oldest first")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "group")
	return cmd
}

func newEntityMerge(a *app) *cobra.Command {
	var groupID, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "merge A B",
		Short: "Say that B is the same as A",
		Long: `Say that B is the same as A. Nothing moves: whoever reads A sees the names and
claims of both, and what is said of B from now on is said of A. 'entity unmerge B'
parts them again, and all is as it was.`,
		Example: `  reverie entity merge 0194f2c0-5b1e-7c3a-9a55-1f0f8d3b6c11 0194f2c0-61d0-7a4e-8a43-0c9b6f7e2d55
  reverie entity merge --group g1 Lin Linnea --reason "her second account"`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			into, err := a.entity(ctx, groupID, args[0])
			if err != nil {
				return err
			}
			merged, err := a.entity(ctx, groupID, args[1])
			if err != nil {
				return err
			}
			if into.GroupID != merged.GroupID {
				return usageError(fmt.Errorf("entity %s is of group %q, and %s of group %q: only those of one group can be merged",
					into.ID, into.GroupID, merged.ID, merged.GroupID))
			}
			into, merged, err = a.Store.MergeEntities(ctx, into.GroupID, into.ID, merged.ID, safety.CleanReason(reason))
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.MergeReply{Success: true, Merged: merged.Reply(), Into: into.Reply()})
			}
			fmt.Fprintf(a.Stdout, "%s is part of %s now; `reverie entity unmerge %s` undoes it\n", nameAndID(merged),
				nameAndID(into), merged.ID)
			cli.EntityPage(a.Stdout, a.Style(), into.Reply())
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only; A and B may be names then")
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the change log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func newEntityUnmerge(a *app) *cobra.Command {
	var groupID, reason string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "unmerge B",
		Short:   "Undo a merge: B stands for itself again",
		Long:    "Undo a merge: B, by its id, stands for itself again, with the names and claims that it had.",
		Example: "  reverie entity unmerge 0194f2c0-61d0-7a4e-8a43-0c9b6f7e2d55",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if !reverie.IsID(args[0]) {
				return usageError(fmt.Errorf("entity %q is no id; `reverie entity show` of what it was merged into has it",
					args[0]))
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			from, parted, err := a.Store.UnmergeEntity(ctx, groupID, args[0], safety.CleanReason(reason))
			if err != nil {
				return unknownEntity(err)
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reverie.MergeReply{Success: true, Merged: parted.Reply(), Into: from.Reply()})
			}
			fmt.Fprintf(a.Stdout, "%s stands for itself again; it was part of %s\n", nameAndID(parted), nameAndID(from))
			cli.EntityPage(a.Stdout, a.Style(), parted.Reply())
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "look in this group only")
	cmd.Flags().StringVar(&reason, "reason", "", "why; kept in the change log")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// nameAndID names an entity in a sentence.
func nameAndID(e reverie.Entity) string { return fmt.Sprintf("%s (%s)", cli.Visible(e.Subject), e.ID) }

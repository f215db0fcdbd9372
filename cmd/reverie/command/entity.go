package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/ingest"
	"reverie/internal/reverie"
	"reverie/internal/safety"
	"reverie/store/links"
)

func newEntity(a *app) *cobra.Command {
	return group("reverie entity", newEntityList(a), newEntityShow(a), newEntityHistory(a), newEntityMerge(a),
		newEntityUnmerge(a), newEntityLink(a, "link"), newEntityLink(a, "unlink"), newEntityWaiting(a))
}

func newEntityList(a *app) *cobra.Command {
	var groupID string
	var q reverie.EntityFilter
	var limit, offset int
	cmd := a.command("reverie entity list", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		g, err := a.Store.Group(ctx, groupID)
		if err != nil {
			return err
		}
		list, total, err := a.Store.ListEntities(ctx, g.ID, q, limit, offset)
		if err != nil {
			return err
		}
		return a.Show(reverie.NewEntitiesReply(g.ID, total, list), func() error {
			if total == 0 {
				return a.nothing(ctx, g.ID, "people or things", fmt.Sprintf("`reverie groups set %s --impressions on` follows "+
					"them, `reverie impression --group %[1]s` looks for them now", cli.Quoted(g.ID)))
			}
			return a.PrintEntities(list, total, offset)
		})
	}))
	a.groupNeeded(cmd, &groupID)
	choice(cmd, &q.Kind, "kind", "", "person, bot or thing (default all)", reverie.EntityPerson, reverie.EntityBot,
		reverie.EntityThing)
	cmd.Flags().StringVar(&q.Name, "name", "", "list only names that contain this, in any case and width")
	cmd.Flags().BoolVar(&q.All, "merged", false, "list merged entities too")
	limitFlag(cmd, &limit, 50, "most entities to list")
	offsetFlag(cmd, &offset, "entities to skip first")
	return cmd
}

func newEntityShow(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie entity show", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		e, err := a.entity(ctx, groupID, args[0])
		if err != nil {
			return err
		}
		r := e.Reply()
		if r.Links, err = links.New(a.Store.DB(), "").Of(ctx, e); err != nil {
			return err
		}
		return a.Show(reverie.OneEntityReply{Success: true, EntityReply: r}, func() error { return a.Page("entity", r) })
	})
	groupFlag(cmd, &groupID, "search only this group; ENTITY may then be a name")
	return cmd
}

func newEntityHistory(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie entity history", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		e, err := a.entity(ctx, groupID, args[0])
		if err != nil {
			return err
		}
		changes, claims, err := a.Store.EntityHistory(ctx, e.GroupID, e.ID)
		if err != nil {
			return err
		}
		r := reverie.NewEntityHistoryReply(e, changes, claims)
		return a.Show(r, func() error { return a.EntityHistory(r) })
	})
	groupFlag(cmd, &groupID, "search only this group; ENTITY may then be a name")
	return cmd
}

func newEntityWaiting(a *app) *cobra.Command {
	var groupID string
	var limit int
	cmd := a.command("reverie entity waiting", cobra.NoArgs, a.opened(func(ctx context.Context, _ []string) error {
		waiting, err := a.Store.WaitingObservations(ctx, groupID, limit)
		if err != nil {
			return err
		}
		return a.Show(reverie.NewWaitingReply(groupID, waiting), func() error {
			if len(waiting) == 0 {
				return a.nothing(ctx, groupID, "observations that wait", "`reverie entity list` shows who is known")
			}
			return a.Page("waiting", waiting)
		})
	}))
	a.groupNeeded(cmd, &groupID)
	limitFlag(cmd, &limit, 100, "most observations to list, oldest first")
	return cmd
}

func newEntityMerge(a *app) *cobra.Command {
	var groupID, reason string
	cmd := a.command("reverie entity merge", cobra.ExactArgs(2), func(ctx context.Context, args []string) error {
		into, err := a.entity(ctx, groupID, args[0])
		if err != nil {
			return err
		}
		merged, err := a.entity(ctx, groupID, args[1])
		if err != nil {
			return err
		}
		if into.GroupID != merged.GroupID {
			return usageError(fmt.Errorf("entity %s is in group %q, and %s in group %q: only entities of one group can be "+
				"merged", into.ID, into.GroupID, merged.ID, merged.GroupID))
		}
		into, merged, err = a.Store.MergeEntities(ctx, into.GroupID, into.ID, merged.ID, safety.CleanReason(reason))
		if err != nil {
			return err
		}
		return a.showMerge(merged, into, into, fmt.Sprintf("%s is part of %s now; `reverie entity unmerge %s` undoes it",
			nameAndID(merged), nameAndID(into), merged.ID))
	})
	groupFlag(cmd, &groupID, "search only this group; A and B may then be names")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the change log")
	return cmd
}

func newEntityUnmerge(a *app) *cobra.Command {
	var groupID, reason string
	cmd := a.command("reverie entity unmerge", cobra.ExactArgs(1), func(ctx context.Context, args []string) error {
		if _, _, begins := reverie.IDPrefix(args[0]); !begins && !reverie.IsID(args[0]) {
			return usageError(fmt.Errorf("entity %q is not an id; `reverie entity show` of the entity it is part of shows "+
				"the id", args[0]))
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		id, err := a.Store.WholeID(ctx, reverie.IDEntity, groupID, args[0])
		if err != nil {
			return err
		}
		from, parted, err := a.Store.UnmergeEntity(ctx, groupID, id, safety.CleanReason(reason))
		if err != nil {
			return err
		}
		return a.showMerge(parted, from, parted,
			fmt.Sprintf("%s stands for itself again; it was part of %s", nameAndID(parted), nameAndID(from)))
	})
	groupFlag(cmd, &groupID, "search only this group")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the change log")
	return cmd
}

// newEntityLink returns the command that links an entity with one of another group, or that removes such a link.
func newEntityLink(a *app, action string) *cobra.Command {
	var q reverie.LinkQuery
	cmd := a.command("reverie entity "+action, cobra.ExactArgs(2), func(ctx context.Context, args []string) error {
		for i, end := range []*reverie.EntityEnd{&q.A, &q.B} {
			group, named := "", args[i]
			if at := strings.LastIndex(named, "/"); at >= 0 {
				group, named = named[:at], named[at+1:]
			} else if _, _, begins := reverie.IDPrefix(named); !begins && !reverie.IsID(named) {
				return usageError(fmt.Errorf("entity %q is not an id: say in which group it is, such as g1/%[1]s", named))
			}
			e, err := a.entity(ctx, group, named)
			switch {
			case err == nil:
				*end = reverie.EntityEnd{GroupID: e.GroupID, EntityID: e.ID}
			// The other end no longer exists.
			case action == "unlink" && errors.Is(err, reverie.ErrNotFound) && group != "" && reverie.IsID(named):
				*end = reverie.EntityEnd{GroupID: group, EntityID: named}
			default:
				return err
			}
		}
		q.Reason, q.Platform = safety.CleanReason(q.Reason), ingest.SamePlatform(q.A.GroupID, q.B.GroupID)
		all, said := links.New(a.Store.DB(), ""), "are linked\n`reverie memory scope MEMORY person` lets a fact of theirs reach the other group"
		var err error
		if action == "link" {
			err = all.Link(ctx, q)
		} else {
			said, err = "are not linked any more", all.Unlink(ctx, q.A, q.B)
		}
		if err != nil {
			return err
		}
		list, err := all.Of(ctx, reverie.Entity{GroupID: q.A.GroupID, ID: q.A.EntityID})
		if err != nil {
			return err
		}
		return a.Show(reverie.LinksReply{Success: true, GroupID: q.A.GroupID, EntityID: q.A.EntityID, Links: list}, func() error {
			return a.Say("%s and %s %s\n", cli.Visible(args[0]), cli.Visible(args[1]), said)
		})
	})
	if action == "link" {
		cmd.Flags().BoolVar(&q.Force, "force", false, "link them without an account of the same id")
		cmd.Flags().StringVar(&q.Reason, "reason", "", "why; needed with --force")
	}
	return cmd
}

// showMerge describes a merge of two entities, and shows one of them.
func (a *app) showMerge(merged, into, page reverie.Entity, said string) error {
	return a.Show(reverie.MergeReply{Success: true, Merged: merged.Reply(), Into: into.Reply()}, func() error {
		return errors.Join(a.Say("%s\n", said), a.Page("entity", page.Reply()))
	})
}

// nameAndID returns the name of an entity for a sentence.
func nameAndID(e reverie.Entity) string { return fmt.Sprintf("%s (%s)", cli.Visible(e.Subject), e.ID) }

// entity opens the database and reads an entity: by id, or within a group by name or account. If a name fits
// several, the error lists them.
func (a *app) entity(ctx context.Context, groupID, named string) (none reverie.Entity, err error) {
	_, _, begins := reverie.IDPrefix(named)
	if groupID == "" && !begins && !reverie.IsID(named) {
		_ = a.needsGroup(&groupID, fmt.Sprintf("entity %q is not an id, so --group is needed to look up a name", named))
	}
	if err := a.open(ctx); err != nil {
		return none, err
	}
	if groupID != "" {
		if _, err := a.Store.Group(ctx, groupID); err != nil {
			return none, err
		}
	}
	if reverie.IsID(named) {
		return a.Store.Entity(ctx, groupID, named)
	}
	var found []reverie.Entity
	if groupID != "" {
		if found, err = a.Store.FindEntities(ctx, groupID, named); err != nil {
			return none, err
		}
	}
	if len(found) == 0 && begins {
		if named, err = a.Store.WholeID(ctx, reverie.IDEntity, groupID, named); err == nil {
			return a.Store.Entity(ctx, groupID, named)
		}
		return none, err
	}
	switch len(found) {
	case 0:
		return none, fmt.Errorf("entity %q of group %q: %w", named, groupID, reverie.ErrNotFound)
	case 1:
		return a.Store.Entity(ctx, groupID, found[0].ID)
	}
	return none, usageError(severalEntities(named, found))
}

// severalEntities lists the entities that a name fits.
func severalEntities(named string, found []reverie.Entity) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%q fits %d entities; name one by its id:", named, len(found))
	for _, e := range found {
		r := e.Reply()
		fmt.Fprintf(&b, "\n  %s  %s  %s", r.EntityID, r.Kind, cli.Visible(r.Subject))
		if len(r.Accounts) > 0 {
			fmt.Fprintf(&b, "  account %s", cli.Visible(strings.Join(r.Accounts, ", ")))
		}
	}
	return errors.New(b.String())
}

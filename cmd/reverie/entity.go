package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
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

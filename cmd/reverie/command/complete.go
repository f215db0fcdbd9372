package command

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// most is the maximum number of candidates of a kind.
const most = 2000

// completions adds shell completion to each command of a tree: groups, and ids for the first argument, newest
// first.
func (a *app) completions(cmd *cobra.Command) {
	if cmd.Flags().Lookup("group") != nil {
		_ = cmd.RegisterFlagCompletionFunc("group", a.completed("GROUP")) // the flag exists
	}
	if _, arguments, _ := strings.Cut(cmd.Use, " "); cmd.ValidArgsFunction == nil {
		first, _, _ := strings.Cut(strings.Trim(arguments, "[]"), " ")
		first, _, _ = strings.Cut(strings.TrimRight(first, "]."), "|")
		if _, known := completable[first]; known {
			cmd.ValidArgsFunction = a.completed(first)
		}
	}
	for _, sub := range cmd.Commands() {
		a.completions(sub)
	}
}

// completable lists the possible values of an argument, each with a description after a tab.
var completable = map[string]func(ctx context.Context, a *app, groupID string) ([]string, error){
	"BATCH": func(ctx context.Context, a *app, _ string) (found []string, err error) {
		list, err := a.Batches().ListBatches(ctx, most)
		for _, b := range list {
			found = append(found, b.ID+"\t"+string(b.Job)+" "+cli.Stamp(b.CreatedAt)+" "+string(b.Status))
		}
		return found, err
	},
	"GROUP": func(ctx context.Context, a *app, _ string) (found []string, err error) {
		list, err := a.Store.GroupList(ctx, reverie.GroupQuery{Limit: most})
		for _, g := range list {
			found = append(found, g.ID+"\t"+g.Name)
		}
		return found, err
	},
	"MEMORY": func(ctx context.Context, a *app, groupID string) (found []string, err error) {
		groups := []string{cmp.Or(groupID, a.Getenv("REVERIE_GROUP"))}
		if groups[0] == "" {
			list, err := a.Store.GroupList(ctx, reverie.GroupQuery{Limit: most})
			if err != nil {
				return nil, err
			}
			groups = nil
			for _, g := range list {
				groups = append(groups, g.ID)
			}
		}
		for _, id := range groups {
			list, _, err := a.Store.ListMemories(ctx, reverie.MemoryQuery{GroupID: id, Limit: most - len(found)})
			for _, m := range list {
				found = append(found, m.ID+"\t"+m.Statement)
			}
			if err != nil || len(found) >= most {
				return found, err
			}
		}
		return found, nil
	},
	"TOKEN-ID": func(ctx context.Context, a *app, _ string) (found []string, err error) {
		list, err := a.Store.Tokens(ctx, "")
		for _, t := range list {
			found = append(found, t.ID+"\t"+t.Name)
		}
		return found, err
	},
	"RUN": func(ctx context.Context, a *app, groupID string) (found []string, err error) {
		list, err := a.Store.Runs(ctx, reverie.RunQuery{GroupID: groupID, Limit: most})
		for _, r := range list {
			found = append(found, r.ID+"\t"+string(r.Job)+" "+cli.Stamp(r.StartedAt)+" "+string(r.Status))
		}
		return found, err
	},
	"SESSION": func(ctx context.Context, a *app, groupID string) (found []string, err error) {
		list, _, err := a.Store.ListSessions(ctx, reverie.SessionFilter{GroupID: groupID, Limit: most})
		for _, s := range list {
			found = append(found, s.ID+"\t"+cli.Stamp(s.LastAt))
		}
		return found, err
	},
}

// completed completes the first argument, or a flag. On an error it completes nothing.
func (a *app) completed(what string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.Stderr = io.Discard // a shell would print it into the command line
		groupID := ""
		if f := cmd.Flags().Lookup("group"); f != nil {
			groupID = f.Value.String()
		}
		if err := a.settings(); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		if err := a.Open(cmd.Context()); err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		found, err := completable[what](cmd.Context(), a, groupID)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var fitting []string
		for _, word := range found {
			if strings.HasPrefix(word, begun) {
				id, about, _ := strings.Cut(word, "\t")
				fitting = append(fitting, cli.Visible(id)+"\t"+cli.Visible(text.Excerpt(about, 60)))
			}
		}
		return fitting, cobra.ShellCompDirectiveNoFileComp
	}
}

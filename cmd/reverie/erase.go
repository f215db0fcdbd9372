package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/store/erase"
)

// eraseOrder is what was asked of an erasure.
type eraseOrder struct {
	author, group string
	keepNames     []string
	dry, yes      bool
	whole, asJSON bool
}

func newErase(a *app) *cobra.Command {
	var o eraseOrder
	cmd := &cobra.Command{
		Use:   "erase --author A [--group G]",
		Short: "Forget a person: what they wrote, and all that was made of it",
		Long: `Erase forgets an author in one group, or in every group where they wrote:

  - their messages, with the memories that rest on those alone, in all versions, the
    claims about them and by them, and what was kept of questions to a model about them;
  - memories that rest on others' messages as well lose the author's evidence, are held,
    and are judged again by the next run of evolve;
  - in the words of others, [erased] takes the place of their id, their names, and of
    what they wrote;
  - an import leaves their messages out from then on, unless it says --allow-erased.

Each group is one transaction. At its end all that the database has of the group is read
again: if anything is left, nothing is erased, and the error says in which table. It
cannot be undone: look first with --dry-run, which does it all and takes it back, and
tells under which names the author is looked for.

Backups, archived WAL and server logs are outside of this: see docs/erasure.md.

` + exitHelp,
		Example: `  reverie erase --author 184023 --group g1 --dry-run
  reverie erase --author 184023 --yes
  reverie erase --author "Will" --keep-name Will --yes --vacuum-full`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.author == "" {
				return usageError(errors.New("--author: it is empty; give an account's id, or the name that it writes under"))
			}
			if cmd.Flags().Changed("group") && o.group == "" {
				return usageError(errors.New("--group: the id of the group is empty"))
			}
			return a.erase(cmd.Context(), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.author, "author", "", "id of the account, or its name exactly as it is written (required)")
	f.StringVar(&o.group, "group", "", "only in this group (default: in every one where they wrote)")
	f.StringArrayVar(&o.keepNames, "keep-name", nil, "name of theirs that stays in the words of others, such as one "+
		"that is a word (repeatable)")
	f.BoolVar(&o.dry, "dry-run", false, "do it, count, and take it back")
	f.BoolVar(&o.yes, "yes", false, "erase without asking")
	f.BoolVar(&o.whole, "vacuum-full", false, "write all tables into new files afterwards; each is locked for that time")
	f.BoolVar(&o.asJSON, "json", false, "print the receipts as JSON")
	required(cmd, "author")
	return cmd
}

func (a *app) erase(ctx context.Context, o eraseOrder) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	accounts, err := erase.New(a.Store.DB()).Accounts(ctx, o.group, o.author)
	if err != nil {
		return unknownGroup(err)
	}
	if err := oneAccount(o.author, accounts); err != nil {
		return err
	}
	if len(accounts) == 0 {
		if err := a.PrintErasures(o.dry, o.asJSON, nil, nil); err != nil || o.dry || !o.yes || !o.whole {
			return err
		}
		return a.Sweep(ctx, o.whole) // an erasure may have been killed before it did
	}
	if !o.dry && !o.yes {
		ask := fmt.Sprintf("forget an author of %s in %s for good?", cli.Plural(messagesOf(accounts), "message"),
			cli.Plural(len(accounts), "group"))
		if o.asJSON || !a.CanAsk() {
			return usageError(fmt.Errorf("%s say --yes to do it, --dry-run to see what it would do", ask))
		}
		if yes, err := a.Confirm(ctx, ask); err != nil || !yes {
			return errors.Join(err, a.Say("nothing is erased\n"))
		}
	}
	done, err := a.Erase(ctx, accounts, o.keepNames, o.dry)
	err = errors.Join(err, a.PrintErasures(o.dry, o.asJSON, done, err))
	if len(done) > 0 && !o.dry && ctx.Err() == nil {
		err = errors.Join(err, a.Sweep(ctx, o.whole))
	}
	if failed := len(accounts) - len(done); failed > 0 && len(accounts) > 1 && ctx.Err() == nil {
		return &codeError{exitPartial, fmt.Errorf("%d of %s failed, the same command goes on with them: %w", failed,
			cli.Plural(len(accounts), "group"), err)}
	}
	return err
}

// oneAccount refuses a name that several accounts go by.
func oneAccount(author string, accounts []reverie.Account) error {
	ids := map[string]bool{}
	var list []string
	for _, account := range accounts {
		ids[account.AuthorID] = true
		list = append(list, fmt.Sprintf("  %s in %s: %s", cli.Visible(account.AuthorID), cli.Visible(account.GroupID),
			cli.Plural(account.Messages, "message")))
	}
	if len(ids) < 2 {
		return nil
	}
	slices.Sort(list)
	return usageError(fmt.Errorf("--author %q: several accounts go by that name; say which by its id:\n%s", author,
		strings.Join(list, "\n")))
}

func messagesOf(accounts []reverie.Account) (n int) {
	for _, account := range accounts {
		n += account.Messages
	}
	return n
}

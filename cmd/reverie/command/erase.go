package command

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

// eraseOrder holds the arguments of an erasure.
type eraseOrder struct {
	author, group   string
	keepNames       []string
	dry, yes, whole bool
}

func newErase(a *app) *cobra.Command {
	var o eraseOrder
	cmd := a.command("reverie erase", cobra.NoArgs,
		a.opened(func(ctx context.Context, _ []string) error { return a.erase(ctx, o) }))
	f := cmd.Flags()
	f.StringVar(&o.author, "author", "", "id of the account, or its exact name (required)")
	required(cmd, "author")
	check(cmd, func() error {
		if o.author == "" {
			return errors.New("--author is empty: give the account's id or its exact name")
		}
		return nil
	})
	groupFlag(cmd, &o.group, "erase only in this group (default every group where they wrote)")
	f.StringArrayVar(&o.keepNames, "keep-name", nil, "a name that stays in the words of others, such as Will (repeatable)")
	f.BoolVar(&o.dry, "dry-run", false, "do everything, count, and roll back")
	f.BoolVar(&o.yes, "yes", false, "erase without asking")
	f.BoolVar(&o.whole, "vacuum-full", false, "then rewrite all tables into new files, each under a lock")
	cmd.Flags().Lookup("json").Usage = "print the receipts as JSON"
	return cmd
}

func (a *app) erase(ctx context.Context, o eraseOrder) error {
	accounts, err := erase.New(a.Store.DB()).Accounts(ctx, o.group, o.author)
	if err != nil {
		return err
	}
	if err := oneAccount(o.author, accounts); err != nil {
		return err
	}
	if len(accounts) == 0 {
		if err := a.PrintErasures(o.dry, nil, nil); err != nil || o.dry || !o.yes || !o.whole {
			return err
		}
		return a.Sweep(ctx, o.whole) // an earlier erasure may have been killed before this
	}
	if !o.dry && !o.yes {
		messages := 0
		for _, account := range accounts {
			messages += account.Messages
		}
		ask := fmt.Sprintf("forget an author of %s in %s for good?", cli.Plural(messages, "message"),
			cli.Plural(len(accounts), "group"))
		refused := fmt.Errorf("%s Add --yes to do it, or --dry-run to see what it would do", ask)
		if yes, err := a.confirm(ctx, ask, "nothing is erased", refused); err != nil || !yes {
			return err
		}
	}
	done, err := a.Erase(ctx, accounts, o.keepNames, o.dry)
	err = errors.Join(err, a.PrintErasures(o.dry, done, err))
	if len(done) > 0 && !o.dry && ctx.Err() == nil {
		err = errors.Join(err, a.Sweep(ctx, o.whole))
	}
	if failed := len(accounts) - len(done); failed > 0 && len(accounts) > 1 && ctx.Err() == nil {
		return &codeError{ExitPartial, fmt.Errorf("%d of %s failed; run the same command again for these: %w", failed,
			cli.Plural(len(accounts), "group"), err)}
	}
	return err
}

// oneAccount refuses a name of several accounts.
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
	return usageError(fmt.Errorf("--author %q: several accounts have this name; give the id of one:\n%s", author,
		strings.Join(list, "\n")))
}

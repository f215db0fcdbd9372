package command

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/reverie"
	"reverie/store/history"
)

func newMemoryShow(a *app) *cobra.Command {
	var groupID string
	return a.onMemory("show", &groupID, func(ctx context.Context, id string) error {
		why, err := history.New(a.Store.DB()).Why(ctx, groupID, id)
		if err != nil {
			return err
		}
		reply := reverie.NewShowReply(why)
		return a.showOf(ctx, why, reply, func(g reverie.Group) error { return a.PrintMemory(reply, why, a.calendar(g)) })
	})
}

func newMemoryAdd(a *app) *cobra.Command {
	e := reverie.Edit{Action: reverie.ActionCreate}
	cmd := a.command("reverie memory add", cobra.ExactArgs(1), a.opened(func(ctx context.Context, args []string) error {
		e.Statement = args[0]
		return a.writeMemory(ctx, e)
	}))
	a.groupNeeded(cmd, &e.GroupID)
	a.wordFlags(cmd, &e)
	return cmd
}

func newMemoryRewrite(a *app) *cobra.Command {
	e := reverie.Edit{Action: reverie.ActionUpdate}
	cmd := a.command("reverie memory edit", cobra.RangeArgs(1, 2), a.about(reverie.IDMemory, &e.GroupID, func(ctx context.Context, args []string) error {
		if e.MemoryID = args[0]; len(args) > 1 {
			e.Statement = args[1]
		}
		return a.writeMemory(ctx, e)
	}))
	groupFlag(cmd, &e.GroupID, "search only this group")
	a.wordFlags(cmd, &e)
	return cmd
}

// wordFlags adds the flags for the content of a memory besides the statement.
func (a *app) wordFlags(cmd *cobra.Command, e *reverie.Edit) {
	choice(cmd, &e.Type, "type", "", "fact, habit, opinion, rule, plan or culture", reverie.Types()...)
	f := cmd.Flags()
	f.StringArrayVar(&e.Tags, "tag", nil, "a tag (repeatable); an edit replaces all tags")
	f.StringVar(&e.DueOn, "due", "", "date of a plan, such as 2026-01-15; none removes it")
	f.StringVar(&e.Reason, "reason", "", "why, for the change log (required)")
	f.StringVar(&e.Author, "author", "", "who writes it (default: your login name)")
	required(cmd, "reason")
	notEmpty(cmd, "reason", "due", "author")
}

// writeMemory stores an edit, and shows the memory after it.
func (a *app) writeMemory(ctx context.Context, e reverie.Edit) error {
	e.Author = cmp.Or(e.Author, a.Getenv("USER"), a.Getenv("LOGNAME"), "operator")
	m, err := a.WriteMemory(ctx, e)
	if err != nil {
		return err
	}
	return a.showEdited(m)
}

// showEdited shows a memory after an edit.
func (a *app) showEdited(m reverie.Memory) error {
	return a.Show(reverie.MemoryReply{Success: true, Memory: m}, func() error {
		scope := ""
		if m.Reach != "" {
			scope = "  scope " + string(m.Reach)
		}
		return a.Say("%s  v%d  %s  strength %.2f  weight %.2f%s\n    %s\n", m.ID, m.Version, m.Status, m.Strength, m.Weight, scope,
			cli.Visible(m.Statement))
	})
}

package command

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func newAsk(a *app) *cobra.Command {
	var groupID string
	cmd := a.command("reverie ask", someWords, func(ctx context.Context, args []string) error {
		question, err := a.groupAndWords(ctx, &groupID, args)
		if err != nil {
			return err
		}
		reply, err := a.Answer(a.WithBudget(ctx), groupID, question)
		if err != nil {
			return err
		}
		return a.Show(reply, func() error {
			switch {
			case reply.Context == nil:
				a.Warn(reply.Warnings...)
				return a.Page("asked", reply)
			case reply.NoModel == "":
				return a.nothing(ctx, groupID, "memories that bear on this", "`reverie memory list` shows those that there are")
			}
			fmt.Fprintln(a.Stderr, "the context, without an answer: "+reply.NoModel)
			return a.PrintContext(*reply.Context)
		})
	})
	groupFlag(cmd, &groupID, wordsGroup)
	return cmd
}

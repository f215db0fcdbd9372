package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"reverie/internal/cli"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

func newFeedback(a *app) *cobra.Command {
	var req recall.FeedbackRequest
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "feedback --session S --response TEXT",
		Short: "Report a bot's answer: memories that it used rise, the others fade",
		Long: `Feedback decides which of the memories that reverie context has offered were used
by the answer, and moves their weights: by [feedback] weight_referenced (0.1) where
it used them, by weight_ignored (-0.02) where it did not. It judges the newest
context of the session that offered any memories, or the one that --usage names
(usage_id in the JSON of reverie context). Each context counts once: what is
reported again moves nothing. A context that is not known, or a session without
any message or context, is an error.

A session id belongs to one group; where several groups have a session of that
name, --group says which is meant.`,
		Example: `  reverie feedback --session s1 --response "Lin is allergic to peanuts, so no satay."
  answer | reverie feedback --group g1 --session s1 --response - --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if req.SessionID == "" && req.UsageID == "" {
				return usageError(fmt.Errorf("--session or --usage is needed, to say what was answered"))
			}
			if req.Response == "-" {
				text, err := a.readText(ctx, "answer", reverie.MaxMessageTextLength)
				if err != nil {
					return err
				}
				req.Response = text
			}
			if err := a.open(ctx); err != nil {
				return err
			}
			reply, err := a.report(ctx, req)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(a.Stdout, reply)
			}
			return a.PrintFeedback(reply)
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.GroupID, "group", "", "look in this group only")
	f.StringVar(&req.SessionID, "session", "", "session id")
	f.StringVar(&req.UsageID, "usage", "", "the context that was answered, instead of the session's newest")
	f.StringVar(&req.Response, "response", "", "the answer, - reads it from standard input (required)")
	f.BoolVar(&asJSON, "json", false, "print as JSON")
	required(cmd, "response")
	return cmd
}

// report finds the group of a request where none is named, and reports its answer.
func (a *app) report(ctx context.Context, req recall.FeedbackRequest) (reverie.FeedbackReply, error) {
	if req.GroupID == "" {
		rows, err := a.Store.Offered(ctx, reverie.UsageQuery{SessionID: req.SessionID, UsageID: req.UsageID})
		if err != nil {
			return reverie.FeedbackReply{}, err
		}
		if len(rows) > 0 {
			req.GroupID = rows[0].GroupID
		}
	} else if _, err := a.Store.Group(ctx, req.GroupID); err != nil {
		return reverie.FeedbackReply{}, unknownGroup(err)
	}
	feedback, err := a.Feedback(ctx, req.GroupID)
	if err != nil {
		return reverie.FeedbackReply{}, err
	}
	return feedback.Report(a.WithBudget(ctx), req)
}

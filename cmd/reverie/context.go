package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// maxQuery is how much is read of a query, in bytes. No chat has messages so long.
const maxQuery = 1 << 20

func newContext(a *app) *cobra.Command {
	var req recall.ContextRequest
	var at string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "context --group G [--session S] --query Q",
		Short: "Give a bot what it should know before its next answer",
		Long: `Context prints what a bot should have before it when it answers a query: the
memories of the group that bear on it, the people and things that it names, a
summary of the session so far, and its newest turns word for word. No model is
asked but for the vector of the query, and that only once: [recall] says when
memories are looked up, how many are given and how many tokens the text may have.

A memory's rank is similarity x weight x strength x recency; --json shows each.
The text is made to stand in a prompt: what was remembered or said is JSON between
fixed tags, which nothing in it can close, under a sentence that it is data.

What is offered is written down. ` + "`reverie feedback`" + ` reports the answer, so that the
memories which prove useful rise.

With --at it is the context as it would have been at that instant: the memories
active then, what was said of people by then, and the messages sent by then, with
ages counted from it. Nobody uses it, so nothing is written down. A date means its
beginning, in the group's time zone.

--query -    reads the query from standard input, 1 MiB at most`,
		Example: `  reverie context --group g1 --session s1 --query "When do we meet?" >>prompt.txt
  echo "我们周几开会？" | reverie context --group g1 --query - --max-tokens 500 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-tokens") && req.MaxTokens < 1 {
				return usageError(fmt.Errorf("--max-tokens %d: it is 1 or more", req.MaxTokens))
			}
			return a.context(cmd.Context(), req, at, asJSON)
		},
	}
	f := cmd.Flags()
	f.StringVar(&req.GroupID, "group", "", "group id (required)")
	f.StringVar(&req.SessionID, "session", "", "the session that the query belongs to; without one there is no "+
		"short-term memory")
	f.StringVar(&req.Query, "query", "", "what the bot is asked, or - for standard input (required)")
	f.IntVar(&req.MaxTokens, "max-tokens", 0, "tokens of the text at most (default [recall] max_tokens)")
	f.StringVar(&at, "at", "", "as it would have been then: a date (its beginning) or an instant")
	f.BoolVar(&asJSON, "json", false, "print as JSON: the text, and each memory with its score")
	required(cmd, "group")
	required(cmd, "query")
	return cmd
}

func (a *app) context(ctx context.Context, req recall.ContextRequest, at string, asJSON bool) error {
	if req.Query == "-" {
		query, err := a.readText(ctx, "query", maxQuery)
		if err != nil {
			return err
		}
		req.Query = query
	}
	if err := a.open(ctx); err != nil {
		return err
	}
	var err error
	if at != "" {
		if req.At, err = a.moment(ctx, req.GroupID, "at", at); err != nil {
			return err
		}
	}
	r, err := a.Recaller(ctx, req.GroupID)
	if err != nil {
		return err
	}
	reply, err := r.Context(a.WithBudget(ctx), req)
	lost := application.CloseUsage(ctx, r.Usage) // before a bot can answer: its answer is judged by what is written
	if err == nil {
		err = a.PrintContext(reply, asJSON)
	}
	return errors.Join(unknownGroup(err), lost)
}

// readText reads a text from standard input, and refuses one that is longer than
// most bytes rather than cut it.
func (a *app) readText(ctx context.Context, what string, most int64) (string, error) {
	text, err := io.ReadAll(io.LimitReader(&cli.PatientReader{Ctx: ctx, From: a.Stdin}, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the %s from standard input: %w", what, err)
	case int64(len(text)) > most:
		return "", usageError(fmt.Errorf("the %s on standard input has more than %d bytes; hand over less of it", what, most))
	}
	return string(text), nil
}

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

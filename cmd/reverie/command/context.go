package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/recall"
	"reverie/internal/reverie"
)

// maxQuery is the maximum size of a query, in bytes. No chat has messages that long.
const maxQuery = 1 << 20

func newContext(a *app) *cobra.Command {
	var req recall.ContextRequest
	var when *whenFlags
	var cmd *cobra.Command
	cmd = a.command("reverie context", cobra.ArbitraryArgs, func(ctx context.Context, args []string) (err error) {
		if !cmd.Flags().Changed("query") {
			if req.Query, err = a.groupAndWords(ctx, &req.GroupID, args); err != nil {
				return err
			}
		}
		if req.Query, err = a.textOrStdin(ctx, req.Query, "query", maxQuery); err != nil {
			return err
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		if when.given() {
			at, err := when.of(ctx, a, req.GroupID)
			if err != nil {
				return err
			}
			req.At, req.Recorded = at.At, at.Recorded
		}
		r, err := a.Recaller(ctx, req.GroupID)
		if err != nil {
			return err
		}
		reply, err := r.Context(a.WithBudget(ctx), req)
		lost := application.CloseUsage(ctx, r.Usage) // before a bot can answer, since its answer is judged by these rows
		if err == nil {
			err = a.Show(reply, func() error { return a.PrintContext(reply) })
		}
		return errors.Join(err, lost)
	})
	groupFlag(cmd, &req.GroupID, wordsGroup)
	f := cmd.Flags()
	f.StringVar(&req.SessionID, "session", "", "session of the query, which adds its short-term memory")
	f.StringVar(&req.Query, "query", "", "the query, instead of words; - reads standard input")
	check(cmd, func() error {
		if !f.Changed("query") {
			if f.NArg() == 0 {
				return fmt.Errorf("the query is missing: give it in words, or with --query\nsee '%s --help'", cmd.CommandPath())
			}
			return nil
		}
		if f.NArg() == 1 && req.GroupID == "" {
			req.GroupID = f.Arg(0)
		} else if f.NArg() > 0 {
			return errors.New("the query is given twice: give words or --query, not both")
		}
		return a.needsGroup(&req.GroupID, "a group is needed")
	})
	number(cmd, &req.MaxTokens, "max-tokens", 0, 1, math.MaxInt,
		"most tokens of the text (default [recall] max_tokens)")
	when = newWhenFlags(cmd)
	cmd.Flags().Lookup("json").Usage = "print JSON: the text, and each memory with its score"
	return cmd
}

// textOrStdin returns the given text, or standard input for "-". A text of more than most bytes is refused, not
// cut.
func (a *app) textOrStdin(ctx context.Context, given, what string, most int64) (string, error) {
	if given != "-" {
		return given, nil
	}
	text, err := io.ReadAll(io.LimitReader(&cli.PatientReader{Ctx: ctx, From: a.Stdin}, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the %s from standard input: %w", what, err)
	case int64(len(text)) > most:
		return "", usageError(fmt.Errorf("the %s on standard input has more than %d bytes: shorten it", what, most))
	}
	return string(text), nil
}

func newFeedback(a *app) *cobra.Command {
	var req recall.FeedbackRequest
	cmd := a.command("reverie feedback", cobra.NoArgs, func(ctx context.Context, _ []string) (err error) {
		if req.Response, err = a.textOrStdin(ctx, req.Response, "answer", reverie.MaxMessageTextLength); err != nil {
			return err
		}
		if err := a.open(ctx); err != nil {
			return err
		}
		if _, err := a.Store.Group(ctx, req.GroupID); err != nil {
			return err
		}
		feedback, err := a.Feedback(ctx, req.GroupID)
		if err != nil {
			return err
		}
		reply, err := feedback.Report(a.WithBudget(ctx), req)
		if err != nil {
			return err
		}
		return a.Show(reply, func() error { return a.PrintFeedback(reply) })
	})
	a.groupNeeded(cmd, &req.GroupID)
	f := cmd.Flags()
	f.StringVar(&req.SessionID, "session", "", "id of the session")
	f.StringVar(&req.UsageID, "usage", "", "judge the context with this usage_id, not the session's newest")
	f.StringVar(&req.Response, "response", "", "the bot's answer; - reads standard input (required)")
	required(cmd, "response")
	check(cmd, func() error {
		if req.SessionID == "" && req.UsageID == "" {
			return errors.New("--session or --usage is needed: it says which context was answered")
		}
		return nil
	})
	return cmd
}

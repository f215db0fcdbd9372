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

package cli

import (
	"fmt"
	"io"

	"reverie/internal/reverie"
)

// PrintContext prints only the text, ready for a prompt. Warnings go to standard error, and so does a summary, on a
// terminal or if there is no text.
func (con *Console) PrintContext(r reverie.ContextReply) error {
	if _, err := io.WriteString(con.Stdout, r.Text); err != nil {
		return fmt.Errorf("print the context: %w", err)
	}
	con.Warn(r.Warnings...)
	if Terminal(con.Stderr) || r.Text == "" {
		fmt.Fprintln(con.Stderr, contextSummary(r))
	}
	return nil
}

// contextSummary describes the parts of a context in one line.
func contextSummary(r reverie.ContextReply) string {
	c := r.Counts
	long := fmt.Sprintf("%s of %s", Plural(c.LongTerm, "memory"), Plural(c.Candidates, "candidate"))
	if why := words().Skipped[r.Skipped]; why != "" {
		long = "no memories (" + why + ")"
	}
	summary := things(c.Summarized, "message", "")
	if summary != "" {
		summary = "a summary of " + summary
	}
	parts := listed(", ", long, things(c.Entities, "entity", ""), things(c.Quotes, "quote", ""), things(c.ShortTerm, "message", ""),
		summary, some(c.Dropped, "%d left out for want of room"))
	line := fmt.Sprintf("%s: %s; %d of %d tokens", Visible(r.GroupID), parts, r.Tokens, r.MaxTokens)
	if r.UsageID != "" {
		line += "; --usage " + r.UsageID
	}
	return line
}

func (con *Console) PrintFeedback(reply reverie.FeedbackReply) error {
	con.Warn(reply.Warnings...)
	if reply.Offered == 0 {
		return con.Say("%s; reverie context offers them\n", reply.Message)
	}
	return con.Page("feedback", reply)
}

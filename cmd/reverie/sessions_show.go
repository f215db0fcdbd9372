package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
)

func newSessionsShow(a *app) *cobra.Command {
	var groupID string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session: what it holds, what waits, its memories and its short-term memory",
		Long: `Show a session: its counts, how far it has come to its next extraction, the summary
and the facts that are remembered of it, and its short-term memory, which is the
rolling summary of older turns and the newer ones word for word.

Ids of sessions are unique only within a group: --group says which is meant where
several have one. Times are in UTC.`,
		Example: `  reverie sessions show s1 --group g1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := needsValue(cmd, "group"); err != nil {
				return usageError(err)
			}
			if err := a.open(cmd.Context()); err != nil {
				return err
			}
			d, err := a.sessionDetail(cmd.Context(), groupID, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, struct {
					Success bool `json:"success"`
					sessionDetail
				}{true, d})
			}
			a.printSession(d)
			return nil
		},
	}
	cmd.Flags().StringVar(&groupID, "group", "", "the group of the session, where several have one of that id")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// sessionDetail is everything that is known of a session.
type sessionDetail struct {
	Session sessionEntry            `json:"session"`
	Rolling *reverie.SessionSummary `json:"rolling_summary"` // null: no turn is folded yet
	Open    []reverie.Message       `json:"verbatim"`        // what it does not cover
	Summary *reverie.Memory         `json:"summary"`         // the summary memory; null before the first extraction
	Facts   []reverie.Memory        `json:"facts"`           // active memories that the session taught
}

func (a *app) sessionDetail(ctx context.Context, groupID, sessionID string) (sessionDetail, error) {
	s, err := a.findSession(ctx, groupID, sessionID)
	if err != nil {
		return sessionDetail{}, err
	}
	state, err := a.store.GatherFold(ctx, s.GroupID, s.ID)
	if err != nil {
		return sessionDetail{}, err
	}
	d := sessionDetail{Session: a.entry(state.Session), Rolling: state.Summary, Open: append([]reverie.Message{}, state.Messages...), Facts: []reverie.Memory{}}
	memories, _, err := a.store.ListMemories(ctx, reverie.MemoryQuery{GroupID: s.GroupID, SessionID: s.ID, Kind: reverie.KindSession, Status: reverie.StatusActive})
	for _, m := range memories {
		if slices.Contains(m.Tags, reverie.TagSummary) {
			d.Summary = &m
		} else {
			d.Facts = append(d.Facts, m)
		}
	}
	return d, err
}

func (a *app) printSession(d sessionDetail) {
	s, w, e, rule := a.style(), a.stdout, d.Session, a.sessionRule()
	fmt.Fprintf(w, "%s  of %s", s.bold(visible(e.ID)), visible(e.GroupID))
	if e.Cut {
		fmt.Fprint(w, "  cut by silence")
	}
	fmt.Fprintf(w, "\n  time       %s to %s UTC\n", stamp(e.FirstAt), stamp(e.LastAt))
	fmt.Fprintf(w, "  holds      %s\n", tally(e.Total))
	switch {
	case e.New.Messages == 0:
		fmt.Fprintf(w, "  waits      nothing\n")
	default:
		fmt.Fprintf(w, "  waits      %s\n", tally(e.New))
	}
	if e.Asking {
		fmt.Fprintf(w, "             and the newest question has no answer yet\n")
	}
	fmt.Fprintf(w, "  due        %s\n", a.dueText(e, rule))
	a.printFailures(e.Session)
	if e.ExtractedUntil != nil {
		fmt.Fprintf(w, "  extracted  %s, up to %s UTC\n", plural(e.Extractions, "time"), stamp(*e.ExtractedUntil))
	}
	if m := d.Summary; m != nil {
		fmt.Fprintf(w, "summary  %s\n  %s\n", s.dim(fmt.Sprintf("%s v%d", m.ID, m.Version)), visible(m.Statement))
	}
	if len(d.Facts) > 0 {
		fmt.Fprintf(w, "facts\n")
		for _, m := range d.Facts {
			fmt.Fprintf(w, "  %s  %s\n", visible(m.Statement), s.dim(strings.Join(append([]string{m.ID}, m.Tags...), " ")))
		}
	}
	if f := d.Rolling; f != nil {
		fmt.Fprintf(w, "rolling summary  %s\n  %s\n", s.dim("covers "+covers(*f)), visible(f.Summary))
	}
	a.printDialogue(d.Open)
}

// printFailures says what repeated failure has led to, and what to do about it.
func (a *app) printFailures(e reverie.Session) {
	if e.Failures > 0 {
		state := "failed"
		if e.ParkedAt != nil {
			state = "parked"
		}
		fmt.Fprintf(a.stdout, "  %-9s  after %s in a row: %s\n", a.style().amber(state), plural(e.Failures, "failure"), visible(reverie.Excerpt(e.Failure, 200)))
		switch {
		case e.ParkedAt != nil:
			fmt.Fprintf(a.stdout, "             since %s UTC: mend the cause, then `reverie extract --session`, or `reverie groups resume %s`\n", stamp(*e.ParkedAt), operand(e.GroupID))
		case e.RetryAt != nil:
			fmt.Fprintf(a.stdout, "             --due tries again after %s UTC, --all at once\n", stamp(*e.RetryAt))
		}
	}
	if e.FoldRetryAt != nil {
		fmt.Fprintf(a.stdout, "  fold       failed %s in a row, tried again after %s UTC\n", plural(e.FoldFailures, "time"), stamp(*e.FoldRetryAt))
	}
}

// dueText says whether a session is due, and if not, what it lacks.
func (a *app) dueText(e sessionEntry, rule reverie.SessionRule) string {
	so := toDue(e.Session, rule)
	switch {
	case e.Unfinished && rule.Extract(e.Session, a.now()):
		return a.style().amber("now") + ": its last extraction was cut short"
	case rule.Extract(e.Session, a.now()):
		return strings.TrimSuffix(a.style().amber("now")+": "+so, ": ")
	case e.Due:
		open := e.Unfolded()
		return fmt.Sprintf("%s, for a fold: %s and %s tokens stand word for word", a.style().amber("now"), plural(open.Turns, "turn"), commas(open.Tokens))
	case so == "":
		return "never: no limit of [session] is on"
	}
	return so
}

// tally counts what a session holds.
func tally(t reverie.Tally) string {
	text := fmt.Sprintf("%s, %s, %s tokens", plural(t.Messages, "message"), plural(t.Turns, "turn"), commas(t.Tokens))
	if t.ToolCalls > 0 {
		text += ", " + plural(t.ToolCalls, "tool call")
	}
	return text
}

// printDialogue shows the newest messages that stand word for word, and how many
// there are before them.
func (a *app) printDialogue(list []reverie.Message) {
	const shown, longest = 30, 200
	if len(list) == 0 {
		return
	}
	s, w := a.style(), a.stdout
	fmt.Fprintf(w, "word for word\n")
	if hidden := len(list) - shown; hidden > 0 {
		fmt.Fprintf(w, "  %s\n", s.dim(fmt.Sprintf("%s before these; --json has them", plural(hidden, "message"))))
		list = list[hidden:]
	}
	for _, m := range list {
		who := visible(m.Author)
		if m.Role != reverie.RoleUser {
			who = strings.TrimSpace(who + " (" + string(m.Role) + ")")
		}
		text := visible(reverie.Excerpt(m.Text, longest))
		if m.Text == "" { // a bare name would look as if nothing were known
			text = s.dim("(text pruned, or none)")
		}
		fmt.Fprintf(w, "  %s  %s: %s\n", s.dim(stamp(m.SentAt)), s.bold(who), text)
	}
}

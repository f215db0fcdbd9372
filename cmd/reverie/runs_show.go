package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"reverie/internal/reverie"
)

func newRunsShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its chunks, changes, refused lines, held plans, calls and what they cost",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := a.findRun(ctx, args[0])
			if err != nil {
				return err
			}
			g, err := a.groupEntry(ctx, d.Run.GroupID)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(a.stdout, d.Reply(g))
			}
			return a.printRun(d, g)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// findRun reads a run by its id alone; where there is none, the error says where
// the ids are to be had.
func (a *app) findRun(ctx context.Context, id string) (reverie.RunDetail, error) {
	if err := a.open(ctx); err != nil {
		return reverie.RunDetail{}, err
	}
	d, err := a.store.Run(ctx, "", id)
	if errors.Is(err, reverie.ErrNotFound) {
		err = fmt.Errorf("%w; `reverie runs list` has the ids", err)
	}
	return d, err
}

func (a *app) printRun(d reverie.RunDetail, g reverie.GroupEntry) error {
	r, w, s := d.Run, a.stdout, a.style()
	fmt.Fprintf(w, "%s  %s of %s  %s\n", s.bold(r.ID), r.Job, visible(r.GroupID), paintStatus(s, r.Status))
	window := fmt.Sprintf("%s to %s UTC", stamp(r.WindowSince), stamp(r.WindowUntil))
	if dates := datesOf(r, a.calendar(g.Group)); dates != "" {
		window = dates + " (" + window + ")"
	}
	switch {
	case r.SessionID == "":
	case r.Job == reverie.JobDream:
		fmt.Fprintf(w, "  up to     session %s\n", visible(r.SessionID))
	default:
		fmt.Fprintf(w, "  session   %s\n", visible(r.SessionID))
	}
	if r.Job == reverie.JobPropose { // it covers none
		fmt.Fprintf(w, "  %s\n", visible(r.Model))
	} else {
		fmt.Fprintf(w, "  window    %s, attempt %d\n", window, r.Attempt)
	}
	if r.Model != "" && r.Job != reverie.JobPropose { // maintain asks none
		fmt.Fprintf(w, "  model     %s, prompt version %s (%.12s)\n", r.Model, r.PromptVersion, r.PromptSHA256)
	}
	switch {
	case r.Stats.Plan != "" && r.Stats.Edited:
		fmt.Fprintf(w, "  plan      applied from a file, %s\n", s.amber("edited by a person"))
	case r.Stats.Plan != "":
		fmt.Fprintln(w, "  plan      applied from a file, as it was planned")
	case r.Stats.Edited:
		fmt.Fprintf(w, "  plan      what it held was %s\n", s.amber("edited by a person"))
	}
	if r.Stats.Approved > 0 {
		fmt.Fprintf(w, "            %s\n", s.amber(letPass(r.Stats.Approved)))
	}
	fmt.Fprintf(w, "  time      %s, took %s\n", stamp(r.StartedAt)+" UTC", took(r))
	fmt.Fprintf(w, "  result    %s\n", counts(r.Job, r.Stats))
	fmt.Fprintf(w, "  spend     %s\n", spent(d.Spend))
	if r.Error != "" {
		fmt.Fprintf(w, "  %s     %s\n", s.red("error"), visible(r.Error))
	}
	if r.UndoneAt != nil {
		fmt.Fprintf(w, "  undone    %s UTC: its work was taken back\n", stamp(*r.UndoneAt))
	}
	waits := slices.ContainsFunc(d.Held, func(h reverie.HeldPlan) bool { return h.Status == reverie.HeldWaiting })
	for _, line := range whatNext(r, waits, g) {
		fmt.Fprintf(w, "  to do     %s\n", line)
	}
	for _, c := range d.Changes {
		a.printChange(s, c)
	}
	a.printEntityChanges(s, d.Entities, d.Names)
	a.printRunDecisions(d.Decisions, d.Held)
	for _, c := range d.Chunks {
		if r.Job == reverie.JobPropose { // it has read nothing
			break
		}
		about := plural(len(c.MessageIDs), "message")
		if r.Job == reverie.JobDream {
			about = plural(len(c.MemoryIDs), "memory")
		}
		fmt.Fprintf(w, "chunk %d  %s  %s\n", c.No, c.Status, about)
		for _, f := range c.Refusals {
			a.printRefusal(s, f)
		}
	}
	for _, h := range d.Held {
		where := fmt.Sprintf("held in chunk %d", h.ChunkNo)
		if r.Job == reverie.JobPropose {
			where = "held"
		}
		fmt.Fprintf(w, "%s  %s  %s\n", where, h.Status, visible(h.Reason))
		for _, st := range h.Steps {
			if st.Action != reverie.ActionKeep {
				a.printChange(s, reverie.Change{Action: st.Action, OldStatement: st.OldStatement, NewStatement: st.Statement,
					Summary: st.Reason, Version: st.Head.Version + 1, Evidence: st.Evidence})
			}
		}
	}
	if len(d.Calls) == 0 {
		return nil
	}
	var t table
	t.row("CALL", "MODEL", "IN", "OUT", "USD", "OUTCOME")
	for _, c := range d.Calls {
		t.row(c.Purpose, c.Provider+"/"+c.Model, fmt.Sprint(c.InputTokens), fmt.Sprint(c.OutputTokens), fmt.Sprintf("%.5f", c.CostUSD), c.Outcome)
	}
	return t.write(w, s)
}

// printRunDecisions shows the decisions of a run that tell more than its changes:
// where a fact was compared, was known already, or was not stored. Where their
// chunk is held whole, they have come to nothing unless a person let it pass.
func (a *app) printRunDecisions(list []reverie.Decision, held []reverie.HeldPlan) {
	whole := map[int]reverie.HeldStatus{}
	for _, h := range held {
		if h.Whole {
			whole[h.ChunkNo] = h.Status
		}
	}
	for _, d := range list {
		if d.Action == reverie.DecisionAdd && (d.Basis == reverie.BasisShown || d.Basis == reverie.BasisNone) {
			continue
		}
		mark := ""
		if status := whole[d.ChunkNo]; status != "" {
			mark = a.style().amber(fmt.Sprintf("  held with chunk %d, %s", d.ChunkNo, status))
		}
		fmt.Fprintf(a.stdout, "fact  %s%s\n", visible(d.Statement), mark)
		a.printDecision(d, d.Statement)
	}
}

// whatNext says what there is to do about a run that did not do all it should.
func whatNext(r reverie.Run, waits bool, g reverie.GroupEntry) []string {
	if r.UndoneAt != nil {
		return nil
	}
	var lines []string
	if waits {
		lines = append(lines, fmt.Sprintf("`reverie runs approve %s`, or `reverie runs reject %[1]s`", r.ID))
	}
	setback := g.Setback(r.Job)
	switch {
	case r.Status == reverie.RunRunning:
		return append(lines, "it is under way; if its process was killed, the group's next run continues it")
	case r.Status != reverie.RunFailed && r.Status != reverie.RunDeferred:
		return lines
	case setback != nil:
		lines = append(lines, remedy(*setback, g.ID))
	case r.Job == reverie.JobImpression:
		lines = append(lines, fmt.Sprintf("what it did not use waits; the next run takes it, `reverie impression --group %s` at once", quoted(g.ID)))
	case r.Job == reverie.JobExtract:
		lines = append(lines, fmt.Sprintf("what it did not read stays in the session's buffer; the next run takes it, `reverie extract --session %s --group %s` at once", quoted(r.SessionID), quoted(g.ID)))
	case r.Job == reverie.JobDream:
		lines = append(lines, fmt.Sprintf("what it did not take in is still new; the next dream does, `reverie dream --group %s` at once", quoted(g.ID)))
	case r.Job == reverie.JobMaintain:
		lines = append(lines, fmt.Sprintf("what it did not come to is still due; the next run does it, `reverie maintain --group %s` at once", quoted(g.ID)))
	case g.Pending == 0:
		return append(lines, "nothing: no message of the group is pending any more")
	default:
		lines = append(lines, fmt.Sprintf("%s of the group pending; the next run takes them, `reverie evolve --group %s` at once", plural(g.Pending, "message"), quoted(g.ID)))
	}
	if g.Paused && !g.Parked() {
		lines = append(lines, fmt.Sprintf("the group is paused: `reverie groups resume %s`", operand(g.ID)))
	}
	return lines
}

// letPass says how much of a plan was applied that a run would have held.
func letPass(steps int) string {
	return plural(steps, "step") + " of it would have been held, and a person let it pass"
}

// spent sums up what a run's calls have cost.
func spent(s reverie.Spend) string {
	return fmt.Sprintf("%s, %d tokens in, %d out, %s USD", plural(s.Calls, "call"), s.InputTokens, s.OutputTokens, cmp.Or(usd(s.CostUSD), "0"))
}

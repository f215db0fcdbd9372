package command

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	application "reverie/internal/app"
	"reverie/internal/cli"
	"reverie/internal/replay"
	"reverie/internal/reverie"
)

// replayFlags are the flags of `reverie replay`.
type replayFlags struct {
	application.Replay
	all, yes, dryRun bool
}

func newReplay(a *app) *cobra.Command {
	var f replayFlags
	cmd := a.command("reverie replay", cobra.NoArgs, func(ctx context.Context, _ []string) error {
		return a.replay(ctx, &f)
	})
	a.groupNeeded(cmd, &f.GroupID)
	fl := cmd.Flags()
	fl.StringVar(&f.From, "from", "", "first date, such as 2026-01-01 (required)")
	required(cmd, "from")
	fl.StringVar(&f.To, "to", "", "last date, which is included (default today)")
	fl.StringVar(&f.Model, "model", "", "ask this model: a name, or provider/name")
	fl.StringVar(&f.Prompt, "prompt", "", "ask with this prompt: a `file`, a folder, or a label of Langfuse")
	notEmpty(cmd, "model", "prompt")
	fl.BoolVar(&f.Recorded, "recorded", false, "ask nobody, and read the stored answers")
	fl.BoolVar(&f.all, "all", false, "print all differences, not only the first of each night")
	fl.BoolVar(&f.yes, "yes", false, "do not ask, whatever it costs")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the estimate, and stop")
	cmd.Flags().Lookup("json").Usage = "print JSON"
	apart(cmd, "recorded", "model", "prompt")
	return cmd
}

// replayReply is what `reverie replay --json` prints.
type replayReply struct {
	Success bool   `json:"success"` // it finished; with --recorded, also nothing differs
	From    string `json:"from"`
	To      string `json:"to"`
	replay.Report
	Error string `json:"error,omitempty"`
}

func (a *app) replay(ctx context.Context, f *replayFlags) error {
	if err := a.open(ctx); err != nil {
		return err
	}
	past, err := a.PastNights(ctx, f.Replay)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.showEstimate(past.Estimate, past.From, past.To)
	}
	if past.Estimate.Windows > 0 && !f.yes {
		if err := a.affordable(past.Estimate); err != nil {
			return err
		}
	}
	report, err := past.Ask(a.WithBudget(ctx))
	nothing := len(report.Nights) == 0 && len(report.Skipped) > 0
	switch {
	case err != nil && len(report.Nights) == 0 && !a.JSON:
		return err
	case err != nil:
	case nothing:
		err = &codeError{ExitError, fmt.Errorf("nothing was replayed: %s cannot be, for the reasons above",
			cli.Plural(len(report.Skipped), "run"))}
	case report.Recorded && !report.Same():
		err = &codeError{ExitError, errors.New("the recorded answers came to other plans; the differences are above")}
	}
	reply := replayReply{Success: err == nil, From: past.From, To: past.To, Report: report}
	if err != nil {
		reply.Error = reverie.ErrorText(err)
	}
	return errors.Join(err, a.Show(reply, func() error { return a.PrintReplay(past.From, past.To, report, f.all) }))
}

// affordable refuses a cost above the limit for unconfirmed runs.
func (a *app) affordable(e application.Estimate) error {
	most := a.Config.Jobs.ConfirmUSD
	switch {
	case !e.Priced:
		return usageError(fmt.Errorf(
			"the price of %s is unknown: add --yes to go on, or add the price to [llm] prices", e.Model))
	case e.CostUSD > most:
		return usageError(fmt.Errorf("the estimated cost is $%.2f, more than [jobs] confirm_usd ($%.2f): add --yes to go on",
			math.Ceil(e.CostUSD*100)/100, most))
	}
	return nil
}

// showEstimate prints the estimate for evolving a range of dates.
func (a *app) showEstimate(e application.Estimate, from, to string) error {
	if a.JSON {
		return a.WriteJSONLine(map[string]any{"success": true, "estimate": e})
	}
	return a.Page("estimate", struct {
		application.Estimate
		From, To string
	}{e, from, to})
}

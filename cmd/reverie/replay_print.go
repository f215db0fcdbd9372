package main

import (
	"errors"
	"fmt"
	"strings"

	"reverie/internal/cli"
	"reverie/internal/replay"
	"reverie/internal/reverie"
	"reverie/internal/text"
)

// reportReplay prints what a replay found, as far as it came.
func (a *app) reportReplay(r replayReply, f replayFlags, err error) error {
	if t := r.Total.Shadow; t.Calls > 0 {
		a.log.Info("replayed: the calls are not in the live ledger", "group_id", r.GroupID, "nights", len(r.Nights), "calls", t.Calls,
			"input_tokens", t.InputTokens, "output_tokens", t.OutputTokens, "cost_usd", t.CostUSD)
	}
	if r.Left == nil {
		r.Left = []reverie.CarryLeft{}
	}
	nothing := err == nil && len(r.Nights) == 0 && len(r.Skipped) > 0
	switch {
	case err != nil:
	case nothing:
		err = &codeError{exitError, fmt.Errorf("nothing was replayed: of %s none can be run again", cli.Plural(len(r.Skipped), "run"))}
	case r.Recorded && !r.Same():
		err = &codeError{exitError, errors.New("the recorded nights came to something else")}
	}
	r.Success = err == nil
	if f.json {
		if err != nil {
			r.Error = err.Error()
		}
		return errors.Join(err, cli.PrintJSON(a.Stdout, r))
	}
	if err != nil && len(r.Nights) == 0 && !nothing {
		return err
	}
	return errors.Join(err, a.printReplay(r, f))
}

func (a *app) printReplay(r replayReply, f replayFlags) error {
	s, w := a.Style(), a.Stdout
	if len(r.Nights) > 0 {
		first := r.Nights[0]
		fmt.Fprintf(w, "%s, %s to %s: live by %s, the shadow %s\n\n", s.Bold(cli.Visible(r.GroupID)), r.From, r.To, cli.Visible(first.Live.Model), shadowBy(r, first))
		if err := replayTable(r).Write(w, s); err != nil {
			return err
		}
		for _, n := range r.Nights {
			a.printNight(s, n, f.all)
		}
		fmt.Fprintf(w, "\n%s\n", replaySum(r))
	} else {
		fmt.Fprintf(w, "nothing to replay: no run of the dates %s to %s can be run again\n", r.From, r.To)
	}
	for _, skipped := range r.Skipped {
		fmt.Fprintf(w, "not run again: %s of %s: %s\n", skipped.RunID, cli.Stamp(skipped.WindowSince), skipped.Reason)
	}
	for i, left := range r.Left {
		if i == examples && !f.all {
			fmt.Fprintf(w, "and %d more that others did (--all)\n", len(r.Left)-i)
			break
		}
		fmt.Fprintf(w, "not carried over: %s %s at %s: %s\n", left.Action, cli.Visible(text.Excerpt(left.Statement, 60)), cli.Stamp(left.At), left.Reason)
	}
	if r.Schema != "" {
		fmt.Fprintf(w, "the shadow is kept in the schema %s; `drop schema %s cascade` removes it\n", r.Schema, r.Schema)
	}
	return nil
}

// shadowBy says by what the shadow was asked.
func shadowBy(r replayReply, n replay.Night) string {
	if r.Recorded {
		return "as recorded"
	}
	by := "by " + cli.Visible(n.Shadow.Model)
	if n.Shadow.PromptSHA256 != n.Live.PromptSHA256 {
		by += fmt.Sprintf(", prompt %s for %s", cli.Visible(n.Shadow.PromptVersion), cli.Visible(n.Live.PromptVersion))
		if n.Shadow.PromptVersion == n.Live.PromptVersion {
			by += " (another text)"
		}
	}
	return by
}

// replayTable has a row for each night.
func replayTable(r replayReply) *cli.Table {
	t := &cli.Table{}
	t.Row("NIGHT", "LIVE", "SHADOW", "AGREE", "DIFFER", "ONLY", "TOKENS", "COST")
	row := func(name, live, shadow string, agree, differ, onlyLive, onlyShadow int, l, s reverie.Spend) {
		t.Row(name, live, shadow, fmt.Sprint(agree), fmt.Sprint(differ), fmt.Sprintf("%d/%d", onlyLive, onlyShadow),
			thousands(l.InputTokens+l.OutputTokens)+"/"+thousands(s.InputTokens+s.OutputTokens), fmt.Sprintf("$%.3f/$%.3f", l.CostUSD, s.CostUSD))
	}
	for _, n := range r.Nights {
		row(n.Date, acts(n.Live), acts(n.Shadow), n.Agree, n.Differ, len(n.OnlyLive), len(n.OnlyShadow), n.Live.Spend, n.Shadow.Spend)
	}
	sum := r.Total
	row("in sum", "", "", sum.Agree, sum.Differ, sum.OnlyLive, sum.OnlyShadow, sum.Live, sum.Shadow)
	return t
}

// acts sums up what a side did: created, updated, deleted, supported and held.
func acts(o replay.Outcome) string {
	text := fmt.Sprintf("+%d ~%d -%d =%d", o.Created, o.Updated, o.Deleted, o.Supported)
	if o.Held > 0 {
		text += fmt.Sprintf(" ?%d", o.Held)
	}
	return text
}

// examples are how many differences of a night are printed.
const examples = 5

// printNight prints what was otherwise in a night; nothing where nothing was.
func (a *app) printNight(s cli.Style, n replay.Night, all bool) {
	w := a.Stdout
	if n.Same() && len(n.Missing)+n.StoodIn == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s  %s\n", s.Bold(n.Date), s.Dim(n.RunID))
	if n.Error != "" {
		fmt.Fprintf(w, "  %s\n", s.Red("it came to nothing in the shadow: "+cli.Visible(n.Error)))
	}
	if len(n.Missing) > 0 {
		fmt.Fprintf(w, "  %d %s not shown\n", len(n.Missing), ofNumber(len(n.Missing), "message has no text any more, and was", "messages have no text any more, and were"))
	}
	if n.StoodIn > 0 {
		fmt.Fprintf(w, "  %s of facts would be put in other words now: the recorded decisions stood in\n", cli.Plural(n.StoodIn, "comparison"))
	}
	shown, more := n.Differences, 0
	if len(shown) > examples && !all {
		shown, more = shown[:examples], len(shown)-examples
	}
	for _, d := range shown {
		printDifference(a, s, d)
	}
	if more > 0 {
		fmt.Fprintf(w, "  and %d more (--all)\n", more)
	}
	if n.Error == "" && n.Differ == 0 && !n.Same() {
		fmt.Fprintf(w, "  the actions agree; what came before them, or which messages they cite, does not (--json)\n")
	}
}

// printDifference prints one: where both wrote, word by word from live to shadow.
func printDifference(a *app, s cli.Style, d replay.Difference) {
	w := a.Stdout
	if d.Live != nil && d.Shadow != nil && d.Kind == replay.DiffWords {
		fmt.Fprintf(w, "  both    %s %s\n", sign(s, *d.Live), cli.WordDiff(s, d.Live.NewStatement, d.Shadow.NewStatement))
		return
	}
	for _, side := range []struct {
		name string
		act  *replay.Act
	}{{"live", d.Live}, {"shadow", d.Shadow}} {
		if side.act != nil {
			fmt.Fprintf(w, "  %-7s %s %s\n", side.name, sign(s, *side.act), actText(s, *side.act))
		}
	}
}

// sign is an action as a character, and whether a person was to let it pass.
func sign(s cli.Style, act replay.Act) string {
	text := map[reverie.Action]string{reverie.ActionCreate: s.Green("+"), reverie.ActionUpdate: s.Amber("~"),
		reverie.ActionDelete: s.Red("-"), reverie.ActionKeep: "="}[act.Action]
	if act.Held {
		text += s.Dim(" (held)")
	}
	return text
}

func actText(s cli.Style, act replay.Act) string {
	switch act.Action {
	case reverie.ActionUpdate:
		return cli.WordDiff(s, act.OldStatement, act.NewStatement)
	case reverie.ActionDelete:
		return cli.Visible(act.OldStatement)
	}
	return cli.Visible(act.NewStatement)
}

// ofNumber is the words that go with a number.
func ofNumber(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// replaySum says in words what came of it.
func replaySum(r replayReply) string {
	t := r.Total
	parts := []string{fmt.Sprintf("%s: %d %s, %d %s", cli.Plural(len(r.Nights), "night"), t.Agree, ofNumber(t.Agree, "action agrees", "actions agree"), t.Differ, ofNumber(t.Differ, "differs", "differ"))}
	if n := t.Questions.Same + t.Questions.Other; n > 0 && t.Questions.Other > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s %s put in the same words", t.Questions.Same, cli.Plural(n, "question"), ofNumber(t.Questions.Same, "was", "were")))
	}
	if t.Failed > 0 {
		parts = append(parts, cli.Plural(t.Failed, "night")+" came to nothing in the shadow")
	}
	parts = append(parts, fmt.Sprintf("%s live, %d in the shadow", cli.Plural(t.Live.Calls, "call"), t.Shadow.Calls))
	if r.Recorded && r.Same() {
		parts = append(parts, "no difference")
	}
	if r.Carried > 0 {
		parts = append(parts, cli.Plural(r.Carried, "change")+" of others carried over")
	}
	return strings.Join(parts, "; ")
}

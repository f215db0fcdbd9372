package cli

import (
	"fmt"
	"strings"

	"reverie/internal/replay"
	"reverie/internal/reverie"
)

// examples are how many differences of a night are printed.
const examples = 5

// PrintReplay prints what a replay of a range of dates found; all: with all differences.
func (con *Console) PrintReplay(from, to string, r replay.Report, all bool) error {
	s, w := con.Style(), con.Stdout
	if len(r.Nights) == 0 {
		fmt.Fprintf(w, "nothing to replay: no run of the dates %s to %s can be replayed\n", from, to)
	} else {
		fmt.Fprintf(w, "%s, %s to %s: recorded by %s, replayed %s\n\n",
			s.Bold(Visible(r.GroupID)), from, to, Visible(r.Nights[0].Recorded.Model), replayedBy(r))
		if err := replayTable(r).Write(w, s); err != nil {
			return err
		}
		for _, n := range r.Nights {
			con.printReplayed(s, n, all)
		}
		fmt.Fprintf(w, "\n%s\n", replaySum(r))
	}
	for _, skipped := range r.Skipped {
		fmt.Fprintf(w, "not replayed: %s of %s: %s\n", skipped.RunID, Stamp(skipped.WindowSince), skipped.Reason)
	}
	return nil
}

// replayedBy says by what the questions were asked again.
func replayedBy(r replay.Report) string {
	if r.Recorded {
		return "from the stored answers"
	}
	before, now := r.Nights[0].Recorded, r.Nights[0].Replayed
	by := "by " + Visible(now.Model)
	if now.PromptSHA256 != before.PromptSHA256 {
		by += fmt.Sprintf(", prompt %s (%.12s) for %s (%.12s)",
			Visible(now.PromptVersion), now.PromptSHA256, Visible(before.PromptVersion), before.PromptSHA256)
	}
	return by
}

// replayTable has a row for each night.
func replayTable(r replay.Report) *Table {
	t := &Table{}
	t.Row("NIGHT", "RECORDED", "REPLAYED", "AGREE", "DIFFER", "TOKENS", "COST")
	row := func(name, recorded, replayed string, agree, differ int, a, b reverie.Spend) {
		t.Row(name, recorded, replayed, fmt.Sprint(agree), fmt.Sprint(differ),
			Thousands(a.InputTokens+a.OutputTokens)+"/"+Thousands(b.InputTokens+b.OutputTokens),
			fmt.Sprintf("$%.3f/$%.3f", a.CostUSD, b.CostUSD))
	}
	for _, n := range r.Nights {
		row(n.Date, actCounts(n.Recorded), actCounts(n.Replayed), n.Agree, n.Differ, n.Recorded.Spend, n.Replayed.Spend)
	}
	row("in sum", "", "", r.Total.Agree, r.Total.Differ, r.Total.Recorded, r.Total.Replayed)
	return t
}

// actCounts sums up a side: created, updated, deleted, supported and held.
func actCounts(o replay.Outcome) string {
	text := fmt.Sprintf("+%d ~%d -%d =%d", o.Created, o.Updated, o.Deleted, o.Supported)
	if o.Held > 0 {
		text += fmt.Sprintf(" ?%d", o.Held)
	}
	return text
}

// printReplayed prints what of a night differs; nothing where nothing does.
func (con *Console) printReplayed(s Style, n replay.Night, all bool) {
	if n.Same() && len(n.Missing) == 0 {
		return
	}
	w := con.Stdout
	fmt.Fprintf(w, "\n%s  %s\n", s.Bold(n.Date), s.Dim(n.RunID))
	switch {
	case n.Error != "":
		fmt.Fprintf(w, "  %s\n", s.Red("an answer could not be used: "+Visible(n.Error)))
	case n.Differ == 0 && !n.Same():
		fmt.Fprintf(w, "  the actions agree; which messages they cite does not (--json)\n")
	}
	if len(n.Missing) > 0 {
		fmt.Fprintf(w, "  not shown, since their text was removed: %s\n", Plural(len(n.Missing), "message"))
	}
	for i, d := range n.Differences {
		if i == examples && !all {
			fmt.Fprintf(w, "  and %d more (--all)\n", len(n.Differences)-i)
			return
		}
		if d.Kind == replay.DiffWords {
			fmt.Fprintf(w, "  both      %s\n", act(s, *d.Replayed, d.Recorded.NewStatement, d.Replayed.NewStatement))
			continue
		}
		if d.Recorded != nil {
			fmt.Fprintf(w, "  recorded  %s\n", act(s, *d.Recorded, d.Recorded.OldStatement, d.Recorded.NewStatement))
		}
		if d.Replayed != nil {
			fmt.Fprintf(w, "  replayed  %s\n", act(s, *d.Replayed, d.Replayed.OldStatement, d.Replayed.NewStatement))
		}
	}
}

// act is an action as a character, whether a person was to let it pass, and the statement,
// word by word where it has become another.
func act(s Style, a replay.Act, before, after string) string {
	sign := map[reverie.Action]string{reverie.ActionCreate: s.Green("+"), reverie.ActionUpdate: s.Amber("~"),
		reverie.ActionDelete: s.Red("-"), reverie.ActionKeep: "="}[a.Action]
	if a.Held {
		sign += s.Dim(" (held)")
	}
	switch {
	case after == "":
		return sign + " " + Visible(before)
	case before == "" || before == after:
		return sign + " " + Visible(after)
	}
	return sign + " " + WordDiff(s, before, after)
}

// replaySum says in words what came of it.
func replaySum(r replay.Report) string {
	t := r.Total
	agree, differ := "%d actions agree", "%d differ"
	if t.Agree == 1 {
		agree = "%d action agrees"
	}
	if t.Differ == 1 {
		differ = "%d differs"
	}
	parts := []string{fmt.Sprintf("%s: "+agree+", "+differ, Plural(len(r.Nights), "night"), t.Agree, t.Differ)}
	if n := t.Questions.Changed; n > 0 {
		parts = append(parts, "changed since: "+Plural(n, "question"))
	}
	if t.Failed > 0 {
		parts = append(parts, Plural(t.Failed, "night")+" without a usable answer")
	}
	parts = append(parts, fmt.Sprintf("%s recorded, %d replayed", Plural(t.Recorded.Calls, "call"), t.Replayed.Calls))
	if r.Recorded && r.Same() {
		parts = append(parts, "no difference")
	}
	return strings.Join(parts, "; ")
}

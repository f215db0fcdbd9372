package cli

import (
	"fmt"
	"strings"

	"reverie/internal/replay"
	"reverie/internal/reverie"
)

// examples is the maximum number of differences printed for a night.
const examples = 5

// PrintReplay prints the result of a replay of a range of dates; with all, it prints all differences.
func (con *Console) PrintReplay(from, to string, r replay.Report, all bool) error {
	type shownNight struct {
		replay.Night
		Shown []replay.Difference
	}
	page := struct {
		replay.Report
		Nights                   []shownNight
		From, To, By, Sum, Words string
	}{Report: r, From: from, To: to, Words: replay.DiffWords}
	for _, n := range r.Nights {
		shown := n.Differences
		if !all {
			shown = shown[:min(len(shown), examples)]
		}
		page.Nights = append(page.Nights, shownNight{n, shown})
	}
	if len(r.Nights) > 0 {
		page.By, page.Sum = replayedBy(r), replaySum(r)
	}
	return con.Page("replay", page)
}

// spend is the cost of one side of a replay.
type spend struct {
	reverie.Spend
	Tokens int
}

func spends(recorded, replayed reverie.Spend) []spend {
	return []spend{{recorded, recorded.InputTokens + recorded.OutputTokens}, {replayed, replayed.InputTokens + replayed.OutputTokens}}
}

// replayedBy says what answered the questions.
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

// actCounts sums up a side: created, updated, deleted, supported and held.
func actCounts(o replay.Outcome) string {
	text := fmt.Sprintf("+%d ~%d -%d =%d", o.Created, o.Updated, o.Deleted, o.Supported)
	if o.Held > 0 {
		text += fmt.Sprintf(" ?%d", o.Held)
	}
	return text
}

// act shows an action as a character, whether it was held, and the statement, word by word if it was changed.
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

// replaySum describes the result.
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
